"""The log of a duel as it must lie there: what was opened, the probes, then every turn of the slice in its order."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn, cast

from assay.kernel.canonical import Json
from assay.kernel.errors import EvidenceInvalid
from assay.kernel.shape import read_object
from assay.labs.duel.drawing import DrawnSlice
from assay.labs.duel.logs import LAYOUT, TURNS
from assay.labs.duel.records import SIDES, TurnRecord
from assay.models.protocol import Identity
from assay.verifier.lab import Evidence, Record

__all__ = ["INJECTABILITY", "OPENED", "PROTOCOL", "DuelLog", "opened_body", "read_log"]

OPENED: Final = "duel.opened"
INJECTABILITY: Final = "probe.injectability"
PROTOCOL: Final = "probe.protocol"
PROBES: Final = (INJECTABILITY, PROTOCOL)
MODELS: Final = ("teacher", "king", "challenger")
_TURN: Final = "turn.played"
_BEGIN: Final = "run.opened"
_END: Final = "run.closed"
_ENVELOPE: Final = frozenset(LAYOUT.log(TURNS).envelope)


@dataclass(frozen=True, slots=True, kw_only=True)
class DuelLog:
    """What was logged of a duel.

    Args:
        models: Who answered, by role.
        configs: What each side's ``config.json`` holds, by side; null where it was not asked for.
        probes: The bodies of the probes' entries, by kind.
        turns: The turns, in the order of the slice; fewer than it has where the duel ended before.
    """

    models: Mapping[str, Identity]
    configs: Mapping[str, Json]
    probes: Mapping[str, Record]
    turns: tuple[TurnRecord, ...]


def opened_body(models: Mapping[str, Identity], drawn: DrawnSlice, configs: Mapping[str, Json]) -> dict[str, Json]:
    """The entry that says which models answer and which turns they are asked.

    Args:
        models: Who answers, by role.
        drawn: The turns.
        configs: Each side's ``config.json``, where the contract pins architectures.
    """
    return {
        "kind": OPENED,
        "models": {
            role: {"name": models[role].name, "weights": models[role].weights, "checked": models[role].checked}
            for role in MODELS
        },
        "configs": {side: configs.get(side) for side in SIDES},
        "slice": {"seed": str(drawn.seed), "digest": drawn.digest, "turns": len(drawn.turns)},
    }


def read_log(evidence: Evidence, drawn: DrawnSlice) -> DuelLog:
    """The log of turns, if it is one that a duel over this slice writes.

    Raises:
        EvidenceInvalid: An entry is out of place, of an unknown kind, or of another turn than the slice has there.
    """
    entries = [*evidence.entries(TURNS)]
    if entries and entries[0].get("kind") == _BEGIN:
        entries = entries[1:]
    if entries and entries[-1].get("kind") == _END:
        entries = entries[:-1]
    if not entries or entries[0].get("kind") != OPENED:
        _refuse(f"the first entry of {TURNS} has to be {OPENED}")
    opened = _read_opened(entries[0], drawn)
    probes: dict[str, Record] = {}
    turns: list[TurnRecord] = []
    for entry in entries[1:]:
        kind = entry.get("kind")
        if kind in PROBES and not turns and kind not in probes and PROTOCOL not in probes:
            probes[kind] = {name: value for name, value in entry.items() if name not in _ENVELOPE}
        elif kind == _TURN:
            turns.append(_read_turn(entry, len(turns), drawn))
        else:
            _refuse(f"{TURNS} entry {entry.get('sequence')}: {kind!r} is out of place")
    return DuelLog(models=opened[0], configs=opened[1], probes=probes, turns=tuple(turns))


def _refuse(msg: str) -> NoReturn:
    raise EvidenceInvalid(msg)


def _read_opened(entry: Record, drawn: DrawnSlice) -> tuple[dict[str, Identity], dict[str, Json]]:
    body = {name: value for name, value in entry.items() if name not in _ENVELOPE}
    read_object(body, OPENED, {"kind": str, "models": dict, "configs": dict, "slice": dict})
    models = read_object(body["models"], f"{OPENED}.models", dict.fromkeys(MODELS, dict))
    maybe = (dict, type(None))
    configs = read_object(body["configs"], f"{OPENED}.configs", dict.fromkeys(SIDES, maybe))
    identities = dict(_read_identities(models))
    expected = opened_body(identities, drawn, configs)
    if expected["slice"] != body["slice"]:
        _refuse(f"{OPENED}: the slice is not the one that the contract draws from this corpus")
    return identities, configs


def _read_identities(models: Mapping[str, Json]) -> Iterator[tuple[str, Identity]]:
    for role in MODELS:
        model = read_object(models[role], f"{OPENED}.models.{role}", {"name": str, "weights": str, "checked": bool})
        name, weights = cast(str, model["name"]), cast(str, model["weights"])
        yield role, Identity(name=name, weights=weights, checked=cast(bool, model["checked"]))


def _read_turn(entry: Record, index: int, drawn: DrawnSlice) -> TurnRecord:
    record = TurnRecord.read(entry)
    if index >= len(drawn.turns):
        _refuse(f"{TURNS} entry {entry.get('sequence')}: the slice has {len(drawn.turns)} turns, this is one more")
    if (record.index, record.turn, record.dialect) != (index, drawn.turns[index], drawn.dialects[index]):
        _refuse(
            f"{TURNS} entry {entry.get('sequence')}: expected turn {index} of the slice, {drawn.turns[index]!r} in "
            f"{drawn.dialects[index]}, got {record.index}, {record.turn!r} in {record.dialect}"
        )
    return record
