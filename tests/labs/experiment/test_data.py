"""The registered file: its bytes are the registered ones, and every cell that decides is read exactly or refused."""

import csv
import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.kernel.errors import BadInput
from assay.labs.experiment.data import read_rows
from assay.labs.experiment.registration import load

HEADER = "arm,unit,cluster,ok,turns\n"
GOOD = HEADER + "new,u1,a,true,3\nold,u1,a,false,\nother,u1,b,whatever,0.5\nnew,u2,b,,10\n"
MARKS = {"true": [True, "yes"], "false": [False, 0]}


def refusal(path, experiment):
    with pytest.raises(BadInput) as caught:
        read_rows(path, experiment)
    return caught.value.message


def test_rows_come_in_the_order_of_the_file(write_source):
    rows = read_rows(*write_source(GOOD))
    assert [(row.index, row.arm, row.unit, row.cluster, row.outcome, row.more) for row in rows] == [
        (0, "new", "u1", "a", True, {"turns": 3}),
        (1, "old", "u1", "a", False, {"turns": None}),
        (2, "other", "u1", "b", None, {"turns": 0.5}),
        (3, "new", "u2", "b", None, {"turns": 10}),
    ]
    assert type(rows[0].more["turns"]) is int


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("\n", "\r\n"),
        "\ufeff" + GOOD,
        GOOD.rstrip("\n"),
        GOOD.replace("u1", '"u1"'),
        GOOD.replace("turns\n", "turns,more\n")
        .replace("\nnew,u1,a,true,3", '\nnew,u1,a,true,3,"x,""\ny"')
        # every other row gets the cell too
        .replace("false,\n", "false,,\n")
        .replace("0.5\n", "0.5,\n")
        .replace("10\n", "10,\n"),
    ],
)
def test_csv_in_other_writings_reads_alike(write_source, text):
    assert read_rows(*write_source(text)) == read_rows(*write_source(GOOD))


def test_json_lines_keep_their_types(write_source):
    text = (
        '{"arm": "new", "unit": "u1", "cluster": "a", "ok": true, "turns": 3}\n'
        '{"arm": "old", "unit": "u1", "cluster": "a", "ok": 0, "turns": null, "x": [1]}\n'
        '{"arm": "new", "unit": "u2", "cluster": "a", "ok": "yes"}\n'
        '{"arm": "old", "unit": "u2", "cluster": "a", "ok": null, "turns": 2.0}\n'
    )
    rows = read_rows(*write_source(text, "rows.jsonl", outcome=MARKS))
    assert [row.outcome for row in rows] == [True, False, True, None]
    assert [row.more["turns"] for row in rows] == [3, None, None, 2]


def test_real_outcomes_are_read_as_the_decimals_they_show(write_source, make_document):
    outcome = {"kind": "real", "true": None, "false": None}
    text = HEADER + "new,u,a,0.1,1\nold,u,a,1e-3,1\nnew,v,a,-2,1\nold,v,a,-0,1\nnew,w,a,3.0,1\nold,w,a,,1\n"
    path, experiment = write_source(text)
    document = experiment.to_document() | {"outcome": {k: v for k, v in outcome.items() if v}}
    rows = read_rows(path, load(document))
    assert [row.outcome for row in rows] == [0.1, 0.001, -2, 0, 3, None]
    document["outcome"] = {"kind": "real", "min": 0, "max": 1}
    assert "line 4, column 'ok': expected a number of at least 0.0 and of at most 1.0, got the text '-2'" in refusal(
        path, load(document)
    )


def test_another_file_than_the_registered_one_is_refused(write_source):
    path, experiment = write_source(GOOD)
    path.write_text(GOOD + "new,u9,a,true,1\n")
    message = refusal(path, experiment)
    assert experiment.data.sha256 in message
    assert "restore the file, or register this one" in message


def test_a_file_that_is_not_there_says_so(write_source, tmp_path):
    _, experiment = write_source(GOOD)
    assert "there is no such file" in refusal(tmp_path / "gone.csv", experiment)
    assert "this is a folder" in refusal(tmp_path, experiment)


ROW = "new,u1,a,true,3\n"
PAIR = ROW + "old,u1,a,false,3\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        (" \n\n", "the file is empty"),
        (HEADER, "there are no rows"),
        (HEADER + ROW.replace("new", "\xff"), "no row is of"),
        ("arm,unit,cluster,ok\n" + "new,u,a,true\n", "there is no column 'turns'; known: 'arm'"),
        ("arm,units,clster,ok,turns\n" + ROW, "no column 'unit'; did you mean 'units'?; there is no column 'cluster'"),
        ("arm,arm,unit,cluster,ok,turns\n" + ROW, "line 1: two columns are named 'arm'"),
        ("\n" + HEADER + ROW, "there is no column 'arm'; there are none"),
        (HEADER + PAIR + "new,u2,a,true\n", "line 4: expected 5 cells, as in the header, got 4"),
        (HEADER + PAIR + "new,u2,a,true,1,2\n", "line 4: expected 5 cells, as in the header, got 6"),
        (HEADER + PAIR + "\n" + ROW, "line 4: expected 5 cells, as in the header, got 0"),
        (HEADER + PAIR + '"new"x,u2,a,true,1\n', "line 4: not CSV"),
        (HEADER + PAIR + '"new,u2,a,true,1\n', "line 4: not CSV"),
        (HEADER + PAIR + 'new,"u\n2",a,true,1\nnew,u3\n', "line 6: expected 5 cells"),
        (HEADER + PAIR + ",u2,a,true,1\n", "line 4, column 'arm': expected a name, got an empty cell"),
        (HEADER + PAIR + "new,,a,true,1\n", "line 4, column 'unit': expected a name, got an empty cell"),
        (HEADER + PAIR + "new,u2, ,true,1\n", "line 4, column 'cluster': expected a name, got the text ' '"),
        (
            HEADER + PAIR + "new,u2,a,True,1\n",
            "line 4, column 'ok': expected 'true' for true or 'false' for false, got",
        ),
        (HEADER + PAIR + "new,u2,a,1,1\n", "line 4, column 'ok': expected 'true' for true"),
        (HEADER + PAIR + "new,u2,a, ,1\n", "line 4, column 'ok': expected 'true' for true"),
        (HEADER + PAIR + "new,u2,a,true,1_000\n", "line 4, column 'turns': expected a number, got the text '1_000'"),
        (HEADER + PAIR + 'new,u2,a,true,"1,000"\n', "line 4, column 'turns': expected a number"),
        (HEADER + PAIR + "new,u2,a,true, 1\n", "line 4, column 'turns': expected a number, got the text ' 1'"),
        (HEADER + PAIR + "new,u2,a,true,nan\n", "line 4, column 'turns': expected a number"),
        (HEADER + PAIR + "new,u2,a,true,0x1F\n", "line 4, column 'turns': expected a number"),
        (HEADER + PAIR + "new,u2,a,true,007\n", "line 4, column 'turns': expected a number"),
        (HEADER + PAIR + "new,u2,a,true,\u0661\n", "line 4, column 'turns': expected a number"),
        (HEADER + PAIR + "new,u2,a,true,1e999\n", "column 'turns': expected a number within ±(2^53−1)"),
        (HEADER + PAIR + "new,u2,a,true,9007199254740993\n", "expected a number within ±(2^53−1)"),
        (HEADER + PAIR + f"new,u2,a,true,{'9' * 5000}\n", "line 4, column 'turns': expected a number"),
        (HEADER + PAIR + "other,u2,a,true,x\n", "line 4, column 'turns': expected a number"),
        (HEADER + PAIR + ROW, "lines 2 and 4: unit 'u1' has two rows in the arm 'new'"),
        (HEADER + PAIR.replace("old,u1,a", "old,u1,b"), "lines 2 and 3: unit 'u1' lies in the cluster 'a' in one arm"),
        (HEADER + ROW, "no row is of the control arm 'old'; the arms are 'new' (1 rows)"),
        (
            HEADER + PAIR.replace("new", "news"),
            "no row is of the treatment arm 'new' (did you mean 'news'?); the arms are",
        ),
    ],
)
def test_csv_that_cannot_be_compared_is_refused_with_its_line(write_source, text, words):
    path, experiment = write_source(text)
    message = refusal(path, experiment)
    assert words in message
    assert "rows.csv" in message


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "line 2: expected a JSON document"),
        ("[]", "line 2: expected an object of named members, got an empty list"),
        ("{", "line 2: not JSON"),
        ('{"arm": "new", "arm": "old"}', "line 2: the member"),
        ('{"arm": NaN}', "line 2: NaN is not JSON"),
        ('{"arm": "\\ud800"}', "line 2: the text holds a lone surrogate|line 2: .*lone surrogate"),
        ('{"arm": 3, "unit": "u", "cluster": "a"}', "line 2, column 'arm': expected a name, got 3"),
        ('{"arm": "new", "unit": null, "cluster": "a"}', "column 'unit': expected a name, got nothing"),
        ('{"arm": "new", "unit": "u", "ok": true}', "column 'cluster': expected a name, got nothing"),
        (
            '{"arm": "new", "unit": "u", "cluster": "a", "ok": "true"}',
            "column 'ok': expected true or 'yes' for true or",
        ),
        ('{"arm": "new", "unit": "u", "cluster": "a", "ok": 1}', "column 'ok': expected true or 'yes' for true"),
        ('{"arm": "new", "unit": "u", "cluster": "a", "ok": ""}', "column 'ok': expected true or 'yes'"),
        ('{"arm": "new", "unit": "u", "cluster": "a", "ok": [true]}', "column 'ok': .* got a list"),
        (
            '{"arm": "new", "unit": "u", "cluster": "a", "ok": true, "turns": "3"}',
            "column 'turns': expected a number, got",
        ),
        ('{"arm": "new", "unit": "u", "cluster": "a", "ok": true, "turns": true}', "column 'turns': expected a number"),
        ('{"arm": "new", "unit": "u", "cluster": "a", "ok": true, "turns": 1e300}', "can be carried exactly"),
    ],
)
def test_json_lines_that_cannot_be_compared_are_refused_with_their_line(write_source, line, words):
    first = '{"arm": "old", "unit": "u", "cluster": "a", "ok": false, "turns": 1}\n'
    path, experiment = write_source(first + line + "\n" + first, "rows.jsonl", outcome=MARKS)
    with pytest.raises(BadInput, match=words.replace("(", r"\(")):
        read_rows(path, experiment)


def test_a_column_that_no_json_line_has_is_named(write_source):
    text = '{"arm": "new", "unit": "u", "cluster": "a", "okay": true, "turns": 1}\n'
    path, experiment = write_source(text, "rows.jsonl", outcome=MARKS)
    assert "there is no column 'ok'; did you mean 'okay'?" in refusal(path, experiment)


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_bytes_that_are_not_utf8_name_their_line(write_source, name):
    path, experiment = write_source(b"arm,unit\nnew,\xff\n", name, outcome={} if name == "rows.csv" else MARKS)
    assert "line 2: byte 0xff is not UTF-8" in refusal(path, experiment)


@pytest.mark.parametrize(
    ("kind", "cell", "value"),
    [
        ("text", "x", "x"),
        ("text", "", None),
        ("boolean", "true", True),
        ("boolean", "false", False),
        ("boolean", "", None),
    ],
)
def test_columns_of_text_and_truth_are_read_by_their_type(write_source, kind, cell, value):
    path, experiment = write_source(HEADER + f"new,u,a,true,{cell}\nold,u,a,true,\n", data={"more": {"turns": kind}})
    assert read_rows(path, experiment)[0].more == {"turns": value}


@pytest.mark.parametrize("cell", ["True", "1", "yes", " true"])
def test_a_truth_is_written_in_one_way(write_source, cell):
    text = HEADER + f"new,u,a,true,{cell}\n"
    path, experiment = write_source(text, data={"more": {"turns": "boolean"}})
    assert "column 'turns': expected true or false" in refusal(path, experiment)


def test_two_rows_of_a_unit_are_fine_if_admission_leaves_one(write_source):
    stage = {"id": "first", "keep": {"field": "turns", "op": "eq", "value": 1}, "reason": "a later attempt"}
    text = HEADER + "new,u,a,true,1\nnew,u,a,false,2\nold,u,a,true,1\n"
    path, experiment = write_source(text, admission=[stage])
    assert len(read_rows(path, experiment)) == 3
    path, experiment = write_source(text)
    assert "lines 2 and 3: unit 'u' has two rows" in refusal(path, experiment)


def test_rows_of_other_arms_may_repeat_a_unit(write_source):
    path, experiment = write_source(HEADER + PAIR + "other,u,a,?,\nother,u,b,?,\n")
    assert [row.outcome for row in read_rows(path, experiment)] == [True, False, None, None]


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(unit=NAMES, cluster=NAMES)
def test_any_text_survives_a_csv(write_source, unit, cluster):
    table = io.StringIO()
    csv.writer(table).writerows(
        [
            ["arm", "unit", "cluster", "ok", "turns"],
            ["new", unit, cluster, "true", 1],
            ["old", unit, cluster, "true", 1],
        ]
    )
    path, experiment = write_source(table.getvalue().encode())
    assert {(row.unit, row.cluster) for row in read_rows(path, experiment)} == {(unit, cluster)}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=60), name=st.sampled_from(["rows.csv", "rows.jsonl"]))
def test_any_bytes_are_read_or_refused(write_source, data, name):
    path, experiment = write_source(data, name, outcome={} if name == "rows.csv" else MARKS)
    with pytest.raises(BadInput):
        read_rows(path, experiment)
