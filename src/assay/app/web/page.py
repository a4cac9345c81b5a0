"""A report as one self-contained HTML page, safe to keep beside the evidence that it shows.

The page holds no script and refers to nothing outside itself; its content security policy allows its own style sheet by
digest and nothing else. The same report gives the same bytes: there is no time, path or machine in it.
"""

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assay.app.characters import visible
from assay.app.web import charts
from assay.verifier.figures import Block, Forest, Funnel, Paragraph, Report, Section, Table

__all__ = ["PageContext", "render_page"]

_PACKAGE = "assay.app.web"
_OPEN_ROWS = 8
_PLAIN_ROWS = 40
_TONES = {"decided": ("◆", "Decided"), "undecided": ("◇", "Undecided"), "refused": ("⊘", "Refused")}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    """Whose report this is: the registration's digest, the run's id and the lab; ``labels`` join the report's own."""

    registration: str
    run: str
    lab: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _TableView:
    """A table as it is set: ``fold`` keeps a long one, or a figure's twin, behind its summary."""

    table: Table
    fold: Literal["none", "open", "closed"] = "none"
    kind: str = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class _FigureView:
    """A drawing, its note and the table that says the same."""

    title: str
    note: str
    drawing: Markup
    twin: _TableView
    kind: str = "figure"


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProseView:
    """Prose, line by line."""

    lines: list[str]
    tone: str
    kind: str = "prose"


_View: TypeAlias = _ProseView | _TableView | _FigureView


def render_page(report: Report, context: PageContext) -> bytes:
    """The report as one HTML page in UTF-8: the same bytes for the same report on any machine.

    Whatever the texts hold, they are shown and never interpreted.
    """
    style = _style()
    symbol, word = _TONES[report.tone]
    page = (
        _environment()
        .get_template("report.html")
        .render(
            report=report,
            context=context,
            labels=list(dict.fromkeys(report.labels + context.labels)),
            symbol=symbol,
            word=word,
            sections=[(section, _views(section)) for section in report.sections],
            style=Markup(style),  # noqa: S704 - our own style sheet, from the package
            style_hash=style_hash(style),
        )
    )
    return page.encode("utf-8")


def style_hash(style: str) -> str:
    """The source expression that allows this inline style sheet (CSP Level 3, section 2.3.1)."""
    return f"sha256-{base64.b64encode(hashlib.sha256(style.encode('utf-8')).digest()).decode('ascii')}"


@cache
def _style() -> str:
    return files(_PACKAGE).joinpath("templates", "report.css").read_text(encoding="utf-8").replace("\r\n", "\n")


@cache
def _environment() -> Environment:
    """The templates; every expression's text is made visible and escaped, so that no template can forget to."""
    return Environment(
        loader=PackageLoader(_PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalise,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _finalise(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _views(section: Section) -> list[_View]:
    return [_view(block) for block in section.blocks]


def _view(block: Block) -> _View:
    if isinstance(block, Paragraph):
        return _ProseView(lines=block.text.split("\n"), tone=block.tone)
    if isinstance(block, Forest):
        return _figure(block, charts.forest(block), charts.forest_table(block))
    if isinstance(block, Funnel):
        return _figure(block, charts.funnel(block), charts.funnel_table(block))
    return _TableView(table=block, fold="closed" if len(block.rows) > _PLAIN_ROWS else "none")


def _figure(block: Forest | Funnel, drawing: Markup, table: Table) -> _FigureView:
    fold = "open" if len(table.rows) <= _OPEN_ROWS else "closed"
    return _FigureView(
        title=block.title, note=block.note, drawing=drawing, twin=_TableView(table=table, fold=fold, kind="twin")
    )
