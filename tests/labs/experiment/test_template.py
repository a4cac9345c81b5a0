"""First registrations: guessed from the data, runnable without an edit, safe whatever the data hold."""

import csv
import io
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.kernel.errors import BadInput
from assay.labs.experiment.data import read_rows
from assay.labs.experiment.registration import load
from assay.labs.experiment.template import new_registration
from assay.labs.experiment.verdict import derive
from assay.rules.documents import read_document
from assay.rules.yaml_documents import read_yaml

HEADER = ("model", "task", "repo", "passed", "turns")


def make_table(arms=("A", "B"), clusters=7, cells=("true", "false")):
    """Lines of a table in which the first arm does better in every cluster."""
    return [
        (arm, f"t{cluster}-{n}", f"r{cluster}", cells[0] if n < 3 - place else cells[-1], n + 1)
        for place, arm in enumerate(arms)
        for cluster in range(clusters)
        for n in range(4)
    ]


@pytest.fixture
def write_csv(tmp_path):
    def write(rows, header=HEADER, name="runs.csv"):
        table = io.StringIO()
        csv.writer(table).writerows([header, *rows])
        path = tmp_path / name
        path.write_text(table.getvalue())
        return path

    return write


@pytest.fixture
def run(make_evidence, tmp_path):
    """The registration a text makes, and the verdict of running it beside its data."""

    def read_and_derive(text):
        (tmp_path / "registration.yaml").write_text(text)
        experiment = load(read_document(tmp_path / "registration.yaml"))
        rows = read_rows(tmp_path / experiment.data.file, experiment)
        return experiment, derive(experiment, make_evidence(experiment, rows))

    return read_and_derive


def test_what_is_guessed_runs_without_an_edit(write_csv, run):
    text = new_registration(write_csv(make_table()))
    experiment, verdict = run(text)
    columns = experiment.data.columns
    assert (columns.arm, columns.unit, columns.cluster, columns.outcome) == ("model", "task", "repo", "passed")
    assert (experiment.arms.treatment, experiment.arms.control) == ("A", "B")
    assert (experiment.outcome.true, experiment.outcome.false) == (("true",), ("false",))
    assert experiment.id == "runs"
    assert verdict["decision"]["verdict"] == "treatment-better"
    assert experiment.seen_before[0].what == "had the file with its outcomes when this was written"
    assert '# more: {"turns": number}' in text
    assert "Units that both arms have: 28, in 7 clusters" in text


def test_every_default_stands_in_the_text(write_csv, run):
    text = new_registration(write_csv(make_table()))
    assert read_yaml(text) == run(text)[0].to_document()


def test_the_same_data_give_the_same_text(write_csv):
    path = write_csv(make_table())
    assert new_registration(path) == new_registration(str(path))


def test_the_arms_with_most_rows_are_compared_and_the_others_listed(write_csv, run):
    rows = make_table(arms=("C", "B", "A"))
    text = new_registration(write_csv(rows[1:]))
    experiment, _ = run(text)
    assert (experiment.arms.treatment, experiment.arms.control) == ("A", "B")
    assert '#   "C" (27 rows)\n' in text


def test_what_is_given_is_taken(write_csv, run):
    path = write_csv(make_table(arms=("A", "B", "C")))
    experiment, _ = run(new_registration(path, treatment="C"))
    assert (experiment.arms.treatment, experiment.arms.control) == ("C", "A")
    experiment, _ = run(new_registration(path, control="A"))
    assert (experiment.arms.treatment, experiment.arms.control) == ("B", "A")
    experiment, _ = run(new_registration(path, outcome="turns"))
    assert (experiment.data.columns.outcome, experiment.outcome.kind) == ("turns", "real")
    experiment, _ = run(new_registration(path, arm="model", unit="task", cluster="repo", treatment="B", control="C"))
    assert (experiment.arms.treatment, experiment.arms.control) == ("B", "C")


@pytest.mark.parametrize(
    ("cells", "true", "false"),
    [
        (("1", "0"), ("1",), ("0",)),
        (("PASS", "FAIL"), ("PASS",), ("FAIL",)),
        (("resolved", "unresolved"), ("resolved",), ("unresolved",)),
        (("true", "true"), ("true",), ("false",)),
        (("no", "no"), ("yes",), ("no",)),
    ],
)
def test_words_for_yes_and_no_are_known(write_csv, run, cells, true, false):
    experiment, _ = run(new_registration(write_csv(make_table(cells=cells))))
    assert (experiment.outcome.true, experiment.outcome.false) == (true, false)


def test_numbers_make_a_real_outcome(write_csv, run):
    path = write_csv(make_table(cells=("0.75", "0.25")), header=("model", "task", "repo", "score", "turns"))
    experiment, verdict = run(new_registration(path))
    assert (experiment.outcome.kind, experiment.data.columns.outcome) == ("real", "score")
    assert verdict["estimate"]["value"] == 0.125


def test_json_lines_keep_their_types(tmp_path, run):
    lines = [
        f'{{"model": "{arm}", "task": "{task}", "repo": "{repo}", "passed": {cell}, "turns": {turns}}}\n'
        for arm, task, repo, cell, turns in make_table()
    ]
    (tmp_path / "runs.jsonl").write_text("".join(lines))
    experiment, verdict = run(new_registration(tmp_path / "runs.jsonl"))
    assert experiment.outcome.true == (True,)
    assert verdict["decision"]["verdict"] == "treatment-better"


def test_a_relative_path_is_written_down_as_it_is(write_csv, tmp_path, monkeypatch):
    write_csv(make_table())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "runs.csv").rename(tmp_path / "sub" / "runs.csv")
    assert read_yaml(new_registration("sub/runs.csv"))["data"]["file"] == "sub/runs.csv"
    assert read_yaml(new_registration(tmp_path / "sub/runs.csv"))["data"]["file"] == "runs.csv"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"arm": "modle"}, "there is no column 'modle' to hold the arm; did you mean 'model'?"),
        ({"outcome": "repo"}, "no column looks like the cluster"),
        ({"unit": "turns"}, "no column looks like the cluster"),
        ({"treatment": "AA"}, "no row is of the treatment arm 'AA'; did you mean 'A'?"),
        ({"control": "zzz"}, "no row is of the control arm 'zzz'; the arms are 'A', 'B'"),
        ({"treatment": "A", "control": "A"}, "two arms are compared"),
    ],
)
def test_what_is_given_wrong_is_refused(write_csv, given, words):
    path = write_csv(make_table())
    with pytest.raises(BadInput, match=words.replace("?", r"\?")):
        new_registration(path, **given)


def test_numbers_are_names_only_where_the_column_says_so(write_csv, run):
    rows = [(arm, f"{cluster}{n}", cluster[1:], cell, n) for arm, _, cluster, cell, n in make_table()]
    experiment, _ = run(new_registration(write_csv(rows, header=("model", "id", "group", "passed", "turns"))))
    assert (experiment.data.columns.unit, experiment.data.columns.cluster) == ("id", "group")


@pytest.mark.parametrize(
    ("header", "rows", "words"),
    [
        (HEADER, make_table(arms=("A",)), "no column looks like the unit.*in more than one arm"),
        (HEADER, [(a, t, r, "maybe", "x") for a, t, r, _, _ in make_table()], "no column looks like the outcome"),
        (HEADER, [(a, f"{a}{t}", r, p, n) for a, t, r, p, n in make_table()], "no column looks like the unit"),
        (HEADER, [(a, t, "r", p, n) for a, t, _, p, n in make_table()], "no column looks like the cluster"),
        (
            ("model", "task", "passed"),
            [(a, t, p) for a, t, _, p, _ in make_table()],
            "no column looks like the cluster",
        ),
        (HEADER, [(a, t, r if n > 1 else "", p, n) for a, t, r, p, n in make_table()], "looks like the cluster"),
        (("a", "a"), [("x", "y")], "two columns are named 'a'"),
        (HEADER, [], "there are no rows"),
    ],
)
def test_a_column_that_cannot_be_guessed_has_to_be_named(write_csv, header, rows, words):
    with pytest.raises(BadInput, match=words):
        new_registration(write_csv(rows, header=header))


def test_a_named_column_with_an_empty_cell_is_refused(write_csv):
    rows = [(a, t, r if n > 1 else "", p, n) for a, t, r, p, n in make_table()]
    with pytest.raises(BadInput, match="column 'repo' cannot hold the cluster, for a cell of it is empty"):
        new_registration(write_csv(rows), cluster="repo")


def test_files_of_another_kind_are_refused(tmp_path):
    with pytest.raises(BadInput, match=r"expected a file named \.csv or \.jsonl"):
        new_registration(tmp_path / "runs.parquet")
    with pytest.raises(BadInput, match="there is no such file"):
        new_registration(tmp_path / "runs.csv")


HOSTILE = (
    "x\nlab: duel",
    "a: b # c",
    '"',
    "\\",
    "#",
    "{",
    "- ",
    "\x85 \u2028",
    "\x7f",
    "null",
    "'",
    "*x",
    "&x",
    "é😀",
    "%",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_in_the_data_cannot_write_the_registration(write_csv, run, name):
    plain = make_table(arms=("A", "B"))
    rows = [(f"{arm}{name}", *rest) for arm, *rest in plain] + [(f"C{name}", *rest) for _, *rest in plain[:4]]
    text = new_registration(write_csv(rows, header=("model", "task", f"repo{name}", "passed", "turns")))
    experiment, verdict = run(text)
    assert experiment.arms.treatment == f"A{name}"
    assert experiment.data.columns.cluster == f"repo{name}"
    assert verdict["decision"]["verdict"] == "treatment-better"
    assert len(re.findall("^lab:", text, re.MULTILINE)) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(str.strip))
def test_any_name_is_carried(write_csv, run, name):
    rows = [(f"{arm}{name}", f"{task}{name}", *rest) for arm, task, *rest in make_table()]
    experiment, verdict = run(new_registration(write_csv(rows)))
    assert experiment.arms.treatment == f"A{name}"
    assert verdict["decision"]["verdict"] == "treatment-better"
