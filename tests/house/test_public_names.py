"""What a module says is public exists, once each; what a package says is public is all that it shows."""

import importlib
import pkgutil
from types import ModuleType

import pytest

import assay

MODULES = [name for _, name, _ in pkgutil.walk_packages(assay.__path__, "assay.") if not name.endswith("__main__")]


def find_faults(module):
    """One line for each name of ``__all__`` that is missing, repeated or private, and for each public name left out."""
    listed = module.__all__
    faults = [f"{name} does not exist" for name in listed if not hasattr(module, name)]
    faults += [f"{name} is listed twice" for name in sorted(set(listed)) if listed.count(name) > 1]
    faults += [f"{name} is private" for name in listed if name.startswith("_")]
    if hasattr(module, "__path__"):
        # A submodule becomes an attribute once somebody imports it; it is public by its own name.
        shown = {name for name, value in vars(module).items() if not isinstance(value, ModuleType)}
        faults += [f"{name} is left out" for name in sorted(shown) if not name.startswith("_") and name not in listed]
    return faults


def test_modules_are_found():
    assert "assay.kernel.errors" in MODULES


@pytest.mark.parametrize("name", MODULES)
def test_the_public_names_are_as_listed(name):
    module = importlib.import_module(name)
    if hasattr(module, "__all__"):
        assert find_faults(module) == []


@pytest.mark.parametrize(
    ("listed", "fault"),
    [
        (["Seal", "open_seal", "lost"], "lost does not exist"),
        (["Seal", "open_seal", "Seal"], "Seal is listed twice"),
        (["Seal", "open_seal", "_hidden"], "_hidden is private"),
        (["Seal"], "open_seal is left out"),
    ],
)
def test_a_fault_is_found(listed, fault):
    package = ModuleType("planted")
    vars(package).update(Seal=type("Seal", (), {}), open_seal=len, _hidden=1, __path__=[], __all__=listed)
    assert find_faults(package) == [fault]


def test_a_sound_package_has_no_fault():
    package = ModuleType("planted")
    vars(package).update(Seal=type("Seal", (), {}), submodule=ModuleType("sub"), __path__=[], __all__=["Seal"])
    assert find_faults(package) == []
