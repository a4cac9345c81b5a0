"""What the tests of the corpus share: view records, a store that fails when it is told to, and revisions."""

import pytest

from assay.labs.duel.corpus.planning import Revision
from assay.labs.duel.corpus.publish import publish
from assay.objects.errors import StorageFault
from assay.objects.folder import FolderStore

SYSTEM = "Reply with exactly one bash block."


def make_record(number, *, turns=2, **changes):
    """A linear rollout: system, user, and for each turn a reply and what came of it."""
    trajectory = f"org__repo{number}.{number:08x}.pr_{number}__run"
    nodes = [{"parent": None, "role": "system", "content": SYSTEM}, {"parent": 0, "role": "user", "content": "go"}]
    listed = []
    for at in range(turns):
        prefix = sum(len(node["content"]) for node in nodes)
        reply = f"step\n```bash\necho {number} {at}\n```"
        nodes.append({"parent": len(nodes) - 1, "role": "assistant", "content": reply})
        listed.append(
            {
                "turn_idx": at,
                "node_id": len(nodes) - 1,
                "phase": ("early", "mid", "late")[at * 3 // turns],
                "suffix_len": len(reply),
                "n_prefix_chars": prefix,
                "action_kind": "bash",
            }
        )
        nodes.append({"parent": len(nodes) - 1, "role": "user", "content": f"out {at}"})
    record = {
        "view": "duel_turns@v4",
        "rollout_id": f"r{number}",
        "traj_id": trajectory,
        "instance_id": f"org__repo{number}-{number}",
        "repo": f"org/repo{number}",
        "model": "endpoint/model",
        "policy": {"id": "teacher_textbased", "harness": "mini", "action_kind": "bash"},
        "source": "swesmith",
        "language": "python",
        "action_kind": "bash",
        "generated_at": "2026-09-10T00:00:00Z",
        "outcome": "solved",
        "nodes": nodes,
        "turns": listed,
    }
    return {**record, **changes}


class Stopped(Exception):
    """The process was killed."""


class Failing:
    """A store whose ``at``-th write stops the world, before or after it was done."""

    def __init__(self, store, at, *, done, fault=Stopped):
        self._store = store
        self._left = at
        self._done = done
        self._fault = fault

    def get(self, key, *, limit=None):
        return self._store.get(key, limit=limit)

    def exists(self, key):
        return self._store.exists(key)

    def list(self, prefix=""):
        return self._store.list(prefix)

    def put(self, key, data):
        self._write(lambda: self._store.put(key, data))

    def swap(self, key, data, *, expected):
        self._write(lambda: self._store.swap(key, data, expected=expected))

    def _write(self, action):
        self._left -= 1
        if self._left < 0:
            if self._done:
                action()
            raise self._fault("stopped")
        action()


@pytest.fixture(scope="session")
def make_envelope():
    """An envelope of a rollout with these nodes, and its trace with these members."""

    def make(nodes, **trace):
        return {
            "schema": 1,
            "rollout_id": "r1",
            "source": "swe",
            "task": {"uid": "u", "sid": "org__repo-12", "repo": "org/repo", "language": "python"},
            "policy": {"id": "p", "model": "endpoint/model", "harness": "h", "action_kind": "bash"},
            "stored_at": "2026-09-10T00:00:00Z",
            "trace": {"nodes": nodes, "stop_condition": "agent_completed", "errors": [], "rewards": {}, **trace},
        }

    return make


@pytest.fixture
def store(tmp_path):
    return FolderStore(tmp_path / "store")


@pytest.fixture(scope="session")
def view_record():
    return make_record


@pytest.fixture(scope="session")
def failing():
    """Wraps a store; a fault of the storage or, by default, the end of the process."""

    def wrap(store, at, *, done=False, storage=False):
        return Failing(store, at, done=done, fault=StorageFault if storage else Stopped)

    return wrap


@pytest.fixture(scope="session")
def stopped():
    return Stopped


@pytest.fixture(scope="session")
def revise():
    def make(base, records, **changes):
        members = {
            "base": base,
            "records": records,
            "created_at": "2026-09-10T00:00:00.000Z",
            "allowed_action_kinds": ("bash",),
            "traces_manifest_sha256": None,
        }
        return Revision(**{**members, **changes})

    return make


@pytest.fixture
def published(store, revise):
    """A store with two revisions: the digests of both manifests."""
    first = publish(store, revise(None, [make_record(number) for number in range(3)]))
    return first, publish(store, revise(first, [make_record(3, turns=4)], created_at="2026-09-11T00:00:00.000Z"))
