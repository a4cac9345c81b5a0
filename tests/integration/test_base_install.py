"""What `pip install assay` alone gives: an offline verifier that stands on two packages."""

import json
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from assay.app.cli.main import main

REPOSITORY = Path(__file__).resolve().parents[2]
# PyNaCl is built on cffi, which brings its parser; pip and setuptools come with the environment.
EXPECTED = {"assay", "pynacl", "orjson", "cffi", "pycparser"}
UNREACHABLE = ("ConnectionError", "NewConnection", "Temporary failure", "timed out", "Network is unreachable")

pytestmark = pytest.mark.timeout(600)


def pip(python, *arguments):
    """Runs pip; a registry that cannot be reached skips the test by pip's own words."""
    command = [python, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY.anchor)
    if done.returncode and any(words in done.stderr for words in UNREACHABLE):
        pytest.skip(f"needs a package registry: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    pip(sys.executable, "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, REPOSITORY)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def base(wheel, tmp_path_factory):
    """A fresh environment with the wheel and what it asks for, nothing else."""
    folder = tmp_path_factory.mktemp("base") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip(folder / "bin" / "python", "install", "--quiet", wheel)
    return folder / "bin"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """The bundle of the prompts example, made in the full environment."""
    folder = tmp_path_factory.mktemp("run")
    file = REPOSITORY / "examples" / "prompts" / "registration.yaml"
    assert main(["run", str(file), "--out", str(folder / "run"), "--quiet"]) == 0
    return folder / "run" / "bundle.zip"


@pytest.fixture
def assay(base, tmp_path):
    """Runs the installed command where nothing of this repository can be found."""

    def run(*arguments):
        environment = {"PATH": str(base), "HOME": str(tmp_path), "LANG": "C.UTF-8"}
        environment |= {name: value for name, value in os.environ.items() if name == "SYSTEMROOT"}
        command = [base / "assay", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)

    return run


def test_two_packages_are_pulled_in_and_what_they_stand_on(base):
    listed = json.loads(pip(base / "python", "list", "--format=json"))
    assert {package["name"].lower() for package in listed} - {"pip", "setuptools"} == EXPECTED


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"assay"}
    assert "assay/verifier/verify.py" in names
    assert not [name for name in names if "test_" in name or name.endswith((".pyc", ".csv", ".jsonl", ".key"))]
    assert any(name.endswith("LICENSE") for name in names)


def test_a_bundle_is_consistent_there_for_who_asks_no_more(assay, bundle):
    done = assay("verify", bundle, "--integrity-only", "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["outcome"], done.stderr) == (0, "consistent", "")
    assert {step["status"] for step in report["steps"]} == {"passed", "unchecked"}


def test_its_verdict_is_unchecked_there_and_the_report_says_what_to_install(assay, bundle):
    done = assay("verify", bundle)
    assert done.returncode == 3
    assert "UNCHECKED" in done.stdout
    assert "lab 'experiment' is not installed here" in done.stdout
    report = json.loads(assay("verify", bundle, "--json").stdout)
    unchecked = [step["name"] for step in report["steps"] if step["status"] == "unchecked"]
    assert unchecked == ["structure", "verdict", "trust"]


def test_a_damaged_bundle_is_invalid_there(assay, bundle, tmp_path):
    data = bytearray(bundle.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "damaged.zip").write_bytes(data)
    done = assay("verify", tmp_path / "damaged.zip", "--integrity-only")
    assert done.returncode == 1
    assert "INVALID" in done.stdout


def test_a_bundle_can_be_looked_into_there(assay, bundle):
    done = assay("inspect", bundle, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["lab"] == "experiment"
    done = assay("inspect", bundle, "--log", "rows", "--count", "1")
    assert done.returncode == 0
    assert json.loads(done.stdout)["kind"] == "run.opened"


@pytest.mark.parametrize("arguments", [["run", "x.yaml"], ["experiment", "new", "x.csv"]])
def test_what_needs_more_says_which_extra_to_install(assay, arguments):
    done = assay(*arguments)
    assert (done.returncode, done.stdout) == (3, "")
    assert "pip install '.[" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_report_needs_the_lab_and_says_so(assay, bundle):
    done = assay("report", bundle)
    assert (done.returncode, done.stdout) == (3, "")
    assert "lab 'experiment' is not installed here" in done.stderr


@pytest.mark.parametrize("command", [[], ["verify"], ["inspect"], ["run"], ["report"], ["keys"], ["experiment"]])
def test_help_is_there_without_any_extra(assay, command):
    done = assay(*command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "usage: assay" in done.stdout
