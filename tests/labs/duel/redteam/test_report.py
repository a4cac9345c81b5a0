"""What the red team says, to people and to machines."""

import asyncio
import json

import pytest

from assay.app.cli.terminal import render_terminal
from assay.labs.duel.redteam.report import RedTeam, report_redteam, tell_redteam
from assay.labs.duel.redteam.search import search
from assay.labs.duel.redteam.staged import run_staged
from assay.labs.duel.redteam.table import ELSEWHERE, run_table


@pytest.fixture(scope="module")
def teams(make_ground, make_stage):
    def gather(variant):
        stage = make_stage(variant)
        return RedTeam(
            name="trial",
            ground=make_ground(variant),
            results=run_table(make_ground(variant)),
            teacher="scripted:teacher",
            staged=asyncio.run(run_staged(stage)),
            staged_turns=len(stage.turns),
            search=asyncio.run(search(stage, 60, 1)),
        )

    return {variant: gather(variant) for variant in ("v4", "v5")}


def test_a_contract_that_holds(teams):
    report = report_redteam(teams["v5"])
    assert teams["v5"].lost == ()
    assert report.tone == "decided"
    assert report.headline == "everything that must hold does, in 26 attacks and the search"


def test_a_contract_that_loses_is_shown_to_lose_with_what_was_gained(teams):
    report = report_redteam(teams["v4"])
    assert report.tone == "refused"
    assert teams["v4"].lost == ("RT-1/A1", "RT-11", "RT-12", "RT-13", "RT-9", "RT-10", "search")
    text = render_terminal(report, 120)
    (line,) = [line for line in text.splitlines() if "RT-11 filler suffix" in line and "0.0100" in line]
    assert "LOST" in line
    assert "pays without predicting" in text


def test_the_table_has_every_attack_in_order(teams):
    rows = report_redteam(teams["v5"]).sections[0].blocks[0].rows
    assert [row[0] for row in rows][:3] == [
        "RT-1/A1 fixed payload thoughts",
        "RT-2/A2 own action pasted in the thought",
        "RT-2c paraphrase of the intent",
    ]
    assert rows[-1][0] == "dialect smuggling"


def test_what_is_not_in_scope_is_said(teams):
    rows = report_redteam(teams["v5"]).sections[-1].blocks[0].rows
    assert len(rows) == len(ELSEWHERE) == 8
    assert ("king gone", "not in scope here: needs a validator") in rows


def test_machines_are_told_the_same(teams):
    told = json.loads(json.dumps(tell_redteam(teams["v4"]), allow_nan=False))
    assert (told["schema"], told["version"], told["held"]) == ("assay.duel.redteam", 1, False)
    assert told["lost"] == list(teams["v4"].lost)
    by_id = {item["id"]: item for item in told["attacks"]}
    assert by_id["RT-11"]["verdict"] == "lost"
    assert by_id["RT-11"]["broken"] == ["the suffix loses"]
    assert by_id["RT-6/A6"]["gained"] is None
    assert told["search"]["pays"] is True
    assert len(told["onTeacher"]) == 6
    assert {item["attack"] for item in told["notInScope"]} == {name for name, _ in ELSEWHERE}
