"""Manifests: the round trip, and everything that is none."""

import json

import pytest

from assay.kernel import canonical
from assay.kernel.errors import AssayError, KeyRefused, MalformedDocument, UnknownVersion
from assay.kernel.keys import Signer, encode_public
from assay.kernel.manifest import MANIFEST, FileEntry, Manifest, read_manifest
from assay.kernel.roles import roles_of


@pytest.fixture
def manifest(toy_layout):
    signers = tuple(
        Signer(role=role, domain=domain, seed=bytes([number]) * 32).public
        for number, (role, domain) in enumerate(roles_of(toy_layout).items())
    )
    files = {"registration.jsonl": FileEntry(3, "ab" * 32), "a/b": FileEntry(0, "cd" * 32)}
    return Manifest(lab="toy", layout=toy_layout, signers=signers, files=files)


@pytest.fixture
def change(manifest):
    """The manifest's bytes with changed members."""

    def make(**changes):
        return canonical.dumps({**json.loads(manifest.dumps()), **changes}) + b"\n"

    return make


def test_round_trip(manifest):
    again = read_manifest(manifest.dumps())
    assert again == manifest
    assert list(again.files) == list(manifest.files)
    assert again.dumps() == manifest.dumps()


def test_keys_by_role(manifest):
    assert manifest.key("witness").role == "witness"
    with pytest.raises(MalformedDocument, match="no key for the role stranger"):
        manifest.key("stranger")


def test_another_version_is_not_called_malformed(change):
    for version in (0, 2, "1", None):
        with pytest.raises(UnknownVersion):
            read_manifest(change(version=version))


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "other"},
        {"kind": None},
        {"lab": 1},
        {"stranger": 1},
        {"signers": {}},
        {"signers": [None]},
        {"files": {}},
        {"files": [None]},
        {"files": [{"path": "a", "size": 1}]},
        {"files": [{"path": "a", "size": "1", "sha256": "x"}]},
        {"files": [{"path": "../a", "size": 1, "sha256": "x"}]},
        {"files": [{"path": "/a", "size": 1, "sha256": "x"}]},
        {"files": [{"path": "a\\b", "size": 1, "sha256": "x"}]},
        {"files": [{"path": MANIFEST, "size": 1, "sha256": "x"}]},
        {"files": [{"path": "a", "size": 1, "sha256": "x"}, {"path": "a", "size": 1, "sha256": "x"}]},
        {"layout": None},
    ],
    ids=str,
)
def test_what_is_no_manifest(change, changes):
    with pytest.raises(MalformedDocument):
        read_manifest(change(**changes))


@pytest.mark.parametrize("member", ["kind", "version", "lab", "layout", "signers", "files"])
def test_a_missing_member(manifest, member):
    value = json.loads(manifest.dumps())
    del value[member]
    with pytest.raises(AssayError):
        read_manifest(canonical.dumps(value) + b"\n")


@pytest.mark.parametrize("attribute", ["role", "keyId", "publicKey"])
def test_two_signers_never_share_a_name_or_a_key(manifest, change, attribute):
    signers = json.loads(manifest.dumps())["signers"]
    signers[1][attribute] = signers[0][attribute]
    with pytest.raises(MalformedDocument, match="share a"):
        read_manifest(change(signers=signers))


def test_a_key_that_must_not_be_used(manifest, change):
    signers = json.loads(manifest.dumps())["signers"]
    signers[0]["publicKey"] = encode_public(bytes(32))
    with pytest.raises(KeyRefused):
        read_manifest(change(signers=signers))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:-1],
        lambda data: data + b"\n",
        lambda data: b"\n" + data,
        lambda data: data[:-1] + b"\r\n",
        lambda data: json.dumps(json.loads(data), indent=1).encode() + b"\n",
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: b"",
        lambda data: b"\n",
        lambda data: b"null\n",
        lambda data: b"[]\n",
    ],
)
def test_other_bytes(manifest, spoil):
    with pytest.raises(MalformedDocument):
        read_manifest(spoil(manifest.dumps()))
