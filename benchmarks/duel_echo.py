"""What echoes cost: against the model's bare forward pass, with and without shared prefixes, and many at once.

python benchmarks/duel_echo.py            its lines; exits 1 if a limit is missed, 3 if the weights are not installed
"""

import asyncio
import json
import multiprocessing
import socket
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Final

import httpx
import torch
import uvicorn
from figures import report
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from transformers import AutoModelForCausalLM

from assay.kernel.errors import MissingMaterial
from assay.kernel.random import Stream
from assay.labs.duel.rendering import action_echo, think_prompt, thought_echo
from assay.models.catalog import open_model, parse_spec
from assay.models.protocol import Message, Model
from assay.models.tokens import Tokenizer
from assay.models.weights import unpack_weights

NAME: Final = "smollm2-135m-instruct"
ROUNDS: Final = 5
TURNS: Final = 2
REFERENCES: Final = 3
IN_FLIGHT: Final = 192
FEW: Final = 10  # tokens of a question that the server answers at once
ASKED: Final = 4 * IN_FLIGHT
BARE_LIMIT: Final = 0.85
SHARED_LIMIT: Final = 3.0
MEMORY_LIMIT_MIB: Final = 256.0
WORDS: Final = ("look", "failing", "test", "first", "module", "import", "parser", "which", "state", "file", "of", "the")

Span = tuple[str, int]


def write(stream: Stream, words: int) -> str:
    """Words drawn evenly, each with a number behind it."""
    return " ".join(f"{WORDS[stream.below(len(WORDS))]}{stream.below(100)}" for _ in range(words))


def make_turn(model: Model, stream: Stream) -> list[Span]:
    """Every echo that a duel asks for on one turn, in its order: a prefix of some 500 tokens, short spans after it."""
    system = Message(role="system", content=f"You work in a shell. {write(stream, 40)}")
    prompt = think_prompt(model.render([system, Message(role="user", content=write(stream, 80))]))
    replies = [(write(stream, 8), f"```bash\n{write(stream, 5)}\n```") for _ in range(REFERENCES + 2)]
    references, sides = replies[:REFERENCES], replies[REFERENCES:]
    spans: list[Span] = []
    for thought, action in references:
        spans += [action_echo(prompt, thought, action), action_echo(prompt, "", action), thought_echo(prompt, thought)]
    for thought, action in sides:
        spans += [action_echo(prompt, thought, other) for _, other in references]
        spans += [action_echo(prompt, thought, action), action_echo(prompt, "", action), thought_echo(prompt, thought)]
    return spans


async def echo_all(model: Model, spans: list[Span]) -> tuple[float, int]:
    """Processor seconds that the echoes take, and tokens that were computed for them."""
    start = time.process_time()
    evaluated = sum([(await model.echo(text, at)).evaluated for text, at in spans])
    return time.process_time() - start, evaluated


class Bare:
    """The same weights without anything around them: one forward pass, and the log-probabilities of the tail."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Tokenizer(NAME, folder)
        self._model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def prepare(self, spans: list[Span]) -> list[tuple[torch.Tensor, int]]:
        """Token ids, and how many of the last are scored."""
        encoded = [(self._tokenizer.encode(text), start) for text, start in spans]
        return [
            (torch.tensor([found.ids]), sum(first >= start for first, _ in found.offsets)) for found, start in encoded
        ]

    def run(self, prepared: list[tuple[torch.Tensor, int]]) -> float:
        """Processor seconds for all of them."""
        start = time.process_time()
        with torch.inference_mode():
            for ids, scored in prepared:
                logits = self._model(input_ids=ids[:, :-1], use_cache=False, logits_to_keep=scored).logits
                float(torch.log_softmax(logits, dim=-1)[0].gather(1, ids[0, -scored:, None]).sum())
        return time.process_time() - start


def speed(model: Model, folder: Path) -> bool:
    """Echoes of texts that share nothing, against the bare forward pass over the same tokens."""
    bare = Bare(folder)
    ratios: list[float] = []
    for number in range(ROUNDS):
        spans = [make_turn(model, Stream(number, f"bare {at}"))[0] for at in range(2)]
        prepared = bare.prepare(spans)
        first = bare.run(prepared)
        ours, evaluated = asyncio.run(echo_all(model, spans))
        ratios.append((first + bare.run(prepared)) / 2 / ours)
        print(f"  {evaluated:,} tokens: {evaluated / ours:,.0f} a second, bare {evaluated / first:,.0f}")
    return report("echoes, tokens a second against the bare forward pass", median(ratios), BARE_LIMIT, "x")


def sharing(model: Model, folder: Path) -> bool:
    """Tokens computed for the turns of a duel, against what they would be if nothing were shared."""
    turns = [make_turn(model, Stream(number, "sharing")) for number in range(TURNS)]
    tokenizer = Tokenizer(NAME, folder)
    alone = sum(len(tokenizer.encode(text).ids) - 1 for turn in turns for text, _ in turn)
    seconds, evaluated = 0.0, 0
    for turn in turns:
        took, computed = asyncio.run(echo_all(model, turn))
        seconds, evaluated = seconds + took, evaluated + computed
    print(f"  {sum(map(len, turns))} echoes in {seconds:.1f} s: {evaluated:,} tokens computed of {alone:,}")
    return report("tokens computed alone, against with shared prefixes", alone / evaluated, SHARED_LIMIT, "x")


def serve(connection: Connection) -> None:
    """A server that answers nobody before all places in flight are taken, and then as vLLM does; in its own process."""
    waiting, most = 0, 0
    full = asyncio.Event()

    async def complete(request: Request) -> Response:
        nonlocal waiting, most
        count = len((await request.json())["prompt"])
        waiting += 1
        most = max(most, waiting)
        if waiting >= IN_FLIGHT:
            full.set()
        if count > FEW:
            await full.wait()
        waiting -= 1
        logprobs = {"token_logprobs": [None, *[-1.25] * count], "tokens": ["word"] * (count + 1)}
        choice = {"index": 0, "text": "word " * count, "logprobs": logprobs, "finish_reason": "length"}
        usage = {"prompt_tokens": count, "completion_tokens": 1, "most_in_flight": most}
        return Response(json.dumps({"choices": [choice], "usage": usage}), media_type="application/json")

    async def peak(_: Request) -> Response:
        return Response(str(most))

    routes = [Route("/v1/completions", complete, methods=["POST"]), Route("/peak", peak)]
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    connection.send(listener.getsockname()[1])
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="error", lifespan="off"))
    asyncio.run(server.serve(sockets=[listener]))


def in_flight(tokenizer: Path) -> list[bool]:
    """Many echoes of some 2,000 tokens at once: how many are under way, and what memory that takes."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    try:
        address = f"http://127.0.0.1:{ours.recv()}"
        options = f"tokenizer={tokenizer}&weights=sha256:{'0' * 64}"
        model = open_model(parse_spec(f"server:{address}/v1#any?{options}"), Path())
        return asyncio.run(ask_many(model, address))
    finally:
        process.kill()
        process.join()


async def ask_many(model: Model, address: str) -> list[bool]:
    """As many echoes as the server has places for, four times over."""
    stream = Stream(1, "in flight")
    texts = [write(stream, 500) for _ in range(ASKED)]
    await model.echo("one two", 3)
    Path("/proc/self/clear_refs").write_text("5")
    before = held("VmRSS")
    start = time.perf_counter()
    echoes = await asyncio.gather(*(model.echo(text, len(text) // 2) for text in texts))
    seconds = time.perf_counter() - start
    async with httpx.AsyncClient() as client:
        most = int((await client.get(f"{address}/peak")).text)
    await model.close()
    tokens = sum(echo.evaluated for echo in echoes)
    print(f"  {ASKED} echoes of {tokens // ASKED:,} tokens in {seconds:.1f} s")
    return [
        report("echoes in flight to one server", most, IN_FLIGHT, ""),
        report("memory that they take", held("VmHWM") - before, MEMORY_LIMIT_MIB, " MiB", at_least=False),
    ]


def held(name: str) -> float:
    """What this process holds, or held at most, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def main() -> int:
    """The exit status after all of it."""
    try:
        folder = unpack_weights(NAME)
    except MissingMaterial as missing:
        print(missing)
        return 3
    results = in_flight(folder)
    model = open_model(parse_spec(f"local:{NAME}"), Path())
    results += [speed(model, folder), sharing(model, folder)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
