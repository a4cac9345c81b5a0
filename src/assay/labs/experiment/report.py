"""Tables and figures of an experiment's verdict."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from assay.verifier.figures import Block, Forest, ForestRow, Funnel, FunnelStage, Paragraph, Report, Section, Table
from assay.verifier.lab import Record

__all__ = ["report"]

_LEAST_P_SHOWN: Final = 1e-4
_LEAST_SHOWN: Final = 1e-3
_SIGNALS: Final = ("significant", "direction", "interval")


def report(verdict: Record) -> Report:
    """The report of a verdict that :func:`assay.labs.experiment.verdict.derive` gave."""
    # The verdict was derived here or compared byte for byte with one that was: its shape is known.
    v = cast("Mapping[str, Any]", verdict)
    refused = bool(v["refusals"])
    significant = not refused and v["decision"]["signals"]["significant"]
    return Report(
        title=v["question"],
        headline=_headline(v),
        tone="refused" if refused else "decided" if significant else "undecided",
        labels=(v["label"],),
        facts=tuple(_facts(v)),
        sections=tuple(_sections(v, refused=refused)),
    )


def _headline(v: Mapping[str, Any]) -> str:
    if v["refusals"]:
        return v["refusals"][0]["message"]
    return f"{v['decision']['verdict']}: {v['decision']['says']}"


def _show(value: float, sign: str = "") -> str:
    """Four decimals, or three digits of what four decimals would hide."""
    return format(value, f"{sign}.4f" if value == 0 or abs(value) >= _LEAST_SHOWN else f"{sign}.3g")


def _signed(value: float) -> str:
    return _show(value, "+")


def _span(interval: Mapping[str, Any]) -> str:
    lower = "−∞" if interval["lower"] is None else _signed(interval["lower"])
    upper = "+∞" if interval["upper"] is None else _signed(interval["upper"])
    return f"{lower} to {upper}"


def _level(interval: Mapping[str, Any]) -> str:
    return f"{interval['level'] * 100:.6g}%"


def _p_value(p: float) -> str:
    return f"{p:.4f}" if p >= _LEAST_P_SHOWN else "< 0.0001"


def _p_text(test: Mapping[str, Any]) -> str:
    p = test["p"]
    return f"{_p_value(p['value'])} ({p['numerator']:,} of {p['denominator']:,}, {test['method']})"


def _facts(v: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "treatment", v["arms"]["treatment"]
    yield "control", v["arms"]["control"]
    if not v["refusals"]:
        interval = f"{_level(v['interval'])} interval {_span(v['interval'])}"
        yield "difference", f"{_signed(v['estimate']['value'])}  ({interval})"
        yield "p", f"{_p_text(v['test'])}, alpha {v['test']['alpha']}"
        yield "units", f"{v['estimate']['pairs']:,} paired, in {v['estimate']['clusters']} clusters"
    else:
        yield "units", f"{v['funnel']['pairs']:,} paired"


def _sections(v: Mapping[str, Any], *, refused: bool) -> Iterator[Section]:
    yield Section(title="Decision", blocks=tuple(_decision(v, refused=refused)))
    yield Section(title="What entered", blocks=(_funnel(v["funnel"]),))
    if not refused:
        yield Section(title="By cluster", blocks=(_forest(v), _cluster_table(v)))
        yield Section(title="Test and intervals", blocks=(_numbers(v), *_counts(v)))
        yield Section(title="For contrast, not registered", blocks=(_contrast(v["contrast"]),))
    yield Section(title="What was registered", blocks=(_registered(v),))


def _decision(v: Mapping[str, Any], *, refused: bool) -> Iterator[Block]:
    if refused:
        for refusal in v["refusals"]:
            yield Paragraph(text=f"{refusal['code']}: {refusal['message']}", tone="warning")
        yield Paragraph(text="Nothing was computed: no effect, no p-value, no interval.")
    else:
        signals = v["decision"]["signals"]
        yield Table(
            title=f"Branch {v['decision']['branch'] + 1} of the registered table was the first to hold",
            columns=("signal", "value"),
            rows=tuple((name, str(signals[name]).lower()) for name in _SIGNALS),
            note=f"{v['decision']['verdict']}: {v['decision']['says']}",
        )
    for note in v["notes"]:
        yield Paragraph(text=note["message"], tone="warning")


def _funnel(funnel: Mapping[str, Any]) -> Funnel:
    return Funnel(
        title="From the source to the comparison",
        unit=funnel["unit"],
        input=funnel["input"],
        stages=tuple(
            FunnelStage(
                name=stage["id"],
                reason=stage["reason"],
                entering=stage["entering"],
                excluded=stage["excluded"],
                remaining=stage["remaining"],
            )
            for stage in funnel["stages"]
        ),
        surviving=funnel["surviving"],
        note=f"{funnel['surviving']:,} rows make {funnel['pairs']:,} pairs",
    )


def _forest(v: Mapping[str, Any]) -> Forest:
    value = v["estimate"]["value"]
    units = v["estimate"]["pairs"]
    flip = v["signFlipInterval"]
    level = _level(v["interval"])
    return Forest(
        title="Difference in each cluster",
        unit=f"{v['arms']['treatment']} minus {v['arms']['control']}",
        rows=tuple(ForestRow(label=c["cluster"], value=c["difference"], units=c["pairs"]) for c in v["clusters"]),
        pooled=(
            ForestRow(
                label=f"all, {level} bootstrap",
                value=value,
                lower=v["interval"]["lower"],
                upper=v["interval"]["upper"],
                units=units,
            ),
            ForestRow(
                label=f"all, {level} inverted test", value=value, lower=flip["lower"], upper=flip["upper"], units=units
            ),
        ),
        note="a cluster alone has no interval: the clusters are what was sampled",
    )


def _cluster_table(v: Mapping[str, Any]) -> Table:
    binary = v["counts"] is not None
    columns = ("cluster", "pairs", "treatment", "control", "difference")
    extra = ("won", "lost") if binary else ()
    rows = tuple(
        (
            c["cluster"],
            f"{c['pairs']:,}",
            _show(c["treatmentMean"]),
            _show(c["controlMean"]),
            _signed(c["difference"]),
            *((f"{c['treatmentOnly']:,}", f"{c['controlOnly']:,}") if binary else ()),
        )
        for c in v["clusters"]
    )
    numeric = tuple(range(1, len(columns) + len(extra)))
    return Table(title="Clusters", columns=(*columns, *extra), rows=rows, numeric=numeric)


def _numbers(v: Mapping[str, Any]) -> Table:
    test, interval = v["test"], v["interval"]
    rows = [
        ("difference of means", _signed(v["estimate"]["value"])),
        ("treatment mean", _show(v["estimate"]["treatmentMean"])),
        ("control mean", _show(v["estimate"]["controlMean"])),
        (
            f"{interval['kind']}, {interval['method']}, {interval['draws']:,} draws, seed {interval['seed']}",
            _span(interval),
        ),
        ("interval that inverts the test", _span(v["signFlipInterval"])),
        (f"{test['kind']}, {test['alternative']}", f"p = {_p_text(test)}"),
        ("alpha", f"{test['alpha']}"),
        ("least p this design could give", f"{test['floor']:.4g}"),
    ]
    return Table(title="Numbers", columns=("what", "value"), rows=tuple(rows), numeric=(1,))


def _counts(v: Mapping[str, Any]) -> Iterator[Table]:
    counts = v["counts"]
    if counts is not None:
        names = ("treatmentOnly", "controlOnly", "both", "neither", "pairs")
        words = ("the treatment only", "the control only", "both", "neither", "all pairs")
        rows = tuple((word, f"{counts[name]:,}") for name, word in zip(names, words, strict=True))
        yield Table(title="Pairs by the arms that succeeded", columns=("arm", "pairs"), rows=rows, numeric=(1,))


def _contrast(contrast: Mapping[str, Any]) -> Table:
    return Table(
        title=contrast["label"],
        columns=("test", "units that differ", "p"),
        rows=((contrast["kind"], f"{contrast['discordant']:,}", _p_value(contrast["p"])),),
        numeric=(1, 2),
        note=contrast["message"],
    )


def _registered(v: Mapping[str, Any]) -> Table:
    rows: list[tuple[str, str]] = [
        ("registration", v["registration"]),
        ("data, SHA-256", v["data"]["sha256"]),
        ("data, source", v["data"]["source"]),
    ]
    rows += [(f"seen before by {seen['who']}", seen["what"]) for seen in v["seenBefore"]]
    return Table(title="Sealed before the run", columns=("what", "value"), rows=tuple(rows))
