"""The import contracts hold on this tree, and each one breaks when an import that it forbids is planted."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
LINT_IMPORTS = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"

LAYERS = "Arrows go one way: app, testing, labs, rules and stats, verifier, kernel"
LABS_APART = "Labs do not import one another"
KERNEL_LEAN = "The kernel and the verifier stand on PyNaCl and orjson alone"
LABS_FACELESS = "Labs know no page, no terminal and no web framework"
RULES_PURE = "Rules are data and arithmetic: they know no model and no object store"
NO_CYCLES = "No cycles between siblings inside a room, at any depth"

FOR_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import {0}\n"

# Each case: the module to plant, its source, and the one contract that it breaks.
VIOLATIONS = {
    "rules import models": ("rules/planted.py", "import assay.models\n", RULES_PURE),
    "kernel imports verifier": ("kernel/planted.py", "import assay.verifier\n", LAYERS),
    "verifier imports a lab": ("verifier/planted.py", "import assay.labs.experiment\n", LAYERS),
    "verifier imports stats": ("verifier/planted.py", "import assay.stats\n", LAYERS),
    "stats imports rules": ("stats/planted.py", "import assay.rules\n", LAYERS),
    "a lab imports app": ("labs/experiment/planted.py", "import assay.app\n", LAYERS),
    "a lab imports testing": ("labs/experiment/planted.py", "import assay.testing\n", LAYERS),
    "testing imports app": ("testing/planted.py", "import assay.app\n", LAYERS),
    "kernel imports a lab for types": ("kernel/planted.py", FOR_TYPES.format("assay.labs.experiment"), LAYERS),
    "a room has no place": ("attic/__init__.py", "", LAYERS),
    "a lab imports a lab": ("labs/planted/__init__.py", "import assay.labs.experiment\n", LABS_APART),
    "kernel imports numpy": ("kernel/planted.py", "import numpy\n", KERNEL_LEAN),
    "kernel imports numpy for types": ("kernel/planted.py", FOR_TYPES.format("numpy"), KERNEL_LEAN),
    "verifier imports pydantic": ("verifier/planted.py", "from pydantic import BaseModel\n", KERNEL_LEAN),
    "verifier imports ruamel": ("verifier/planted.py", "from ruamel.yaml import YAML\n", KERNEL_LEAN),
    "a lab imports rich": ("labs/experiment/planted.py", "import rich.table\n", LABS_FACELESS),
    "a lab imports jinja2": ("labs/experiment/planted.py", "import jinja2\n", LABS_FACELESS),
}


def copy_tree(root):
    shutil.copytree(REPOSITORY / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", root)
    return root


def plant(root, place, source):
    path = root / "src" / "assay" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'"""Planted."""\n\n{source}', encoding="utf-8")
    return path


def read_verdicts(root):
    """The names of the contracts kept and of those broken, as the linter reports them for the tree at the root."""
    done = subprocess.run(
        [sys.executable, "-c", LINT_IMPORTS, "--no-logo", "--no-cache"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    kept = {line.removesuffix(" KEPT") for line in lines if line.endswith(" KEPT")}
    broken = {line.removesuffix(" BROKEN") for line in lines if line.endswith(" BROKEN")}
    assert kept | broken == {LAYERS, LABS_APART, KERNEL_LEAN, LABS_FACELESS, RULES_PURE, NO_CYCLES}, (
        done.stdout + done.stderr
    )
    assert done.returncode == (1 if broken else 0)
    return kept, broken


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return copy_tree(tmp_path_factory.mktemp("imports"))


def test_this_tree_keeps_every_contract(tree):
    kept, broken = read_verdicts(tree)
    assert broken == set()
    assert len(kept) == 6


@pytest.mark.parametrize(("place", "source", "contract"), VIOLATIONS.values(), ids=VIOLATIONS.keys())
def test_a_planted_import_breaks_the_contract_that_forbids_it(tree, place, source, contract):
    path = plant(tree, place, source)
    try:
        _, broken = read_verdicts(tree)
    finally:
        path.unlink()
        if path.name == "__init__.py":
            path.parent.rmdir()
    assert broken == {contract}


def test_a_cycle_between_siblings_is_found(tmp_path):
    root = copy_tree(tmp_path)
    plant(root, "rules/planted_one.py", "import assay.rules.planted_two\n")
    plant(root, "rules/planted_two.py", "import assay.rules.planted_one\n")
    assert read_verdicts(root)[1] == {NO_CYCLES}


def test_rules_may_use_stats(tree):
    path = plant(tree, "rules/planted.py", "import assay.stats\n")
    try:
        assert read_verdicts(tree)[1] == set()
    finally:
        path.unlink()
