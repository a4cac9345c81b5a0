"""Figures drawn as SVG, and the tables that say the same.

Colours and fonts come from the page's style sheet through classes; the drawing itself holds no style, script, id or
reference, so that it stands under the strictest content security policy and several fit on one page. Every text runs
through :func:`visible` and is escaped.
"""

from itertools import accumulate
from math import isfinite, isnan, sqrt

from markupsafe import Markup

from assay.app.characters import visible
from assay.app.scale import Scale, forest_scale, share_text
from assay.verifier.figures import Forest, ForestRow, Funnel, FunnelStage, Table

__all__ = ["forest", "forest_table", "funnel", "funnel_table"]

_WIDTH = 880
_LABEL_LENGTH = 29
_REASON_LENGTH = 84
_UNIT_LENGTH = 24
_PLOT_LEFT = 300
_PLOT_RIGHT = 648
_VALUE_RIGHT = 722
_ROW = 24
_HEAD = 30
_BAR_LEFT = 240
_BAR_RIGHT = 720
_STAGE = 56


def forest(figure: Forest) -> Markup:
    """A forest plot: squares by units, their intervals, pooled diamonds; arrows where an interval runs off the axis."""
    scale = forest_scale(figure)
    pooled_top = _HEAD + len(figure.rows) * _ROW + (8 if figure.rows else 0)
    bottom = pooled_top + len(figure.pooled) * _ROW + 6
    most = max((row.units for row in figure.rows), default=0)
    parts = [_forest_head(), _forest_axis(figure, scale, bottom)]
    parts += [_forest_line(row, scale, _HEAD + index * _ROW, most) for index, row in enumerate(figure.rows)]
    if figure.rows and figure.pooled:
        parts.append(_line("rule", 0, pooled_top - 4, _WIDTH, pooled_top - 4))
    parts += [_pooled_line(row, scale, pooled_top + index * _ROW) for index, row in enumerate(figure.pooled)]
    return _drawing("forest", figure.title, _forest_description(figure, scale), bottom + 48, parts)


def forest_table(figure: Forest) -> Table:
    """The forest plot's numbers as a table, in the order of the drawing."""
    scale = forest_scale(figure)
    rows = tuple(
        (row.label, _units_text(row.units), *(scale.value_text(value) for value in (row.value, row.lower, row.upper)))
        for row in figure.rows + figure.pooled
    )
    columns = ("Row", "n", "Value", "Lower", "Upper")
    return Table(title=figure.title, columns=columns, rows=rows, numeric=(1, 2, 3, 4), note=figure.note)


def funnel(figure: Funnel) -> Markup:
    """An admission funnel: one bar a stage, solid for what stays and pale for what leaves there, on one scale."""
    most = max([figure.input, figure.surviving, *(stage.entering for stage in figure.stages), 1])
    parts = [_funnel_head(figure), _funnel_bar("Entered", figure.input, 0, most, _HEAD + 4, figure)]
    top = _HEAD + 44
    for stage in figure.stages:
        parts += [_funnel_bar(stage.name, stage.remaining, stage.excluded, most, top, figure), _leaving(stage, top)]
        top += _STAGE
    parts.append(_line("rule", 0, top - 5, _WIDTH, top - 5))
    parts.append(_funnel_bar("Analysed", figure.surviving, 0, most, top + 4, figure, "bar final"))
    return _drawing("funnel", figure.title, _funnel_description(figure), top + 40, parts)


def funnel_table(figure: Funnel) -> Table:
    """The funnel's counts as a table, in the order of the drawing, with every reason in full."""
    rows = [("Entered", "", "", "", f"{figure.input:,}", share_text(figure.input, figure.input))]
    rows += [
        (
            stage.name,
            stage.reason,
            f"{stage.entering:,}",
            f"{stage.excluded:,}",
            f"{stage.remaining:,}",
            share_text(stage.remaining, figure.input),
        )
        for stage in figure.stages
    ]
    rows.append(("Analysed", "", "", "", f"{figure.surviving:,}", share_text(figure.surviving, figure.input)))
    columns = ("Stage", "Why units leave", "Entering", "Leaving", "Remaining", "Of all entered")
    title = f"{figure.title} ({figure.unit})"
    return Table(title=title, columns=columns, rows=tuple(rows), numeric=(2, 3, 4, 5), note=figure.note)


def _drawing(kind: str, title: str, description: str, height: float, parts: list[Markup]) -> Markup:
    return Markup(
        '<svg class="chart {}" role="img" aria-label="{}" viewBox="0 0 {} {:.0f}">'
        "<title>{}</title><desc>{}</desc>\n{}\n</svg>"
    ).format(kind, visible(title), _WIDTH, height, visible(title), visible(description), Markup("\n").join(parts))


def _text(kind: str, x: float, y: float, text: str, length: int | None = None) -> Markup:
    """One line of text; what is wider than ``length`` letters is cut short and kept whole as its tooltip."""
    shown = visible(text)
    cut = shown if length is None else _cut(shown, length)
    if cut == shown:
        return Markup('<text class="{}" x="{:.2f}" y="{:.2f}">{}</text>').format(kind, x, y, shown)
    return Markup('<text class="{}" x="{:.2f}" y="{:.2f}"><title>{}</title>{}</text>').format(kind, x, y, shown, cut)


def _cut(text: str, length: int) -> str:
    """The text within ``length`` letters; from the first East Asian block on a character counts for two."""
    widths = [2 if sign >= "\u2e80" else 1 for sign in text]
    if sum(widths) <= length:
        return text
    ends = accumulate(widths)
    return text[: sum(1 for end in ends if end < length)].rstrip() + "…"


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return Markup('<line class="{}" x1="{:.2f}" y1="{:.2f}" x2="{:.2f}" y2="{:.2f}"/>').format(kind, x1, y1, x2, y2)


def _box(kind: str, x: float, y: float, width: float, height: float) -> Markup:
    return Markup('<rect class="{}" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"/>').format(
        kind, x, y, width, height
    )


def _shape(kind: str, *points: tuple[float, float]) -> Markup:
    return Markup('<polygon class="{}" points="{}"/>').format(kind, " ".join(f"{x:.2f},{y:.2f}" for x, y in points))


def _across(scale: Scale, value: float) -> float:
    return _PLOT_LEFT + scale.place(value) * (_PLOT_RIGHT - _PLOT_LEFT)


def _units_text(units: int) -> str:
    return f"{units:,}" if units else ""


def _forest_head() -> Markup:
    return Markup("").join(
        (
            _text("head", 0, 16, "Row"),
            _text("head end", _PLOT_LEFT - 22, 16, "n"),
            _text("head end", _VALUE_RIGHT, 16, "Value"),
            _text("head end", _WIDTH, 16, "[lower, upper]"),
            _line("rule", 0, 24, _WIDTH, 24),
        )
    )


def _forest_axis(figure: Forest, scale: Scale, bottom: float) -> Markup:
    parts = [_line("axis", _PLOT_LEFT, bottom, _PLOT_RIGHT, bottom)]
    for tick in scale.ticks:
        x = _PLOT_LEFT + scale.place(tick) * (_PLOT_RIGHT - _PLOT_LEFT)
        parts += [_line("grid", x, _HEAD, x, bottom), _text("tick", x, bottom + 17, scale.tick_text(tick))]
    if isfinite(figure.zero):
        x = _across(scale, figure.zero)
        parts.append(_line("zero", x, _HEAD - 2, x, bottom + 5))
    parts.append(_text("unit", (_PLOT_LEFT + _PLOT_RIGHT) / 2, bottom + 38, figure.unit, _REASON_LENGTH))
    return Markup("").join(parts)


def _forest_line(row: ForestRow, scale: Scale, top: float, most: int) -> Markup:
    middle = top + _ROW / 2
    parts = [_row_text(row, scale, middle, ""), _whisker(row, scale, middle)]
    if isfinite(row.value):
        side = max(4.0, 13 * sqrt(max(row.units, 0) / most)) if most > 0 else 8.0
        parts.append(_box("point", _across(scale, row.value) - side / 2, middle - side / 2, side, side))
    return Markup('<g class="row">{}</g>').format(Markup("").join(parts))


def _pooled_line(row: ForestRow, scale: Scale, top: float) -> Markup:
    middle = top + _ROW / 2
    parts = [_row_text(row, scale, middle, " strong")]
    if isfinite(row.value):
        x = _across(scale, row.value)
        left = min(_across(scale, _end(row.lower, row.value)), x - 3)
        right = max(_across(scale, _end(row.upper, row.value)), x + 3)
        parts.append(_shape("pooled", (left, middle), (x, middle - 7), (right, middle), (x, middle + 7)))
        parts.append(_arrows(row, scale, middle))
    return Markup('<g class="row">{}</g>').format(Markup("").join(parts))


def _row_text(row: ForestRow, scale: Scale, middle: float, weight: str) -> Markup:
    base = middle + 4.5
    return Markup("").join(
        (
            _text(f"name{weight}", 0, base, row.label, _LABEL_LENGTH),
            _text("number end", _PLOT_LEFT - 22, base, _units_text(row.units)),
            _text(f"number end{weight}", _VALUE_RIGHT, base, scale.value_text(row.value)),
            _text("number end", _WIDTH, base, scale.interval_text(row)),
        )
    )


def _whisker(row: ForestRow, scale: Scale, middle: float) -> Markup:
    if row.lower is None and row.upper is None:
        return Markup("")
    left, right = _across(scale, _end(row.lower, row.value)), _across(scale, _end(row.upper, row.value))
    return _line("whisker", left, middle, right, middle) + _arrows(row, scale, middle)


def _arrows(row: ForestRow, scale: Scale, middle: float) -> Markup:
    """A head on each end of the interval that lies beyond the axis."""
    parts: list[Markup] = []
    if row.lower is not None and row.lower < scale.lower:
        parts.append(_arrow(_PLOT_LEFT, middle, -1))
    if row.upper is not None and row.upper > scale.upper:
        parts.append(_arrow(_PLOT_RIGHT, middle, 1))
    return Markup("").join(parts)


def _arrow(x: float, middle: float, way: int) -> Markup:
    return _shape("arrow", (x + 8 * way, middle), (x, middle - 5), (x, middle + 5))


def _end(end: float | None, value: float) -> float:
    """The interval's end; where it has none there, or no number, the point itself."""
    return value if end is None or isnan(end) else end


def _forest_description(figure: Forest, scale: Scale) -> str:
    pooled = "".join(
        f" {row.label}: {scale.value_text(row.value)} {scale.interval_text(row)}".rstrip() + "."
        for row in figure.pooled
    )
    ends = f"from {scale.tick_text(scale.lower)} to {scale.tick_text(scale.upper)}"
    return f"Forest plot of {len(figure.rows)} rows; {figure.unit}, {ends}.{pooled} The table holds every number."


def _funnel_head(figure: Funnel) -> Markup:
    return Markup("").join(
        (
            _text("head", 0, 16, "Stage"),
            _text("head end", _WIDTH - 72, 16, figure.unit, _UNIT_LENGTH),
            _text("head end", _WIDTH, 16, "of all"),
            _line("rule", 0, 24, _WIDTH, 24),
        )
    )


def _funnel_bar(
    name: str, remaining: int, excluded: int, most: int, top: float, figure: Funnel, kind: str = "bar"
) -> Markup:
    length = _BAR_RIGHT - _BAR_LEFT
    stays, leaves = _length(remaining, most, length), _length(excluded, most, length)
    parts = [_text("name strong", 0, top + 15, name, _LABEL_LENGTH), _box("track", _BAR_LEFT, top, length, 20)]
    if leaves:
        parts.append(_box("left", _BAR_LEFT + stays, top, min(leaves, length - stays), 20))
    parts += [
        _box(kind, _BAR_LEFT, top, stays, 20),
        _text("number end strong", _WIDTH - 72, top + 15, f"{remaining:,}"),
        _text("number end", _WIDTH, top + 15, share_text(remaining, figure.input)),
    ]
    return Markup("").join(parts)


def _leaving(stage: FunnelStage, top: float) -> Markup:
    text = f"−{stage.excluded:,}  {stage.reason}" if stage.excluded else f"0 leave  {stage.reason}"
    return _text("reason", _BAR_LEFT, top + 35, text, _REASON_LENGTH)


def _length(count: int, most: int, length: float) -> float:
    """The bar's length; a count above nothing is never too short to be seen."""
    return max(1.5, min(count / most, 1.0) * length) if count > 0 else 0.0


def _funnel_description(figure: Funnel) -> str:
    stages = "".join(f" {stage.name}: {stage.excluded:,} leave, {stage.remaining:,} remain." for stage in figure.stages)
    return f"Funnel of {figure.unit}: {figure.input:,} entered.{stages} {figure.surviving:,} analysed."
