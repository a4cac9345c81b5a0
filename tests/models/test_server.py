"""The API over a local model: answers in vLLM's shape, errors in OpenAI's."""

import asyncio
import json

import pytest

from assay.kernel.errors import Unavailable
from assay.models.protocol import Message, Sampling
from assay.models.scripted import PROFILES, ScriptedModel
from assay.testing.models import TOLERANCE

httpx = pytest.importorskip("httpx", exc_type=ImportError)
pytest.importorskip("starlette", exc_type=ImportError)
server = pytest.importorskip("assay.models.server", exc_type=ImportError)

TEXT = "The log files lie in the folder."


class Caller:
    """Asks an application in this process, without a network."""

    def __init__(self, app):
        self.app = app

    def __call__(self, method, path, body=None, *, raw=None):
        async def main():
            road = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=road, base_url="http://here") as client:
                content = raw if raw is not None else None if body is None else json.dumps(body)
                return await client.request(method, path, content=content)

        answer = asyncio.run(main())
        return answer.status_code, json.loads(answer.content)

    def complete(self, **body):
        return self("POST", "/v1/completions", {"model": "tiny", **body})


@pytest.fixture
def call(tiny):
    return Caller(server.build_app(tiny(), "tiny"))


@pytest.fixture
def plain():
    return Caller(server.build_app(ScriptedModel("scripted:teacher", PROFILES["teacher"]), "tiny"))


def ids_of(tiny, text):
    return asyncio.run(tiny().tokenise(text))


def test_who_is_there(call):
    assert call("GET", "/health") == (200, {"status": "ok"})
    status, body = call("GET", "/v1/models")
    assert (status, body["object"], len(body["data"])) == (200, "list", 1)
    assert body["data"][0]["id"] == "tiny"
    assert body["data"][0]["weights"].startswith("sha256:")


@pytest.mark.parametrize("as_ids", [False, True])
def test_an_echo_alone_has_vllms_shape(call, tiny, as_ids):
    ids = ids_of(tiny, TEXT)
    status, body = call.complete(prompt=ids if as_ids else TEXT, echo=True, logprobs=0, max_tokens=0)
    choice = body["choices"][0]
    assert status == 200
    assert (body["object"], body["model"], choice["index"], choice["text"]) == ("text_completion", "tiny", 0, TEXT)
    assert set(choice["logprobs"]) == {"tokens", "token_logprobs", "text_offset"}
    assert "".join(choice["logprobs"]["tokens"]) == TEXT
    places = [TEXT.find(piece, place) for piece, place in zip(*spelt(choice), strict=True)]
    assert places == choice["logprobs"]["text_offset"]
    assert choice["logprobs"]["token_logprobs"][0] is None
    assert all(value < 0 for value in choice["logprobs"]["token_logprobs"][1:])
    assert len(choice["logprobs"]["token_logprobs"]) == len(ids) == body["usage"]["prompt_tokens"]
    assert (choice["finish_reason"], body["usage"]["completion_tokens"]) == ("length", 0)


def spelt(choice):
    return choice["logprobs"]["tokens"], choice["logprobs"]["text_offset"]


def test_a_generated_token_stands_behind_the_echo(call, tiny):
    count = len(ids_of(tiny, TEXT))
    _, alone = call.complete(prompt=TEXT, echo=True, logprobs=0, max_tokens=0)
    _, body = call.complete(prompt=TEXT, echo=True, logprobs=0, max_tokens=1, temperature=0)
    values = body["choices"][0]["logprobs"]["token_logprobs"]
    assert len(values) == count + body["usage"]["completion_tokens"]
    before = alone["choices"][0]["logprobs"]["token_logprobs"]
    assert values[1:count] == pytest.approx(before[1:], abs=TOLERANCE)
    assert body["choices"][0]["text"].startswith(TEXT)


def test_log_probabilities_without_an_echo_are_of_what_was_generated(call):
    _, body = call.complete(prompt=TEXT, logprobs=0, max_tokens=6, temperature=0)
    choice = body["choices"][0]
    assert len(choice["logprobs"]["tokens"]) == body["usage"]["completion_tokens"] > 0
    assert all(value < 0 for value in choice["logprobs"]["token_logprobs"])
    assert not choice["text"].startswith(TEXT)


def test_only_the_end_is_computed_where_only_the_end_is_asked_for(call, tiny):
    count = len(ids_of(tiny, TEXT))
    call.complete(prompt=TEXT, echo=True, logprobs=0, max_tokens=0)
    _, body = call.complete(
        prompt=TEXT, echo=True, logprobs=0, max_tokens=0, vllm_xargs={"affine_echo_tail": 3, "x": "y"}
    )
    values = body["choices"][0]["logprobs"]["token_logprobs"]
    assert values[:-3] == [None] * (count - 3)
    assert None not in values[-3:]
    assert body["usage"]["prompt_tokens_details"]["cached_tokens"] == count - 3


def test_choices_are_those_of_seeds_in_a_row(call, tiny):
    _, body = call.complete(prompt=TEXT, n=3, seed=40, max_tokens=8, temperature=0.9, stop=["zz"])

    async def alone():
        model = tiny()
        drawn = [
            await model.complete(TEXT, Sampling(max_tokens=8, temperature=0.9, seed=seed, stop=("zz",)))
            for seed in (40, 41, 42)
        ]
        await model.close()
        return drawn

    drawn = asyncio.run(alone())
    assert [choice["text"] for choice in body["choices"]] == [own.text for own in drawn]
    assert [choice["index"] for choice in body["choices"]] == [0, 1, 2]
    assert body["usage"]["completion_tokens"] == sum(own.tokens for own in drawn)
    assert call.complete(prompt=TEXT, max_tokens=8) == call.complete(prompt=TEXT, max_tokens=8, seed=0)


def test_a_conversation_is_rendered_by_the_models_template(call, tiny):
    said = [{"role": "user", "content": "where?"}]
    status, body = call("POST", "/v1/chat/completions", {"model": "tiny", "messages": said, "max_tokens": 7, "seed": 3})

    async def alone():
        model = tiny()
        prompt = model.render([Message(role="user", content="where?")])
        drawn = await model.complete(prompt, Sampling(max_tokens=7, temperature=1.0, seed=3))
        count = len(await model.tokenise(prompt))
        await model.close()
        return drawn, count

    drawn, count = asyncio.run(alone())
    assert (status, body["object"]) == (200, "chat.completion")
    message = {"role": "assistant", "content": drawn.text}
    assert body["choices"] == [{"index": 0, "message": message, "finish_reason": drawn.finish}]
    assert (body["usage"]["prompt_tokens"], body["usage"]["completion_tokens"]) == (count, drawn.tokens)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "prompt"),
        ({"prompt": 7}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": [1, "2"]}, "prompt"),
        ({"prompt": [10**7]}, "expected token ids from 0 up to"),
        ({"prompt": ""}, "at least one token"),
        ({"prompt": "x", "max_tokens": -1}, "max_tokens: Input should be greater than or equal to 0"),
        ({"prompt": "x", "max_tokens": "4"}, "max_tokens"),
        ({"prompt": "x", "n": 0}, "n: "),
        ({"prompt": "x", "temperature": -1}, "temperature"),
        ({"prompt": "x", "seed": -1}, "seed"),
        ({"prompt": "x", "seed": 1.5}, "seed"),
        ({"prompt": "x", "stop": [""]}, "stop"),
        ({"prompt": "x", "logprobs": 5}, "logprobs"),
        ({"prompt": "x", "stream": True}, "stream: answers are given whole"),
        ({"prompt": "x", "vllm_xargs": {"affine_echo_tail": 0}}, "affine_echo_tail"),
        ({"prompt": "x", "max_tokens": 1500}, "maximum context length is 1500"),
        ({"prompt": [5] * 1501, "echo": True, "logprobs": 0, "max_tokens": 0}, "maximum context length is 1500"),
    ],
)
def test_a_request_that_cannot_be_is_a_400_with_the_reason(call, body, words):
    status, answer = call.complete(**body)
    assert (status, set(answer["error"])) == (400, {"message", "type", "param", "code"})
    assert words in answer["error"]["message"]
    assert (answer["error"]["code"], answer["error"]["type"]) == (400, "BadRequestError")


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"nonsense", b'{"a": 1, "a": 2}', b'{"prompt": NaN}', b"\xff", b"[" * 9999]
)
def test_what_is_no_request_is_a_400(call, raw):
    assert call("POST", "/v1/completions", raw=raw)[0] == 400
    assert call("POST", "/v1/chat/completions", raw=raw)[0] == 400


def test_a_conversation_that_the_template_refuses_is_a_400(call):
    for said in ([{"role": "nobody", "content": "x"}], [{"role": "user"}], []):
        assert call("POST", "/v1/chat/completions", {"model": "tiny", "messages": said})[0] == 400


def test_unknown_models_and_roads_are_a_404(call):
    status, body = call.complete(prompt="x", model="other")
    assert (status, body["error"]["message"]) == (404, "no model is called 'other'; there is tiny")
    for method, path in (("GET", "/"), ("POST", "/v1/embeddings"), ("GET", "/v1/models/tiny")):
        status, body = call(method, path)
        assert (status, body["error"]["type"]) == (404, "NotFoundError")
    assert call("GET", "/v1/completions")[0] == 405


def test_a_request_that_is_too_large_is_a_413(tiny):
    call = Caller(server.build_app(tiny(), "tiny", server.Capacity(body=1000)))
    assert call.complete(prompt="x" * 900)[0] == 200
    status, body = call.complete(prompt="x" * 1000)
    assert (status, body["error"]["type"]) == (413, "RequestTooLarge")


class Sulking(ScriptedModel):
    """Fails, or takes its time."""

    def __init__(self, error=None):
        super().__init__("scripted:teacher", PROFILES["teacher"])
        self.error = error
        self.free = asyncio.Event()

    async def complete(self, prompt, sampling):
        if self.error:
            raise self.error
        await self.free.wait()
        return await super().complete(prompt, sampling)


def test_a_model_that_fails_is_a_503():
    call = Caller(server.build_app(Sulking(Unavailable("no memory")), "tiny"))
    status, body = call.complete(prompt="x")
    assert (status, body["error"]["message"], body["error"]["type"]) == (503, "no memory", "ServiceUnavailableError")


def test_more_requests_than_it_takes_on_are_a_503():
    async def main():
        model = Sulking()
        road = httpx.ASGITransport(app=server.build_app(model, "tiny", server.Capacity(waiting=2)))
        async with httpx.AsyncClient(transport=road, base_url="http://here") as client:

            async def ask():
                answer = await client.post("/v1/completions", json={"model": "tiny", "prompt": "x", "max_tokens": 4})
                return answer.status_code

            asked = [asyncio.ensure_future(ask()) for _ in range(3)]
            done, held = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            refused = [task.result() for task in done]
            model.free.set()
            return refused, await asyncio.gather(*held), await ask()

    assert asyncio.run(main()) == ([503], [200, 200], 200)


def test_a_model_without_tokens_takes_texts_and_echoes_nothing(plain):
    status, body = plain.complete(prompt="Use bash: where are the log files?", max_tokens=300)
    assert (status, "grep" in body["choices"][0]["text"]) == (200, True)
    assert (
        plain("POST", "/v1/chat/completions", {"model": "tiny", "messages": [{"role": "user", "content": "x"}]})[0]
        == 200
    )
    for more in ({"echo": True}, {"logprobs": 0}, {"max_tokens": 0}, {"prompt": [1, 2]}):
        status, body = plain.complete(**{"prompt": "x", **more})
        assert (status, "has no echo" in body["error"]["message"]) == (400, True)


def test_it_closes_the_model_when_it_ends(serve, tiny):
    model, closed = tiny(), []
    close = model.close

    async def noted():
        closed.append(True)
        await close()

    model.close = noted
    address = serve(server.build_app(model, "tiny"))
    assert httpx.get(address.replace("/v1", "/health"), trust_env=False).json() == {"status": "ok"}
    assert closed == []


def test_numbers_that_json_does_not_have_are_sent_as_they_are(tiny):
    torch = pytest.importorskip("torch")
    model = tiny()
    with torch.no_grad():
        model._model.lm_head.weight.fill_(float("nan"))
    status, body = Caller(server.build_app(model, "tiny")).complete(prompt=TEXT, echo=True, logprobs=0, max_tokens=0)
    assert status == 200
    assert all(value != value for value in body["choices"][0]["logprobs"]["token_logprobs"][1:])
