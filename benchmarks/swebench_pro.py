"""The verdict on the SWE-bench Pro pair with 20,000 bootstrap draws, after imports; skips where the data is absent."""

import hashlib
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from figures import report

from assay.kernel.canonical import Json
from assay.kernel.run import Plan, open_run
from assay.labs.experiment.lab import LAB
from assay.labs.experiment.template import DECISION
from assay.rules.yaml_documents import read_yaml
from assay.verifier.lab import Unwatched

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("ASSAY_SHARED", REPOSITORY.parent / "shared"))
SOURCE = SHARED / "data/swebench-pro/runs.csv"
SEED = 20261130
ROUNDS = 7


def document() -> dict[str, Json]:
    """The registration of the pair."""
    decision = read_yaml(DECISION)
    return {
        "lab": "experiment",
        "version": 1,
        "id": "swebench-pro",
        "question": "Does Claude 4.5 Sonnet resolve more SWE-bench Pro tasks than GPT-5?",
        "data": {
            "file": SOURCE.name,
            "sha256": hashlib.sha256(SOURCE.read_bytes()).hexdigest(),
            "source": "public trajectories export of Scale AI's SWE-bench Pro runs",
            "columns": {"arm": "model", "unit": "instance_id", "cluster": "repository", "outcome": "resolved"},
        },
        "seenBefore": [{"who": "the registrant", "what": "the published totals"}],
        "arms": {"treatment": "Claude 4.5 Sonnet - 10132025", "control": "GPT-5 - 10132025"},
        "outcome": {"kind": "binary", "true": ["true"], "false": ["false"]},
        "interval": {"draws": 20000, "seed": SEED},
        "test": {"seed": SEED},
        "decision": decision["decision"] if isinstance(decision, dict) else [],
    }


def main() -> int:
    """Runs the comparison once, then derives its verdict again and again."""
    if not SOURCE.exists():
        print("skipped: needs shared/data/swebench-pro/runs.csv, which is not here (set ASSAY_SHARED)")
        return 0
    registration = LAB.load(document())
    work = LAB.prepare(registration, SOURCE.parent)
    plan = Plan(lab=LAB.name, layout=LAB.layout, document=LAB.document(registration))
    with tempfile.TemporaryDirectory() as folder, open_run(Path(folder) / "run", plan) as run:
        work.run(run, Unwatched())
        seconds: list[float] = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            verdict = LAB.derive(registration, run.evidence)
            seconds.append(time.perf_counter() - start)
    test, estimate = verdict["test"], verdict["estimate"]
    print(f"  {estimate['pairs']} pairs, {estimate['value']:+.4f}, p = {test['p']['value']:.4f}")
    return 0 if report("verdict on the SWE-bench Pro pair", median(seconds), 0.3, " s", at_least=False) else 1


if __name__ == "__main__":
    sys.exit(main())
