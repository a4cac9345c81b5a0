"""The signs that figures are drawn with in a terminal, for encodings with box-drawing characters and without."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.app.characters import visible

__all__ = ["ASCII", "UNICODE", "Glyphs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyphs:
    """One set of signs; ``blocks`` grow from the shortest piece of a bar to a whole cell."""

    rule: str
    double: str
    zero: str
    crossing: str
    point: str
    pooled: str
    left: str
    right: str
    cut: str
    blocks: str
    pale: str
    decided: str
    undecided: str
    refused: str
    replaced: Mapping[int, str]

    def clean(self, text: str) -> str:
        """The text made visible, with our own typography in signs that this set has."""
        return visible(text).translate(self.replaced)


UNICODE = Glyphs(
    rule="─",
    double="═",
    zero="│",
    crossing="┼",
    point="■",
    pooled="◆",
    left="◄",
    right="►",
    cut="…",
    blocks="▏▎▍▌▋▊▉█",
    pale="░",
    decided="◆",
    undecided="◇",
    refused="⊘",
    replaced={},
)

ASCII = Glyphs(
    rule="-",
    double="=",
    zero="|",
    crossing="+",
    point="o",
    pooled="O",
    left="<",
    right=">",
    cut="...",
    blocks="#",
    pale=".",
    decided="*",
    undecided="?",
    refused="!",
    replaced=str.maketrans(
        {"−": "-", "–": "-", "…": "...", "⟨": "<", "⟩": ">", "∞": "inf", "·": "-", "×": "x", "≤": "<=", "≥": ">="}
    ),
)
