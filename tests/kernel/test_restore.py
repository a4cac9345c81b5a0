"""From a bundle back to a store: the same bundle again, nothing taken in unverified, and forks kept on both sides."""

import json
import shutil
from contextlib import closing
from hashlib import sha256

import pytest

from assay.kernel import canonical
from assay.kernel.bundle import export_bundle
from assay.kernel.container import open_container
from assay.kernel.errors import AssayError, BadInput, BrokenChain, EvidenceInvalid, ForkDetected, MalformedDocument
from assay.kernel.layout import default_layout
from assay.kernel.manifest import MANIFEST
from assay.kernel.restore import compare_bundle, restore_bundle
from assay.kernel.run import open_run
from assay.kernel.store.sqlite import SqliteStore
from assay.testing.entropy import drawn_entropy


def write(run, *numbers):
    for number in numbers:
        with run.transaction() as transaction:
            transaction.append("rows", {"kind": "row", "number": number})


def export(run, to):
    export_bundle(run.store, run.layout, lab="toy", signers=run.sealed.signers, to=to)
    return to


@pytest.fixture(scope="module")
def written(tmp_path_factory, plan):
    """A folder with a closed run and its bundle, which no test changes."""
    place = tmp_path_factory.mktemp("written")
    with open_run(place / "run", plan()) as run:
        write(run, *range(20))
        run.attach("results/verdict.json", b"{}\n")
        run.attach("empty", b"")
        run.close()
        export(run, place / "bundle")
        export(run, place / "bundle.zip")
    return place


@pytest.fixture
def bundle(written, tmp_path):
    """A bundle folder to be spoilt."""
    return shutil.copytree(written / "bundle", tmp_path / "bundle")


def relist(bundle, **changes):
    """Makes the manifest list the files as they are, with changed members."""
    path = bundle / MANIFEST
    manifest = json.loads(path.read_bytes())
    manifest["files"] = [
        {"path": name, "size": span.size, "sha256": sha256((bundle / name).read_bytes()).hexdigest()}
        for name, span in open_container(bundle).items()
        if name != MANIFEST
    ]
    path.write_bytes(canonical.dumps({**manifest, **changes}) + b"\n")


class TestRestoring:
    @pytest.mark.parametrize("form", ["bundle", "bundle.zip"])
    def test_the_same_bundle_comes_out_again(self, written, tmp_path, toy_layout, form):
        manifest = restore_bundle(open_container(written / form), tmp_path / "evidence.db")
        with closing(SqliteStore(tmp_path / "evidence.db", toy_layout)) as store:
            for name in ("again", "again.zip"):
                export_bundle(store, manifest.layout, lab="toy", signers=manifest.signers, to=tmp_path / name)
        assert (tmp_path / "again.zip").read_bytes() == (written / "bundle.zip").read_bytes()
        left = {path.name for path in tmp_path.iterdir()}
        assert left == {"again", "again.zip", "evidence.db", "evidence.db.lock"}

    def test_a_restored_run_opens_as_the_run_it_was(self, written, tmp_path, plan):
        restore_bundle(open_container(written / "bundle"), tmp_path / "evidence.db")
        with open_run(tmp_path, plan()) as run:
            assert run.closed
            assert run.evidence.file("results/verdict.json") == b"{}\n"
            assert run.evidence.file("empty") == b""

    def test_an_open_run_goes_on_where_its_keys_are(self, tmp_path, plan):
        with open_run(tmp_path / "run", plan()) as run:
            write(run, 1, 2)
            export(run, tmp_path / "b.zip")
        for path in (tmp_path / "run").glob("evidence.db*"):
            path.unlink()
        restore_bundle(open_container(tmp_path / "b.zip"), tmp_path / "run" / "evidence.db")
        with open_run(tmp_path / "run", plan()) as run:
            write(run, 3)
            run.close()
            assert run.size("rows") == 5

    def test_never_over_a_store(self, written, tmp_path):
        (tmp_path / "evidence.db").write_bytes(b"mine")
        with pytest.raises(BadInput, match="exists"):
            restore_bundle(open_container(written / "bundle"), tmp_path / "evidence.db")
        assert (tmp_path / "evidence.db").read_bytes() == b"mine"

    def test_what_a_killed_restore_left_is_cleared(self, written, tmp_path):
        for suffix in ("", "-wal", "-shm", ".lock"):
            (tmp_path / f".evidence.db.partial{suffix}").write_bytes(b"half of a")
        restore_bundle(open_container(written / "bundle"), tmp_path / "evidence.db")
        assert [path.name for path in tmp_path.iterdir()] == ["evidence.db"]


class TestSpoiltBundles:
    @pytest.fixture(autouse=True)
    def nothing_appears(self, tmp_path):
        yield
        assert [path.name for path in tmp_path.iterdir() if "evidence" in path.name] == []

    def refuse(self, bundle, error=EvidenceInvalid):
        with pytest.raises(error) as caught:
            restore_bundle(open_container(bundle), bundle.parent / "evidence.db")
        assert isinstance(caught.value, AssayError)
        return caught.value

    def test_a_file_that_the_manifest_does_not_know(self, bundle):
        (bundle / "stranger").write_bytes(b"")
        self.refuse(bundle, MalformedDocument)

    @pytest.mark.parametrize("name", ["results/verdict.json", "logs/rows.jsonl", "notes/rows.note", MANIFEST])
    def test_a_file_that_is_gone(self, bundle, name):
        (bundle / name).unlink()
        if name == "results/verdict.json":
            (bundle / "results").rmdir()
        self.refuse(bundle, MalformedDocument)

    @pytest.mark.parametrize("name", ["results/verdict.json", "logs/rows.jsonl", "notes/rows.note"])
    def test_a_file_that_was_changed(self, bundle, name):
        data = (bundle / name).read_bytes()
        (bundle / name).write_bytes(data[:-2] + b"x\n")
        assert name in self.refuse(bundle).message

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda data: data.replace(b'"number":7', b'"number":8'),
            lambda data: b"".join(data.splitlines(keepends=True)[:-1]),
            lambda data: b"".join(data.splitlines(keepends=True)[1:]),
            lambda data: data + data,
            lambda data: data[:-1],
            lambda data: b"null\n" + data,
            lambda data: b"\n",
            lambda data: b"",
            lambda data: b"x" * (9 << 20),
            lambda data: b'{"entryHash":"sha256:x"}\n',
            lambda data: b'{"entryHash":1}\n',
        ],
    )
    @pytest.mark.parametrize("log", ["logs/rows.jsonl", "registration.jsonl"])
    def test_a_log_that_does_not_verify(self, bundle, log, spoil):
        path = bundle / log
        data = path.read_bytes()
        path.write_bytes(spoil(data) if spoil(data) != data else data.replace(b'"limit":3', b'"limit":4'))
        relist(bundle)
        self.refuse(bundle)

    @pytest.mark.parametrize("data", [b"{}\n", b"", b"null\n", b"\xff\n"])
    def test_a_checkpoint_that_is_none(self, bundle, data):
        (bundle / "checkpoints" / "000001.json").write_bytes(data)
        relist(bundle)
        self.refuse(bundle)

    def test_a_checkpoint_in_the_middle_that_is_gone(self, bundle):
        (bundle / "checkpoints" / "000001.json").unlink()
        relist(bundle)
        self.refuse(bundle)

    @pytest.mark.parametrize("role", ["author", "rows-log", "witness"])
    def test_a_signer_that_is_gone(self, bundle, role):
        signers = json.loads((bundle / MANIFEST).read_bytes())["signers"]
        relist(bundle, signers=[signer for signer in signers if signer["role"] != role])
        assert role in self.refuse(bundle).message

    def test_a_layout_that_cannot_be(self, bundle):
        layout = json.loads((bundle / MANIFEST).read_bytes())["layout"]
        relist(bundle, layout={**layout, "logs": []})
        self.refuse(bundle)

    def test_a_note_that_is_no_text(self, bundle):
        (bundle / "notes" / "rows.note").write_bytes(b"\xff\xfe")
        relist(bundle)
        assert "rows.note" in self.refuse(bundle, MalformedDocument).message


class TestComparing:
    @pytest.fixture
    def parted(self, tmp_path, plan):
        """One run in two folders that went separate ways after their third row."""
        with open_run(tmp_path / "mine", plan()) as run:
            write(run, 1, 2, 3)
        shutil.copytree(tmp_path / "mine", tmp_path / "theirs")
        with open_run(tmp_path / "theirs", plan()) as run:
            write(run, 4, 5)
        with open_run(tmp_path / "mine", plan()) as run:
            export(run, tmp_path / "same")
        return tmp_path

    def compare(self, run, bundle):
        keys = {key.role: key for key in run.sealed.signers}
        compare_bundle(run.store, open_container(bundle), layout=run.layout, keys=keys)

    def test_a_bundle_of_the_run_agrees_also_when_the_run_went_on(self, parted, plan):
        with open_run(parted / "mine", plan()) as run:
            self.compare(run, parted / "same")
            write(run, 4)
            self.compare(run, parted / "same")
            assert run.store.forks() == []

    def test_a_bundle_that_knows_more_agrees_too(self, parted, plan):
        with open_run(parted / "mine", plan()) as run:
            write(run, 9)
            export(run, parted / "more")
        restore_bundle(open_container(parted / "same"), parted / "old.db")
        with open_run(parted / "mine", plan()) as run, closing(SqliteStore(parted / "old.db", run.layout)) as old:
            keys = {key.role: key for key in run.sealed.signers}
            compare_bundle(old, open_container(parted / "more"), layout=run.layout, keys=keys)

    def test_a_fork_is_kept_on_both_sides_and_ends_the_run(self, parted, plan):
        with open_run(parted / "mine", plan()) as run:
            write(run, 400)
        with open_run(parted / "theirs", plan()) as run:
            export(run, parted / "other")
            other = next(run.store.entries("rows", 5))
        with open_run(parted / "mine", plan()) as run:
            own = next(run.store.entries("rows", 5))
            assert own != other
            with pytest.raises(ForkDetected, match="forked at entry 5") as caught:
                self.compare(run, parted / "other")
            assert caught.value.details == {"log": "rows", "sequence": 5}
            assert next(run.store.entries("rows", 5)) == own
            (fork,) = run.store.forks()
            assert (fork.log, fork.sequence, fork.hash, fork.line) == ("rows", 5, other.hash, other.line)
        with pytest.raises(ForkDetected):
            open_run(parted / "mine", plan())

    def test_another_run_is_no_fork(self, parted, plan):
        with open_run(parted / "stranger", plan(entropy=drawn_entropy(9))) as run:
            write(run, 1)
            export(run, parted / "other")
        with open_run(parted / "mine", plan()) as run:
            with pytest.raises(BrokenChain, match="none that"):
                self.compare(run, parted / "other")
            assert run.store.forks() == []

    def test_a_forged_entry_is_no_fork(self, parted, plan):
        path = parted / "same" / "logs" / "rows.jsonl"
        lines = path.read_bytes().splitlines()
        forged = {**json.loads(lines[2]), "number": 77, "entryHash": "sha256:" + "7" * 64}
        path.write_bytes(b"\n".join([*lines[:2], canonical.dumps(forged), *lines[3:], b""]))
        with open_run(parted / "mine", plan()) as run:
            with pytest.raises(BrokenChain):
                self.compare(run, parted / "same")
            assert run.store.forks() == []

    def test_a_signed_entry_in_another_place_is_no_fork(self, parted, plan):
        path = parted / "same" / "logs" / "rows.jsonl"
        lines = path.read_bytes().splitlines()
        path.write_bytes(b"\n".join([lines[0], lines[2], lines[1], lines[3], b""]))
        with open_run(parted / "mine", plan()) as run:
            with pytest.raises(BrokenChain):
                self.compare(run, parted / "same")
            assert run.store.forks() == []

    def test_another_layout_is_refused(self, parted, plan):
        layout = default_layout("toy", ("rows", "decisions", "more"))
        with open_run(parted / "wider", plan(layout=layout)) as run:
            export(run, parted / "other")
        with open_run(parted / "mine", plan()) as run, pytest.raises(MalformedDocument, match="not laid out"):
            self.compare(run, parted / "other")
