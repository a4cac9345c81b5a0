"""Registrations, data, keys and command lines that cannot be used: named, explained, and nothing is written."""

import hashlib
import json
import os

import pytest

SURROGATE = r'"\ud800"'
BIG = 2**53

# Each case: the file's name, what is done to the good text, and what the message must name and advise.
REGISTRATIONS = {
    "yaml, a member twice": ("a.yaml", ("version: 1\n", "version: 1\nversion: 1\n"), ["line 3", "'version'", "second"]),
    "yaml, nan": ("a.yaml", ("0.95", ".nan"), ["line 15", "finite"]),
    "yaml, infinity": ("a.yaml", ("0.95", "-.inf"), ["line 15", "finite"]),
    "yaml, too big": ("a.yaml", ("draws: 2000", f"draws: {BIG}"), ["line 15", str(BIG), "exactly"]),
    "yaml, surrogate": ("a.yaml", ("written by a test", SURROGATE), ["line 8", "surrogate", "write the character"]),
    "yaml, an anchor": ("a.yaml", ("version: 1", "version: &one 1"), ["line 2", "anchors", "write the value out"]),
    "yaml, no lab": ("a.yaml", ("lab: experiment\n", ""), ["member `lab`", "`lab: experiment`"]),
    "yaml, a lab that is a number": ("a.yaml", ("lab: experiment", "lab: 5"), ["member `lab`", "`lab: experiment`"]),
    "yaml, unknown lab": ("a.yaml", ("lab: experiment", "lab: experimnet"), ["'experimnet'", "mean 'experiment'?"]),
    "yaml, unknown member": ("a.yaml", ("alpha: 0.05", "alfa: 0.05"), ["test.alfa", "did you mean 'alpha'?"]),
    "yaml, wrong type": ("a.yaml", ("level: 0.95", 'level: "0.95"'), ["interval.level", "expected a number", "'0.95'"]),
    "yaml, out of range": ("a.yaml", ("level: 0.95", "level: 95"), ["interval.level", "between 0 and 1", "got 95"]),
    "yaml, a list": ("a.yaml", None, ["expected an object of named members"]),
    "toml, a member twice": ("a.toml", ("version = 1\n", "version = 1\nversion = 1\n"), ["overwrite"]),
    "toml, nan": ("a.toml", ("0.95", "nan"), ["interval.level", "finite"]),
    "toml, too big": ("a.toml", ("draws = 2000", f"draws = {BIG}"), ["interval.draws", "exactly"]),
    "toml, surrogate": ("a.toml", ('"written by a test"', r'"\uD800"'), ["line 13", "scalar value"]),
    "toml, a date": ("a.toml", ('"written by a test"', "2026-01-01"), ["data.source", "put it in quotes"]),
    "json, a member twice": ("a.json", ('"version": 1', '"version": 1, "version": 1'), ["'version'", "more than once"]),
    "json, nan": ("a.json", ("0.95", "NaN"), ["NaN", "write null"]),
    "json, too big": ("a.json", ('"draws": 2000', f'"draws": {BIG}'), [str(BIG), "write it as text"]),
    "json, surrogate": ("a.json", ('"written by a test"', SURROGATE), ["/data/source", "U+D800"]),
    "json, cut short": ("a.json", ('"arms"', ""), ["JSON"]),
    "of no known kind": ("a.txt", ("", ""), [".yaml, .yml, .toml, .json"]),
}

DATA = {
    "empty": (lambda lines: [], ["outcomes.csv", "the file is empty", "a row for each unit and arm"]),
    "the header alone": (lambda lines: lines[:1], ["outcomes.csv", "no rows", "a row for each unit and arm"]),
    "a unit twice in one arm": (
        lambda lines: [*lines, lines[1]],
        ["outcomes.csv", "lines 2 and 122", "'task-0000'", "two rows in the arm 'new'"],
    ),
    "a unit in two clusters": (
        lambda lines: [*lines[:4], "new,task-0001,family-2,yes", *lines[5:]],
        ["outcomes.csv", "lines 5 and 6", "'task-0001'", "'family-2'", "'family-1'"],
    ),
    "an outcome that is none": (
        lambda lines: [*lines[:4], "new,task-0001,family-1,maybe", *lines[5:]],
        ["outcomes.csv", "line 5", "'solved'", "'yes' for true or 'no' for false", "'maybe'"],
    ),
    "a cell too few": (
        lambda lines: [*lines[:4], "new,task-0001,family-1", *lines[5:]],
        ["outcomes.csv", "line 5", "expected 4 cells", "got 3"],
    ),
    "a column under another name": (
        lambda lines: ["model,tasks,family,solved", *lines[1:]],
        ["outcomes.csv", "'task'", "did you mean 'tasks'?"],
    ),
    "an arm under another name": (
        lambda lines: [line.replace("old,", "olds,") for line in lines],
        ["outcomes.csv", "'old'", "did you mean 'olds'?", "'new' (40 rows), 'olds' (40 rows), 'spare' (40 rows)"],
    ),
}

WORDS = {
    "no argument": (["run"], ["file", "`assay run --help`"]),
    "an argument too many": (["verify", "a", "b"], ["b", "`assay verify --help`"]),
    "an unknown option": (["run", "a.yaml", "--treshold", "1"], ["--treshold", "`assay run --help`"]),
    "an option cut short": (["inspect", "a.zip", "--cou", "3"], ["--cou", "`assay inspect --help`"]),
    "no number": (["verify", "a.zip", "--jobs", "many"], ["--jobs", "'many'", "`assay verify --help`"]),
    "two that exclude each other": (["inspect", "a", "--log", "b", "--file", "c"], ["--file", "not allowed with"]),
    "no action": (["keys"], ["ACTION", "`assay keys --help`"]),
    "an unknown action": (["keys", "nwe"], ["'nwe'", "new"]),
    "an unknown command": (["verfy", "a.zip"], ["'verfy'", "did you mean `assay verify`?"]),
    "a head that is no digest": (["verify", "a.zip", "--expect-head", "abc"], ["--expect-head", "sha256:", "'abc'"]),
    "a policy that is not there": (["verify", "a.zip", "--policy", "none.json"], ["none.json", "No such file"]),
    "a policy for no digest": (["keys", "policy", "a.key", "--head", "abc"], ["sha256:", "'abc'"]),
    "a public key cut short": (["keys", "policy", "ed25519-pub:abc"], ["ed25519-pub:", "'ed25519-pub:abc'"]),
    "a key file that is not there": (["keys", "show", "none.key"], ["none.key", "No such file"]),
    "data that is not there": (["experiment", "new", "none.csv"], ["none.csv", "no such file"]),
}


def text_of(study, templates, name):
    if name.endswith(".json"):
        return json.dumps(study.document())
    return study.text(templates.get(name.split(".")[1], templates["yaml"]))


@pytest.mark.parametrize("case", REGISTRATIONS)
def test_a_registration_that_cannot_be_used(study, templates, refused, case):
    name, change, says = REGISTRATIONS[case]
    text = text_of(study, templates, name)
    bad = "- a list\n" if change is None else text.replace(*change, 1)
    assert bad != text or change == ("", "")
    path = study.register(bad, name)
    before = study.files()
    refused("run", path, "--out", study.out, code=2, says=[path, *says])
    assert study.files() == before
    assert not study.out.exists()


@pytest.mark.parametrize("content", ["", " \n"])
def test_an_empty_registration(study, refused, content):
    path = study.register(content)
    refused("run", path, "--out", study.out, code=2, says=[path, "empty", "a registration was expected"])
    assert not study.out.exists()


def test_a_registration_that_is_not_there(study, refused):
    path = study.folder / "none.yaml"
    refused("run", path, "--out", study.out, code=2, says=[path, "there is no such file"])
    assert not study.out.exists()


def test_a_folder_for_a_registration(study, refused):
    path = study.folder / "folder.yaml"
    path.mkdir()
    refused("run", path, "--out", study.out, code=2, says=[path, "a folder", "name a file"])
    assert not study.out.exists()


def test_every_problem_of_a_registration_is_listed_at_once(study, refused):
    text = study.text().replace("alpha: 0.05", "alpha: 5").replace("id: small-study", "id: Small Study")
    error = refused("run", study.register(text), "--out", study.out, code=2, says=["problems found: 2"])
    assert [problem.split(":")[0] for problem in error["details"]["problems"]] == ["id", "test.alpha"]


@pytest.mark.parametrize("case", DATA)
def test_data_that_cannot_be_used(study, refused, case):
    change, says = DATA[case]
    study.write_data(change(study.lines))
    path = study.register()
    before = study.files()
    refused("run", path, "--out", study.out, code=2, says=says)
    assert study.files() == before
    assert not study.out.exists()


def test_data_that_is_not_there(study, refused):
    path = study.register()
    study.data.unlink()
    refused("run", path, "--out", study.out, code=2, says=[study.data, "there is no such file"])
    assert not study.out.exists()


def test_data_that_is_not_what_was_registered(study, refused):
    path = study.register()
    registered = hashlib.sha256(study.data.read_bytes()).hexdigest()
    study.write_data(study.lines[:-1])
    found = hashlib.sha256(study.data.read_bytes()).hexdigest()
    says = [study.data, found, registered, "sha256sum", "`assay experiment new`"]
    refused("run", path, "--out", study.out, code=2, says=says)
    assert not study.out.exists()


def test_an_out_that_is_a_file(study, refused):
    study.out.write_text("mine")
    refused("run", study.register(), "--out", study.out, code=2, says=[study.out, "cannot make the folder"])
    assert study.out.read_text() == "mine"


@pytest.mark.parametrize("clusters", [1, 5])
def test_too_few_clusters_are_refused_by_a_verdict_that_verifies(make_study, cli, clusters):
    study = make_study(clusters=clusters)
    answer = cli("run", study.register(), "--out", study.out, "--json")
    assert answer.exit == 4
    verdict = answer.json["verdict"]
    assert verdict["decision"]["verdict"] == "refused"
    assert [refusal["code"] for refusal in verdict["refusals"]] == ["power-floor"]
    assert verdict["refusals"][0]["details"]["clusters"] == clusters
    assert verdict["refusals"][0]["details"]["clustersNeeded"] == 6
    assert verdict["estimate"] is verdict["test"] is verdict["contrast"] is None
    assert cli("verify", study.bundle).exit == 0
    assert "at least 6 clusters are needed" in cli("report", study.bundle).out
    assert cli("run", study.folder / "registration.yaml", "--out", study.out).exit == 4


def test_a_registration_that_was_edited_after_it_was_sealed(study, cli, refused):
    cli("run", study.register(), "--out", study.out)
    before = study.files()
    edited = study.register(study.text().replace("alpha: 0.05", "alpha: 0.1"))
    says = [study.out, "sealed as sha256:", "differs in test.alpha;", "restore the file, or choose another folder"]
    error = refused("run", edited, "--out", study.out, code=4, says=[*says, "`--out runs/NAME`"])
    assert "another id" not in error["message"]  # it would not change the folder that --out names
    after = study.files()
    assert {name for name in before if before[name] != after.get(name)} == {"registration.yaml"}


def test_an_edited_registration_without_out_may_take_another_id(study, cli, refused, monkeypatch):
    monkeypatch.chdir(study.folder)
    cli("run", study.register().name)
    edited = study.register(study.text().replace("alpha: 0.05", "alpha: 0.1"))
    says = ["runs/small-study", "test.alpha", "use `--out runs/NAME`, or give the registration another id"]
    refused("run", edited.name, code=4, says=says)
    assert cli("run", edited.name, "--out", "runs/other").exit == 0


@pytest.mark.parametrize("content", ["ed25519-pub:abc\n", "ed25519-pub:" + "A" * 43 + "=\n"])
def test_a_public_key_file_that_cannot_be_used(tmp_path, refused, content):
    path = tmp_path / "me.pub"
    path.write_text(content)
    for action in ("show", "policy"):
        refused("keys", action, path, code=2, says=["key"])


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_file_that_others_can_read(study, cli, refused, mode):
    key = study.folder / "me.key"
    cli("keys", "new", key)
    key.chmod(mode)
    says = [key, f"{mode:04o}", f"`chmod 600 {key}`", "make a new key"]
    refused("run", study.register(), "--out", study.out, "--key", key, code=2, says=says)
    refused("keys", "show", key, code=2, says=says)
    assert not study.out.exists()


def test_a_key_file_that_is_there_is_never_overwritten(study, cli, refused):
    key = study.folder / "me.key"
    cli("keys", "new", key)
    before = study.files()
    refused("keys", "new", key, code=2, says=[key, "never overwritten", "choose another name"])
    assert study.files() == before


@pytest.mark.parametrize("content", ["not a key", "{}", '{"kind":"assay.key"}'])
def test_a_key_file_that_is_none(study, refused, content):
    key = study.folder / "me.key"
    key.write_text(content)
    key.chmod(0o600)
    says = [key, "is not a key file", "`assay keys new FILE`"]
    refused("run", study.register(), "--out", study.out, "--key", key, code=2, says=says)
    refused("keys", "show", key, code=2, says=says)
    assert not study.out.exists()


def test_a_secret_never_comes_out(study, cli):
    key = study.folder / "me.key"
    made = cli("keys", "new", key)
    seed = json.loads(key.read_bytes())["seed"]
    key.write_text(key.read_text().replace(seed, seed[:-2]))
    for answer in (made, cli("keys", "show", key), cli("keys", "show", key, "--json")):
        assert seed[:-2] not in answer.out + answer.err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", []),
        ("{}", ["kind"]),
        ('{"kind":"assay.policy","version":1,"keys":[]}', ["no key", "author's public key"]),
        ('{"kind":"assay.policy","version":1,"keys":["ed25519-pub:abc"]}', ["ed25519-pub:abc"]),
        ('{"kind":"assay.policy","version":1,"keys":["a"],"keys":["b"]}', ["'keys'"]),
        ('{"kind":"assay.policy","version":1,"keys":[],"trust":"all"}', ["trust"]),
        ('{"kind":"assay.policy","version":1,"keys":["ed25519-pub:' + "A" * 43 + '="]}', ["small order"]),
    ],
)
def test_a_policy_that_cannot_be_used(made, tmp_path, refused, content, says):
    policy = tmp_path / "trust.json"
    policy.write_text(content)
    says = ["trust.json", *says, "`assay keys policy ed25519-pub:… > trust.json` writes one"]
    refused("verify", made.bundle, "--policy", policy, code=2, says=says)


@pytest.mark.parametrize("case", WORDS)
def test_a_command_line_that_cannot_be_used(refused, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    words, says = WORDS[case]
    refused(*words, code=2, says=says)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--log", "rosw"], ["'rosw'", "registration, rows, decisions"]),
        (["--file", "verdict"], ["'verdict'", "`assay inspect BUNDLE`"]),
        (["--log", "rows", "--from", "0"], ["--from 0", "from 1"]),
        (["--log", "rows", "--from", "124"], ["'rows' has 123 entries", "--from 124"]),
        (["--log", "rows", "--from", "99999999"], ["'rows' has 123 entries", "--from 99999999"]),
        (["--log", "rows", "--count", "-1"], ["--count -1"]),
        (["--log", "rows", "--from", "9" * 30], ["9" * 30]),
    ],
)
def test_what_a_bundle_does_not_hold_cannot_be_inspected(made, refused, words, says):
    refused("inspect", made.bundle, *words, code=2, says=says)


def test_a_page_that_cannot_be_put_there(made, tmp_path, refused):
    page = tmp_path / "none" / "report.html"
    says = [page, "No such file or directory", "nothing of it was kept"]
    refused("report", made.bundle, "--html", page, code=2, says=says)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_no_text_is_still_named(refused, tmp_path, cli):
    name = os.fsdecode(b"\xff.yaml")
    error = cli("run", tmp_path / name, "--json").json["error"]
    assert name in error["message"]
    assert "⟨U+DCFF⟩.yaml" in cli("run", tmp_path / name).err


# An audit hook that raises stands for a fault that nobody foresaw.
DEFECT = """
import sys
def break_down(event, arguments):
    if event == "os.scandir":
        raise KeyError("odd")
sys.addaudithook(break_down)
"""


def test_a_defect_is_called_one_and_not_the_users_fault(spawn, tmp_path):
    answer = spawn("verify", tmp_path, "--json", before=DEFECT)
    assert answer.exit == 70
    assert answer.json["error"]["kind"] == "invariant-broken"
    assert "a defect in assay: KeyError: 'odd' (ASSAY_DEBUG=1 shows where)" in answer.err
    assert "Traceback" not in answer.err
    assert "Traceback" in spawn("verify", tmp_path, before=DEFECT, env={"ASSAY_DEBUG": "1"}).err


def test_asking_for_details_of_defects_changes_no_other_error(spawn, tmp_path):
    answer = spawn("verify", tmp_path / "none.zip", env={"ASSAY_DEBUG": "1"})
    assert answer.exit == 2
    assert "Traceback" not in answer.err
