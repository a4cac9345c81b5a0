"""Reports of verdicts: nothing but the verdict, and all of it that a reader needs."""

import pytest

from assay.kernel.canonical import dumps, loads
from assay.labs.experiment.registration import load
from assay.labs.experiment.report import report
from assay.labs.experiment.verdict import derive
from assay.verifier.figures import Forest, Funnel, Paragraph, Table


@pytest.fixture
def tell(make_experiment, make_evidence):
    def derive_and_report(rows, **changes):
        experiment = make_experiment(**changes)
        verdict = loads(dumps(derive(experiment, make_evidence(experiment, rows))))
        return verdict, report(verdict)

    return derive_and_report


def blocks(told, kind):
    return [block for section in told.sections for block in section.blocks if isinstance(block, kind)]


def test_a_decided_verdict_tells_what_was_decided_and_from_what(tell, won_everywhere):
    verdict, told = tell(won_everywhere(7))
    assert told.title == "Does new do better than old?"
    assert told.tone == "decided"
    assert told.labels == ("retrospective",)
    assert told.headline == "The treatment arm does better than the control arm (treatment-better)"
    facts = dict(told.facts)
    assert facts["difference"].startswith("+0.6897  (95% interval +")
    assert facts["p"] == "0.0156 (2 of 128, exact), alpha 0.05"
    assert facts["units"] == "29 paired, in 7 clusters"
    (funnel,) = blocks(told, Funnel)
    assert (funnel.input, funnel.surviving, len(funnel.stages)) == (58, 58, 0)
    (forest,) = blocks(told, Forest)
    assert [(row.label, row.value, row.units) for row in forest.rows] == [
        (c["cluster"], c["difference"], c["pairs"]) for c in verdict["clusters"]
    ]
    assert all(row.lower is row.upper is None for row in forest.rows)
    assert [(row.lower, row.upper) for row in forest.pooled] == [
        (verdict[name]["lower"], verdict[name]["upper"]) for name in ("interval", "signFlipInterval")
    ]
    tables = {table.title: table for table in blocks(told, Table)}
    assert ("interval", "above-zero") in tables["Branch 1 of the registered table was the first to hold"].rows
    assert tables["not registered: for contrast only"].rows == (("mcnemar-exact", "22", "< 0.0001"),)
    assert ("the treatment only", "21") in tables["Pairs by the arms that succeeded"].rows
    assert tables["Clusters"].rows[0] == ("c000", "5", "0", "0.8000", "0.4000", "+0.4000", "3", "1")
    assert ("seen before by the registrant", "everything") in tables["What was sealed"].rows
    for table in tables.values():
        assert {len(row) for row in table.rows} == {len(table.columns)}
    warnings = [block.text for block in blocks(told, Paragraph) if block.tone == "warning"]
    assert warnings == [note["message"] for note in verdict["notes"]]


def test_what_was_not_registered_has_a_section_of_its_own(tell, won_everywhere):
    _, told = tell(won_everywhere(7))
    (contrast,) = [section for section in told.sections if "contrast" in section.title]
    assert contrast.title == "For contrast, not registered"
    others = [section for section in told.sections if section is not contrast]
    assert len(others) == len(told.sections) - 1
    assert "mcnemar" in str(contrast)
    assert "mcnemar" not in str(others)
    assert "mcnemar" not in str((told.headline, told.facts))


def test_a_verdict_without_a_difference_is_undecided(tell, make_pairs):
    pairs = [(f"u{c}{n}", f"c{c}", n == c % 2, n != c % 2) for c in range(8) for n in range(2)]
    _, told = tell(make_pairs(pairs))
    assert told.tone == "undecided"
    assert told.headline.endswith("(no-difference-shown)")


def test_a_refused_verdict_tells_why_and_shows_no_number(tell, won_everywhere):
    verdict, told = tell(won_everywhere(3))
    assert told.tone == "refused"
    assert told.headline == verdict["refusals"][0]["message"]
    assert "p" not in dict(told.facts)
    assert blocks(told, Forest) == []
    assert len(blocks(told, Funnel)) == 1
    texts = " ".join(block.text for block in blocks(told, Paragraph))
    assert "power-floor" in texts
    assert verdict["refusals"][0]["message"] not in texts  # the headline has said it


def test_open_ends_and_unusual_levels_are_told(tell, won_everywhere):
    _, told = tell(won_everywhere(6), interval={"level": 0.985})
    assert "98.5% interval" in dict(told.facts)["difference"]
    (forest,) = blocks(told, Forest)
    assert forest.pooled[1].label == "all, 98.5% inverted test"
    assert (forest.pooled[1].lower, forest.pooled[1].upper) == (None, None)
    rows = [row for table in blocks(told, Table) for row in table.rows]
    assert ("interval that inverts the test", "−∞ to +∞") in rows


def test_small_real_differences_are_not_rounded_away(make_document, make_evidence, make_pairs):
    document = make_document()
    document["outcome"] = {"kind": "real"}
    experiment = load(document)
    pairs = [(f"u{c}", f"c{c}", 0.00002, 0.00001) for c in range(7)]
    told = report(derive(experiment, make_evidence(experiment, make_pairs(pairs))))
    assert dict(told.facts)["difference"].startswith("+1e−05 ")
    assert "Pairs by the arms that succeeded" not in [table.title for table in blocks(told, Table)]
