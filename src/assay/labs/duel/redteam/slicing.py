"""Attacks on what is asked: slices that could be foreseen, turns that tell who is judged, a corpus that was changed."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from typing import Final

from assay.kernel.canonical import Json
from assay.labs.duel.corpus.chunks import pack
from assay.labs.duel.corpus.corpus import read_pointer
from assay.labs.duel.corpus.manifests import POINTER, Manifest, get_manifest, manifest_key
from assay.labs.duel.corpus.planning import Revision
from assay.labs.duel.corpus.publish import publish
from assay.labs.duel.corpus.routing import KingRule, Record, route_king
from assay.labs.duel.corpus.sync import CorpusSync
from assay.labs.duel.playing import sample_seed
from assay.labs.duel.redteam.attacks import Attack, Finding, conclude
from assay.labs.duel.redteam.ground import Ground
from assay.labs.duel.redteam.shelf import Shelf
from assay.labs.duel.slices import draw, slice_seed

__all__ = ["ATTACKS"]

_STRATA: Final = 60
_OF_EACH: Final = 5
_DRAWN: Final = 20
_BEACONS: Final = 200
_SLACK: Final = Fraction(1, 20)


def _run_sniping(ground: Ground) -> Finding:
    strata = [f"repo{at % _STRATA}|early" for at in range(_STRATA * _OF_EACH)]
    seeds = [slice_seed(f"0x{at + ground.seed:064x}", "5Sniper") for at in range(_BEACONS)]
    slices = [draw(strata, _DRAWN, seed) for seed in seeds]
    reached = {strata[row] for rows in slices for row in rows}
    shared = [len({strata[row] for row in one} & {strata[row] for row in next_}) for one, next_ in pairwise(slices)]
    overlap, expected = Fraction(sum(shared), len(shared) * _DRAWN), Fraction(_DRAWN, _STRATA)
    known = Fraction(sum(len(set(one) & set(next_)) for one, next_ in pairwise(slices)), len(shared) * _DRAWN)
    turn = "repo0.pr_1:0"
    samples = {sample_seed(seed, turn, "teacher", number) for seed in seeds for number in range(ground.references)}
    said = f"{_BEACONS} beacons over one index of {_STRATA} strata: a slice shares {float(overlap):.0%} of its strata "
    said += f"with the one before ({float(expected):.0%} expected) and {float(known):.0%} of its turns"
    musts = {
        "every stratum is reached": len(reached) == _STRATA,
        "slices overlap as drawn by chance": abs(overlap - expected) <= _SLACK,
        "references are sampled anew in every duel": len(samples) == _BEACONS * ground.references,
    }
    return conclude(None, said, musts)


_OUTCOMES: Final = ("failed", "solved", "errored", "unscored")


def _run_covariates(ground: Ground) -> Finding:  # noqa: ARG001 - every attack takes the ground
    king: list[Record] = [{"policy": {"id": "king_one"}, "outcome": what, "instance_id": what} for what in _OUTCOMES]
    other: Record = {"policy": {"id": "teacher_tools"}, "outcome": "solved", "instance_id": "other"}
    routed, unruled = route_king([*king, other], KingRule()), route_king([*king, other], None)
    entered = [record for record in routed.kept if record.get("fold_group") == KingRule().group]
    said = f"the king's rollouts in the fold, one of each outcome: {len(entered)} enter, {sum(routed.drops.values())} "
    said += "are dropped"
    musts = {
        "only what the king failed enters": [record.get("outcome") for record in entered] == ["failed"],
        "the rest is dropped and counted": routed.drops
        == {"king_not_failed": 1, "king_errored": 1, "king_unscored": 1},
        "others' rollouts stay": other in routed.kept,
        "without a rule none of the king's enters": [*unruled.kept] == [other],
    }
    return conclude(None, said, musts)


def _run_tampering(ground: Ground) -> Finding:  # noqa: ARG001 - every attack takes the ground
    served: dict[str, bool] = {}
    for name, data, objects in _tamper():
        shelf, digest = _publish()
        sync = CorpusSync(shelf)
        sync.refresh()
        for key, value in objects.items():
            shelf.put(key, value)
        shelf.swap(POINTER, data, expected=read_pointer(shelf))
        changed = sync.refresh()
        kept = not changed and sync.stale is not None and sync.corpus.manifest_sha256 == digest
        served[f"with {name} the old corpus is served, and said to be stale"] = (
            kept and len(sync.corpus.turn(0).prefix) > 0
        )
    return conclude(None, f"{len(served)} ways to point at another corpus than was checked", served)


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
    Attack(id="RT-6/A6", name="slice sniping", run=_run_sniping),
    Attack(id="covariates", name="the king's own rollouts in the fold", run=_run_covariates),
    Attack(id="tampering", name="a corpus that was changed", run=_run_tampering),
)
