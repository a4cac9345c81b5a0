"""The experiment lab keeps the contract of the `Lab` port."""

import pytest

from assay.labs.experiment.lab import LAB
from assay.testing.lab_contract import LabBroken, LabCase, MemoryEvidence, check_lab


@pytest.fixture
def case(make_document, make_experiment, make_pairs, make_evidence):
    rows = make_pairs(
        [
            (f"u{cluster}{unit}", f"c{cluster}", cluster > 1 or unit > 1, unit > 2)
            for cluster in range(7)
            for unit in range(4)
        ]
    )
    entries = [*make_evidence(make_experiment(), rows).entries("rows")]
    evidence = MemoryEvidence(logs={"registration": [], "rows": entries, "decisions": []})
    other = {**entries[2], "outcome": "maybe"}
    return LabCase(
        document=make_document(),
        evidence=evidence,
        tampered={
            "a row is missing": evidence.with_log("rows", [*entries[:5], *entries[6:]]),
            "a row is there twice": evidence.with_log("rows", [*entries[:5], entries[4], *entries[5:]]),
            "no source is named": evidence.with_log("rows", [entries[0], *entries[2:]]),
            "an outcome is none": evidence.with_log("rows", [*entries[:2], other, *entries[3:]]),
            "a stranger among the decisions": evidence.with_log("decisions", [{"kind": "crown.given"}]),
        },
    )


def test_the_lab_keeps_the_contract(case):
    check_lab(LAB, case)


def test_the_contract_notices_tampering_that_is_none(case):
    harmless = LabCase(document=case.document, evidence=case.evidence, tampered={"nothing": case.evidence})
    with pytest.raises(LabBroken):
        check_lab(LAB, harmless)
