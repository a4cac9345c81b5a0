"""Bundles that are not what they claim to be, or no bundles: the exit code, the path, and what was expected."""

import json
import shutil
import zipfile

import pytest

from assay.kernel.bundle import export_bundle
from assay.kernel.run import Plan, open_run
from assay.labs.experiment.logs import LAYOUT
from assay.testing.labs import TOY, Toy, finish_run

ROWS = "logs/rows.jsonl"
READERS = pytest.mark.parametrize("command", ["verify", "report", "inspect"])


def swap_files(folder):
    first, second = folder / "checkpoints/000000.json", folder / "checkpoints/000001.json"
    held = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(held)


def swap_lines(folder):
    lines = (folder / ROWS).read_bytes().splitlines(keepends=True)
    lines[4], lines[5] = lines[5], lines[4]
    (folder / ROWS).write_bytes(b"".join(lines))


def cut(folder):
    data = (folder / ROWS).read_bytes()
    (folder / ROWS).write_bytes(data[: len(data) // 2])


def flip(folder):
    data = (folder / ROWS).read_bytes()
    (folder / ROWS).write_bytes(data.replace(b'"outcome":false', b'"outcome":true ', 1))


def add(folder):
    (folder / "logs" / "more.jsonl").write_bytes(b"")


def link(folder):
    (folder / "verdict.json").unlink()
    (folder / "verdict.json").symlink_to("report.html")


# Each case: what is done to the folder, the steps that fail, and what the report names.
TAMPERED = {
    "a file is missing": (lambda folder: (folder / ROWS).unlink(), {"files"}, [ROWS, "not in the bundle"]),
    "the verdict is missing": (lambda folder: (folder / "verdict.json").unlink(), {"files"}, ["verdict.json"]),
    "a file was added": (add, {"files"}, ["logs/more.jsonl", "not listed in the manifest"]),
    "a file is cut short": (cut, {"files"}, [ROWS, "bytes, got"]),
    "a cell was changed": (flip, {"files", "entry-hashes"}, [ROWS, "expected SHA-256", "rows entry 3"]),
    "two files are swapped": (swap_files, {"files"}, ["checkpoints/000000.json", "checkpoints/000001.json"]),
    "two entries are swapped": (swap_lines, {"files", "sequences", "links"}, [ROWS, "rows entry 5"]),
    "a file is a link": (link, {"container"}, ["verdict.json", "plain files only"]),
    "there is no manifest": (lambda folder: (folder / "manifest.json").unlink(), {"container"}, ["manifest.json"]),
    "the manifest is empty": (lambda folder: (folder / "manifest.json").write_bytes(b""), {"manifest"}, ["canonical"]),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_a_tampered_bundle_is_invalid_and_the_report_names_the_place(bundle, cli, case):
    change, steps, says = TAMPERED[case]
    assert cli("verify", bundle).exit == 0
    change(bundle)
    plain, twin = cli("verify", bundle), cli("verify", bundle, "--json").json
    assert plain.exit == twin["exit"] == 1
    assert twin["outcome"] == "invalid"
    assert steps <= {step["name"] for step in twin["steps"] if step["status"] == "failed"}
    assert plain.out.splitlines()[-1].startswith("INVALID: ")
    for part in says:
        assert part in plain.out
    assert "verdict" not in twin


def test_a_report_is_made_of_a_sound_bundle_only(bundle, tmp_path, refused):
    flip(bundle)
    page = tmp_path / "report.html"
    refused("report", bundle, "--html", page, code=1, says=[bundle, "files", f"`assay verify {bundle}`"])
    assert not page.exists()


def make_zip(path, members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return path


ZIPS = {
    "a name that climbs out": ({"../outside": b"x"}, zipfile.ZIP_STORED, "'../outside'"),
    "an absolute name": ({"/etc/outside": b"x"}, zipfile.ZIP_STORED, "'/etc/outside'"),
    "a name of another system": ({"C:\\outside": b"x"}, zipfile.ZIP_STORED, "outside"),
    "a bomb": ({"manifest.json": bytes(64 << 20)}, zipfile.ZIP_DEFLATED, "compressed"),
    "nothing": ({}, zipfile.ZIP_STORED, "manifest.json"),
}


@pytest.mark.parametrize("case", ZIPS)
@pytest.mark.parametrize("command", ["verify", "report"])
def test_a_hostile_zip_is_invalid_and_nothing_is_unpacked(tmp_path, cli, command, case):
    members, method, says = ZIPS[case]
    path = make_zip(tmp_path / "hostile.zip", members, method)
    answer = cli(command, path)
    assert answer.exit == 1
    assert says in answer.out if command == "verify" else path.name in answer.err
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("case", ZIPS)
def test_a_hostile_zip_is_not_inspected_either(tmp_path, refused, case):
    members, method, says = ZIPS[case]
    refused("inspect", make_zip(tmp_path / "hostile.zip", members, method), code=1, says=[says])


@pytest.mark.parametrize("keep", [0, 10, 5000, -1])
def test_a_zip_cut_short_is_invalid(zipped, cli, keep):
    zipped.write_bytes(zipped.read_bytes()[:keep])
    answer = cli("verify", zipped)
    assert answer.exit == 1
    assert zipped.name in answer.out


def test_a_zip_of_another_tool_is_invalid_and_the_advice_works(made, tmp_path, cli):
    with zipfile.ZipFile(made.bundle) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    again = make_zip(tmp_path / "again.zip", members, zipfile.ZIP_DEFLATED)
    answer = cli("verify", again)
    assert answer.exit == 1
    assert "unpack it and verify the folder" in answer.out
    shutil.unpack_archive(again, tmp_path / "folder")
    assert cli("verify", tmp_path / "folder").exit == 0


@READERS
def test_a_file_that_is_no_bundle(tmp_path, refused, command):
    path = tmp_path / "rows.jsonl"
    path.write_text("{}\n" * 40)
    refused(command, path, code=2, says=[path, "neither a folder nor a zip: not a bundle"])


@READERS
@pytest.mark.parametrize("inside", [None, "photo.jpg", "logbook/x"])
def test_a_folder_that_is_no_bundle(tmp_path, refused, command, inside):
    if inside:
        (tmp_path / inside).parent.mkdir(exist_ok=True)
        (tmp_path / inside).write_text("x")
    refused(command, tmp_path, code=2, says=[tmp_path, "holds no manifest.json: not a bundle"])


@READERS
def test_a_runs_folder_is_named_as_one_and_its_bundle_too(study, cli, refused, command):
    cli("run", study.register(), "--out", study.out)
    refused(command, study.out, code=2, says=[f"{study.out} is a run's folder; its bundle is {study.bundle}"])
    study.bundle.unlink()
    refused(command, study.out, code=2, says=[f"{study.out} is a run's folder", "`assay run`"])


@READERS
@pytest.mark.parametrize("left", [{"logs"}, {"checkpoints"}, {"logs", "checkpoints", "report.html"}])
def test_a_bundle_that_lost_its_manifest_is_invalid_and_not_a_mistake(bundle, cli, command, left):
    for path in bundle.iterdir():
        if path.name not in left:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    answer = cli(command, bundle)
    assert answer.exit == 1
    assert "manifest.json" in answer.out + answer.err or "container" in answer.err


@pytest.mark.parametrize("command", ["verify", "report"])
def test_a_zip_that_lost_its_manifest_is_invalid_too(bundle, tmp_path, cli, command):
    lines = (bundle / ROWS).read_bytes()
    assert cli(command, make_zip(tmp_path / "lost.zip", {ROWS: lines})).exit == 1


def test_steps_that_were_skipped_in_a_row_take_one_line(bundle, cli):
    (bundle / "manifest.json").write_bytes(b"")
    answer, twin = cli("verify", bundle), cli("verify", bundle, "--json").json
    skipped = [step["number"] for step in twin["steps"] if step["status"] == "skipped"]
    assert skipped == list(range(skipped[0], skipped[-1] + 1))
    (line,) = [line for line in answer.out.splitlines() if "skipped" in line]
    assert line.startswith(f"{skipped[0]}-{skipped[-1]}  skipped    {len(skipped)} steps")
    assert "skipped" not in cli("verify", bundle, "--quiet").out


@READERS
def test_a_bundle_that_is_not_there(tmp_path, refused, command):
    path = tmp_path / "none.zip"
    refused(command, path, code=2, says=[path, "expected a folder or a .zip"])


def test_a_key_that_must_not_be_used_is_the_bundles_fault(bundle, cli, refused):
    path = bundle / "manifest.json"
    manifest = json.loads(path.read_bytes())
    manifest["signers"][0]["publicKey"] = "ed25519-pub:" + "A" * 43 + "="
    path.write_text(json.dumps(manifest, sort_keys=True, separators=(",", ":")) + "\n")
    refused("inspect", bundle, code=1, says=["small order"])
    assert cli("verify", bundle).exit == 1


def test_a_bundle_of_a_later_format_is_not_called_invalid(bundle, refused):
    path = bundle / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"version":1}', b'"version":2}'))
    refused("verify", bundle, code=3, says=["version 2", "this release reads version 1"])
    refused("inspect", bundle, code=3, says=["version 2"])


@pytest.fixture
def open_bundle(tmp_path):
    """The bundle of a run that was begun and never closed."""
    document = {"lab": "experiment", "version": 1}
    bundle = tmp_path / "open.zip"
    with open_run(tmp_path / "open", Plan(lab="experiment", layout=LAYOUT, document=document)) as run:
        export_bundle(run.store, LAYOUT, lab="experiment", signers=run.sealed.signers, to=bundle)
    return bundle


@pytest.fixture
def toy_bundle(tmp_path):
    """The finished run of a lab that the command line does not know."""
    registration = Toy(id="toy", values=(1, 2, 30), limit=10)
    plan = Plan(lab=TOY.name, layout=TOY.layout, document=TOY.document(registration))
    bundle = tmp_path / "toy.zip"
    with open_run(tmp_path / "toy", plan) as run:
        finish_run(TOY, registration, run, tmp_path)
        export_bundle(run.store, TOY.layout, lab=TOY.name, signers=run.sealed.signers, to=bundle)
    return bundle


def test_a_run_that_was_not_closed_is_incomplete_and_not_invalid(open_bundle, cli, refused):
    answer = cli("verify", open_bundle)
    assert answer.exit == 3
    assert answer.out.splitlines()[-1].startswith("INCOMPLETE: ")
    refused("report", open_bundle, code=3, says=[open_bundle, "incomplete"])


def test_a_lab_that_is_not_here_leaves_the_verdict_unchecked(toy_bundle, cli, refused):
    answer = cli("verify", toy_bundle)
    assert answer.exit == 3
    assert answer.out.splitlines()[-1].startswith("UNCHECKED: ")
    assert "lab 'toy' is not installed here" in answer.out
    refused("report", toy_bundle, code=3, says=[toy_bundle, "unchecked", "not installed here"])


def test_integrity_only_says_so_beside_the_outcome(toy_bundle, cli):
    answer = cli("verify", toy_bundle, "--integrity-only")
    assert answer.exit == 0
    assert answer.out.splitlines()[-1].startswith("CONSISTENT (integrity only): ")
