"""Seals: what was sealed, what amended it, and every way of rewriting that history."""

import pytest

from assay.kernel.errors import BadInput, EvidenceInvalid, KeyRefused, MalformedDocument, Refused, SealBroken
from assay.kernel.keys import Signer, encode_public
from assay.kernel.layout import default_layout
from assay.kernel.roles import roles_of
from assay.kernel.seal import (
    amendment_body,
    differing_members,
    layout_digest,
    open_seal,
    registration_digest,
    seal_body,
)

DOCUMENT = {"lab": "toy", "limit": 3, "arms": {"a": 1, "b": [1, 2]}}
OTHER = {**DOCUMENT, "limit": 4}
THIRD = {**DOCUMENT, "limit": 5}


@pytest.fixture
def signers(toy_layout):
    return [
        Signer(role=role, domain=domain, seed=bytes([number]) * 32).public
        for number, (role, domain) in enumerate(roles_of(toy_layout).items())
    ]


@pytest.fixture
def body(toy_layout, signers):
    return seal_body("toy", toy_layout, DOCUMENT, signers)


def enter(*bodies):
    """Entries as a registration log holds them; hashes and signatures are others' affair."""
    return [
        {
            **body,
            "sequence": number,
            "previousEntryHash": "sha256:x",
            "recordedAt": f"at {number}",
            "writerKeyId": "author-x",
            "entryHash": "sha256:y",
            "writerSignature": "ed25519:z",
        }
        for number, body in enumerate(bodies, start=1)
    ]


def amend(sealed, document, why="a reason", seen="nothing yet"):
    return amendment_body(sealed, document, why=why, seen=seen)


class TestSealing:
    def test_what_was_sealed_is_what_is_opened(self, toy_layout, signers, body):
        sealed = open_seal(enter(body))
        assert sealed.lab == "toy"
        assert sealed.document == DOCUMENT
        assert sealed.registration == registration_digest(DOCUMENT)
        assert sealed.layout == layout_digest(toy_layout)
        assert sealed.signers == tuple(signers)
        assert sealed.sealed_at == "at 1"
        assert sealed.amendments == ()
        assert sealed.digests == {1: sealed.registration}

    def test_a_closed_log_opens_too(self, body):
        assert open_seal(enter(body, {"kind": "run.closed"})).registration == registration_digest(DOCUMENT)

    def test_the_digest_does_not_depend_on_the_order_of_members(self):
        assert registration_digest(dict(reversed(DOCUMENT.items()))) == registration_digest(DOCUMENT)
        assert registration_digest(OTHER) != registration_digest(DOCUMENT)

    def test_another_layout_has_another_digest(self, toy_layout):
        assert layout_digest(default_layout("toy", ("rows",))) != layout_digest(toy_layout)

    def test_a_document_that_json_cannot_carry(self, toy_layout, signers):
        with pytest.raises(MalformedDocument):
            seal_body("toy", toy_layout, {"x": float("nan")}, signers)


class TestAmending:
    def test_every_digest_that_was_in_force_stays(self, body):
        first = amend(open_seal(enter(body)), OTHER)
        second = amend(open_seal(enter(body, first)), THIRD, why="more", seen="ten rows")
        sealed = open_seal(enter(body, first, second))
        assert sealed.document == THIRD
        digests = [registration_digest(document) for document in (DOCUMENT, OTHER, THIRD)]
        assert sealed.digests == dict(enumerate(digests, start=1))
        assert sealed.registration == digests[2]
        assert [(item.at, item.why, item.seen, item.sequence) for item in sealed.amendments] == [
            ("at 2", "a reason", "nothing yet", 2),
            ("at 3", "more", "ten rows", 3),
        ]
        assert [(item.replaces, item.registration) for item in sealed.amendments] == [
            (digests[0], digests[1]),
            (digests[1], digests[2]),
        ]

    @pytest.mark.parametrize(("why", "seen"), [("", "x"), ("x", ""), (" \t\n", "x"), ("x", "\u2003")])
    def test_blank_words_are_refused(self, body, why, seen):
        with pytest.raises(BadInput, match="blank"):
            amend(open_seal(enter(body)), OTHER, why=why, seen=seen)

    def test_the_same_document_is_refused(self, body):
        with pytest.raises(Refused, match="changes nothing"):
            amend(open_seal(enter(body)), dict(reversed(DOCUMENT.items())))

    def test_going_back_is_an_amendment_too(self, body):
        first = amend(open_seal(enter(body)), OTHER)
        back = amend(open_seal(enter(body, first)), DOCUMENT)
        assert open_seal(enter(body, first, back)).registration == registration_digest(DOCUMENT)


class TestRewriting:
    def test_an_edited_document(self, body):
        with pytest.raises(SealBroken, match="edited after it was sealed"):
            open_seal(enter({**body, "document": OTHER}))

    def test_an_edited_amendment(self, body):
        first = amend(open_seal(enter(body)), OTHER)
        with pytest.raises(SealBroken, match="edited"):
            open_seal(enter(body, {**first, "document": THIRD}))

    def test_a_dropped_amendment(self, body):
        first = amend(open_seal(enter(body)), OTHER)
        second = amend(open_seal(enter(body, first)), THIRD)
        with pytest.raises(SealBroken, match="expected to replace"):
            open_seal(enter(body, second))

    def test_a_repeated_amendment(self, body):
        first = amend(open_seal(enter(body)), OTHER)
        with pytest.raises(SealBroken):
            open_seal(enter(body, first, first))

    def test_an_amendment_that_changes_nothing(self, body):
        first = amend(open_seal(enter(body)), OTHER)
        same = {**first, "document": DOCUMENT, "registration": registration_digest(DOCUMENT)}
        with pytest.raises(SealBroken):
            open_seal(enter(body, same))

    @pytest.mark.parametrize("member", ["why", "seen"])
    def test_a_reason_made_blank(self, body, member):
        first = amend(open_seal(enter(body)), OTHER)
        with pytest.raises(SealBroken, match="must say why"):
            open_seal(enter(body, {**first, member: "  "}))

    def test_anything_after_the_end(self, body):
        first = amend(open_seal(enter(body)), OTHER)
        with pytest.raises(SealBroken, match="goes on after"):
            open_seal(enter(body, {"kind": "run.closed"}, first))
        with pytest.raises(SealBroken):
            open_seal(enter(body, {"kind": "run.closed"}, {"kind": "run.closed"}))

    def test_nothing_sealed(self, body):
        with pytest.raises(SealBroken, match="no sealed registration"):
            open_seal([])
        with pytest.raises(SealBroken):
            open_seal(enter({"kind": "run.closed"}))

    def test_two_seals(self, body):
        with pytest.raises(MalformedDocument):
            open_seal(enter(body, body))

    @pytest.mark.parametrize("attribute", ["role", "keyId", "publicKey"])
    def test_shared_keys(self, body, attribute):
        first, second, *rest = body["signers"]
        with pytest.raises(SealBroken, match="share a"):
            open_seal(enter({**body, "signers": [first, {**second, attribute: first[attribute]}, *rest]}))

    def test_a_key_that_must_not_be_used(self, body):
        first, *rest = body["signers"]
        with pytest.raises(KeyRefused):
            open_seal(enter({**body, "signers": [{**first, "publicKey": encode_public(bytes(32))}, *rest]}))

    @pytest.mark.parametrize(
        "change",
        [
            {"kind": "other"},
            {"version": 2},
            {"version": True},
            {"lab": None},
            {"layout": 1},
            {"document": []},
            {"registration": None},
            {"signers": {}},
            {"signers": [None]},
            {"stranger": 1},
        ],
        ids=str,
    )
    def test_other_shapes(self, body, change):
        with pytest.raises(EvidenceInvalid):
            open_seal(enter({**body, **change}))

    @pytest.mark.parametrize("change", [{"kind": "x"}, {"why": 1}, {"replaces": None}, {"stranger": 1}], ids=str)
    def test_other_shapes_of_amendments(self, body, change):
        first = amend(open_seal(enter(body)), OTHER)
        with pytest.raises(EvidenceInvalid):
            open_seal(enter(body, {**first, **change}))

    @pytest.mark.parametrize("change", [{"sequence": "1"}, {"recordedAt": 1}, {"entryHash": 1}], ids=str)
    def test_other_shapes_of_envelopes(self, body, change):
        with pytest.raises(MalformedDocument):
            open_seal([{**enter(body)[0], **change}])


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ({}, {}, []),
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": 2}, ["a"]),
        ({"a": 1}, {}, ["a"]),
        ({"a": None}, {}, ["a"]),
        ({"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"c": 1, "d": 3}}}, ["a.b.d"]),
        ({"a": {"b": 1}}, {"a": [1]}, ["a"]),
        ({"a": [1, 2]}, {"a": [2, 1]}, ["a"]),
        ({"b": 1, "a": 1}, {"b": 2, "a": 2}, ["a", "b"]),
    ],
)
def test_differing_members(first, second, names):
    assert differing_members(first, second) == names
    assert differing_members(second, first) == names
