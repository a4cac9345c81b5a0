"""The three models of a duel: opened, or made by their recipes, and held to what the contract registered."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from assay.kernel.errors import Refused
from assay.labs.duel.architecture import accepts_architecture
from assay.labs.duel.corpus.corpus import Corpus
from assay.labs.duel.playing import Models
from assay.labs.duel.registration import KING, DuelContract
from assay.labs.duel.rendering import think_prompt
from assay.labs.duel.sections import Distilled, Recipe, Side, Weakened
from assay.models.catalog import ModelSpec, open_model, parse_spec, read_config, train_model
from assay.models.protocol import Model
from assay.models.recipes import Lesson, Noise, Training

__all__ = ["open_models"]

_LESSONS: Final = 400  # turns that a recipe may learn from, the first of the corpus


async def open_models(contract: DuelContract, corpus: Corpus, folder: Path, say: Callable[[str], None]) -> Models:
    """Teacher, king and challenger, ready to be asked.

    Args:
        contract: Which they are.
        corpus: What a recipe learns from.
        folder: Where relative paths of models are looked for.
        say: Told what is being done.

    Raises:
        Refused: A model is not the one that was registered, is the teacher or the other side again, or is not of an
            architecture that the contract admits.
        MissingMaterial: A model, or what opening it needs, is not installed.
    """
    say("opening the teacher")
    opened: list[Model] = [open_model(parse_spec(contract.teacher.model), folder)]
    try:
        king = _prepare(contract.king, parse_spec(contract.king.model), corpus, opened[0], folder, say)
        say("opening the king")
        opened.append(open_model(king, folder))
        own = contract.challenger
        base = king if own.model == KING else parse_spec(own.model)
        challenger = _prepare(own, base, corpus, opened[0], folder, say)
        say("opening the challenger")
        opened.append(open_model(challenger, folder))
        _check(contract, opened, (king, challenger), folder)
    except BaseException:
        for model in opened:
            await model.close()
        raise
    return Models(teacher=opened[0], king=opened[1], challenger=opened[2])


def _prepare(
    side: Side, spec: ModelSpec, corpus: Corpus, teacher: Model, folder: Path, say: Callable[[str], None]
) -> ModelSpec:
    """The model that a side's recipe makes, or the model itself where there is none."""
    if side.recipe is None:
        return spec
    lessons = _read_lessons(corpus, teacher) if isinstance(side.recipe, Distilled) else ()

    def advance(done: int, steps: int) -> None:
        say(f"training {side.name}: step {done} of {steps}")

    say(f"preparing {side.name}")
    return train_model(spec, _plan(side.recipe), lessons, folder=folder, advance=advance)


def _plan(recipe: Recipe) -> Noise | Training:
    if isinstance(recipe, Weakened):
        return Noise(scale=recipe.scale, seed=recipe.seed)
    return Training(
        steps=recipe.steps, learning_rate=recipe.learning_rate, max_tokens=recipe.max_tokens, seed=recipe.seed
    )


def _read_lessons(corpus: Corpus, teacher: Model) -> tuple[Lesson, ...]:
    """What was replied on the corpus's turns, as the teacher would be asked it."""
    rows = range(min(len(corpus.index), _LESSONS))
    turns = corpus.turns(tuple(rows))
    return tuple(
        Lesson(prompt=think_prompt(teacher.render(turn.prefix)), answer=_answer(turn.reference)) for turn in turns
    )


def _answer(reference: str) -> str:
    """The reply as it goes on after the opening of the thought that the prompt ends with."""
    return reference.removeprefix("<think>")


def _check(contract: DuelContract, models: list[Model], specs: tuple[ModelSpec, ModelSpec], folder: Path) -> None:
    roles = ("teacher", KING, "challenger")
    found = {role: model.identity.weights for role, model in zip(roles, models, strict=True)}
    registered = dict(
        zip(roles, (contract.teacher.weights, contract.king.weights, contract.challenger.weights), strict=True)
    )
    for role, weights in registered.items():
        if weights is not None and found[role] != weights:
            msg = f"the {role}'s weights are {found[role]}, and the contract registers {weights}; nothing was played"
            raise Refused(msg, role=role)
    if found["teacher"] in (found[KING], found["challenger"]):
        msg = "a side has the teacher's weights; the teacher beats everybody by construction, so it may not play"
        raise Refused(msg)
    if found[KING] == found["challenger"]:
        msg = "king and challenger have the same weights; a copy is no challenger"
        raise Refused(msg)
    for role, spec in zip(roles[1:], specs, strict=True):
        config = read_config(spec, folder)
        if contract.architecture and not accepts_architecture(config, contract.architecture, contract.knobs.era):
            msg = f"the {role}'s config.json holds none of the architectures that the contract admits"
            raise Refused(msg, role=role)
