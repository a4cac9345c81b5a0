"""What reading a registration is for every lab: a copy that can be sealed, and a refusal that lists every problem."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from assay.kernel.canonical import Json, dumps_evidence, loads
from assay.kernel.errors import BadInput, MalformedDocument

__all__ = ["copy_sealable", "refuse_problems"]


def copy_sealable(document: Mapping[str, Json], noun: str) -> dict[str, Json]:
    """A copy of a document, of which every value is one that can be sealed.

    Args:
        document: What was read.
        noun: What it is to be called in a message, such as ``registration``.

    Raises:
        BadInput: A value cannot be sealed.
    """
    try:
        copy = loads(dumps_evidence(dict(document)))
    except MalformedDocument as problem:
        msg = f"the {noun} cannot be sealed: {problem.message}"
        raise BadInput(msg, problems=[problem.message]) from problem
    return copy if isinstance(copy, dict) else {}


def refuse_problems(problems: Sequence[str], noun: str) -> NoReturn:
    """Refuses a document for everything that was found wrong with it.

    Raises:
        BadInput: Always; ``details["problems"]`` lists the problems.
    """
    lines = "".join(f"\n  - {problem}" for problem in problems)
    msg = f"the {noun} cannot be used as it stands; problems found: {len(problems)}{lines}"
    raise BadInput(msg, problems=list(problems))
