"""The claim is what the data allow: it is denied while one obstacle stands, and alarms are no doubts."""

import math
from fractions import Fraction

import pytest

from assay.kernel.errors import BadInput
from assay.labs.duel.isomorphism import BoardEntry, IsomorphismRule, Panel, Solved, compare_board
from assay.labs.duel.isomorphism_report import report_isomorphism
from assay.verifier.figures import Paragraph, Table

RULE = IsomorphismRule(benchmark="a bench", null_rate=0.1, permutations=20_000)
FREEZE = Panel(name="frozen", rho=0.758, models=30)
DENIED = "Distillation meter; no capability claim: "


def board_of(scores, crowned=()):
    return [BoardEntry(model=f"m{at:02}", score=score, crowned=at in crowned) for at, score in enumerate(scores)]


def bench_of(solved, total=25):
    return {f"m{at:02}": Solved(solved=count, total=total) for at, count in enumerate(solved)}


UP = [at / 100 for at in range(12)]
SOLVED = [0, 1, 3, 2, 4, 6, 5, 7, 9, 8, 10, 11]


def codes(found):
    return [item.code for item in found.obstacles]


def test_a_claim_is_allowed_where_order_and_kings_both_speak_for_it():
    found = compare_board(board_of(UP, crowned=(10, 11)), bench_of(SOLVED), RULE, panel=FREEZE)
    assert found.allowed
    assert found.obstacles == found.alarms == ()
    assert found.claim.startswith("On these 12 models a higher score goes with a better result on a bench (rho +0.97")
    assert "nothing follows" in found.claim


def test_the_live_board_s_case_is_denied_and_raises_every_alarm():
    """Higher scores with worse results, kings that solve nothing, and a panel that once said the opposite."""
    found = compare_board(
        board_of(UP, crowned=(9, 10, 11)), bench_of([9, 8, 7, 6, 6, 5, 4, 2, 1, 0, 0, 0]), RULE, panel=FREEZE
    )
    assert codes(found) == ["inverted", "sign-flip", "kings-not-above-null"]
    assert found.alarms == found.obstacles
    assert found.claim.startswith(DENIED)
    assert found.kings is not None
    assert found.kings.below.p == Fraction(9, 10) ** 75
    assert "0 of 75 tasks, below 10.0% (p 0.00037)" in found.claim


def test_no_order_to_be_seen_is_doubt_and_no_alarm():
    found = compare_board(
        board_of(UP, crowned=(3,)), bench_of([3, 1, 4, 1, 5, 2, 2, 5, 1, 4, 1, 3]), RULE, panel=FREEZE
    )
    assert codes(found) == ["no-positive-correlation", "kings-not-above-null"]
    assert found.alarms == ()


def test_a_panel_that_is_chance_itself_raises_no_sign_flip():
    weak = Panel(name="weak", rho=0.2, models=8)
    worse = bench_of(SOLVED[::-1])
    assert codes(compare_board(board_of(UP, crowned=(0,)), worse, RULE, panel=weak)) == ["inverted"]
    assert codes(compare_board(board_of(UP, crowned=(0,)), worse, RULE, panel=FREEZE)) == ["inverted", "sign-flip"]
    negative = Panel(name="negative", rho=-0.758, models=30)
    assert codes(compare_board(board_of(UP, crowned=(0,)), worse, RULE, panel=negative)) == ["inverted"]
    better = bench_of(SOLVED)
    assert codes(compare_board(board_of(UP, crowned=(11,)), better, RULE, panel=negative)) == ["sign-flip"]


def test_kings_without_a_result_and_kings_at_the_null_allow_no_claim():
    assert codes(compare_board(board_of(UP), bench_of(SOLVED), RULE)) == ["no-kings"]
    found = compare_board(board_of(UP, crowned=(2,)), bench_of(SOLVED), RULE)
    assert codes(found) == ["kings-not-above-null"]
    assert found.alarms == ()
    crowned = [*board_of(UP), BoardEntry(model="unbenched", score=1.0, crowned=True)]
    found = compare_board(crowned, bench_of(SOLVED), RULE)
    assert codes(found) == ["no-kings"]
    assert found.only_on_board == ("unbenched",)


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_few_models_allow_no_claim_however_well_they_fit(count):
    found = compare_board(board_of(UP[:count], crowned=(3,)), bench_of([1, 2, 3, 9][:count], total=9), RULE)
    assert codes(found)[0] == "too-few-models"
    assert not found.allowed


def test_equal_results_have_no_order():
    found = compare_board(board_of(UP, crowned=(11,)), bench_of([9] * 12), RULE)
    assert codes(found) == ["no-order"]
    assert found.correlation is None
    assert found.interval is None


def test_models_without_a_partner_are_told_and_count_for_nothing():
    found = compare_board(
        board_of([*UP, 9.0], crowned=(10, 11)), bench_of(SOLVED) | {"zz": Solved(solved=1, total=1)}, RULE
    )
    assert (found.only_on_board, found.only_benched) == (("m12",), ("zz",))
    assert found.correlation is not None
    assert found.correlation.pairs == 12


def test_rates_are_compared_and_not_counts():
    results = bench_of(SOLVED) | {"m00": Solved(solved=20, total=1000)}
    found = compare_board(board_of(UP, crowned=(10, 11)), results, RULE)
    assert found.correlation is not None
    assert found.correlation.rho > 0.9


def test_the_order_of_the_board_changes_no_decision():
    board = board_of(UP, crowned=(10, 11))
    one, other = (compare_board(order, bench_of(SOLVED), RULE) for order in (board, board[::-1]))
    assert one.obstacles == other.obstacles
    assert one.correlation is not None
    assert other.correlation is not None
    assert one.correlation.rho == other.correlation.rho


@pytest.mark.parametrize(
    ("board", "results", "rule", "match"),
    [
        (board_of(UP) + board_of([0.5]), bench_of(SOLVED), RULE, "twice"),
        (board_of([math.nan]), bench_of([1]), RULE, "finite"),
        (board_of([1.0]), {"m00": Solved(solved=2, total=1)}, RULE, "solved"),
        (board_of([1.0]), {"m00": Solved(solved=0, total=0)}, RULE, "no task"),
        (board_of([1.0]), {"m00": Solved(solved=True, total=1)}, RULE, "whole"),
        (board_of([1.0]), {}, IsomorphismRule(benchmark="b", null_rate=0.1, alpha=0.0), "alpha"),
        (board_of([1.0], crowned=(0,)), bench_of([1]), IsomorphismRule(benchmark="b", null_rate=0.0), "chance"),
    ],
)
def test_what_cannot_be_compared_is_refused(board, results, rule, match):
    with pytest.raises(BadInput, match=match):
        compare_board(board, results, rule)


def test_a_panel_out_of_range_is_refused():
    with pytest.raises(BadInput, match="between"):
        compare_board(board_of(UP), bench_of(SOLVED), RULE, panel=Panel(name="p", rho=1.2, models=9))


def texts(report):
    for section in report.sections:
        for block in section.blocks:
            if isinstance(block, Paragraph):
                yield block.text
            elif isinstance(block, Table):
                yield from (cell for row in block.rows for cell in row)


def test_the_report_says_the_claim_and_no_other():
    allowed = compare_board(board_of(UP, crowned=(10, 11)), bench_of(SOLVED), RULE, panel=FREEZE)
    denied = compare_board(board_of(UP, crowned=(9, 10, 11)), bench_of(SOLVED[::-1]), RULE, panel=FREEZE)
    for found, label in ((allowed, "capability claim allowed"), (denied, "no capability claim")):
        report = report_isomorphism(found)
        assert report.headline + "." == found.claim
        assert report.labels == (label,)
        for item in found.obstacles:
            assert any(item.message in text for text in texts(report))
    assert report_isomorphism(denied).tone == "decided"
    assert any("panel frozen" in text for text in texts(report_isomorphism(denied)))


def test_a_report_of_nothing_is_still_a_report():
    report = report_isomorphism(compare_board([], {}, RULE))
    assert report.tone == "undecided"
    assert "no-kings" in " ".join(texts(report))
