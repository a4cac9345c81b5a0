"""The members of every --json answer: adding one is a change to this list, and losing one breaks somebody's program."""

import pytest

LOG_ENTRY = {"sequence", "recordedAt", "writerKeyId", "entryHash", "writerSignature", "previousEntryHash"}
VERDICT = {
    "kind", "version", "id", "question", "registration", "label", "seenBefore", "arms", "data", "decision", "refusals",
    "funnel", "counts", "estimate", "interval", "signFlipInterval", "test", "clusters", "notes", "contrast",
}  # fmt: skip
VERIFICATION = {
    "schema", "version", "outcome", "integrityOnly", "registration", "amendments", "head", "lab", "entries",
    "checkpoints", "keys", "steps", "limits", "exit",
}  # fmt: skip
INSPECT = {
    "schema", "version", "lab", "registration", "sealedAt", "document", "amendments", "logs", "checkpoints", "keys",
    "files",
}  # fmt: skip


def test_run(study, cli):
    answer = cli("run", study.register(), "--out", study.out, "--json").json
    assert set(answer) == {
        "schema", "version", "lab", "run", "registration", "head", "folder", "bundle", "verdict",
    }  # fmt: skip
    assert (answer["schema"], answer["version"], answer["lab"]) == ("assay.run", 1, "experiment")
    assert set(answer["verdict"]) == VERDICT


def test_run_of_a_refused_design(make_study, cli):
    study = make_study(clusters=2)
    verdict = cli("run", study.register(), "--out", study.out, "--json").json["verdict"]
    assert set(verdict) == VERDICT
    assert set(verdict["refusals"][0]) == {"code", "message", "details"}


def test_verify(made, cli):
    answer = cli("verify", made.bundle, "--json").json
    assert set(answer) == {*VERIFICATION, "verdict"}
    assert (answer["schema"], answer["version"], answer["outcome"]) == ("assay.verification", 1, "consistent")
    assert set(answer["entries"]) == {"registration", "rows", "decisions"}
    assert {frozenset(step) for step in answer["steps"]} == {
        frozenset({"number", "name", "title", "status", "failures", "moreFailures", "note"})
    }
    assert [step["number"] for step in answer["steps"]] == list(range(1, 22))
    assert {frozenset(key) for key in answer["keys"]} == {frozenset({"role", "keyId", "publicKey", "believed"})}
    assert {key["believed"] for key in answer["keys"]} == {None}


def test_verify_of_a_tampered_bundle(bundle, cli):
    (bundle / "verdict.json").write_bytes(b"{}\n")
    answer = cli("verify", bundle, "--json").json
    assert set(answer) == VERIFICATION
    failures = [failure for step in answer["steps"] for failure in step["failures"]]
    assert {frozenset(failure) for failure in failures} == {frozenset({"where", "message"})}


def test_verify_of_what_is_left_of_a_bundle(tmp_path, cli):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "rows.jsonl").write_bytes(b"")
    answer = cli("verify", tmp_path, "--json").json
    assert set(answer) == VERIFICATION - {"registration", "amendments", "head", "lab", "entries", "checkpoints"}


def test_report(made, cli):
    answer = cli("report", made.bundle, "--json").json
    assert set(answer) == {"schema", "version", "outcome", "verdict"}
    assert (answer["schema"], answer["version"], answer["outcome"]) == ("assay.report", 1, "consistent")
    assert set(answer["verdict"]) == VERDICT


def test_inspect(made, cli):
    answer = cli("inspect", made.bundle, "--json").json
    assert set(answer) == INSPECT
    assert (answer["schema"], answer["version"]) == ("assay.inspect", 1)
    assert {frozenset(log) for log in answer["logs"]} == {frozenset({"name", "file", "entries"})}
    assert {frozenset(key) for key in answer["keys"]} == {frozenset({"role", "keyId", "publicKey"})}
    assert {frozenset(file) for file in answer["files"]} == {frozenset({"path", "size"})}


def test_inspect_a_log(made, cli):
    answer = cli("inspect", made.bundle, "--log", "rows", "--from", 3, "--count", 1, "--json").json
    assert set(answer) == {"schema", "version", "log", "entries"}
    assert (answer["schema"], answer["version"], answer["log"]) == ("assay.entries", 1, "rows")
    row = {"kind", "index", "arm", "unit", "cluster", "outcome", "more"}
    assert [set(entry) for entry in answer["entries"]] == [LOG_ENTRY | row]


def test_inspect_a_file(made, cli):
    answer = cli("inspect", made.bundle, "--file", "verdict.json", "--json").json
    assert set(answer) == {"schema", "version", "path", "text"}
    assert (answer["schema"], answer["version"], answer["path"]) == ("assay.file", 1, "verdict.json")


@pytest.mark.parametrize("action", ["new", "show"])
def test_keys(made, tmp_path, cli, action):
    path = {"new": tmp_path / "new.key", "show": made.folder / "me.key"}[action]
    answer = cli("keys", action, path, "--json").json
    assert set(answer) == {"schema", "version", "role", "keyId", "domain", "publicKey"}
    assert (answer["schema"], answer["version"], answer["role"]) == ("assay.key", 1, "author")


def test_a_public_key_alone(made, tmp_path, cli):
    path = tmp_path / "me.pub"
    path.write_text(cli("keys", "show", made.folder / "me.key").out)
    assert set(cli("keys", "show", path, "--json").json) == {"schema", "version", "publicKey"}


def test_a_policy_is_its_own_file(made, cli):
    # What --json gives is the policy file itself, so that either form of the answer can be kept as one.
    words = ("keys", "policy", made.folder / "me.key")
    digest = "sha256:" + "0" * 64
    full = cli(*words, "--registration", digest, "--head", digest, "--json").json
    assert set(full) == {"kind", "version", "authors", "registration", "head"}
    assert set(cli(*words, "--json").json) == {"kind", "version", "authors"}


def test_experiment_new(study, cli):
    answer = cli("experiment", "new", study.data, "--json").json
    assert set(answer) == {"schema", "version", "yaml"}
    assert (answer["schema"], answer["version"]) == ("assay.registration", 1)


def test_version(cli):
    assert set(cli("--version", "--json").json) == {"schema", "version"}


def test_an_error(cli):
    error = cli("verify", "none.zip", "--json").json
    assert set(error) == {"error"}
    assert set(error["error"]) == {"kind", "code", "message", "details", "exit"}


def test_members_are_sorted_and_on_one_line(made, cli):
    out = cli("verify", made.bundle, "--json").out
    assert out.startswith('{"amendments": ')
    assert out.count("\n") == 1
    assert out.isascii()
