"""Recipes: models that are made here from another by a registered procedure, kept by the digest of what made them.

They give a duel a known truth: a model that was spoilt, and the same model after some training. Floating-point training
need not give the same bits on another machine, so that what a recipe registers is the procedure; which weights it gave
is part of the evidence.
"""

from dataclasses import dataclass

__all__ = ["Lesson", "Noise", "Training"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One thing to learn: what to say after a prompt."""

    prompt: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Gaussian noise on every matrix, ``scale`` of its own standard deviations large."""

    scale: float
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Plain fine-tuning on answers: AdamW without decay, one lesson a step, prompts cut at the left to fit."""

    steps: int
    learning_rate: float
    max_tokens: int
    seed: int
