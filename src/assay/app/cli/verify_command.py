"""`assay verify`: check a bundle and derive its verdict again, offline; needs the base install only."""

import argparse
from itertools import groupby
from pathlib import Path

from assay.app.amendments import read_changes
from assay.app.cli.bundle_argument import check_bundle_argument
from assay.app.cli.echo import Echo, Span, Tone, paint, visible
from assay.app.cli.main import add_common
from assay.app.wiring import InstalledLabs
from assay.kernel.digests import to_raw
from assay.kernel.errors import BadInput, MalformedDocument
from assay.kernel.roles import AUTHOR
from assay.verifier.policy import Policy, read_policy
from assay.verifier.result import LIMITS, Outcome, StepResult, Verification
from assay.verifier.verify import Question, verify_bundle

__all__ = ["configure", "execute"]

_EXITS = {
    Outcome.AUTHENTIC: 0,
    Outcome.CONSISTENT: 0,
    Outcome.INVALID: 1,
    Outcome.UNTRUSTED: 1,
    Outcome.INCOMPLETE: 3,
    Outcome.UNCHECKED: 3,
}
_MEANINGS = {
    Outcome.AUTHENTIC: "sound, the verdict follows, and it is signed by keys the policy believes",
    Outcome.CONSISTENT: "sound in itself; without a trust policy nobody knows whose keys these are",
    Outcome.INVALID: "not what it claims to be",
    Outcome.UNTRUSTED: "sound in itself, and not from those the policy believes",
    Outcome.INCOMPLETE: "sound as far as it goes, and it ends before the run was closed",
    Outcome.UNCHECKED: "sound in itself; the verdict could not be derived again here",
}
_TONES: dict[str, Tone] = {"passed": "good", "failed": "bad", "skipped": "muted", "unchecked": "warning"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("bundle", type=Path, help="a bundle: a folder or a .zip")
    parser.add_argument("--policy", type=Path, metavar="FILE", help="a trust policy: the keys and digests you believe")
    parser.add_argument("--expect-head", metavar="HASH", help="the hash of the last checkpoint, got by another way")
    parser.add_argument("--integrity-only", action="store_true", help="the verdict may stay unchecked")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes for signature checks (default: by size)")
    add_common(parser, _MORE)


_MORE = """\
examples:
  assay verify runs/my-experiment/bundle.zip
  assay verify bundle.zip --policy trust.json
  assay verify bundle.zip --expect-head sha256:3f0c…
  assay verify bundle.zip --json | jq .outcome

outcomes: authentic, consistent → 0 · invalid, untrusted → 1 · incomplete, unchecked → 3"""


def execute(arguments: argparse.Namespace, echo: Echo) -> int:
    """Verifies and returns the outcome's exit code."""
    check_bundle_argument(arguments.bundle)
    question = Question(
        policy=_read_policy(arguments.policy) if arguments.policy is not None else None,
        expect_head=_read_head(arguments.expect_head) if arguments.expect_head is not None else None,
        integrity_only=arguments.integrity_only,
        labs=InstalledLabs(),
        jobs=arguments.jobs,
    )
    result = verify_bundle(arguments.bundle, question)
    exit_code = _EXITS[result.outcome]
    if arguments.json:
        echo.json({**result.to_json(), "exit": exit_code})
    else:
        echo.result(*describe(result, quiet=arguments.quiet))
    return exit_code


def _read_policy(path: Path) -> Policy:
    try:
        data = path.read_bytes()
    except OSError as error:
        msg = f"cannot read the policy {path}: {error.strerror}"
        raise BadInput(msg, path=str(path)) from error
    try:
        return read_policy(data, path.name)
    except BadInput as error:
        msg = f"{error.message}; `assay keys policy ed25519-pub:… > trust.json` writes one"
        raise BadInput(msg, **error.details) from error


def _read_head(text: str) -> str:
    try:
        to_raw(text)
    except MalformedDocument as error:
        msg = f"--expect-head: {error.message}"
        raise BadInput(msg) from error
    return text


def describe(result: Verification, *, quiet: bool = False) -> list[Span | str]:
    """The report for people: one line a step, what failed where, and the outcome last."""
    parts: list[Span | str] = []
    for skipped, group in groupby(result.steps, key=lambda step: step.status == "skipped"):
        steps = [step for step in group if not quiet or step.status == "failed"]
        parts += _skipped_line(steps) if skipped and len(steps) > 1 else [p for s in steps for p in _step_lines(s)]
    if not quiet:
        parts += ["\n", *(f"{name:<13} {value}\n" for name, value in _facts(result))]
        parts += _key_lines(result)
        parts += [paint("\n".join(["", "What no bundle shows:", *(f"  · {limit}" for limit in LIMITS), ""]), "muted")]
    good = result.outcome in {Outcome.AUTHENTIC, Outcome.CONSISTENT}
    scope = " (integrity only)" if result.integrity_only else ""
    parts += ["\n", paint(f"{result.outcome.value.upper()}{scope}", "good" if good else "bad")]
    unproven = result.integrity_only and result.step("verdict").status != "passed"
    meaning = _MEANINGS[result.outcome].replace("the verdict follows", "its verdict unchecked")
    parts += [f": {meaning if unproven else _MEANINGS[result.outcome]}\n"]
    return parts


def _step_lines(step: StepResult) -> list[Span | str]:
    lines: list[Span | str] = [f"{step.number:>2}  "]
    lines += [paint(f"{step.status:<10}", _TONES.get(step.status, "warning")), f" {step.title}"]
    # Texts of the bundle must not be able to begin a line of their own.
    lines += [paint(f" ({visible(step.note)})", "muted")] if step.note else []
    lines += ["\n"]
    for failure in step.failures:
        lines += [paint(f"      {visible(failure.where)}: ", "bad"), f"{visible(failure.message)}\n"]
    lines += [f"      and {step.more} more\n"] if step.more else []
    return lines


def _skipped_line(steps: list[StepResult]) -> list[Span | str]:
    """Steps that an earlier failure left nothing to check for, in one line; their notes are one and the same."""
    notes = " · ".join(dict.fromkeys(step.note for step in steps if step.note))
    lines: list[Span | str] = [f"{steps[0].number}-{steps[-1].number}  ", paint(f"{'skipped':<10}", "muted")]
    lines += [f" {len(steps)} steps", paint(f" ({notes})", "muted") if notes else "", "\n"]
    return lines


def _facts(result: Verification) -> list[tuple[str, str]]:
    names = (("lab", "lab"), ("registration", "registration"), ("head", "head"))
    facts = [(label, visible(str(result.facts[name]))) for label, name in names if name in result.facts]
    for change in read_changes(result.facts):
        said = f"{change.at}: {change.why} (had seen by then: {change.seen})"
        facts.append(("AMENDED", visible(said)))
    return facts


def _key_lines(result: Verification) -> list[Span | str]:
    words = {True: "believed", False: "NOT believed", None: "met"}
    lines: list[Span | str] = [f"{words[key.believed]:<13} {key.public}  {key.role}\n" for key in result.keys]
    author = next((key.public for key in result.keys if key.role == AUTHOR and key.believed is False), None)
    if author is None:
        return lines
    how = f"if its owner gave you that key, `assay keys policy {author} > trust.json` believes it"
    return [paint(f"signed by the author key {author}, which the policy does not name; {how}\n", "warning"), *lines]
