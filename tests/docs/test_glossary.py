"""The glossary has the words that the verifier uses, one line a term, and the pages link to what is there."""

import re
from pathlib import Path

import pytest

from assay.verifier.result import STEPS, Outcome

DOCS = Path(__file__).resolve().parents[2] / "docs"
ROW = re.compile(r"^\| (?!---|term \|)([^|]+) \| ([^|]+) \|$", re.MULTILINE)
PAGES = ["README.md", "glossary.md", "threat-model.md", "spec/bundle.md", "spec/random.md"]
PAGES += sorted(path.relative_to(DOCS).as_posix() for path in (DOCS / "adr").glob("*.md"))


def read_terms(text):
    """Every term and its line."""
    return ROW.findall(text)


TERMS = read_terms((DOCS / "glossary.md").read_text(encoding="utf-8"))


def find_missing(names, terms):
    """The names with a word that, in the singular, is in no term."""
    known = {word.lower() for term, _ in terms for word in term.split()}
    return [name for name in names if not all({word, word[:-1], word[:-2]} & known for word in name.split("-"))]


def find_dead_links(page, text):
    links = re.findall(r"\]\(([^)#:]*)(?:#[^)]*)?\)", text)
    return [link for link in links if link and not (page.parent / link).exists()]


def test_every_outcome_and_every_step_is_in_the_glossary():
    assert find_missing([outcome.value for outcome in Outcome], TERMS) == []
    assert find_missing([name for name, _ in STEPS], TERMS) == []


def test_a_missing_word_is_found():
    terms = read_terms("| term | meaning |\n|---|---|\n| entry hash | x |\n| head (of a log) | y |\n")
    assert terms == [("entry hash", "x"), ("head (of a log)", "y")]
    assert find_missing(["entry-hashes", "heads", "entry-proofs", "verdict"], terms) == ["entry-proofs", "verdict"]


def test_terms_are_there_once_and_none_is_a_word_that_another_forbids():
    names = [term for term, _ in TERMS]
    assert len(names) > 60
    assert len(set(names)) == len(names)
    forbidden = {
        word.strip() for _, meaning in TERMS for words in meaning.split("*Not:* ")[1:] for word in words.split(",")
    }
    assert len(forbidden) > 20
    assert forbidden & set(names) == set()


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    page = DOCS / name
    assert find_dead_links(page, page.read_text(encoding="utf-8")) == []


def test_a_dead_link_is_found():
    text = "[a](README.md) [b](nowhere.md#there) [c](https://example.org) [d](#below)"
    assert find_dead_links(DOCS / "glossary.md", text) == ["nowhere.md"]


@pytest.mark.parametrize("path", sorted((DOCS / "adr").glob("*.md")), ids=lambda path: path.stem)
def test_decisions_have_a_status_three_parts_and_a_line_in_the_index(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"# {path.stem[:4]}: ")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]
    assert re.search(r"^Status: \S", text, re.MULTILINE)
    assert f"(adr/{path.name})" in (DOCS / "README.md").read_text(encoding="utf-8")
