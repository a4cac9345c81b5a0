"""`assay duel` on a small duel of scripted models: every action, its JSON, and what it refuses."""

import json

import pytest

from assay.testing.duels import make_contract, publish_corpus


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    """A folder with a corpus, a contract and the bundle of its duel."""
    from assay.app.cli.main import main  # noqa: PLC0415 - once for all tests of the file

    folder = tmp_path_factory.mktemp("arena")
    document = make_contract(publish_corpus(folder / "corpus"))
    (folder / "duel.json").write_text(json.dumps(document), encoding="utf-8")
    assert main(["run", str(folder / "duel.json"), "--out", str(folder / "run"), "--quiet"]) == 0
    return folder


def write_contract(folder, name, **changes):
    document = json.loads((folder / "duel.json").read_text(encoding="utf-8"))
    for section, members in changes.items():
        document[section] = {**document[section], **members}
    path = folder / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_a_duel_verifies_and_is_reported(arena, cli):
    answer = cli("verify", arena / "run/bundle.zip", "--json").json
    assert answer["outcome"] == "consistent"
    assert answer["verdict"]["decision"]["crowned"] is True
    shown = cli("report", arena / "run/bundle.zip").out
    for part in ("The margin against the bar", "By dialect", "The turns that decided", "a meter of distillation"):
        assert part in " ".join(shown.split())


def test_the_slice_is_what_was_played(arena, cli):
    drawn = cli("duel", "slice", arena / "duel.json", "--json").json
    verdict = cli("report", arena / "run/bundle.zip", "--json").json["verdict"]
    assert (drawn["seed"], drawn["digest"]) == (verdict["slice"]["seed"], verdict["slice"]["digest"])
    assert drawn["turns"] == [turn["turn"] for turn in verdict["turns"]]
    assert f"digest  {drawn['digest']}" in cli("duel", "slice", arena / "duel.json").out


def test_a_turn_is_shown_with_every_text(arena, cli, refused):
    shown = cli("duel", "show", arena / "run/bundle.zip", 0)
    for who in ("teacher 1", "teacher 2", "teacher 3", "king", "challenger"):
        assert f"── {who}\n" in shown.out
    assert len(cli("duel", "show", arena / "run/bundle.zip", 0, "--json").json["texts"]) == 5
    refused("duel", "show", arena / "run/bundle.zip", 99, code=2, says=["turns 0 to 14", "no turn 99"])


def test_an_exported_duel_replays_and_a_changed_one_does_not(arena, cli, tmp_path):
    path = tmp_path / "duel.json.gz"
    assert cli("duel", "export", arena / "run/bundle.zip", path).exit == 0
    answer = cli("duel", "replay", path, "--json")
    assert (answer.exit, answer.json["agrees"], answer.json["rule"]) == (0, True, "min_rg")
    verdict = tmp_path / "verdict.json"
    lied = {"margin": 1.0, "duel_params": {"score_mode": "min_rg"}, "contract_version": 15}
    verdict.write_text(json.dumps(lied), encoding="utf-8")
    answer = cli("duel", "replay", path, "--verdict", verdict)
    assert answer.exit == 1
    assert "differs" in answer.out


def test_another_contract_shifts_and_flips(arena, cli):
    strict = write_contract(arena, "strict.json", duel={"minMargin": 0.5})
    answer = cli("duel", "rescore", "--contract", strict, arena / "run/bundle.zip", "--json").json
    (found,) = answer["duels"]
    assert (found["crownedThen"], found["crownedNow"], found["flipped"], found["shift"]) == (True, False, True, 0)


def test_rollouts_are_folded_into_a_corpus(cli, tmp_path):
    nodes = [
        {"message": {"role": "system", "content": "use bash"}},
        {"message": {"role": "user", "content": "task"}},
        {"message": {"role": "assistant", "content": "go\n```bash\nls\n```"}, "sampled": True},
    ]
    envelope = {
        "schema": 1,
        "rollout_id": "r",
        "source": "s",
        "task": {"uid": "u", "sid": "t-1", "repo": "", "language": ""},
        "policy": {"id": "p", "model": "m", "harness": "h", "action_kind": "bash"},
        "trace": {"nodes": nodes, "stop_condition": "agent_completed", "errors": [], "rewards": {}},
    }
    traces = tmp_path / "traces.jsonl"
    traces.write_text(json.dumps(envelope) + "\n", encoding="utf-8")
    answer = cli("duel", "fold", traces, "--corpus", tmp_path / "corpus", "--json").json
    assert (answer["turns"], answer["published"]) == (1, True)
    again = cli("duel", "fold", traces, "--corpus", tmp_path / "corpus", "--json").json
    assert (again["turns"], again["published"], again["manifest"]) == (0, False, answer["manifest"])


def test_a_board_says_what_may_be_claimed(cli, tmp_path, refused):
    board, results = tmp_path / "board.csv", tmp_path / "bench.csv"
    board.write_text("model,score,crowned\n" + "".join(f"m{at},{at / 100},{at > 6}\n" for at in range(9)), "utf-8")
    results.write_text("model,solved,total\n" + "".join(f"m{at},{9 - at},25\n" for at in range(9)), "utf-8")
    answer = cli("duel", "monitor", board, results, "--json").json
    assert answer["claim"].startswith("Distillation meter; no capability claim")
    assert "inverted" in answer["alarms"]
    assert answer["correlation"]["rho"] == -1
    refused("duel", "monitor", board, board, code=2, says=["solved", "missing"])
    refused("duel", "monitor", board, results, "--panel", 0.5, "inf", code=2, says=["--panel", "whole number"])
    refused("duel", "monitor", board, results, "--panel", 0.5, 1e15, code=2, says=["3 to 10000 pairs"])
    results.write_text("model,solved,total\na,1," + "9" * 5000 + "\n", encoding="utf-8")
    refused("duel", "monitor", board, results, code=2, says=["total", "expected a whole number"])


@pytest.mark.parametrize("action", ["show", "export"])
def test_a_bundle_that_was_changed_is_not_read(arena, tmp_path, refused, action):
    data = bytearray((arena / "run/bundle.zip").read_bytes())
    at = data.index(b'"turn.played"')
    data[at + 1 : at + 5] = b"rats"
    broken = tmp_path / "bundle.zip"
    broken.write_bytes(data)
    refused("duel", action, broken, tmp_path / "x" if action == "export" else 0, code=1, says=["invalid"])


def test_a_bundle_of_another_lab_is_refused(made, tmp_path, refused):
    refused("duel", "show", made.bundle, 0, code=2, says=["the experiment lab", "one of a duel"])
