"""The logs of a duel: what was measured, and what was said of the run itself."""

from typing import Final

from assay.kernel.layout import default_layout

__all__ = ["DECISIONS", "INDEX_FILE", "LAYOUT", "MANIFEST_FILE", "TURNS"]

TURNS: Final = "turns"
DECISIONS: Final = "decisions"
LAYOUT: Final = default_layout("duel", (TURNS, DECISIONS))

MANIFEST_FILE: Final = "corpus/manifest.json"
"""The corpus manifest, as an attached file: its digest is the registered one."""

INDEX_FILE: Final = "corpus/index.parquet"
"""The index of turns that the manifest names, as an attached file: from it anyone draws the slice again."""
