"""Duels of scripted models over a small corpus: what the tests of running, resuming and verifying share."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.kernel.run import Plan, open_run
from assay.labs.duel.corpus.planning import Revision
from assay.labs.duel.corpus.publish import publish
from assay.labs.duel.lab import LAB
from assay.labs.duel.registration import load
from assay.models.catalog import open_model, parse_spec
from assay.objects.folder import FolderStore
from assay.testing.lab_contract import copy_evidence
from assay.testing.labs import finish_run

FORMS = {
    "bash": ("Reply with exactly one bash block.", "look\n```bash\nls -la\n```"),
    "boxed": ("Put the answer into \\boxed{}.", "so \\boxed{4}"),
    "tool_call": ("Use a tool: <tool_call>...</tool_call>.", "look\n<tool_call>ls</tool_call>"),
    "terminus_json": (
        'Answer as JSON with "analysis", "plan" and "commands".',
        '{"analysis": "a", "plan": "p", "commands": ["ls"]}',
    ),
    "text": ("Say what is the case.", "All is well."),
}
WORDS = ("parser", "module", "logger", "config", "network", "buffer", "thread", "signal", "packet", "header", "socket")


def make_record(number):
    """A rollout of one turn, in a dialect of its own."""
    kind, (system, reply) = sorted(FORMS.items())[number % len(FORMS)]
    task = " ".join(WORDS[(number * step + step) % len(WORDS)] for step in range(1, 8))
    contents = [("system", system), ("user", f"Task {number}: look after {task}"), ("assistant", reply)]
    nodes = [
        {"parent": at - 1 if at else None, "role": role, "content": text} for at, (role, text) in enumerate(contents)
    ]
    turn = {
        "turn_idx": 0,
        "node_id": 2,
        "phase": "early",
        "suffix_len": len(reply),
        "n_prefix_chars": sum(len(text) for _, text in contents[:2]),
        "action_kind": kind,
    }
    return {
        "view": "duel_turns@v4",
        "rollout_id": f"r{number}",
        "traj_id": f"task{number}.{number:08x}.pr_{number}__run",
        "instance_id": f"task{number}-{number}",
        "repo": "",
        "model": "scripted",
        "policy": {"id": "p", "harness": "h", "action_kind": kind},
        "source": "tests",
        "language": "",
        "action_kind": kind,
        "generated_at": "2026-09-10T00:00:00Z",
        "outcome": "solved",
        "nodes": nodes,
        "turns": [turn],
    }


def publish_corpus(folder, rollouts=40):
    """A corpus of rollouts of one turn, and the digest of its manifest."""
    revision = Revision(
        base=None,
        records=tuple(make_record(number) for number in range(rollouts)),
        created_at="2026-09-10T00:00:00.000Z",
        allowed_action_kinds=tuple(sorted(FORMS)),
    )
    return publish(FolderStore(folder), revision)


def scripted_weights(name):
    return open_model(parse_spec(name), Path()).identity.weights


def contract_document(manifest, *, turns=15, challenger_model="strong", **changes):
    """A contract between scripted models, with changed sections."""
    document = {
        "lab": "duel",
        "version": 1,
        "id": "scripted",
        "question": "Does the strong model beat the weak one?",
        "dialects": sorted(FORMS),
        "contract": {"version": 15, "history": [{"version": 15, "since": "2026-12-01", "what": "ours"}]},
        "seenBefore": [{"who": "the tests", "what": "everything"}],
        "teacher": {"model": "scripted:teacher", "weights": scripted_weights("scripted:teacher")},
        "king": {"name": "old", "model": "scripted:weak"},
        "challenger": {"name": "new", "key": "5Dkey", "model": f"scripted:{challenger_model}"},
        "corpus": {"store": "corpus", "manifest": manifest},
        "slice": {"beacon": "0x00", "beaconFrom": "the tests chose it", "turns": turns},
        "duel": {
            "scoreMode": "min_rg",
            "tau": 0.03,
            "bandC": 2.0,
            "bandFloor": 0.002,
            "forfeitTurnScore": -0.1,
            "kSigma": 2.0,
            "minMargin": 0.002,
            "minThoughtChars": 20,
            "causalityGamma": 0.3,
            "teacherSamples": 3,
            "requireThinkClose": True,
            "temperature": 0.7,
            "maxThoughtTokens": 64,
            "maxActionTokens": 64,
        },
        "probes": {"injectability": {"turns": 2}, "protocol": {"mode": "shadow", "samples": 1, "maxTokens": 64}},
        "run": {"concurrency": 4},
    }
    for section, members in changes.items():
        own = document.get(section)
        document[section] = {**own, **members} if isinstance(own, dict) and isinstance(members, dict) else members
    return document


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
        return contract_document(corpus, **changes)

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
