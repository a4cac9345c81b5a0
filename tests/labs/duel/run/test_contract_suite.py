"""The duel lab keeps the contract of the `Lab` port, and refuses evidence that was tampered with."""

import copy
from dataclasses import replace

import pytest

from assay.kernel.errors import EvidenceInvalid
from assay.labs.duel.lab import LAB
from assay.testing.lab_contract import LabBroken, LabCase, check_lab


@pytest.fixture
def finished(make_document, run_duel):
    return run_duel(make_document(turns=5))


def change(finished, edit, kind="turn.played"):
    """The evidence with one entry of a kind changed by a function."""
    entries = copy.deepcopy(list(finished.evidence.logs["turns"]))
    entry = next(entry for entry in entries if entry["kind"] == kind)
    edit(entry)
    return finished.evidence.with_log("turns", entries)


def without(finished, kind):
    return finished.evidence.with_log(
        "turns", [entry for entry in finished.evidence.logs["turns"] if entry["kind"] != kind]
    )


def swap_turns(finished):
    entries = list(finished.evidence.logs["turns"])
    at = next(at for at, entry in enumerate(entries) if entry["kind"] == "turn.played")
    entries[at], entries[at + 1] = entries[at + 1], entries[at]
    return finished.evidence.with_log("turns", entries)


def leave_out(reason, role, **changes):
    return lambda entry: entry.update(king=None, challenger=None, leftOut=reason, faultOf=role, **changes)


def leave_aside(asked, reason):
    """Leaves out the first thing that a probe asked."""

    def edit(entry):
        first = entry[asked][0]
        first.update({name: None for name in ("sample", "echo") if name in first}, leftOut=reason)

    return edit


def tampered(finished):
    """Evidence with something wrong in it, by what it is."""

    def drop_last(entries):
        at = max(at for at, entry in enumerate(entries) if entry["kind"] == "turn.played")
        return [*entries[:at], *entries[at + 1 :]]

    logs = finished.evidence.logs["turns"]
    return {
        "a turn is missing at the end": finished.evidence.with_log("turns", drop_last(list(logs))),
        "two turns have changed places": swap_turns(finished),
        "no models were named": without(finished, "duel.opened"),
        "a probe is missing": without(finished, "probe.protocol"),
        "a probe of a turn ends as no turn of it can": change(
            finished, leave_aside("injections", "bad-answer"), "probe.injectability"
        ),
        "a probe's reply ends as none can": change(
            finished, leave_aside("replies", "template-refuses"), "probe.protocol"
        ),
        "another slice": change(finished, lambda entry: entry["slice"].update(seed="1"), "duel.opened"),
        "a reply was made a forfeit": change(
            finished, lambda entry: entry["king"]["sample"].update(text="I have nothing to say")
        ),
        "a reference's action was changed": change(
            finished, lambda entry: entry["references"][0]["sample"].update(text="x\n</think>\nno action at all")
        ),
        "an echo of another length": change(finished, lambda entry: entry["challenger"]["own"].update(size=3)),
        "an echo is missing": change(finished, lambda entry: entry["challenger"].update(thought=None)),
        "one echo too many": change(
            finished, lambda entry: entry["king"]["references"].append(entry["king"]["references"][0])
        ),
        "a turn is left out and played": change(finished, lambda entry: entry.update(leftOut="bad-answer")),
        "a turn is left aside without a reason": change(
            finished, lambda entry: entry.update(king=None, challenger=None)
        ),
        "the teacher was asked nothing": change(finished, lambda entry: entry["prompts"].pop("teacher")),
        "a side that answered was asked nothing": change(finished, lambda entry: entry["prompts"].pop("king")),
        "a side's template loses both the turn": change(finished, leave_out("template-refuses", "king")),
        "a side loses both a turn that it never saw": change(
            finished, leave_out("bad-answer", "challenger", references=[])
        ),
        "a stranger among the turns": finished.evidence.with_log(
            "turns", [*logs[:-1], {"kind": "crown.given"}, logs[-1]]
        ),
        "a stranger among the decisions": finished.evidence.with_log("decisions", [{"kind": "crown.given"}]),
    }


def test_the_lab_keeps_the_contract(finished):
    check_lab(LAB, LabCase(document=finished.document, evidence=finished.evidence, tampered=tampered(finished)))


def test_the_contract_notices_tampering_that_is_none(finished):
    with pytest.raises(LabBroken):
        check_lab(
            LAB,
            LabCase(document=finished.document, evidence=finished.evidence, tampered={"nothing": finished.evidence}),
        )


def test_numbers_that_are_changed_change_the_verdict(finished):
    other = change(finished, lambda entry: entry["challenger"]["thought"].update(total=-40.0))
    assert LAB.derive(finished.contract, other)["margin"] != finished.verdict["margin"]


@pytest.mark.parametrize("side", ["king", "challenger"])
def test_a_side_with_the_teachers_weights_is_refused(finished, side):
    def edit(entry):
        entry["models"][side]["weights"] = entry["models"]["teacher"]["weights"]

    models = next(check for check in LAB.checks() if check.name == "models")
    with pytest.raises(EvidenceInvalid, match="have the same weights"):
        models.run(finished.contract, change(finished, edit, "duel.opened"))


def test_a_corpus_that_is_another_is_refused(finished):
    files = finished.evidence.files
    for path in files:
        other = replace(finished.evidence, files={**files, path: files[path] + b" "})
        with pytest.raises(EvidenceInvalid, match=path):
            LAB.derive(finished.contract, other)
