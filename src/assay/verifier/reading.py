"""Reading the logs of a bundle in blocks: in bounded memory, and on several cores where that pays."""

import multiprocessing
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from assay.kernel.archive import Span, read_span
from assay.kernel.errors import Unavailable
from assay.kernel.keys import PublicKey
from assay.kernel.layout import LogSpec
from assay.kernel.logs import MAX_LINE_BYTES, Block, Fault, scan

__all__ = ["BlockPlan", "FileReading", "Scanner", "lines_of", "read_file"]

# Of one block, so many faults of each check are kept; a bundle in ruins must not fill the memory.
_KEPT = 5
_SAFE_PATH = "PYTHONSAFEPATH"


class BlockPlan(NamedTuple):
    """Some consecutive lines of a log: where their bytes are, and the number of the first line."""

    span: Span
    first_line: int


@dataclass(slots=True)
class FileReading:
    """One pass over a file: its size, its SHA-256 in hex, and the blocks of whole lines it falls into."""

    size: int = 0
    sha256: str = ""
    lines: int = 0
    blocks: list[BlockPlan] = field(default_factory=list[BlockPlan])
    fault: str = ""


def read_file(span: Span, *, plan: bool) -> FileReading:
    """Hashes a file and, for a log, plans its blocks of about a MiB without keeping its bytes.

    Raises:
        MissingMaterial: The file cannot be read.
    """
    reading, digest = FileReading(), sha256()
    start, first_line = 0, 1
    for chunk in read_span(span):
        digest.update(chunk)
        end = chunk.rfind(b"\n") + 1
        # Only the first line to end in a chunk may have begun in an earlier one.
        longest = reading.size - start + (chunk.find(b"\n") if end else len(chunk))
        if plan and longest > MAX_LINE_BYTES:
            reading.fault = f"the line from byte {start} on is longer than {MAX_LINE_BYTES} bytes"
            plan = False
        if plan and end:
            block = Span(span.file, span.offset + start, reading.size + end - start)
            reading.blocks.append(BlockPlan(block, first_line))
            first_line += chunk.count(b"\n")
            start = reading.size + end
        reading.size += len(chunk)
    if plan and start != reading.size:
        reading.fault = f"the last line, from byte {start} on, does not end with a line feed"
    reading.sha256 = digest.hexdigest()
    reading.lines = first_line - 1
    return reading


def lines_of(plans: Iterable[BlockPlan]) -> Iterator[bytes]:
    """The lines of some blocks, without their line feeds."""
    for plan in plans:
        yield from b"".join(read_span(plan.span))[:-1].split(b"\n")


def _scan_block(spec: LogSpec, key: PublicKey, plan: BlockPlan, pick: Sequence[bytes]) -> Block:
    block = scan(spec, key, lines_of([plan]), first_line=plan.first_line, pick=pick)
    counts: dict[str, int] = {}
    kept: list[Fault] = []
    for fault in block.faults:
        counts[fault.check] = counts.get(fault.check, 0) + 1
        if counts[fault.check] <= _KEPT:
            kept.append(fault)
    block.faults = kept
    return block


class Scanner:
    """Scans blocks, here or on worker processes; results come in the order of the blocks. A context manager."""

    def __init__(self, jobs: int) -> None:
        """``jobs`` worker processes; with 1 everything happens in this one."""
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        self._safe_path: str | None = None

    def __enter__(self) -> "Scanner":
        """Starts the workers."""
        if self._jobs > 1:
            # Workers are fresh interpreters: without this they would look for modules in the current folder first, and
            # that may be the bundle's.
            self._safe_path = os.environ.get(_SAFE_PATH)
            os.environ[_SAFE_PATH] = "1"
            self._pool = ProcessPoolExecutor(self._jobs, mp_context=multiprocessing.get_context("spawn"))
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the workers."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            if self._safe_path is None:
                del os.environ[_SAFE_PATH]
            else:
                os.environ[_SAFE_PATH] = self._safe_path

    def scan(self, spec: LogSpec, key: PublicKey, plans: Iterable[BlockPlan], pick: Sequence[bytes]) -> Iterator[Block]:
        """The blocks of one log, checked, in order."""
        if self._pool is None:
            yield from (_scan_block(spec, key, plan, pick) for plan in plans)
            return
        waiting: deque[Future[Block]] = deque()
        for plan in plans:
            waiting.append(self._pool.submit(_scan_block, spec, key, plan, pick))
            if len(waiting) > 3 * self._jobs:
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())


def _result(future: Future[Block]) -> Block:
    try:
        return future.result()
    except BrokenProcessPool as error:
        msg = "a worker process of the verifier died; nothing was decided, try again with --jobs 1"
        raise Unavailable(msg) from error
