"""What a logged sample holds under a contract: a thought and an action, or a forfeit."""

from assay.labs.duel.records import Sample
from assay.labs.duel.registration import DuelContract
from assay.labs.duel.rollouts import Rollout, split_completion

__all__ = ["split_side", "split_teacher"]


def split_side(sample: Sample, dialect: str, contract: DuelContract) -> Rollout:
    """What a side's sample holds: with ``requireThinkClose`` nothing where the thought was never closed."""
    return _split(sample, dialect, contract, require=contract.duel.require_think_close)


def split_teacher(sample: Sample, dialect: str, contract: DuelContract) -> Rollout:
    """What a teacher's sample holds; the rule that thoughts are closed is never asked of it (facts 2.3)."""
    return _split(sample, dialect, contract, require=False)


def _split(sample: Sample, dialect: str, contract: DuelContract, *, require: bool) -> Rollout:
    if sample.broken:
        return Rollout(thought="", action="", closed=False)
    return split_completion(sample.text, dialect, require_think_close=require, era=contract.knobs.era)
