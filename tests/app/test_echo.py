import io
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.app.cli.echo import Echo, paint
from assay.kernel.errors import InvariantBroken


class Screen(io.StringIO):
    """A stream that says it is a terminal; ``lines`` is what a person sees after carriage returns."""

    def isatty(self):
        return True

    @property
    def lines(self):
        return [self._overwritten(line).rstrip() for line in self.getvalue().split("\n")]

    @staticmethod
    def _overwritten(line):
        cells = []
        for part in line.split("\r"):
            cells[: len(part)] = part
        return "".join(cells)


class Seconds:
    """A clock that is moved by hand."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Encoded(io.TextIOWrapper):
    """A stream of one encoding, kept in memory."""

    def __init__(self, encoding):
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)

    def bytes(self):
        return self.buffer.getvalue()


def make_echo(*, out=None, err=None, environment=None, **more):
    return Echo(stdout=out or io.StringIO(), stderr=err or io.StringIO(), environment=environment or {}, **more)


def test_results_and_notes_go_their_ways():
    out, err = io.StringIO(), io.StringIO()
    echo = make_echo(out=out, err=err)
    echo.result("decided")
    echo.note("written\n")
    echo.result("two\nlines")
    assert out.getvalue() == "decided\ntwo\nlines\n"
    assert err.getvalue() == "written\n"


def test_hostile_text_cannot_steer_the_terminal():
    out = Screen()
    make_echo(out=out, color="never").result("a\x1b[2Jb\rc\u202ed", paint("\x1b]0;title\x07", "strong"))
    assert out.getvalue() == "a⟨U+001B⟩[2Jb⟨U+000D⟩c⟨U+202E⟩d⟨U+001B⟩]0;title⟨U+0007⟩\n"


@pytest.mark.parametrize(
    ("terminal", "environment", "color", "colored"),
    [
        (True, {}, "auto", True),
        (False, {}, "auto", False),
        (True, {"NO_COLOR": "1"}, "auto", False),
        (True, {"NO_COLOR": ""}, "auto", True),
        (True, {"TERM": "dumb"}, "auto", False),
        (False, {"FORCE_COLOR": "1"}, "auto", True),
        (True, {"FORCE_COLOR": "0"}, "auto", False),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, "auto", False),
        (True, {"NO_COLOR": "1"}, "always", True),
        (True, {"FORCE_COLOR": "1"}, "never", False),
    ],
)
def test_colour_follows_the_choice_then_the_environment_then_the_stream(terminal, environment, color, colored):
    out = Screen() if terminal else io.StringIO()
    make_echo(out=out, environment=environment, color=color).result(paint("no", "bad"))
    assert out.getvalue() == ("\x1b[31mno\x1b[0m\n" if colored else "no\n")


def test_colour_ends_with_every_line():
    out = io.StringIO()
    make_echo(out=out, color="always").result(paint("a\n\nb", "strong"), " plain")
    assert out.getvalue() == "\x1b[1ma\x1b[0m\n\n\x1b[1mb\x1b[0m plain\n"


def test_json_is_one_sorted_line_of_ascii():
    out = io.StringIO()
    make_echo(out=out, color="always").json({"b": [1.5, None], "a": {"z": "\u202e\x7fé", "y": True}})
    assert out.getvalue() == '{"a": {"y": true, "z": "\\u202e\\u007f\\u00e9"}, "b": [1.5, null]}\n'
    assert json.loads(out.getvalue())["a"]["z"] == "\u202e\x7fé"


@given(st.dictionaries(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5)))
def test_json_comes_back_as_it_went(answer):
    out = io.StringIO()
    make_echo(out=out).json(answer)
    assert json.loads(out.getvalue()) == answer
    assert out.getvalue().isascii()
    assert out.getvalue().count("\n") == 1


def test_a_second_answer_is_a_defect():
    echo = make_echo()
    echo.json({})
    with pytest.raises(InvariantBroken, match="exactly one JSON object"):
        echo.json({})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), b"bytes"])
def test_an_answer_that_is_not_json_is_a_defect_and_leaves_no_trace(value):
    out = io.StringIO()
    with pytest.raises(InvariantBroken, match="finite JSON"):
        make_echo(out=out).json({"value": value})
    assert out.getvalue() == ""


def test_what_an_encoding_lacks_is_written_out():
    out = Encoded("ascii")
    echo = make_echo(out=out)
    echo.result("−1 → é \u202e")
    assert out.bytes() == b"-1 <U+2192> <U+00E9> <U+202E>\n"
    assert not echo.unicode


def test_an_encoding_keeps_what_it_has():
    out = Encoded("latin-1")
    make_echo(out=out).result("é → x")
    assert out.bytes() == "é <U+2192> x\n".encode("latin-1")
    assert make_echo(out=Encoded("utf-8")).unicode


def test_the_width_is_the_callers_or_eighty():
    assert make_echo().width == 80
    assert make_echo(width=44).width == 44


def run_work(echo, clock, *, steps, step_s, total):
    with echo.progress("Checking", total) as progress:
        for _ in range(steps):
            clock.now += step_s
            progress.advance()
            yield


def test_a_bar_appears_after_a_second_and_is_wiped_off():
    err, clock = Screen(), Seconds()
    echo = make_echo(err=err, monotonic=clock, width=80)
    seen = [err.lines[-1] for _ in run_work(echo, clock, steps=4, step_s=0.5, total=8)]
    assert seen[0] == ""
    assert seen[1] == "Checking  ██████░░░░░░░░░░░░░░░░░░  2 of 8  2.0/s  0:03 left"
    assert seen[3] == "Checking  ████████████░░░░░░░░░░░░  4 of 8  2.0/s  0:02 left"
    assert err.lines == [""]


def test_a_bar_is_drawn_ten_times_a_second_at_most():
    err, clock = Screen(), Seconds()
    for _ in run_work(make_echo(err=err, monotonic=clock), clock, steps=300, step_s=0.01, total=None):
        pass
    assert 15 <= err.getvalue().count("Checking") <= 21


def test_no_bar_without_a_terminal():
    err, clock = io.StringIO(), Seconds()
    for _ in run_work(make_echo(err=err, monotonic=clock), clock, steps=5, step_s=1.0, total=5):
        pass
    assert err.getvalue() == ""


def test_short_work_shows_no_bar():
    err, clock = Screen(), Seconds()
    for _ in run_work(make_echo(err=err, monotonic=clock), clock, steps=9, step_s=0.1, total=9):
        pass
    assert err.getvalue() == ""


def test_without_a_total_the_bar_counts():
    err, clock = Screen(), Seconds()
    steps = run_work(make_echo(err=err, monotonic=clock), clock, steps=2, step_s=1.0, total=None)
    next(steps)
    assert err.lines == ["Checking  1  1.0/s"]
    steps.close()
    assert err.lines == [""]


def test_a_note_is_never_written_into_a_bar():
    err, clock = Screen(), Seconds()
    echo = make_echo(err=err, monotonic=clock)
    with echo.progress("Checking", 4) as progress:
        clock.now += 2
        progress.advance()
        echo.note("found one")
        clock.now += 2
        progress.advance()
        assert err.lines[0] == "found one"
        assert err.lines[1].startswith("Checking")
    assert err.lines == ["found one", ""]


def test_an_inner_bar_takes_the_place_of_the_outer():
    err, clock = Screen(), Seconds()
    echo = make_echo(err=err, monotonic=clock)
    with echo.progress("Outer", 4) as outer:
        clock.now += 2
        outer.advance()
        with echo.progress("Inner", 4) as inner:
            clock.now += 2
            inner.advance()
            assert err.lines[0].startswith("Inner")
        assert err.lines == [""]
        clock.now += 2
        outer.advance()
        assert err.lines[0].startswith("Outer")


def test_a_bar_fits_its_line_and_its_encoding():
    err, clock = Screen(), Seconds()
    steps = run_work(make_echo(err=err, monotonic=clock, width=30), clock, steps=1, step_s=4000.0, total=3)
    next(steps)
    assert len(err.lines[0]) == 29
    steps.close()


def test_more_than_the_total_does_not_break_the_bar():
    err, clock = Screen(), Seconds()
    steps = run_work(make_echo(err=err, monotonic=clock), clock, steps=2, step_s=4000.0, total=1)
    next(steps)
    next(steps)
    assert "2 of 1" in err.lines[0]
    steps.close()


def test_a_hostile_label_cannot_steer_the_terminal():
    err, clock = Screen(), Seconds()
    with make_echo(err=err, monotonic=clock).progress("a\x1b[2J", 2) as progress:
        clock.now += 2
        progress.advance()
    assert "\x1b" not in err.getvalue()


def run_python(code, **more):
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, env=environment, **more)


def test_a_reader_that_leaves_early_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    code = (
        "from assay.app.cli.echo import Echo; echo = Echo.standard()\n"
        "for n in range(3000): echo.result(f'line {n}')\n"
        "raise SystemExit(3)"
    )
    with run_python(code, stdout=writing) as process:
        os.close(writing)
        _, complaint = process.communicate(timeout=30)
    assert complaint == b""
    assert process.returncode == 3


def test_the_base_install_can_speak():
    code = (
        "import sys; import assay.app.cli.echo; tops = {name.partition('.')[0] for name in sys.modules};"
        "print(sorted(tops - set(sys.stdlib_module_names) - {'assay', '__main__'}))"
    )
    with run_python("import sys; before = set(sys.modules)\n" + code, stdout=subprocess.PIPE) as process:
        answer, complaint = process.communicate(timeout=30)
    assert complaint == b""
    loaded = set(answer.decode().strip("[]\n").replace("'", "").split(", ")) - {""}
    assert not loaded & {"rich", "jinja2", "markupsafe", "numpy", "pydantic", "nacl", "orjson"}


def test_a_bar_that_is_told_what_comes_next_shows_it_and_paces_it_from_there():
    screen, seconds = Screen(), Seconds()
    with make_echo(err=screen, monotonic=seconds).progress("opening", 10) as bar:
        seconds.now += 100
        bar.advance(4)
        bar.say("dueling")
        seconds.now += 2
        bar.advance(2)
        shown = screen.lines[-1]
    assert "dueling" in shown
    assert "1.0/s" in shown
