"""Attacks by what a thought says: text that would pay on every turn without saying what comes next."""

from dataclasses import replace
from typing import Final

from assay.labs.duel.crown import Decision, decide
from assay.labs.duel.legs import score_turn
from assay.labs.duel.means import mean, spread, tempered_mean
from assay.labs.duel.redteam.attacks import TOLERANCE, Attack, Finding, conclude, not_applicable, signed
from assay.labs.duel.redteam.ground import Ground
from assay.labs.duel.redteam.phrases import FILLER
from assay.labs.duel.redteam.synthetic import (
    CHALLENGER,
    KING,
    change_pairs,
    honest_rows,
    lengthen,
    middle_of,
    on_grid,
    plain_rows,
)
from assay.labs.duel.rows import Pair, Row

__all__ = ["ATTACKS", "BOILERPLATE_STANDS"]

_REFERENCE: Final = "sed -i s/colour/color/ docs/index.rst"

# Nats a byte that a text which fits every action lifts it by, and where such a text stands (facts 1.8).
_PRIOR: Final = 0.04
_SUFFIX: Final = 0.01
_FILLER_STANDS: Final = -0.24
BOILERPLATE_STANDS: Final = -0.27
_RESTATEMENT_STANDS: Final = 0.09


def _duel(rows: tuple[Row, ...], ground: Ground) -> Decision:
    return decide(rows, honest_rows(ground, KING), ground.knobs)


def _base(ground: Ground) -> tuple[Row, ...]:
    return honest_rows(ground, CHALLENGER)


def _loses(found: Decision) -> bool:
    return not found.duel.challenger_wins and found.duel.margin < 0


def _pays_nothing(found: Decision) -> bool:
    return found.challenger.reason <= TOLERANCE


def _run_payload(ground: Ground) -> Finding:
    text = lengthen(FILLER, ground.knobs)
    found = _duel(plain_rows(_base(ground), lift=_PRIOR, offset=BOILERPLATE_STANDS, thought=lambda _: text), ground)
    musts = {"its mean turn is not above 0": _pays_nothing(found), "it loses to an honest king": _loses(found)}
    said = f"one text on every turn, which lifts every action by {_PRIOR}: margin {signed(found.duel.margin)}"
    return conclude(found.challenger.reason, said, musts)


def _run_paraphrase(ground: Ground) -> Finding:
    plain = plain_rows(_base(ground), lift=0.004, offset=0.0)
    # Above the published priors on every second turn: what the old rule's telemetry tells of such a side.
    rows = tuple(replace(row, bank_frac=at % 2 * 1.0) for at, row in enumerate(plain))
    found = _duel(rows, ground)
    side = found.challenger
    musts = {
        "it passes the licence B": side.figures.b_gate_pass_rate == 1.0 and not found.duel.causality_blocked,
        "R is about 0": side.mean_r_leg is None or abs(side.mean_r_leg) <= TOLERANCE,
        "it is not crowned": not found.duel.challenger_wins,
        "its share above the priors is told": side.bank_frac == mean([at % 2 * 1.0 for at in range(ground.turns)]),
    }
    said = f"what it means to do in other words, a flat lift of 0.004: margin {signed(found.duel.margin)}"
    return conclude(side.reason, said, musts)


def _run_hedge(ground: Ground) -> Finding:
    count = ground.references
    if count < 2:
        return not_applicable("with one reference a turn there is nothing to hedge between")
    hedge = [on_grid(0.02)] * count
    commit = [on_grid(0.08)] + [-on_grid(0.02)] * (count - 1)
    row = _widest(ground)
    scores = [score_turn(_lifted(row, lifts), ground.knobs).turn for lifts in (hedge, commit)]
    said = f"a thought that fits all {count} references a little scores {signed(scores[0])}; one that fits one of them "
    said += f"well, {signed(scores[1])}"
    return conclude(scores[0] - scores[1], said, {"the commitment is preferred": scores[1] > scores[0]})


def _widest(ground: Ground) -> Row:
    """The turn on which the teacher's thoughts lie farthest apart, so that G leaves the most room."""
    return max(_base(ground), key=lambda row: spread([pair.c_zc_x or 0.0 for pair in row.pairs or ()]))


def _lifted(row: Row, lifts: list[float]) -> list[Pair]:
    """The pairs of a row with other lifts, in the middle of the band."""
    middle = middle_of(row)
    return [
        replace(pair, c_yc_za=pair.c_yc_e + lift, c_za_x=middle)
        for pair, lift in zip(row.pairs or (), lifts, strict=True)
    ]


def _run_suffix(ground: Ground) -> Finding:
    honest = _base(ground)

    def append(_: Row, __: int, pair: Pair) -> Pair:
        stands = None if pair.c_za_x is None else pair.c_za_x + on_grid(_FILLER_STANDS)
        return replace(pair, z_a=f"{pair.z_a} {FILLER}", c_yc_za=pair.c_yc_za + on_grid(_SUFFIX), c_za_x=stands)

    found = decide(change_pairs(honest, append), honest, ground.knobs)
    gained = found.duel.margin
    said = f"an honest side against itself with the suffix, which lifts every action by {_SUFFIX}"
    musts = {"the suffix loses": gained < 0 and not found.duel.challenger_wins}
    if ground.grounded:
        moved = max(_moved_r(found), default=0.0)
        musts["R does not move"] = moved <= TOLERANCE
        said += f"; R moved by at most {moved:.1e}"
    return conclude(gained, said, musts)


def _moved_r(found: Decision) -> list[float]:
    pairs = zip(found.rows.challenger, found.rows.king, strict=True)
    legs = [(found.scores.score(own), found.scores.score(other)) for own, other in pairs]
    return [abs((own.r or 0.0) - (other.r or 0.0)) for own, other in legs if own is not None and other is not None]


def _run_parrot(ground: Ground) -> Finding:
    found = _duel(plain_rows(_base(ground), lift=0.02, offset=_RESTATEMENT_STANDS), ground)
    side = found.challenger
    said = f"the task said again, {_RESTATEMENT_STANDS} above the teacher's thoughts"
    musts = {"nothing is paid for it": _pays_nothing(found)}
    if ground.grounded:
        highest = max(
            legs.g for row in found.rows.challenger if (legs := found.scores.score(row)) and legs.g is not None
        )
        said += f"; G at most {signed(highest)}"
        musts |= {"G is below 0 on every turn": highest < 0, "G binds": side.g_bind_frac == 1.0}
    return conclude(side.reason, said, musts)


def _run_flat(ground: Ground) -> Finding:
    found = _duel(plain_rows(_base(ground), lift=0.02, offset=0.0), ground)
    side = found.challenger
    said = "prose that reads as the teacher's and fits every action alike"
    musts = {"its mean turn is not above 0": _pays_nothing(found), "it is not crowned": not found.duel.challenger_wins}
    if ground.grounded:
        said += f"; told: R {side.mean_r_leg:+.1e}, G binds on {side.g_bind_frac:.0%} of turns"
        musts["R is about 0, and told"] = side.mean_r_leg is not None and abs(side.mean_r_leg) <= TOLERANCE
        musts["how seldom G binds is told"] = side.g_bind_frac is not None and side.g_bind_frac <= 0.1
    return conclude(side.reason, said, musts)


def _run_mode_guess(ground: Ground) -> Finding:
    count = ground.references
    lifts = [on_grid(0.1)] + [0.0] * (count - 1)
    pairs = _lifted(_widest(ground), lifts)
    legs = score_turn(pairs, ground.knobs)
    most = tempered_mean(lifts, ground.knobs.tau) - mean(lifts)
    hotter = score_turn(pairs, replace(ground.knobs, tau=2 * (ground.knobs.tau or 0.0)))
    said = f"the likeliest of {count} references guessed: paid {signed(legs.turn)}, at twice the temperature "
    said += f"{signed(hotter.turn)}; {most:.4f} lie between the tempered and the plain mean"
    musts = {
        "it is paid at most the tempered mean less the mean": legs.turn <= most + TOLERANCE,
        "it is paid no more at a higher temperature": hotter.turn <= legs.turn + TOLERANCE,
        "how much hangs on one reference is told": legs.spread == (lifts[0] if count > 1 else 0.0),
    }
    return conclude(legs.turn, said, musts)


def _run_leaked_reference(ground: Ground) -> Finding:
    def leak(row: Row, at: int, pair: Pair, offset: float) -> Pair:
        lift = on_grid(0.3) if at == 0 else 0.0
        stands = on_grid(middle_of(row)) + on_grid(offset)
        return replace(pair, z_a=f"{pair.z_a} {_REFERENCE}", c_yc_za=pair.c_yc_e + lift, c_za_x=stands)

    base = _base(ground)
    above = _duel(change_pairs(base, lambda row, at, pair: leak(row, at, pair, _RESTATEMENT_STANDS)), ground)
    inside = _duel(change_pairs(base, lambda row, at, pair: leak(row, at, pair, 0.0)), ground)
    own = _duel(change_pairs(base, lambda row, at, pair: replace(leak(row, at, pair, 0.0), y_a=_REFERENCE)), ground)
    said = f"the first reference's text inside the thought: paid {signed(inside.challenger.reason)} within the band, "
    said += f"{_RESTATEMENT_STANDS} above the teacher's thoughts {signed(above.challenger.reason)}"
    musts = {
        "the licence counts no other action as leaked": above.challenger.figures.b_gate_pass_rate == 1.0,
        "the licence counts the side's own as leaked": own.challenger.figures.b_gate_pass_rate == 0.0,
        "nothing is paid for it above the band": _pays_nothing(above),
    }
    if ground.references > 1:
        spread = above.challenger.mean_spread
        musts["that one reference dominates is told"] = spread is not None and spread >= on_grid(0.3)
    return conclude(above.challenger.reason, said, musts)


ATTACKS: Final = (
    Attack(id="RT-1/A1", name="fixed payload thoughts", run=_run_payload),
    Attack(id="RT-2c", name="paraphrase of the intent", run=_run_paraphrase),
    Attack(id="A13", name="hedge filler", run=_run_hedge),
    Attack(id="RT-11", name="filler suffix", run=_run_suffix),
    Attack(id="RT-12", name="parroting", run=_run_parrot),
    Attack(id="RT-13", name="flat prose within the band", run=_run_flat),
    Attack(id="RT-9", name="mode guessing", run=_run_mode_guess),
    Attack(id="RT-10", name="leaked reference", run=_run_leaked_reference),
)
