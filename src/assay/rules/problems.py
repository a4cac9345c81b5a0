"""What a validator found wrong with a registration, in plain words and with the place of each member."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pydantic import ValidationError

from assay.kernel.canonical import Json
from assay.rules.names import describe, nearest

__all__ = ["Expectations", "list_problems"]


_Kinds: TypeAlias = Mapping[str, tuple[str, ...]]


def _nothing_special(path: str, value: Json) -> str | None:  # noqa: ARG001 - the default of a callable
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """What a kind of registration expects of its members.

    Args:
        members: What is expected at each place; ``[]`` stands for any item and ``*`` for any name.
        of_kind: For a section that comes in kinds: its path, and the members of each kind.
        special: A sentence of its own for a member and value that needs one, without the path.
    """

    members: Mapping[str, str]
    of_kind: Mapping[str, _Kinds] = field(default_factory=dict[str, Mapping[str, tuple[str, ...]]])
    special: Callable[[str, Json], str | None] = _nothing_special


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A member of a document: its path, the same with ``[]`` and ``*``, its value, and the section that holds it."""

    path: str
    pattern: str
    value: Json
    section: Json


def list_problems(error: ValidationError, document: Mapping[str, Json], expectations: Expectations) -> list[str]:
    """One sentence for every place at which the validator found something, in its order.

    Args:
        error: What the validator raised for *document*.
        document: The document that was read.
        expectations: What its members should have been.
    """
    problems: dict[str, str] = {}
    for found in error.errors(include_url=False, include_context=False, include_input=False):
        location = found["loc"]
        if found["type"].startswith("union_tag"):
            location = (*location, "kind")
        kind = "key" if location[-1:] == ("[key]",) else found["type"]
        place = _find(location, document, expectations)
        if kind == "too_short" and place.value:
            continue  # its items have been named already
        problems.setdefault(place.path, _word(kind, place, expectations))
    return list(problems.values())


def _find(location: tuple[int | str, ...], document: Mapping[str, Json], expectations: Expectations) -> _Place:
    """The member that a validator's location means; the names of its alternatives are left out."""
    place = _Place(path="", pattern="", value=dict(document), section=None)
    for at, part in enumerate(location):
        place = _step(place, part, expectations, last=at == len(location) - 1)
    return place


def _step(place: _Place, part: int | str, expectations: Expectations, *, last: bool) -> _Place:
    value = place.value
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return _Place(path=f"{place.path}[{part}]", pattern=f"{place.pattern}[]", value=value[part], section=value)
    if isinstance(value, dict) and isinstance(part, str) and (part in value or (last and part != "[key]")):
        path = f"{place.path}.{part}".removeprefix(".")
        pattern = f"{place.pattern}.{part}".removeprefix(".")
        if pattern not in expectations.members:
            pattern = f"{place.pattern}.*".removeprefix(".")
        return _Place(path=path, pattern=pattern, value=value.get(part), section=value)
    return place


def _word(kind: str, place: _Place, expectations: Expectations) -> str:
    path, expected = place.path, expectations.members.get(place.pattern)
    if kind == "key":
        return f"{path}: expected a name that is not blank"
    if kind == "missing" or (kind == "union_tag_not_found" and path.rpartition(".")[0] in expectations.of_kind):
        return f"{path}: is missing; expected {expected}"
    if kind == "extra_forbidden" or expected is None:
        near = nearest(path.rpartition(".")[2], _list_members(place, expectations))
        return f"{path}: unknown member; {_find_home(path, expectations) or near}"
    special = expectations.special(path, place.value)
    return f"{path}: {special or f'expected {expected}, got {describe(place.value)}'}"


def _find_home(path: str, expectations: Expectations) -> str:
    """Where a member of the whole document belongs, if sections know its name."""
    known = [name for name in expectations.members if name.endswith(f".{path}") and name.count(".") == 1]
    homes = [name.rpartition(".")[0] for name in known]
    if "." in path and path.rpartition(".")[2] in expectations.members:
        return "it belongs at the top of the document: in TOML before the first section, in YAML not indented"
    return f"it belongs under {' or '.join(homes)}; move it there, indented" if homes else ""


def _list_members(place: _Place, expectations: Expectations) -> tuple[str, ...]:
    """The names that a section may hold."""
    section = place.pattern.rpartition(".")[0]
    if section in expectations.of_kind and isinstance(place.section, dict):
        return expectations.of_kind[section].get(str(place.section.get("kind")), ())
    prefix = f"{section}." if section else ""
    rest = [pattern.removeprefix(prefix) for pattern in expectations.members if pattern.startswith(prefix)]
    return tuple(name for name in rest if not set(name) & set(".[*"))
