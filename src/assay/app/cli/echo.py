"""The one place that writes to standard output and standard error.

Results go to standard output, everything else to standard error. Text for people is made visible on its way out, so
that nothing an agent or a model wrote can steer the terminal; colour is added here and nowhere else. Standard library
and the kernel's errors only: the base install speaks through this module too.
"""

import io
import json
import math
import os
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TextIO, TypeAlias

from assay.app.characters import visible
from assay.kernel.errors import InvariantBroken

__all__ = ["Echo", "Progress", "Span", "Tone", "paint", "visible"]

Tone: TypeAlias = Literal["plain", "strong", "muted", "accent", "good", "warning", "bad"]
ColorChoice: TypeAlias = Literal["auto", "always", "never"]

_CODES: Mapping[Tone, str] = {
    "strong": "1",
    "muted": "2",
    "accent": "36",
    "good": "32",
    "warning": "33",
    "bad": "31",
}
_PROGRESS_AFTER_S = 1.0
_PROGRESS_EVERY_S = 0.1
_BAR_CELLS = 24
_DEFAULT_COLUMNS = 80
_MOST_COLUMNS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A piece of text with its tone; colour never says what the words do not."""

    text: str
    tone: Tone = "plain"


def paint(text: str, tone: Tone) -> Span:
    """The text in a tone."""
    return Span(text=text, tone=tone)


class Echo:
    """What a command says, and where.

    Args:
        stdout: Where results go.
        stderr: Where notes and progress go.
        environment: Where ``NO_COLOR``, ``FORCE_COLOR`` and ``TERM`` are looked up.
        color: ``auto`` colours a terminal and honours the environment (``NO_COLOR`` wins over ``FORCE_COLOR``).
        width: Columns to set text in; by default the terminal's, and 80 where there is none.
        monotonic: Seconds that never go backwards, for the pace of progress bars.
    """

    def __init__(
        self,
        *,
        stdout: TextIO,
        stderr: TextIO,
        environment: Mapping[str, str],
        color: ColorChoice = "auto",
        width: int | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._out = _Outlet(stdout, colored=_colors(stdout, environment, color))
        self._err = _Outlet(stderr, colored=_colors(stderr, environment, color))
        self._width = width
        self._monotonic = monotonic
        self._answered = False
        self._progress: Progress | None = None

    @classmethod
    def standard(cls, *, color: ColorChoice = "auto") -> "Echo":
        """An echo on this process's own streams."""
        # Python has no stream where the process was started with one closed; the exit code still answers.
        out, err = sys.stdout or io.StringIO(), sys.stderr or io.StringIO()
        return cls(stdout=out, stderr=err, environment=os.environ, color=color)

    @property
    def width(self) -> int:
        """The columns that a result is set in, at most 120: longer lines are hard to read."""
        return self._width or min(self._out.columns, _MOST_COLUMNS)

    @property
    def unicode(self) -> bool:
        """Whether standard output can carry box-drawing characters."""
        return self._out.carries("─│┼■█◆…−")

    def result(self, *parts: str | Span) -> None:
        """Writes the parts to standard output as one text that ends its line."""
        self._write(self._out, parts)

    def note(self, *parts: str | Span) -> None:
        """Writes the parts to standard error as one text that ends its line."""
        self._write(self._err, parts)

    def json(self, answer: Mapping[str, object]) -> None:
        """Writes one JSON object on one line to standard output: sorted keys, ASCII, nothing cut short.

        Raises:
            InvariantBroken: There was an answer already, or this one is not JSON.
        """
        if self._answered:
            msg = "a command answers with exactly one JSON object, and this one has answered already"
            raise InvariantBroken(msg)
        try:
            text = json.dumps(dict(answer), sort_keys=True, allow_nan=False)
        except (TypeError, ValueError) as fault:
            msg = f"an answer has to be finite JSON with text keys: {fault}"
            raise InvariantBroken(msg) from fault
        self._answered = True
        self._hide_progress()
        self._out.write(text.replace("\x7f", "\\u007f") + "\n")

    @contextmanager
    def progress(self, label: str, total: int | None = None) -> Generator["Progress"]:
        """A bar on standard error while the block runs: on a terminal only, after a second, ten times a second at most.

        It is wiped off when the block ends; inside another one it takes that one's place meanwhile.
        """
        outer = self._progress
        self._hide_progress()
        self._progress = Progress(self._err, label, total, self._monotonic, self._width)
        try:
            yield self._progress
        finally:
            self._hide_progress()
            self._progress = outer

    def _hide_progress(self) -> None:
        if self._progress is not None:
            self._progress.hide()

    def _write(self, outlet: "_Outlet", parts: tuple[str | Span, ...]) -> None:
        self._hide_progress()
        text = "".join(outlet.render(part) for part in parts)
        outlet.write(text if text.endswith("\n") else text + "\n")


class Progress:
    """How far a piece of work has come; :meth:`advance` it, and the bar draws itself."""

    def __init__(
        self, outlet: "_Outlet", label: str, total: int | None, monotonic: Callable[[], float], width: int | None
    ) -> None:
        self._outlet = outlet
        self._label = visible(label)
        self._total = total
        self._monotonic = monotonic
        self._width = width
        self._done = 0
        self._before = 0
        self._shown = 0
        self._started = self._paced = monotonic()
        self._drawn: float | None = None

    def advance(self, count: int = 1) -> None:
        """Counts ``count`` more units as done."""
        self._done += count
        self._show()

    def say(self, label: str) -> None:
        """Names what is being done now; the pace is that of what follows."""
        self._label = visible(label)
        self._paced, self._before = self._monotonic(), self._done
        self._show()

    def _show(self) -> None:
        if not self._outlet.terminal:
            return
        now = self._monotonic()
        due = self._started + _PROGRESS_AFTER_S if self._drawn is None else self._drawn + _PROGRESS_EVERY_S
        if now >= due:
            self._drawn = now
            self._draw(now - self._paced)

    def hide(self) -> None:
        """Wipes the bar off the line; the next advance that is due draws it again."""
        if self._shown:
            self._outlet.write("\r" + " " * self._shown + "\r")
            self._shown = 0

    def _draw(self, elapsed_s: float) -> None:
        line = self._outlet.fit(self._line(elapsed_s))[: (self._width or self._outlet.columns) - 1]
        self._outlet.write("\r" + line.ljust(self._shown))
        self._shown = len(line)

    def _line(self, elapsed_s: float) -> str:
        rate = (self._done - self._before) / elapsed_s if elapsed_s > 0 else 0.0
        pace = f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"
        if not self._total:
            return f"{self._label}  {self._done:,}  {pace}"
        full = min(self._done * _BAR_CELLS // self._total, _BAR_CELLS)
        solid, empty = ("█", "░") if self._outlet.carries("█░") else ("#", ".")
        bar = solid * full + empty * (_BAR_CELLS - full)
        line = f"{self._label}  {bar}  {self._done:,} of {self._total:,}  {pace}"
        left = max(self._total - self._done, 0)
        return f"{line}  {_duration_text(left / rate)} left" if rate > 0 else line


class _Outlet:
    """One stream: what it can show, and writing to it without ever failing on a character or a closed pipe."""

    def __init__(self, stream: TextIO, *, colored: bool) -> None:
        self._stream = stream
        self._colored = colored
        self._encoding = getattr(stream, "encoding", None) or "utf-8"
        self._closed = False
        self.terminal = _is_terminal(stream)

    @property
    def columns(self) -> int:
        """How many columns the terminal has now; 80 where there is none, or it does not say."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _DEFAULT_COLUMNS
        except (OSError, ValueError):
            return _DEFAULT_COLUMNS

    def carries(self, text: str) -> bool:
        """Whether the stream's encoding has every character of the text."""
        try:
            text.encode(self._encoding)
        except UnicodeEncodeError:
            return False
        return True

    def fit(self, text: str) -> str:
        """The text with what the stream's encoding lacks written out, as in ``<U+2192>``."""
        if self.carries(text):
            return text
        text = text.replace("⟨", "<").replace("⟩", ">").replace("−", "-")
        return "".join(sign if self.carries(sign) else f"<U+{ord(sign):04X}>" for sign in text)

    def render(self, part: str | Span) -> str:
        """The part as it may go to the stream: made visible, fitted, and coloured where this stream is."""
        span = part if isinstance(part, Span) else Span(text=part)
        text = self.fit(visible(span.text, newlines=True))
        code = _CODES.get(span.tone)
        if not (self._colored and code and text):
            return text
        return "\n".join(f"\x1b[{code}m{line}\x1b[0m" if line else "" for line in text.split("\n"))

    def write(self, text: str) -> None:
        """Writes and flushes; once the reader has gone, drops what is left, quietly."""
        if self._closed:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            self._closed = True
            self._silence()

    def _silence(self) -> None:
        """Points the descriptor at nothing, so that the flush at the end of the process stays quiet as well."""
        try:
            descriptor = self._stream.fileno()
        except (OSError, ValueError):
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False


def _colors(stream: TextIO, environment: Mapping[str, str], choice: ColorChoice) -> bool:
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    forced = environment.get("FORCE_COLOR")
    if forced:
        return forced != "0"
    return _is_terminal(stream) and environment.get("TERM") != "dumb"


def _duration_text(seconds: float) -> str:
    whole = math.ceil(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"
