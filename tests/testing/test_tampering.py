"""The tampering tools change what they say and nothing else."""

import pytest

from assay.kernel.bundle import export_bundle
from assay.kernel.container import open_container, read_whole
from assay.kernel.keys import read_signer
from assay.kernel.roles import roles_of
from assay.kernel.run import Plan, open_run
from assay.kernel.writer import Cadence
from assay.testing.clock import SteppingClock
from assay.testing.entropy import drawn_entropy
from assay.testing.labs import TOY, finish_run
from assay.testing.lines import drop_line, flip_byte, repeat_line, replace_texts, swap_lines
from assay.testing.tampering import fresh_keys, open_forgery

LINES = b"a\nb\nc\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A bundle as a folder and as a zip, and the keys of its run."""
    folder = tmp_path_factory.mktemp("made")
    document = {"lab": "toy", "version": 1, "id": "tools", "values": [3, 12, 5], "limit": 10}
    plan = Plan(
        lab="toy",
        layout=TOY.layout,
        document=document,
        cadence=Cadence(entries=3),
        clock=SteppingClock(),
        entropy=drawn_entropy(2),
    )
    with open_run(folder / "run", plan) as run:
        finish_run(TOY, TOY.load(document), run, folder)
        for name in ("bundle", "bundle.zip"):
            export_bundle(run.store, TOY.layout, lab="toy", signers=run.sealed.signers, to=folder / name)
    keys = {role: read_signer(folder / "run" / "keys" / f"{role}.key") for role in roles_of(TOY.layout)}
    return folder, keys


def read(path):
    return {name: read_whole(span) for name, span in open_container(path).items()}


@pytest.mark.parametrize("source", ["bundle", "bundle.zip"])
@pytest.mark.parametrize("fix_manifest", [True, False])
def test_a_bundle_that_is_opened_and_written_is_the_same(made, tmp_path, source, fix_manifest):
    forgery = open_forgery(made[0] / source)
    assert read(forgery.write(tmp_path / "copy", fix_manifest=fix_manifest)) == read(made[0] / "bundle")
    forgery.write(tmp_path / "copy.zip", fix_manifest=fix_manifest)
    assert (tmp_path / "copy.zip").read_bytes() == (made[0] / "bundle.zip").read_bytes()


def test_repairing_what_is_whole_changes_nothing(made):
    forgery = open_forgery(made[0] / "bundle")
    before = forgery.contents()
    for log in forgery.logs:
        forgery.relink(log, renumber=True)
        forgery.resign(log, made[1][forgery.spec(log).signer])
    forgery.repair(made[1])
    assert forgery.contents() == before


def test_resealing_with_the_runs_own_keys_changes_nothing(made):
    forgery = open_forgery(made[0] / "bundle")
    before = forgery.contents()
    forgery.reseal(made[1])
    assert forgery.contents() == before


def test_resealing_with_other_keys_leaves_none_of_the_old(made):
    forgery = open_forgery(made[0] / "bundle")
    forgery.reseal(fresh_keys(forgery.layout))
    everything = b"".join(forgery.contents().values())
    old = [key.public for key in made[1].values()]
    assert not any(key.key_id.encode() in everything for key in old)
    assert not any(key.to_json()["publicKey"].encode() in everything for key in old)


def test_a_cut_keeps_what_the_checkpoint_covers(made):
    forgery = open_forgery(made[0] / "bundle")
    sizes = {log: forgery.size(1, log) for log in forgery.logs}
    forgery.cut(1)
    assert {log: len(entries) for log, entries in forgery.logs.items()} == sizes
    assert (sorted(forgery.checkpoints), forgery.notes, forgery.files) == ([0, 1], {}, {})


def test_an_override_is_the_last_word(made, tmp_path):
    forgery = open_forgery(made[0] / "bundle")
    forgery.overrides = {"verdict.json": b"{}", "notes/rows.note": None, "more.txt": b"x"}
    written = read(forgery.write(tmp_path / "bundle"))
    assert (written["verdict.json"], written["more.txt"]) == (b"{}", b"x")
    assert "notes/rows.note" not in written
    assert [item["path"] for item in forgery.manifest["files"]] == [*forgery.contents()]


def test_lines_and_bytes():
    assert flip_byte(b"abc", 1) == b"acc"
    assert flip_byte(b"abc", 0, 0x20) == b"Abc"
    assert [drop_line(LINES, number) for number in range(3)] == [b"b\nc\n", b"a\nc\n", b"a\nb\n"]
    assert repeat_line(LINES, 1) == b"a\nb\nb\nc\n"
    assert (swap_lines(LINES, 0), swap_lines(LINES, 2)) == (b"b\na\nc\n", LINES)
    assert replace_texts({"a": ["x", {"b": "x", "x": 1}], "c": "y"}, {"x": "z"}) == {
        "a": ["z", {"b": "z", "x": 1}],
        "c": "y",
    }
