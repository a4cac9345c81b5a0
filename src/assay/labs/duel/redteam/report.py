"""What the red team says: the table of attacks, what a teacher made of them, and what the search found."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Final

from assay.labs.duel.redteam.attacks import Result, Verdict, signed
from assay.labs.duel.redteam.ground import Ground
from assay.labs.duel.redteam.search import SearchResult
from assay.labs.duel.redteam.table import ELSEWHERE
from assay.verifier.figures import Block, Paragraph, Report, Section, Table

__all__ = ["RedTeam", "report_redteam", "tell_redteam"]

_COLUMNS: Final = ("attack", "gained", "verdict", "what was found")
_VERDICTS: Final[Mapping[Verdict, str]] = {"held": "held", "lost": "LOST", "not-applicable": "n/a"}
_NOTE: Final = (
    "Gained is in nats a byte and turn: over the empty thought for text that predicts nothing, over the same side "
    "without it for what is added to an honest one, over the king for an edge. A dash: no score is at stake."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedTeam:
    """Everything that was tried.

    Args:
        name: The contract's name.
        ground: The contract as attacks meet it.
        results: The table on made-up rows.
        teacher: Who scored the attacks below and the search.
        staged: The attacks that were made on that teacher, too.
        staged_turns: How many of its turns.
        search: What the search found.
    """

    name: str
    ground: Ground
    results: Sequence[Result]
    teacher: str
    staged: Sequence[Result]
    staged_turns: int
    search: SearchResult

    @property
    def lost(self) -> tuple[str, ...]:
        """The ids of what the contract loses to, each once."""
        found = [result.id for result in (*self.results, *self.staged) if result.finding.verdict == "lost"]
        return tuple(dict.fromkeys([*found, *(["search"] if self.search.pays else [])]))


def report_redteam(team: RedTeam) -> Report:
    """The report; its headline names what pays."""
    lost, tried = team.lost, len(team.results)
    knobs = team.ground.knobs
    headline = f"everything that must hold does, in {tried} attacks and the search"
    if lost:
        headline = f"the contract loses to {len(lost)}: {', '.join(lost)}"
    return Report(
        title=f"Known attacks on {team.name}",
        headline=headline,
        tone="refused" if lost else "decided",
        facts=(
            ("score", f"{knobs.score_mode}, {team.ground.references} references, {knobs.era.value} era"),
            ("made-up turns", str(team.ground.turns)),
            ("teacher asked", f"{team.teacher}, {team.staged_turns} turns"),
        ),
        sections=(
            Section(title="On made-up rows", blocks=(_lay_out("Attacks", team.results, note=_NOTE),)),
            Section(title=f"On {team.teacher}", blocks=tuple(_staged(team))),
            Section(title="Not in scope here", blocks=(_elsewhere(),)),
        ),
    )


def _lay_out(title: str, results: Sequence[Result], note: str = "") -> Table:
    rows = tuple(
        (
            _label(result),
            signed(result.finding.gained),
            _VERDICTS[result.finding.verdict],
            result.finding.said,
        )
        for result in results
    )
    return Table(title=title, columns=_COLUMNS, rows=rows, numeric=(1,), note=note)


def _label(result: Result) -> str:
    """Id and name; the name alone where the id is made of it."""
    return result.name if result.id.islower() else f"{result.id} {result.name}"


def _staged(team: RedTeam) -> Iterator[Block]:
    yield _lay_out("Attacks, scored by this teacher", team.staged)
    found = team.search
    told = (
        ("best suffix", found.best.suffix or "(none)"),
        ("kept of the honest thought", "all" if found.best.kept is None else f"{found.best.kept} characters"),
        ("gain while climbing", signed(found.climbed)),
        ("gain over the honest thought", signed(found.over_honest)),
        ("gain over the empty thought", signed(found.over_empty)),
        ("its suffix alone, over the empty thought", signed(found.without_honest)),
        ("would take the crown", "yes" if found.crowned else "no"),
        ("pays without predicting", "yes" if found.pays else "no"),
    )
    yield Table(
        title=f"A hill-climb over suffixes and lengths, {found.scores} scores",
        columns=("", "found"),
        rows=told,
        note=f"Gains are on {found.turns} turns that were not climbed on. A suffix pays if it takes the crown from the "
        "honest side, or alone is paid more than the least margin.",
    )
    yield Paragraph(text="The honest side is one more sample of the teacher's own on each turn.")


def _elsewhere() -> Table:
    rows = tuple((name, f"not in scope here: needs {what}") for name, what in ELSEWHERE)
    return Table(title="Attacks that are no matter of a contract and its rows", columns=("attack", ""), rows=rows)


def tell_redteam(team: RedTeam) -> dict[str, object]:
    """The same for machines."""
    return {
        "schema": "assay.duel.redteam",
        "version": 1,
        "held": not team.lost,
        "lost": list(team.lost),
        "attacks": [_tell(result) for result in team.results],
        "teacher": team.teacher,
        "teacherTurns": team.staged_turns,
        "onTeacher": [_tell(result) for result in team.staged],
        "search": _tell_search(team.search),
        "notInScope": [{"attack": name, "needs": what} for name, what in ELSEWHERE],
    }


def _tell(result: Result) -> dict[str, object]:
    found = result.finding
    gained = found.gained if found.gained is not None and isfinite(found.gained) else None
    return {
        "id": result.id,
        "name": result.name,
        "gained": gained,
        "verdict": found.verdict,
        "said": found.said,
        "kept": list(found.kept),
        "broken": list(found.broken),
    }


def _tell_search(found: SearchResult) -> dict[str, object]:
    best = asdict(found.best) | {"suffix": found.best.suffix}
    return {
        "best": best,
        "scores": found.scores,
        "climbed": found.climbed,
        "overHonest": found.over_honest,
        "overEmpty": found.over_empty,
        "suffixAlone": found.without_honest,
        "crowned": found.crowned,
        "pays": found.pays,
        "turns": found.turns,
    }
