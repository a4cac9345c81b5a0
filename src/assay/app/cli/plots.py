"""Forest plots and funnels drawn with characters, line by line."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import isfinite
from typing import TypeAlias

from assay.app.cli.columns import cell_width, cut_text, pad_text, table_lines, wrap_text
from assay.app.cli.echo import Span, Tone, paint
from assay.app.cli.glyphs import Glyphs
from assay.app.scale import Scale, forest_scale, share_text
from assay.verifier.figures import Forest, ForestRow, Funnel, FunnelStage, Table

__all__ = ["Line", "forest_lines", "funnel_lines"]

Line: TypeAlias = list[Span]

_LONGEST_LABEL = 28
_SHORTEST_LABEL = 14
_LABEL_LINES = 3
_LEAST_PLOT = 15
_GOOD_PLOT = 21
_MOST_PLOT = 48
_SHARE = 7


def forest_lines(figure: Forest, width: int, glyphs: Glyphs) -> list[Line]:
    """A forest plot at most ``width`` columns wide: label, units, plot, value and interval of every row.

    Where there is no room for a plot, the numbers are set as a table.
    """
    plot = _fit_plot(figure, width, glyphs)
    if plot.cells < _LEAST_PLOT:
        return [*_number_lines(figure, plot.scale, width, glyphs), *_unit_lines(figure, width, glyphs)]
    lines = [_head_line(plot)]
    lines += [line for row in figure.rows for line in _row_lines(row, plot, figure.zero, pooled=False)]
    if figure.rows and figure.pooled:
        lines.append([paint(glyphs.rule * plot.total, "muted")])
    lines += [line for row in figure.pooled for line in _row_lines(row, plot, figure.zero, pooled=True)]
    return lines + _axis_lines(plot) + _unit_lines(figure, width, glyphs)


def funnel_lines(figure: Funnel, width: int, glyphs: Glyphs) -> list[Line]:
    """A funnel at most ``width`` columns wide: a bar a stage, and below it how many leave and why."""
    names = [glyphs.clean(name) for name in ("Entered", *(stage.name for stage in figure.stages), "Analysed")]
    label = min(max(map(cell_width, names)), _LONGEST_LABEL, width // 3)
    remaining = [figure.input, *(stage.remaining for stage in figure.stages), figure.surviving]
    entering = [figure.input, *(stage.entering for stage in figure.stages), figure.surviving]
    number = max(len(f"{count:,}") for count in remaining)
    cells = max(min(width - label - number - _SHARE - 5, _MOST_PLOT), 0)
    most = max(*entering, *remaining, 1)
    tones: list[Tone] = ["plain", *("accent" for _ in figure.stages), "strong"]
    lines: list[Line] = []
    for at, (name, count, tone) in enumerate(zip(names, remaining, tones, strict=True)):
        first, *more = _label_lines(name, label, glyphs)
        bar = pad_text(_bar(count, entering[at], most, cells, glyphs), cells)
        share = glyphs.clean(share_text(count, figure.input))
        lines.append(
            [
                Span(text=pad_text(first, label) + "  "),
                paint(f"{count:>{number},}", "strong"),
                Span(text="  "),
                paint(bar, tone),
                Span(text=f" {share:>{_SHARE}}"),
            ]
        )
        lines += [[Span(text=rest)] for rest in more]
        if 0 < at <= len(figure.stages):
            lines += _leaving_lines(figure.stages[at - 1], width, glyphs)
    return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plot:
    """The columns of a forest plot, each with its width; ``cells`` is the drawing's."""

    scale: Scale
    glyphs: Glyphs
    label: int
    units: int
    cells: int
    value: int
    interval: int

    @property
    def total(self) -> int:
        """The width of all columns with the gaps between them."""
        widths = [self.label, self.units, self.cells, self.value, self.interval]
        return sum(widths) + 2 * (sum(1 for width in widths if width) - 1)

    def at(self, value: float | Fraction) -> int:
        """The cell that the value falls in."""
        return round(self.scale.place(value) * (self.cells - 1))

    def set_row(self, cells: tuple[str, str, str, str, str], tones: tuple[Tone, Tone, Tone]) -> Line:
        """One line of the five columns; ``tones`` are those of label, drawing and value."""
        label, units, drawing, value, interval = cells
        line = [paint(pad_text(label, self.label), tones[0])]
        if self.units:
            line.append(Span(text="  " + pad_text(units, self.units, right=True)))
        line += [Span(text="  "), paint(pad_text(drawing, self.cells), tones[1])]
        line += [Span(text="  "), paint(pad_text(value, self.value, right=True), tones[2])]
        if self.interval:
            line.append(Span(text="  " + pad_text(interval, self.interval, right=True)))
        return line


def _fit_plot(figure: Forest, width: int, glyphs: Glyphs) -> _Plot:
    scale = forest_scale(figure)
    rows = figure.rows + figure.pooled
    label = max((cell_width(glyphs.clean(row.label)) for row in rows), default=0)
    units = max((len(_units_text(row)) for row in rows), default=0)
    value = max((len(glyphs.clean(scale.value_text(row.value))) for row in rows), default=0)
    value = max(value, len("Value"))
    interval = max((len(glyphs.clean(scale.interval_text(row))) for row in rows), default=0)
    room = width - units - value - interval - 2 * (2 + bool(units) + bool(interval))
    label = min(label, _LONGEST_LABEL, max(room - _GOOD_PLOT, _SHORTEST_LABEL))
    return _Plot(
        scale=scale,
        glyphs=glyphs,
        label=label,
        units=units,
        cells=min(room - label, _MOST_PLOT),
        value=value,
        interval=interval,
    )


def _units_text(row: ForestRow) -> str:
    return f"{row.units:,}" if row.units else ""


def _number_lines(figure: Forest, scale: Scale, width: int, glyphs: Glyphs) -> list[Line]:
    rows = tuple(
        (row.label, _units_text(row), scale.value_text(row.value), scale.interval_text(row))
        for row in figure.rows + figure.pooled
    )
    cleaned = tuple(tuple(glyphs.clean(cell) for cell in row) for row in rows)
    columns = ("Row", "n", "Value", "[lower, upper]")
    table = Table(title="", columns=columns, rows=cleaned, numeric=(1, 2, 3))
    return [[Span(text=line)] for line in table_lines(table, width, glyphs.rule)]


def _unit_lines(figure: Forest, width: int, glyphs: Glyphs) -> list[Line]:
    return [[paint(line, "muted")] for line in wrap_text(glyphs.clean(figure.unit), width)]


def _head_line(plot: _Plot) -> Line:
    interval = "[lower, upper]" if plot.interval >= len("[lower, upper]") else ""
    line = plot.set_row(("", "n", "", "Value", interval), ("plain", "plain", "plain"))
    return [paint("".join(span.text for span in line), "muted")]


def _label_lines(label: str, width: int, glyphs: Glyphs) -> list[str]:
    """The label in as many lines as it takes, up to three."""
    lines = wrap_text(glyphs.clean(label), width)
    if len(lines) > _LABEL_LINES:
        lines[_LABEL_LINES - 1 :] = [cut_text(" ".join(lines[_LABEL_LINES - 1 :]), width, glyphs.cut)]
    return lines


def _row_lines(row: ForestRow, plot: _Plot, zero: float, *, pooled: bool) -> list[Line]:
    glyphs, scale = plot.glyphs, plot.scale
    first, *more = _label_lines(row.label, plot.label, glyphs)
    cells = (
        first,
        _units_text(row),
        "".join(_drawing(row, plot, zero, pooled=pooled)),
        glyphs.clean(scale.value_text(row.value)),
        glyphs.clean(scale.interval_text(row)),
    )
    line = plot.set_row(cells, ("strong", "strong", "strong") if pooled else ("plain", "accent", "plain"))
    return [line, *([paint(rest, "strong" if pooled else "plain")] for rest in more)]


def _drawing(row: ForestRow, plot: _Plot, zero: float, *, pooled: bool) -> list[str]:
    glyphs, cells = plot.glyphs, [" "] * plot.cells
    middle = plot.at(zero) if isfinite(zero) else -1
    if middle >= 0:
        cells[middle] = glyphs.zero
    lower = row.value if row.lower is None else row.lower
    upper = row.value if row.upper is None else row.upper
    if lower < upper:
        stroke = glyphs.double if pooled else glyphs.rule
        for at in range(plot.at(lower), plot.at(upper) + 1):
            cells[at] = glyphs.crossing if at == middle else stroke
        cells[0] = glyphs.left if lower < plot.scale.lower else cells[0]
        cells[-1] = glyphs.right if upper > plot.scale.upper else cells[-1]
    if isfinite(row.value):
        cells[plot.at(row.value)] = glyphs.pooled if pooled else glyphs.point
    return cells


def _axis_lines(plot: _Plot) -> list[Line]:
    """The axis with labels at every tick, or every second, third and so on, as soon as they stand apart."""
    ticks = plot.scale.ticks
    origin = ticks.index(Fraction(0)) if 0 in ticks else 0
    for stride in range(1, len(ticks) + 1):
        labels = [_tick_label(plot, tick) for at, tick in enumerate(ticks) if (at - origin) % stride == 0]
        apart = all(after[1] - before[1] > len(before[2]) + 1 for before, after in pairwise(labels))
        if apart and all(len(text) <= plot.cells for _, _, text in labels):
            break
    else:
        labels = []
    marks, texts = [plot.glyphs.rule] * plot.cells, [" "] * plot.cells
    for at, start, text in labels:
        marks[at] = plot.glyphs.crossing
        texts[start : start + len(text)] = text
    before = Span(text=" " * (plot.label + plot.units + (4 if plot.units else 2)))
    return [[before, paint("".join(marks), "muted")], [before, paint("".join(texts).rstrip(), "muted")]]


def _tick_label(plot: _Plot, tick: Fraction) -> tuple[int, int, str]:
    """The tick's cell, where its label starts, and the label; at the ends it is moved inwards."""
    text = plot.glyphs.clean(plot.scale.tick_text(tick))
    at = plot.at(tick)
    return at, max(min(at - len(text) // 2, plot.cells - len(text)), 0), text


def _bar(count: int, entering: int, most: int, cells: int, glyphs: Glyphs) -> str:
    """A bar for what stays and, paler, for what leaves; a count above nothing is never drawn as nothing."""
    steps = len(glyphs.blocks)
    filled = min(max(count * cells * steps // most, 1), cells * steps) if count > 0 else 0
    full, part = divmod(filled, steps)
    bar = glyphs.blocks[-1] * full + (glyphs.blocks[part - 1] if part else "")
    reach = min(max(entering, 0) * cells // most, cells)
    return bar + glyphs.pale * max(reach - len(bar), 0)


def _leaving_lines(stage: FunnelStage, width: int, glyphs: Glyphs) -> list[Line]:
    count = glyphs.clean(f"−{stage.excluded:,}") if stage.excluded else "0"
    first, *more = wrap_text(f"{count}  {glyphs.clean(stage.reason)}", width - 4)
    return [[paint("  " + first, "muted")], *([paint("    " + line, "muted")] for line in more)]
