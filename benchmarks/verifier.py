"""Verifying a bundle: time against its raw Ed25519 checks alone, on one core and on two; memory at a million entries.

The peer is the loop of signature checks that no verifier can do without, over the same signatures, in the same run.
"""

import binascii
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median

from figures import report
from nacl import bindings

from assay.kernel.bundle import export_bundle
from assay.kernel.layout import Layout, default_layout
from assay.kernel.run import Plan, open_run
from assay.kernel.writer import Cadence
from assay.verifier.result import Outcome
from assay.verifier.verify import Question, verify_bundle

ENTRIES = 200_000
MANY = 1_000_000
ROUNDS = 3
LAYOUT: Layout = default_layout("bench", ("rows", "decisions"))
MEMORY_LIMIT_MIB = 300.0


def build(folder: Path, entries: int) -> Path:
    """A bundle of so many entries, as a run leaves it."""
    plan = Plan(lab="bench", layout=LAYOUT, document={"lab": "bench"}, cadence=Cadence(entries=4096))
    with open_run(folder / "run", plan) as run:
        for start in range(0, entries, 500):
            with run.transaction() as transaction:
                for number in range(start, start + 500):
                    transaction.append("rows", body(number))
        run.close()
        export_bundle(run.store, LAYOUT, lab="bench", signers=run.sealed.signers, to=folder / "bundle")
    shutil.rmtree(folder / "run")
    return folder / "bundle"


def body(number: int) -> dict[str, object]:
    """A body that makes an entry of about 600 bytes."""
    unit = f"instance_project__project-{number:08d}-with-a-long-name"
    return {"kind": "row", "index": number, "arm": "an agent", "unit": unit, "cluster": "project", "outcome": True}


def signatures(bundle: Path) -> tuple[bytes, list[bytes]]:
    """The key of the rows log, and each signature followed by the digest it is over."""
    manifest = json.loads((bundle / "manifest.json").read_bytes())
    public = next(key["publicKey"] for key in manifest["signers"] if key["role"] == "rows-log")
    pairs: list[bytes] = []
    for line in (bundle / "logs/rows.jsonl").read_bytes().splitlines():
        entry = json.loads(line)
        pairs.append(
            binascii.a2b_base64(entry["writerSignature"][8:])
            + bytes.fromhex(entry["entryHash"].removeprefix("sha256:"))
        )
    return binascii.a2b_base64(public[12:]), pairs


def raw_checks(public: bytes, pairs: list[bytes]) -> float:
    """Seconds for the signature checks alone."""
    start = time.perf_counter()
    check = bindings.crypto_sign_open
    for pair in pairs:
        check(pair, public)
    return time.perf_counter() - start


_LOADED: tuple[bytes, list[bytes]] = (b"", [])


def load(bundle: Path) -> None:
    """Gives a worker the signatures before anything is timed."""
    global _LOADED
    _LOADED = signatures(bundle)


def raw_half(half: int) -> float:
    """Seconds for every second signature check, in a worker."""
    public, pairs = _LOADED
    return raw_checks(public, pairs[half::2])


def verify(bundle: Path, jobs: int) -> float:
    """Seconds for the whole verification."""
    start = time.perf_counter()
    result = verify_bundle(bundle, Question(integrity_only=True, jobs=jobs))
    if result.outcome != Outcome.CONSISTENT:
        message = f"the bench's own bundle is {result.outcome}: {result.failed()}"
        raise SystemExit(message)
    return time.perf_counter() - start


def speed(bundle: Path) -> list[bool]:
    """One core against raw checks, then two processes against two processes of raw checks."""
    public, pairs = signatures(bundle)
    raw, ours, raw_two, ours_two = [], [], [], []
    with ProcessPoolExecutor(
        2, mp_context=multiprocessing.get_context("spawn"), initializer=load, initargs=(bundle,)
    ) as pool:
        list(pool.map(raw_half, (0, 1)))
        for _ in range(ROUNDS):
            raw.append(raw_checks(public, pairs))
            ours.append(verify(bundle, 1))
            start = time.perf_counter()
            list(pool.map(raw_half, (0, 1)))
            raw_two.append(time.perf_counter() - start)
            ours_two.append(verify(bundle, 2))
    ratio = median(our / check for our, check in zip(ours, raw, strict=True))
    raw_speed_up = median(one / two for one, two in zip(raw, raw_two, strict=True))
    speed_up = median(one / two for one, two in zip(ours, ours_two, strict=True))
    print(
        f"  {ENTRIES:,} entries: raw {median(raw):.1f} s, verified {median(ours):.1f} s on one core and "
        f"{median(ours_two):.1f} s on two; raw checks gain {raw_speed_up:.2f}x, verification {speed_up:.2f}x"
    )
    return [
        report("verifying, against raw Ed25519 checks on one core", ratio, 1.3, "x", at_least=False),
        report("gain from two processes, against the gain of raw checks", speed_up / raw_speed_up, 0.85, "x"),
    ]


def memory(bundle: Path) -> bool:
    """The most memory that all processes of a verification hold together, in MiB (proportional set size)."""
    code = (
        "import sys; from pathlib import Path; from assay.verifier.verify import Question, verify_bundle\n"
        "if __name__ == '__main__':\n"
        "    print(verify_bundle(Path(sys.argv[1]), Question(integrity_only=True, jobs=2)).outcome)\n"
    )
    script = bundle.parent / "verify_once.py"
    script.write_text(code)
    start = time.perf_counter()
    child = subprocess.Popen([sys.executable, str(script), str(bundle)], stdout=subprocess.PIPE, text=True)
    most = 0.0
    while child.poll() is None:
        most = max(most, sum(held(pid) for pid in family(child.pid)))
        time.sleep(0.2)
    print(f"  {MANY:,} entries: {child.stdout.read().strip()} in {time.perf_counter() - start:.0f} s on two processes")
    return report("memory at 1,000,000 entries", most, MEMORY_LIMIT_MIB, " MiB", at_least=False)


def family(pid: int) -> list[int]:
    """A process and all its children."""
    found = [pid]
    for parent in found:
        for thread in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += [int(child) for child in thread.read_text().split()]
            except OSError:
                continue
    return found


def held(pid: int) -> float:
    """What one process holds, in MiB."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def main() -> int:
    """Runs all and says whether the limits hold."""
    folder = Path(tempfile.mkdtemp(prefix="assay-bench-", dir=os.environ.get("TMPDIR")))
    try:
        results = speed(build(folder / "some", ENTRIES))
        shutil.rmtree(folder / "some")
        results.append(memory(build(folder / "many", MANY)))
    finally:
        shutil.rmtree(folder)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
