"""Where a rollout belongs before the mix is made: strata for sources of many small tasks, and failures of the king.

What the king solved or never finished stays out: its turns would tell who is judged by them, not what is hard.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, TypeAlias

from assay.kernel.canonical import Json

__all__ = ["CODING", "Buckets", "KingRule", "Record", "Routed", "assign_buckets", "group_of", "route_king"]

Record: TypeAlias = Mapping[str, Json]
"""A view record, one a rollout (facts 5.4)."""

Buckets: TypeAlias = Mapping[str, tuple[int, int]]
"""For each source how many strata its tasks are spread over, and the number of the first."""

CODING: Final = "coding"
"""The group of a source that is in none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KingRule:
    """Where failed rollouts of the king go.

    Args:
        group: Their group, whose name their strata begin with.
        strata_buckets: How many strata they are spread over; below 1, all of the king's rollouts are dropped.
        policy_prefix: What the id of a policy of the king begins with.
    """

    group: str = "king_fail"
    strata_buckets: int = 1000
    policy_prefix: str = "king_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """The rollouts that stay, in order, and how many were dropped for each reason."""

    kept: tuple[Record, ...]
    drops: Mapping[str, int]


def assign_buckets(records: Sequence[Record], buckets: Buckets, groups: Mapping[str, str]) -> list[Record]:
    """The rollouts, those of a source with buckets with the stratum that their task falls into."""
    return [_bucket(record, buckets, groups) for record in records]


def _bucket(record: Record, buckets: Buckets, groups: Mapping[str, str]) -> Record:
    source = str(record.get("source"))
    count, offset = buckets.get(source, (0, 0))
    if count <= 0:
        return record
    return {**record, "stratum": _stratum(groups.get(source, CODING), record, count, offset)}


def _stratum(group: str, record: Record, count: int, offset: int = 0) -> str:
    task = sha256(str(record.get("instance_id")).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{group}:{offset + int(task[:8], 16) % count:04}"


def route_king(records: Sequence[Record], rule: KingRule | None) -> Routed:
    """The rollouts with the king's failures in a group of their own and the king's others dropped.

    Args:
        records: The rollouts, in order.
        rule: Where failures go; None drops all of the king's rollouts.
    """
    kept: list[Record] = []
    drops: Counter[str] = Counter()
    prefix = (rule or KingRule()).policy_prefix
    for record in records:
        if not _policy_of(record).startswith(prefix):
            kept.append(record)
            continue
        reason = _refuse_king(record, rule)
        if reason is None and rule is not None:
            stratum = _stratum(rule.group, record, rule.strata_buckets)
            kept.append({**record, "stratum": stratum, "fold_group": rule.group})
        else:
            drops[str(reason)] += 1
    return Routed(kept=tuple(kept), drops=dict(drops))


def _policy_of(record: Record) -> str:
    policy = record.get("policy")
    return str(policy.get("id")) if isinstance(policy, dict) else ""


def _refuse_king(record: Record, rule: KingRule | None) -> str | None:
    if rule is None or rule.strata_buckets <= 0:
        return "king_no_fold_group"
    match record.get("outcome"):
        case "failed":
            return None
        case "solved":
            return "king_not_failed"
        case "errored":
            return "king_errored"
        case _:
            return "king_unscored"


def group_of(record: Record, groups: Mapping[str, str], mix: Mapping[str, float]) -> str:
    """The group of a rollout: its own, else its source's; one that is not part of the mix counts as coding."""
    group = str(record.get("fold_group") or groups.get(str(record.get("source")), CODING))
    return group if group in mix else CODING
