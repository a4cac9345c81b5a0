"""The kernel and the verifier import two packages, print nothing, write nothing and start nothing."""

import json
import os
import pkgutil
import subprocess
import sys

import pytest

import assay.kernel
import assay.verifier

# PyNaCl's binding names itself _sodium and is built on cffi, which brings its parser.
ALLOWED = {"assay", "nacl", "_sodium", "cffi", "_cffi_backend", "pycparser", "orjson"}

# Runs in a fresh interpreter: imports the modules named, and tells in a file what that pulled in and did.
PROBE = """
import importlib, json, os, sys
report, folder, *names = sys.argv[1:]
sys.path.insert(0, folder)
deeds = []
WATCHED = ("socket.", "subprocess.", "os.mkdir", "os.remove", "os.rename", "os.system", "os.fork", "os.posix_spawn")

def watch(event, arguments):
    if event.startswith(WATCHED):
        deeds.append(event)
    elif event == "open":
        _, mode, flags = arguments
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or set(mode or "") & set("wax+"):
            deeds.append("open for writing")

before = set(sys.modules)
sys.addaudithook(watch)
for name in names:
    importlib.import_module(name)
done = list(deeds)
outsiders = {name.partition(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)
outsiders.discard("__mp_main__")  # the standard library's second name for this program
with open(report, "w") as file:
    json.dump({"outsiders": sorted(outsiders), "deeds": done}, file)
"""


def list_modules(package):
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [package.__name__, *(module.name for module in found)]


def import_afresh(tmp_path, *names):
    """What importing the modules pulled in and did, in an interpreter of its own with nothing in its home."""
    empty, planted = tmp_path / "empty", tmp_path / "planted"
    empty.mkdir()
    planted.mkdir(exist_ok=True)
    report = tmp_path / "report.json"
    places = {name: str(empty) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
    done = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", PROBE, report, planted, *names],
        cwd=empty,
        env={**os.environ, **places},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(report.read_text(encoding="utf-8"))
    return {
        "outsiders": set(told["outsiders"]),
        "deeds": told["deeds"],
        "printed": done.stdout + done.stderr,
        "left": [path.name for path in empty.iterdir()],
    }


def plant(tmp_path, source):
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "planted.py").write_text(source, encoding="utf-8")


@pytest.mark.parametrize("package", [assay.kernel, assay.verifier], ids=lambda package: package.__name__)
def test_importing_pulls_in_two_packages_and_does_nothing(tmp_path, package):
    names = list_modules(package)
    assert len(names) > 1
    told = import_afresh(tmp_path, *names)
    assert told["outsiders"] <= ALLOWED
    assert (told["deeds"], told["printed"], told["left"]) == ([], "", [])


def test_another_package_is_noticed(tmp_path):
    assert "numpy" in import_afresh(tmp_path, "numpy")["outsiders"] - ALLOWED


@pytest.mark.parametrize(
    ("source", "deed"),
    [
        ("open('x', 'w').close()", "open for writing"),
        ("import os; os.open('x', os.O_CREAT | os.O_WRONLY)", "open for writing"),
        ("import os; os.mkdir('x')", "os.mkdir"),
        ("import subprocess; subprocess.run(['true'])", "subprocess.Popen"),
        ("import socket; socket.socket().close()", "socket.__new__"),
    ],
)
def test_a_deed_on_import_is_noticed(tmp_path, source, deed):
    plant(tmp_path, source.replace("open('x', 'w').close()", "with open('x', 'w'): pass"))
    assert deed in import_afresh(tmp_path, "planted")["deeds"]


def test_a_print_on_import_is_noticed(tmp_path):
    plant(tmp_path, "print('hello')")
    assert import_afresh(tmp_path, "planted")["printed"] == "hello\n"


def test_a_file_left_on_import_is_noticed(tmp_path):
    plant(tmp_path, "from pathlib import Path; (Path.home() / 'left').touch()")
    assert import_afresh(tmp_path, "planted")["left"] == ["left"]
