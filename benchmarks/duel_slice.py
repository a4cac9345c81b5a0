"""Drawing a slice from a large corpus: seconds and memory for reading 300,000 index rows and drawing 1,300 turns.

Everything is measured in a process of its own, which is given the index as a file and knows nothing else.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from figures import report

from assay.labs.duel.corpus.index import IndexRow, read_index, write_index
from assay.labs.duel.slices import draw, slice_digest, slice_seed

ROWS = 300_000
TURNS = 1_300
STRATA = 7_400
SECONDS_LIMIT = 1.0
MEMORY_LIMIT_MIB = 600.0
ROUNDS = 3


def row(number: int) -> IndexRow:
    """A row as a fold publishes it: twenty turns a trajectory, a thousand trajectories a chunk."""
    rollout, turn = divmod(number, 20)
    trajectory = f"organisation{rollout % 300}__project.{rollout % STRATA:08x}.pr_{rollout % STRATA}__{rollout:08x}"
    return IndexRow(
        turn_id=f"{trajectory}:{turn}",
        traj_id=trajectory,
        rollout_id=f"{rollout:032x}",
        turn_idx=turn,
        node_id=2 * turn + 2,
        stratum=f"organisation{rollout % 300}__project|pr_{rollout % STRATA}",
        phase=("early", "mid", "late")[turn * 3 // 20],
        source="a source",
        language="python",
        action_kind="bash",
        chunk_key=f"views/duel_turns@v4/chunks/view_{rollout // 20_000:04}_{rollout // 1000:04}.jsonl.gz",
        traj_line=rollout % 1000,
        n_prefix_chars=4000 * turn,
    )


def measure(path: Path) -> None:
    """Reads and draws, and prints what it took."""
    data = path.read_bytes()
    start = time.perf_counter()
    index = read_index(data)
    read = time.perf_counter()
    drawn = draw(index.strata, TURNS, slice_seed("0xbeacon", "a key"))
    digest = slice_digest(index.turn_ids[number] for number in drawn)
    end = time.perf_counter()
    print(json.dumps({"read": read - start, "draw": end - read, "mib": peak(), "digest": digest, "turns": len(drawn)}))


def peak() -> float:
    """The most that this process has held, in MiB; unlike its resource usage, it knows nothing of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def main() -> int:
    """Runs all and says whether the limits hold."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        path = Path(folder) / "index.parquet"
        path.write_bytes(write_index(row(number) for number in range(ROWS)))
        command = [sys.executable, __file__, str(path)]
        answers = [json.loads(subprocess.check_output(command)) for _ in range(ROUNDS)]
        size = path.stat().st_size
    if len({answer["digest"] for answer in answers}) != 1 or answers[0]["turns"] != TURNS:
        message = f"the same index and seed gave different slices: {answers}"
        raise SystemExit(message)
    best = min(answers, key=lambda answer: answer["read"] + answer["draw"])
    print(f"  {ROWS:,} rows in {size / 1e6:.1f} MB: read in {best['read']:.2f} s, drawn in {best['draw']:.2f} s")
    results = [
        report(
            "reading the index and drawing a slice", best["read"] + best["draw"], SECONDS_LIMIT, " s", at_least=False
        ),
        report("memory for it", max(answer["mib"] for answer in answers), MEMORY_LIMIT_MIB, " MiB", at_least=False),
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(Path(sys.argv[1]))
    else:
        sys.exit(main())
