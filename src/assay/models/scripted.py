"""A stand-in for a model, small and deterministic: for tests, and for trying a contract out where no weights are.

It lives in a world of its own: every prompt has three things that could be looked for, one likelier than the others.
The teacher's thoughts name the one that its action is about, and so do those of a model with insight. Words that stand
in the thought, or in the prompt, are cheap to say, so that a thought which names the right thing lifts the action.
Costs are eighths of a nat, so that sums are exact.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal

from assay.kernel.errors import BadInput
from assay.models.errors import ContextTooLong
from assay.models.protocol import Completion, Echo, Identity, Message, Sampling

__all__ = ["PROFILES", "Profile", "ScriptedModel"]

_TOKEN: Final = re.compile(r"\w+|\s+|[^\w\s]")
_THING: Final = re.compile(r"[a-z]{5,12}")
_THOUGHT: Final = re.compile("THOUGHT: ")
_BREAK: Final = "\n\n"
_WINDOW: Final = 32_768
_TAIL: Final = 1_500  # characters of a prompt in which things are looked for
_WEIGHTS: Final = (0.55, 0.85)  # of the first thing, and of the first two
_STYLE: Final = (
    "I should look closer before I go on",
    "Now I want to know more",
    "The next thing that I need to see is clear",
)
_STYLE_WORDS: Final = frozenset(" ".join(_STYLE).lower().split()) | {"it", "is", "about", "so", "the", "with", "starts"}
_FILLER: Final = "Let me carefully consider every possible aspect of this fascinating challenge step by step"

# What a word costs, in eighths of a nat: in the thought, in the prompt, of the usual style, anything else, not a word.
_NEAR, _FAR, _USUAL, _STRANGE, _SIGN = 2, 10, 14, 30, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How a scripted model plays.

    Args:
        insight: How often its thought and action are about the likeliest thing, or one of the others by their odds.
        acts: How often it writes an action.
        closes: How often it closes its thought.
        style: ``teacher`` thinks as the teacher does, ``filler`` says the same on every turn, ``silent`` nothing.
    """

    insight: float
    acts: float = 1.0
    closes: float = 1.0
    style: Literal["teacher", "filler", "silent"] = "teacher"


PROFILES: Final = {
    "teacher": Profile(insight=1.0),
    "strong": Profile(insight=0.9),
    "weak": Profile(insight=0.2, acts=0.8, style="filler"),
    "silent": Profile(insight=1.0, style="silent"),
    "rambling": Profile(insight=1.0, closes=0.0),
}
"""Scripted models by name."""


class ScriptedModel:
    """A scripted model; see :class:`assay.models.protocol.Model`."""

    def __init__(self, name: str, profile: Profile) -> None:
        """Plays by the profile; its weights are its name."""
        self._profile = profile
        self._name = name
        weights = f"sha256:{sha256(f'scripted {name} {profile}'.encode()).hexdigest()}"
        self.identity = Identity(name=name, weights=weights, checked=True)

    def render(self, messages: Sequence[Message]) -> str:
        """The conversation, each message under a line with its role.

        Raises:
            BadInput: There is no message.
        """
        if not messages:
            msg = f"{self._name}: a conversation needs a message"
            raise BadInput(msg)
        return "".join(f"<|{message.role}|>\n{message.content}\n" for message in messages) + "<|assistant|>\n"

    async def complete(self, prompt: str, sampling: Sampling) -> Completion:
        """A reply in the form that the prompt asks for, the same for the same prompt and seed.

        Raises:
            ContextTooLong: The prompt is longer than the window.
        """
        self._check_window(prompt, sampling.max_tokens)
        chance = _Chance(prompt, sampling.seed if sampling.temperature > 0 else 0)
        tokens = _TOKEN.findall(self._reply(prompt, chance))
        text = "".join(tokens[: sampling.max_tokens])
        cut = min((at for stop in sampling.stop if (at := text.find(stop)) >= 0), default=-1)
        whole = len(tokens) <= sampling.max_tokens or cut >= 0
        text = text[:cut] if cut >= 0 else text
        return Completion(text=text, finish="stop" if whole else "length", tokens=min(len(tokens), sampling.max_tokens))

    async def echo(self, text: str, start: int) -> Echo:
        """What the span costs after the text before it; see the protocol.

        Raises:
            BadInput: The span does not begin in the text.
            ContextTooLong: The text is longer than the window.
        """
        if not 0 <= start <= len(text):
            msg = f"the span begins at {start}, and the text has {len(text)} characters"
            raise BadInput(msg)
        self._check_window(text, 0)
        size = len(text[start:].encode("utf-8", "surrogatepass"))
        spent, count, evaluated = 0, 0, 0
        near: set[str] = set()
        far: set[str] = set()
        thoughts = _find_thoughts(text)
        for token in _TOKEN.finditer(text):
            evaluated += 1
            while thoughts and thoughts[-1][1] <= token.start():
                near = set(_words(text[slice(*thoughts.pop())]))
            word = token.group().lower()
            if token.start() >= start:
                count += 1
                spent += _cost(word, near, far)
            far.add(word)
        return Echo(total=-spent / 8, tokens=count, size=size, evaluated=evaluated)

    async def close(self) -> None:
        """Lets nothing go, for it holds nothing."""

    def _check_window(self, text: str, more: int) -> None:
        count = sum(1 for _ in _TOKEN.finditer(text)) + more
        if count > _WINDOW:
            msg = f"{self._name}: {count} tokens are asked for, and the window has {_WINDOW}"
            raise ContextTooLong(msg)

    def _reply(self, prompt: str, chance: "_Chance") -> str:
        things = _things(prompt)
        known = chance.draw("insight") < self._profile.insight
        thing = things[chance.pick("thing")] if known else f"zz{chance.word('guess')}"
        thought = self._think(thing, chance)
        action = _act(prompt, thing) if chance.draw("acts") < self._profile.acts else ""
        closer = "\n</think>\n" if chance.draw("closes") < self._profile.closes else "\n"
        return f"{thought}{closer}{action}"

    def _think(self, thing: str, chance: "_Chance") -> str:
        if self._profile.style == "silent":
            return ""
        if self._profile.style == "filler":
            return _FILLER
        style = _STYLE[int(chance.draw("style") * len(_STYLE))]
        ending = " so it starts with the thing" if chance.draw("ending") < 0.5 else ""
        return f"{style}: it is about {thing}{ending}."


class _Chance:
    """Draws that hang on prompt and seed alone."""

    def __init__(self, prompt: str, seed: int) -> None:
        self._key = sha256(prompt.encode("utf-8", "surrogatepass")).digest() + seed.to_bytes(8, "big")

    def draw(self, what: str) -> float:
        """A number from 0 up to 1."""
        return int.from_bytes(self._digest(what)[:6], "big") / 2**48

    def pick(self, what: str) -> int:
        """0, 1 or 2, the first likeliest."""
        drawn = self.draw(what)
        return sum(drawn >= weight for weight in _WEIGHTS)

    def word(self, what: str) -> str:
        """A word that stands nowhere."""
        return self._digest(what).hex()[:6]

    def _digest(self, what: str) -> bytes:
        return sha256(self._key + what.encode()).digest()


def _words(text: str) -> list[str]:
    return [word.lower() for word in re.findall(r"\w+", text)]


def _find_thoughts(text: str) -> list[tuple[int, int]]:
    """Where the thoughts lie that are over, the last first: what a word costs hangs on what stands before it alone."""
    found: list[tuple[int, int]] = []
    opener = _THOUGHT.search(text)
    while opener and (end := text.find(_BREAK, opener.end())) >= 0:
        found.append((opener.end(), end + len(_BREAK)))
        opener = _THOUGHT.search(text, end)
    return found[::-1]


def _things(prompt: str) -> tuple[str, str, str]:
    """Three things that the prompt could be about, the same for whoever asks."""
    found = sorted(
        set(_THING.findall(prompt[-_TAIL:])), key=lambda word: sha256(f"{word}{len(prompt)}".encode()).digest()
    )
    first, second, third, *_ = [*found, "files", "lines", "words"]
    return first, second, third


def _act(prompt: str, thing: str) -> str:
    """An action in the form that the prompt asks for, about a thing."""
    if '"commands"' in prompt:
        return f'{{"analysis": "short", "plan": "look", "commands": ["grep -rn {thing} ."]}}'
    if "\\boxed" in prompt:
        return f"The answer is \\boxed{{{thing}}}"
    if "<tool_call>" in prompt:
        return f'<tool_call>\n{{"name": "bash", "arguments": {{"command": "grep -rn {thing} ."}}}}\n</tool_call>'
    if "bash" in prompt:
        return f"```bash\ngrep -rn {thing} .\n```"
    return f"It comes down to {thing}."


def _cost(word: str, near: set[str], far: set[str]) -> int:
    """What a word costs, in eighths of a nat."""
    if not word[0].isalnum():
        return _SIGN
    if word in near:
        return _NEAR
    if word in _STYLE_WORDS:
        return _USUAL
    return _FAR if word in far else _STRANGE
