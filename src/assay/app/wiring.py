"""The one place that knows every lab. A lab is imported when it is named, and not before."""

import difflib
import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from assay.kernel.errors import MissingMaterial, UnknownName
from assay.verifier.lab import Lab

__all__ = ["LABS", "InstalledLabs", "find_lab"]

# name → (module, attribute, the extra that brings what it needs)
LABS: Mapping[str, tuple[str, str, str]] = {
    "experiment": ("assay.labs.experiment.lab", "LAB", "labs"),
    "duel": ("assay.labs.duel.lab", "LAB", "labs"),
}


def find_lab(name: str) -> Lab[Any]:
    """The lab of that name.

    Raises:
        UnknownName: There is none; the message offers the nearest.
        MissingMaterial: It is part of Assay, and what it needs is not installed.
    """
    if name not in LABS:
        near = difflib.get_close_matches(name, LABS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        msg = f"no lab is called {name!r}{hint} (there are: {', '.join(sorted(LABS))})"
        raise UnknownName(msg, name=name)
    module, attribute, extra = LABS[name]
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("assay"):
            raise
        msg = (
            f"the {name} lab needs {error.name}, which is not installed; in Assay's checkout: pip install '.[{extra}]'"
        )
        raise MissingMaterial(msg, lab=name, missing=error.name) from error


class InstalledLabs(Mapping[str, Lab[Any]]):
    """The labs whose needs are installed, by name; each is imported when it is asked for."""

    def __getitem__(self, name: str) -> Lab[Any]:
        """The lab, or ``KeyError`` where it is unknown or cannot be imported."""
        try:
            return find_lab(name)
        except (UnknownName, MissingMaterial) as error:
            raise KeyError(name) from error

    def __iter__(self) -> Iterator[str]:
        """The names of the labs that can be imported."""
        return (name for name in LABS if name in self)

    def __len__(self) -> int:
        """How many labs can be imported."""
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        """Whether a lab can be imported."""
        try:
            self[str(name)]
        except KeyError:
            return False
        return True
