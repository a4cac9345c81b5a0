"""What several kernel tests need: the vectors' keys and layout, and a plan whose keys and times are always the same."""

import json
import threading
from collections import deque

import pytest

from assay.kernel.checkpoint import read_checkpoint
from assay.kernel.keys import Signer
from assay.kernel.layout import CheckpointSpec, Closing, Layout, LogSpec, RegistrationFile, default_layout
from assay.kernel.merkle import domain_separated
from assay.kernel.notes import NoteSigner
from assay.kernel.recovery import recover
from assay.kernel.roles import roles_of
from assay.kernel.run import Plan
from assay.kernel.store.sqlite import SqliteStore
from assay.kernel.writer import Cadence, Hands, State, Writer
from assay.testing.clock import SteppingClock
from assay.testing.entropy import drawn_entropy

WAIT_S = 20
LEDGER = "dtsf-baby-ledger-entry-v1"
DOMAINS = {
    "baby-a-ledger": LEDGER,
    "baby-b-ledger": LEDGER,
    "channel": "dtsf-channel-event-v1",
    "witness": "dtsf-ledger-checkpoint-v1",
}


@pytest.fixture(scope="session")
def evidence(vectors):
    """Reads one of the evidence vectors."""
    return lambda name: json.loads((vectors / "evidence" / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def nursery_signers(evidence):
    """The vectors' own signers by their role."""
    return {
        role: Signer(role=role, domain=DOMAINS[role], seed=bytes.fromhex(key["secret_seed_hex"]), name=key["key_id"])
        for role, key in evidence("ed25519.json")["signers"].items()
        if role in DOMAINS
    }


def declare_nursery(*extra):
    """The layout of the vectors' runs; ``extra`` are the checkpoint members beside the kernel's."""
    logs = (
        LogSpec(name="babyA", file="babies/a/ledger.jsonl", domain=LEDGER, signer="baby-a-ledger"),
        LogSpec(name="babyB", file="babies/b/ledger.jsonl", domain=LEDGER, signer="baby-b-ledger"),
        LogSpec(
            name="channel",
            file="channel/events.jsonl",
            domain=DOMAINS["channel"],
            signer="channel",
            link="previousChannelHash",
        ),
    )
    checkpoint = CheckpointSpec(
        domain=DOMAINS["witness"],
        signer="witness",
        heads={"babyA": ("babyA",), "babyB": ("babyB",), "channel": ("channel",)},
        registration="runConfigurationHash",
        extra=extra,
    )
    sealed = Closing(member="eventType", value="run.sealed")
    return Layout(
        logs=logs,
        checkpoint=checkpoint,
        tree=domain_separated("dtsf-merkle-leaf-v1", "dtsf-merkle-node-v1"),
        registration=RegistrationFile(file="configuration/run-config.json", domain="dtsf-run-config-v1"),
        closings={"babyA": sealed, "babyB": sealed},
    )


@pytest.fixture(scope="session")
def nursery():
    """Declares the layout of the vectors' runs."""
    return declare_nursery


@pytest.fixture(scope="session")
def toy_layout():
    """The kernel's default layout with two logs of a lab."""
    return default_layout("toy", ("rows", "decisions"))


@pytest.fixture(scope="session")
def plan(toy_layout):
    """A plan for a toy run, with changes where asked."""

    def make(**changes):
        settled = {
            "lab": "toy",
            "layout": toy_layout,
            "document": {"lab": "toy", "limit": 3},
            "clock": SteppingClock(),
            "entropy": drawn_entropy(7),
            "cadence": Cadence(entries=8),
        }
        return Plan(**{**settled, **changes})

    return make


class ScriptedStore(SqliteStore):
    """A store whose commits can be held up or made to fail; it remembers what it was asked to commit."""

    def __init__(self, path, layout):
        super().__init__(path, layout, synchronous="OFF")
        self.failures = deque()
        self.batches = []
        self.entered = threading.Event()
        self.gate = threading.Event()
        self.gate.set()
        self.pointed = threading.Semaphore(0)

    def commit(self, batch):
        self.batches.append(batch)
        self.entered.set()
        assert self.gate.wait(WAIT_S)
        if self.failures:
            raise self.failures.popleft()
        super().commit(batch)
        for _ in batch.checkpoints:
            self.pointed.release()

    def hold(self):
        self.entered.clear()
        self.gate.clear()


class Desk:
    """A writer, its store and everything it needs."""

    def __init__(self, folder, layout, *, cadence=None, extra=None, notes=True):
        entropy = drawn_entropy(1)
        self.layout = layout
        self.clock = SteppingClock()
        self.signers = {
            role: Signer.new(role=role, domain=domain, entropy=entropy) for role, domain in roles_of(layout).items()
        }
        self.hands = Hands(
            logs={spec.name: self.signers[spec.signer] for spec in layout.logs},
            witness=self.signers["witness"],
            notes={
                spec.name: NoteSigner(f"o/{spec.name}", self.signers[f"note-{spec.name}"].seed)
                for spec in layout.logs
                if notes
            },
        )
        self.store = ScriptedStore(folder / "evidence.db", layout)
        self.writer = Writer(
            self.store,
            layout,
            hands=self.hands,
            clock=self.clock,
            state=State.empty(layout),
            cadence=cadence or Cadence(entries=10**6),
            extra=extra,
        )

    def order(self, number, log="rows"):
        order = self.writer.transaction()
        order.append(log, {"number": number})
        return order.order

    def write(self, *numbers):
        for number in numbers:
            with self.writer.transaction() as transaction:
                transaction.append("rows", {"number": number})

    def numbers(self, log="rows"):
        return [json.loads(row.line)["number"] for row in self.store.entries(log)]

    def points(self):
        return [
            read_checkpoint(self.layout, row.line, f"checkpoint {row.sequence}") for row in self.store.checkpoints()
        ]

    def covered(self):
        return [point.heads["rows"].size for point in self.points()]

    def recover(self):
        keys = {role: signer.public for role, signer in self.signers.items()}
        return recover(self.store, self.layout, keys, {})

    def close(self):
        self.store.gate.set()
        self.writer.stop()
        self.store.close()


@pytest.fixture
def open_desk(tmp_path, toy_layout):
    desks = []

    def make(**kwargs):
        desks.append(Desk(tmp_path, kwargs.pop("layout", toy_layout), **kwargs))
        return desks[-1]

    yield make
    for each in desks:
        each.close()


@pytest.fixture
def desk(open_desk):
    return open_desk()
