"""Tables and figures of an experiment's verdict."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, cast

from assay.labs.experiment.funnel_figure import draw_funnel
from assay.verifier.figures import Block, Forest, ForestRow, Paragraph, Report, Section, Table
from assay.verifier.lab import Record

__all__ = ["report"]

_LEAST_P_SHOWN: Final = 1e-4
_LEAST_SHOWN: Final = 1e-3
_LARGEST_DENOMINATOR: Final = 2**21  # of a floor: there are at most 2^20 signs and 10^6 draws
_MISSING: Final = "missing: units of the cluster that are not compared, for want of a row or an outcome in an arm"
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
    return _say(v["decision"])


def _say(decision: Mapping[str, Any]) -> str:
    """What the branch says, then its name."""
    return f"{decision['says'].rstrip().removesuffix('.')} ({decision['verdict']})"


def _show(value: float, sign: str = "") -> str:
    """Four decimals, or three digits of what four decimals would hide."""
    if value == 0:
        return "0.0000"
    shown = format(value, f"{sign}.4f" if abs(value) >= _LEAST_SHOWN else f"{sign}.3g")
    return shown.replace("-", "−")


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


def _floor_text(test: Mapping[str, Any]) -> str:
    """The least p, written as p is."""
    p, floor = test["p"], Fraction(test["floor"]).limit_denominator(_LARGEST_DENOMINATOR)
    times = p["denominator"] // floor.denominator if p["denominator"] % floor.denominator == 0 else 1
    return f"{_p_value(test['floor'])} ({floor.numerator * times:,} of {floor.denominator * times:,})"


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
    yield Section(title="What entered", blocks=(draw_funnel(v["funnel"], v["arms"]),))
    if not refused:
        yield Section(title="By cluster", blocks=(_forest(v), _cluster_table(v)))
        yield Section(title="Test and intervals", blocks=(_numbers(v), *_counts(v)))
        yield Section(title="For contrast, not registered", blocks=(_contrast(v["contrast"]),))
    yield Section(title="What was registered", blocks=(_registered(v),))


def _decision(v: Mapping[str, Any], *, refused: bool) -> Iterator[Block]:
    if refused:
        first, *others = v["refusals"]  # the first is the headline
        for refusal in others:
            yield Paragraph(text=f"{refusal['code']}: {refusal['message']}", tone="warning")
        code = first["code"]
        yield Paragraph(
            text=f"Turned down by the rule {code}. Nothing was computed: no effect, no p-value, no interval."
        )
    else:
        signals = v["decision"]["signals"]
        yield Table(
            title=f"Branch {v['decision']['branch'] + 1} of the registered table was the first to hold",
            columns=("signal", "value"),
            rows=tuple((name, str(signals[name]).lower()) for name in _SIGNALS),
            note=_say(v["decision"]),
        )
    for note in v["notes"]:
        yield Paragraph(text=note["message"], tone="warning")


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
    columns = ("cluster", "pairs", "missing", "treatment", "control", "difference")
    extra = ("won", "lost") if binary else ()
    rows = tuple(
        (
            c["cluster"],
            f"{c['pairs']:,}",
            f"{c['missing']:,}",
            _show(c["treatmentMean"]),
            _show(c["controlMean"]),
            _signed(c["difference"]),
            *((f"{c['treatmentOnly']:,}", f"{c['controlOnly']:,}") if binary else ()),
        )
        for c in v["clusters"]
    )
    numeric = tuple(range(1, len(columns) + len(extra)))
    return Table(title="Clusters", columns=(*columns, *extra), rows=rows, numeric=numeric, note=_MISSING)


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
        ("least p this design could give", _floor_text(test)),
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
    return Table(title="What was sealed", columns=("what", "value"), rows=tuple(rows))
