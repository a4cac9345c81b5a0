"""RFC 8785 from its text alone, on the standard library: slow, exact, and able to say what it refuses and where.

:mod:`assay.kernel.canonical` takes this road wherever the fast one is not known to give the same bytes.
"""

import math
from collections.abc import Iterable
from json.encoder import encode_basestring
from typing import Final, NoReturn, TypeAlias

from assay.kernel.errors import MalformedDocument

__all__ = ["MAX_DEPTH", "MAX_SAFE_INTEGER", "Exact", "has_astral", "number_text", "write"]

Exact: TypeAlias = bool | int | float | str | list["Exact"] | tuple["Exact", ...] | dict[str, "Exact"] | None

MAX_SAFE_INTEGER: Final = 2**53 - 1
MAX_DEPTH: Final = 128

_BEYOND: Final = "beyond ±(2^53−1), which other readers would round; write it as text"


def write(value: Exact, *, evidence: bool = False) -> bytes:
    """The RFC 8785 bytes of a value.

    Args:
        value: A value of exactly JSON's types, never of a subclass; a tuple is an array.
        evidence: Whether to refuse a float that would be written as an integer beyond ±(2^53−1).

    Raises:
        MalformedDocument: Something that canonical JSON cannot carry; ``path`` is its JSON Pointer.
    """
    writer = _Writer(evidence=evidence)
    writer.add(value)
    return "".join(writer.parts).encode()


def has_astral(names: Iterable[str]) -> bool:
    """Whether a name goes beyond U+FFFF: only there the order of UTF-16 units is not that of code points."""
    return max("".join(names), default="") > "\uffff"


class _Writer:
    """Collects the text of a value, and keeps the path so that a refusal can name it."""

    __slots__ = ("_evidence", "_path", "parts")

    def __init__(self, *, evidence: bool) -> None:
        self._evidence = evidence
        self._path: list[str | int] = []
        self.parts: list[str] = []

    def add(self, value: Exact) -> None:
        """Adds the text of one value."""
        if type(value) is str:
            self.parts.append(self._text(value))
        elif type(value) is float:
            self.parts.append(self._float(value))
        elif type(value) is dict:
            self._add_object(value)
        elif type(value) is list or type(value) is tuple:
            self._add_array(value)
        elif type(value) is int:
            self.parts.append(self._integer(value))
        elif value is None or type(value) is bool:
            self.parts.append("null" if value is None else "true" if value else "false")
        else:
            name = type(value).__name__
            self._fail("not-json", f"expected null, bool, int, float, str, list or dict exactly, got {name}")

    def _add_object(self, value: dict[str, Exact]) -> None:
        self._check_depth()
        for name in value:
            if type(name) is not str:
                self._fail("key-type", f"expected member names of exactly the type str, got {type(name).__name__}")
        separator = "{"
        # Section 3.2.3; a name with a lone surrogate must sort before it can be refused.
        for name in sorted(value, key=_utf16) if has_astral(value) else sorted(value):
            self._path.append(name)
            self.parts += separator, self._text(name), ":"
            self.add(value[name])
            self._path.pop()
            separator = ","
        self.parts.append("}" if value else "{}")

    def _add_array(self, value: list[Exact] | tuple[Exact, ...]) -> None:
        self._check_depth()
        separator = "["
        for index, item in enumerate(value):
            self._path.append(index)
            self.parts.append(separator)
            self.add(item)
            self._path.pop()
            separator = ","
        self.parts.append("]" if value else "[]")

    def _text(self, value: str) -> str:
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                unit = f"U+{ord(value[error.start]):04X}"
                self._fail("lone-surrogate", f"the text holds the lone surrogate {unit}, which UTF-8 cannot carry")
        return encode_basestring(value)

    def _integer(self, value: int) -> str:
        if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            self._fail("integer-range", f"an integer of {value.bit_length()} bits is {_BEYOND}")
        return str(value)

    def _float(self, value: float) -> str:
        if not math.isfinite(value):
            self._fail("not-finite", f"{value} is no JSON number; write null, or say in words what happened")
        text = number_text(value)
        if self._evidence and abs(value) > MAX_SAFE_INTEGER and "e" not in text:
            self._fail("integer-range", f"the float {value!r} would be written as {text}, {_BEYOND}")
        return text

    def _check_depth(self) -> None:
        if len(self._path) >= MAX_DEPTH:
            self._fail("too-deep", f"nested deeper than {MAX_DEPTH} levels")

    def _fail(self, reason: str, message: str) -> NoReturn:
        steps = (str(step).replace("~", "~0").replace("/", "~1") for step in self._path)
        # Names may hold what details must not: a lone surrogate is shown as its escape.
        path = "".join(f"/{step}" for step in steps).encode("utf-8", "backslashreplace").decode()
        where = path if len(path) <= 200 else f"{path[:197]}..."
        text = f"{where or 'the value'}: {message}"
        raise MalformedDocument(text, reason=reason, path=path)


def _utf16(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def number_text(value: float) -> str:
    """The ECMAScript text of a finite float (section 3.2.2.3): Python's shortest digits in the other layout."""
    if value == 0:
        return "0"
    text = repr(value)
    if "e" not in text:
        return text.removesuffix(".0")
    mantissa, exponent = text.split("e")
    sign = "-" if value < 0 else ""
    digits = mantissa.removeprefix("-").replace(".", "")
    point = int(exponent) + 1
    if 0 < point <= 21:  # digits are 17 at most, and repr has no exponent below 16
        return sign + digits.ljust(point, "0")
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{mantissa}e{point - 1:+d}"
