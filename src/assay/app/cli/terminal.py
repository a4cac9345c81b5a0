"""A report as text for a terminal: the same blocks as the page, set in columns.

Nothing here writes: :meth:`Echo.result` takes the spans. The same report and width give the same text.
"""

from collections.abc import Iterable
from dataclasses import replace

from assay.app.cli.columns import cell_width, cut_text, pad_text, table_lines, wrap_text
from assay.app.cli.echo import Span, Tone, paint
from assay.app.cli.glyphs import ASCII, UNICODE, Glyphs
from assay.app.cli.plots import Line, forest_lines, funnel_lines
from assay.verifier.figures import Block, Forest, Funnel, Paragraph, Report, Section, Table

__all__ = ["lay_out", "render_terminal", "summarise"]

_NARROWEST = 40
_INDENT = "  "


def render_terminal(report: Report, width: int = 80, *, unicode: bool = True) -> str:
    """The report as plain text, ``width`` columns wide (and never set narrower than 40)."""
    return "".join(span.text for span in lay_out(report, width, unicode=unicode))


def lay_out(report: Report, width: int = 80, *, unicode: bool = True) -> tuple[Span, ...]:
    """The report as spans of text with their tones; without ``unicode`` figures are drawn in ASCII."""
    glyphs = UNICODE if unicode else ASCII
    width = max(width, _NARROWEST)
    lines = [*_prose(report.title, width, glyphs, tone="strong"), [], *_verdict_lines(report, width, glyphs)]
    for section in report.sections:
        lines += [[], *_section_lines(section, width, glyphs)]
    return _join(lines)


def summarise(report: Report, width: int = 80, *, unicode: bool = True) -> tuple[Span, ...]:
    """What a reader of the report looks for first, as spans: the verdict, its facts, what warns and what was removed.

    Each warning, and each stage of a funnel that removed something, has one line; it is cut to the width.
    """
    glyphs = UNICODE if unicode else ASCII
    width = max(width, _NARROWEST)
    lines = [*_prose(report.title, width, glyphs, tone="strong"), [], *_verdict_lines(report, width, glyphs)]
    blocks = [block for section in report.sections for block in section.blocks]
    for kind in (Paragraph, Funnel):
        short = [line for block in blocks if isinstance(block, kind) for line in _short_lines(block, width, glyphs)]
        lines += [[], *short] if short else []
    return _join(lines)


def _short_lines(block: Block, width: int, glyphs: Glyphs) -> list[Line]:
    if isinstance(block, Paragraph) and block.tone == "warning":
        return [[paint(_cut(f"Warning: {block.text}", width, glyphs), "warning")]]
    if not isinstance(block, Funnel):
        return []
    texts = [
        f"−{stage.excluded:,} of {stage.entering:,}  {stage.name}: {stage.reason}"
        for stage in block.stages
        if stage.excluded
    ]
    return [[Span(text=_cut(text, width, glyphs))] for text in texts]


def _cut(text: str, width: int, glyphs: Glyphs) -> str:
    return cut_text(glyphs.clean(text.replace("\n", " ")), width, glyphs.cut)


def _join(lines: Iterable[Line]) -> tuple[Span, ...]:
    return tuple(span for line in lines for span in (*line, Span(text="\n")))


def _prose(text: str, width: int, glyphs: Glyphs, *, tone: Tone = "plain") -> list[Line]:
    cleaned = "\n".join(glyphs.clean(line) for line in text.split("\n"))
    return [[paint(line, tone)] for line in wrap_text(cleaned, width)]


def _indent(lines: Iterable[Line]) -> list[Line]:
    return [[Span(text=_INDENT), *line] if any(span.text for span in line) else line for line in lines]


def _verdict_lines(report: Report, width: int, glyphs: Glyphs) -> list[Line]:
    lines = _headline_lines(report, width, glyphs)
    if report.labels:
        labels = "  ".join(f"[{label}]" for label in report.labels)
        lines += _indent(_prose(labels, width - len(_INDENT), glyphs, tone="muted"))
    if report.facts:
        lines += [[], *_indent(_fact_lines(report.facts, width - len(_INDENT), glyphs))]
    return lines


def _headline_lines(report: Report, width: int, glyphs: Glyphs) -> list[Line]:
    if report.tone == "decided":
        symbol, word, tone = glyphs.decided, "Decided", "accent"
    elif report.tone == "undecided":
        symbol, word, tone = glyphs.undecided, "Undecided", "strong"
    else:
        symbol, word, tone = glyphs.refused, "Refused", "bad"
    first, *more = _prose(f"{symbol} {word}: {report.headline}", width - len(_INDENT), glyphs, tone=tone)
    return [first, *_indent(more)]


def _fact_lines(facts: tuple[tuple[str, str], ...], width: int, glyphs: Glyphs) -> list[Line]:
    cleaned = [(glyphs.clean(name), glyphs.clean(value)) for name, value in facts]
    column = min(max(cell_width(name) for name, _ in cleaned), width // 2)
    lines: list[Line] = []
    for name, value in cleaned:
        first, *more = wrap_text(value, width - column - 2)
        label = pad_text(cut_text(name, column, glyphs.cut), column + 2)
        lines.append([Span(text=label), paint(first, "strong")])
        lines += [[Span(text=" " * (column + 2)), paint(line, "strong")] for line in more]
    return lines


def _section_lines(section: Section, width: int, glyphs: Glyphs) -> list[Line]:
    title = cut_text(glyphs.clean(section.title), width, glyphs.cut)
    lines: list[Line] = [[paint(title, "strong")], [paint(glyphs.rule * cell_width(title), "muted")]]
    for at, block in enumerate(section.blocks):
        lines += [[], *_block_lines(block, width, glyphs)] if at else _block_lines(block, width, glyphs)
    return lines


def _block_lines(block: Block, width: int, glyphs: Glyphs) -> list[Line]:
    if isinstance(block, Paragraph):
        warns = block.tone == "warning"
        text = f"Warning: {block.text}" if warns else block.text
        return _prose(text, width, glyphs, tone="warning" if warns else "plain")
    inner = width - len(_INDENT)
    if isinstance(block, Table):
        title, lines = block.title, _table_lines(block, inner, glyphs)
    elif isinstance(block, Forest):
        title, lines = block.title, forest_lines(block, inner, glyphs)
    else:
        title, lines = f"{block.title} ({block.unit})", funnel_lines(block, inner, glyphs)
    note = _prose(block.note, inner, glyphs, tone="muted") if block.note else []
    return [*_prose(title, width, glyphs), *_indent(lines + note)]


def _table_lines(table: Table, width: int, glyphs: Glyphs) -> list[Line]:
    columns = tuple(glyphs.clean(column) for column in table.columns)
    rows = tuple(tuple(glyphs.clean(cell) for cell in row) for row in table.rows)
    lines = table_lines(replace(table, columns=columns, rows=rows), width, glyphs.rule)
    return [[Span(text=line)] for line in lines]
