"""What is logged of a duel: the texts as they came and the teacher's echoes of them, before anything is made of them.

Thoughts, actions and scores are not logged: whoever verifies reads them out of the texts by the registered rules.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, cast

from assay.kernel.canonical import Json
from assay.kernel.errors import EvidenceInvalid
from assay.kernel.shape import read_list, read_object
from assay.labs.duel.logs import LAYOUT, TURNS
from assay.models.protocol import Completion, Echo
from assay.verifier.lab import Record

__all__ = [
    "CHALLENGER",
    "KING",
    "LONGEST_SAMPLE",
    "REFUSED",
    "SIDES",
    "TEACHER",
    "TEMPLATE_REFUSES",
    "Forced",
    "Played",
    "Reference",
    "Sample",
    "SideName",
    "SideRecord",
    "TurnRecord",
    "read_forced",
    "read_sample",
]

SideName: TypeAlias = Literal["king", "challenger"]
TEACHER: Final = "teacher"
KING: Final = "king"
CHALLENGER: Final = "challenger"
SIDES: Final[tuple[SideName, ...]] = (KING, CHALLENGER)
TEMPLATE_REFUSES: Final = "template-refuses"
_LEFT_OUT: Final = ("bad-answer", "context-too-long", TEMPLATE_REFUSES)
"""Why a turn may be left out: faults of ours, all of them."""

REFUSED: Final = "refused"
LONGEST_SAMPLE: Final = 50_000
"""Characters of a completion that are kept: an entry has to fit a log, and no token limit of a contract comes near."""


_ENVELOPE: Final = frozenset(LAYOUT.log(TURNS).envelope)
_NUMBER: Final = (int, float, type(None))
_HEX: Final = re.compile(r"[0-9a-f]{64}")
_REPLACED: Final = "\N{REPLACEMENT CHARACTER}"
_FINISHES: Final = ("stop", "length", REFUSED)
_MOST_TOTAL: Final = 1e-3  # a log-probability is never above 0 but by rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One completion, as it came.

    Args:
        text: The text; each lone surrogate is replaced, since no file could hold it, and nothing is kept beyond
            :data:`LONGEST_SAMPLE` characters.
        finish: ``stop``, ``length``, or ``refused`` where the model's own chat template refused the conversation.
        tokens: Tokens generated.
        broken: Whether something had to be replaced or cut; a side forfeits with such a text.
    """

    text: str
    finish: str
    tokens: int
    broken: bool = False

    @classmethod
    def of(cls, completion: Completion) -> "Sample":
        """What is logged of a completion."""
        kept = completion.text[:LONGEST_SAMPLE]
        text = "".join(_REPLACED if "\ud800" <= sign <= "\udfff" else sign for sign in kept)
        return cls(text=text, finish=completion.finish, tokens=completion.tokens, broken=text != completion.text)

    def to_body(self) -> dict[str, Json]:
        """The sample as an entry holds it."""
        return {"text": self.text, "finish": self.finish, "tokens": self.tokens, "broken": self.broken}


@dataclass(frozen=True, slots=True, kw_only=True)
class Forced:
    """One echo of the teacher: the sum in nats over the scored tokens, how many they are, and the bytes of the span.

    ``total`` is None where the answer was not finite.
    """

    total: float | None
    tokens: int
    size: int

    @classmethod
    def of(cls, echo: Echo) -> "Forced":
        """What is logged of an echo."""
        finite = echo.total == echo.total and abs(echo.total) != float("inf")
        return cls(total=float(echo.total) if finite else None, tokens=echo.tokens, size=echo.size)

    @property
    def per_byte(self) -> float:
        """Log-probability a byte; NaN where the echo was not finite, and 0.0 for a span without tokens."""
        if self.total is None:
            return float("nan")
        return self.total / max(self.size, 1) if self.tokens else 0.0

    def to_body(self) -> dict[str, Json]:
        """The echo as an entry holds it."""
        return {"total": self.total, "tokens": self.tokens, "size": self.size}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One sample of the teacher, with its echoes where it holds an action.

    Args:
        sample: The completion.
        own: Its action after its own thought.
        empty: Its action after the empty thought.
        thought: Its thought after the turn's prefix.
    """

    sample: Sample
    own: Forced | None = None
    empty: Forced | None = None
    thought: Forced | None = None

    def to_body(self) -> dict[str, Json]:
        """The reference as an entry holds it."""
        return {"sample": self.sample.to_body(), **_bodies(own=self.own, empty=self.empty, thought=self.thought)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRecord:
    """One sample of a side, with the teacher's echoes where it holds an action.

    Args:
        sample: The completion.
        references: The action of each parsed reference after the side's thought, in the order of the references.
        own: The side's action after its own thought.
        empty: The side's action after the empty thought.
        thought: The side's thought after the turn's prefix.
        licences: The side's action after the thought of each parsed reference; only where the score mode asks for it.
    """

    sample: Sample
    references: tuple[Forced, ...] = ()
    own: Forced | None = None
    empty: Forced | None = None
    thought: Forced | None = None
    licences: tuple[Forced, ...] = ()

    def to_body(self) -> dict[str, Json]:
        """The side as an entry holds it."""
        return {
            "sample": self.sample.to_body(),
            "references": [echo.to_body() for echo in self.references],
            **_bodies(own=self.own, empty=self.empty, thought=self.thought),
            "licences": [echo.to_body() for echo in self.licences],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What both sides did on one turn."""

    king: SideRecord
    challenger: SideRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """One turn of the slice.

    Args:
        index: Its place in the slice, from 0.
        turn: Its id.
        dialect: The dialect of its action.
        references: The teacher's samples, all of them.
        played: What the sides did; None where no reference holds an action, or the turn is left out.
        left_out: Why the turn is left out for both sides, a fault of ours; None where it is not.
        fault_of: Whose model it was that failed, by role; None where the turn is not left out.
        prompts: SHA-256 of the prompt that each model was asked with, in hex, by role.
    """

    index: int
    turn: str
    dialect: str
    references: tuple[Reference, ...]
    played: Played | None = None
    left_out: str | None = None
    fault_of: str | None = None
    prompts: Mapping[str, str] = field(default_factory=dict[str, str])

    def to_body(self) -> dict[str, Json]:
        """The body of the turn's log entry."""
        return {
            "kind": "turn.played",
            "index": self.index,
            "turn": self.turn,
            "dialect": self.dialect,
            "references": [reference.to_body() for reference in self.references],
            "king": self.played.king.to_body() if self.played else None,
            "challenger": self.played.challenger.to_body() if self.played else None,
            "leftOut": self.left_out,
            "faultOf": self.fault_of,
            "prompts": {role: self.prompts[role] for role in sorted(self.prompts)},
        }

    @classmethod
    def read(cls, entry: Record) -> "TurnRecord":
        """The turn that an entry holds.

        Raises:
            EvidenceInvalid: It holds none.
        """
        where = f"{TURNS} entry {entry.get('sequence')}"
        members = {
            "kind": str,
            "index": int,
            "turn": str,
            "dialect": str,
            "references": list,
            "king": (dict, type(None)),
            "challenger": (dict, type(None)),
            "leftOut": (str, type(None)),
            "faultOf": (str, type(None)),
            "prompts": dict,
        }
        body = read_object({name: value for name, value in entry.items() if name not in _ENVELOPE}, where, members)
        king, challenger = body["king"], body["challenger"]
        if (king is None) != (challenger is None) or (king is not None and body["leftOut"] is not None):
            msg = f"{where}: expected both sides, or neither; a turn that is left out has none"
            raise EvidenceInvalid(msg)
        played = None
        if king is not None:
            sides = (_read_side(side, f"{where}.{name}") for name, side in ((KING, king), (CHALLENGER, challenger)))
            played = Played(**dict(zip((KING, CHALLENGER), sides, strict=True)))
        return cls(
            index=cast(int, body["index"]),
            turn=cast(str, body["turn"]),
            dialect=cast(str, body["dialect"]),
            references=tuple(
                _read_reference(item, f"{where}.references[{at}]")
                for at, item in enumerate(read_list(body["references"], where))
            ),
            played=played,
            left_out=_read_reason(body["leftOut"], body["faultOf"], where),
            fault_of=cast("str | None", body["faultOf"]),
            prompts=_read_prompts(body["prompts"], where),
        )


def _bodies(**echoes: Forced | None) -> dict[str, Json]:
    return {name: echo.to_body() if echo else None for name, echo in echoes.items()}


def read_sample(value: Json, where: str) -> Sample:
    """The sample that part of an entry holds.

    Raises:
        EvidenceInvalid: It holds none.
    """
    body = read_object(value, where, {"text": str, "finish": str, "tokens": int, "broken": bool})
    text, finish, tokens = cast(str, body["text"]), cast(str, body["finish"]), cast(int, body["tokens"])
    broken = cast(bool, body["broken"])
    if finish not in _FINISHES or tokens < 0 or len(text) > LONGEST_SAMPLE:
        msg = f"{where}: expected a finish of {', '.join(_FINISHES)}, a count of tokens, and no more text than is kept"
        raise EvidenceInvalid(msg)
    if finish == REFUSED and (text or tokens):
        msg = f"{where}: a template that refused a conversation leaves no text"
        raise EvidenceInvalid(msg)
    if broken and _REPLACED not in text and len(text) < LONGEST_SAMPLE:
        msg = f"{where}: is said to be broken, and nothing in it was replaced or cut"
        raise EvidenceInvalid(msg)
    return Sample(text=text, finish=finish, tokens=tokens, broken=broken)


def _read_reason(value: Json, of: Json, where: str) -> str | None:
    if value is None and of is None:
        return None
    if value not in _LEFT_OUT or of not in (TEACHER, KING, CHALLENGER):
        expected = f"a reason of {', '.join(_LEFT_OUT)} and whose fault it was"
        msg = f"{where}: expected {expected}, got {value!a:.60}, {of!a:.60}"
        raise EvidenceInvalid(msg)
    if value == TEMPLATE_REFUSES and of != TEACHER:
        msg = f"{where}: a side whose template refuses forfeits, and no turn is left out for it"
        raise EvidenceInvalid(msg)
    return cast(str, value)


def _read_prompts(value: Json, where: str) -> dict[str, str]:
    prompts = value if isinstance(value, dict) else {}
    for role, digest in prompts.items():
        if role not in (TEACHER, KING, CHALLENGER) or not isinstance(digest, str) or not _HEX.fullmatch(digest):
            msg = f"{where}.prompts: expected the SHA-256 of a prompt by role, got {role!a:.60}"
            raise EvidenceInvalid(msg)
    return cast("dict[str, str]", prompts)


def read_forced(value: Json, where: str) -> Forced:
    """The echo that part of an entry holds.

    Raises:
        EvidenceInvalid: It holds none.
    """
    body = read_object(value, where, {"total": _NUMBER, "tokens": int, "size": int})
    total, tokens, size = body["total"], cast(int, body["tokens"]), cast(int, body["size"])
    number = 0.0 if total is None else float(cast(float, total))
    if tokens < 0 or size < 0 or (tokens and not size) or number > _MOST_TOTAL or (number and not tokens):
        msg = f"{where}: no echo has {tokens} tokens and {size} bytes with a sum of {total!a:.60}"
        raise EvidenceInvalid(msg)
    return Forced(total=None if total is None else float(cast(float, total)), tokens=tokens, size=size)


def _read_echoes(body: Mapping[str, Json], where: str) -> dict[str, Forced | None]:
    names = ("own", "empty", "thought")
    return {name: None if body[name] is None else read_forced(body[name], f"{where}.{name}") for name in names}


_ECHOES: Final = {name: (dict, type(None)) for name in ("own", "empty", "thought")}


def _read_reference(value: Json, where: str) -> Reference:
    body = read_object(value, where, {"sample": dict, **_ECHOES})
    return Reference(sample=read_sample(body["sample"], f"{where}.sample"), **_read_echoes(body, where))


def _read_side(value: Json, where: str) -> SideRecord:
    body = read_object(value, where, {"sample": dict, "references": list, "licences": list, **_ECHOES})
    echoes = _read_echoes(body, where)
    return SideRecord(
        sample=read_sample(body["sample"], f"{where}.sample"),
        references=_read_many(body["references"], f"{where}.references"),
        licences=_read_many(body["licences"], f"{where}.licences"),
        own=echoes["own"],
        empty=echoes["empty"],
        thought=echoes["thought"],
    )


def _read_many(value: Json, where: str) -> tuple[Forced, ...]:
    return tuple(read_forced(item, f"{where}[{at}]") for at, item in enumerate(read_list(value, where)))
