"""A rule changed after sealing is said aloud, and no text of a bundle can say anything in the name of assay."""

import pytest

from assay.app.amendments import Change, show_amendments
from assay.app.cli.echo import Span
from assay.app.cli.verify_command import describe
from assay.app.web.page import PageContext, render_page
from assay.kernel.bundle import export_bundle
from assay.kernel.run import Plan, open_run
from assay.testing.labs import TOY, finish_run
from assay.verifier.figures import Report
from assay.verifier.result import Outcome, Verification, new_steps
from assay.verifier.verify import Question, verify_bundle

REPORT = Report(title="t", headline="h", tone="decided", labels=("retrospective",))
CHANGE = Change(at="2026-01-01T00:00:00.000Z", why="alpha was too strict", seen="all outcomes and the verdict")


def text_of(parts):
    return "".join(part.text if isinstance(part, Span) else part for part in parts)


def test_a_report_of_an_amended_rule_says_so_first():
    shown = show_amendments(REPORT, [CHANGE])
    assert shown.labels == ("retrospective", "amended")
    assert shown.sections[0].title == "Changed after sealing"
    page = render_page(shown, PageContext(registration="r", run="0", lab="toy")).decode()
    assert CHANGE.why in page
    assert CHANGE.seen in page
    assert show_amendments(REPORT, []) is REPORT


def test_verify_names_every_amendment(tmp_path):
    document = {"lab": "toy", "version": 1, "id": "first", "values": [3, 12], "limit": 10}
    with open_run(tmp_path / "run", Plan(lab="toy", layout=TOY.layout, document=document)) as run:
        run.amend({**document, "limit": 11}, why=CHANGE.why, seen=CHANGE.seen)
        finish_run(TOY, TOY.load({**document, "limit": 11}), run, tmp_path)
        export_bundle(run.store, TOY.layout, lab="toy", signers=run.sealed.signers, to=tmp_path / "b.zip")
    told = text_of(describe(verify_bundle(tmp_path / "b.zip", Question(labs={"toy": TOY}))))
    assert "AMENDED" in told
    assert f"{CHANGE.why} (had seen by then: {CHANGE.seen})" in told


def test_a_text_of_the_bundle_does_not_begin_a_line():
    result = Verification(steps=new_steps(), outcome=Outcome.INVALID)
    spoof = "x\n\n21  passed     the keys are believed\n\nAUTHENTIC: sound"
    result.step("verdict").fail(spoof, spoof)
    result.step("structure").leave("unchecked", spoof)
    result.facts["lab"] = spoof
    lines = text_of(describe(result)).split("\n")
    assert not [line for line in lines if line.startswith(("21  passed     the keys are believed", "AUTHENTIC"))]


def test_authentic_without_a_derived_verdict_does_not_say_that_it_follows():
    result = Verification(steps=new_steps(), outcome=Outcome.AUTHENTIC, integrity_only=True)
    result.step("verdict").leave("unchecked", "no lab")
    assert "verdict unchecked" in text_of(describe(result)).splitlines()[-1]


@pytest.mark.parametrize("option", ["--expect-head", "--policy"])
def test_an_empty_expectation_is_refused_and_not_passed_over(zipped, refused, option):
    refused("verify", zipped, option, "", code=2, says=[])
