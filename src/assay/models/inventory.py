"""Which models are at hand, found without loading any: packaged, made by recipes, scripted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from safetensors import safe_open

from assay.kernel.errors import MissingMaterial
from assay.models.packaged import PACKAGED, cache_folder, find_packaged, packaged_folder
from assay.models.scripted import PROFILES, ScriptedModel

__all__ = ["Item", "digest_weights", "list_models"]

_WEIGHTS: Final = "model.safetensors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A model that can be named in a contract.

    Args:
        name: As a contract names it.
        installed: Whether it could run now.
        weights: The digest under which it answers; empty where its weights are not unpacked yet.
        licence: What its weights may be used under.
        place: Where it lies, or what to install.
    """

    name: str
    installed: bool
    weights: str
    licence: str
    place: str

    def to_json(self) -> Mapping[str, object]:
        """The item as ``assay models list --json`` shows it."""
        return {
            "name": self.name,
            "installed": self.installed,
            "weights": self.weights or None,
            "licence": self.licence,
            "place": self.place,
        }


def list_models() -> list[Item]:
    """Every model that needs no address: packaged ones, those that recipes made, scripted ones."""
    return [*_list_packaged(), *_list_made(), *_list_scripted()]


def digest_weights(folder: Path) -> str:
    """The digest that a model of this folder answers under, or nothing where it has no such weights."""
    path = folder / _WEIGHTS
    if not path.is_file():
        return ""
    hasher = sha256()
    with cast(Any, safe_open)(path, framework="numpy") as tensors:
        for name in sorted(tensors.keys()):
            values = np.ascontiguousarray(tensors.get_tensor(name), dtype=np.float32)
            hasher.update(f"{name}\0{list(values.shape)}\0".encode())
            hasher.update(values.data.cast("B"))
    return f"sha256:{hasher.hexdigest()}"


def _list_packaged() -> Iterator[Item]:
    for name, packaged in sorted(PACKAGED.items()):
        folder = packaged_folder(name)
        weights = digest_weights(folder)
        try:
            place, installed = str(folder if weights else find_packaged(name)), True
        except MissingMaterial as missing:
            place, installed = missing.message, False
        yield Item(name=f"local:{name}", installed=installed, weights=weights, licence=packaged.licence, place=place)


def _list_made() -> Iterator[Item]:
    for recipe in sorted((cache_folder() / "recipes").glob("*/recipe.json")):
        folder = recipe.parent
        yield Item(
            name=f"folder:{folder}",
            installed=True,
            weights=digest_weights(folder),
            licence="that of the model it was made from",
            place=str(folder),
        )


def _list_scripted() -> Iterator[Item]:
    for name in sorted(PROFILES):
        identity = ScriptedModel(f"scripted:{name}", PROFILES[name]).identity
        yield Item(
            name=identity.name, installed=True, weights=identity.weights, licence="Apache-2.0", place="part of Assay"
        )
