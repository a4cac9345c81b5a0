"""Recipes: the same one gives the same model, a stopped one leaves nothing, and training teaches."""

import asyncio
import json

import pytest

from assay.models.catalog import parse_spec, train_model
from assay.models.protocol import Echo
from assay.models.recipes import Lesson, Noise, Training

for needed in ("torch", "transformers"):
    pytest.importorskip(needed, exc_type=ImportError)
training = pytest.importorskip("assay.models.training", exc_type=ImportError)
local = pytest.importorskip("assay.models.local", exc_type=ImportError)

LESSONS = [
    Lesson(prompt="Where do the log files lie?", answer=" In the folder called logs."),
    Lesson(prompt="Where do the oldest lie?", answer=" In another folder."),
]
SHORT = Training(steps=4, learning_rate=0.01, max_tokens=64, seed=5)


def quiet(done, steps):
    """Nobody is told."""


def digest(folder):
    return local.LocalModel("x", folder).identity.weights


def score(folder, lessons):
    """Nats of all answers after their prompts."""

    async def main():
        model = local.LocalModel("x", folder)
        echoes: list[Echo] = [await model.echo(own.prompt + own.answer, len(own.prompt)) for own in lessons]
        await model.close()
        return sum(echo.total for echo in echoes)

    return asyncio.run(main())


def test_noise_is_the_same_by_seed_and_as_large_as_it_says(tiny_folder, tmp_path):
    recipe = Noise(scale=0.1, seed=3)
    made = training.weaken(tiny_folder, tmp_path / "one", recipe)
    again = training.weaken(tiny_folder, tmp_path / "two", recipe)
    assert made.name == again.name
    assert digest(made) == digest(again) != digest(tiny_folder)
    other = training.weaken(tiny_folder, tmp_path / "one", Noise(scale=0.1, seed=4))
    assert (other.name == made.name, digest(other) == digest(made)) == (False, False)
    base, noisy = (local.LocalModel("x", folder)._model.state_dict() for folder in (tiny_folder, made))
    for name, tensor in base.items():
        change = (noisy[name] - tensor).std() / tensor.std() if tensor.ndim == 2 else (noisy[name] - tensor).abs().max()
        assert float(change) == pytest.approx(0.1 if tensor.ndim == 2 else 0.0, rel=0.15), name


def test_training_is_the_same_again_and_another_recipe_another_model(tiny_folder, tmp_path):
    made = training.distil(tiny_folder, tmp_path / "one", SHORT, LESSONS, advance=quiet)
    again = training.distil(tiny_folder, tmp_path / "two", SHORT, LESSONS, advance=quiet)
    assert made.name == again.name
    assert digest(made) == digest(again)
    names = {made.name}
    for recipe, lessons in (
        (Training(steps=4, learning_rate=0.01, max_tokens=64, seed=6), LESSONS),
        (Training(steps=3, learning_rate=0.01, max_tokens=64, seed=5), LESSONS),
        (SHORT, LESSONS[:1]),
        (SHORT, LESSONS[::-1]),
    ):
        names.add(training.distil(tiny_folder, tmp_path / "one", recipe, lessons, advance=quiet).name)
    names.add(training.distil(made, tmp_path / "one", SHORT, LESSONS, advance=quiet).name)
    assert len(names) == 6
    assert json.loads((made / "recipe.json").read_text())["steps"] == 4


def test_a_recipe_is_done_once(tiny_folder, tmp_path):
    told = []
    made = training.distil(tiny_folder, tmp_path, SHORT, LESSONS, advance=lambda *step: told.append(step))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert training.distil(tiny_folder, tmp_path, SHORT, LESSONS, advance=lambda *step: told.append(step)) == made
    assert len(told) == 4


def test_training_teaches(tiny_folder, tmp_path):
    recipe = Training(steps=40, learning_rate=0.02, max_tokens=64, seed=1)
    made = training.distil(tiny_folder, tmp_path, recipe, LESSONS, advance=quiet)
    assert score(made, LESSONS) > score(tiny_folder, LESSONS) / 2


def test_long_prompts_are_cut_at_their_beginning(tiny_folder, tmp_path):
    long = [Lesson(prompt="word " * 2000 + own.prompt, answer=own.answer) for own in LESSONS]
    made = training.distil(tiny_folder, tmp_path, SHORT, long, advance=quiet)
    assert score(made, LESSONS) > score(tiny_folder, LESSONS)


class Killed(BaseException):
    """As if the process were gone."""


def test_a_recipe_that_is_stopped_leaves_nothing(tiny_folder, tmp_path):
    def die(done, steps):
        if done == 2:
            raise Killed

    with pytest.raises(Killed):
        training.distil(tiny_folder, tmp_path, SHORT, LESSONS, advance=die)
    assert not [path for path in tmp_path.iterdir() if not path.name.startswith(".")]
    made = training.distil(tiny_folder, tmp_path, SHORT, LESSONS, advance=quiet)
    assert [path.name for path in tmp_path.iterdir()] == [made.name]
    assert digest(made) == digest(training.distil(tiny_folder, tmp_path / "other", SHORT, LESSONS, advance=quiet))


def test_a_catalogue_makes_models_on_first_use(tiny_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    spec = parse_spec(f"folder:{tiny_folder.name}")
    made = train_model(spec, Noise(scale=0.2, seed=1), (), folder=tiny_folder.parent, advance=quiet)
    assert made.kind == "folder"
    taught = train_model(made, SHORT, LESSONS, folder=tmp_path, advance=quiet)
    assert len(list((tmp_path / "cache" / "assay" / "models" / "recipes").iterdir())) == 2
    assert digest(local.Path(taught.name)) != digest(local.Path(made.name))
