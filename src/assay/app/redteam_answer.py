"""What `assay duel redteam` answers: known attacks on a contract, and a search for unknown ones."""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay.app.answer import Answer
from assay.app.cli.echo import Echo
from assay.kernel.errors import BadInput, Refused
from assay.labs.duel.corpus.corpus import Turn
from assay.labs.duel.drawing import draw_slice
from assay.labs.duel.redteam.attacks import Result
from assay.labs.duel.redteam.ground import Ground, read_ground
from assay.labs.duel.redteam.report import RedTeam, report_redteam, tell_redteam
from assay.labs.duel.redteam.search import LEAST_TURNS, SearchResult, search
from assay.labs.duel.redteam.stage import PRACTICE, Advance, StageRule, ignore, set_stage
from assay.labs.duel.redteam.staged import ATTACKS as STAGED_ATTACKS
from assay.labs.duel.redteam.staged import run_staged
from assay.labs.duel.redteam.table import run_table
from assay.labs.duel.run import open_registered_corpus
from assay.models.catalog import ModelSpec, open_model, parse_spec
from assay.models.protocol import Model
from assay.rules.documents import read_document

__all__ = ["answer_redteam"]

_PRACTICE_TEACHER: Final = "scripted:teacher"
_PRACTICE_TOKENS: Final = 400
_LOOKED_AT: Final = 40  # turns of the slice among which a few are staged


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """Whom to ask, about what, by which rule; ``weights`` is the digest that the contract registers."""

    spec: ModelSpec
    turns: Sequence[Turn]
    rule: StageRule
    weights: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Effort:
    """Where models are looked for, how many scores the search may ask for, and what it is drawn by."""

    folder: Path
    budget: int
    seed: int


def answer_redteam(arguments: argparse.Namespace, echo: Echo) -> Answer:
    """Known attacks on a contract; exit code 1 where it loses to one, or the search finds what pays."""
    path: Path = arguments.contract
    if arguments.budget < 2:
        msg = f"--budget: expected at least 2, the scores of the honest and the empty thought, got {arguments.budget}"
        raise BadInput(msg)
    ground = read_ground(read_document(path))
    plan = _plan(ground, path.parent) if arguments.teacher else _practise(ground)
    results = run_table(ground)
    effort = _Effort(folder=path.parent, budget=arguments.budget, seed=ground.seed)
    if arguments.quiet:
        staged, turns, found = asyncio.run(_ask(plan, effort, ignore))
    else:
        echo.note(f"asking {plan.spec.text}: {plan.rule.turns} turns, and {arguments.budget} scores for the search")
        with echo.progress("attacking", len(STAGED_ATTACKS) + arguments.budget) as bar:
            staged, turns, found = asyncio.run(_ask(plan, effort, bar.advance))
    team = RedTeam(
        name=ground.contract.id if ground.contract else path.name,
        ground=ground,
        results=results,
        teacher=plan.spec.text,
        staged=staged,
        staged_turns=turns,
        search=found,
    )
    return Answer(json=tell_redteam(team), report=report_redteam(team), exit=1 if team.lost else 0)


def _practise(ground: Ground) -> _Plan:
    """The scripted teacher, on turns to practise on."""
    rule = StageRule(
        knobs=ground.knobs,
        references=ground.references,
        temperature=1.0,
        token_limit=lambda _: _PRACTICE_TOKENS,
        seed=ground.seed,
    )
    return _Plan(spec=parse_spec(_PRACTICE_TEACHER), turns=PRACTICE, rule=rule)


def _plan(ground: Ground, folder: Path) -> _Plan:
    """The contract's own teacher, on the first turns of its slice."""
    contract = ground.contract
    if contract is None:
        msg = "--teacher needs a whole contract: this file holds no more than its numbers, or those of the network's"
        raise BadInput(msg)
    corpus = open_registered_corpus(contract, folder)
    drawn = draw_slice(contract, corpus.index)
    return _Plan(
        spec=parse_spec(contract.teacher.model),
        turns=corpus.turns(drawn.rows[:_LOOKED_AT]),
        rule=StageRule.of(contract, drawn.seed),
        weights=contract.teacher.weights,
    )


async def _ask(plan: _Plan, effort: _Effort, advance: Advance) -> tuple[tuple[Result, ...], int, SearchResult]:
    """The attacks on the teacher, on how many turns, and what the search found."""
    teacher = open_model(plan.spec, effort.folder)
    try:
        _check(teacher, plan)
        stage = await set_stage(teacher, plan.turns, plan.rule, least=LEAST_TURNS)
        staged = await run_staged(stage, advance)
        return staged, len(stage.turns), await search(stage, effort.budget, effort.seed, advance)
    finally:
        await teacher.close()


def _check(teacher: Model, plan: _Plan) -> None:
    found = teacher.identity.weights
    if plan.weights is not None and found != plan.weights:
        msg = f"the teacher's weights are {found}, and the contract registers {plan.weights}; nothing was asked"
        raise Refused(msg)
