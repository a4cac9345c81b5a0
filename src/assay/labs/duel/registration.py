"""The contract of a duel: what is sealed before a model is asked anything.

One file registers the teacher, the two sides, the corpus, the slice and every number that decides. A member or a score
mode that the code does not read is refused, since a knob that nothing reads would promise what nobody keeps.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, cast

from pydantic import Field

from assay.kernel.canonical import Json
from assay.kernel.errors import BadInput
from assay.labs.duel.dialects import DIALECTS
from assay.labs.duel.eras import FIRST_SAFE_VERSION, NEWEST_VERSION, era_of
from assay.labs.duel.expectations import EXPECTATIONS
from assay.labs.duel.knobs import Knobs
from assay.labs.duel.sections import (
    Challenger,
    Contract,
    Corpus,
    Pin,
    Probes,
    Run,
    Scoring,
    Sequential,
    Side,
    Slice,
    Teacher,
)
from assay.models.catalog import parse_spec
from assay.rules.names import nearest
from assay.rules.registrations import read_model, refuse_problems
from assay.rules.sections import Id, Section, Seen, Text

__all__ = ["DuelContract", "load", "load_scoring"]

KING = "king"
"""A challenger whose model is ``king`` starts from the king's weights."""


class DuelContract(Section):
    """A duel of two models under a frozen teacher, as it is sealed."""

    lab: Literal["duel"]
    version: Annotated[int, Field(ge=1, le=1)]  # a literal 1 would take true as well
    id: Id
    question: Text
    contract: Contract
    seen_before: Annotated[tuple[Seen, ...], Field(min_length=1)]
    teacher: Teacher
    king: Side
    challenger: Challenger
    corpus: Corpus
    slice: Slice
    dialects: Annotated[tuple[Text, ...], Field(min_length=1)]
    duel: Scoring
    probes: Probes
    architecture: tuple[Pin, ...] = ()
    sequential: Sequential | None = None
    run: Run = Run()

    def to_document(self) -> dict[str, Json]:
        """The full document, every default written out; reading it gives this contract again."""
        return cast(dict[str, Json], self.model_dump(mode="json", by_alias=True))

    @property
    def knobs(self) -> Knobs:
        """The numbers that decide, as the scoring takes them."""
        return knobs_of(self.contract, self.duel)

    def token_limit(self, dialect: str) -> int:
        """Tokens that a completion in a dialect may have: thought and action share one budget."""
        own = self.duel.max_tokens_by_dialect.get(dialect)
        if own is not None:
            return own.thought + own.action
        return self.duel.max_thought_tokens + self.duel.max_action_tokens


def knobs_of(contract: Contract, scoring: Scoring) -> Knobs:
    """The numbers that decide, as the scoring takes them; a ``tau`` of 0 takes the plain mean."""
    return Knobs(
        era=era_of(contract.version),
        score_mode=scoring.score_mode,
        tau=scoring.tau or None,
        band_c=scoring.band_c,
        band_floor=scoring.band_floor,
        forfeit_turn_score=scoring.forfeit_turn_score,
        k_sigma=scoring.k_sigma,
        min_margin=scoring.min_margin,
        min_thought_chars=scoring.min_thought_chars,
        causality_gamma=scoring.causality_gamma,
        causality_tau=scoring.causality_tau,
        leak_share=scoring.leak_share,
    )


def load(document: Mapping[str, Json]) -> DuelContract:
    """The contract that a document states.

    Raises:
        BadInput: It states none; the message lists every problem found, and so does ``details["problems"]``.
    """
    _, contract, problems = read_model(DuelContract, document, "contract", EXPECTATIONS)
    if contract is not None:
        problems += _check_whole(contract)
    if problems or contract is None:
        refuse_problems(problems, "contract")
    return contract


def _check_whole(contract: DuelContract) -> Iterator[str]:
    """Every problem that no single member shows."""
    yield from _check_version(contract.contract)
    yield from _check_dialects(contract)
    yield from _check_models(contract)
    if contract.sequential and contract.sequential.min_turns > contract.slice.turns:
        yield "sequential.minTurns: is more than slice.turns, so the duel could never end early"
    if contract.sequential and contract.sequential.clip <= contract.duel.min_margin:
        yield "sequential.clip: is not above duel.minMargin, so that no clipped mean could ever exceed the bar"
    if contract.probes.injectability.turns > contract.slice.turns:
        yield "probes.injectability.turns: is more than slice.turns"


def _check_version(contract: Contract) -> Iterator[str]:
    if contract.version < FIRST_SAFE_VERSION:
        yield (
            f"contract.version: versions before {FIRST_SAFE_VERSION} are the public network's and are only replayed "
            f"(`assay duel replay`); a duel is run under version {FIRST_SAFE_VERSION} or later"
        )
    if contract.version > NEWEST_VERSION:
        yield f"contract.version: this release knows the rules up to version {NEWEST_VERSION}, got {contract.version}"
    versions = [change.version for change in contract.history]
    if versions != sorted(set(versions)) or versions[-1] != contract.version:
        yield f"contract.history: expected each version once, in order, up to {contract.version}, got {versions}"


def _check_dialects(contract: DuelContract) -> Iterator[str]:
    for at, name in enumerate(contract.dialects):
        if name not in DIALECTS:
            yield f"dialects[{at}]: no parser knows the dialect {name!r}; {nearest(name, tuple(DIALECTS))}"
    if len(set(contract.dialects)) != len(contract.dialects):
        yield "dialects: each dialect is admitted once"
    for name in contract.duel.max_tokens_by_dialect:
        if name not in contract.dialects:
            yield f"duel.maxTokensByDialect.{name}: the dialect is not admitted"


def _check_models(contract: DuelContract) -> Iterator[str]:
    for place, model in (("teacher", contract.teacher.model), ("king", contract.king.model)):
        yield from _check_spec(f"{place}.model", model)
    if contract.challenger.model != KING:
        yield from _check_spec("challenger.model", contract.challenger.model)
    elif contract.challenger.recipe is None:
        yield "challenger.model: is the king's, and no recipe changes it; a copy is no challenger"
    for place, side in ((KING, contract.king), ("challenger", contract.challenger)):
        model = contract.king.model if side.model == KING else side.model
        if model.startswith("server:") and (side.recipe is not None or contract.architecture):
            yield f"{place}: a recipe, or a pinned architecture, needs a model whose files are here, got {model!a:.60}"
    for place, side in ((KING, contract.king), ("challenger", contract.challenger)):
        if side.weights == contract.teacher.weights:
            yield f"{place}.weights: are the teacher's; the teacher would beat everybody by construction"
    if contract.king.weights and contract.king.weights == contract.challenger.weights:
        yield "challenger.weights: are the king's; a copy is no challenger"


def _check_spec(place: str, text: str) -> Iterator[str]:
    try:
        parse_spec(text)
    except BadInput as problem:
        yield f"{place}: {problem.message}"


class _Rule(Section):
    """What of a contract decides: its version and its numbers."""

    contract: Contract
    duel: Scoring


def load_scoring(document: Mapping[str, Json]) -> Knobs:
    """The numbers of a contract, also of a file that holds no more than ``contract`` and ``duel``.

    Unlike :func:`load` it takes the versions of the public network, whose verdicts can be derived again under them.

    Raises:
        BadInput: The document states no such numbers; the message lists every problem found.
    """
    members = {name: value for name, value in document.items() if name in ("contract", "duel")}
    _, rule, problems = read_model(_Rule, members, "contract", EXPECTATIONS)
    if rule is None:
        refuse_problems(problems, "contract")
    return knobs_of(rule.contract, rule.duel)
