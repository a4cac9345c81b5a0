"""The model of a server: the contract over a real one, and every way in which a server can fail."""

import asyncio
import json
import logging
import math
import pickle
from functools import cache, partial

import pytest

from assay.kernel.errors import BadInput, MissingMaterial
from assay.models.catalog import open_model, parse_spec
from assay.models.errors import BadAnswer, ContextTooLong, ModelUnavailable
from assay.models.protocol import Identity, Message, Sampling
from assay.testing.models import TOLERANCE, check_model

for needed in ("transformers", "torch", "httpx", "starlette"):
    pytest.importorskip(needed, exc_type=ImportError)
openai = pytest.importorskip("assay.models.openai", exc_type=ImportError)
server = pytest.importorskip("assay.models.server", exc_type=ImportError)
transport = pytest.importorskip("assay.models.transport", exc_type=ImportError)

TEXT = "The log files lie in the folder called logs. The oldest lie in another."
SPAN = TEXT.index(" The oldest")
SECRET = "planted-0123456789-key"
CONTEXT = {
    "error": {"message": "This model's maximum context length is 1500 tokens", "type": "BadRequestError", "code": 400}
}


class Sleeps(list):
    """Waits that are noted and not waited."""

    async def __call__(self, seconds):
        self.append(seconds)


@cache
def load_tokenizer(folder):
    return openai.Tokenizer("server:tiny", openai.Path(folder))


def ask(canned, spec_of, answers, work, *, key="", limits=None):
    """What came of the work with the model of a canned server, what it was asked, and the waits in between."""
    sleeps = Sleeps()

    async def main(address):
        spec = spec_of(address)
        own = openai.ServerModel(
            Identity(name=spec.text, weights=spec.options["weights"], checked=False),
            load_tokenizer(spec.options["tokenizer"]),
            spec,
            key=transport.ApiKey(key),
            limits=limits,
            sleep=sleeps,
        )
        try:
            return await work(own)
        finally:
            await own.close()

    result, asked = canned(answers, main)
    return result, [(head, json.loads(body)) for head, body in asked], sleeps


def respond(body, status="200 OK"):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return b"HTTP/1.1 %s\r\ncontent-length: %d\r\n\r\n" % (status.encode(), len(raw)) + raw


def echoing(values, **usage):
    return respond({"choices": [{"text": "", "logprobs": {"token_logprobs": values}}], "usage": usage})


def completing(**members):
    return respond(
        {"choices": [{"text": "done", "finish_reason": "stop", **members}], "usage": {"completion_tokens": 1}}
    )


def echo(model):
    return model.echo(TEXT, SPAN)


def complete(model):
    return model.complete("the log", Sampling(max_tokens=4, temperature=0.5, seed=9, stop=("x",)))


def count_of(tiny_folder, text):
    return len(load_tokenizer(str(tiny_folder)).encode(text).ids)


@pytest.fixture
def values(tiny_folder):
    return [None, *[-0.5] * (count_of(tiny_folder, TEXT) - 1)]


@pytest.fixture
def span(tiny_folder):
    return count_of(tiny_folder, TEXT[SPAN:])


def test_the_contract_over_http(serve, tiny, spec_of):
    spec = spec_of(serve(server.build_app(tiny(), "tiny")))
    found = check_model(lambda: openai.open_server(spec, openai.Path()))
    assert set(found.values()) == {"ok"}, found


def test_the_numbers_are_those_of_the_model_in_this_process(serve, tiny, spec_of):
    text = f"server:{serve(server.build_app(tiny(), 'tiny'))}#tiny?" + "&".join(
        f"{name}={value}" for name, value in spec_of("").options.items()
    )
    here, there = tiny(), open_model(parse_spec(text), openai.Path())

    async def main():
        for start in (0, 1, SPAN, len(TEXT)):
            near, far = await here.echo(TEXT, start), await there.echo(TEXT, start)
            assert (near.tokens, near.size) == (far.tokens, far.size)
            assert near.total == pytest.approx(far.total, abs=TOLERANCE * max(near.tokens, 1))
        again = await there.echo(TEXT, SPAN)
        assert again.evaluated < len(TEXT) / 2
        prompt = here.render([Message(role="user", content="where?")])
        assert there.render([Message(role="user", content="where?")]) == prompt
        for seed in range(3):
            sampling = Sampling(max_tokens=9, temperature=0.8, seed=seed)
            assert await there.complete(prompt, sampling) == await here.complete(prompt, sampling)
        await asyncio.gather(here.close(), there.close())

    asyncio.run(main())
    assert (there.identity.name, there.identity.checked) == (text, False)
    assert there.identity.weights == spec_of("").options["weights"]


def test_what_is_asked(canned, spec_of, values, tiny_folder, span):
    found, asked, _ = ask(canned, spec_of, [echoing([*values, -9.0])], echo)
    assert (found.total, found.tokens, found.size) == (-0.5 * span, span, len(TEXT[SPAN:]))
    ((head, body),) = asked
    assert head.startswith(b"POST /v1/completions HTTP/1.1\r\n")
    assert body == {
        "model": "tiny",
        "prompt": load_tokenizer(str(tiny_folder)).encode(TEXT).ids,
        "max_tokens": 1,
        "temperature": 0,
        "echo": True,
        "logprobs": 0,
        "add_special_tokens": False,
        "vllm_xargs": {"affine_echo_tail": span + 1 + 8},
    }
    drawn, asked, _ = ask(canned, spec_of, [completing()], complete)
    assert (drawn.text, drawn.finish, drawn.tokens) == ("done", "stop", 1)
    own = {name: asked[0][1][name] for name in ("max_tokens", "temperature", "seed", "stop", "add_special_tokens")}
    assert own == {"max_tokens": 4, "temperature": 0.5, "seed": 9, "stop": ["x"], "add_special_tokens": False}


def test_a_server_that_generates_nothing_will_do(canned, spec_of, values, span):
    found, _, _ = ask(canned, spec_of, [echoing(values)], echo)
    assert (found.total, found.tokens) == (-0.5 * span, span)


def test_what_the_server_had_at_hand_is_not_counted_as_evaluated(canned, spec_of, values):
    found, _, _ = ask(canned, spec_of, [echoing(values, prompt_tokens_details={"cached_tokens": 5})], echo)
    assert found.evaluated == len(values) - 5


def test_a_first_token_without_a_number_is_no_fault(canned, spec_of, values):
    found, asked, _ = ask(canned, spec_of, [echoing(values)], lambda model: model.echo(TEXT, 0))
    assert (found.tokens, len(asked)) == (len(values) - 1, 1)


def test_a_span_without_tokens_is_not_asked_for(canned, spec_of):
    found, asked, _ = ask(canned, spec_of, [echoing([])], lambda model: model.echo(TEXT, len(TEXT)))
    assert (found.total, found.tokens, found.per_byte, asked) == (0.0, 0, 0.0, [])


@pytest.mark.parametrize("mark", [1.0, None, 1e-3])
def test_a_position_from_a_cache_is_asked_for_once_more_without_it(canned, spec_of, values, span, mark):
    marked = [*values[:-2], mark, values[-1]]
    found, asked, sleeps = ask(canned, spec_of, [echoing(marked), echoing(values)], echo)
    assert (found.total, found.tokens) == (-0.5 * span, span)
    assert ["vllm_xargs" in body for _, body in asked] == [True, False]
    assert found.evaluated == 2 * len(values)
    assert sleeps == []
    with pytest.raises(BadAnswer, match="no log-probability, or a positive one, asked twice"):
        ask(canned, spec_of, [echoing(marked)], echo)


@pytest.mark.parametrize("word", ["NaN", "-Infinity", "Infinity"])
def test_what_is_no_finite_number_passes_through(canned, spec_of, values, word):
    wild = [*values[:-1], float(word.lower().replace("infinity", "inf"))]
    assert word.encode() in echoing(wild)
    found, _, _ = ask(canned, spec_of, [echoing(wild)], echo)
    assert not math.isfinite(found.total)


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 8 tokens",
        "longer than the max context length",
        "exceeds max_model_len",
        "input_tokens 9 > 8",
        "The decoder prompt (length 9) is longer than the maximum model length of 8.",
    ],
)
def test_a_text_that_is_too_long_is_said_at_once(canned, spec_of, words):
    async def refused(model):
        with pytest.raises(ContextTooLong, match="does not fit the model's window; it answered 400: "):
            await echo(model)
        with pytest.raises(ContextTooLong):
            await complete(model)

    for body in ({"error": {"message": words}}, {"message": words}, {"detail": [words]}, words.encode()):
        _, asked, sleeps = ask(canned, spec_of, [respond(body, "400 Bad Request")], refused)
        assert (len(asked), sleeps) == (2, [])


@pytest.mark.parametrize(
    ("status", "error"),
    [
        *[(status, BadAnswer) for status in ("400 Bad Request", "413 Too Large", "422 No")],
        *[(status, ModelUnavailable) for status in ("401 No", "403 No", "404 No", "418 Teapot", "302 Found", "204 No")],
    ],
)
def test_another_refusal_is_said_at_once_in_the_servers_words(canned, spec_of, status, error):
    """One of the request leaves its turn out; one of whoever asks would leave out every turn, so the duel stops."""
    long = {"error": {"message": "no such thing\n\x1b[31m " + "x" * 900}}

    async def refused(model):
        with pytest.raises(error) as fault:
            await complete(model)
        return fault.value.message

    message, asked, sleeps = ask(canned, spec_of, [respond(long if status[:3] != "204" else b"", status)], refused)
    assert (len(asked), sleeps) == (1, [])
    assert f"it answered {status[:3]}" in message
    assert message.isprintable()
    assert len(message) < 400


async def hang(writer):
    await asyncio.sleep(3600)


async def hang_up(writer):
    writer.close()


async def reset(writer):
    writer.transport.abort()


async def drip(writer):
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n")
    while True:
        writer.write(b" ")
        await asyncio.sleep(0.01)


HALF = completing()[:-20]
FAILING = {
    "429": respond({"error": {"message": "slow down"}}, "429 Too Many Requests"),
    "500": respond(b"oops", "500 Internal Server Error"),
    "503": respond({"message": "starting"}, "503 Service Unavailable"),
    "half a body": HALF.replace(b"content-length", b"connection: close\r\ncontent-length"),
    "half a body, and no length": b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + HALF.partition(b"\r\n\r\n")[2],
    "nothing": hang_up,
    "a reset": reset,
    "silence": hang,
    "a drip": drip,
    "no HTTP": b"\x00\x01\x02 nonsense\r\n\r\n",
    "nested too deeply": respond(b"[" * 200_000),
    "another character set": respond("ä".encode("latin-1")),
}
ENDLESS = ("silence", "a drip")


@pytest.mark.parametrize("failure", FAILING)
def test_a_failure_is_tried_again_and_then_said(canned, spec_of, failure):
    async def unavailable(model):
        with pytest.raises(ModelUnavailable, match="3 attempts failed, at last because ") as fault:
            await complete(model)
        return fault.value.message

    limits = transport.Limits(timeout=0.2) if failure in ENDLESS else transport.Limits()
    message, asked, sleeps = ask(canned, spec_of, [FAILING[failure]], unavailable, limits=limits)
    assert sleeps == [2.0, 4.0]
    assert len(asked) == 3 or failure in ENDLESS  # a slow machine may not even have read the request
    assert ("did not answer within 0.2 s" in message) == (failure in ENDLESS)


@pytest.mark.parametrize("failure", [name for name in FAILING if name not in ENDLESS])
def test_an_answer_at_the_third_attempt_is_an_answer(canned, spec_of, failure):
    found, asked, sleeps = ask(canned, spec_of, [FAILING[failure]] * 2 + [completing()], complete)
    assert (found.text, len(asked), sleeps) == ("done", 3, [2.0, 4.0])


def test_nobody_there_is_tried_again_and_then_said(spec_of):
    sleeps = Sleeps()

    async def main():
        own = openai.open_server(spec_of("http://127.0.0.1:1/v1"), openai.Path())
        own._transport._sleep = sleeps
        with pytest.raises(ModelUnavailable, match="the connection failed \\(ConnectError"):
            await complete(own)
        await own.close()

    asyncio.run(main())
    assert sleeps == [2.0, 4.0]


@pytest.mark.parametrize("count", [0, 1, -1, 2])
def test_a_wrong_count_of_tokens_is_a_bad_answer(canned, spec_of, values, count):
    wrong = [values[:count] if count <= 0 else [*values, *[-1.0] * (count + 1)]][0]
    with pytest.raises(BadAnswer, match=f"expected {len(values)} log-probabilities, or one more, got {len(wrong)}"):
        ask(canned, spec_of, [echoing(wrong)], echo)


@pytest.mark.parametrize("more", [1, -1])
def test_a_token_that_the_server_adds_is_a_bad_answer(canned, spec_of, values, more):
    """It would shift every number by one, and as many would come as from a server that generated a token."""
    count = len(values)
    shifted = echoing([None, *[-0.5] * count], prompt_tokens=count + more, completion_tokens=0)
    with pytest.raises(BadAnswer, match=f"expected {count} prompt tokens, as they were sent, got {count + more}"):
        ask(canned, spec_of, [shifted], echo)


@pytest.mark.parametrize(
    "body",
    [
        [],
        "text",
        None,
        {},
        {"choices": []},
        {"choices": [{}, {}]},
        {"choices": {"0": {}}},
        {"choices": [None]},
        {"choices": [{"logprobs": None}]},
        {"choices": [{"logprobs": {"token_logprobs": None}}]},
        {"choices": [{"logprobs": {"token_logprobs": ["-0.5"] * 30}}]},
        {"choices": [{"logprobs": {"token_logprobs": [True] * 30}}]},
        {"choices": [{"logprobs": {"token_logprobs": [-(10**400)] * 30}}]},
        {"choices": [{"text": 7, "finish_reason": "stop"}]},
        {"choices": [{"text": "x", "finish_reason": "abort"}]},
        {"choices": [{"text": "x", "finish_reason": ["stop"]}]},
        {"choices": [{"text": "x", "finish_reason": "stop"}], "usage": {"completion_tokens": "1"}},
        {"choices": [{"text": "x", "finish_reason": "stop"}], "usage": {"completion_tokens": 5}},
        {"choices": [{"text": "x", "finish_reason": "stop"}], "usage": {"completion_tokens": True}},
    ],
)
def test_an_answer_of_another_shape_is_a_bad_answer(canned, spec_of, body):
    async def refused(model):
        with pytest.raises(BadAnswer, match=r"expected .*, got "):
            await echo(model)
        with pytest.raises(BadAnswer, match=r"expected .*, got "):
            await complete(model)

    _, asked, sleeps = ask(canned, spec_of, [respond(body)], refused)
    assert (len(asked), sleeps) == (2, [])


def test_a_completion_may_hold_lone_surrogates_and_no_usage(canned, spec_of):
    body = respond(b'{"choices": [{"text": "a\\ud83d", "finish_reason": "length"}], "usage": null}')
    found, _, _ = ask(canned, spec_of, [body], complete)
    assert (found.text, found.finish) == ("a\ud83d", "length")
    assert 0 < found.tokens <= 4


def test_an_endless_answer_is_cut_off(canned, spec_of):
    sent = []

    async def flood(writer):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 104857600\r\n\r\n")
        for _ in range(100):
            writer.write(b"x" * (1 << 20))
            sent.append(1 << 20)
            await writer.drain()

    async def refused(model):
        with pytest.raises(BadAnswer, match=r"expected an answer of \d+ bytes at most, got more"):
            await echo(model)

    _, asked, _ = ask(canned, spec_of, [flood], refused)
    assert len(asked) == 1
    assert sum(sent) < 20 << 20


def test_so_many_are_in_flight_and_no_more(canned, spec_of):
    held = {"now": 0, "most": 0}

    async def slow(writer):
        held["now"] += 1
        held["most"] = max(held["most"], held["now"])
        await asyncio.sleep(0.02)
        held["now"] -= 1
        writer.write(completing())
        await writer.drain()

    async def many(model):
        return await asyncio.gather(*(complete(model) for _ in range(20)))

    found, asked, _ = ask(canned, spec_of, [slow], many, limits=transport.Limits(in_flight=4))
    assert (len(found), len(asked)) == (20, 20)
    assert held["most"] == 4


def test_what_waits_is_not_tokens_yet(canned, spec_of):
    """A thousand echoes may wait; only of those in flight is anything held but the text."""
    encoded = []

    async def some(model):
        own = model._tokenizer.encode
        model._tokenizer.encode = lambda text: encoded.append(text) or own(text)
        asking = [asyncio.ensure_future(echo(model)) for _ in range(20)]
        while len(encoded) < 3:
            await asyncio.sleep(0)
        for _ in range(50):
            await asyncio.sleep(0)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        return len(encoded)

    count, _, _ = ask(canned, spec_of, [hang], some, limits=transport.Limits(in_flight=3))
    assert count == 3


def test_the_key_goes_into_the_header_and_nowhere_else(canned, spec_of, caplog, capfd, monkeypatch):
    caplog.set_level(logging.DEBUG)
    bodies = {
        BadAnswer: [
            respond({"choices": f"{SECRET}"}),
            respond(SECRET.encode() * 900, "400 No"),
        ],
        ModelUnavailable: [
            respond({"error": {"message": f"wrong key {SECRET}, go away"}}, "401 No"),
            respond(f"no {SECRET}".encode(), "500 No"),
            respond(SECRET.encode()),
        ],
    }

    async def refused(family, model):
        told.append(repr(model) + repr(model._transport) + repr(model._transport._key) + str(vars(model._transport)))
        with pytest.raises(family) as fault:
            await complete(model)
        error = fault.value
        while error is not None:
            told.append(f"{error!r} {error} {getattr(error, 'details', '')} {error.args}")
            error = error.__cause__ or error.__context__

    told = []
    for family, answer in [(kind, answer) for kind, answers in bodies.items() for answer in answers]:
        _, asked, _ = ask(canned, spec_of, [answer], partial(refused, family), key=SECRET)
        assert f"authorization: bearer {SECRET}".encode() in asked[0][0].lower()
        assert SECRET not in json.dumps(asked[0][1])
    out = capfd.readouterr()
    assert SECRET not in "".join(told) + caplog.text + out.out + out.err
    assert "<secret>" in "".join(told)


def test_the_key_comes_from_the_environment(canned, spec_of, values, monkeypatch):
    monkeypatch.setenv("ASSAY_MODEL_KEY", f" {SECRET}\n")

    async def work(address):
        model = openai.open_server(spec_of(address), openai.Path())
        try:
            return await echo(model)
        finally:
            await model.close()

    _, asked = canned([echoing(values)], work)
    assert f"bearer {SECRET}\r\n".encode() in asked[0][0].lower()
    monkeypatch.delenv("ASSAY_MODEL_KEY")
    _, asked = canned([echoing(values)], work)
    assert b"authorization" not in asked[0][0].lower()


def test_a_key_that_cannot_be_one_is_refused_without_showing_it():
    for secret in (f"{SECRET}\nx: y", f"{SECRET} two", f"{SECRET}ä"):
        with pytest.raises(BadInput) as refused:
            transport.ApiKey(secret)
        assert SECRET not in refused.value.message
    with pytest.raises(TypeError):
        pickle.dumps(transport.ApiKey(SECRET))


def test_a_server_without_its_tokenizer_is_not_opened(spec_of, tmp_path):
    spec = parse_spec(f"server:http://h/v1#m?tokenizer=none&weights=sha256:{'0' * 64}")
    with pytest.raises(MissingMaterial, match="expected the one that holds the model's tokenizer"):
        open_model(spec, tmp_path)


def test_a_prompt_without_tokens_is_refused_here(canned, spec_of):
    async def refused(model):
        with pytest.raises(BadInput, match="at least one token"):
            await model.complete("", Sampling(max_tokens=1, temperature=0, seed=0))

    assert ask(canned, spec_of, [completing()], refused)[1] == []
