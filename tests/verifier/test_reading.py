"""Logs are read in blocks: the same report however they are cut, on any number of processes, in bounded memory."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assay.kernel import canonical
from assay.kernel.archive import Span
from assay.kernel.errors import Unavailable
from assay.kernel.keys import Signer
from assay.kernel.layout import LogSpec
from assay.kernel.logs import MAX_LINE_BYTES, Place, freeze_body, make_entry
from assay.testing.lines import flip_byte
from assay.verifier.entries import PICKED_LIMIT, check_entries
from assay.verifier.examination import Examination
from assay.verifier.intake import check_container, check_files, check_manifest
from assay.verifier.reading import BlockPlan, Scanner, lines_of, read_file
from assay.verifier.result import Outcome, Verification, new_steps

MIB = 1 << 20
SPEC = LogSpec(name="rows", file="logs/rows.jsonl", domain="assay-test-entry-v1", signer="rows-log")
SIGNER = Signer(role="rows-log", domain=SPEC.domain, seed=bytes(range(32)))

# What a process has used at its most; rusage would also count the process that started it.
MEASURE = """
import sys
from pathlib import Path
from assay.verifier.verify import Question, verify_bundle
folder, held = Path(sys.argv[1]), []
if sys.argv[2] == "verify":
    held = [verify_bundle(folder, Question(integrity_only=True, jobs=1)).outcome.value]
else:
    held = ["kept", (folder / "logs" / "decisions.jsonl").read_bytes().split()]
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(held[0], peak.split()[1])
"""


def write_lines(path, sizes):
    """A file whose lines are of the given sizes in bytes, line feed included, and tell their number."""
    with path.open("wb") as file:
        for number, size in enumerate(sizes):
            file.write(str(number).encode().ljust(size - 1, b".") + b"\n")
    return Span(path, 0, sum(sizes))


def make_log(path, count, padding=""):
    """A file of entries, as the writer makes them."""
    place, lines = Place(0, bytes(32)), []
    for number in range(count):
        body = freeze_body(SPEC, {"kind": "row.read", "number": number, "padding": padding})
        row = make_entry(SPEC, body, after=place, recorded_at="2026-01-02T03:04:05.000Z", signer=SIGNER)
        place = Place(row.sequence, row.hash)
        lines.append(row.line + b"\n")
    path.write_bytes(b"".join(lines))
    return Span(path, 0, path.stat().st_size)


@pytest.mark.parametrize(
    "sizes",
    [
        [10],
        [100] * 30_000,
        [MIB, MIB, 5],
        [MIB - 1, 2, MIB],
        [MIB + 1, 10, 3 * MIB, 10],
        [10, 4 * MIB, 4 * MIB, 10],
        [MAX_LINE_BYTES + 1, 10],
        [7, MAX_LINE_BYTES + 1, 10],
    ],
    ids=lambda sizes: f"{len(sizes)}x{sizes[0]}",
)
def test_blocks_hold_every_line_once_and_whole(tmp_path, sizes):
    span = write_lines(tmp_path / "log", sizes)
    reading = read_file(span, plan=True)
    lines = [*lines_of(reading.blocks)]
    assert [len(line) + 1 for line in lines] == sizes
    assert [int(line.rstrip(b".")) for line in lines] == [*range(len(sizes))]
    assert (reading.fault, reading.lines, reading.size) == ("", len(sizes), sum(sizes))
    firsts = [block.first_line for block in reading.blocks]
    counts = [len([*lines_of([block])]) for block in reading.blocks]
    assert firsts == [1 + sum(counts[:number]) for number in range(len(counts))]


def test_a_span_may_begin_inside_a_file(tmp_path):
    write_lines(tmp_path / "log", [50, 60, 70])
    reading = read_file(Span(tmp_path / "log", 50, 60), plan=True)
    assert [line.rstrip(b".") for line in lines_of(reading.blocks)] == [b"1"]


@pytest.mark.parametrize("before", [0, 2, 10, MIB - 1, MIB, MIB + 1])
def test_the_longest_line_is_the_same_wherever_it_lies(tmp_path, before):
    first = [before] if before else []
    longest = MAX_LINE_BYTES + 1  # with its line feed
    assert read_file(write_lines(tmp_path / "log", [*first, longest, 5]), plan=True).fault == ""
    reading = read_file(write_lines(tmp_path / "log", [*first, longest + 1, 5]), plan=True)
    assert f"from byte {before} on is longer than {MAX_LINE_BYTES}" in reading.fault


def test_a_line_that_never_ends_is_not_kept(tmp_path):
    with (tmp_path / "log").open("wb") as file:
        file.truncate(40 * MIB)
    reading = read_file(Span(tmp_path / "log", 0, 40 * MIB), plan=True)
    assert (reading.blocks, reading.size) == ([], 40 * MIB)
    assert "longer than" in reading.fault


@pytest.mark.parametrize("sizes", [[5], [100] * 20_000, [MIB + 5]])
def test_a_missing_last_line_feed_is_a_fault(tmp_path, sizes):
    span = write_lines(tmp_path / "log", sizes)
    reading = read_file(Span(span.file, 0, span.size - 1), plan=True)
    assert reading.fault == f"the last line, from byte {sum(sizes[:-1])} on, does not end with a line feed"
    assert reading.lines == len(sizes) - 1


def test_an_empty_file_has_no_block_and_no_fault(tmp_path):
    (tmp_path / "log").touch()
    reading = read_file(Span(tmp_path / "log", 0, 0), plan=True)
    assert (reading.blocks, reading.lines, reading.fault) == ([], 0, "")


def test_a_log_of_several_blocks_scans_without_a_fault(tmp_path):
    reading = read_file(make_log(tmp_path / "log", 40, "x" * 100_000), plan=True)
    assert len(reading.blocks) > 3
    with Scanner(1) as scanner:
        blocks = [*scanner.scan(SPEC, SIGNER.public, reading.blocks, [b'"number":39'])]
    assert [block.faults for block in blocks] == [[]] * len(blocks)
    assert sum(block.lines for block in blocks) == 40
    assert [number for block in blocks for number, _ in block.picked] == [40]


def test_a_block_keeps_a_few_faults_of_each_check(tmp_path):
    span = make_log(tmp_path / "log", 30)
    reading = read_file(span, plan=True)
    stranger = Signer(role="rows-log", domain=SPEC.domain, seed=bytes(32))
    with Scanner(1) as scanner:
        (block,) = scanner.scan(SPEC, stranger.public, reading.blocks, [])
    assert {fault.check for fault in block.faults} == {"signature"}
    assert len(block.faults) == 5


@pytest.fixture(scope="module")
def broad(make, tmp_path_factory):
    """A run whose logs take several blocks."""
    return make(tmp_path_factory.mktemp("broad"), range(2600), cadence=900, batch=100)


def test_one_process_and_two_give_the_same_report(broad, verify):
    alone, together = (verify(broad.path, jobs=jobs) for jobs in (1, 2))
    assert alone.outcome is Outcome.CONSISTENT
    assert (broad.path / "logs" / "decisions.jsonl").stat().st_size > MIB
    assert together.to_json() == alone.to_json()


def test_one_process_and_two_find_the_same_faults(broad, verify, tmp_path):
    forgery = broad.open()
    contents = forgery.contents()
    for path in ("logs/rows.jsonl", "logs/decisions.jsonl", "registration.jsonl"):
        data = contents[path]
        for offset in range(1000, len(data), 40_000):
            data = flip_byte(data, offset)
        forgery.overrides[path] = data
    forgery.write(tmp_path / "damaged")
    alone, together = (verify(tmp_path / "damaged", jobs=jobs) for jobs in (1, 2))
    assert alone.outcome is Outcome.INVALID
    assert len(alone.step("entry-hashes").failures) > 5
    assert together.to_json() == alone.to_json()


@pytest.mark.parametrize(
    "change",
    [lambda data: data[:-1], lambda data: data + b"\n", lambda data: data + b"x" * (MAX_LINE_BYTES + 2) + b"\n"],
    ids=["no last line feed", "an empty line", "a huge line"],
)
def test_a_damaged_end_of_a_log_is_found(sound, verify, tmp_path, change):
    forgery = sound.open()
    forgery.overrides["logs/rows.jsonl"] = change(forgery.contents()["logs/rows.jsonl"])
    result = verify(forgery.write(tmp_path / "damaged"))
    assert "canonical" in result.failed()
    assert result.outcome is Outcome.INVALID


def test_a_huge_line_is_judged_as_any_other(sound, verify, tmp_path):
    forgery = sound.open()
    entry = forgery.entry("rows", 3)
    entry["padding"] = "x" * (MAX_LINE_BYTES - len(canonical.dumps(entry)) - len(',"padding":""'))
    result = verify(forgery.write(tmp_path / "damaged"))
    assert result.failed() == ["entry-hashes"]
    entry["padding"] += "x"
    forgery.write(tmp_path / "longer")
    assert "longer than" in verify(tmp_path / "longer").step("canonical").failures[0].message


def peak(bundle, what):
    """What came of it and the most memory it took, in KiB, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", MEASURE, bundle, what], capture_output=True, text=True, check=True)
    outcome, size = done.stdout.split()
    return outcome, int(size)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc/self/status to measure memory")
def test_memory_does_not_grow_with_the_logs(make, tmp_path):
    short, long = (make(tmp_path / str(count), range(count), cadence=1000, batch=500) for count in (2_500, 25_000))
    (outcome, base), (other, grown) = peak(short.path, "verify"), peak(long.path, "verify")
    assert outcome == other == "consistent"
    assert grown - base < 4 * 1024
    # The measure itself: a reader that keeps the lines does grow.
    assert peak(long.path, "keep")[1] - peak(short.path, "keep")[1] > 8 * 1024


class Greedy(Scanner):
    """A scanner that finds every block to hold one very large entry that has to be kept."""

    def scan(self, spec, key, plans, pick):
        for block in super().scan(spec, key, plans, pick):
            block.picked.append((block.lines, bytes(PICKED_LIMIT + 1)))
            yield block


def test_what_is_kept_of_a_log_is_bounded(small):
    result = Verification(steps=new_steps())
    container = check_container(small, result)
    exam = Examination(container=container, manifest=check_manifest(container, result), result=result)
    check_files(exam)
    with Scanner(1) as scanner:
        check_entries(exam, scanner)
    assert result.failed() == []
    with Greedy(1) as scanner:
        check_entries(exam, scanner)
    assert [failure.where for failure in result.step("canonical").failures] == [
        spec.name for spec in exam.manifest.layout.logs
    ]


def test_a_worker_that_dies_leaves_the_question_open(small):
    with Scanner(2) as scanner, pytest.raises(Unavailable, match="worker process"):
        list(scanner.scan(SPEC, Killer(), [BlockPlan(Span(small / "manifest.json", 0, 2), 1)], ()))


class Killer:
    """In place of a key: ends the process that asks for it."""

    @property
    def key_id(self):
        os.kill(os.getpid(), signal.SIGKILL)
