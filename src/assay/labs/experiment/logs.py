"""The logs of an experiment: the rows that were read, and what was decided from them."""

from assay.kernel.canonical import Json
from assay.kernel.layout import default_layout

__all__ = ["DECISIONS", "LAYOUT", "ROWS", "source_body"]

ROWS = "rows"
DECISIONS = "decisions"
LAYOUT = default_layout("experiment", (ROWS, DECISIONS))


def source_body(sha256: str, rows: int) -> dict[str, Json]:
    """The entry that says which file the rows come from (its plain SHA-256 in hex) and how many it holds."""
    return {"kind": "source.read", "sha256": sha256, "rows": rows}
