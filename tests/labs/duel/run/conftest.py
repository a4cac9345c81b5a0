"""Duels of scripted models over a small corpus: what the tests of running, resuming and verifying share."""

from dataclasses import dataclass

import pytest

from assay.kernel.run import Plan, open_run
from assay.labs.duel.lab import LAB
from assay.labs.duel.registration import load
from assay.testing.duels import make_contract, publish_corpus
from assay.testing.lab_contract import copy_evidence
from assay.testing.labs import finish_run


@dataclass(frozen=True)
class Finished:
    """A duel that was run: its document, contract, verdict and evidence."""

    document: dict
    contract: object
    verdict: dict
    evidence: object


@pytest.fixture
def corpus(tmp_path):
    """The digest of a corpus that lies beside the contracts."""
    return publish_corpus(tmp_path / "corpus")


@pytest.fixture
def make_document(corpus):
    def make(**changes):
        return make_contract(corpus, **changes)

    return make


@pytest.fixture
def run_duel(tmp_path):
    """Runs a contract to its end, or goes on with the run that is in the folder."""

    def run(document, folder="run"):
        contract = load(document)
        plan = Plan(lab=LAB.name, layout=LAB.layout, document=LAB.document(contract))
        with open_run(tmp_path / folder, plan) as opened:
            verdict = finish_run(LAB, contract, opened, tmp_path)
            paths = [path for path in opened.store.paths() if path.startswith("corpus/")]
            evidence = copy_evidence(opened.evidence, LAB.layout, paths)
        return Finished(document=document, contract=contract, verdict=verdict, evidence=evidence)

    return run
