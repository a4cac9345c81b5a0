"""Writes docs/reference from the code: api.md from public docstrings, cli.md from what the commands say of themselves.

Usage: python tools/make_reference.py [--check]

With --check nothing is written; exit 1 if a page differs from what the code says.
"""

import ast
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
SECTIONS = re.compile(r"(Args|Attributes|Returns|Yields|Raises|Source|Complexity|Note|Example|Examples):")
ITEM = re.compile(r"([\w*, .]+?): (.*)")
# A command that has commands names their place in its usage, and lists them in a block of their own.
PLACE = re.compile(r"^usage: .*\b(COMMAND|ACTION)\b", re.MULTILINE)
LISTED = re.compile(r"(?: {2}| {4})([a-z][a-z0-9-]*)(?: {2}.*)?")


def write_api(source: Path) -> str:
    """The page of public names: every module under the folder that lists its names, the application's excepted.

    Args:
        source: The package's folder.
    """
    parts = [
        "# Public names\n",
        "Written by `make docs` from the docstrings; a module's `__all__` says what is public.\n",
    ]
    for path in sorted(source.rglob("*.py")):
        module = ".".join((source.name, *path.relative_to(source).with_suffix("").parts)).removesuffix(".__init__")
        if module.startswith(f"{source.name}.app"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = _list_public(tree)
        if names:
            lead = (ast.get_docstring(tree) or "").split("\n\n")[0]
            parts += [f"## {module}\n", f"{_mark_up(lead)}\n", *_describe_names(tree, names)]
    return "\n".join(parts)


def _list_public(tree: ast.Module) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            return list(ast.literal_eval(node.value))
    return []


def _describe_names(tree: ast.Module, names: list[str]) -> Iterator[str]:
    found = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    for name in names:
        node = found.get(name)
        if isinstance(node, ast.ClassDef):
            yield f"### class {name}\n"
            yield from _describe(_show_class(node), node)
            for method in node.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and not method.name.startswith("_"):
                    yield f"#### {name}.{method.name}\n"
                    yield from _describe(_show_function(method), method)
        elif isinstance(node, ast.FunctionDef):
            yield f"### {name}\n"
            yield from _describe(_show_function(node), node)


def _describe(shown: str, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    yield f"```python\n{shown}\n```\n"
    docstring = ast.get_docstring(node)
    if docstring:
        yield f"{_render(docstring)}\n"


def _show_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    decorators = [f"@{ast.unparse(each)}" for each in node.decorator_list]
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return "\n".join([*decorators, f"{word} {node.name}({ast.unparse(node.args)}){returns}"])


def _show_class(node: ast.ClassDef) -> str:
    bases = f"({', '.join(ast.unparse(base) for base in node.bases)})" if node.bases else ""
    fields = [f"    {ast.unparse(each)}" for each in node.body if _is_public_field(each)]
    return "\n".join([f"class {node.name}{bases}{':' if fields else ''}", *fields])


def _is_public_field(node: ast.stmt) -> bool:
    return isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_")


def _render(docstring: str) -> str:
    """A docstring as Markdown: its sections become bold words with lists, the rest stays as it is."""
    lines = docstring.splitlines()
    out: list[str] = []
    place = 0
    while place < len(lines):
        match = SECTIONS.fullmatch(lines[place].rstrip())
        place += 1
        if not match:
            out.append(lines[place - 1])
            continue
        block: list[str] = []
        while place < len(lines) and (not lines[place].strip() or lines[place].startswith(" ")):
            block.append(lines[place])
            place += 1
        out += [f"**{match[1]}**", "", *_list_items(textwrap.dedent("\n".join(block)).strip()), ""]
    return _mark_up("\n".join(out).strip())


def _list_items(block: str) -> list[str]:
    items: list[str] = []
    for line in block.splitlines():
        match = ITEM.fullmatch(line)
        if match and not line.startswith(" "):
            items.append(f"- `{match[1]}`: {match[2]}")
        else:
            items.append(f"  {line.strip()}" if items else line)
    return items


def _mark_up(text: str) -> str:
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text).replace("``", "`")


def write_cli(program: Path) -> str:
    """The page of commands: the help of the program and of every command below it.

    Args:
        program: The installed console script.
    """
    parts = ["# Commands\n", "Written by `make docs` from `assay --help` and the help of each command.\n"]
    parts += _describe_command(program, ())
    return "\n".join(parts)


def _describe_command(program: Path, words: tuple[str, ...]) -> Iterator[str]:
    shown = read_help(program, words)
    yield f"## {' '.join((program.name, *words))}\n"
    yield f"```text\n{shown.strip()}\n```\n"
    for word in list_commands(shown):
        yield from _describe_command(program, (*words, word))


def list_commands(shown: str) -> list[str]:
    """The commands below a command, in the order of its help; none if its usage has no place for one."""
    place = PLACE.search(shown)
    if not place:
        return []
    rest = shown[place.end() :]
    # argparse puts its word for the place above the list; the program itself starts with the list.
    start = re.search(rf"^  {place[1]}\n", rest, re.MULTILINE) or re.search(r"\n\n", rest)
    block = rest[start.end() :].split("\n\n")[0] if start else ""
    return [match[1] for match in map(LISTED.fullmatch, block.splitlines()) if match]


def read_help(program: Path, words: tuple[str, ...]) -> str:
    """What `--help` says of the program, or of the command that the words name, 100 columns wide."""
    settings = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    done = subprocess.run([program, *words, "--help"], env=settings, capture_output=True, text=True, check=True)
    return done.stdout


def find_stale(folder: Path, pages: Mapping[str, str]) -> list[str]:
    """The names of the pages that are missing from the folder or say something else there."""
    paths = {name: folder / name for name in pages}
    return [
        name for name, path in paths.items() if not path.exists() or path.read_text(encoding="utf-8") != pages[name]
    ]


def main() -> int:
    """The exit code: 0 if the pages were written or are as the code says, 1 if one differs under --check."""
    folder = REPOSITORY / "docs" / "reference"
    pages = {
        "api.md": write_api(REPOSITORY / "src" / "assay"),
        "cli.md": write_cli(Path(sys.executable).parent / "assay"),
    }
    stale = find_stale(folder, pages)
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"docs/reference/{name} is not what the code says: run make docs")
        return 1 if stale else 0
    folder.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (folder / name).write_text(pages[name], encoding="utf-8")
        print(f"docs/reference/{name} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
