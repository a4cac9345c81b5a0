"""Two reports to draw: a comparison that was decided, and a design that was refused."""

import pytest

from assay.verifier.figures import Forest, ForestRow, Funnel, FunnelStage, Paragraph, Report, Section, Table

CLUSTERS = (
    ("amber/harbour", -0.125, 44),
    ("basalt/lantern", 0.0625, 96),
    ("cedar/quarry", -0.0375, 55),
    ("dune/ferry", 0.155, 84),
    ("elm/orchard", 0.1125, 62),
    ("fjord/bridge", 0.131, 76),
    ("glacier/market", 0.121, 91),
    ("heath/mill", 0.035, 57),
    ("inlet/station", 0.2, 65),
    ("juniper/canal", 0.0125, 79),
    ("karst/tower", -0.05, 20),
)


@pytest.fixture
def forest():
    rows = tuple(
        ForestRow(label=label, value=value, lower=value - 0.125, upper=value + 0.125, units=units)
        for label, value, units in CLUSTERS
    )
    pooled = (
        ForestRow(label="Pooled, bootstrap over repositories", value=0.074, lower=0.021, upper=0.118, units=729),
        ForestRow(label="Pooled, sign-flip", value=0.074, lower=0.006, upper=0.143, units=729),
    )
    return Forest(title="Difference by repository", unit="difference (B − A)", rows=rows, pooled=pooled, note="Paired.")


@pytest.fixture
def funnel():
    stages = (
        FunnelStage(name="The two arms", reason="not compared here", entering=7001, excluded=5542, remaining=1459),
        FunnelStage(name="Complete pairs", reason="the other arm is absent", entering=1459, excluded=1, remaining=1458),
    )
    return Funnel(title="Admission", unit="rows", input=7001, stages=stages, surviving=1458, note="729 pairs.")


@pytest.fixture
def decisions():
    rows = (("Two-sided p at most", "0.05", "0.041", "yes"), ("Clusters at least", "8", "11", "yes"))
    columns = ("Condition", "Registered", "Observed", "Holds")
    return Table(title="Decision table", columns=columns, rows=rows, numeric=(1, 2), note="All must hold.")


@pytest.fixture
def comparison(forest, funnel, decisions):
    seen = Paragraph(text="The data had been seen.\nRead it so.", tone="warning")
    return Report(
        title="Does B resolve more tasks than A?",
        headline="B resolved more tasks: +7.4 points over 729 pairs.",
        tone="decided",
        labels=("retrospective",),
        facts=(("Pooled difference", "+0.074"), ("Sign-flip p", "84/2048 = 0.041")),
        sections=(
            Section(title="Who was admitted", blocks=(funnel,)),
            Section(title="What was measured", blocks=(forest,)),
            Section(title="How it was decided", blocks=(Paragraph(text="By the exact test."), seen, decisions)),
        ),
    )


@pytest.fixture
def refusal():
    why = Paragraph(text="With 3 clusters no result could reach p ≤ 0.05.", tone="warning")
    return Report(
        title="Does retrieval help?",
        headline="The rules turned this design down: 3 clusters are too few.",
        tone="refused",
        sections=(Section(title="Why", blocks=(why,)),),
    )
