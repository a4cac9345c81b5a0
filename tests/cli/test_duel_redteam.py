"""`assay duel redteam`: on the numbers of a contract, on a whole one, and on its own teacher."""

import json

import pytest

from assay.testing.duels import make_contract, publish_corpus


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    """A folder with a corpus, a whole contract, and the numbers of two contracts of the public network's kind."""
    folder = tmp_path_factory.mktemp("redteam")
    document = make_contract(publish_corpus(folder / "corpus"))
    (folder / "duel.json").write_text(json.dumps(document), encoding="utf-8")
    for name, version, mode in (("v4.json", 8, "reason"), ("v5.json", 15, "min_rg")):
        contract = {"version": version, "history": [{"version": version, "since": "then", "what": "this"}]}
        numbers = {"contract": contract, "duel": {**document["duel"], "scoreMode": mode}}
        (folder / name).write_text(json.dumps(numbers), encoding="utf-8")
    return folder


def test_a_contract_that_holds_exits_0(arena, cli):
    answer = cli("duel", "redteam", arena / "v5.json", "--budget", 20)
    assert answer.exit == 0
    words = " ".join(answer.out.split())
    assert "everything that must hold does, in 26 attacks and the search" in words
    assert "needs a validator" in words
    assert "asking scripted:teacher" in answer.err


def test_a_contract_that_loses_exits_1_and_says_to_what(arena, cli):
    answer = cli("duel", "redteam", arena / "v4.json", "--budget", 20, "--json", "--quiet")
    assert (answer.exit, answer.err) == (1, "")
    assert {"RT-11", "search", "leak-bypass"} <= set(answer.json["lost"])
    (suffix,) = [item for item in answer.json["attacks"] if item["id"] == "RT-11"]
    assert suffix["gained"] == pytest.approx(0.01, abs=1e-6)


def test_a_contracts_own_teacher_is_asked_about_its_own_slice(arena, cli):
    answer = cli("duel", "redteam", arena / "duel.json", "--teacher", "--budget", 10, "--json").json
    assert (answer["teacher"], answer["teacherTurns"]) == ("scripted:teacher", 8)
    assert [item["id"] for item in answer["onTeacher"]] == ["RT-1/A1", "RT-2/A2", "A9", "RT-11", "RT-12", "RT-10"]
    assert {item["verdict"] for item in answer["attacks"]} == {"held", "not-applicable"}


def test_the_teacher_of_bare_numbers_is_not_known(arena, refused):
    refused("duel", "redteam", arena / "v5.json", "--teacher", code=2, says=["--teacher needs a whole contract"])


@pytest.mark.parametrize("budget", [1, 0, -5])
def test_a_search_needs_a_score_of_both_thoughts(arena, refused, budget):
    refused("duel", "redteam", arena / "v5.json", f"--budget={budget}", code=2, says=["--budget: expected at least 2"])


def test_another_teacher_than_the_registered_one_is_not_asked(arena, cli):
    document = json.loads((arena / "duel.json").read_text(encoding="utf-8"))
    document["teacher"]["weights"] = "sha256:" + "0" * 64
    (arena / "other.json").write_text(json.dumps(document), encoding="utf-8")
    answer = cli("duel", "redteam", arena / "other.json", "--teacher")
    assert answer.exit == 4
    assert "nothing was asked" in answer.err


def test_a_contract_with_a_wrong_number_is_refused(arena, refused):
    document = json.loads((arena / "v5.json").read_text(encoding="utf-8"))
    document["duel"]["leakShare"] = 2
    (arena / "wrong.json").write_text(json.dumps(document), encoding="utf-8")
    refused("duel", "redteam", arena / "wrong.json", code=2, says=["duel.leakShare"])
