"""Replaying a published duel: its rows scored again by the rule it was judged by, and its slice's seed and digest."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from pydantic import ValidationError

from assay.kernel.errors import BadInput
from assay.labs.duel.always_valid import decide
from assay.labs.duel.artefacts import Artefact
from assay.labs.duel.crown import Duel, judge
from assay.labs.duel.eras import FIRST_SAFE_VERSION, era_of
from assay.labs.duel.knobs import Knobs
from assay.labs.duel.legacy import LegacyKnobs, judge_legacy
from assay.labs.duel.sections import Sequential
from assay.labs.duel.slices import slice_digest, slice_seed

__all__ = ["TOLERANCE", "Comparison", "Outcome", "Replay", "knobs_of_params", "replay"]

TOLERANCE: Final = 1e-9
"""How far a number may lie from the stored one and still agree: ours are rounded once, theirs were not always."""

Agreement: TypeAlias = Literal["identical", "agrees", "differs", "not stored"]
LAST_NETWORK_VERSION: Final = FIRST_SAFE_VERSION - 1
_EARLY: Final = ("unpromptable:", "protocol:", "unservable:")
_MODES: Final = ("reason", "min_rg", "min_rga")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a duel came out; ``se`` is infinite with fewer than two paired turns.

    ``duplicates`` counts the rows that came beyond one a turn and side; the last of a turn counts.
    """

    margin: float
    se: float
    z: float
    challenger_wins: bool
    paired: int
    forfeit_turns: int | None = None
    duplicates: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One number of a verdict: what was stored, what the rows give, and whether they agree."""

    name: str
    stored: object
    derived: object
    agreement: Agreement


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A published duel, derived again.

    Args:
        name: The file.
        rule: By which rule it was judged: ``v2``, or a score mode.
        outcome: What its rows give.
        comparisons: Every stored number beside the derived one.
    """

    name: str
    rule: str
    outcome: Outcome
    comparisons: tuple[Comparison, ...]

    @property
    def agrees(self) -> bool:
        """Whether nothing differs, and something was compared."""
        told = [item.agreement for item in self.comparisons]
        return "differs" not in told and any(word in ("identical", "agrees") for word in told)


def replay(artefact: Artefact) -> Replay:
    """What the rows of a published duel give under the rule that its verdict names.

    Raises:
        BadInput: The verdict names no rule, or a number of it that cannot be read.
        EvidenceInvalid: The rows cannot be scored by that rule.
    """
    stored = artefact.verdict
    if _is_early(stored.get("rejection_reason")):
        # Turned down by a probe: there are no rows to score, and the slice alone can be held against what is stored.
        nothing = Outcome(margin=0.0, se=math.inf, z=0.0, challenger_wins=False, paired=0)
        found = (
            _compare("challenger_wins", stored.get("challenger_wins"), derived=False),
            _compare("rows after a probe turned it down", 0, len(artefact.challenger) + len(artefact.king)),
        )
        return Replay(
            name=artefact.name, rule="probe", outcome=nothing, comparisons=(*found, *_compare_slice(artefact))
        )
    rule, outcome = _judge(artefact)
    found = [
        _compare("margin", stored.get("margin"), outcome.margin),
        _compare("se", stored.get("se", _ABSENT), outcome.se if math.isfinite(outcome.se) else None),
        _compare("z", stored.get("z", _ABSENT), outcome.z if math.isfinite(outcome.z) else None),
        _compare("challenger_wins", stored.get("challenger_wins"), outcome.challenger_wins),
        _compare("n_paired_turns", stored.get("n_paired_turns"), outcome.paired),
    ]
    if outcome.forfeit_turns is not None:
        found.append(_compare("n_forfeit_turns", stored.get("n_forfeit_turns", _ABSENT), outcome.forfeit_turns))
    if "n_played_turns" in stored:
        played, lost = _read(stored, "n_played_turns", 0), _read(stored, "n_left_out_turns", 0)
        found.append(_compare("turns beyond those played", 0, max(0, int(outcome.paired + lost - played))))
    return Replay(name=artefact.name, rule=rule, outcome=outcome, comparisons=(*found, *_compare_slice(artefact)))


def _is_early(reason: object) -> bool:
    return isinstance(reason, str) and reason.startswith(_EARLY)


class _Absent:
    pass


_ABSENT: Final = _Absent()


def _judge(artefact: Artefact) -> tuple[str, Outcome]:
    params, gates = artefact.verdict.get("duel_params"), artefact.verdict.get("gates")
    if isinstance(params, dict):
        stamped = cast("dict[str, object]", params)
        knobs = knobs_of_params(stamped, artefact.verdict)
        duel = judge(artefact.challenger, artefact.king, knobs)
        return knobs.score_mode, Outcome(
            margin=duel.margin,
            se=duel.se,
            z=duel.z,
            challenger_wins=_wins(artefact, duel, knobs, stamped.get("sequential")),
            paired=duel.paired,
            forfeit_turns=duel.forfeit_turns,
            duplicates=duel.challenger_duplicates + duel.king_duplicates,
        )
    if isinstance(gates, dict):
        legacy = judge_legacy(
            artefact.challenger,
            artefact.king,
            legacy_knobs(cast("dict[str, object]", gates), artefact.verdict),
            challenger_bank_frac=artefact.bank["challenger"],
            king_bank_frac=artefact.bank["king"],
        )
        return "v2", Outcome(
            margin=legacy.margin,
            se=legacy.se,
            z=legacy.z,
            challenger_wins=legacy.challenger_wins,
            paired=legacy.paired,
        )
    msg = (
        f"{artefact.name}: the verdict names no rule: expected duel_params (from version 3 on) or gates (version 2); "
        f"give the verdict's file with --verdict"
    )
    raise BadInput(msg)


def _wins(artefact: Artefact, duel: Duel, knobs: Knobs, sequential: object) -> bool:
    """Whether the challenger wins; where the contract had a sequential rule, by that and not by the fixed test."""
    if _lost_too_many(artefact.verdict):
        return False
    if not isinstance(sequential, dict) or duel.rejection_reason is not None:
        return duel.challenger_wins
    stamped = cast("dict[str, object]", sequential)
    try:
        rule = Sequential.model_validate(stamped)
    except ValidationError as error:
        msg = f"{artefact.name}: duel_params.sequential: expected an object {{alpha, clip, minTurns}}"
        raise BadInput(msg) from error
    planned = int(_read(_params_of(artefact.verdict), "n_turns", 0))
    if artefact.turn_ids is None or planned < 1:
        msg = f"{artefact.name}: a sequential rule is registered: expected turn_ids and duel_params.n_turns"
        raise BadInput(msg)
    differences = dict(duel.differences)
    ordered = [differences[turn] for turn in artefact.turn_ids if turn in differences]
    return decide(ordered, rule, knobs.min_margin, planned=planned).crowned


def _lost_too_many(verdict: Mapping[str, object]) -> bool:
    """Whether, by what a verdict of ours stamps, nobody could be scored on more turns than its contract allows."""
    played, lost = (_read(verdict, name, 0.0) for name in ("n_played_turns", "n_left_out_turns"))
    return played > 0 and lost / played > _read(_params_of(verdict), "max_left_out_share", 1.0)


def _params_of(verdict: Mapping[str, object]) -> Mapping[str, object]:
    params = verdict.get("duel_params")
    return cast("dict[str, object]", params) if isinstance(params, dict) else {}


def knobs_of_params(params: Mapping[str, object], verdict: Mapping[str, object]) -> Knobs:
    """The numbers that a public verdict stamped; what an older one leaves out had no effect when it was judged.

    A verdict that stamps no contract version is the network's own.

    Raises:
        BadInput: A number is none, or the score mode is unknown: reading one as another would forge a verdict.
    """
    mode = params.get("score_mode") or "reason"
    if mode not in _MODES:
        msg = f"duel_params.score_mode: expected one of {', '.join(_MODES)}, got {mode!a:.80}"
        raise BadInput(msg)
    gate = params.get("causality_gate")
    gamma = _read(params, "causality_gamma", 0.0)
    return Knobs(
        era=era_of(int(_read(verdict, "contract_version", LAST_NETWORK_VERSION))),
        score_mode=mode,
        tau=_optional(params, "tau"),
        band_c=_read(params, "band_c", 2.0),
        band_floor=_read(params, "band_floor", 0.002),
        forfeit_turn_score=_optional(params, "forfeit_turn_score"),
        k_sigma=_read(params, "k_sigma", _read(verdict, "k_sigma", 2.0)),
        min_margin=_read(params, "min_margin", _read(verdict, "min_margin", 0.0)),
        min_thought_chars=int(_read(params, "min_thought_chars", 0)),
        causality_gamma=0.0 if gate is False else gamma,
        causality_tau=_read(params, "causality_tau", 0.02),
        leak_share=_read(params, "leak_share", 0.6),
    )


def legacy_knobs(gates: Mapping[str, object], verdict: Mapping[str, object]) -> LegacyKnobs:
    """The numbers of a v2 verdict; what early ones leave out is what ran then (facts 1.3).

    Raises:
        BadInput: A number is none.
    """
    return LegacyKnobs(
        k_sigma=_read(verdict, "k_sigma", 3.0),
        min_se=_read(gates, "min_se", 0.005),
        min_margin=_read(gates, "min_margin", 0.05),
        tau=_read(gates, "tau", 0.02),
        gamma=_read(gates, "gamma", 0.3),
        gamma_bank=_read(gates, "gamma_bank", 0.08),
        l1_weight=_read(gates, "l1_weight", 1.0),
        l1_clip=_optional(gates, "l1_clip") if "l1_clip" in gates else 0.1,
        r_lo=_read(gates, "r_lo", 1.0),
        r_hi=_read(gates, "r_hi", 4.0),
        baseline_band=_optional(gates, "baseline_band"),
    )


def _optional(holder: Mapping[str, object], name: str) -> float | None:
    return None if holder.get(name) is None else _read(holder, name, 0.0)


def _read(holder: Mapping[str, object], name: str, absent: float) -> float:
    value = holder.get(name)
    if value is None:
        return absent
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        msg = f"{name}: expected a finite number, got {value!a:.80}"
        raise BadInput(msg)
    return float(value)


def _compare(name: str, stored: object, derived: object) -> Comparison:
    if stored is _ABSENT:
        return Comparison(name=name, stored=None, derived=derived, agreement="not stored")
    if stored == derived and isinstance(stored, bool) == isinstance(derived, bool):
        return Comparison(name=name, stored=stored, derived=derived, agreement="identical")
    near = False
    if isinstance(stored, float | int) and isinstance(derived, float) and not isinstance(stored, bool):
        near = abs(stored - derived) <= TOLERANCE
    return Comparison(name=name, stored=stored, derived=derived, agreement="agrees" if near else "differs")


def _compare_slice(artefact: Artefact) -> tuple[Comparison, ...]:
    found: list[Comparison] = []
    beacon, key = artefact.request.get("block_hash"), artefact.request.get("challenger_hotkey")
    if isinstance(beacon, str) and isinstance(key, str):
        stored = artefact.slice.get("seed", _ABSENT)
        seed = slice_seed(beacon, key)
        found.append(_compare("slice.seed", stored, str(seed) if isinstance(stored, str) else seed))
    if artefact.turn_ids is not None:
        found.append(_compare("slice.digest", artefact.slice.get("digest", _ABSENT), slice_digest(artefact.turn_ids)))
        strangers = {row.turn for row in (*artefact.challenger, *artefact.king)} - set(artefact.turn_ids)
        found.append(_compare("rows of turns outside the slice", 0, len(strangers)))
    return tuple(found)
