"""Sound is not believed: what a policy adds, what a stranger's re-signed copy comes to, and what a cut bundle is."""

import json

import pytest

from assay.kernel.errors import BadInput
from assay.kernel.keys import Signer
from assay.verifier.policy import Policy, read_policy
from assay.verifier.result import Outcome

HEAD = "sha256:" + "0" * 64


@pytest.fixture
def resigned(sound, strangers, tmp_path):
    """The same run under a stranger's keys: a new seal, new signatures, nothing else changed."""
    forgery = sound.open()
    forgery.reseal(strangers)
    return forgery.write(tmp_path / "resigned")


def policy(*keys, **asked):
    return Policy(authors=frozenset(keys), **asked)


def test_a_resigned_copy_is_sound_in_itself_and_no_more(resigned, verify):
    result = verify(resigned)
    assert result.outcome is Outcome.CONSISTENT
    assert result.step("verdict").status == "passed"
    assert result.step("trust").status == "unchecked"
    assert {key.believed for key in result.keys} == {None}


@pytest.mark.parametrize("named", [["author"], ["author", "rows-log", "decisions-log", "witness"], ["witness"]])
def test_a_resigned_copy_is_not_believed_for_any_of_the_old_keys(sound, resigned, verify, named):
    result = verify(resigned, policy=policy(*map(sound.public, named)))
    assert (result.outcome, result.failed()) == (Outcome.UNTRUSTED, ["trust"])
    assert {key.believed for key in result.keys} == {False}


def test_the_authors_key_vouches_for_all_the_others(sound, verify):
    result = verify(sound.path, policy=policy(sound.public("author")))
    assert result.outcome is Outcome.AUTHENTIC
    assert {key.believed for key in result.keys} == {True}


def test_every_other_key_does_not_make_up_for_the_authors(sound, verify):
    named = [sound.public(role) for role in sound.keys if role != "author"]
    result = verify(sound.path, policy=Policy(keys=frozenset(named)))
    assert result.outcome is Outcome.UNTRUSTED
    assert [key.role for key in result.keys if not key.believed] == ["author"]
    assert sound.public("author") in result.step("trust").failures[0].message


def test_a_key_that_is_not_an_authors_vouches_for_nobody(sound, strangers, verify, tmp_path):
    """A stolen log key, named by the policy for its log, takes the author's place in a forged run."""
    named = frozenset(sound.public(role) for role in sound.keys)
    assert verify(sound.path, policy=Policy(keys=named)).outcome is Outcome.AUTHENTIC
    stolen = Signer(role="author", domain=sound.keys["author"].public.domain, seed=sound.keys["rows-log"].seed)
    forgery = sound.open()
    forgery.reseal({**strangers, "author": stolen})
    result = verify(forgery.write(tmp_path / "forged"), policy=Policy(keys=named))
    assert result.failed() == ["trust"]
    assert {key.role for key in result.keys if key.believed} == {"author"}


def test_a_strangers_key_beside_the_authors_does_no_harm(sound, strangers, verify):
    stranger = strangers["author"].public.to_json()["publicKey"]
    assert verify(sound.path, policy=policy(sound.public("author"), stranger)).outcome is Outcome.AUTHENTIC


def test_the_authors_signature_is_needed_not_the_authors_name(sound, strangers, verify, tmp_path):
    """A stranger who lists the believed author's key and signs with his own does not get past the signatures."""
    forgery = sound.open()
    forgery.reseal({**strangers, "author": sound.keys["author"]})
    author = strangers["author"]
    forgery.resign("registration", Signer(role="author", domain=author.public.domain, seed=author.seed))
    result = verify(forgery.write(tmp_path / "forged"), policy=policy(sound.public("author")))
    assert result.outcome is Outcome.INVALID
    assert result.failed() == ["writer-signatures"]


def test_every_key_that_signed_is_named(sound, verify):
    result = verify(sound.path)
    assert {key.role: key.public for key in result.keys} == {role: sound.public(role) for role in sound.keys}
    assert [key["keyId"] for key in result.to_json()["keys"]] == [key.key_id for key in result.keys]


def test_another_registration_than_the_believed_one_is_untrusted(sound, verify):
    believed = verify(sound.path).facts["registration"]
    author = sound.public("author")
    assert verify(sound.path, policy=policy(author, registration=believed)).outcome is Outcome.AUTHENTIC
    result = verify(sound.path, policy=policy(author, registration=HEAD))
    assert result.outcome is Outcome.UNTRUSTED
    assert [failure.where for failure in result.step("trust").failures] == ["registration"]
    assert believed in result.step("trust").failures[0].message


def test_the_registration_before_an_amendment_is_another_one(sound, verify):
    first = sound.open().entry("registration", 1)["registration"]
    assert verify(sound.path, policy=policy(sound.public("author"), registration=first)).outcome is Outcome.UNTRUSTED


def test_the_expected_head_is_the_last_checkpoints_hash(sound, verify):
    head = sound.open().checkpoints[max(sound.open().checkpoints)]["checkpointHash"]
    assert verify(sound.path).facts["head"] == head
    assert verify(sound.path, expect_head=head).outcome is Outcome.CONSISTENT
    assert verify(sound.path, expect_head=head, policy=policy(sound.public("author"))).outcome is Outcome.AUTHENTIC
    for asked in ({"expect_head": HEAD}, {"policy": policy(sound.public("author"), head=HEAD)}):
        result = verify(sound.path, **asked)
        assert result.outcome is Outcome.UNTRUSTED
        assert head in result.step("trust").failures[0].message


def test_distrust_does_not_hide_that_a_bundle_is_invalid(sound, strangers, verify, tmp_path):
    forgery = sound.open()
    forgery.entry("rows", 3)["value"] = 1
    stranger = strangers["author"].public.to_json()["publicKey"]
    result = verify(forgery.write(tmp_path / "forged"), policy=policy(stranger))
    assert result.outcome is Outcome.INVALID
    assert {"entry-hashes", "trust"} <= set(result.failed())


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_bundle_cut_to_an_earlier_checkpoint_is_incomplete_with_the_note_keys(sound, verify, tmp_path, number):
    forgery = sound.open()
    forgery.cut(number)
    forgery.renote(sound.keys)
    result = verify(forgery.write(tmp_path / "cut"), policy=policy(sound.public("author")))
    assert (result.outcome, result.failed()) == (Outcome.INCOMPLETE, [])
    assert result.step("completeness").note == "not closed: registration, rows, decisions"
    assert result.step("verdict").status == "skipped"


def test_a_bundle_cut_by_somebody_without_keys_lacks_its_notes(sound, verify, tmp_path):
    forgery = sound.open()
    forgery.cut(1)
    assert verify(forgery.write(tmp_path / "cut")).failed() == ["notes"]


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("closings", {}),
        ("closings", {"rows": {"member": "kind", "value": "row.read"}}),
        ("attachments", None),
        ("recovery", None),
    ],
)
def test_what_ends_a_run_cannot_be_declared_away(sound, verify, tmp_path, member, value):
    """The layout is sealed: neither a cut bundle nor one without its verdict can call itself whole."""
    forgery = sound.open()
    forgery.cut(1)
    forgery.renote(sound.keys)
    forgery.manifest["layout"][member] = value
    result = verify(forgery.write(tmp_path / "forged"), integrity_only=True, labs={})
    assert result.outcome is Outcome.INVALID
    assert "its layout is not the one" in result.step("registration").failures[0].message


GOOD = {"kind": "assay.policy", "version": 1, "authors": ["ed25519-pub:WAF3+YwqZur2QSLpVITst5oPcOGBmhssTatbQewntxI="]}


def test_a_policy_file_is_read_back_as_it_was_written():
    read = read_policy(json.dumps({**GOOD, "registration": HEAD, "head": HEAD}).encode(), "p.json")
    assert read == Policy(authors=frozenset(GOOD["authors"]), registration=HEAD, head=HEAD)
    assert read_policy(json.dumps(read.to_json()).encode(), "p.json") == read
    assert read_policy(json.dumps(GOOD).encode(), "p.json") == Policy(authors=frozenset(GOOD["authors"]))


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({**GOOD, "authors": []}, "believes no key"),
        ({**GOOD, "kind": "assay.bundle"}, "expected kind assay.policy version 1, got 'assay.bundle'"),
        ({**GOOD, "version": 2}, "expected kind assay.policy version 1, got 'assay.policy' version 2"),
        ({**GOOD, "version": True}, "p.json.version: expected an integer, got true or false"),
        ({**GOOD, "key": []}, "unknown key"),
        ({"kind": "assay.policy", "version": 1}, "believes no key"),
        ({**GOOD, "authors": [7]}, "expected a list of texts, got an integer"),
        ({**GOOD, "authors": ["ed25519:AAAA"]}, "expected a public key"),
        ({**GOOD, "authors": ["ed25519-pub:" + "A" * 43 + "="]}, "not a usable Ed25519 public key"),
        ({**GOOD, "head": "sha256:ABC"}, "64 lower-case hex digits"),
        ({**GOOD, "registration": 1}, "p.json.registration: expected text, got an integer"),
        ([GOOD], "expected an object, got a list"),
    ],
    ids=str,
)
def test_a_policy_that_cannot_be_used_says_why(document, says):
    with pytest.raises(BadInput, match=r"p\.json") as caught:
        read_policy(json.dumps(document).encode(), "p.json")
    assert says in caught.value.message


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "expected a JSON document, got nothing"),
        (b"\xff", "expected UTF-8"),
        (b"{", "not JSON"),
        (b'{"a":1,"a":2}', "more than once"),
        (b"[" * 100_000, "nested deeper"),
        (b"{} {}", "more text"),
    ],
)
def test_a_policy_that_is_no_strict_json_says_why(data, says):
    with pytest.raises(BadInput, match=r"p\.json is not a trust policy") as caught:
        read_policy(data, "p.json")
    assert says in caught.value.message
