import base64
import hashlib
import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.app.web.page import PageContext, render_page, style_hash
from assay.verifier.figures import (
    Forest,
    ForestRow,
    Funnel,
    FunnelStage,
    Paragraph,
    Report,
    Section,
    Table,
)

CONTEXT = PageContext(registration="sha256:" + "4f1c9a07" * 8, run="run-7", lab="experiment", labels=("exploratory",))
VOID = {"meta", "br", "link", "img", "input", "hr"}
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; DROP</style></title></svg>",
    "\u202e\u2066\u200b\x1b[31m\x00",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt; &#x3c;",
    "\ud800",
]


class Outline(HTMLParser):
    """A page taken apart: every tag with its attributes, and all text outside the style sheet."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.text, self.style, self.path = [], [], [], []
        self.feed(page.decode("utf-8"))
        self.close()
        assert self.path == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.path.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.path.pop() == tag

    def handle_data(self, data):
        (self.style if "style" in self.path else self.text).append(data)

    def named(self, *names):
        return [attributes for tag, attributes in self.tags if tag in names]

    @property
    def shape(self):
        """Every tag with its attributes' names; tooltips are left out, since only a long text has one."""
        return [(tag, sorted(attributes)) for tag, attributes in self.tags if tag != "title"]


def outline(report, context=CONTEXT):
    return Outline(render_page(report, context))


def make_report(text, number=0.5):
    """A report that says the same text wherever a report can say something."""
    row = ForestRow(label=text, value=number, lower=number - 1, upper=number + 1, units=3)
    stage = FunnelStage(name=text, reason=text, entering=5, excluded=2, remaining=3)
    blocks = (
        Paragraph(text=text, tone="warning"),
        Table(title=text, columns=(text, text), rows=((text, text),), numeric=(1,), note=text),
        Forest(title=text, unit=text, rows=(row,), pooled=(row,), note=text),
        Funnel(title=text, unit=text, input=5, stages=(stage,), surviving=3, note=text),
    )
    sections = (Section(title=text, blocks=blocks),)
    return Report(title=text, headline=text, tone="undecided", labels=(text,), facts=((text, text),), sections=sections)


def test_the_page_says_what_the_report_says(comparison):
    text = " ".join(outline(comparison).text)
    for piece in (
        comparison.title,
        comparison.headline,
        "retrospective",
        "exploratory",
        "84/2048 = 0.041",
        "Who was admitted",
        "1,458",
        "fjord/bridge",
        "Paired.",
        "Two-sided p at most",
        CONTEXT.registration,
        "run-7",
        "assay verify BUNDLE --policy FILE",
        "With assay installed (see its README)",
    ):
        assert piece in text


@pytest.mark.parametrize(
    ("tone", "symbol", "word"),
    [("decided", "◆", "Decided"), ("undecided", "◇", "Undecided"), ("refused", "⊘", "Refused")],
)
def test_the_tone_is_a_word_and_a_symbol_beside_its_colour(refusal, tone, symbol, word):
    page = outline(replace(refusal, tone=tone))
    assert symbol in page.text
    assert f" {word}" in page.text
    assert {"class": f"verdict {tone}"} in page.named("div")


def test_a_warning_says_that_it_is_one(refusal):
    assert " Warning." in outline(refusal).text
    assert "Warning" not in " ".join(outline(replace(refusal, sections=())).text)


def test_labels_stand_once():
    report = replace(make_report("x"), labels=("exploratory", "blind"))
    assert outline(report).text.count("exploratory") == 1


def test_the_page_refers_to_nothing_outside_itself(comparison):
    page = render_page(comparison, CONTEXT)
    parts = Outline(page)
    banned = {"script", "iframe", "object", "embed", "link", "img", "form", "base", "use", "image", "foreignObject"}
    assert not banned & {tag for tag, _ in parts.tags}
    for _, attributes in parts.tags:
        assert not set(attributes) & {"style", "src", "srcset", "action", "xlink:href"}
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("href", "#").startswith("#")
    assert not re.search(rb"https?:|//|url\(|@import", page)


def test_the_policy_allows_this_style_sheet_and_nothing_else(comparison):
    parts = outline(comparison)
    (policy,) = (one["content"] for one in parts.named("meta") if one.get("http-equiv") == "Content-Security-Policy")
    digest = base64.b64encode(hashlib.sha256("".join(parts.style).encode("utf-8")).digest()).decode("ascii")
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives == {
        "default-src": "'none'",
        "style-src": f"'sha256-{digest}'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert len(parts.named("style")) == 1
    assert "<" not in "".join(parts.style)


def test_another_style_sheet_has_another_hash():
    assert style_hash("a {}") != style_hash("b {}")


def test_every_link_leads_to_one_place_on_the_page(comparison):
    parts = outline(comparison)
    ids = [attributes["id"] for _, attributes in parts.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {one["href"][1:] for one in parts.named("a")}
    assert links == {"content", "section-1", "section-2", "section-3", "verify"}
    assert links <= set(ids)
    assert {one["aria-labelledby"] for one in parts.named("section")} <= set(ids)


def test_every_table_has_a_caption_and_scopes(comparison):
    parts = outline(comparison)
    assert len(parts.named("table")) == len(parts.named("caption")) == 3
    assert {one.get("scope") for one in parts.named("th")} == {"col", "row"}
    assert parts.tags[0] == ("html", {"lang": "en"})
    assert parts.named("svg")
    assert all(one.get("role") == "img" and one.get("aria-label") for one in parts.named("svg"))


def test_every_figure_has_a_table_twin(comparison):
    page = render_page(comparison, CONTEXT).decode("utf-8")
    figures = re.findall(r"<figure>.*?</figure>", page, flags=re.DOTALL)
    assert len(figures) == 2
    for figure, rows, fold in zip(figures, (4, 13), ("<details open>", "<details>"), strict=True):
        assert figure.count("<svg") == 1
        assert figure.count('<th scope="row"') == rows
        assert fold in figure


def test_a_long_table_is_folded_and_a_short_one_is_not(decisions, refusal):
    long = replace(decisions, rows=decisions.rows * 30)
    for table, folded in ((decisions, False), (long, True)):
        page = outline(replace(refusal, sections=(Section(title="Tables", blocks=(table,)),)))
        assert bool(page.named("details")) is folded


def test_lines_of_a_paragraph_stay_lines(comparison):
    assert b"The data had been seen.<br>Read it so.</p>" in render_page(comparison, CONTEXT)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_and_changes_nothing(text):
    context = PageContext(registration=text, run=text, lab=text, labels=("l" + text,))
    page, plain = outline(make_report(text), context), outline(make_report("x"), replace(CONTEXT, labels=("lx",)))
    assert page.shape == plain.shape
    shown = "".join(f"⟨U+{ord(sign):04X}⟩" if sign in "\u202e\u2066\u200b\x1b\x00\ud800" else sign for sign in text)
    assert "".join(page.text).count(shown) >= 25
    assert not re.search("[\u202e\u2066\u200b\x1b\x00\ud800]", "".join(page.text))


def test_text_that_is_not_escaped_would_be_seen(refusal):
    page = render_page(replace(refusal, headline="HERE"), CONTEXT)
    broken = page.replace(b"HERE", b"<script>alert(1)</script>")
    assert Outline(broken).shape != Outline(page).shape


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=()), min_size=1, max_size=20), st.floats(-1e6, 1e6))
def test_no_text_changes_the_shape_of_the_page(text, number):
    text = text.replace("\n", " ")
    assert outline(make_report(text, number)).shape == outline(make_report("x" * len(text), number)).shape


def test_the_same_report_gives_the_same_bytes(comparison):
    assert render_page(comparison, CONTEXT) == render_page(comparison, CONTEXT)


def test_the_bytes_do_not_depend_on_the_process():
    code = """
import sys
from assay.app.web.page import *
from assay.verifier.figures import *
row = ForestRow(label="a", value=0.1, lower=0.0, upper=0.3, units=2)
figure = Forest(title="t", unit="u", rows=(row,), pooled=(row,))
sections = (Section(title="s", blocks=(figure,)),)
report = Report(title="t", headline="h", tone="decided", labels=("b", "a"), sections=sections)
context = PageContext(registration="r", run="n", lab="l", labels=("c", "a"))
sys.stdout.buffer.write(render_page(report, context))
"""
    pages = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": "C"},
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    }
    assert len(pages) == 1
    assert pages.pop().startswith(b"<!DOCTYPE html>\n")


def test_the_page_names_no_machine_and_no_moment(comparison):
    page = render_page(comparison, CONTEXT).decode("utf-8")
    assert not re.search(r"\b20\d\d-\d\d-\d\d|\d\d:\d\d|/home|/tmp|/work|site-packages", page)


def palettes(style):
    """The light and the dark colours of a style sheet, by name."""
    blocks = re.findall(r":root \{(.*?)\}", style, flags=re.DOTALL)
    light, dark, _ = (dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block)) for block in blocks)
    return {"light": light, "dark": light | dark}


def luminance(color):
    """Relative luminance (WCAG 2.2, definition)."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "page"),
    [
        *((ink, page) for ink in ("ink", "muted", "accent") for page in ("page", "panel")),
        ("ink", "code"),
        *((f"{tone}-ink", f"{tone}-page") for tone in ("decided", "undecided", "refused", "warning")),
        *(("ink", f"{tone}-page") for tone in ("decided", "undecided", "refused")),
    ],
)
def test_text_stands_out_enough(refusal, scheme, ink, page):
    colors = palettes("".join(outline(refusal).style))[scheme]
    assert contrast(colors[ink], colors[page]) >= 4.5


def test_the_measure_of_contrast_tells_bad_from_good():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") < 4.5


def test_the_style_sheet_serves_print_dark_and_narrow(refusal):
    style = "".join(outline(refusal).style)
    for query in ("@media print", "(prefers-color-scheme: dark)", "(max-width:"):
        assert query in style
