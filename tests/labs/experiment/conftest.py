"""What the tests of the experiment lab share: a registration document, rows, and evidence held in memory."""

import copy
import hashlib
import json
from dataclasses import dataclass

import pytest

from assay.labs.experiment.registration import load
from assay.labs.experiment.rows import Row
from assay.labs.experiment.template import DECISION
from assay.rules.yaml_documents import read_yaml

DOCUMENT = {
    "lab": "experiment",
    "version": 1,
    "id": "toy",
    "question": "Does new do better than old?",
    "data": {
        "file": "rows.csv",
        "sha256": "0" * 64,
        "source": "made up",
        "columns": {"arm": "arm", "unit": "unit", "cluster": "cluster", "outcome": "ok"},
        "more": {"turns": "number"},
    },
    "seenBefore": [{"who": "the registrant", "what": "everything"}],
    "arms": {"treatment": "new", "control": "old"},
    "outcome": {"kind": "binary", "true": ["true"], "false": ["false"]},
    "interval": {"draws": 1000, "seed": 1},
    "test": {"draws": 1000, "seed": 1},
    "decision": read_yaml(DECISION)["decision"],
}
ENVELOPE = {
    "sequence": 1,
    "recordedAt": "2026-01-01T00:00:00Z",
    "writerKeyId": "k",
    "entryHash": "h",
    "writerSignature": "s",
    "previousEntryHash": "p",
}


@dataclass
class Memory:
    """Evidence whose log of rows is a list."""

    rows: list

    def entries(self, log):
        assert log == "rows"
        return iter(self.rows)

    def file(self, path):
        raise AssertionError(path)


def merge(base, changes):
    merged = dict(base)
    for name, value in changes.items():
        kept = merged.get(name)
        merged[name] = merge(kept, value) if isinstance(value, dict) and isinstance(kept, dict) else value
    return merged


@pytest.fixture
def make_document():
    """A registration document with changes merged in; a change to None leaves the member out."""

    def make(**changes):
        document = merge(copy.deepcopy(DOCUMENT), changes)
        return json.loads(json.dumps({name: value for name, value in document.items() if value is not None}))

    return make


@pytest.fixture
def make_experiment(make_document):
    return lambda **changes: load(make_document(**changes))


@pytest.fixture
def make_rows():
    """Rows out of ``(arm, unit, cluster, outcome)`` or ``(arm, unit, cluster, outcome, turns)``."""

    def make(items):
        return [
            Row(index=index, arm=arm, unit=unit, cluster=cluster, outcome=outcome, more={"turns": (rest or (1,))[0]})
            for index, (arm, unit, cluster, outcome, *rest) in enumerate(items)
        ]

    return make


@pytest.fixture
def make_evidence():
    """Evidence as a run leaves it, envelopes and all."""

    def make(experiment, rows):
        bodies = [
            {"kind": "run.opened", "registration": "r"},
            {"kind": "source.read", "sha256": experiment.data.sha256, "rows": len(rows)},
            *(row.to_body() for row in rows),
            {"kind": "run.closed"},
        ]
        return Memory([{**body, **ENVELOPE, "sequence": place} for place, body in enumerate(bodies, start=1)])

    return make


@pytest.fixture
def make_pairs():
    """Rows of pairs ``(unit, cluster, treatment outcome, control outcome)``."""

    def make(pairs):
        rows = []
        for unit, cluster, treatment, control in pairs:
            for arm, outcome in (("new", treatment), ("old", control)):
                rows.append(
                    Row(index=len(rows), arm=arm, unit=unit, cluster=cluster, outcome=outcome, more={"turns": 1})
                )
        return rows

    return make


@pytest.fixture
def won_everywhere(make_pairs):
    """Rows in which the treatment wins three units of each of so many clusters, and one is lost in the first."""

    def make(clusters):
        pairs = [(f"u{c}-{n}", f"c{c:03}", True, n == 3) for c in range(clusters) for n in range(4)]
        return make_pairs([*pairs, ("lost", "c000", False, True)])

    return make


@pytest.fixture
def write_source(tmp_path, make_document):
    """Writes a source file and gives its path and the experiment registered for its bytes."""

    def write(data, name="rows.csv", /, **changes):
        data = data.encode() if isinstance(data, str) else data
        path = tmp_path / name
        path.write_bytes(data)
        document = make_document(**changes)
        document["data"] |= {"file": name, "sha256": hashlib.sha256(data).hexdigest()}
        return path, load(document)

    return write
