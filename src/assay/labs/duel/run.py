"""Running a duel: the slice is drawn, the challenger probed, every turn played and logged in the order of the slice.

A duel that was stopped goes on with the first turn that is not logged. Turns are played side by side, but logged one
after another, so that the evidence does not show which was quicker.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from assay.kernel.canonical import Json
from assay.kernel.errors import Refused
from assay.labs.duel.contestants import Contestants, open_models
from assay.labs.duel.corpus.corpus import Corpus, Turn, open_corpus
from assay.labs.duel.drawing import DrawnSlice, draw_slice
from assay.labs.duel.evidence_log import INJECTABILITY, PROTOCOL, opened_body, read_log
from assay.labs.duel.logs import INDEX_FILE, MANIFEST_FILE, TURNS
from assay.labs.duel.playing import Models, play_turn
from assay.labs.duel.probing import ask_injectability, ask_protocol, find_probes
from assay.labs.duel.records import TurnRecord
from assay.labs.duel.registration import DuelContract
from assay.labs.duel.side_rows import rows_of
from assay.labs.duel.stopping import TurnWatch
from assay.objects.folder import FolderStore
from assay.verifier.lab import OpenRun, Progress, Work

__all__ = ["open_registered_corpus", "prepare"]

_OPENED_FIRST = 1  # the log of turns begins with the kernel's opening entry


def open_registered_corpus(contract: DuelContract, folder: Path) -> Corpus:
    """The corpus that a contract names, opened at the registered manifest.

    Args:
        contract: The contract.
        folder: Where the corpus's folder is looked for.

    Raises:
        MissingMaterial: It is not there, or not whole.
        EvidenceInvalid: It is another one.
        BadInput: Its folder cannot be used.
    """
    return open_corpus(FolderStore(folder / contract.corpus.store), contract.corpus.manifest)


def prepare(contract: DuelContract, folder: Path) -> Work:
    """Opens the corpus, draws the slice and says what is left to do; models are opened when the work begins.

    Raises:
        BadInput: The corpus is too small, or the slice holds a dialect that is not admitted.
        MissingMaterial: As :func:`open_registered_corpus`.
        EvidenceInvalid: As :func:`open_registered_corpus`.
    """
    corpus = open_registered_corpus(contract, folder)
    drawn = draw_slice(contract, corpus.index)
    duel = _Duel(contract=contract, folder=folder, corpus=corpus, drawn=drawn, turns=corpus.turns(drawn.rows))
    return Work(
        label="dueling", units=len(drawn.turns), run=lambda run, progress: asyncio.run(duel.play(run, progress))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Duel:
    """A duel under way."""

    contract: DuelContract
    folder: Path
    corpus: Corpus
    drawn: DrawnSlice
    turns: Sequence[Turn]

    async def play(self, run: OpenRun, progress: Progress) -> None:
        """Does what is left to do in an open run."""
        if run.size(TURNS) > _OPENED_FIRST and self._finished(run):
            progress.advance(len(self.turns))
            return
        found = await open_models(self.contract, self.corpus, self.drawn, self.folder, progress.say)
        models = found.models
        try:
            self._open(run, found)
            await self._probe(run, models, progress)
            if not self._rejected(run):
                await self._play_turns(run, models, progress)
        finally:
            await models.close()

    def _open(self, run: OpenRun, found: Contestants) -> None:
        """Commits the corpus and who plays, or holds who plays now against who began."""
        self._attach(run, MANIFEST_FILE, self.corpus.manifest_bytes)
        self._attach(run, INDEX_FILE, self.corpus.index_bytes)
        identities = {
            "teacher": found.models.teacher.identity,
            "king": found.models.king.identity,
            "challenger": found.models.challenger.identity,
        }
        if run.size(TURNS) == _OPENED_FIRST:
            _append(run, opened_body(identities, self.drawn, found.configs))
        elif dict(read_log(run.evidence, self.drawn).models) != identities:
            msg = "the duel was begun with other models than those at hand; go on where it was begun, or begin anew"
            raise Refused(msg)

    def _attach(self, run: OpenRun, path: str, data: bytes) -> None:
        if not run.attached(path):
            run.attach(path, data)

    async def _probe(self, run: OpenRun, models: Models, progress: Progress) -> None:
        done = read_log(run.evidence, self.drawn).probes
        asked, seed = self.contract.probes, self.drawn.seed
        if asked.injectability.turns and INJECTABILITY not in done:
            progress.say("probing the challenger's texts")
            turns = self.turns[: asked.injectability.turns]
            _append(run, await ask_injectability(models.challenger, self.contract, turns, seed))
        if asked.protocol.mode != "off" and PROTOCOL not in done and not self._rejected(run):
            progress.say("probing the challenger's chat")
            _append(run, await ask_protocol(models.challenger, self.contract, seed))

    def _rejected(self, run: OpenRun) -> bool:
        """Whether a probe that was logged turned the challenger down."""
        log = read_log(run.evidence, self.drawn)
        return find_probes(self.contract, log, self.drawn).rejection is not None

    def _finished(self, run: OpenRun) -> bool:
        log = read_log(run.evidence, self.drawn)
        return len(log.turns) == len(self.turns) or self._watch(log.turns).decided

    def _watch(self, records: Sequence[TurnRecord]) -> TurnWatch:
        watch = TurnWatch(self.contract)
        for record in records:
            watch.add(rows_of(record, self.contract))
        return watch

    async def _play_turns(self, run: OpenRun, models: Models, progress: Progress) -> None:
        done = read_log(run.evidence, self.drawn).turns
        progress.advance(len(done))
        progress.say("dueling")
        watch = self._watch(done)
        if watch.decided:
            return
        async with aclosing(self._records(models, len(done))) as records:
            async for record in records:
                _append(run, record.to_body())
                progress.advance()
                watch.add(rows_of(record, self.contract))
                if watch.decided:
                    return

    async def _records(self, models: Models, first: int) -> AsyncGenerator[TurnRecord]:
        """The turns from the first on, in the order of the slice, as many under way as the contract allows."""
        under_way: list[asyncio.Task[TurnRecord]] = []
        try:
            for index in range(first, len(self.turns)):
                play = play_turn(self.contract, models, self.turns[index], index=index, slice_seed=self.drawn.seed)
                under_way.append(asyncio.create_task(play))
                if len(under_way) == self.contract.run.concurrency:
                    yield await under_way.pop(0)
            while under_way:
                yield await under_way.pop(0)
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)


def _append(run: OpenRun, body: dict[str, Json]) -> None:
    with run.transaction() as transaction:
        transaction.append(TURNS, body)
