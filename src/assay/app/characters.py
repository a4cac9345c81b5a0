"""Characters that hide, made visible: the one treatment of text from agents and models, for pages and terminals."""

import re

__all__ = ["visible"]

# Written out rather than asked of the Unicode database, whose answers change between Python releases: a page is
# evidence, and the same text must give the same bytes in ten years. The last line is the fourth and later of a pile of
# combining marks, which could climb over the lines around it.
_HIDDEN = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # control characters: C0, DEL, C1
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers, Mongolian selectors
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, line separators, bidi overrides and isolates
    "\u2800\u3164\uffa0"  # letters that are blank
    "\ud800-\udfff"  # lone surrogates
    "\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\ufff0-\ufffb\ufffe\uffff"  # non-characters, variation selectors, byte order mark
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # format controls of single scripts
    "\U000e0000-\U000e0fff"  # tags and further variation selectors
    "]"
    "|(?<=[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{3})"
    "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)


def visible(text: str, *, newlines: bool = False) -> str:
    """The text with every control, bidi, zero-width or otherwise hidden character written out, as in ``⟨U+202E⟩``.

    The result encodes as UTF-8 whatever came in, and applying it again changes nothing. Markup is not touched: a page
    escapes as well.

    Args:
        text: Any text, lone surrogates included.
        newlines: Keep line feeds, for text that is set in several lines.
    """
    if newlines:
        return "\n".join(_HIDDEN.sub(_write_out, line) for line in text.split("\n"))
    return _HIDDEN.sub(_write_out, text)


def _write_out(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match[0]):04X}⟩"
