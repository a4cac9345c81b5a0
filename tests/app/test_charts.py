import math
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.app.web import charts
from assay.verifier.figures import Forest, ForestRow, Funnel, FunnelStage

NUMBER = st.floats(allow_nan=True, allow_infinity=True)
ROWS = st.lists(
    st.builds(
        ForestRow,
        label=st.text(max_size=50),
        value=NUMBER,
        lower=st.none() | NUMBER,
        upper=st.none() | NUMBER,
        units=st.integers(min_value=-5, max_value=10**30),
    ),
    max_size=5,
).map(tuple)
COUNT = st.integers(min_value=-5, max_value=10**30)


def parse(drawing):
    """The drawing as a tree; raises where it is not well formed, or a coordinate is not a finite number."""
    root = ET.fromstring(str(drawing))
    for element in root.iter():
        for name in ("x", "y", "x1", "x2", "y1", "y2", "width", "height"):
            assert math.isfinite(float(element.get(name, "0")))
        for number in re.split("[ ,]", element.get("points", "0")):
            assert math.isfinite(float(number))
    return root


def shapes(root, kind, tag=None):
    return [one for one in root.iter() if kind in one.get("class", "").split() and tag in (None, one.tag)]


def texts(root):
    return ["".join(one.itertext()) for one in root.iter("text")]


def make_forest(*rows, pooled=(), zero=0.0):
    return Forest(title="Title", unit="unit", rows=rows, pooled=pooled, zero=zero)


def make_row(value=0.1, lower=None, upper=None, units=0, label="row"):
    return ForestRow(label=label, value=value, lower=lower, upper=upper, units=units)


def test_a_forest_holds_every_row_with_its_numbers(forest):
    root = parse(charts.forest(forest))
    assert len(shapes(root, "point")) == 11
    assert len(shapes(root, "whisker")) == 11
    assert len(shapes(root, "pooled")) == 2
    assert shapes(root, "arrow") == []
    assert {"amber/harbour", "−0.125", "[−0.250, 0.000]", "44", "+0.074", "[+0.021, +0.118]"} <= set(texts(root))


def test_a_drawing_says_what_it_is(forest, funnel):
    for drawing, title in ((charts.forest(forest), forest.title), (charts.funnel(funnel), funnel.title)):
        root = parse(drawing)
        assert root.get("role") == "img"
        assert root.get("aria-label") == title
        assert [child.tag for child in root][:2] == ["title", "desc"]
    assert "11 rows" in parse(charts.forest(forest)).findtext("desc", "")
    assert "1,458 analysed" in parse(charts.funnel(funnel)).findtext("desc", "")


def test_a_drawing_holds_no_style_id_or_reference(forest, funnel):
    for drawing in (charts.forest(forest), charts.funnel(funnel)):
        for element in parse(drawing).iter():
            assert not set(element.keys()) & {"style", "id", "href", "fill", "stroke"}


def test_the_same_figure_gives_the_same_drawing(forest, funnel):
    assert charts.forest(forest) == charts.forest(forest)
    assert charts.funnel(funnel) == charts.funnel(funnel)


def test_the_area_of_a_square_follows_the_units():
    root = parse(charts.forest(make_forest(make_row(units=100), make_row(units=25), make_row(units=0))))
    sides = [float(one.get("width", "")) for one in shapes(root, "point")]
    assert sides == [13.0, 6.5, 4.0]


def test_an_interval_that_leaves_the_axis_gets_an_arrow_on_that_side():
    narrow, wide = make_row(0.1, 0.0, 0.2), make_row(0.1, 0.0, 90.0)
    root = parse(charts.forest(make_forest(narrow, wide)))
    (arrow,) = shapes(root, "arrow")
    assert float(arrow.get("points", "").split(",")[0]) > max(
        float(one.get("x2", "")) for one in shapes(root, "whisker")
    )


@pytest.mark.parametrize("end", [math.inf, 1e308])
def test_an_endless_interval_gets_two_arrows(end):
    root = parse(charts.forest(make_forest(make_row(0.1, -end, end))))
    assert len(shapes(root, "arrow")) == 2


def test_a_row_without_an_interval_has_no_whisker():
    root = parse(charts.forest(make_forest(make_row())))
    assert shapes(root, "whisker") == []
    assert len(shapes(root, "point")) == 1


def test_a_diamond_spans_its_interval():
    root = parse(charts.forest(make_forest(pooled=(make_row(0.0, -0.6, 0.6), make_row(0.25)))))
    ends = [[float(point.split(",")[0]) for point in one.get("points", "").split()] for one in shapes(root, "pooled")]
    axis = shapes(root, "axis")[0]
    assert (ends[0][0], ends[0][2]) == (float(axis.get("x1", "")), float(axis.get("x2", "")))
    assert ends[1][2] - ends[1][0] == 6.0


def test_the_zero_line_stands_at_zero():
    figure = make_forest(make_row(0.5), make_row(2.0), zero=1.0)
    root = parse(charts.forest(figure))
    (zero,) = shapes(root, "zero")
    ticks = {"".join(one.itertext()): one.get("x") for one in shapes(root, "tick")}
    assert zero.get("x1") == ticks["1.0"]


def test_a_long_label_is_cut_and_kept_whole_as_its_tooltip():
    label = "a-very-long-repository/name-that-does-not-fit"
    root = parse(charts.forest(make_forest(make_row(label=label), make_row(label="語" * 20))))
    first, second = (one for one in shapes(root, "name"))
    assert first.findtext("title") == label
    assert texts(root)[4 + len(shapes(root, "tick")) + 1].endswith("a-very-long-repository/name-…")
    assert "".join(second.itertext()) == "語" * 20 + "語" * 14 + "…"


@pytest.mark.parametrize(
    "figure",
    [
        make_forest(),
        make_forest(make_row(0.0)),
        make_forest(make_row(0.25), make_row(0.25), make_row(0.25)),
        make_forest(make_row(-3e307, -1e308, 1e308), make_row(1.7e308)),
        make_forest(make_row(5e-324)),
        make_forest(make_row(1e9 + 1), zero=1e9),
        make_forest(make_row(math.nan, math.nan, math.nan), zero=math.nan),
        make_forest(make_row(math.inf), make_row(-math.inf), pooled=(make_row(math.nan), make_row(0.1, math.nan))),
        make_forest(make_row(0.1, 0.3, 0.2)),
    ],
)
def test_a_degenerate_forest_is_drawn_all_the_same(figure):
    root = parse(charts.forest(figure))
    assert len(shapes(root, "row")) == len(figure.rows) + len(figure.pooled)
    assert len(charts.forest_table(figure).rows) == len(figure.rows) + len(figure.pooled)


@settings(max_examples=60)
@given(ROWS, ROWS, NUMBER)
def test_any_forest_is_drawn_well_formed(rows, pooled, zero):
    figure = Forest(title="t", unit="u", rows=rows, pooled=pooled, zero=zero)
    parse(charts.forest(figure))
    assert all(len(row) == 5 for row in charts.forest_table(figure).rows)


@settings(max_examples=60)
@given(COUNT, COUNT, st.lists(st.tuples(COUNT, COUNT, COUNT), max_size=4))
def test_any_funnel_is_drawn_well_formed(entered, surviving, counts):
    stages = tuple(
        FunnelStage(name="stage", reason="why", entering=one, excluded=two, remaining=three)
        for one, two, three in counts
    )
    root = parse(charts.funnel(Funnel(title="t", unit="u", input=entered, stages=stages, surviving=surviving)))
    assert all(0 <= float(box.get("width", "")) <= 480 for box in root.iter("rect"))


def test_two_hundred_rows_are_drawn():
    root = parse(charts.forest(make_forest(*(make_row(at / 200, label=f"row {at}") for at in range(200)))))
    assert len(shapes(root, "point")) == 200
    assert float(root.get("viewBox", "").split()[3]) > 200 * 24


def test_the_bars_of_a_funnel_share_one_scale(funnel):
    root = parse(charts.funnel(funnel))
    widths = [float(one.get("width", "")) for one in shapes(root, "bar")]
    shares = (1.0, 1459 / 7001, 1458 / 7001, 1458 / 7001)
    assert widths == [pytest.approx(480 * share, abs=0.01) for share in shares]
    left = [float(one.get("width", "")) for one in shapes(root, "left", "rect")]
    assert left == [pytest.approx(480 * 5542 / 7001, abs=0.01), 1.5]
    assert {"7,001", "1,459", "1,458", "20.8%", "−1  the other arm is absent"} <= set(texts(root))


def test_a_funnel_that_nobody_entered_is_drawn():
    root = parse(charts.funnel(Funnel(title="t", unit="u", input=0, stages=(), surviving=0)))
    assert all(float(one.get("width", "")) == 0 for one in shapes(root, "bar"))


def test_the_tables_say_what_the_drawings_say(forest, funnel):
    rows = charts.forest_table(forest).rows
    assert rows[0] == ("amber/harbour", "44", "−0.125", "−0.250", "0.000")
    assert rows[-1] == ("Pooled, sign-flip", "729", "+0.074", "+0.006", "+0.143")
    stages = charts.funnel_table(funnel).rows
    assert stages[1] == ("The two arms", "not compared here", "7,001", "5,542", "1,459", "20.8%")
    assert stages[-1] == ("Analysed", "", "", "", "1,458", "20.8%")


def test_hostile_text_is_shown_and_not_obeyed():
    label = '</text><script>alert("1")</script>\u202e\x1b[2J'
    drawing = charts.forest(make_forest(make_row(label=label)))
    assert "<script" not in drawing
    root = parse(drawing)
    shown = '</text><script>alert("1")</script>⟨U+202E⟩⟨U+001B⟩[2J'
    assert [one.text for one in root.iter("title")] == ["Title", shown]
