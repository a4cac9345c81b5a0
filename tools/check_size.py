"""Fails where a file or a function has outgrown what one reading can hold.

Usage: python tools/check_size.py [ROOT]

Every Python file under src, tests, tools, benchmarks and examples is measured; exit 0 if all keep the limits, 1 if not.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

FOLDERS = ("src", "tests", "tools", "benchmarks", "examples")
FILE_LINES = 500
TEST_FILE_LINES = 700
FUNCTION_LINES = 60
PARAMETERS = 7


class Finding(NamedTuple):
    """One thing that is too large: where it is, what is counted, how much there is and how much there may be."""

    place: str
    unit: str
    size: int
    limit: int


class Exemption(NamedTuple):
    """Why a place may be larger than the limit, and how large: a ceiling that may only go down."""

    reason: str
    ceiling: int


# By place and unit as the findings print them, e.g. ("src/assay/kernel/writer.py::Writer.append", "lines").
EXEMPTIONS: Mapping[tuple[str, str], Exemption] = {}


def measure_file(path: Path, place: str) -> Iterator[Finding]:
    """Everything in one file that exceeds a limit.

    Args:
        path: The file.
        place: How findings name it: its path from the root, with forward slashes.
    """
    source = path.read_text(encoding="utf-8")
    limit = TEST_FILE_LINES if place.startswith("tests/") else FILE_LINES
    lines = len(source.splitlines())
    if lines > limit:
        yield Finding(place, "lines", lines, limit)
    yield from _measure_functions(ast.parse(source, filename=place), f"{place}::")


def _measure_functions(node: ast.AST, prefix: str) -> Iterator[Finding]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _measure_functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            place = f"{prefix}{child.name}"
            lines = (child.end_lineno or child.lineno) - child.lineno + 1
            if lines > FUNCTION_LINES:
                yield Finding(place, "lines", lines, FUNCTION_LINES)
            parameters = _count_parameters(child.args)
            if parameters > PARAMETERS:
                yield Finding(place, "parameters", parameters, PARAMETERS)
            yield from _measure_functions(child, f"{place}.")
        else:
            yield from _measure_functions(child, prefix)


def _count_parameters(arguments: ast.arguments) -> int:
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    starred = [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    return len(named) + len(starred) - (1 if named and named[0].arg in {"self", "cls"} else 0)


def find_complaints(root: Path, exemptions: Mapping[tuple[str, str], Exemption]) -> list[str]:
    """One line for each thing under the root that is too large, and for each exemption that nothing needs."""
    files = sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.py"))
    findings = [each for path in files for each in measure_file(path, path.relative_to(root).as_posix())]
    complaints: list[str] = []
    for place, unit, size, limit in findings:
        allowed = exemptions[place, unit].ceiling if (place, unit) in exemptions else limit
        if size > allowed:
            complaints.append(f"{place}: {size} {unit}, at most {allowed} allowed")
    needed = {(finding.place, finding.unit) for finding in findings}
    complaints += [
        f"{place}: exempt in {unit} without need" for place, unit in exemptions if (place, unit) not in needed
    ]
    return complaints


def main() -> int:
    """The exit code: 0 if everything under the root keeps the limits, 1 if not."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    complaints = find_complaints(root, EXEMPTIONS)
    for line in complaints:
        print(line)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
