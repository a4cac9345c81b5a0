"""The three models of a duel: opened, or made by their recipes, and held to what the contract registered."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.kernel.canonical import Json
from assay.kernel.errors import Refused
from assay.labs.duel.architecture import accepts_architecture
from assay.labs.duel.corpus.corpus import Corpus
from assay.labs.duel.drawing import DrawnSlice
from assay.labs.duel.playing import Models
from assay.labs.duel.records import CHALLENGER, KING, TEACHER
from assay.labs.duel.registration import DuelContract
from assay.labs.duel.rendering import think_prompt
from assay.labs.duel.sections import Distilled, Recipe, Side, Weakened
from assay.models.catalog import ModelSpec, open_model, parse_spec, read_config, train_model
from assay.models.protocol import Model
from assay.models.recipes import Lesson, Noise, Training

__all__ = ["Contestants", "open_models"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestants:
    """The three models, and what each side's ``config.json`` holds where the contract pins architectures."""

    models: Models
    configs: Mapping[str, Json]


async def open_models(
    contract: DuelContract, corpus: Corpus, drawn: DrawnSlice, folder: Path, say: Callable[[str], None]
) -> Contestants:
    """Teacher, king and challenger, ready to be asked.

    Args:
        contract: Which they are.
        corpus: What a recipe learns from.
        drawn: The turns of the slice, from which no recipe learns.
        folder: Where relative paths of models are looked for.
        say: Told what is being done.

    Raises:
        Refused: A model is not the one that was registered, is the teacher or the other side again, or is not of an
            architecture that the contract admits.
        MissingMaterial: A model, or what opening it needs, is not installed.
    """
    specs = _read_specs(contract)
    configs = _read_configs(contract, specs, folder)
    say("opening the teacher")
    opened: list[Model] = [open_model(parse_spec(contract.teacher.model), folder)]
    try:
        workshop = _Workshop(corpus=corpus, drawn=drawn, teacher=opened[0], folder=folder, say=say)
        king = workshop.prepare(contract.king, specs[KING])
        say("opening the king")
        opened.append(open_model(king, folder))
        base = king if contract.challenger.model == KING else specs[CHALLENGER]
        challenger = workshop.prepare(contract.challenger, base)
        say("opening the challenger")
        opened.append(open_model(challenger, folder))
        _check_weights(contract, opened)
    except BaseException:
        for model in opened:
            await model.close()
        raise
    return Contestants(models=Models(teacher=opened[0], king=opened[1], challenger=opened[2]), configs=configs)


def _read_specs(contract: DuelContract) -> dict[str, ModelSpec]:
    """What each side's model is before its recipe."""
    king = parse_spec(contract.king.model)
    return {
        KING: king,
        CHALLENGER: king if contract.challenger.model == KING else parse_spec(contract.challenger.model),
    }


def _read_configs(contract: DuelContract, specs: Mapping[str, ModelSpec], folder: Path) -> dict[str, Json]:
    """Each side's configuration where architectures are pinned; a recipe changes weights, and never those."""
    if not contract.architecture:
        return {}
    configs = {side: read_config(spec, folder) for side, spec in specs.items()}
    for side, config in configs.items():
        if not accepts_architecture(config, contract.architecture, contract.knobs.era):
            msg = f"the {side}'s config.json holds none of the architectures that the contract admits"
            raise Refused(msg, role=side)
    return configs


@dataclass(frozen=True, slots=True, kw_only=True)
class _Workshop:
    """Where recipes are followed."""

    corpus: Corpus
    drawn: DrawnSlice
    teacher: Model
    folder: Path
    say: Callable[[str], None]

    def prepare(self, side: Side, spec: ModelSpec) -> ModelSpec:
        """The model that a side's recipe makes, or the model itself where there is none."""
        if side.recipe is None:
            return spec
        lessons = self._read_lessons(side.recipe.lessons) if isinstance(side.recipe, Distilled) else ()

        def advance(done: int, steps: int) -> None:
            self.say(f"training {side.name}: step {done} of {steps}")

        self.say(f"preparing {side.name}")
        return train_model(spec, _plan(side.recipe), lessons, folder=self.folder, advance=advance)

    def _read_lessons(self, count: int) -> tuple[Lesson, ...]:
        """What was replied on the first turns of the corpus outside the slice, as the teacher would be asked it."""
        played = set(self.drawn.rows)
        rows = [row for row in range(len(self.corpus.index)) if row not in played][:count]
        return tuple(
            Lesson(prompt=think_prompt(self.teacher.render(turn.prefix)), answer=_answer(turn.reference))
            for turn in self.corpus.turns(rows)
        )


def _plan(recipe: Recipe) -> Noise | Training:
    if isinstance(recipe, Weakened):
        return Noise(scale=recipe.scale, seed=recipe.seed)
    return Training(
        steps=recipe.steps, learning_rate=recipe.learning_rate, max_tokens=recipe.max_tokens, seed=recipe.seed
    )


def _answer(reference: str) -> str:
    """The reply as it goes on after the opening of the thought that the prompt ends with."""
    return reference.removeprefix("<think>")


def _check_weights(contract: DuelContract, models: Sequence[Model]) -> None:
    roles = (TEACHER, KING, CHALLENGER)
    found = {role: model.identity.weights for role, model in zip(roles, models, strict=True)}
    registered = {TEACHER: contract.teacher.weights, KING: contract.king.weights}
    registered[CHALLENGER] = contract.challenger.weights
    for role, weights in registered.items():
        if weights is not None and found[role] != weights:
            msg = f"the {role}'s weights are {found[role]}, and the contract registers {weights}; nothing was played"
            raise Refused(msg, role=role)
    if found[TEACHER] in (found[KING], found[CHALLENGER]):
        msg = "a side has the teacher's weights; the teacher beats everybody by construction, so it may not play"
        raise Refused(msg)
    if found[KING] == found[CHALLENGER]:
        msg = "king and challenger have the same weights; a copy is no challenger"
        raise Refused(msg)
