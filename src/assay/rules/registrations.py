"""What reading a registration is for every lab: a copy that can be sealed, and a refusal that lists every problem."""

from collections.abc import Mapping, Sequence
from typing import NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from assay.kernel.canonical import Json, dumps, dumps_evidence, loads
from assay.kernel.errors import BadInput, MalformedDocument
from assay.rules.problems import Expectations, list_problems

__all__ = ["read_model", "refuse_problems"]

ModelT = TypeVar("ModelT", bound=BaseModel)


def read_model(
    model: type[ModelT], document: Mapping[str, Json], noun: str, expectations: Expectations
) -> tuple[dict[str, Json], ModelT | None, list[str]]:
    """A copy of a document that can be sealed, the model it states or None, and what keeps it from stating one.

    Args:
        model: What is read.
        document: Where it is read from.
        noun: What the document is to be called in a message, such as ``registration``.
        expectations: What its members should be.

    Raises:
        BadInput: A value of the document cannot be sealed.
    """
    copy = _copy_sealable(document, noun)
    try:
        return copy, model.model_validate_json(dumps(copy)), []
    except ValidationError as error:
        return copy, None, list_problems(error, copy, expectations)


def refuse_problems(problems: Sequence[str], noun: str) -> NoReturn:
    """Refuses a document for everything that was found wrong with it.

    Raises:
        BadInput: Always; ``details["problems"]`` lists the problems.
    """
    lines = "".join(f"\n  - {problem}" for problem in problems)
    msg = f"the {noun} cannot be used as it stands; problems found: {len(problems)}{lines}"
    raise BadInput(msg, problems=list(problems))


def _copy_sealable(document: Mapping[str, Json], noun: str) -> dict[str, Json]:
    try:
        copy = loads(dumps_evidence(dict(document)))
    except MalformedDocument as problem:
        msg = f"the {noun} cannot be sealed: {problem.message}"
        raise BadInput(msg, problems=[problem.message]) from problem
    return copy if isinstance(copy, dict) else {}
