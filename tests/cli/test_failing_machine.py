"""What the machine refuses: permissions, a full disk, a store that somebody else holds. Nothing is half-written."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HOLDER = """
import sys
from pathlib import Path
from assay.kernel.store.sqlite import SqliteStore
from assay.labs.experiment.logs import LAYOUT
store = SqliteStore(Path(sys.argv[1]), LAYOUT)
print("held", flush=True)
sys.stdin.read()
store.close()
"""


class SmallDisk:
    """A file system of a few pages, that can be given more."""

    def __init__(self, folder):
        self.folder = folder

    def mount(self, size):
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self.folder], capture_output=True, text=True
        )
        if mounted.returncode:
            pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")

    def grow(self, size):
        subprocess.run(["mount", "-o", f"remount,size={size}", self.folder], check=True)

    def fill(self):
        try:
            with (self.folder / "filler").open("wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
        except OSError:
            return


@pytest.fixture
def small_disk(tmp_path):
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("a small file system can be mounted by root only")
    folder = tmp_path / "small"
    folder.mkdir()
    yield SmallDisk(folder)
    if folder.is_mount():
        subprocess.run(["umount", folder], check=True)


def test_a_registration_that_nobody_may_read(study, unprivileged):
    path = study.register()
    path.chmod(0)
    answer = unprivileged(study.folder, "run", path.name, "--out", "out", "--json")
    assert answer.exit == 2
    assert answer.json["error"]["message"] == "'registration.yaml': cannot be read: Permission denied"
    assert not study.out.exists()


def test_data_that_nobody_may_read(study, unprivileged):
    path = study.register()
    study.data.chmod(0)
    answer = unprivileged(study.folder, "run", path.name, "--out", "out")
    assert answer.exit == 2
    assert answer.err == "error: 'outcomes.csv': cannot be read: Permission denied\n"
    assert not study.out.exists()


def test_a_folder_that_nobody_may_write_to(study, unprivileged):
    if os.geteuid() != 0:
        pytest.skip("the folder is this user's own; only root can give the right to write to it up")
    answer = unprivileged(study.folder, "run", study.register().name, "--out", "out")
    assert answer.exit == 2
    assert answer.err == "error: cannot make the folder out: Permission denied\n"
    assert not study.out.exists()


def test_a_bundle_that_nobody_may_read_is_not_called_invalid(zipped, unprivileged):
    zipped.chmod(0)
    for command in ("verify", "report", "inspect"):
        answer = unprivileged(zipped.parent, command, zipped.name, "--json")
        assert answer.exit == 3
        assert answer.json["error"]["message"] == "cannot read bundle.zip: permission denied"


def test_a_file_of_a_bundle_that_nobody_may_read_leaves_it_undecided(bundle, unprivileged):
    log = bundle / "logs" / "rows.jsonl"
    log.chmod(0)
    answer = unprivileged(bundle.parent, "verify", bundle.name, "--json")
    assert answer.exit == 3
    assert answer.json["error"]["code"] == "missing-material"
    assert "rows.jsonl" in answer.json["error"]["message"]


def test_a_policy_that_nobody_may_read(zipped, unprivileged):
    policy = zipped.parent / "trust.json"
    policy.write_text("{}")
    policy.chmod(0)
    answer = unprivileged(zipped.parent, "verify", zipped.name, "--policy", policy.name)
    assert answer.exit == 2
    assert answer.err == "error: cannot read the policy trust.json: Permission denied\n"


def test_a_store_that_another_process_holds(study, cli, refused):
    cli("run", study.register(), "--out", study.out)
    study.bundle.unlink()
    before = study.files()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, study.out / "evidence.db"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    with holder:
        assert holder.stdout.readline() == "held\n"
        says = [study.out / "evidence.db", "another process", "wait for it to end, or stop it"]
        error = refused("run", study.folder / "registration.yaml", "--out", study.out, code=4, says=says)
        assert error["code"] == "store-locked"
        assert not study.bundle.exists()
        holder.stdin.close()
        assert holder.wait(timeout=30) == 0
    assert cli("run", study.folder / "registration.yaml", "--out", study.out).exit == 0
    assert {name: data for name, data in study.files().items() if name in before} == before


# 0: not even the folder of keys; 16k: some keys; 128k: no store; 512k: some rows.
@pytest.mark.parametrize("size", ["4k", "16k", "128k", "512k"])
def test_a_run_on_a_full_disk_goes_on_when_there_is_space(make_study, small_disk, cli, size):
    study = make_study(units=400)
    small_disk.mount(size)
    if size == "4k":
        small_disk.fill()
    command = ("run", study.register(), "--out", small_disk.folder / "out")
    answer = cli(*command, "--json")
    assert answer.exit == 5
    assert answer.json["error"]["kind"] == "unavailable"
    assert str(small_disk.folder) in answer.err
    assert "space" in answer.err or "full" in answer.err
    assert not (small_disk.folder / "out" / "bundle.zip").exists()
    small_disk.grow("32m")
    assert cli(*command).exit == 0
    assert cli("verify", small_disk.folder / "out" / "bundle.zip").exit == 0


@pytest.mark.parametrize("name", ["bundle.zip", "bundle"])
def test_a_bundle_that_does_not_fit_leaves_nothing(study, small_disk, cli, refused, name):
    small_disk.mount("32k")
    bundle = small_disk.folder / name
    command = ("run", study.register(), "--out", study.out, "--bundle", bundle)
    refused(*command, code=5, says=[bundle, "No space left on device", "nothing of it was kept"])
    assert list(small_disk.folder.iterdir()) == []
    small_disk.grow("32m")
    assert cli(*command).exit == 0
    assert cli("verify", bundle).exit == 0


def test_a_page_that_does_not_fit_leaves_the_older_one(made, small_disk, refused):
    small_disk.mount("16k")
    page = small_disk.folder / "report.html"
    page.write_text("older")
    says = [page, "No space left on device", "nothing of it was kept"]
    refused("report", made.bundle, "--html", page, code=5, says=says)
    assert page.read_text() == "older"
    assert list(small_disk.folder.iterdir()) == [page]


def test_a_key_that_does_not_fit_leaves_nothing(small_disk, refused):
    small_disk.mount("8k")
    small_disk.fill()
    key = small_disk.folder / "me.key"
    refused("keys", "new", key, code=5, says=[key, "No space left on device"])
    assert [path.name for path in small_disk.folder.iterdir()] == ["filler"]


def test_a_page_on_a_full_device(made, refused):
    if not os.path.exists("/dev/full"):  # noqa: PTH110 - a device
        pytest.skip("this system has no /dev/full")
    refused("report", made.bundle, "--html", "/dev/full", code=5, says=["/dev/full", "No space left on device"])


def test_a_page_for_a_device_does_not_replace_it(made, cli):
    assert cli("report", made.bundle, "--html", os.devnull).exit == 0
    assert not os.path.isfile(os.devnull)  # noqa: PTH113 - a device


# A text, a small object and a large one: what was to be said is lost, and the exit code says so.
@pytest.mark.parametrize(
    "words", [["report"], ["report", "--json"], ["inspect", "--log", "rows", "--count", "200", "--json"]]
)
def test_a_full_standard_output(program, made, words):
    if not os.path.exists("/dev/full"):  # noqa: PTH110 - a device
        pytest.skip("this system has no /dev/full")
    command = [*program, words[0], made.bundle, *words[1:]]
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    assert done.returncode == 5
    assert done.stderr == "error: the system failed: [Errno 28] No space left on device\n"


def test_a_full_standard_error_changes_no_answer(program, tmp_path):
    if not os.path.exists("/dev/full"):  # noqa: PTH110 - a device
        pytest.skip("this system has no /dev/full")
    command = [*program, "verify", tmp_path / "none.zip", "--json"]
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, encoding="utf-8", check=False)
    assert done.returncode == json.loads(done.stdout)["error"]["exit"] == 2


def test_a_reader_who_leaves_is_no_failure(program, made):
    command = [*program, "inspect", made.bundle, "--log", "rows", "--count", "200"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=30) == 0


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_do_not_change_the_answer(zipped, closed):
    program = Path(sys.executable).with_name("assay")
    command = f'"{program}" verify "{zipped}" {closed}; echo "exit $?" > "{zipped.parent / "code"}"'
    subprocess.run(["bash", "-c", command], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    assert (zipped.parent / "code").read_text() == "exit 0\n"
