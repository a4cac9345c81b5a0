"""`assay experiment new` writes a registration that runs as it is, whatever it has to guess."""

import json


def test_the_registration_that_is_written_runs_as_it_is(study, cli):
    written = cli("experiment", "new", study.data)
    assert (written.exit, written.err) == (0, "")
    run = cli("run", study.register(written.out), "--out", study.out, "--json")
    assert run.exit == 0
    assert cli("verify", study.bundle).exit == 0
    document = cli("inspect", study.bundle, "--json").json["document"]
    assert document["data"]["columns"] == {"arm": "model", "unit": "task", "cluster": "family", "outcome": "solved"}
    assert set(document["arms"].values()) <= {"new", "old", "spare"}


def test_json_carries_the_same_text(study, cli):
    assert cli("experiment", "new", study.data, "--json").json["yaml"] == cli("experiment", "new", study.data).out


def test_columns_and_arms_can_be_named(study, cli):
    head, *lines = study.lines
    study.write_data([f"{head},kind", *(f"{line},kind-{at // 3 % 7}" for at, line in enumerate(lines))])
    words = ("--treatment", "spare", "--control", "new", "--cluster", "kind")
    written = cli("experiment", "new", study.data, *words)
    assert written.exit == 0
    run = cli("run", study.register(written.out), "--out", study.out, "--json").json
    assert run["verdict"]["arms"] == {"treatment": "spare", "control": "new"}
    assert len(run["verdict"]["clusters"]) == 7


def test_an_arm_that_is_not_there_is_named_with_the_nearest(study, refused):
    refused("experiment", "new", study.data, "--treatment", "spear", code=2, says=["'spear'", "'spare'"])


def test_a_column_that_is_not_there_is_named_with_the_nearest(study, refused):
    refused("experiment", "new", study.data, "--unit", "tasks", code=2, says=["'tasks'", "'task'"])


def test_data_without_rows(study, refused):
    study.write_data(study.lines[:1])
    refused("experiment", "new", study.data, code=2, says=["outcomes.csv"])


def test_outcomes_as_json_lines(study, cli):
    head, *lines = (line.split(",") for line in study.lines)
    data = study.folder / "outcomes.jsonl"
    data.write_text("".join(json.dumps(dict(zip(head, line, strict=True))) + "\n" for line in lines))
    written = cli("experiment", "new", data)
    assert written.exit == 0
    assert cli("run", study.register(written.out), "--out", study.out).exit == 0
