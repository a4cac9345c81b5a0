"""A registration goes in, a bundle and its verdict come out: whole, resumed, and read again."""

import argparse
import io
import itertools
import json
import re
import signal
import zipfile

import pytest

from assay.app.cli import run_command
from assay.app.cli.echo import Echo
from assay.kernel import canonical

LOGS = ("registration", "rows", "decisions")
KEYS = {"author", "witness", "rows-log", "decisions-log", *(f"note-{log}" for log in LOGS)}

# Ends the process, as a power cut would, when the store is asked for its nth commit.
KILL_AT_COMMIT = """
import os, signal, sys, threading
commits = 0
def watch(frame, event, argument):
    global commits
    if event == "call" and frame.f_code.co_name == "commit" and frame.f_code.co_filename.endswith("sqlite.py"):
        commits += 1
        if commits == {nth}:
            os.kill(os.getpid(), signal.SIGKILL)
sys.setprofile(watch)
threading.setprofile(watch)
"""

# The same when the system is asked for something for the nth time.
KILL_AT_EVENT = """
import os, signal, sys
events = 0
def watch(event, arguments):
    global events
    if event == {event!r}:
        events += 1
        if events == {nth}:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
"""


def read_member(bundle, path):
    with zipfile.ZipFile(bundle) as archive:
        return archive.read(path)


def read_log(cli, bundle, log):
    return cli("inspect", bundle, "--log", log, "--count", 10000, "--json").json["entries"]


def test_a_run_leaves_a_bundle_and_says_where(study, cli):
    answer = cli("run", study.register(), "--out", study.out)
    assert answer.exit == 0
    assert "The new model solves more tasks (new-better)" in answer.out
    assert "retrospective" in answer.out
    assert f"bundle  {study.bundle}\n" in answer.out
    assert answer.out.endswith(f"\n`assay report {study.bundle}` shows everything\n")
    assert f"verify  assay verify {study.bundle}\n" in answer.out
    assert re.fullmatch(r"sealed: registration sha256:[0-9a-f]{64}, run [0-9a-f]{16}\n", answer.err)
    assert {path.name for path in study.out.iterdir()} == {"bundle.zip", "evidence.db", "evidence.db.lock", "keys"}
    assert {path.stem for path in (study.out / "keys").iterdir()} == KEYS
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (study.out / "keys").iterdir())


def test_a_run_prints_a_summary_and_the_report_everything(study, cli):
    study.write_data([*study.lines, "new,task-9999,family-1,yes"])
    run, report = cli("run", study.register(), "--out", study.out).out, cli("report", study.bundle).out
    assert len(run.splitlines()) < 25 < len(report.splitlines())
    assert re.search(r"^Warning: the data existed before .*…$", run, re.MULTILINE)
    assert re.search(r"^−40 of 121  |^−41 of 121  ", run, re.MULTILINE), run
    assert "By cluster" in report
    assert "By cluster" not in run


def test_json_is_one_object_and_the_notes_stay_on_standard_error(study, cli):
    answer = cli("run", study.register(), "--out", study.out, "--json")
    run = answer.json
    assert answer.exit == 0
    assert run["schema"] == "assay.run"
    assert run["verdict"]["decision"]["verdict"] == "new-better"
    assert (run["folder"], run["bundle"]) == (str(study.out), str(study.bundle))
    assert answer.err.startswith("sealed: ")


def test_quiet_says_nothing_beside_the_result(study, cli):
    assert cli("run", study.register(), "--out", study.out, "--json", "--quiet").err == ""


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize("quiet", [True, False])
def test_progress_is_shown_on_a_terminal_unless_it_is_to_be_quiet(study, quiet):
    parser = argparse.ArgumentParser()
    run_command.configure(parser)
    words = [study.register(), "--out", study.out, *["--quiet"] * quiet]
    arguments = parser.parse_args([*map(str, words)])
    screen, seconds = Terminal(), itertools.count(step=10)
    echo = Echo(stdout=io.StringIO(), stderr=screen, environment={}, monotonic=lambda: next(seconds))
    assert run_command.execute(arguments, echo) == 0
    assert ("recording rows" in screen.getvalue()) is not quiet
    assert (screen.getvalue() == "") is quiet


def test_without_out_the_folder_is_named_for_the_registration(study, cli, monkeypatch):
    registration = study.register()
    monkeypatch.chdir(study.folder)
    assert cli("run", registration.name, "--json").json["bundle"] == "runs/small-study/bundle.zip"
    assert (study.folder / "runs" / "small-study" / "bundle.zip").is_file()


def test_a_second_run_gives_the_same_bytes_and_says_that_it_took_the_run_up(study, cli):
    command = ("run", study.register(), "--out", study.out)
    first = cli(*command)
    zipped, verdict = study.bundle.read_bytes(), read_member(study.bundle, "verdict.json")
    study.bundle.unlink()
    second = cli(*command)
    assert second.exit == first.exit == 0
    assert second.out == first.out
    assert second.err.startswith("taken up again: ")
    assert study.bundle.read_bytes() == zipped
    assert read_member(study.bundle, "verdict.json") == verdict


def test_a_folder_that_is_there_already_is_no_run_taken_up(study, cli):
    study.out.mkdir()
    assert cli("run", study.register(), "--out", study.out).err.startswith("sealed: ")


def test_two_runs_of_one_registration_give_the_same_verdict_under_other_keys(study, cli):
    registration = study.register()
    first = cli("run", registration, "--out", study.folder / "a", "--json").json
    second = cli("run", registration, "--out", study.folder / "b", "--json").json
    assert first["verdict"] == second["verdict"]
    assert first["registration"] == second["registration"]
    assert first["run"] != second["run"]


def test_the_verdict_in_the_bundle_is_the_verdict_that_was_printed(study, cli):
    verdict = cli("run", study.register(), "--out", study.out, "--json").json["verdict"]
    assert read_member(study.bundle, "verdict.json") == canonical.dumps(verdict) + b"\n"


def test_the_bundle_can_be_a_folder_of_its_own(study, cli):
    folder = study.folder / "kept" / "bundle"
    answer = cli("run", study.register(), "--out", study.out, "--bundle", folder, "--json")
    assert answer.json["bundle"] == str(folder)
    assert (folder / "manifest.json").is_file()
    assert not study.bundle.exists()
    assert cli("verify", folder).exit == 0


def test_a_bundle_folder_that_is_there_is_refused_before_the_run(study, cli):
    folder = study.folder / "bundle"
    folder.mkdir()
    answer = cli("run", study.register(), "--out", study.out, "--bundle", folder)
    assert answer.exit == 2
    assert f"{folder} exists" in answer.err
    assert "another place" in answer.err
    assert not study.out.exists()


def test_the_bundle_of_another_run_is_never_replaced(study, cli, refused):
    shared = study.folder / "shared.zip"
    command = ("run", study.register(), "--bundle", shared, "--out")
    assert cli(*command, study.folder / "a").exit == 0
    before = shared.read_bytes()
    refused(*command, study.folder / "b", code=4, says=[shared, "another run", "--bundle"])
    assert not (study.folder / "b").exists()
    assert cli("run", study.folder / "registration.yaml", "--out", study.folder / "b").exit == 0
    refused(*command, study.folder / "b", code=4, says=[shared, "another run"])
    assert shared.read_bytes() == before
    assert cli(*command, study.folder / "a").exit == 0
    assert shared.read_bytes() == before


def test_a_file_that_is_no_bundle_is_not_replaced_either(study, cli, refused):
    named = study.folder / "photos.zip"
    named.write_bytes(b"photos")
    refused("run", study.register(), "--out", study.out, "--bundle", named, code=2, says=[named, "remove it"])
    assert named.read_bytes() == b"photos"
    assert not study.out.exists()


def test_a_damaged_bundle_in_the_runs_folder_is_made_again(study, cli):
    command = ("run", study.register(), "--out", study.out)
    cli(*command)
    whole = study.bundle.read_bytes()
    study.bundle.write_bytes(whole[:1000])
    assert cli(*command).exit == 0
    assert study.bundle.read_bytes() == whole


def test_a_bundle_whose_store_is_gone_is_not_replaced_by_a_new_run(study, cli, refused):
    command = ("run", study.register(), "--out", study.out)
    cli(*command)
    whole = study.bundle.read_bytes()
    (study.out / "evidence.db").unlink()
    refused(*command, code=4, says=[study.bundle, "another run"])
    assert study.bundle.read_bytes() == whole


@pytest.mark.parametrize("closed", [True, False])
def test_another_author_key_is_refused_and_not_ignored(study, spawn, cli, refused, closed):
    mine, other = study.folder / "me.key", study.folder / "other.key"
    public = cli("keys", "new", mine).out.strip()
    cli("keys", "new", other)
    command = ("run", study.register(), "--out", study.out, "--key")
    first = spawn(*command, mine, before="" if closed else KILL_AT_COMMIT.format(nth=2))
    assert first.exit == (0 if closed else -signal.SIGKILL)
    says = [study.out, f"this run was sealed with another author key {public}; ", "`--out runs/NAME`"]
    refused(*command, other, code=4, says=says)
    assert cli(*command, mine).exit == 0
    # Without a key nothing is claimed; an open run would need it.
    assert cli(*command[:-1]).exit == 0


def test_a_run_under_its_own_fresh_key_refuses_another(study, cli, refused):
    cli("run", study.register(), "--out", study.out)
    other = study.folder / "other.key"
    cli("keys", "new", other)
    says = ["another author key ed25519-pub:", "--out"]
    refused("run", study.folder / "registration.yaml", "--out", study.out, "--key", other, code=4, says=says)
    assert cli("run", study.folder / "registration.yaml", "--out", study.out).exit == 0


def test_the_author_key_signs_the_registration_and_stays_where_it_is(study, cli):
    key = study.folder / "me.key"
    public = cli("keys", "new", key).out.strip()
    assert cli("run", study.register(), "--out", study.out, "--key", key).exit == 0
    signers = cli("inspect", study.bundle, "--json").json["keys"]
    assert [signer["publicKey"] for signer in signers if signer["role"] == "author"] == [public]
    assert not (study.out / "keys" / "author.key").exists()


def test_yaml_toml_and_json_state_the_same_registration(study, cli, templates):
    texts = {
        "a.yaml": study.text(templates["yaml"]),
        "b.toml": study.text(templates["toml"]),
        "c.json": json.dumps(study.document()),
    }
    digests = {
        cli("run", study.register(text, name), "--out", study.folder / name[0], "--json").json["registration"]
        for name, text in texts.items()
    }
    assert len(digests) == 1


def test_verify_finds_the_bundle_consistent_and_nobody_believed(made, cli):
    answer = cli("verify", made.bundle)
    assert answer.exit == 0
    assert answer.out.splitlines()[-1].startswith("CONSISTENT: ")
    assert "AUTHENTIC" not in answer.out
    assert answer.out.count("passed") == 20
    assert answer.err == ""


def test_a_policy_of_the_author_key_makes_it_authentic(made, cli, tmp_path):
    public = cli("keys", "show", made.folder / "me.key").out.strip()
    policy = tmp_path / "trust.json"
    policy.write_text(cli("keys", "policy", public).out)
    answer = cli("verify", made.bundle, "--policy", policy)
    assert answer.exit == 0
    assert answer.out.splitlines()[-1].startswith("AUTHENTIC: ")


def test_a_policy_made_from_the_key_file_is_the_same(made, cli):
    public = cli("keys", "show", made.folder / "me.key").out.strip()
    assert cli("keys", "policy", made.folder / "me.key").out == cli("keys", "policy", public).out


def test_a_policy_made_from_a_file_with_the_public_key_is_the_same(made, cli, tmp_path):
    public = cli("keys", "show", made.folder / "me.key").out.strip()
    path = tmp_path / "me.pub"
    path.write_text(public + "\n")
    path.chmod(0o644)
    assert cli("keys", "policy", path).out == cli("keys", "policy", public).out
    assert cli("keys", "show", path).out == public + "\n"


def test_a_policy_of_another_key_is_not_met(made, cli, tmp_path):
    policy = tmp_path / "trust.json"
    policy.write_text(cli("keys", "policy", cli("keys", "new", tmp_path / "other.key", "--quiet").out.strip()).out)
    answer = cli("verify", made.bundle, "--policy", policy)
    assert answer.exit == 1
    assert answer.out.splitlines()[-1].startswith("UNTRUSTED: ")
    author = cli("keys", "show", made.folder / "me.key").out.strip()
    lines = answer.out.splitlines()
    (at,) = [at for at, line in enumerate(lines) if line.startswith(f"signed by the author key {author}, ")]
    assert f"`assay keys policy {author} > trust.json`" in lines[at]
    assert lines[at + 1].startswith("NOT believed")
    assert "NOT believed" not in "".join(lines[:at])
    assert "the policy does not believe the author key" in answer.out


@pytest.mark.parametrize("right", [True, False])
def test_the_head_can_be_pinned(made, cli, right):
    head = cli("verify", made.bundle, "--json").json["head"] if right else "sha256:" + "0" * 64
    answer = cli("verify", made.bundle, "--expect-head", head)
    assert answer.exit == (0 if right else 1)
    assert ("expected the last checkpoint" in answer.out) is not right


def test_quiet_verification_says_the_outcome_only(made, cli):
    assert len(cli("verify", made.bundle, "--quiet").out.strip().splitlines()) == 1


def test_the_report_page_stands_alone(made, cli, tmp_path):
    page = tmp_path / "report.html"
    answer = cli("report", made.bundle, "--html", page)
    text = page.read_text(encoding="utf-8")
    assert (answer.exit, answer.out) == (0, f"wrote {page}\n")
    assert "new-better" in text
    assert "<script" not in text
    assert not re.search(r"""(?:src|href)=(?!["']?#)|url\(|@import""", text)
    assert page.read_bytes() == read_member(made.bundle, "report.html")


def test_the_page_replaces_an_older_one_and_leaves_no_draft(made, cli, tmp_path):
    page = tmp_path / "report.html"
    page.write_text("older")
    cli("report", made.bundle, "--html", page)
    assert "new-better" in page.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [page]


def test_the_page_goes_through_a_link_and_into_a_pipe(made, cli, spawn, tmp_path):
    page, name = tmp_path / "report.html", tmp_path / "link.html"
    name.symlink_to(page)
    cli("report", made.bundle, "--html", name)
    assert name.is_symlink()
    assert page.read_bytes() == read_member(made.bundle, "report.html")
    assert spawn("report", made.bundle, "--html", "/dev/stdout").out.startswith("<!DOCTYPE html>")


def test_the_terminal_report_says_that_it_was_verified_here(made, cli):
    answer = cli("report", made.bundle)
    assert answer.exit == 0
    assert "The new model solves more tasks (new-better)" in answer.out
    assert answer.out.endswith("verified here: consistent\n")


def test_the_json_report_holds_the_verdict_of_the_bundle(made, cli):
    verdict = cli("report", made.bundle, "--json").json["verdict"]
    assert canonical.dumps(verdict) + b"\n" == read_member(made.bundle, "verdict.json")


def test_inspect_lists_what_is_in_the_bundle(made, cli):
    answer = cli("inspect", made.bundle)
    assert answer.exit == 0
    assert "  log           file                  entries\n" in answer.out
    assert "  rows          logs/rows.jsonl           123\n" in answer.out
    assert "  role               key id " in answer.out
    assert re.search(r"^  verdict\.json +\d+$", answer.out, re.MULTILINE)
    assert "amendments" not in answer.out
    assert "verdict.json" in answer.out
    assert '"treatment": "new"' in answer.out
    assert "nothing was verified here" in answer.out


def test_inspect_says_the_same_as_json(made, cli):
    overview = cli("inspect", made.bundle, "--json").json
    assert {log["name"]: log["entries"] for log in overview["logs"]} == {"registration": 2, "rows": 123, "decisions": 4}
    assert {key["role"] for key in overview["keys"]} == KEYS
    assert overview["document"]["arms"] == {"treatment": "new", "control": "old"}


def test_inspect_prints_entries_from_any_on(made, cli):
    answer = cli("inspect", made.bundle, "--log", "rows", "--from", 3, "--count", 2)
    first, second = map(json.loads, answer.out.splitlines())
    assert (first["sequence"], first["unit"], first["arm"], first["outcome"]) == (3, "task-0000", "new", False)
    assert second["sequence"] == 4
    twin = cli("inspect", made.bundle, "--log", "rows", "--from", 3, "--count", 2, "--json").json
    assert twin["entries"] == [first, second]


def test_inspect_prints_a_file(made, cli):
    verdict = read_member(made.bundle, "verdict.json").decode()
    assert cli("inspect", made.bundle, "--file", "verdict.json").out == verdict
    assert cli("inspect", made.bundle, "--file", "verdict.json", "--json").json["text"] == verdict


# At the kill the log of rows holds its opening entry and, from the second commit on, that of the source.
@pytest.mark.parametrize(("nth", "kept"), [(2, 1), (4, 258), (6, 602)])
def test_a_run_killed_in_the_middle_goes_on_and_verifies(make_study, spawn, cli, nth, kept):
    study = make_study(clusters=9, units=200)
    command = ("run", study.register(), "--out", study.out)
    assert spawn(*command, before=KILL_AT_COMMIT.format(nth=nth)).exit == -signal.SIGKILL
    assert not study.bundle.exists()
    answer = cli(*command, "--json")
    assert answer.exit == 0
    assert answer.err.startswith("taken up again: ")
    assert cli("verify", study.bundle).exit == 0
    rows = [entry for entry in read_log(cli, study.bundle, "rows") if entry["kind"] == "row.read"]
    assert [row["index"] for row in rows] == list(range(600))
    assert [
        entry["sizes"]["rows"]
        for log in ("rows", "decisions")
        for entry in read_log(cli, study.bundle, log)
        if entry["kind"] == "run.recovered"
    ] == [kept]
    whole = cli("run", study.folder / "registration.yaml", "--out", study.folder / "whole", "--json")
    assert whole.json["verdict"] == answer.json["verdict"]


@pytest.mark.parametrize(("event", "nth"), [("sqlite3.connect", 1), ("os.link", 1), ("os.link", 4)])
def test_a_run_killed_before_its_first_commit_begins_when_it_is_run_again(study, spawn, cli, event, nth):
    command = ("run", study.register(), "--out", study.out)
    assert spawn(*command, before=KILL_AT_EVENT.format(event=event, nth=nth)).exit == -signal.SIGKILL
    assert study.out.exists()
    answer = cli(*command)
    assert answer.exit == 0
    assert answer.err.startswith("sealed: ")
    assert cli("verify", study.bundle).exit == 0
    assert {path.stem for path in (study.out / "keys").glob("[a-z]*")} == KEYS


def test_a_run_killed_while_the_bundle_is_written_leaves_none_and_no_draft_stays(study, spawn, cli):
    command = ("run", study.register(), "--out", study.out)
    assert spawn(*command, before=KILL_AT_EVENT.format(event="os.rename", nth=1)).exit == -signal.SIGKILL
    assert not study.bundle.exists()
    assert cli(*command).exit == 0
    assert cli("verify", study.bundle).exit == 0
    assert not [path for path in study.out.iterdir() if "partial" in path.name]


def test_an_interrupted_run_says_so_and_goes_on(study, spawn, cli):
    command = ("run", study.register(), "--out", study.out, "--json")
    interrupt = KILL_AT_COMMIT.format(nth=3).replace("SIGKILL", "SIGINT")
    answer = spawn(*command, before=interrupt)
    assert answer.exit == 130
    assert answer.json["error"]["kind"] == "interrupted"
    assert "the same command goes on from there" in answer.err
    assert "Traceback" not in answer.err
    assert cli(*command).exit == 0
    assert cli("verify", study.bundle).exit == 0


def test_an_interrupted_reader_says_nothing_of_what_was_kept(spawn, made):
    interrupt = KILL_AT_EVENT.format(event="os.scandir", nth=1).replace("SIGKILL", "SIGINT")
    for command in ("verify", "report"):
        answer = spawn(command, made.folder, before=interrupt)
        assert (answer.exit, answer.out, answer.err) == (130, "", "error: interrupted\n")


LOADING = """
import builtins, sys
load = builtins.__import__
def interrupted(name, *more, **named):
    if name == "argparse":
        raise KeyboardInterrupt
    return load(name, *more, **named)
builtins.__import__ = interrupted
from assay.app.cli.start import entry
entry()
"""


def test_an_interruption_while_the_program_loads_shows_no_traceback(spawn):
    answer = spawn("--version", before=LOADING)
    assert (answer.exit, answer.out, answer.err) == (130, "", "")


def test_the_first_step_of_the_program_goes_on_to_the_rest(spawn):
    answer = spawn("--version", before="from assay.app.cli.start import entry\nentry()")
    assert (answer.exit, answer.err) == (0, "")
    assert answer.out.startswith("assay ")
