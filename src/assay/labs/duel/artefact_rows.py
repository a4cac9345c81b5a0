"""Rows in the JSON of public duel records, and back.

Public records may hold NaN and infinities, which our own canonical JSON does not: there such a number is the text
``nan``, ``inf`` or ``-inf``, and reading takes either. Members that nothing here reads are passed over.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn, TypeAlias, cast

from assay.kernel.canonical import Json
from assay.kernel.errors import BadInput
from assay.labs.duel.rows import Pair, Row

__all__ = ["read_rows", "row_document"]

_Object: TypeAlias = Mapping[str, object]

_NUMBERS: Final = {
    "c_yc_za": "lpC_yc_za",
    "c_yc_e": "lpC_yc_e",
    "c_yc_zc": "lpC_yc_zc",
    "c_ya_za": "lpC_ya_za",
    "c_ya_e": "lpC_ya_e",
    "c_ya_zc": "lpC_ya_zc",
    "c_za_x": "lpC_za_x",
    "c_zc_x": "lpC_zc_x",
    "bank": "L2_bank",
}
_REQUIRED: Final = ("c_yc_za", "c_yc_e")
_OWN: Final = "lpA_"
_SHOWN: Final = 80
_NOT_FINITE: Final = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def read_rows(value: object) -> tuple[Row, ...]:
    """The rows of one side, in the order of the record.

    A row that is not valid, or has no member ``pairs``, is a forfeit; a null text is the empty one.

    Args:
        value: The parsed member ``challenger_rows`` or ``king_rows`` of a record.

    Raises:
        BadInput: It is not a list of rows; the message names the row and the member.
    """
    return tuple(_read_row(item, f"row {at}") for at, item in enumerate(_read_list(value, "the rows of a side")))


def row_document(row: Row) -> dict[str, Json]:
    """The row as JSON that :func:`read_rows` reads back as the same row, without a number that JSON cannot hold."""
    document: dict[str, Json] = {"turn_id": row.turn, "miner": row.miner, "valid": row.pairs is not None}
    if row.pairs is not None:
        document |= {"n_pairs": len(row.pairs), "pairs": [_pair_document(pair) for pair in row.pairs]}
    if row.bank_frac is not None:
        document["bank_frac"] = _write_number(row.bank_frac)
    return document


def _read_row(value: object, where: str) -> Row:
    row = _read_object(value, where)
    turn = _read_text(row, "turn_id", where)
    where = f"{where} (turn {turn!a})"
    valid = row.get("valid")
    if not (valid is None or isinstance(valid, bool)):
        _refuse(f"{where}.valid", "true or false", valid)
    pairs: tuple[Pair, ...] | None = None
    if valid and "pairs" in row:
        listed = _read_list(row["pairs"], f"{where}.pairs")
        pairs = tuple(_read_pair(item, f"{where}.pairs[{at}]") for at, item in enumerate(listed))
    return Row(
        turn=turn, miner=_read_text(row, "miner", where), pairs=pairs, bank_frac=_read_number(row, "bank_frac", where)
    )


def _read_pair(value: object, where: str) -> Pair:
    pair = _read_object(value, where)
    numbers = {name: _read_number(pair, public, where) for name, public in _NUMBERS.items()}
    for name in _REQUIRED:
        if numbers[name] is None:
            _refuse(f"{where}.{_NUMBERS[name]}", "a number", None)
    own = {name: _read_number(pair, name, where) for name in pair if name.startswith(_OWN)}
    return Pair(
        z_a=_read_text(pair, "z_a", where, nullable=True),
        y_a=_read_text(pair, "y_a", where, nullable=True),
        a=own or None,
        **cast(dict[str, float], numbers),  # the two required ones were just checked, the others may be none
    )


def _pair_document(pair: Pair) -> dict[str, Json]:
    document: dict[str, Json] = {"z_a": pair.z_a, "y_a": pair.y_a}
    for name, public in _NUMBERS.items():
        number: float | None = getattr(pair, name)
        if number is not None:
            document[public] = _write_number(number)
    for name, number in (pair.a or {}).items():
        document[name] = None if number is None else _write_number(number)
    return document


def _write_number(number: float) -> Json:
    return number if math.isfinite(number) else str(number)


def _read_number(holder: _Object, name: str, where: str) -> float | None:
    number = holder.get(name)
    if isinstance(number, str) and number in _NOT_FINITE:
        return _NOT_FINITE[number]
    if number is None or isinstance(number, float):
        return number
    if isinstance(number, bool) or not isinstance(number, int):
        _refuse(f"{where}.{name}", "a number", number)
    try:
        return float(number)
    except OverflowError:
        _refuse(f"{where}.{name}", "a number that a double holds", "a larger one")


def _read_text(holder: _Object, name: str, where: str, *, nullable: bool = False) -> str:
    text = holder.get(name)
    if text is None and nullable:
        return ""
    if not isinstance(text, str):
        _refuse(f"{where}.{name}", "a text", text)
    return text


def _read_list(value: object, where: str) -> Sequence[object]:
    if not isinstance(value, list):
        _refuse(where, "a list", value)
    return cast(list[object], value)


def _read_object(value: object, where: str) -> _Object:
    if not isinstance(value, dict):
        _refuse(where, "an object", value)
    return cast(dict[str, object], value)


def _refuse(where: str, expected: str, found: object) -> NoReturn:
    shown = "nothing" if found is None else ascii(found)
    msg = f"{where}: expected {expected}, got {shown[:_SHOWN]}"
    raise BadInput(msg, where=where)
