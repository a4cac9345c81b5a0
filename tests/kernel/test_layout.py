"""Layouts: the round trip through a manifest's JSON, and every declaration that cannot be."""

import json

import pytest

from assay.kernel import canonical
from assay.kernel.errors import EvidenceInvalid, InvariantBroken, MalformedDocument, UnknownVersion
from assay.kernel.layout import CheckpointSpec, Closing, Layout, LogSpec, RegistrationFile, check_path, default_layout
from assay.kernel.manifest import read_layout


def log(**changes):
    return LogSpec(**{"name": "a", "file": "a.jsonl", "domain": "d-a", "signer": "s-a", **changes})


OTHER = log(name="b", file="b.jsonl", domain="d-b", signer="s-b")


class TestPaths:
    @pytest.mark.parametrize("path", ["a", "a/b", "A-1_b.jsonl", "1/2/3/4/5/6/7/8", "a" * 100, "a..b"])
    def test_plain_paths(self, path):
        assert check_path(path) == path

    @pytest.mark.parametrize(
        "path",
        ["", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", ".a", "a/.b", "-a", "a\\b", "C:/a", "a b", "a\n"],
    )
    def test_what_leads_elsewhere_or_hides(self, path):
        with pytest.raises(MalformedDocument):
            check_path(path)

    @pytest.mark.parametrize("path", ["\u00e9", "a\0", "1/2/3/4/5/6/7/8/9", "a" * 101, "~/a", "a?", "a*", "a:b"])
    def test_what_not_every_machine_can_hold(self, path):
        with pytest.raises(MalformedDocument):
            check_path(path)


class TestRoundTrip:
    def test_the_default(self, toy_layout):
        again = read_layout(json.loads(canonical.dumps(toy_layout.to_json())))
        assert again == toy_layout
        assert [spec.name for spec in again.logs] == ["registration", "rows", "decisions"]
        assert set(again.closings) == {"registration", "rows", "decisions"}
        assert (again.recovery, again.attachments) == ("decisions", "decisions")

    def test_another_systems(self, nursery):
        layout = nursery("runIdHash", "auxiliaryTrees")
        assert read_layout(json.loads(canonical.dumps(layout.to_json()))) == layout

    def test_the_table_stays_with_the_store(self):
        layout = Layout(logs=(log(table="elsewhere"),))
        assert layout.log("a").table == "elsewhere"
        assert read_layout(layout.to_json()).log("a").table == "log_a"

    def test_an_unknown_log_is_the_labs_defect(self, toy_layout):
        with pytest.raises(InvariantBroken, match="rows"):
            toy_layout.log("stranger")

    def test_files(self, nursery, toy_layout):
        assert toy_layout.files == ("registration.jsonl", "logs/rows.jsonl", "logs/decisions.jsonl")
        assert nursery().files[-1] == "configuration/run-config.json"


class TestLogs:
    @pytest.mark.parametrize(
        "changes",
        [
            {"name": ""},
            {"name": "1a"},
            {"name": "a b"},
            {"name": "a/b"},
            {"name": "a" * 64},
            {"file": "../a"},
            {"file": "a/../../b"},
            {"domain": ""},
            {"domain": "a\0b"},
            {"domain": "a b"},
            {"domain": "d" * 101},
            {"signer": "../s"},
            {"signer": ""},
            {"link": "sequence"},
            {"link": "writerKeyId"},
            {"link": ""},
            {"link": "a b"},
            {"table": "files"},
            {"table": "checkpoints"},
            {"table": "forks"},
            {"table": "sqlite_stat1"},
            {"table": "a; DROP TABLE b"},
            {"table": "A"},
        ],
        ids=str,
    )
    def test_names_that_could_not_be(self, changes):
        with pytest.raises(MalformedDocument):
            log(**changes)

    @pytest.mark.parametrize(
        "changes",
        [
            {"name": "b"},
            {"file": "b.jsonl"},
            {"signer": "s-b"},
            {"table": "log_b"},
            {"name": "B"},
            {"file": "b.jsonl/a"},
            {"file": "manifest.json"},
            {"file": "checkpoints/000000.json"},
            {"file": "notes/a.note"},
            {"file": "proofs"},
            {"file": "anchors/a"},
        ],
        ids=str,
    )
    def test_two_logs_never_share_a_place(self, changes):
        Layout(logs=(log(), OTHER))
        with pytest.raises(MalformedDocument):
            Layout(logs=(OTHER, log(**changes)))

    def test_logs_of_one_kind_may_share_a_domain(self):
        Layout(logs=(log(domain="d-b"), OTHER))

    def test_no_logs_and_too_many(self):
        with pytest.raises(MalformedDocument):
            Layout(logs=())
        many = [log(name=f"n{n}", file=f"f{n}", domain=f"d{n}", signer=f"s{n}") for n in range(65)]
        Layout(logs=tuple(many[:64]))
        with pytest.raises(MalformedDocument):
            Layout(logs=tuple(many))


class TestLayouts:
    @pytest.mark.parametrize(
        "changes",
        [
            {"closings": {"stranger": Closing()}},
            {"recovery": "stranger"},
            {"attachments": "stranger"},
            {"checkpoint": CheckpointSpec(heads={"stranger": ("x",)})},
            {"checkpoint": CheckpointSpec(signer="s-a")},
            {"checkpoint": CheckpointSpec(domain="d-a")},
            {"checkpoint": CheckpointSpec(heads={"a": ()})},
            {"checkpoint": CheckpointSpec(heads={"a": ("version",)})},
            {"checkpoint": CheckpointSpec(heads={"a": ("registration",)})},
            {"checkpoint": CheckpointSpec(heads={"a": ("extra",)}, extra=("extra",))},
            {"checkpoint": CheckpointSpec(heads={"a": ("trees",)})},
            {"checkpoint": CheckpointSpec(heads={"a": ("trees", "b")})},
            {"checkpoint": CheckpointSpec(heads={"a": ("x",), "b": ("x", "y")})},
            {"checkpoint": CheckpointSpec(extra=("trees",))},
            {"registration": RegistrationFile(file="a.jsonl", domain="d")},
            {"registration": RegistrationFile(file="manifest.json", domain="d")},
        ],
        ids=str,
    )
    def test_what_names_nothing_or_is_two_things(self, changes):
        with pytest.raises(MalformedDocument):
            Layout(logs=(log(), OTHER), **changes)

    @pytest.mark.parametrize(
        "changes",
        [
            {"domain": ""},
            {"domain": "a\0b"},
            {"signer": "../../witness"},
            {"registration": "version"},
            {"registration": "x", "extra": ("x",)},
            {"extra": ("createdAt",)},
            {"extra": ("x", "x")},
            {"extra": ("",)},
            {"heads": {"a": ("x", "")}},
            {"heads": {"a": ("x/y",)}},
            {"heads": {"a": ("a", "b", "c", "d", "e")}},
            {"heads": {"a": ("x",) * 100_000}},
        ],
        ids=lambda changes: f"{changes!s:.60}",
    )
    def test_checkpoints_that_could_not_be(self, changes):
        with pytest.raises(MalformedDocument):
            CheckpointSpec(**changes)

    def test_a_log_key_never_signs_published_heads(self):
        with pytest.raises(MalformedDocument):
            Layout(logs=(log(signer="note-b"), OTHER))


class TestHostileJson:
    """What a manifest may state: every one of these must be an answer, none an accident."""

    @pytest.mark.parametrize("member", ["logs", "checkpoint", "tree", "registration", "closings", "recovery"])
    @pytest.mark.parametrize("value", [None, True, 1, "x", [], {}, [[]], [{}], {"x": {}}, {"x": []}], ids=repr)
    def test_members_of_other_shapes(self, toy_layout, member, value):
        try:
            read_layout({**toy_layout.to_json(), member: value})
        except EvidenceInvalid:
            return
        except UnknownVersion:
            assert member == "tree"
            return
        assert (member, value) in [("registration", None), ("closings", {}), ("recovery", None)]

    @pytest.mark.parametrize("value", [None, True, 1, "x", [], {}, [None]], ids=repr)
    def test_parts_of_other_shapes(self, toy_layout, value):
        document = toy_layout.to_json()
        for part in ("domain", "signer", "heads", "registration", "extra"):
            spec = {**document["checkpoint"], part: value}
            if (part, value) in [("heads", {}), ("extra", [])]:
                continue
            if isinstance(value, str) and part in {"domain", "signer", "registration"}:
                continue
            with pytest.raises(MalformedDocument):
                read_layout({**document, "checkpoint": spec})
        for part in ("name", "file", "domain", "signer", "link"):
            logs = [{**document["logs"][0], part: value}, *document["logs"][1:]]
            if not isinstance(value, str):
                with pytest.raises(MalformedDocument):
                    read_layout({**document, "logs": logs})

    def test_members_missing_and_unknown(self, toy_layout):
        document = toy_layout.to_json()
        with pytest.raises(MalformedDocument, match="unknown more"):
            read_layout({**document, "more": 1})
        for member in document:
            with pytest.raises(MalformedDocument, match=f"missing {member}"):
                read_layout({name: value for name, value in document.items() if name != member})

    def test_an_unknown_tree_is_another_version(self, toy_layout):
        with pytest.raises(UnknownVersion):
            read_layout({**toy_layout.to_json(), "tree": {"scheme": "sideways"}})


def test_the_default_layout_names_its_lab():
    one, two = default_layout("one", ("rows",)), default_layout("two", ("rows",))
    assert {spec.domain for spec in one.logs} & {spec.domain for spec in two.logs} == {one.logs[0].domain}
