"""Every step is seen to fail by itself, and what cannot be decided is never called invalid."""

import dataclasses
from hashlib import sha256

import pytest

from assay.kernel import canonical
from assay.kernel.digests import ZERO
from assay.kernel.errors import BadInput, EvidenceInvalid, InvariantBroken, MissingMaterial, UnknownVersion
from assay.kernel.layout import default_layout
from assay.kernel.notes import NoteSigner
from assay.kernel.roles import note_origin
from assay.testing.labs import TOY, ToyLab
from assay.verifier.lab import Check
from assay.verifier.policy import Policy
from assay.verifier.result import SHOWN, STEPS, Outcome, StepResult

CONTROLS = {}


def control(name):
    def add(damage):
        CONTROLS[name] = damage
        return damage

    return add


@dataclasses.dataclass
class Case:
    """A sound bundle taken apart, and where to put the damaged one."""

    made: object
    to: object

    def __post_init__(self):
        self.forgery = self.made.open()
        self.keys = self.made.keys
        self.last = max(self.forgery.checkpoints)

    def write(self, **how):
        return self.forgery.write(self.to, **how)

    def sign_all(self, log):
        """Plays the operator who holds every key: links, hashes, signatures, checkpoints, proofs and notes fit."""
        self.forgery.resign(log, self.keys[self.forgery.spec(log).signer])
        self.forgery.repair(self.keys)
        return self.write()


@control("container")
def no_archive(case):
    case.to.write_bytes(b"PK\x05\x06" + bytes(40))
    return case.to


@control("manifest")
def a_key_too_few(case):
    case.forgery.manifest["signers"].pop()
    return case.write()


@control("files")
def another_digest(case):
    case.forgery.files["verdict.json"] += b"\n"
    return case.write(fix_manifest=False)


@control("canonical")
def a_space(case):
    data = case.forgery.contents()["logs/rows.jsonl"]
    case.forgery.overrides["logs/rows.jsonl"] = data.replace(b'"kind":"row', b'"kind": "row', 1)
    return case.write()


@control("sequences")
def a_jump(case):
    case.forgery.entry("rows", 3)["sequence"] = 30
    case.forgery.relink("rows", 3)
    return case.sign_all("rows")


@control("links")
def a_false_link(case):
    case.forgery.entry("rows", 3)["previousEntryHash"] = ZERO
    case.forgery.rehash("rows", 3)
    case.forgery.relink("rows", 4)
    return case.sign_all("rows")


@control("entry-hashes")
def another_content(case):
    case.forgery.entry("rows", 3)["value"] = 11
    return case.write()


@control("writer-signatures")
def another_key(case):
    case.forgery.resign("rows", case.keys["witness"], [3])
    return case.write()


@control("checkpoint-hashes")
def a_false_chain(case):
    before = case.forgery.checkpoints[case.last - 1]
    true = before["checkpointHash"]
    before["checkpointHash"] = ZERO
    case.forgery.seal_checkpoints(case.keys["witness"], case.last)
    before["checkpointHash"] = true
    return case.write()


@control("witness-signatures")
def another_witness(case):
    case.forgery.checkpoints[1]["witnessSignature"] = case.forgery.checkpoints[0]["witnessSignature"]
    return case.write()


@control("merkle-roots")
def a_false_last_hash(case):
    case.forgery.head(case.last, "rows")["lastEntryHash"] = ZERO
    case.forgery.seal_checkpoints(case.keys["witness"], case.last)
    return case.write()


@control("inclusion-proofs")
def a_false_path(case):
    path = next(path for path in case.forgery.proofs if "inclusion/rows" in path)
    case.forgery.proofs[path]["path"][0] = ZERO
    return case.write()


@control("consistency-proofs")
def a_false_history(case):
    path = next(path for path in case.forgery.proofs if "consistency/rows" in path)
    case.forgery.proofs[path]["path"][-1] = ZERO
    return case.write()


@control("notes")
def another_head(case):
    origin = note_origin("toy", case.keys["witness"].public, "rows")
    text = case.forgery.notes["notes/rows.note"].partition("\n\n")[0].replace("\n", "\n1", 1) + "\n"
    case.forgery.notes["notes/rows.note"] = NoteSigner(origin, case.keys["note-rows"].seed).sign(text)
    return case.write()


@control("anchors")
def an_anchor(case):
    case.forgery.files["anchors/base.json"] = b"{}\n"
    return case.write()


@control("registration")
def another_lab(case):
    case.forgery.manifest["lab"] = "other"
    case.forgery.renote(case.keys)
    return case.write()


@control("completeness")
def a_tail(case):
    entries = case.forgery.logs["rows"]
    entries.append({**entries[-1], "kind": "late"})
    case.forgery.relink("rows", len(entries), renumber=True)
    case.forgery.head(case.last, "rows")["treeSize"] += 1
    return case.sign_all("rows")


@control("attachments")
def a_file_nobody_attached(case):
    case.forgery.files["more.txt"] = b"more\n"
    return case.write()


@control("structure")
def a_false_judgement(case):
    entry = next(entry for entry in case.forgery.logs["decisions"] if entry["kind"] == "row.judged")
    entry["accepted"] = not entry["accepted"]
    case.forgery.relink("decisions")
    return case.sign_all("decisions")


@control("verdict")
def another_verdict(case):
    verdict = canonical.loads(case.forgery.files["verdict.json"])
    return attach_verdict(case, canonical.dumps({**verdict, "total": verdict["total"] + 1}) + b"\n")


def attach_verdict(case, data):
    entry = next(entry for entry in case.forgery.logs["decisions"] if entry["kind"] == "file.attached")
    entry.update(sha256=sha256(data).hexdigest(), size=len(data))
    case.forgery.files["verdict.json"] = data
    case.forgery.relink("decisions")
    return case.sign_all("decisions")


@control("trust")
def nothing(case):
    return case.write()


@pytest.fixture
def case(sound, tmp_path):
    return Case(sound, tmp_path / "damaged")


@pytest.fixture
def believed(sound):
    return Policy(authors=frozenset({sound.public("author")}))


def test_every_step_has_a_control_and_its_number():
    assert [*CONTROLS] == [name for name, _ in STEPS]


@pytest.mark.parametrize("name", CONTROLS)
def test_a_step_fails_by_itself(case, believed, strangers, verify, name):
    stranger = Policy(authors=frozenset({strangers["author"].public.to_json()["publicKey"]}))
    result = verify(CONTROLS[name](case), policy=stranger if name == "trust" else believed)
    assert result.failed() == [name]
    assert result.outcome is (Outcome.UNTRUSTED if name == "trust" else Outcome.INVALID)
    assert result.step(name).failures[0].where
    assert result.step(name).number == 1 + [*CONTROLS].index(name)


def test_all_steps_pass_where_nothing_is_wrong(case, believed, verify):
    assert {step.status for step in verify(case.write(), policy=believed).steps} == {"passed"}


@pytest.mark.parametrize(("name", "ran"), [("container", 1), ("manifest", 2)])
def test_without_a_manifest_nothing_else_is_said(case, believed, verify, name, ran):
    result = verify(CONTROLS[name](case), policy=believed)
    assert [step.status for step in result.steps[ran:]] == ["skipped"] * (len(STEPS) - ran)


@pytest.mark.parametrize("name", [name for name in CONTROLS if name not in {"structure", "verdict", "trust"}])
def test_no_verdict_is_derived_from_evidence_that_is_not_sound(case, believed, verify, name):
    result = verify(CONTROLS[name](case), policy=believed, labs={"toy": Crashing()})
    assert {result.step(step).status for step in ("structure", "verdict")} == {"skipped"}


class Crashing(ToyLab):
    """A lab whose derivation stumbles over evidence that is sound."""

    def __init__(self, error=None):
        self.error = error or KeyError("value")

    def derive(self, registration, evidence):
        raise self.error


class Checking(ToyLab):
    """A lab whose structural check ends as it is told."""

    def __init__(self, *errors):
        self.errors = errors

    def checks(self):
        return tuple(
            Check(name=f"check-{number}", run=lambda *_, error=error: self.end(error))
            for number, error in enumerate(self.errors)
        )

    def end(self, error):
        if error is not None:
            raise error


def test_without_its_lab_a_verdict_is_unchecked(case, believed, verify):
    path = case.write()
    result = verify(path, labs={}, policy=believed)
    assert (result.outcome, result.failed()) == (Outcome.UNCHECKED, [])
    assert {result.step(name).status for name in ("structure", "verdict")} == {"unchecked"}
    assert "'toy' is not installed" in result.step("verdict").note
    assert verify(path, labs={}, integrity_only=True).outcome is Outcome.CONSISTENT
    assert verify(path, labs={}, integrity_only=True, policy=believed).outcome is Outcome.AUTHENTIC


@pytest.mark.parametrize(
    "error",
    [
        KeyError("value"),
        RecursionError(),
        MemoryError(),
        ZeroDivisionError(),
        InvariantBroken("a defect"),
        UnknownVersion("registered under a later version"),
        MissingMaterial("a package is missing"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_lab_that_cannot_decide_makes_nothing_invalid(case, verify, error):
    path = case.write()
    for lab in (Crashing(error), Checking(None, error)):
        result = verify(path, labs={"toy": lab})
        assert (result.outcome, result.failed()) == (Outcome.UNCHECKED, [])
        assert {result.step(name).status for name in ("structure", "verdict")} == {"unchecked"}
        assert type(error).__name__ in result.step("verdict").note


def test_a_verdict_that_json_cannot_carry_is_the_labs_defect(case, verify):
    class Infinite(ToyLab):
        def derive(self, registration, evidence):
            return {"total": float("inf")}

    assert verify(case.write(), labs={"toy": Infinite()}).outcome is Outcome.UNCHECKED


@pytest.mark.parametrize("error", [EvidenceInvalid("no such run"), BadInput("no such registration")])
def test_a_lab_that_refuses_the_evidence_makes_it_invalid(case, verify, error):
    result = verify(case.write(), labs={"toy": Crashing(error)})
    assert (result.outcome, result.failed()) == (Outcome.INVALID, ["verdict"])
    assert result.step("verdict").failures[0].message == error.message


def test_every_structural_check_is_run_and_named(case, verify):
    broken = EvidenceInvalid("it does not hold")
    result = verify(case.write(), labs={"toy": Checking(broken, None, broken)})
    assert result.failed() == ["structure"]
    assert [failure.where for failure in result.step("structure").failures] == ["check-0", "check-2"]
    assert result.step("verdict").status == "skipped"


def test_a_failed_check_stands_though_the_next_one_crashes(case, verify):
    result = verify(case.write(), labs={"toy": Checking(EvidenceInvalid("it does not hold"), KeyError("x"))})
    assert (result.outcome, result.failed()) == (Outcome.INVALID, ["structure"])
    assert result.step("verdict").status == "unchecked"


def test_another_verdict_is_named_by_its_members(case, verify):
    result = verify(another_verdict(case))
    assert result.step("verdict").failures[0].where == "verdict.json"
    assert result.step("verdict").failures[0].message.endswith("differs in total")
    assert result.facts["verdict"]["total"] == 25


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"[]\n", "it is no object"),
        (b"{", "is not canonical JSON"),
        (b'{"a":1,"a":2}\n', "is not canonical JSON"),
        (b"{}\n", "differs in accepted, id, kind, refused, registration, total, version"),
        (b"", "is not canonical JSON"),
    ],
)
def test_a_verdict_file_of_another_shape_is_another_verdict(case, verify, data, says):
    result = verify(attach_verdict(case, data))
    assert result.failed() == ["verdict"]
    assert says in result.step("verdict").failures[0].message


def test_the_same_verdict_in_other_bytes_is_another_verdict(case, verify):
    data = case.forgery.files["verdict.json"].replace(b":", b": ", 1)
    result = verify(attach_verdict(case, data))
    assert result.step("verdict").failures[0].message.endswith("differs in its bytes")


def test_a_closed_run_without_a_verdict_is_incomplete(case, verify):
    decisions = case.forgery.logs["decisions"]
    decisions.remove(next(entry for entry in decisions if entry["kind"] == "file.attached"))
    del case.forgery.files["verdict.json"]
    case.forgery.relink("decisions", renumber=True)
    case.forgery.head(case.last, "decisions")["treeSize"] -= 1
    result = verify(case.sign_all("decisions"))
    assert (result.outcome, result.failed()) == (Outcome.INCOMPLETE, [])
    assert result.step("verdict").note == "the run holds no verdict.json"


def test_another_layout_than_the_labs_is_refused(case, verify):
    class Elsewhere(ToyLab):
        @property
        def layout(self):
            return default_layout("toy", ("decisions", "rows"))

    result = verify(case.write(), labs={"toy": Elsewhere()})
    assert (result.outcome, result.failed()) == (Outcome.INVALID, ["structure"])
    assert result.step("structure").failures[0].where == "manifest.json"
    assert result.step("verdict").status == "skipped"


def test_a_run_that_was_not_closed_is_incomplete_and_no_lab_is_asked(make, verify, tmp_path):
    made = make(tmp_path, close=False)
    result = verify(made.path, labs={"toy": Crashing(EvidenceInvalid("too few rows"))})
    assert (result.outcome, result.failed()) == (Outcome.INCOMPLETE, [])
    assert result.step("completeness").status == "incomplete"


def test_a_step_lists_a_few_failures_in_short_and_counts_the_rest():
    step = StepResult(1, "canonical", "lines")
    for number in range(SHOWN + 5):
        step.fail(f"entry {number}", "x" * 10_000_000)
    assert (len(step.failures), step.more) == (SHOWN, 5)
    assert len(step.failures[0].message) < 2000
    step.leave("skipped", "said later")
    assert (step.status, step.note) == ("failed", "said later")


def test_a_report_is_json_with_every_step(case, verify, believed):
    report = verify(case.write(), policy=believed).to_json()
    assert canonical.loads(canonical.dumps(report)) == report
    assert (report["outcome"], report["schema"], report["lab"]) == ("authentic", "assay.verification", "toy")
    assert [step["name"] for step in report["steps"]] == [*CONTROLS]


def test_the_toy_lab_is_the_one_that_ran(sound, verify):
    assert verify(sound.path).facts["verdict"] == TOY.derive(TOY.load(sound.document), _rows(sound.document["values"]))


def _rows(values):
    class Rows:
        def entries(self, log):
            return iter({"kind": "row.read", "value": value} for value in values)

    return Rows()


def test_a_file_attached_where_the_format_keeps_its_own_is_refused(case, verify):
    entry = next(entry for entry in case.forgery.logs["decisions"] if entry["kind"] == "file.attached")
    case.forgery.files["proofs/other.json"] = case.forgery.files.pop(entry["path"])
    entry["path"] = "proofs/other.json"
    case.forgery.relink("decisions")
    result = verify(case.sign_all("decisions"))
    assert result.failed() == ["attachments"]
    assert "keeps files of its own" in result.step("attachments").failures[0].message
