"""What a submitted model may consist of, judged by names, sizes and its configuration alone, before it is fetched.

The first rule that fails is told. The safe reading closes what the network's left open: file names are compared without
case, code that hides in a nested ``auto_map`` or in a pickle counts as code, a set of weight files has to be whole with
none beside it, and a name with a line end after it is another name.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from assay.kernel.canonical import Json
from assay.labs.duel.eras import Era

__all__ = ["LIMITS", "Limits", "Violation", "find_violation", "is_allowed_name", "names_its_owner"]

Violation: TypeAlias = Literal[
    "bad-size",
    "too-many-files",
    "code-file",
    "auto-map",
    "config-missing",
    "config-too-large",
    "no-weights",
    "weights-not-standard",
    "weights-too-large",
    "repository-too-large",
]

_CONFIG: Final = "config.json"
_WHOLE: Final = "model.safetensors"
_INDEX: Final = "model.safetensors.index.json"
_SHARD: Final = re.compile(r"model-([0-9]{5})-of-([0-9]{5})\.safetensors")
_CODE: Final = (".py", ".pyc", ".pyd", ".so", ".pkl", ".pickle", ".pt", ".pth", ".ckpt", ".bin")
_NAMES: Final = frozenset(
    {
        ".gitattributes",
        "README.md",
        "added_tokens.json",
        "chat_template.jinja",
        "chat_template.json",
        _CONFIG,
        "generation_config.json",
        "merges.txt",
        _WHOLE,
        _INDEX,
        "preprocessor_config.json",
        "special_tokens_map.json",
        "tokenizer.json",
        "tokenizer.model",
        "tokenizer_config.json",
        "video_preprocessor_config.json",
        "vocab.json",
    }
)
_LICENCE: Final = re.compile(r"LICENSE(\.[a-z]+)?")
_REPOSITORY: Final = re.compile(r"[^/]+/[Aa]ffine-.+")
_HALF: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a model may hold; sizes in bytes."""

    files: int = 5000
    config: int = 2**20
    weights: int = 90 * 10**9
    total: int = 100 * 10**9


LIMITS: Final = Limits()
"""The limits of the public network at contract version 14."""


def find_violation(files: Mapping[str, int], config: Json, era: Era, limits: Limits = LIMITS) -> Violation | None:
    """The first rule that a model breaks, or None where it breaks none.

    Args:
        files: Size in bytes of each file by its path.
        config: What its ``config.json`` holds; None where it has none.
        era: Whose reading of the rules applies.
        limits: How much it may hold.
    """
    weights = {path: size for path, size in files.items() if path.endswith(".safetensors")}
    safe = era is Era.SAFE
    found: dict[Violation, bool] = {
        "bad-size": safe and any(type(size) is not int or size < 0 for size in files.values()),
        "too-many-files": len(files) > limits.files,
        "code-file": any(_is_code(path, era) for path in files),
        "auto-map": _has_auto_map(config, era),
        "config-missing": safe and (not isinstance(config, dict) or _CONFIG not in files),
        "config-too-large": _measure_config(files, config, era) > limits.config,
        "no-weights": not weights,
        "weights-not-standard": not _is_standard(files, weights, era),
        "weights-too-large": sum(weights.values()) > limits.weights,
        "repository-too-large": sum(files.values()) > limits.total,
    }
    return next((violation for violation, broken in found.items() if broken), None)


def is_allowed_name(path: str, era: Era) -> bool:
    """Whether a file of a private submission may have this path.

    The network's patterns were content with a line end after the name; in the safe era that is another name.
    """
    name = path.removesuffix("\n") if era is Era.NETWORK else path
    return name in _NAMES or bool(_SHARD.fullmatch(name) or _LICENCE.fullmatch(name))


def names_its_owner(repository: str, keys: tuple[str, ...], era: Era) -> bool:
    """Whether a public repository is named for its owner: ``…/Affine-…`` with both ends of one of the keys in it.

    Args:
        repository: Owner and name, with a slash between.
        keys: The owner's keys; five characters from either end of one of them have to be in the name, without case.
        era: Whose reading of the rules applies.
    """
    name = repository.removesuffix("\n") if era is Era.NETWORK else repository
    lower = repository.lower()
    owned = any(key[:_HALF].lower() in lower and key[-_HALF:].lower() in lower for key in keys if len(key) >= _HALF)
    return bool(_REPOSITORY.fullmatch(name)) and owned


def _is_code(path: str, era: Era) -> bool:
    return path.lower().endswith(_CODE) if era is Era.SAFE else path.endswith(".py")


def _has_auto_map(config: Json, era: Era) -> bool:
    """Whether a configuration asks for code of the repository to be run."""
    waiting = [config]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if "auto_map" in item:
                return True
            waiting += item.values() if era is Era.SAFE else ()
        elif isinstance(item, list) and era is Era.SAFE:
            waiting += item
    return False


def _measure_config(files: Mapping[str, int], config: Json, era: Era) -> int:
    """The length of the configuration written again, and in the safe era no less than its file's size."""
    written = len(json.dumps(config))
    return max(written, files.get(_CONFIG, 0)) if era is Era.SAFE else written


def _is_standard(files: Mapping[str, int], weights: Mapping[str, int], era: Era) -> bool:
    """Whether the weights lie in one file, or in numbered ones with an index."""
    shards = [match for path in weights if (match := _SHARD.fullmatch(path))]
    if era is Era.NETWORK:
        return _WHOLE in files or (_INDEX in files and bool(shards))
    if _WHOLE in weights:
        return len(weights) == 1
    counts = {int(match[2]) for match in shards}
    numbers = sorted(int(match[1]) for match in shards)
    whole = len(counts) == 1 and numbers == list(range(1, max(counts) + 1))
    return _INDEX in files and whole and len(shards) == len(weights)
