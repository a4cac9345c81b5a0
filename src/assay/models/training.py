"""Making models by recipes: the part that needs torch. See :mod:`assay.models.recipes` for what a recipe is."""

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Final, cast

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel
from transformers.utils.logging import disable_progress_bar

from assay.kernel import canonical
from assay.kernel.canonical import Json
from assay.models.recipes import Lesson, Noise, Training

__all__ = ["distil", "weaken"]

_METHOD: Final = 1  # counts up whenever what a recipe does changes, so that no older model is taken for it
_WARM_STEPS: Final = 5
_BETAS: Final = (0.9, 0.95)
_IGNORED: Final = -100  # the label that torch's cross entropy passes over
_READY: Final = "recipe.json"


def weaken(base: Path, cache: Path, recipe: Noise) -> Path:
    """The folder of a model with noise on its weights, made where it is not there yet.

    Args:
        base: A folder that transformers loads.
        cache: Where recipes are kept.
        recipe: How much noise, by which seed.
    """
    identity: dict[str, Json] = {"recipe": "noise", "base": _digest_folder(base), **asdict(recipe)}

    def change(model: PreTrainedModel) -> None:
        generator = torch.Generator().manual_seed(recipe.seed)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim == 2:
                    noise = torch.randn(parameter.shape, generator=generator)
                    parameter.add_(noise * (recipe.scale * parameter.std()))

    return _make(base, cache, identity, change)


def distil(
    base: Path,
    cache: Path,
    recipe: Training,
    lessons: Sequence[Lesson],
    *,
    advance: Callable[[int, int], None],
) -> Path:
    """The folder of a model that was trained on lessons, made where it is not there yet.

    Args:
        base: A folder that transformers loads.
        cache: Where recipes are kept.
        recipe: How it is trained.
        lessons: What it learns; a seed orders them, and they come again as often as there are steps for it.
        advance: Told the steps that are done and how many there are.
    """
    taught = sha256(canonical.dumps([[lesson.prompt, lesson.answer] for lesson in lessons])).hexdigest()
    identity: dict[str, Json] = {
        "recipe": "distil",
        "base": _digest_folder(base),
        "lessons": taught,
        "method": _METHOD,
        **asdict(recipe),
    }

    def change(model: PreTrainedModel) -> None:
        _train(model, _encode(base, lessons, recipe.max_tokens), recipe, advance)

    return _make(base, cache, identity, change)


def _digest_folder(base: Path) -> str:
    """The digest of a model's weights as they lie on disk: what its recipe starts from."""
    hasher = sha256()
    for file in sorted(base.glob("*.safetensors")):
        with file.open("rb") as opened:
            hasher.update(file_digest(opened, "sha256").digest())
    return hasher.hexdigest()


def _make(base: Path, cache: Path, identity: dict[str, Json], change: Callable[[PreTrainedModel], None]) -> Path:
    """The folder for this identity; it is put in place whole, so that a stopped recipe leaves nothing half-made."""
    made = cache / sha256(canonical.dumps_evidence(identity)).hexdigest()
    if (made / _READY).is_file():
        return made
    draft = made.with_name(f".{made.name}.{os.getpid()}.partial")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    disable_progress_bar()  # progress is the application's to show
    model = cast(
        PreTrainedModel,
        cast(Any, AutoModelForCausalLM).from_pretrained(base, local_files_only=True, dtype=torch.float32),
    )
    change(model)
    model.eval()
    cast(Any, model).save_pretrained(draft)
    cast(Any, AutoTokenizer).from_pretrained(base, local_files_only=True).save_pretrained(draft)
    (draft / _READY).write_text(json.dumps(identity, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    shutil.rmtree(made, ignore_errors=True)
    draft.replace(made)
    return made


def _encode(base: Path, lessons: Sequence[Lesson], max_tokens: int) -> list[tuple[list[int], int]]:
    """Token ids of each lesson, and how many of them the answer has."""
    tokenizer = cast(Any, AutoTokenizer).from_pretrained(base, local_files_only=True)
    encoded: list[tuple[list[int], int]] = []
    for lesson in lessons:
        answer: list[int] = [*tokenizer(lesson.answer, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
        prompt: list[int] = tokenizer(lesson.prompt, add_special_tokens=False)["input_ids"]
        room = max(1, max_tokens - len(answer))
        encoded.append((prompt[-room:] + answer, len(answer)))
    return encoded


def _train(
    model: PreTrainedModel,
    lessons: Sequence[tuple[list[int], int]],
    recipe: Training,
    advance: Callable[[int, int], None],
) -> None:
    generator = torch.Generator().manual_seed(recipe.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.learning_rate, betas=_BETAS, weight_decay=0.0)
    model.train()
    order: list[int] = []
    for step in range(recipe.steps):
        order = order or [int(at) for at in torch.randperm(len(lessons), generator=generator)]
        ids, answer = lessons[order.pop()]
        inputs = torch.tensor([ids])
        labels = inputs.clone()
        labels[:, :-answer] = _IGNORED
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate * min(1.0, (step + 1) / _WARM_STEPS)
        model(input_ids=inputs, labels=labels).loss.backward()
        cast(Any, optimizer).step()
        optimizer.zero_grad()
        advance(step + 1, recipe.steps)
