"""Times how long `assay --help` takes, from the start of the process to its end, against what it may take.

python benchmarks/startup.py            the median of 15 runs in wall milliseconds; exits 1 if it misses the limit
"""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Final

from figures import report

RUNS: Final = 15
LIMIT_MS: Final = 200
PROGRAM: Final = Path(sys.executable).parent / "assay"


def main() -> int:
    """The exit status after timing the runs."""
    time_once()  # the first run may have to write bytecode
    wall_ms = median(time_once() for _ in range(RUNS))
    return 0 if report("startup: assay --help, median", wall_ms, LIMIT_MS, " ms", at_least=False) else 1


def time_once() -> float:
    """Wall milliseconds that one run takes."""
    start = time.perf_counter()
    subprocess.run([PROGRAM, "--help"], stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    sys.exit(main())
