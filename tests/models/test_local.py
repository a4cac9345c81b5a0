"""The model in this process: the contract, and that every road to a log-probability leads to the same number."""

import asyncio
import math
import shutil

import pytest

from assay.kernel.errors import BadInput, MissingMaterial
from assay.models.errors import ContextTooLong, ModelUnavailable
from assay.models.protocol import Message, Sampling
from assay.models.token_model import TokenModel
from assay.testing.models import TOLERANCE, check_model

torch = pytest.importorskip("torch", exc_type=ImportError)
local = pytest.importorskip("assay.models.local", exc_type=ImportError)
transformers = pytest.importorskip("transformers", exc_type=ImportError)

TALK = [Message(role="user", content="Where do the log files lie?")]
TEXT = "The log files lie in the folder called logs. The oldest lie in another folder of the server."
SPAN = TEXT.index("The oldest")


def greedy(limit=12, seed=0, **more):
    return Sampling(max_tokens=limit, temperature=0.0, seed=seed, **more)


def warm(seed, limit=12):
    return Sampling(max_tokens=limit, temperature=0.8, seed=seed)


def run(model, work):
    """Does the work with an open model, and closes it."""

    async def main():
        try:
            return await work(model)
        finally:
            await model.close()

    return asyncio.run(main())


def score_plainly(folder, text, start):
    """The peer: transformers' own forward over the whole text, and the sum from the first token of the span."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, return_tensors="pt")
    with torch.inference_mode():
        scores = model(input_ids=found["input_ids"]).logits.log_softmax(-1)
    first = max(sum(int(place) < start for place, _ in found["offset_mapping"][0]), 1)
    ids = found["input_ids"][0].tolist()
    return [float(scores[0, at - 1, ids[at]]) for at in range(first, len(ids))]


def test_the_contract(tiny):
    found = check_model(tiny)
    assert set(found.values()) == {"ok"}, found


def test_it_is_a_model_of_tokens(tiny):
    assert isinstance(tiny(), TokenModel)


def test_an_echo_is_what_transformers_itself_says(tiny, tiny_folder):
    for start in (0, 1, SPAN, len(TEXT) - 1):
        echo = run(tiny(), lambda model, start=start: model.echo(TEXT, start))
        plain = score_plainly(tiny_folder, TEXT, start)
        assert echo.tokens == len(plain)
        assert echo.total == pytest.approx(sum(plain), abs=TOLERANCE * len(plain))


def test_a_shared_beginning_is_computed_once(tiny):
    async def work(model):
        first = await model.echo(TEXT, SPAN)
        again = await model.echo(TEXT, SPAN)
        other = await model.echo(TEXT[:SPAN] + "Another end.", SPAN)
        return first, again, other

    first, again, other = run(tiny(), work)
    assert first.evaluated > first.tokens
    assert again.evaluated == again.tokens == first.tokens
    assert other.evaluated == other.tokens
    assert again.total == pytest.approx(first.total, abs=TOLERANCE * first.tokens)


def test_token_scores_are_the_echo_in_pieces(tiny):
    async def work(model):
        ids = await model.tokenise(TEXT)
        return ids, await model.score_tokens(ids, 0), await model.score_tokens(ids, 9), await model.echo(TEXT, 0)

    ids, whole, tail, echo = run(tiny(), work)
    assert len(whole.logprobs) == len(tail.logprobs) == len(ids)
    assert whole.logprobs[0] is None
    assert None not in whole.logprobs[1:]
    assert tail.logprobs[:9] == [None] * 9
    assert tail.logprobs[9:] == pytest.approx(whole.logprobs[9:], abs=TOLERANCE)
    assert sum(whole.logprobs[1:]) == pytest.approx(echo.total, abs=TOLERANCE * len(ids))


def test_tokens_that_it_does_not_have_are_refused(tiny):
    async def work(model):
        for ids in ([1, 10**6], [-1, 2]):
            with pytest.raises(BadInput, match="expected token ids from 0 up to"):
                await model.score_tokens(ids, 0)
            with pytest.raises(BadInput, match="expected token ids from 0 up to"):
                await model.complete_tokens(ids, greedy())
        with pytest.raises(BadInput, match="at least one token"):
            await model.complete("", greedy())
        with pytest.raises(ContextTooLong, match="maximum context length is 1500"):
            await model.complete_tokens([5] * 1490, greedy(11))
        return await model.complete_tokens([5] * 1490, greedy(10))

    assert run(tiny(), work).completion.tokens <= 10


def test_samples_that_are_asked_for_together_are_those_asked_for_alone(tiny):
    async def work(model):
        prompt = model.render(TALK)
        together = await asyncio.gather(*(model.complete(prompt, warm(seed)) for seed in range(6)))
        alone = [await model.complete(prompt, warm(seed)) for seed in range(6)]
        return together, alone

    together, alone = run(tiny(), work)
    assert list(together) == alone
    assert len({own.text for own in alone}) > 1


def test_one_that_stops_early_leaves_the_others_as_they_are(tiny):
    async def work(model):
        prompt = model.render(TALK)
        whole = await model.complete(prompt, warm(1, 20))
        stop = whole.text[3:5]
        cut = Sampling(max_tokens=20, temperature=0.8, seed=1, stop=(stop,))
        return (
            whole,
            stop,
            await asyncio.gather(
                model.complete(prompt, cut), model.complete(prompt, warm(1, 20)), model.complete(prompt, warm(2, 20))
            ),
        )

    whole, stop, (cut, beside, _) = run(tiny(), work)
    assert (cut.text, cut.finish) == (whole.text[: whole.text.find(stop)], "stop")
    assert beside == whole


def test_a_prompt_that_is_refused_refuses_all_that_asked_for_it_and_no_other(tiny):
    async def work(model):
        asked = [model.complete("", warm(1)), model.complete("", warm(2)), model.complete("the log", warm(3))]
        return await asyncio.gather(*asked, return_exceptions=True)

    first, second, third = run(tiny(), work)
    assert isinstance(first, BadInput)
    assert isinstance(second, BadInput)
    assert third.tokens <= 12


def test_a_caller_that_gives_up_takes_nobody_along(tiny):
    async def work(model):
        prompt = model.render(TALK)
        asked = [asyncio.ensure_future(model.complete(prompt, warm(seed))) for seed in (1, 2)]
        await asyncio.sleep(0)
        asked[0].cancel()
        return await asked[1], await model.complete(prompt, warm(2))

    one, other = run(tiny(), work)
    assert one == other


def test_a_computation_that_failed_leaves_nothing_behind(tiny):
    async def work(model):
        before = await model.echo(TEXT, SPAN)
        layer = model._model.model.layers[1]
        broken = layer.register_forward_pre_hook(lambda *_: (_ for _ in ()).throw(MemoryError("no room")))
        with pytest.raises(MemoryError):
            await model.echo(TEXT[:SPAN] + "The other end of it.", SPAN)
        broken.remove()
        return before, await model.echo(TEXT, SPAN)

    before, after = run(tiny(), work)
    assert after.total == pytest.approx(before.total, abs=TOLERANCE * before.tokens)


def test_a_closed_model_says_so(tiny):
    async def work(model):
        await model.close()
        with pytest.raises(ModelUnavailable, match="the model is closed"):
            await model.echo(TEXT, SPAN)
        with pytest.raises(ModelUnavailable, match="the model is closed"):
            await model.complete("the log", greedy())

    run(tiny(), work)


def test_weights_that_are_no_numbers_pass_through(tiny):
    async def work(model):
        with torch.no_grad():
            model._model.lm_head.weight.fill_(math.nan)
        return await model.echo(TEXT, SPAN)

    echo = run(tiny(), work)
    assert math.isnan(echo.total)
    assert echo.tokens > 0


def test_what_is_no_model_is_named(tmp_path, tiny_folder):
    with pytest.raises(MissingMaterial, match="holds no tokenizer"):
        local.LocalModel("x", tmp_path)
    folder = tmp_path / "cut"
    shutil.copytree(tiny_folder, folder)
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:1000])
    with pytest.raises(MissingMaterial, match="holds no model that can be loaded"):
        local.LocalModel("x", folder)


def test_a_model_that_does_more_behind_its_head_is_refused(tmp_path, tiny_folder):
    folder = tmp_path / "scaled"
    shutil.copytree(tiny_folder, folder)
    base = transformers.AutoConfig.from_pretrained(tiny_folder).to_dict()
    own = {name: base[name] for name in base if name not in ("model_type", "architectures", "transformers_version")}
    config = transformers.GraniteConfig(**own, logits_scaling=2.0)
    transformers.GraniteForCausalLM(config).save_pretrained(folder)
    with pytest.raises(MissingMaterial, match="not simply its lm_head's"):
        local.LocalModel("x", folder)


def test_the_packaged_model_by_every_road(packaged_folder):
    """Cached and not, alone and in a batch, generated and echoed: one number within 1e-4 nats a token."""

    async def work(model):
        prompt = model.render(TALK)
        drawn = await model.complete_tokens(await model.tokenise(prompt), greedy(8))
        ids = [*(await model.tokenise(prompt)), *drawn.ids]
        cached = await model.score_tokens(ids, len(ids) - len(drawn.ids))
        model._prefixes.clear()
        fresh = await model.score_tokens(ids, len(ids) - len(drawn.ids))
        steps = []
        for at in range(len(ids) - len(drawn.ids), len(ids)):
            steps += (await model.score_tokens(ids[: at + 1], at)).logprobs[at:]
        samples = await asyncio.gather(*(model.complete(prompt, warm(seed, 8)) for seed in (1, 2)))
        single = await model.complete(prompt, warm(2, 8))
        return drawn, cached, fresh, steps, samples, single

    drawn, cached, fresh, steps, samples, single = run(local.LocalModel("local:packaged", packaged_folder), work)
    tail = slice(-len(drawn.ids), None)
    assert len(drawn.ids) >= 4
    assert drawn.completion.text.isprintable()
    assert cached.evaluated < fresh.evaluated
    assert cached.logprobs[tail] == pytest.approx(fresh.logprobs[tail], abs=TOLERANCE)
    assert steps == pytest.approx(fresh.logprobs[tail], abs=TOLERANCE)
    assert samples[1] == single
    # What was drawn greedily was, at each step, at least as likely as chance among the likeliest few.
    assert all(value > math.log(0.02) for value in fresh.logprobs[tail])


def test_what_is_held_is_bounded(tiny):
    """Four beginnings at most, and no more tokens altogether than two windows have."""

    async def work(model):
        counts = []
        for number in range(8):
            await model.echo(f"{number} " + "word " * (20 if number < 5 else 700), 3)
            counts.append([len(held.ids) for held in model._prefixes])
        return counts, model._window

    counts, window = run(tiny(), work)
    assert [len(held) for held in counts][:5] == [1, 2, 3, 4, 4]
    assert max(sum(held) for held in counts) <= 2 * window < 3 * max(counts[-1])
    assert sum(held > 1000 for held in counts[-1]) == 2


def test_more_samples_than_a_batch_has_are_those_asked_for_alone(tiny):
    async def work(model):
        prompt = model.render(TALK)
        together = await asyncio.gather(*(model.complete(prompt, warm(seed, 6)) for seed in range(19)))
        return together, [await model.complete(prompt, warm(seed, 6)) for seed in range(19)]

    together, alone = run(tiny(), work)
    assert together == alone
    assert len({completion.text for completion in together}) > 10


def test_a_window_that_slides_is_scored_as_transformers_does(tmp_path, tiny_folder):
    base = transformers.AutoConfig.from_pretrained(tiny_folder).to_dict()
    own = {name: base[name] for name in base if name not in ("model_type", "architectures", "transformers_version")}
    folder = tmp_path / "sliding"
    shutil.copytree(tiny_folder, folder)
    torch.manual_seed(3)
    transformers.MistralForCausalLM(transformers.MistralConfig(**own, sliding_window=5)).save_pretrained(folder)

    async def work(model):
        return [await model.echo(TEXT, start) for start in (SPAN, SPAN // 2, SPAN)]

    for echo, start in zip(run(local.LocalModel("x", folder), work), (SPAN, SPAN // 2, SPAN), strict=True):
        plain = score_plainly(folder, TEXT, start)
        assert echo.total == pytest.approx(sum(plain), abs=TOLERANCE * len(plain))


def test_weights_that_could_run_code_are_not_loaded(tmp_path, tiny_folder):
    folder = tmp_path / "pickled"
    shutil.copytree(tiny_folder, folder)
    model = transformers.LlamaForCausalLM.from_pretrained(tiny_folder)
    (folder / "model.safetensors").unlink()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(MissingMaterial, match="holds no model that can be loaded"):
        local.LocalModel("x", folder)
