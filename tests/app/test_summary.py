"""The summary that a run prints: what the report says first, and one line for what warns and what was removed."""

from dataclasses import replace

import pytest

from assay.app.cli.columns import cell_width
from assay.app.cli.terminal import render_terminal, summarise
from assay.verifier.figures import FunnelStage, Section

SUMMARY = """\
Does B resolve more tasks than A?

◆ Decided: B resolved more tasks: +7.4 points over 729 pairs.
  [retrospective]

  Pooled difference  +0.074
  Sign-flip p        84/2048 = 0.041

Warning: The data had been seen. Read it so.

−5,542 of 7,001  The two arms: not compared here
−1 of 1,459  Complete pairs: the other arm is absent
"""


def text_of(report, width=80, *, unicode=True):
    return "".join(span.text for span in summarise(report, width, unicode=unicode))


def test_the_summary_reads_as_it_should(comparison):
    assert text_of(comparison) == SUMMARY


def test_it_begins_as_the_report_does(comparison):
    assert render_terminal(comparison).startswith(SUMMARY.partition("\nWarning")[0])


def test_a_stage_that_removed_nothing_has_no_line(comparison, funnel):
    idle = FunnelStage(name="Idle", reason="nothing", entering=5, excluded=0, remaining=5)
    sections = (Section(title="x", blocks=(replace(funnel, stages=(*funnel.stages, idle)),)),)
    assert text_of(replace(comparison, sections=sections)).count("−") == 2


@pytest.mark.parametrize("width", [40, 60, 120])
@pytest.mark.parametrize("unicode", [True, False])
def test_no_line_is_wider_than_the_terminal(comparison, width, unicode):
    lines = text_of(comparison, width, unicode=unicode).splitlines()
    assert max(map(cell_width, lines)) <= width
    assert sum(line.startswith("Warning: ") for line in lines) == 1


def test_ascii_is_ascii_and_hostile_text_takes_one_line(comparison, refusal, funnel):
    stage = replace(funnel.stages[0], reason="\x1b[2J\r\nmore\u202e")
    sections = (Section(title="x", blocks=(replace(funnel, stages=(stage,)),)),)
    shown = text_of(replace(comparison, sections=sections), 120, unicode=False)
    assert shown.isascii()
    assert not set(shown) & set("\x1b\r\u202e")
    (line,) = [line for line in shown.splitlines() if "5,542" in line]
    assert "more" in line
    assert "Warning: With 3 clusters" in text_of(refusal)
