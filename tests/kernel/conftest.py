"""What several kernel tests need: the vectors' keys and layout, and a plan whose keys and times are always the same."""

import json

import pytest

from assay.kernel.keys import Signer
from assay.kernel.layout import CheckpointSpec, Closing, Layout, LogSpec, RegistrationFile, default_layout
from assay.kernel.merkle import domain_separated
from assay.kernel.run import Plan
from assay.kernel.writer import Cadence
from assay.testing.clock import SteppingClock
from assay.testing.entropy import drawn_entropy

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


@pytest.fixture
def toy_layout():
    """The kernel's default layout with two logs of a lab."""
    return default_layout("toy", ("rows", "decisions"))


@pytest.fixture
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
