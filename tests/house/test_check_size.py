"""The size check passes on this repository and fails on whatever is too large."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "tools" / "check_size.py"


def load_script():
    spec = importlib.util.spec_from_file_location("check_size", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_size = load_script()


def plant(root, place, source):
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")


def function_of(lines, head="def grow():"):
    return "\n".join([head, *["    pass"] * (lines - 1), ""])


def test_this_repository_keeps_the_limits():
    assert check_size.find_complaints(REPOSITORY, check_size.EXEMPTIONS) == []


@pytest.mark.parametrize("lines", [500, 501])
def test_a_source_file_may_have_500_lines(tmp_path, lines):
    plant(tmp_path, "src/assay/a.py", "pass\n" * lines)
    expected = [f"src/assay/a.py: {lines} lines, at most 500 allowed"] if lines > 500 else []
    assert check_size.find_complaints(tmp_path, {}) == expected


@pytest.mark.parametrize("lines", [700, 701])
def test_a_test_file_may_have_700_lines(tmp_path, lines):
    plant(tmp_path, "tests/test_a.py", "pass\n" * lines)
    assert len(check_size.find_complaints(tmp_path, {})) == lines - 700


@pytest.mark.parametrize("lines", [60, 61])
@pytest.mark.parametrize("head", ["def grow():", "async def grow():"])
def test_a_function_may_have_60_lines(tmp_path, head, lines):
    plant(tmp_path, "src/a.py", function_of(lines, head))
    assert len(check_size.find_complaints(tmp_path, {})) == lines - 60


def test_a_method_inside_a_branch_is_measured_under_its_full_name(tmp_path):
    body = "\n".join(f"        {line}" for line in function_of(61).splitlines())
    plant(tmp_path, "tools/a.py", f"if True:\n    class Plant:\n{body}\n")
    assert check_size.find_complaints(tmp_path, {}) == ["tools/a.py::Plant.grow: 61 lines, at most 60 allowed"]


@pytest.mark.parametrize(
    ("parameters", "count"),
    [
        ("self, a, b, c, d, e, f, g", 7),
        ("a, b, c, d, e, f, g, h", 8),
        ("a, b, /, c, d, *, e, f, g, h", 8),
        ("a, b, c, d, e, f, *args, **rest", 8),
    ],
)
def test_a_function_may_have_7_parameters(tmp_path, parameters, count):
    plant(tmp_path, "benchmarks/a.py", f"def grow({parameters}): pass\n")
    expected = ["benchmarks/a.py::grow: 8 parameters, at most 7 allowed"] if count > 7 else []
    assert check_size.find_complaints(tmp_path, {}) == expected


def test_an_exemption_holds_up_to_its_ceiling_and_no_further(tmp_path):
    plant(tmp_path, "src/a.py", function_of(70))
    exempt = check_size.Exemption("one table of cases", 70)
    assert check_size.find_complaints(tmp_path, {("src/a.py::grow", "lines"): exempt}) == []
    plant(tmp_path, "src/a.py", function_of(71))
    assert check_size.find_complaints(tmp_path, {("src/a.py::grow", "lines"): exempt}) == [
        "src/a.py::grow: 71 lines, at most 70 allowed"
    ]


def test_an_exemption_that_nothing_needs_is_a_complaint(tmp_path):
    plant(tmp_path, "src/a.py", function_of(60))
    exempt = {("src/a.py::grow", "lines"): check_size.Exemption("one table of cases", 70)}
    assert check_size.find_complaints(tmp_path, exempt) == ["src/a.py::grow: exempt in lines without need"]


@pytest.mark.parametrize(("lines", "status"), [(60, 0), (61, 1)])
def test_the_script_answers_by_its_exit_status(tmp_path, lines, status):
    plant(tmp_path, "src/a.py", function_of(lines))
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert bool(done.stdout) == bool(status)
