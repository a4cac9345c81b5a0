"""How an answer is graded: exact match after one normalisation. Fixed before the first answer was recorded."""

RULE = (
    "strip white space; keep the first line; strip again; drop one trailing full stop; strip again; fold case; "
    "correct if equal to the expected answer treated the same way"
)


def normalise_answer(text: str) -> str:
    """The part of `text` that is compared: first line, without surrounding space, one full stop or case."""
    first_line = text.strip().split("\n", maxsplit=1)[0].strip()
    return first_line.removesuffix(".").strip().casefold()


def grade_answer(answer: str, expected: str) -> bool:
    """True exactly when both texts normalise to the same, non-empty text."""
    normalised = normalise_answer(answer)
    return normalised != "" and normalised == normalise_answer(expected)
