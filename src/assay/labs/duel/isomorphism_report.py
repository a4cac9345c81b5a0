"""Tables of a board held against a benchmark."""

from collections.abc import Iterator

from assay.labs.duel.isomorphism import Isomorphism
from assay.stats.rank_correlation import RankCorrelation, approximate_p
from assay.verifier.figures import Block, Paragraph, Report, Section, Table

__all__ = ["report_isomorphism"]


def report_isomorphism(found: Isomorphism) -> Report:
    """The report of a comparison; its headline is the sentence that the data allow, and no other."""
    return Report(
        title=f"Does the board's score go with {found.rule.benchmark}?",
        headline=found.claim.removesuffix("."),
        tone="decided" if found.allowed or found.alarms else "undecided",
        labels=("capability claim allowed" if found.allowed else "no capability claim",),
        facts=tuple(_facts(found)),
        sections=(
            Section(title="What stands in the way", blocks=tuple(_obstacles(found))),
            Section(title="Order of the models", blocks=tuple(_order(found))),
            Section(title="Crowned models", blocks=tuple(_kings(found))),
            Section(title="What was compared", blocks=tuple(_compared(found))),
        ),
    )


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def _p(value: float) -> str:
    return f"{value:.2g}"


def _facts(found: Isomorphism) -> Iterator[tuple[str, str]]:
    if found.correlation is not None:
        span = ""
        if found.interval is not None:
            span = f"  ({found.interval.level:.0%} interval {_signed(found.interval.lower)} to "
            span += f"{_signed(found.interval.upper)})"
        yield "Spearman's rho", _signed(found.correlation.rho) + span
        yield "p", _count(found.correlation)
    yield "models", str(len(found.compared))
    if found.kings is not None:
        yield "crowned models", f"{found.kings.pooled.solved} of {found.kings.pooled.total} tasks solved"


def _count(correlation: RankCorrelation) -> str:
    of = f"{correlation.at_least_as_extreme:,} of {correlation.permutations:,} pairings at least as far from zero"
    return f"{_p(float(correlation.p))} ({of}, {correlation.method})"


def _obstacles(found: Isomorphism) -> Iterator[Block]:
    if not found.obstacles:
        yield Paragraph(text="Nothing: the registered rule allows the sentence above, and no stronger one.")
    alarms = {item.code for item in found.alarms}
    for item in found.obstacles:
        text = f"{item.code}: {item.message}."
        yield Paragraph(text=text, tone="warning" if item.code in alarms else "plain")


def _order(found: Isomorphism) -> Iterator[Block]:
    rows: list[tuple[str, ...]] = []
    if found.correlation is not None:
        correlation = found.correlation
        rows.append(("this board", str(correlation.pairs), _signed(correlation.rho), _p(float(correlation.p))))
        if correlation.pairs > 2:
            approximate = approximate_p(correlation.rho, correlation.pairs)
            rows.append(
                ("this board, t distribution", str(correlation.pairs), _signed(correlation.rho), _p(approximate))
            )
    if found.panel is not None and found.panel_p is not None:
        panel = found.panel
        rows.append((f"panel {panel.name}, t distribution", str(panel.models), _signed(panel.rho), _p(found.panel_p)))
    yield Table(
        title="Spearman's rank correlation of score and benchmark",
        columns=("models of", "models", "rho", "p"),
        rows=tuple(rows),
        numeric=(1, 2, 3),
        note="The permutation p decides; noise of the benchmark draws rho toward zero.",
    )


def _kings(found: Isomorphism) -> Iterator[Block]:
    if found.kings is None:
        yield Paragraph(text="No model that a duel crowned has a benchmark result.")
        return
    kings, null = found.kings, f"{float(found.kings.above.null):.1%}"
    rows = (
        ("crowned models", ", ".join(kings.models)),
        ("tasks solved, pooled", f"{kings.pooled.solved} of {kings.pooled.total}"),
        (f"p that it is at least {null}, exact", _p(float(kings.below.p))),
        (f"p that it is at most {null}, exact", _p(float(kings.above.p))),
    )
    yield Table(
        title="Pooled against the registered rate",
        columns=("what", "value"),
        rows=rows,
        note="Models are pooled since one run of few tasks is no evidence on a single one; tasks that several models "
        "share are counted as if they were drawn anew, which makes either p smaller than it should be.",
    )


def _compared(found: Isomorphism) -> Iterator[Block]:
    rows = tuple(
        (
            item.model,
            "crowned" if item.crowned else "",
            f"{item.score:+.4f}".replace("-", "−"),
            f"{item.result.solved} of {item.result.total}",
            f"{float(item.result.rate):.1%}",
        )
        for item in found.compared
    )
    columns = ("model", "", "score", "solved", "rate")
    yield Table(title="Models with both", columns=columns, rows=rows, numeric=(2, 3, 4))
    left_out = (("on the board alone", found.only_on_board), ("in the benchmark alone", found.only_benched))
    rows = tuple((where, str(len(models)), ", ".join(models)) for where, models in left_out)
    yield Table(title="Models without a partner", columns=("where", "models", "names"), rows=rows, numeric=(1,))
