"""Attacks on what is asked: slices that could be foreseen, turns that tell who is judged, a corpus that was changed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from typing import Final, Protocol, TypeVar

from assay.kernel.canonical import Json
from assay.labs.duel.corpus.chunks import pack
from assay.labs.duel.corpus.corpus import Corpus, read_pointer
from assay.labs.duel.corpus.manifests import POINTER, Manifest, get_manifest, manifest_key
from assay.labs.duel.corpus.planning import Revision
from assay.labs.duel.corpus.publish import publish
from assay.labs.duel.corpus.routing import KingRule, Record, Routed, route_king
from assay.labs.duel.corpus.sync import CorpusSync
from assay.labs.duel.playing import sample_seed
from assay.labs.duel.redteam.attacks import Attack, Finding, conclude
from assay.labs.duel.redteam.ground import Ground
from assay.labs.duel.redteam.shelf import Shelf
from assay.labs.duel.slices import draw, slice_seed
from assay.objects.protocol import ObjectStore

__all__ = ["ATTACKS", "Reader", "snipe", "tamper", "trap"]

T = TypeVar("T")

_STRATA: Final = 60
_OF_EACH: Final = 5
_DRAWN: Final = 20
_BEACONS: Final = 200
_SLACK: Final = Fraction(1, 20)


def snipe(ground: Ground, drawing: Callable[[Sequence[str], int, int], Sequence[int]] = draw) -> Finding:
    """Whether turns of a slice could be known before: over many beacons of one index, as ``drawing`` draws."""
    strata = [f"repo{at % _STRATA}|early" for at in range(_STRATA * _OF_EACH)]
    seeds = [slice_seed(f"0x{at + ground.seed:064x}", "5Sniper") for at in range(_BEACONS)]
    slices = [set(drawing(strata, _DRAWN, seed)) for seed in seeds]
    names = [{strata[row] for row in rows} for rows in slices]
    overlap, known = _overlap(names), _overlap(slices)
    expected = Fraction(_DRAWN, _STRATA)
    samples = {sample_seed(seed, "t", "teacher", number) for seed in seeds for number in range(ground.references)}
    said = f"{_BEACONS} beacons over one index of {_STRATA} strata: a slice shares {float(overlap):.0%} of its strata "
    said += f"with the one before ({float(expected):.0%} expected) and {float(known):.0%} of its turns"
    musts = {
        "every stratum is reached": len(set[str]().union(*names)) == _STRATA,
        "slices overlap no more than by chance": abs(overlap - expected) <= _SLACK,
        "references are sampled anew in every duel": len(samples) == _BEACONS * ground.references,
    }
    return conclude(None, said, musts)


def _overlap(slices: Sequence[set[T]]) -> Fraction:
    """The mean share of a slice that the one before has, too."""
    shared = [Fraction(len(one & other), _DRAWN) for one, other in pairwise(slices)]
    return sum(shared, Fraction(0)) / len(shared)


_OUTCOMES: Final = ("failed", "solved", "errored", "unscored")


def trap(routing: Callable[[Sequence[Record], KingRule | None], Routed] = route_king) -> Finding:
    """Whether turns that tell who is judged by them enter the corpus, as ``routing`` routes."""
    king: list[Record] = [{"policy": {"id": "king_one"}, "outcome": what, "instance_id": what} for what in _OUTCOMES]
    other: Record = {"policy": {"id": "teacher_tools"}, "outcome": "solved", "instance_id": "other"}
    routed, unruled = routing([*king, other], KingRule()), routing([*king, other], None)
    entered = [record for record in routed.kept if record.get("fold_group") == KingRule().group]
    said = f"the king's rollouts in the fold, one of each outcome: {len(entered)} enter, {sum(routed.drops.values())} "
    said += "are dropped"
    counters = {"king_not_failed": 1, "king_errored": 1, "king_unscored": 1}
    musts = {
        "only what the king failed enters": [record.get("outcome") for record in entered] == ["failed"],
        "the rest is dropped, and counted by reason": routed.drops == counters and len(routed.kept) == len(entered) + 1,
        "others' rollouts stay": other in routed.kept,
        "without a rule none of the king's enters": [*unruled.kept] == [other],
    }
    return conclude(None, said, musts)


class Reader(Protocol):
    """Who keeps up with a corpus; see :class:`assay.labs.duel.corpus.sync.CorpusSync`."""

    @property
    def corpus(self) -> Corpus:
        """The corpus that is served."""
        ...

    @property
    def stale(self) -> object | None:
        """Why it is not the published one; None where it is."""
        ...

    def refresh(self) -> bool:
        """Whether another revision is served than before."""
        ...


def tamper(reading: Callable[[ObjectStore], Reader] = CorpusSync) -> Finding:
    """Whether a corpus that was changed is ever served, as ``reading`` keeps up with it."""
    musts: dict[str, bool] = {}
    for name, data, objects in _tamper():
        shelf, digest = _publish()
        reader = reading(shelf)
        reader.refresh()
        for key, value in objects.items():
            shelf.put(key, value)
        shelf.swap(POINTER, data, expected=read_pointer(shelf))
        changed = reader.refresh()
        kept = not changed and reader.stale is not None and reader.corpus.manifest_sha256 == digest
        musts[f"with {name} the old corpus is served, and said to be stale"] = kept
    return conclude(None, f"{len(musts)} ways to point at another corpus than was checked", musts)


def _publish() -> tuple[Shelf, str]:
    shelf = Shelf()
    revision = Revision(base=None, records=[_RECORD], created_at="2026-09-10T00:00:00Z", allowed_action_kinds=("bash",))
    return shelf, publish(shelf, revision)


def _tamper() -> Iterator[tuple[str, bytes, dict[str, bytes]]]:
    """What is wrong, the pointer's new bytes, and what is put beside it."""
    shelf, digest = _publish()
    manifest, _ = get_manifest(shelf, digest)
    later = replace(manifest, corpus_epoch=manifest.corpus_epoch + 1, prev_manifest=digest)
    data = later.to_bytes()
    yield "a pointer without its immutable copy", data, {}
    yield "a pointer that is no manifest", b"{}", {}
    lines = b"{}\n"
    key = "views/duel_turns@v4/chunks/view_0099_0000.jsonl.gz"
    extra = replace(manifest.shards[0], key=key, sha256="0" * 64, n_trajectories=1, n_turns=0)
    yield (
        "a chunk of another digest",
        *_with_copy(replace(later, shards=(*manifest.shards, extra)), {key: pack(lines)}),
    )
    yield ("a chunk that is missing", *_with_copy(replace(later, shards=(*manifest.shards, extra)), {}))
    index = replace(manifest.index, key="views/duel_turns@v4/index/turns_0099.parquet")
    yield ("an index of another digest", *_with_copy(replace(later, index=index), {index.key: b"another"}))
    yield ("a chain that leaves the old corpus out", *_with_copy(replace(later, prev_manifest=None), {}))


def _with_copy(manifest: Manifest, objects: dict[str, bytes]) -> tuple[bytes, dict[str, bytes]]:
    data = manifest.to_bytes()
    return data, {**objects, manifest_key(sha256(data).hexdigest()): data}


_REPLY: Final = "look\n```bash\nls\n```"
_RECORD: Final[dict[str, Json]] = {
    "view": "duel_turns@v4",
    "rollout_id": "r1",
    "traj_id": "org__repo.00000001.pr_1__run",
    "instance_id": "org__repo-1",
    "repo": "org/repo",
    "model": "endpoint/model",
    "policy": {"id": "teacher_text", "harness": "mini", "action_kind": "bash"},
    "source": "swesmith",
    "language": "python",
    "action_kind": "bash",
    "generated_at": None,
    "outcome": "solved",
    "nodes": [
        {"parent": None, "role": "system", "content": "Reply with exactly one bash block."},
        {"parent": 0, "role": "user", "content": "go"},
        {"parent": 1, "role": "assistant", "content": _REPLY},
    ],
    "turns": [
        {
            "turn_idx": 0,
            "node_id": 2,
            "phase": "early",
            "suffix_len": len(_REPLY),
            "n_prefix_chars": 36,
            "action_kind": "bash",
        }
    ],
}

ATTACKS: Final = (
    Attack(id="RT-6/A6", name="slice sniping", run=snipe),
    Attack(id="covariate-trap", name="covariate trap", run=lambda _: trap()),
    Attack(id="corpus-tamper", name="corpus tamper", run=lambda _: tamper()),
)
