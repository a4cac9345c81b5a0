"""A first registration written from a data file, with comments that say what each part decides.

Nothing is asked: columns and arms are guessed unless they are given. The text can be run as it is; what a person must
still do is read it, and say in ``seenBefore`` who had seen what.
"""

import hashlib
import re
from pathlib import Path
from typing import Final

from assay.kernel.canonical import dumps
from assay.kernel.errors import BadInput
from assay.labs.experiment.cells import Cell
from assay.labs.experiment.data import LARGEST_SOURCE
from assay.labs.experiment.guesses import Choice, Guess, guess_columns
from assay.labs.experiment.sections import SUFFIXES, Mark
from assay.labs.experiment.tables import decode, list_columns, read_lines
from assay.rules.documents import read_file
from assay.stats.power import least_clusters

__all__ = ["DECISION", "new_registration"]

ALPHA: Final = 0.05
DECISION: Final = """\
# First match wins, every state has a branch, and p decides: a verdict that is reached with significance is never
# reached without it.
decision:
  # The test finds a difference, and the interval lies on the same side.
  - verdict: treatment-better
    when:
      all:
        - {field: significant, op: eq, value: true}
        - {field: direction, op: eq, value: positive}
        - {field: interval, op: eq, value: above-zero}
    says: The treatment arm does better than the control arm.
  - verdict: control-better
    when:
      all:
        - {field: significant, op: eq, value: true}
        - {field: direction, op: eq, value: negative}
        - {field: interval, op: eq, value: below-zero}
    says: The control arm does better than the treatment arm.
  # The test finds a difference, and the interval does not show it. The test decides; the disagreement keeps its name.
  - verdict: treatment-better-interval-disagrees
    when:
      all:
        - {field: significant, op: eq, value: true}
        - {field: direction, op: eq, value: positive}
    says: The test finds the treatment arm better; the bootstrap interval does not exclude zero on that side.
  - verdict: control-better-interval-disagrees
    when:
      all:
        - {field: significant, op: eq, value: true}
        - {field: direction, op: eq, value: negative}
    says: The test finds the control arm better; the bootstrap interval does not exclude zero on that side.
  # A difference of exactly zero is never significant; a table covers the state all the same.
  - verdict: difference-without-direction
    when: {field: significant, op: eq, value: true}
    says: The test finds a difference of no direction, which cannot be.
  # The test finds no difference. That is not evidence that there is none.
  - verdict: no-difference-shown
    when: {field: interval, op: eq, value: includes-zero}
    says: No difference is shown; this does not show that the arms are equal.
  - verdict: no-difference-shown-interval-disagrees
    when: {field: significant, op: eq, value: false}
    says: The test finds no difference; the bootstrap interval, which is too short at few clusters, excludes zero.
"""
"""The default decision table, as YAML."""

_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_MOST_LISTED: Final = 20


def new_registration(
    data_path: Path | str,
    *,
    arm: str | None = None,
    unit: str | None = None,
    cluster: str | None = None,
    outcome: str | None = None,
    treatment: str | None = None,
    control: str | None = None,
) -> str:
    """The YAML text of a registration for a data file, with comments; it can be run without an edit.

    Args:
        data_path: The recorded outcomes, ``.csv`` or ``.jsonl``. A relative path is written down as it is and an
            absolute one by its name alone, for the registration is looked for beside the data.
        arm: The column that holds the arm; guessed if it is not given, as are all that follow.
        unit: The column that holds the unit.
        cluster: The column that holds the cluster.
        outcome: The column that holds the outcome.
        treatment: The arm whose gain is measured.
        control: The arm that it is compared with.

    Raises:
        BadInput: The file cannot be read, a given name is not in it, or a column has to be named because none looks
            like it.
    """
    path = Path(data_path)
    name = path.name if path.is_absolute() else path.as_posix()
    if path.suffix not in SUFFIXES:
        msg = f"{path}: expected a file named {' or '.join(SUFFIXES)}, so that it is clear how to read it"
        raise BadInput(msg, path=str(path))
    data = read_file(path, LARGEST_SOURCE)
    choice = Choice(arm=arm, unit=unit, cluster=cluster, outcome=outcome, treatment=treatment, control=control)
    guess = guess_columns(name, _read_columns(data, name), choice)
    return _write(name, hashlib.sha256(data).hexdigest(), guess)


def _read_columns(data: bytes, file: str) -> dict[str, list[Cell]]:
    text = decode(data, file)
    columns: dict[str, list[Cell]] = {name: [] for name in list_columns(text, file)}
    for _, cells in read_lines(text, file, tuple(columns)):
        for name, column in columns.items():
            column.append(cells.get(name))
    return columns


def _quote(value: Mark) -> str:
    """A text as YAML in double quotes, on one line whatever it holds; other values as they are written."""
    text = dumps(value).decode()
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _list_marks(marks: tuple[Mark, ...]) -> str:
    return f"[{', '.join(map(_quote, marks))}]"


def _write(file: str, sha256: str, guess: Guess) -> str:
    # Drawn from the data's digest, so that nobody chose it by looking at what it gives.
    seed = int(sha256[:12], 16)
    parts = (
        _write_head(file, guess),
        _write_data(file, sha256, guess),
        _write_arms(guess),
        _write_outcome(guess),
        _write_admission(guess),
        _write_methods(seed, guess),
        DECISION,
    )
    return "\n".join(parts)


def _write_head(file: str, guess: Guess) -> str:
    stem = re.sub(r"[^a-z0-9]+", "-", Path(file).stem.lower()).strip("-")[:100].strip("-")
    question = f"Does {guess.treatment} do better than {guess.control}?"
    return f"""\
# The registration of an experiment: what is sealed before anything is computed. Read every part, correct what was
# guessed, and run it. Whoever changes a part afterwards makes another registration.
lab: experiment
version: 1
id: {stem or "experiment"}
question: {_quote(question)}
"""


def _write_data(file: str, sha256: str, guess: Guess) -> str:
    more = ", ".join(f"{_quote(name)}: number" for name in guess.numbers)
    example = f"\n  # more: {{{more}}}" if more else ""
    return f"""\
data:
  # Looked for in the folder of this file; the digest is that of its bytes, as sha256sum prints it.
  file: {_quote(file)}
  sha256: "{sha256}"
  source: "recorded outcomes; say here where they come from"
  columns:
    arm: {_quote(guess.arm)}
    unit: {_quote(guess.unit)}
    cluster: {_quote(guess.cluster)}
    outcome: {_quote(guess.outcome)}
  # Further columns that admission may read, each number, text or boolean.{example}
  more: {{}}

# The data exist, so the verdict will be called retrospective. Say who had seen what of them before this was written.
seenBefore:
  - who: the registrant
    what: had the file with its outcomes when this was written
"""


def _write_arms(guess: Guess) -> str:
    others = [item for item in guess.arms if item[0] not in (guess.treatment, guess.control)]
    lines = [f"#   {_quote(arm)} ({rows} rows)\n" for arm, rows in others[:_MOST_LISTED]]
    if len(others) > _MOST_LISTED:
        lines.append(f"#   and {len(others) - _MOST_LISTED} more\n")
    listed = f"# Other arms in the file, whose rows are counted and not compared:\n{''.join(lines)}" if others else ""
    return f"""\
# The estimate is the treatment's mean less the control's.
{listed}arms:
  treatment: {_quote(guess.treatment)}
  control: {_quote(guess.control)}
"""


def _write_outcome(guess: Guess) -> str:
    if guess.true:
        return f"""\
# Cells that mean yes and no. A missing outcome of an admitted row makes the verdict a refusal; `missing: failure`
# would count it as a no.
outcome:
  kind: binary
  true: {_list_marks(guess.true)}
  false: {_list_marks(guess.false)}
  missing: refuse
"""
    return """\
# A number, larger for better. Bounds are checked where they are given. A missing outcome of an admitted row makes the
# verdict a refusal.
outcome:
  kind: real
  min: null
  max: null
  missing: refuse
"""


def _write_admission(guess: Guess) -> str:
    field = _quote(guess.numbers[0]) if guess.numbers else "turns"
    return f"""\
# Rows that may not enter, by facts that no outcome can influence; each removed row is counted with the reason. A stage:
#   - {{id: started, keep: {{field: {field}, op: gt, value: 0}}, reason: the run never started}}
# Its field has to be named under `more` above.
admission: []
"""


def _write_methods(seed: int, guess: Guess) -> str:
    needed = least_clusters(ALPHA)
    return f"""\
estimand:
  kind: paired-difference-of-means

# The interval describes. Whole clusters are drawn, because units of one cluster are not independent.
interval:
  kind: cluster-bootstrap
  method: percentile
  level: 0.95
  draws: 20000
  seed: {seed}

# The test decides. It goes through every choice of signs up to 20 clusters, and draws them above that.
# Units that both arms have: {guess.pairs}, in {guess.clusters} clusters. With fewer than {needed} clusters no p-value
# can come down to alpha, and the verdict is a refusal.
test:
  kind: cluster-sign-flip
  alternative: two-sided
  alpha: {ALPHA}
  exactUpTo: 20
  draws: 100000
  seed: {seed}
"""
