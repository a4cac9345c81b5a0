"""Tables and figures of a duel's verdict."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import quantiles
from typing import Any, Final, cast

from assay.verifier.figures import Block, Forest, ForestRow, Funnel, FunnelStage, Paragraph, Report, Section, Table
from assay.verifier.lab import Record

__all__ = ["report"]

_PASSED: Final = {True: "passed", False: "failed", None: "not asked"}
_SIDES: Final = ("king", "challenger")
_LEGS: Final = (("R", "meanR", "r"), ("G", "meanG", "g"), ("A", "meanA", "a"))
_TONES: Final = {"rejected": "refused", "too-many-left-out": "refused"}
_INTERVALS: Final = {
    "errors": "The interval is as wide as the rule asks for: {0:g} standard errors to each side. The challenger is "
    "crowned only above the bar: the larger of {0:g} standard errors and the registered least margin.",
    "sequence": "The bounds are those of the registered confidence sequence, over differences clipped to its range; "
    "the challenger is crowned where they lie above the registered least margin.",
}
_REASONS: Final = {
    "no-reference": "no sample of the teacher's held an action",
    "teacher-not-finite": "an echo of the teacher's own texts was not finite",
}


def report(verdict: Record) -> Report:
    """The report of a verdict that :func:`assay.labs.duel.verdict.derive` gave."""
    # The verdict was derived here or compared byte for byte with one that was: its shape is known.
    v = cast("Mapping[str, Any]", verdict)
    decision = v["decision"]
    reason = f" ({decision['reason']})" if decision["reason"] else ""
    return Report(
        title=v["question"],
        headline=f"{decision['says'].removesuffix('.')}{reason}",
        tone=cast(Any, _TONES.get(decision["verdict"], "decided")),
        labels=(v["label"],),
        facts=tuple(_facts(v)),
        sections=tuple(_sections(v)),
    )


def _number(value: float | None, sign: str = "") -> str:
    if value is None:
        return "–"
    if value == 0:
        return "0"
    return format(value, f"{sign}.4f" if abs(value) >= 1e-3 else f"{sign}.2e").replace("-", "−")


def _lines(text: str) -> str:
    """A text of several lines in a cell of a table."""
    return " ⏎ ".join(text.split("\n"))


def _length(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f}%"


def _facts(v: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    margin = v["margin"]
    if margin is not None:
        yield "margin", f"{_number(margin['value'], '+')} nats a byte"
        yield "bar", _number(margin["bar"])
        yield "standard error", _number(margin["standardError"])
        yield "z", _number(margin["z"], "+")
        yield "turns", f"{margin['turns']} paired of {v['slice']['turns']}"
    yield "slice", v["slice"]["digest"][:16]


def _sections(v: Mapping[str, Any]) -> Iterator[Section]:
    if v["margin"] is not None:
        yield Section(title="The margin against the bar", blocks=tuple(_margin(v)))
        yield Section(title="The two sides", blocks=(_sides(v), _dialects(v)))
        yield Section(title="Scores of turns, by leg", blocks=tuple(_spreads(v)))
        yield Section(title="The turns that decided", blocks=tuple(_deciding(v)))
    if v["probes"]:
        yield Section(title="Probes", blocks=(_probes(v),))
    yield Section(title="What was registered", blocks=(_models(v), _knobs(v)))
    notes = tuple(Paragraph(text=note["message"]) for note in v["notes"])
    yield Section(title="How far to trust it", blocks=notes)


def _margin(v: Mapping[str, Any]) -> Iterator[Block]:
    margin, funnel = v["margin"], v["funnel"]
    if margin["lower"] is not None:
        told = v["stopping"] or margin  # after optional stopping only the sequence's own bounds say what they seem to
        row = ForestRow(
            label="challenger − king",
            value=min(max(margin["value"], told["lower"]), told["upper"]),
            lower=told["lower"],
            upper=told["upper"],
            units=margin["turns"],
        )
        bar = ForestRow(label="the bar", value=margin["bar"])
        yield Forest(
            title="Mean difference of turn scores",
            unit="nats a byte",
            rows=(bar,),
            pooled=(row,),
            note=_INTERVALS["sequence" if v["stopping"] else "errors"].format(margin["sigmas"]),
        )
    yield _funnel(v["slice"]["turns"], funnel)
    if v["stopping"] is not None:
        yield Paragraph(text=_stopping(v))


def _stopping(v: Mapping[str, Any]) -> str:
    said, turns = v["stopping"], v["slice"]["turns"]
    where = f"after turn {said['decidedAfter']} of {turns}" if said["decidedAfter"] else f"not within {turns} turns"
    return (
        f"The registered sequential rule decided {where}: {said['outcome']}, with the mean clipped difference between "
        f"{_number(said['lower'], '+')} and {_number(said['upper'], '+')}; {said['clipped']} differences were clipped."
    )


def _funnel(turns: int, funnel: Mapping[str, Any]) -> Funnel:
    lost = (
        [("after the end", "the duel was decided before", turns - funnel["played"])] if turns > funnel["played"] else []
    )
    lost.append(("no reference", _REASONS["no-reference"], funnel["noReference"]))
    lost += [(reason, _REASONS.get(reason, "a fault of ours"), count) for reason, count in funnel["leftOut"].items()]
    stages: list[FunnelStage] = []
    left = turns
    for name, reason, count in lost:
        stages.append(FunnelStage(name=name, reason=reason, entering=left, excluded=count, remaining=left - count))
        left -= count
    return Funnel(title="Where the turns went", unit="turn", input=turns, stages=tuple(stages), surviving=left)


def _sides(v: Mapping[str, Any]) -> Table:
    def line(name: str, show: Callable[[Any], str], member: str) -> tuple[str, ...]:
        return (name, *(show(v["scores"][side][member]) for side in _SIDES))

    rows = [
        line("score (mean over turns)", _number, "score"),
        *(line(f"leg {name}, mean", _number, member) for name, member, _ in _LEGS),
        line("turns on which G binds", _share, "gBinds"),
        line("forfeits", str, "forfeits"),
        line("thought closed", _share, "thinkCloseRate"),
        line("actions that follow from the thought (B)", _share, "licensed"),
        line("median thought, characters", _length, "medianThoughtChars"),
        line("mean action, characters", _length, "meanActionChars"),
    ]
    names = tuple(f"{side}: {v['sides'][side]}" for side in _SIDES)
    return Table(title="Both sides", columns=("", *names), rows=tuple(rows), numeric=(1, 2))


def _dialects(v: Mapping[str, Any]) -> Table:
    rows: list[tuple[str, ...]] = []
    for dialect in v["slice"]["dialects"]:
        for side in _SIDES:
            found = v["scores"][side]["byDialect"].get(dialect)
            if found is not None:
                shown = (_number(found[member]) for member in ("score", "meanR", "meanG", "meanB"))
                rows.append((dialect, side, str(found["turns"]), _share(found["parseRate"]), *shown))
    columns = ("dialect", "side", "turns", "parsed", "score", "R", "G", "B")
    return Table(title="By dialect", columns=columns, rows=tuple(rows), numeric=tuple(range(2, 8)))


def _spreads(v: Mapping[str, Any]) -> Iterator[Block]:
    rows: list[tuple[str, ...]] = []
    scored = [turn for turn in v["turns"] if turn["outcome"] == "scored"]
    for side in _SIDES:
        rows.append((side, "score", *_five([turn[side]["score"] for turn in scored])))
        for name, _, member in _LEGS:
            values = [turn[side].get(member) for turn in scored]
            known = [value for value in values if value is not None]
            if known:
                rows.append((side, name, *_five(known)))
    rows.append(("challenger − king", "difference", *_five([turn["difference"] for turn in scored])))
    columns = ("side", "of", "least", "quarter", "median", "three quarters", "most")
    yield Table(title="How turn scores spread", columns=columns, rows=tuple(rows), numeric=(2, 3, 4, 5, 6))


def _five(values: Sequence[float]) -> tuple[str, ...]:
    if not values:
        return ("–",) * 5
    middle = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return tuple(_number(value, "+") for value in (min(values), *middle, max(values)))


def _deciding(v: Mapping[str, Any]) -> Iterator[Block]:
    for turn in v["deciding"]:
        rows = tuple(
            (who, _lines(turn[who]["thought"]), _lines(turn[who]["action"])) if turn[who] else (who, "–", "forfeited")
            for who in ("teacher", *_SIDES)
        )
        title = f"Turn {turn['index']}, {turn['dialect']}: {_number(turn['difference'], '+')}"
        yield Table(title=title, columns=("who", "thought", "action"), rows=rows, note=turn["turn"])
    yield Paragraph(text="Every other turn: `assay duel show BUNDLE TURN`, with the number of the turn in the slice.")


def _probes(v: Mapping[str, Any]) -> Table:
    rows = tuple((name, _PASSED[probe["passed"]], probe["detail"]) for name, probe in v["probes"].items())
    return Table(title="What the challenger had to pass", columns=("probe", "outcome", "detail"), rows=rows)


def _models(v: Mapping[str, Any]) -> Table:
    rows = tuple(
        (role, model["name"], model["weights"], "computed" if model["checked"] else "declared")
        for role, model in v["models"].items()
    )
    return Table(title="Models", columns=("role", "model", "weights", "digest"), rows=rows)


def _knobs(v: Mapping[str, Any]) -> Table:
    rows = tuple((name, str(value)) for name, value in v["knobs"].items())
    return Table(title=f"Numbers that decide, contract version {v['contract']}", columns=("number", "value"), rows=rows)
