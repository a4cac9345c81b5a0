"""Text measured and set in terminal columns: widths, wrapping, and tables that fit."""

import unicodedata
from collections.abc import Iterable, Sequence

from assay.verifier.figures import Table

__all__ = ["cell_width", "cut_text", "pad_text", "table_lines", "wrap_text"]

_GAP = 2
_NARROWEST = 10
_BREAKS = "/-_.:"


def cell_width(text: str) -> int:
    """The terminal columns that the text takes: two for wide characters, none for combining marks."""
    if text.isascii():
        return len(text)
    return sum(_sign_width(sign) for sign in text)


def pad_text(text: str, width: int, *, right: bool = False) -> str:
    """The text filled up with blanks to ``width`` columns; ``right`` sets it flush right."""
    blanks = " " * max(width - cell_width(text), 0)
    return blanks + text if right else text + blanks


def cut_text(text: str, width: int, mark: str) -> str:
    """The text, cut to ``width`` columns with ``mark`` at its end where it is longer."""
    if cell_width(text) <= width:
        return text
    return _head(text, width - cell_width(mark)).rstrip() + mark


def wrap_text(text: str, width: int) -> list[str]:
    """The lines of the text at most ``width`` columns wide; a longer word is broken, after punctuation if it can be."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in _pieces(paragraph.split(" "), width):
            if line and cell_width(line) + 1 + cell_width(word) > width:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}" if line else word
        lines.append(line)
    return lines


def table_lines(table: Table, width: int, rule: str) -> list[str]:
    """The table's head, a rule and its rows, within ``width`` columns.

    Text columns are wrapped, the widest first; where not even that is enough, each row is set as a list of names and
    values.
    """
    rows = [tuple(row) + ("",) * (len(table.columns) - len(row)) for row in table.rows]
    widths = _fit_widths(table, rows, width)
    if widths is None:
        return _record_lines(table, rows, width)
    lines = _row_lines(table.columns, widths, table.numeric)
    lines.append(rule * (sum(widths) + _GAP * (len(widths) - 1)))
    for row in rows:
        lines += _row_lines(row, widths, table.numeric)
    return lines


def _sign_width(sign: str) -> int:
    if unicodedata.combining(sign) or unicodedata.category(sign) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(sign) in {"W", "F"} else 1


def _head(text: str, width: int) -> str:
    """The longest beginning of the text that is no wider, and one character where none is."""
    used = 0
    for index, sign in enumerate(text):
        used += _sign_width(sign)
        if used > width:
            return text[: max(index, 1)]
    return text


def _pieces(words: Iterable[str], width: int) -> Iterable[str]:
    for word in words:
        rest = word
        while cell_width(rest) > width:
            piece = _head(rest, width)
            piece = piece[: 1 + max(map(piece.rfind, _BREAKS))] or piece
            yield piece
            rest = rest[len(piece) :]
        if rest:
            yield rest


def _fit_widths(table: Table, rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """A width for each column, or nothing if they cannot stand side by side; numbers are never wrapped."""
    count = max([len(table.columns), *(len(row) for row in rows)])
    if count > len(table.columns):
        return None
    room = width - _GAP * (count - 1)
    widths = [min(max(cell_width(row[at]) for row in (table.columns, *rows)), max(room, 1)) for at in range(count)]
    while sum(widths) > room:
        wide = [at for at in range(count) if at not in table.numeric and widths[at] > _NARROWEST]
        if not wide:
            return None
        widths[max(wide, key=lambda at: (widths[at], -at))] -= 1
    return widths


def _row_lines(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[int]) -> list[str]:
    wrapped = [wrap_text(cell, width) for cell, width in zip(cells, widths, strict=True)]
    height = max((len(lines) for lines in wrapped), default=0)
    return [
        (" " * _GAP)
        .join(
            pad_text(lines[at] if at < len(lines) else "", width, right=column in numeric)
            for column, (lines, width) in enumerate(zip(wrapped, widths, strict=True))
        )
        .rstrip()
        for at in range(height)
    ]


def _record_lines(table: Table, rows: Sequence[Sequence[str]], width: int) -> list[str]:
    lines: list[str] = []
    for row in rows:
        for at, cell in enumerate(row):
            name = table.columns[at] if at < len(table.columns) else str(at + 1)
            first, *more = wrap_text(f"{name}: {cell}", width - 4)
            lines += [("- " if at == 0 else "  ") + first, *("    " + line for line in more)]
    return lines
