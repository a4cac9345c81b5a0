"""Help: there at once, the same everywhere, with examples and exit codes; and the version."""

import importlib
import json

import pytest

from assay import __version__
from assay.app.cli.main import COMMANDS, EXIT_TEXT

HELP = [[], *([name] for name in COMMANDS)]
NESTED = [["keys", "new"], ["keys", "show"], ["keys", "policy"], ["experiment", "new"]]
NESTED += [
    ["duel", action] for action in ("replay", "rescore", "slice", "show", "export", "fold", "redteam", "monitor")
]
NESTED += [["models", "list"], ["models", "serve"]]
GROUPS = (["keys"], ["experiment"], ["duel"], ["models"])
EXITS = ("0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "70 ", "130 ")

# What help must not wait for: the packages of the labs and the application, and whatever they bring.
HEAVY = (
    "numpy",
    "pydantic",
    "jinja2",
    "ruamel",
    "nacl",
    "orjson",
    "sqlite3",
    "torch",
    "transformers",
    "pyarrow",
    "httpx",
)
OTHER_LABS = {"torch", "transformers", "pyarrow", "httpx"}
LOADED = """
import atexit, json, sys
wanted = sys.argv.pop().split(",")
atexit.register(lambda: print(json.dumps([name for name in wanted if name in sys.modules]), file=sys.stderr))
"""


@pytest.mark.parametrize("words", HELP + NESTED, ids=" ".join)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_shows_examples_and_exit_codes(cli, words, option):
    answer = cli(*words, option)
    assert (answer.exit, answer.err) == (0, "")
    assert " ".join(["usage: assay", *words]) in answer.out
    assert "examples:\n  assay " in answer.out
    assert EXIT_TEXT in answer.out
    assert all(code in EXIT_TEXT for code in EXITS)
    assert "\x1b" not in answer.out
    assert answer.out.count("exit codes:") == 1


def test_the_example_of_a_command_is_of_that_command(cli):
    for words in HELP[1:] + NESTED:
        examples = cli(*words, "--help").out.split("examples:\n")[1].split("\n\n")[0]
        assert all(f"{line} ".startswith(f"  assay {' '.join(words)} ") for line in examples.splitlines())


def test_the_help_of_the_program_lists_every_command(cli):
    shown = cli("--help").out
    for name, summary in COMMANDS.items():
        assert f"  {name:<11} {summary}\n" in shown
        assert importlib.util.find_spec(f"assay.app.cli.{name}_command")


@pytest.mark.parametrize("words", [words for words in HELP[1:] + NESTED if words not in GROUPS])
def test_every_command_takes_the_common_options(cli, words):
    shown = cli(*words, "--help").out
    for option in ("--json", "--quiet", "--no-color"):
        assert option in shown


def test_without_a_command_the_help_is_shown_and_the_usage_is_wrong(cli):
    assert cli().exit == 2
    assert cli().out == cli("--help").out == cli("help").out


@pytest.mark.parametrize(
    ("word", "meant"), [("rnu", "run"), ("verfy", "verify"), ("inspet", "inspect"), ("experiments", "experiment")]
)
def test_an_unknown_command_suggests_the_nearest(cli, word, meant):
    answer = cli(word)
    assert (answer.exit, answer.out) == (2, "")
    assert f"no command is called {word!r}; did you mean `assay {meant}`?" in answer.err


def test_a_command_like_no_other_lists_them_all(cli):
    answer = cli("zzz")
    assert answer.exit == 2
    assert "did you mean" not in answer.err
    assert f"there are: {', '.join(COMMANDS)}" in answer.err


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version(cli, option):
    assert cli(option).out == f"assay {__version__}\n"
    assert cli(option, "--json").json == {"schema": "assay.version", "version": __version__}


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["zzz"]], ids=" ".join)
def test_the_program_answers_without_any_package(spawn, words):
    answer = spawn(*words, ",".join(HEAVY), before=LOADED)
    assert json.loads(answer.err.splitlines()[-1]) == []


@pytest.mark.parametrize(
    "words",
    [["verify"], ["inspect"], ["keys"], ["report"], ["run"], ["experiment"], ["duel"], ["models"]],
    ids=" ".join,
)
def test_the_help_of_a_command_loads_nothing_beyond_the_base_install(spawn, words):
    answer = spawn(*words, "--help", ",".join(HEAVY), before=LOADED)
    assert answer.exit == 0
    assert set(json.loads(answer.err.splitlines()[-1])) <= {"nacl", "orjson", "sqlite3"}


def test_a_run_does_load_them(spawn, study):
    # The check above can fail: a command that does its work loads what the work needs.
    answer = spawn("run", study.register(), "--out", study.out, ",".join(HEAVY), before=LOADED)
    assert answer.exit == 0
    assert set(json.loads(answer.err.splitlines()[-1])) == set(HEAVY) - OTHER_LABS


def test_colour_is_never_in_what_is_piped(cli, made):
    for words in (["report", made.bundle], ["verify", made.bundle], ["inspect", made.bundle]):
        assert "\x1b" not in cli(*words).out


def test_colour_can_be_forced_and_refused(cli, made, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in cli("verify", made.bundle).out
    assert "\x1b" not in cli("verify", made.bundle, "--no-color").out
    assert "\x1b" not in cli("verify", "--help").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in cli("verify", made.bundle).out
