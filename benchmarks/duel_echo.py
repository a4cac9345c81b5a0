"""Echoes: speed against the model's own bare forward, what shared beginnings save, memory of many in flight.

The peer of the first is transformers' forward over the same texts, with log-probabilities at the same positions, in
the same run. The second counts tokens on texts of a duel's turns; the third asks a server on this machine from a
process of its own.
"""

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
import uvicorn
from figures import report
from transformers import AutoModelForCausalLM, AutoTokenizer

from assay.kernel.errors import AssayError, MissingMaterial
from assay.labs.duel.drawing import draw_slice
from assay.labs.duel.registration import load
from assay.labs.duel.rendering import action_echo, think_prompt, thought_echo
from assay.labs.duel.run import open_registered_corpus
from assay.models.catalog import ModelSpec, find_folder, parse_spec
from assay.models.local import LocalModel
from assay.models.openai import open_server
from assay.models.protocol import Message
from assay.rules.documents import read_document

MODEL = "local:smollm2-135m-instruct"
CONTRACT = Path(__file__).parent.parent / "examples" / "duel" / "duel.toml"
ROUNDS = 4
TURNS = 2
TURN_CHARS = 2400  # of a prompt: enough to see, and soon done
SPEED_LIMIT = 0.85
SAVING_LIMIT = 3.0
IN_FLIGHT = 192
REQUESTS = 2 * IN_FLIGHT
TOKENS = 2000
MEMORY_LIMIT_MIB = 300.0
THOUGHTS = (
    "I should look at the files before I change anything, so I list them first.",
    "The failing test names a module; I want to read that module and the test beside it.",
    "Something in the configuration may be wrong, and the log would say so.",
)
ACTIONS = (
    "```bash\nls -la src tests && git status --short\n```",
    "```bash\nsed -n 1,80p src/module.py && grep -n def tests/test_module.py\n```",
    "```bash\ntail -n 50 logs/latest.log | grep -i error\n```",
)


def prompts(model: LocalModel) -> list[str]:
    """The prompts of some turns: of the example's corpus, or made up where there is none."""
    try:
        contract = load(read_document(CONTRACT))
        corpus = open_registered_corpus(contract, CONTRACT.parent)
        found = [turn.prefix for turn in corpus.turns(draw_slice(contract, corpus.index).rows)]
    except AssayError as error:
        print(f"  made-up turns, since the example's corpus cannot be read: {error.message}")
        found = [(Message(role="user", content=f"Task {number}: mend the module. " * 90),) for number in range(TURNS)]
    rendered = sorted((think_prompt(model.render(prefix)) for prefix in found), key=len, reverse=True)
    return [prompt for prompt in rendered if len(prompt) <= TURN_CHARS][:TURNS] or [rendered[-1][-TURN_CHARS:]]


def spans(prompt: str) -> list[tuple[str, int]]:
    """The echoes of one turn: of three references, and of both sides."""
    asked: list[tuple[str, int]] = []
    for thought, action in zip(THOUGHTS, ACTIONS, strict=True):
        asked += [action_echo(prompt, thought, action), action_echo(prompt, "", action), thought_echo(prompt, thought)]
    for side in (1, 2):
        thought, action = f"As side {side}, {THOUGHTS[side]}", ACTIONS[side].replace("50", "80")
        asked += [action_echo(prompt, thought, other) for other in ACTIONS]
        asked += [action_echo(prompt, thought, action), action_echo(prompt, "", action), thought_echo(prompt, thought)]
    return asked


async def speed(model: LocalModel, folder: Path) -> bool:
    """Tokens a second of echoes against those of the bare forward, in processor time: others may be at work here."""
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    bare = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    ratios, rates = [], []
    for number in range(ROUNDS + 1):
        words = " ".join(f"{number + 2}{at} files in folder {at * number}," for at in range(36))
        before = f"{number}. {words} and then"
        text = f"{before} the assistant lists every one of them, and says which of them is the newest."
        start = time.process_time()
        echo = await model.echo(text, len(before))
        ours = time.process_time() - start
        ids = tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
        start = time.process_time()
        with torch.inference_mode():
            hidden = bare.model(input_ids=ids).last_hidden_state[:, -echo.tokens - 1 : -1]
            scores = bare.lm_head(hidden).log_softmax(-1)[0]
            total = float(scores.gather(1, ids[0, -echo.tokens :].unsqueeze(1)).sum())
        theirs = time.process_time() - start
        if abs(total - echo.total) > 1e-4 * echo.tokens or echo.evaluated < ids.shape[1] - 1:
            message = f"not the same work: {echo}, and {total} nats over {ids.shape[1]} tokens"
            raise SystemExit(message)
        ratios.append(theirs / ours)
        rates.append(echo.evaluated / ours)
    print(f"  echoes of {echo.evaluated} tokens: {median(rates[1:]):.0f} tokens a second of processor time")
    return report("echo, against the bare forward", median(ratios[1:]), SPEED_LIMIT, "x")


async def saving(model: LocalModel) -> bool:
    """Tokens that a turn's echoes would compute each by itself, against those that were computed."""
    alone = computed = count = 0
    for prompt in prompts(model):
        for text, start in spans(prompt):
            alone += len(await model.tokenise(text)) - 1
            computed += (await model.echo(text, start)).evaluated
            count += 1
    print(f"  {count} echoes: {alone:,} tokens each by itself, {computed:,} computed")
    return report("tokens saved by what echoes share", alone / computed, SAVING_LIMIT, "x")


class Patient:
    """A server, as an ASGI application, that answers nobody until all that may be in flight are, so that they are."""

    def __init__(self) -> None:
        """Nobody waits yet."""
        self.most = 0
        self._waiting: list[asyncio.Future[None]] = []
        logprobs = {
            "tokens": [" token"] * TOKENS,
            "token_logprobs": [None, *[-1.2345678901234567] * (TOKENS - 1)],
            "text_offset": list(range(0, 6 * TOKENS, 6)),
        }
        self._body = json.dumps({"choices": [{"text": " token" * TOKENS, "logprobs": logprobs}]}).encode()

    async def __call__(self, scope: object, receive: Callable, send: Callable) -> None:  # noqa: ARG002 - ASGI's own
        """Answers one echo."""
        while (await receive()).get("more_body"):
            pass
        own = asyncio.get_running_loop().create_future()
        self._waiting.append(own)
        self.most = max(self.most, len(self._waiting))
        if len(self._waiting) == IN_FLIGHT:
            for future in self._waiting:
                future.set_result(None)
            self._waiting.clear()
        await own
        length = str(len(self._body)).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": self._body})


def memory(folder: Path) -> bool:
    """What a client process holds at most, with as many requests in flight as it lets there be."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=IN_FLIGHT)
    patient = Patient()
    server = uvicorn.Server(uvicorn.Config(patient, log_level="warning", ws="none", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    try:
        answer = json.loads(subprocess.check_output([sys.executable, __file__, address, str(folder)]))
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
    if patient.most != IN_FLIGHT or answer["tokens"] != REQUESTS * (TOKENS - 1):
        message = f"{patient.most} in flight, {answer['tokens']} tokens"
        raise SystemExit(message)
    print(
        f"  {REQUESTS} echoes of {TOKENS} tokens in {answer['seconds']:.1f} s; the client holds "
        f"{answer['idle']:.0f} MiB with its tokenizer before the first and {answer['peak']:.0f} MiB at most"
    )
    added = answer["peak"] - answer["idle"]
    return report(f"memory of {IN_FLIGHT} requests in flight", added, MEMORY_LIMIT_MIB, " MiB", at_least=False)


async def ask(address: str, folder: Path) -> None:
    """Asks the server for everything at once, and prints what that took."""
    options = {"tokenizer": str(folder), "weights": f"sha256:{'0' * 64}"}
    spec = ModelSpec(text="server", kind="server", name=address, model="patient", options=options)
    model = open_server(spec, Path())
    text = " word" * TOKENS
    idle, start = held("VmRSS"), time.perf_counter()
    echoes = await asyncio.gather(*(model.echo(text, 0) for _ in range(REQUESTS)))
    seconds = time.perf_counter() - start
    await model.close()
    tokens = sum(echo.tokens for echo in echoes)
    print(json.dumps({"tokens": tokens, "seconds": seconds, "idle": idle, "peak": held("VmHWM")}))


def held(name: str) -> float:
    """What this process holds, or has held at most, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


async def measure(folder: Path) -> list[bool]:
    """Speed and saving, on one model."""
    model = LocalModel(MODEL, folder)
    results = [await speed(model, folder), await saving(model)]
    await model.close()
    return results


def main() -> int:
    """Runs all and says whether the limits hold."""
    try:
        folder = find_folder(parse_spec(MODEL), Path())
    except MissingMaterial as missing:
        print(f"nothing measured: {missing.message}")
        return 0
    results = [*asyncio.run(measure(folder)), memory(folder)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(ask(sys.argv[1], Path(sys.argv[2])))
    else:
        sys.exit(main())
