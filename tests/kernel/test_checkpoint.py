"""Checkpoints: the vectors both ways, and every layout that is not the declared one."""

import json

import pytest

from assay.kernel import canonical
from assay.kernel.checkpoint import Claim, Head, make_checkpoint, read_checkpoint, rebuild_hash
from assay.kernel.digests import ZERO, to_raw, to_text
from assay.kernel.errors import AssayError, KeyRefused, MalformedDocument
from assay.kernel.keys import decode_signature, verify
from assay.kernel.layout import CheckpointSpec, Layout, LogSpec

EXTRA = ("runIdHash", "promptBundleHash", "softwareCommit")
TREES = ("babyA", "babyB", "channel")


def head_of(value):
    return Head(value["treeSize"], to_raw(value["merkleRoot"]), to_raw(value["lastEntryHash"]))


def make_vector(case, layout, signer):
    unsigned = case["unsigned"]
    claim = Claim(
        registration=unsigned["runConfigurationHash"],
        heads={tree: head_of(unsigned[tree]) for tree in TREES},
        created_at=unsigned["createdAt"],
        extra={name: unsigned[name] for name in layout.checkpoint.extra},
    )
    previous = to_raw(unsigned["previousCheckpointHash"])
    number = unsigned["checkpointSequence"]
    return make_checkpoint(layout.checkpoint, claim, sequence=number, previous=previous, signer=signer)


class TestVectors:
    def test_every_checkpoint_is_made_byte_for_byte(self, evidence, nursery, nursery_signers):
        document = evidence("checkpoint.json")
        layout = nursery(*EXTRA, "auxiliaryTrees")
        for case in document["cases"]:
            point = make_vector(case, layout, nursery_signers["witness"])
            sealed = {"checkpointHash": case["checkpointHash"], "witnessSignature": case["witnessSignature"]}
            assert to_text(point.hash) == case["checkpointHash"]
            assert point.signature == case["witnessSignature"]
            assert point.line == canonical.dumps({**case["unsigned"], **sealed})
            assert canonical.dumps(case["unsigned"]).decode() == case["canonical"]
            assert read_checkpoint(layout, point.line, "here") == point
            assert rebuild_hash(layout.checkpoint, point.line) == point.hash
            verify(nursery_signers["witness"].public.raw, point.hash, decode_signature(point.signature))

    def test_an_absent_map_is_another_checkpoint(self, evidence, nursery, nursery_signers):
        document = evidence("checkpoint.json")
        absent = document["without_auxiliary"]
        layout = nursery(*EXTRA)
        point = make_vector(absent, layout, nursery_signers["witness"])
        assert to_text(point.hash) == absent["checkpointHash"]
        assert to_text(point.hash) != document["cases"][1]["checkpointHash"]
        assert read_checkpoint(layout, point.line, "here") == point

    def test_the_two_layouts_refuse_each_other(self, evidence, nursery, nursery_signers):
        document = evidence("checkpoint.json")
        with_map, without = nursery(*EXTRA, "auxiliaryTrees"), nursery(*EXTRA)
        point = make_vector(document["cases"][1], with_map, nursery_signers["witness"])
        with pytest.raises(MalformedDocument, match="unknown auxiliaryTrees"):
            read_checkpoint(without, point.line, "here")
        point = make_vector(document["without_auxiliary"], without, nursery_signers["witness"])
        with pytest.raises(MalformedDocument, match="missing auxiliaryTrees"):
            read_checkpoint(with_map, point.line, "here")


@pytest.fixture
def witness(nursery_signers):
    return nursery_signers["witness"]


@pytest.fixture
def spec(witness):
    heads = {"c": ("deep", "er", "c"), "d": ("deep", "d")}
    return CheckpointSpec(domain=witness.public.domain, heads=heads, extra=("note",))


@pytest.fixture
def layout(spec):
    logs = tuple(LogSpec(name=log, file=f"{log}.jsonl", domain=f"d-{log}", signer=f"s-{log}") for log in "abcd")
    return Layout(logs=logs, checkpoint=spec)


@pytest.fixture
def point(spec, witness):
    heads = {log: Head(number, bytes([number]) * 32, bytes(32)) for number, log in enumerate("abcd")}
    claim = Claim(registration="sha256:r", heads=heads, created_at="then", extra={"note": {"any": [None, 1.5]}})
    return make_checkpoint(spec, claim, sequence=0, previous=bytes(32), signer=witness)


class TestLayouts:
    def test_round_trip(self, layout, point):
        again = read_checkpoint(layout, point.line, "here")
        assert again == point
        assert json.loads(point.line)["deep"]["er"]["c"]["treeSize"] == 2
        assert json.loads(point.line)["trees"].keys() == {"a", "b"}
        assert json.loads(point.line)["previousCheckpointHash"] == ZERO

    def test_extra_values_are_copied(self, spec, witness):
        extra = {"note": [1]}
        claim = Claim(registration="r", heads={}, created_at="then", extra=extra)
        point = make_checkpoint(spec, claim, sequence=0, previous=bytes(32), signer=witness)
        extra["note"].append(2)
        assert json.loads(point.line)["note"] == [1]

    def test_another_witness_is_refused(self, spec, nursery_signers):
        claim = Claim(registration="r", heads={}, created_at="then", extra={})
        with pytest.raises(KeyRefused):
            make_checkpoint(spec, claim, sequence=0, previous=bytes(32), signer=nursery_signers["channel"])

    @pytest.mark.parametrize(
        "change",
        [
            {"version": 2},
            {"version": True},
            {"version": "1"},
            {"checkpointSequence": "0"},
            {"checkpointSequence": 0.5},
            {"previousCheckpointHash": "0" * 64},
            {"previousCheckpointHash": None},
            {"checkpointHash": "sha256:" + "A" * 64},
            {"witnessSignature": None},
            {"createdAt": 1},
            {"registration": None},
            {"stranger": 1},
            {"trees": None},
            {"trees": {}},
            {"trees": []},
            {"deep": {}},
        ],
        ids=str,
    )
    def test_what_is_not_laid_out_so_is_refused(self, layout, point, change):
        line = canonical.dumps({**json.loads(point.line), **change})
        with pytest.raises(MalformedDocument):
            read_checkpoint(layout, line, "here")

    @pytest.mark.parametrize("member", ["registration", "note", "trees", "deep", "witnessKeyId", "version"])
    def test_a_member_that_is_missing_is_named(self, layout, point, member):
        value = json.loads(point.line)
        del value[member]
        with pytest.raises(MalformedDocument, match=member):
            read_checkpoint(layout, canonical.dumps(value), "here")

    @pytest.mark.parametrize("where", ["trees", "deep", "er"])
    def test_a_tree_that_is_not_declared_is_refused(self, layout, point, where):
        value = json.loads(point.line)
        place = value["deep"]["er"] if where == "er" else value[where]
        place["stranger"] = value["trees"]["a"]
        with pytest.raises(MalformedDocument, match="exactly the trees"):
            read_checkpoint(layout, canonical.dumps(value), "here")

    @pytest.mark.parametrize("change", [{"treeSize": -1}, {"treeSize": 1.5}, {"merkleRoot": "x"}, {"more": 1}], ids=str)
    def test_a_head_of_another_shape_is_refused(self, layout, point, change):
        value = json.loads(point.line)
        value["deep"]["d"].update(change)
        with pytest.raises(MalformedDocument):
            read_checkpoint(layout, canonical.dumps(value), "here")

    @pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{}", b"\xff", b"{", b'{"version":1}'])
    def test_other_bytes_are_refused(self, layout, data):
        with pytest.raises(AssayError):
            read_checkpoint(layout, data, "here")

    def test_not_canonical_is_refused(self, layout, point):
        with pytest.raises(MalformedDocument):
            read_checkpoint(layout, b" " + point.line, "here")

    def test_every_change_changes_the_hash(self, spec, point):
        value = json.loads(point.line)
        for name in set(value) - {"checkpointHash", "witnessSignature"}:
            changed = canonical.dumps({**value, name: "changed"})
            assert rebuild_hash(spec, changed) != point.hash, name
