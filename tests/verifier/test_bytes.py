"""No byte and no line of a bundle can change without the verifier saying so."""

import shutil
from hashlib import sha256
from itertools import pairwise

import pytest

from assay.kernel.container import open_container, read_whole
from assay.kernel.errors import UnknownVersion
from assay.kernel.manifest import MANIFEST
from assay.testing.lines import drop_line, flip_byte, repeat_line, swap_lines, write_files
from assay.verifier.examination import Examination
from assay.verifier.intake import check_container, check_files, check_manifest
from assay.verifier.result import Outcome, Verification, new_steps
from assay.verifier.verify import Question, verify_bundle

GOOD = {Outcome.CONSISTENT, Outcome.AUTHENTIC}
WHOLE = Question(integrity_only=True, jobs=1)
# Some fifteen thousand verifications are too long for one test; every byte falls into one part.
PARTS = 8


def read_files(bundle):
    return {path: read_whole(span) for path, span in open_container(bundle).items()}


def write_in_place(path, data):
    """Writes over what is there; a file that is cut to nothing first is slow on some disks."""
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()


def judge(bundle):
    """The outcome of verifying, or ``None`` where the bundle claims to be of a format that is not known here."""
    try:
        return verify_bundle(bundle, WHOLE).outcome
    except UnknownVersion:
        return None


class Bench:
    """A copy of a bundle of which one file is changed, judged and put back."""

    def __init__(self, bundle, folder):
        self.folder = folder
        self.files = read_files(bundle)
        write_files(self.files, folder)

    def judge(self, path, data):
        """The outcome after one file became ``data``, and the manifest, if it is another one, was put right."""
        manifest = self.files[MANIFEST]
        write_in_place(self.folder / path, data)
        if path != MANIFEST:
            write_in_place(self.folder / MANIFEST, self._list(path, data))
        outcome = judge(self.folder)
        write_in_place(self.folder / path, self.files[path])
        write_in_place(self.folder / MANIFEST, manifest)
        return outcome

    def _list(self, path, data):
        stated, listed = (b'"path":"%s","sha256":"%s","size":%d' % line for line in self._lines(path, data))
        assert stated in self.files[MANIFEST]
        return self.files[MANIFEST].replace(stated, listed)

    def _lines(self, path, data):
        for each in (self.files[path], data):
            yield path.encode(), sha256(each).hexdigest().encode(), len(each)


@pytest.fixture
def bench(small, tmp_path):
    return Bench(small, tmp_path / "copy")


def test_the_unchanged_bundle_is_good(small, bench):
    assert verify_bundle(small, WHOLE).outcome is Outcome.CONSISTENT
    assert verify_bundle(small.with_suffix(".zip"), WHOLE).outcome is Outcome.CONSISTENT
    assert bench.judge("a.txt", bench.files["a.txt"]) is Outcome.CONSISTENT
    assert {path for path in bench.files if path.startswith("checkpoints/")} == {
        "checkpoints/000000.json",
        "checkpoints/000001.json",
    }


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.timeout(300)
def test_any_flipped_byte_is_found_though_the_manifest_was_put_right(bench, part):
    survivors = [
        (path, offset)
        for path, data in bench.files.items()
        for offset in range(part, len(data), PARTS)
        if bench.judge(path, flip_byte(data, offset)) in GOOD
    ]
    assert survivors == []


def test_only_the_manifest_can_claim_another_format(bench):
    manifest = bench.files[MANIFEST]
    for text in (b'"scheme":"', b'"version":'):
        offset = manifest.index(text) + len(text)
        assert bench.judge(MANIFEST, flip_byte(manifest, offset, 2)) is None


@pytest.mark.parametrize("mask", [0x20, 0x80])
def test_other_flipped_bits_are_found_too(bench, mask):
    survivors = [
        (path, offset)
        for path, data in bench.files.items()
        for offset in range(mask % 13, len(data), 13)
        if bench.judge(path, flip_byte(data, offset, mask)) in GOOD
    ]
    assert survivors == []


def test_any_flipped_byte_is_against_the_manifest(small, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(small, folder)
    container = check_container(folder, Verification(steps=new_steps()))
    manifest = check_manifest(container, Verification(steps=new_steps()))
    for path, data in read_files(small).items():
        for offset in range(len(data)) if path != MANIFEST else ():
            write_in_place(folder / path, flip_byte(data, offset))
            result = Verification(steps=new_steps())
            check_files(Examination(container=container, manifest=manifest, result=result))
            assert [failure.where for failure in result.step("files").failures] == [path], (path, offset)
        write_in_place(folder / path, data)


def test_any_flipped_byte_of_the_zip_is_found(small, tmp_path):
    data = small.with_suffix(".zip").read_bytes()
    place = tmp_path / "flipped.zip"
    place.write_bytes(data)
    survivors = []
    for offset in range(len(data)):
        write_in_place(place, flip_byte(data, offset))
        if judge(place) in GOOD:
            survivors.append(offset)
    assert survivors == []


@pytest.mark.parametrize("change", [drop_line, repeat_line, swap_lines])
def test_any_line_dropped_repeated_or_swapped_is_found(bench, change):
    tried = 0
    for path, data in bench.files.items():
        for number in range(data.count(b"\n")):
            changed = change(data, number)
            if changed != data:
                tried += 1
                assert bench.judge(path, changed) is not Outcome.CONSISTENT, (path, number)
    assert tried > 8


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"\n", lambda data: b"\n" + data])
def test_a_cut_or_added_line_feed_is_found_in_every_file(bench, change):
    for path, data in bench.files.items():
        assert bench.judge(path, change(data)) not in GOOD, path


def test_any_file_gone_added_or_swapped_is_found(small, tmp_path):
    files = read_files(small)
    variants = {f"without {path}": {other: data for other, data in files.items() if other != path} for path in files}
    variants["with one more"] = {**files, "more.txt": b"more\n"}
    names = [*files]
    for one, other in pairwise(names):
        variants[f"{one} as {other}"] = {**files, one: files[other], other: files[one]}
    for what, variant in variants.items():
        folder = tmp_path / what.replace("/", "_")
        write_files(variant, folder)
        assert verify_bundle(folder, WHOLE).outcome is Outcome.INVALID, what
