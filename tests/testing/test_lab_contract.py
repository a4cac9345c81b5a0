"""The toy lab keeps the contract of the `Lab` port, and every way of breaking it is noticed."""

import dataclasses
import itertools
import math

import pytest

from assay.kernel.digests import ZERO
from assay.kernel.layout import default_layout
from assay.kernel.merkle import TreeScheme
from assay.kernel.run import Plan, open_run
from assay.testing.clock import SteppingClock
from assay.testing.entropy import drawn_entropy
from assay.testing.lab_contract import LabBroken, LabCase, check_lab, copy_evidence
from assay.testing.labs import TOY, ToyLab, finish_run
from assay.verifier.figures import Forest, ForestRow, Funnel, FunnelStage, Section, Table
from assay.verifier.lab import Check

DOCUMENT = {"lab": "toy", "version": 1, "id": "contract", "values": [3, 5, 12]}


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    registration = TOY.load(DOCUMENT)
    plan = Plan(
        lab="toy",
        layout=TOY.layout,
        document=TOY.document(registration),
        clock=SteppingClock(),
        entropy=drawn_entropy(1),
    )
    with open_run(tmp_path_factory.mktemp("contract") / "run", plan) as run:
        finish_run(TOY, registration, run, tmp_path_factory.getbasetemp())
        evidence = copy_evidence(run.evidence, TOY.layout, ["verdict.json"])
    rows, decisions = evidence.logs["rows"], evidence.logs["decisions"]
    tampered = {
        "a row gone": evidence.with_log("rows", [*rows[:2], *rows[3:]]),
        "a row changed": evidence.with_log("rows", [*rows[:2], {**rows[2], "value": 1}, *rows[3:]]),
        "a judgement turned": evidence.with_log("decisions", [{**each, "accepted": True} for each in decisions]),
        "a judgement of another row": evidence.with_log("decisions", [{**each, "row": ZERO} for each in decisions]),
    }
    return LabCase(document=DOCUMENT, evidence=evidence, tampered=tampered)


def test_the_toy_lab_keeps_the_contract(case):
    check_lab(TOY, case)


def test_evidence_in_memory_is_what_was_recorded(case):
    assert [entry["value"] for entry in case.evidence.entries("rows") if entry["kind"] == "row.read"] == [3, 5, 12]
    assert case.evidence.file("verdict.json").startswith(b'{"accepted":2')


class OtherLayouts(ToyLab):
    layouts = itertools.cycle(
        [default_layout("toy", ("rows", "decisions")), default_layout("toy", ("decisions", "rows"))]
    )

    @property
    def layout(self):
        return next(self.layouts)


class HiddenTree(ToyLab):
    @property
    def layout(self):
        tree = TreeScheme(name="rfc6962", leaf_prefix=b"\x02", node_prefix=b"\x03")
        return dataclasses.replace(super().layout, tree=tree)


class NamelessCheck(ToyLab):
    def checks(self):
        return (*super().checks(), Check(name="", run=lambda *_: None))


class OtherName(ToyLab):
    def document(self, registration):
        return {**super().document(registration), "lab": "other"}


class LossyDocument(ToyLab):
    def document(self, registration):
        values = [*registration.values]
        return {**super().document(registration), "values": values[:-1]}


class CrashingLoad(ToyLab):
    def load(self, document):
        len(document["values"])
        return super().load(document)


class CarelessLoad(ToyLab):
    def load(self, document):
        known = ("lab", "version", "id", "values", "limit")
        return super().load({name: document[name] for name in known if name in document})


class Wavering(ToyLab):
    counter = itertools.count()

    def derive(self, registration, evidence):
        return {**super().derive(registration, evidence), "total": next(self.counter)}


class NotANumber(ToyLab):
    def derive(self, registration, evidence):
        return {**super().derive(registration, evidence), "total": math.nan}


class Blind(ToyLab):
    def checks(self):
        return ()


class CrashingDerive(ToyLab):
    def derive(self, registration, evidence):
        sum(entry["value"] for entry in evidence.entries("rows") if entry.get("kind") == "row.read")
        return super().derive(registration, evidence)


class CrashingCheck(ToyLab):
    def checks(self):
        def last_is_closing(_, evidence):
            [*evidence.entries("registration")][-1]["kind"].strip()

        return (*super().checks(), Check(name="closing", run=last_is_closing))


class ReportOf(ToyLab):
    """A lab whose report holds one block, or lacks its title."""

    def __init__(self, *blocks, **changed):
        super().__init__()
        self.changed = changed or {"sections": (Section(title="a", blocks=blocks),)}

    def report(self, verdict):
        return dataclasses.replace(super().report(verdict), **self.changed)


def funnel(**changed):
    stage = {"name": "a", "reason": "a", "entering": 3, "excluded": 1, "remaining": 2, **changed}
    return Funnel(title="a", unit="row", input=3, stages=(FunnelStage(**stage),), surviving=2)


@pytest.mark.parametrize(
    ("lab", "says"),
    [
        (OtherLayouts(), "layout: two readings"),
        (HiddenTree(), "layout: what a manifest would carry"),
        (NamelessCheck(), "checks: expected a name"),
        (OtherName(), "document: expected the member lab"),
        (LossyDocument(), "document: loading what was sealed"),
        (CrashingLoad(), "load: expected BadInput or a registration, got KeyError"),
        (CarelessLoad(), "load: a member that it does not know"),
        (Wavering(), "derive: the same evidence gives two verdicts"),
        (NotANumber(), "derive: expected a verdict that JSON can carry"),
        (Blind(), "evidence with a judgement turned: expected a refusal"),
        (
            CrashingDerive(),
            "evidence with no value in rows entry 4: expected EvidenceInvalid or a verdict, got KeyError",
        ),
        (CrashingCheck(), "evidence with nothing in registration"),
        (ReportOf(title=""), "report: expected a title"),
        (ReportOf(Table(title="a", columns=("a",), rows=(("a", "b"),))), "report: the rows of the table 'a'"),
        (ReportOf(funnel(excluded=2)), "report: the funnel 'a'"),
        (ReportOf(funnel(entering=4, remaining=3)), "report: the funnel 'a'"),
        (ReportOf(funnel(excluded=-1, remaining=4)), "report: the funnel 'a'"),
        (ReportOf(Forest(title="a", unit="a", rows=(ForestRow(label="a", value=math.inf),), pooled=())), "not finite"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, ToyLab) else None,
)
def test_a_broken_lab_is_noticed(case, lab, says):
    with pytest.raises(LabBroken) as caught:
        check_lab(lab, case)
    assert says in str(caught.value)
