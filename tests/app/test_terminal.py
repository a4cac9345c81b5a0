import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.app.cli.columns import cell_width, cut_text, pad_text, table_lines, wrap_text
from assay.app.cli.echo import Echo
from assay.app.cli.terminal import lay_out, render_terminal
from assay.verifier.figures import Forest, ForestRow, Funnel, FunnelStage, Paragraph, Report, Section, Table

GOLDEN = """\
Does B resolve more tasks than A?

◆ Decided: B resolved more tasks: +7.4 points over 729 pairs.
  [retrospective]

  Pooled difference  +0.074
  Sign-flip p        84/2048 = 0.041

Who was admitted
────────────────
Admission (rows)
  Entered         7,001  ███████████████████████████████████████████████  100.0%
  The two arms    1,459  █████████▊░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   20.8%
    −5,542 not compared here
  Complete pairs  1,458  █████████▊                                        20.8%
    −1 the other arm is absent
  Analysed        1,458  █████████▊                                        20.8%
  729 pairs.

What was measured
─────────────────
Difference by repository
                              n                          Value    [lower, upper]
  amber/harbour              44   ────■───┼             −0.125   [−0.250, 0.000]
  basalt/lantern             96         ──┼■────        +0.062  [−0.062, +0.188]
  cedar/quarry               55      ────■┼──           −0.037  [−0.163, +0.087]
  dune/ferry                 84           ┼───■────     +0.155  [+0.030, +0.280]
  elm/orchard                62          ─┼──■───       +0.113  [−0.012, +0.237]
  fjord/bridge               76           ┼──■────      +0.131  [+0.006, +0.256]
  glacier/market             91          ─┼──■────      +0.121  [−0.004, +0.246]
  heath/mill                 57        ───┼■───         +0.035  [−0.090, +0.160]
  inlet/station              65           │ ───■────    +0.200  [+0.075, +0.325]
  juniper/canal              79       ────■───          +0.013  [−0.113, +0.138]
  karst/tower                20      ───■─┼──           −0.050  [−0.175, +0.075]
  ──────────────────────────────────────────────────────────────────────────────
  Pooled, bootstrap over    729           ┼═◆═          +0.074  [+0.021, +0.118]
  repositories
  Pooled, sign-flip         729           ┼═◆══         +0.074  [+0.006, +0.143]
                                 ┼────────┼───────┼───
                                 −0.3     0     +0.3
  difference (B − A)
  Paired.

How it was decided
──────────────────
By the exact test.

Warning: The data had been seen.
Read it so.

Decision table
  Condition            Registered  Observed  Holds
  ────────────────────────────────────────────────
  Two-sided p at most        0.05     0.041  yes
  Clusters at least             8        11  yes
  All must hold.
"""
"""The comparison at 80 columns."""


def make_report(*blocks, text="x"):
    sections = (Section(title=text, blocks=blocks),)
    return Report(title=text, headline=text, tone="undecided", labels=(text,), facts=((text, text),), sections=sections)


def make_forest(*rows, pooled=(), label="row"):
    made = tuple(ForestRow(label=label, value=value, lower=low, upper=high, units=3) for value, low, high in rows)
    return Forest(title="title", unit="unit", rows=made, pooled=pooled)


def drawn(figure, width=80):
    return render_terminal(make_report(figure), width).split("\n")


def test_the_comparison_reads_as_it_should(comparison):
    assert render_terminal(comparison, 80) == GOLDEN


def test_a_refusal_says_that_it_is_one(refusal):
    assert render_terminal(refusal, 80) == (
        "Does retrieval help?\n\n"
        "⊘ Refused: The rules turned this design down: 3 clusters are too few.\n\n"
        "Why\n───\n"
        "Warning: With 3 clusters no result could reach p ≤ 0.05.\n"
    )


@pytest.mark.parametrize("width", [40, 56, 72, 80, 100, 200])
@pytest.mark.parametrize("unicode", [True, False])
def test_no_line_is_wider_than_the_terminal(comparison, width, unicode):
    text = render_terminal(comparison, width, unicode=unicode)
    assert max(map(cell_width, text.split("\n"))) <= width
    assert "fjord/bridge" in text.replace("\n", "")


def test_ascii_is_ascii(comparison, refusal):
    for report in (comparison, refusal):
        assert render_terminal(report, 80, unicode=False).isascii()


def test_the_spans_are_the_text_and_carry_tones(comparison):
    spans = lay_out(comparison, 80)
    assert "".join(span.text for span in spans) == render_terminal(comparison, 80)
    assert {"strong", "muted", "accent", "warning"} <= {span.tone for span in spans}


def test_the_echo_changes_nothing_about_a_report(comparison, capsys):
    Echo.standard(color="never").result(*lay_out(comparison, 80))
    assert capsys.readouterr().out == render_terminal(comparison, 80)


def test_an_interval_that_leaves_the_axis_ends_in_arrows():
    lines = drawn(make_forest((0.1, 0.0, 0.2), (0.1, -90.0, 90.0)))
    (line,) = [line for line in lines if "90" in line]
    assert "◄" in line
    assert "►" in line
    assert not any("◄" in other for other in lines if other != line)


def test_a_narrow_terminal_gets_the_numbers_without_the_plot():
    rows = ((0.1234, -100.0, 100.0),) * 2
    assert not any("■" in line for line in drawn(make_forest(*rows, label="a-long-label-of-a-row"), 44))
    assert any("■" in line for line in drawn(make_forest(*rows, label="a-long-label-of-a-row"), 80))


def test_a_long_label_takes_up_to_three_lines():
    label = "one/two/three/" * 20
    lines = drawn(make_forest((0.1, 0.0, 0.2), label=label))
    assert sum("one" in line or "two" in line for line in lines) == 3
    assert any(line.endswith("…") for line in lines)


@pytest.mark.parametrize(
    "figure",
    [
        make_forest(),
        make_forest((0.0, None, None)),
        make_forest((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
        make_forest((float("nan"), None, 1.0), (float("inf"), float("-inf"), float("nan"))),
        make_forest((1.7e308, -1.7e308, 1.7e308)),
        make_forest((5e-324, None, None), pooled=(ForestRow(label="", value=0.0),)),
        Funnel(title="t", unit="u", input=0, stages=(), surviving=0),
        Funnel(title="t", unit="u", input=-1, stages=(), surviving=10**40),
        Table(title="t", columns=(), rows=()),
        Table(title="t", columns=("a",), rows=((), ("1", "2"))),
    ],
)
@pytest.mark.parametrize("width", [1, 40, 80])
def test_a_degenerate_block_is_set_all_the_same(figure, width):
    assert render_terminal(make_report(figure), width).endswith("\n")


def test_hostile_text_is_shown_and_cannot_steer():
    text = "a\x1b[2J\u202e\x00"
    row = ForestRow(label=text, value=0.5, lower=0.0, upper=1.0, units=3)
    stage = FunnelStage(name=text, reason=text, entering=5, excluded=2, remaining=3)
    report = make_report(
        Paragraph(text=text, tone="warning"),
        Table(title=text, columns=(text,), rows=((text,),), note=text),
        Forest(title=text, unit=text, rows=(row,), pooled=(row,), note=text),
        Funnel(title=text, unit=text, input=5, stages=(stage,), surviving=3, note=text),
        text=text,
    )
    shown = render_terminal(report, 100)
    assert not set(shown) & set("\x1b\u202e\x00")
    assert shown.count("⟨U+202E⟩") >= 18


@settings(max_examples=40)
@given(st.text(st.characters(exclude_categories=()), max_size=60), st.integers(40, 120))
def test_any_text_is_set_without_control_characters(text, width):
    report = make_report(Table(title=text, columns=(text, "b"), rows=((text, text),)), Paragraph(text=text), text=text)
    for line in render_terminal(report, width).split("\n"):
        assert line.isprintable() or not any(ord(sign) < 32 or 127 <= ord(sign) < 160 for sign in line)


def test_widths_count_columns():
    assert cell_width("abc") == 3
    assert cell_width("日本") == 4
    assert cell_width("e\u0301") == 1
    assert pad_text("日", 4) == "日  "
    assert pad_text("7", 3, right=True) == "  7"
    assert cut_text("日本語", 5, "…") == "日本…"
    assert cut_text("abc", 3, "…") == "abc"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("one two three", ["one two", "three"]),
        ("a\n\nb", ["a", "", "b"]),
        ("net/openlibrary", ["net/", "openlibr", "ary"]),
        ("日本語日本語", ["日本語日", "本語"]),
    ],
)
def test_lines_break_at_blanks_then_after_punctuation_then_anywhere(text, lines):
    assert wrap_text(text, 8) == lines


def test_a_table_wraps_its_text_and_never_its_numbers():
    table = Table(title="", columns=("what", "n"), rows=(("a rather long cell", "1,000,000"),), numeric=(1,))
    assert table_lines(table, 22, "-") == [
        "what                 n",
        "----------------------",
        "a rather     1,000,000",
        "long cell",
    ]


def test_a_table_that_cannot_fit_becomes_a_list():
    table = Table(title="", columns=("first", "second"), rows=(("1" * 12, "2" * 12),), numeric=(0, 1))
    assert table_lines(table, 20, "-") == ["- first:", "    " + "1" * 12, "  second:", "    " + "2" * 12]
