"""The sections of a duel's contract, each with its defaults and the range of every member."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue

from assay.kernel.canonical import MAX_SAFE_INTEGER
from assay.rules.sections import Section, Text

__all__ = [
    "Challenger",
    "Change",
    "Contract",
    "Corpus",
    "Distilled",
    "Injectability",
    "Probes",
    "Protocol",
    "Recipe",
    "Run",
    "Scoring",
    "Sequential",
    "Side",
    "Slice",
    "Teacher",
    "Tokens",
    "Weakened",
]

Digest: TypeAlias = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}\z")]
Hex: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]
Seed: TypeAlias = Annotated[int, Field(ge=0, le=MAX_SAFE_INTEGER)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
TokenCount: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000)]
Temperature: TypeAlias = Annotated[float, Field(ge=0, le=2)]


class Change(Section):
    """One version of the contract: since when, and what it changed."""

    version: Annotated[int, Field(ge=1, le=10_000)]
    since: Text
    what: Text


class Contract(Section):
    """The contract's version, and how it came to it."""

    version: Annotated[int, Field(ge=1, le=10_000)]
    history: Annotated[tuple[Change, ...], Field(min_length=1)]


class Weakened(Section):
    """A model spoilt on purpose: Gaussian noise on every matrix, by a registered seed."""

    kind: Literal["noise"]
    scale: Annotated[float, Field(gt=0, le=10)]
    seed: Seed


class Distilled(Section):
    """A model trained on recorded turns: the first ``lessons`` of the corpus that are not in the slice, one a step."""

    kind: Literal["distil"]
    lessons: Annotated[int, Field(ge=1, le=100_000)]
    steps: Annotated[int, Field(ge=1, le=1_000_000)]
    learning_rate: Annotated[float, Field(gt=0, le=1)]
    max_tokens: TokenCount
    seed: Seed


Recipe: TypeAlias = Annotated[Weakened | Distilled, Field(discriminator="kind")]


class Teacher(Section):
    """The frozen model whose log-probabilities decide."""

    model: Text
    weights: Digest


class Side(Section):
    """A model that duels: where it comes from, what is done to it first, and the digest its weights must have."""

    name: Text
    model: Text
    weights: Digest | None = None
    recipe: Recipe | None = None


class Challenger(Side):
    """The side that wants the crown; ``key`` is the participant's, and seeds the slice together with the beacon."""

    key: Text


class Corpus(Section):
    """The turns: the folder that holds them, and the digest of the manifest that names them all."""

    store: Text
    manifest: Hex


class Slice(Section):
    """Which turns are played: drawn by a beacon that nobody could know, and the challenger's key."""

    beacon: Text
    beacon_from: Text
    turns: Annotated[int, Field(ge=2, le=100_000)]


class Tokens(Section):
    """Token limits of one dialect, in place of the general ones."""

    thought: TokenCount
    action: TokenCount


class Scoring(Section):
    """The numbers that decide; log-probabilities are nats a UTF-8 byte. See :class:`assay.labs.duel.knobs.Knobs`."""

    score_mode: Literal["reason", "min_rg", "min_rga"]
    tau: Annotated[float, Field(ge=0, le=10)]
    band_c: Annotated[float, Field(ge=0, le=100)]
    band_floor: Annotated[float, Field(ge=0, le=10)]
    forfeit_turn_score: Annotated[float, Field(ge=-10, le=0)]
    k_sigma: Annotated[float, Field(ge=0, le=100)]
    min_margin: Annotated[float, Field(ge=0, le=10)]
    min_thought_chars: Annotated[int, Field(ge=0, le=1_000_000)]
    causality_gamma: Share
    causality_tau: Annotated[float, Field(ge=0, le=10)] = 0.02
    leak_share: Annotated[float, Field(gt=0, le=1)] = 0.6
    teacher_samples: Annotated[int, Field(ge=1, le=64)]
    require_think_close: bool
    temperature: Temperature
    max_thought_tokens: TokenCount
    max_action_tokens: TokenCount
    max_tokens_by_dialect: dict[Text, Tokens] = Field(default_factory=dict[str, Tokens])
    max_left_out_share: Share = 0.1


class Injectability(Section):
    """Whether the challenger's texts can be forced at all, tried on the first turns of the slice; 0 does not ask."""

    turns: Annotated[int, Field(ge=0, le=100)] = 3


class Protocol(Section):
    """Whether the challenger works as a chat model: ``enforce`` rejects it where it does not, ``shadow`` only tells."""

    mode: Literal["off", "shadow", "enforce"]
    min_pass_rate: Share = 0.9
    samples: Annotated[int, Field(ge=1, le=100)] = 2
    temperature: Temperature = 0.7
    max_tokens: TokenCount = 1024


class Probes(Section):
    """What a challenger has to pass before it is scored."""

    injectability: Injectability = Injectability()
    protocol: Protocol


class Sequential(Section):
    """Ends a duel as soon as it is decided: a confidence sequence over the differences, clipped to a range."""

    alpha: Annotated[float, Field(gt=0, le=0.5)]
    clip: Annotated[float, Field(gt=0, le=10)]
    min_turns: Annotated[int, Field(ge=2, le=100_000)] = 2


class Run(Section):
    """How the work is done; nothing here can change a verdict."""

    concurrency: Annotated[int, Field(ge=1, le=4096)] = 1


Pin: TypeAlias = dict[str, JsonValue]
