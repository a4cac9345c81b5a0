"""Times what a full-size duel takes to decide, on one core: from rows, and whole from the evidence of a run.

python benchmarks/duel_verdict.py            two lines; exits 1 if one is over its limit
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from figures import report

from assay.kernel.random import Stream
from assay.kernel.run import Plan, open_run
from assay.labs.duel.crown import decide
from assay.labs.duel.eras import Era
from assay.labs.duel.knobs import Knobs
from assay.labs.duel.lab import LAB
from assay.labs.duel.logs import INDEX_FILE, MANIFEST_FILE
from assay.labs.duel.registration import load
from assay.labs.duel.rows import Pair, Row
from assay.testing.duels import make_contract, publish_corpus
from assay.testing.lab_contract import copy_evidence
from assay.testing.labs import finish_run

TURNS: Final = 1300
REFERENCES: Final = 3
ROUNDS: Final = 3
LIMIT_S: Final = 1.0
KNOBS: Final = Knobs(
    era=Era.SAFE,
    score_mode="min_rg",
    tau=0.03,
    band_c=2.0,
    band_floor=0.002,
    forfeit_turn_score=-0.1,
    k_sigma=2.0,
    min_margin=0.002,
    min_thought_chars=80,
    causality_gamma=0.3,
)
WORDS: Final = ("look", "failing", "test", "first", "module", "import", "parser", "which", "state", "file", "of", "the")


def main() -> int:
    """The exit status after timing the verdict."""
    stream = Stream(1, "duel benchmark")
    challenger, king = make_side(stream, "challenger"), make_side(stream, "king")
    seconds = min(time_once(challenger, king) for _ in range(ROUNDS))
    kept = report("crown from rows, 1,300 turns of 3 references", seconds, LIMIT_S, " s", at_least=False)
    whole = report("verdict whole from evidence, the same size", time_derivation(), LIMIT_S, " s", at_least=False)
    return 0 if kept and whole else 1


def time_derivation() -> float:
    """Seconds that the verdict takes from the evidence of a duel between scripted models."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contract = load(make_contract(publish_corpus(folder / "corpus", TURNS + 100), turns=TURNS))
        plan = Plan(lab=LAB.name, layout=LAB.layout, document=LAB.document(contract))
        with open_run(folder / "run", plan) as run:
            finish_run(LAB, contract, run, folder)
            evidence = copy_evidence(run.evidence, LAB.layout, [MANIFEST_FILE, INDEX_FILE])
    seconds: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        LAB.derive(contract, evidence)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def time_once(challenger: tuple[Row, ...], king: tuple[Row, ...]) -> float:
    """Seconds that one verdict takes."""
    start = time.perf_counter()
    decide(challenger, king, KNOBS)
    return time.perf_counter() - start


def make_side(stream: Stream, miner: str) -> tuple[Row, ...]:
    """A side that forfeits one turn in fifty."""
    return tuple(
        Row(turn=f"turn-{turn:05}", miner=miner, pairs=make_pairs(stream) if stream.below(50) else None)
        for turn in range(TURNS)
    )


def make_pairs(stream: Stream) -> tuple[Pair, ...]:
    """The pairs of one rollout, which share its texts and what was measured of it alone."""
    thought = make_text(stream, 120)
    action = f"```bash\n{make_text(stream, 12)}\n```"
    own, action_own, action_empty = (-stream.uniform() / 5 for _ in range(3))
    return tuple(
        Pair(
            z_a=thought,
            y_a=action,
            c_yc_za=-stream.uniform() / 5,
            c_yc_e=-stream.uniform() / 5,
            c_yc_zc=-stream.uniform() / 9,
            c_ya_za=action_own,
            c_ya_e=action_empty,
            c_za_x=own,
            c_zc_x=-stream.uniform() / 5,
        )
        for _ in range(REFERENCES)
    )


def make_text(stream: Stream, words: int) -> str:
    """Words drawn evenly, each with a number behind it."""
    return " ".join(f"{WORDS[stream.below(len(WORDS))]}{stream.below(100)}" for _ in range(words))


if __name__ == "__main__":
    sys.exit(main())
