"""Keys: the vectors, every key and signature that must not pass, and secrets that stay in their files."""

import base64
import copy
import json
import os
import pickle
import traceback

import pytest

from assay.kernel.digests import to_raw
from assay.kernel.errors import AssayError, BadInput, BadSignature, KeyRefused, MalformedDocument
from assay.kernel.keys import (
    PublicKey,
    Signer,
    check_public_key,
    decode_public,
    decode_signature,
    encode_public,
    encode_signature,
    key_id,
    read_signer,
    verify,
    write_signer,
)

ORDER = 2**252 + 27742317777372353535851937790883648493
SEED = bytes(range(32))
# The eight points of the torsion group, and the encodings of some of them that are not canonical.
SMALL_ORDER = {
    "order 1": "0100000000000000000000000000000000000000000000000000000000000000",
    "order 2": "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "order 4": "0000000000000000000000000000000000000000000000000000000000000000",
    "order 4, negative": "0000000000000000000000000000000000000000000000000000000000000080",
    "order 8": "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "order 8, negative": "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "order 8, other": "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "order 8, other negative": "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "order 1, sign bit": "0100000000000000000000000000000000000000000000000000000000000080",
    "order 2, sign bit": "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "order 4 as p": "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "order 4 as p, sign bit": "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "order 1 as p + 1": "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "order 1 as p + 1, sign bit": "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
}


@pytest.fixture
def signer():
    return Signer(role="rows-log", domain="a-domain", seed=SEED)


@pytest.fixture
def key_file(tmp_path, signer):
    path = tmp_path / "rows-log.key"
    write_signer(signer, path)
    return path


def rewrite(path, **changes):
    """Changes members of a key file in place."""
    document = json.loads(path.read_bytes())
    path.write_text(json.dumps({**document, **changes}), encoding="utf-8")
    return document


def texts_of(error):
    """Everything an error could show: itself, its details, and the traceback as it would be printed."""
    chain = "".join(traceback.format_exception(error))
    return f"{error} {error!r} {error.args} {error.details} {chain}"


class TestVectors:
    def test_rfc_8032(self, evidence):
        for case in evidence("ed25519.json")["rfc8032"]:
            signer = Signer(role="r", domain="d", seed=bytes.fromhex(case["secret_seed_hex"]))
            message = bytes.fromhex(case["message_hex"])
            assert signer.public.raw.hex() == case["public_key_hex"]
            assert signer.sign("d", message).hex() == case["signature_hex"]
            verify(signer.public.raw, message, bytes.fromhex(case["signature_hex"]))

    def test_signers(self, evidence):
        for name, key in evidence("ed25519.json")["signers"].items():
            signer = Signer(role=name, domain="d", seed=bytes.fromhex(key["secret_seed_hex"]), name=key["key_id"])
            assert encode_public(signer.public.raw) == key["public_key"]
            assert signer.public.key_id == key["key_id"]
            assert decode_public(key["public_key"]).hex() == key["public_key_hex"]

    def test_digests(self, evidence):
        document = evidence("ed25519.json")
        for case in document["digests"]:
            seed = bytes.fromhex(document["signers"][case["signer"]]["secret_seed_hex"])
            signer = Signer(role="r", domain="d", seed=seed)
            raw = to_raw(case["digest"])
            assert encode_signature(signer.sign("d", raw)) == case["signature"]
            verify(decode_public(case["public_key"]), raw, decode_signature(case["signature"]))

    def test_a_signature_of_another_digest_is_refused(self, evidence):
        first, second, *_ = evidence("ed25519.json")["digests"]
        with pytest.raises(BadSignature):
            verify(decode_public(first["public_key"]), to_raw(second["digest"]), decode_signature(first["signature"]))


class TestPublicKeys:
    @pytest.mark.parametrize("raw", SMALL_ORDER.values(), ids=SMALL_ORDER.keys())
    def test_small_orders_are_refused(self, raw):
        with pytest.raises(KeyRefused):
            check_public_key(bytes.fromhex(raw))
        with pytest.raises(KeyRefused):
            decode_public(encode_public(bytes.fromhex(raw)))

    @pytest.mark.parametrize("raw", [b"", bytes(31), bytes(33), b"\x02" + bytes(31)], ids=["0", "31", "33", "off"])
    def test_what_is_no_point_is_refused(self, raw):
        with pytest.raises(KeyRefused):
            check_public_key(raw)

    def test_a_key_id_names_role_and_key(self, signer):
        raw = signer.public.raw
        assert signer.public.key_id == key_id("rows-log", raw)
        assert key_id("rows-log", raw) != key_id("witness", raw)
        assert signer.public.key_id.startswith("rows-log-")
        assert len(signer.public.key_id) == len("rows-log-") + 16

    def test_json_round_trip(self, signer):
        value = signer.public.to_json()
        assert PublicKey.from_json(value, "here") == signer.public
        for broken in (
            None,
            [],
            {**value, "seed": "x"},
            {**value, "role": 1},
            {k: value[k] for k in ("role", "keyId")},
        ):
            with pytest.raises(MalformedDocument, match="here"):
                PublicKey.from_json(broken, "here")
        with pytest.raises(KeyRefused):
            PublicKey.from_json({**value, "publicKey": encode_public(bytes(32))}, "here")


class TestTextForms:
    @pytest.mark.parametrize("change", ["", "no prefix", "padding", "space", "line", "url", "short", "long", "bits"])
    def test_one_spelling_only(self, signer, change):
        text = encode_signature(signer.sign("a-domain", bytes(32)))
        body = text.removeprefix("ed25519:")
        changed = {
            "": "",
            "no prefix": body,
            "padding": text.rstrip("="),
            "space": f"ed25519: {body}",
            "line": text + "\n",
            "url": "ed25519:" + base64.urlsafe_b64encode(b"\xff" * 64).decode(),
            "short": "ed25519:" + base64.b64encode(bytes(63)).decode(),
            "long": "ed25519:" + base64.b64encode(bytes(65)).decode(),
            "bits": text[:-3] + chr(ord(text[-3]) + 1) + "==",
        }[change]
        assert changed != text
        with pytest.raises(MalformedDocument):
            decode_signature(changed)
        with pytest.raises(MalformedDocument):
            decode_public(changed)

    def test_unused_bits_of_a_key_are_refused(self, signer):
        text = encode_public(signer.public.raw)
        spelled = text[:-2] + chr(ord(text[-2]) + 1) + "="
        assert base64.b64decode(spelled.partition(":")[2]) == signer.public.raw
        with pytest.raises(MalformedDocument):
            decode_public(spelled)

    def test_a_long_text_is_not_repeated_whole(self):
        with pytest.raises(MalformedDocument) as caught:
            decode_public("x" * 100_000)
        assert len(caught.value.message) < 400


class TestSignatures:
    def test_a_malleable_signature_is_refused(self, signer):
        signature = signer.sign("a-domain", bytes(32))
        verify(signer.public.raw, bytes(32), signature)
        scalar = int.from_bytes(signature[32:], "little") + ORDER
        with pytest.raises(BadSignature):
            verify(signer.public.raw, bytes(32), signature[:32] + scalar.to_bytes(32, "little"))

    def test_a_scalar_of_the_order_is_refused(self, signer):
        identity = bytes.fromhex(SMALL_ORDER["order 1"])
        with pytest.raises(BadSignature):
            verify(signer.public.raw, bytes(32), identity + ORDER.to_bytes(32, "little"))

    def test_no_flipped_bit_verifies(self, signer):
        signature = signer.sign("a-domain", bytes(32))
        for index in range(64 * 8):
            flipped = bytearray(signature)
            flipped[index // 8] ^= 1 << index % 8
            with pytest.raises(BadSignature):
                verify(signer.public.raw, bytes(32), bytes(flipped))

    def test_a_signer_signs_one_domain(self, signer):
        with pytest.raises(KeyRefused, match="a-domain only, not another"):
            signer.sign("another", bytes(32))


class TestSecrets:
    def test_nothing_shows_the_seed(self, signer):
        shown = f"{signer} {signer!r} {signer.public} {vars(type(signer))}"
        assert SEED.hex() not in shown
        assert repr(SEED)[2:-1] not in shown
        assert base64.b64encode(SEED).decode() not in shown

    @pytest.mark.parametrize("make", [pickle.dumps, copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
    def test_a_signer_is_not_copied(self, signer, make):
        with pytest.raises(KeyRefused) as caught:
            make(signer)
        assert SEED.hex() not in texts_of(caught.value)

    @pytest.mark.parametrize("change", ["short", "spelling", "space", "no text"])
    def test_a_broken_seed_is_not_repeated(self, key_file, change):
        secret = base64.b64encode(SEED).decode()
        broken = {
            "short": secret[:40] + "==",
            "spelling": secret[:-2] + chr(ord(secret[-2]) + 1) + "=",
            "space": " " + secret,
            "no text": [secret],
        }[change]
        rewrite(key_file, seed=broken)
        with pytest.raises(MalformedDocument) as caught:
            read_signer(key_file)
        assert secret[:20] not in texts_of(caught.value)

    def test_a_wrong_pair_is_not_repeated(self, key_file):
        rewrite(key_file, publicKey=encode_public(Signer.new(role="r", domain="d").public.raw))
        with pytest.raises(KeyRefused) as caught:
            read_signer(key_file)
        assert base64.b64encode(SEED).decode() not in texts_of(caught.value)


class TestKeyFiles:
    def test_round_trip(self, key_file, signer):
        again = read_signer(key_file)
        assert again.public == signer.public
        assert again.seed == signer.seed
        assert key_file.stat().st_mode & 0o777 == 0o600
        assert list(key_file.parent.iterdir()) == [key_file]

    def test_a_given_name_is_kept(self, tmp_path):
        named = Signer(role="witness", domain="d", seed=SEED, name="nursery-witness-v1")
        write_signer(named, tmp_path / "k")
        assert read_signer(tmp_path / "k").public.key_id == "nursery-witness-v1"

    def test_the_mask_of_the_process_does_not_widen_it(self, tmp_path, signer):
        before = os.umask(0)
        try:
            write_signer(signer, tmp_path / "k")
        finally:
            os.umask(before)
        assert (tmp_path / "k").stat().st_mode & 0o777 == 0o600

    def test_a_draft_that_was_left_behind_gives_nothing_away(self, tmp_path, signer):
        draft = tmp_path / f".k.{os.getpid()}"
        draft.write_bytes(b"")
        draft.chmod(0o644)
        with draft.open("rb") as left:
            write_signer(signer, tmp_path / "k")
            assert left.read() == b""
        assert (tmp_path / "k").stat().st_mode & 0o777 == 0o600

    def test_never_overwritten(self, key_file, signer):
        before = key_file.read_bytes()
        with pytest.raises(BadInput, match="never overwritten"):
            write_signer(Signer.new(role="r", domain="d"), key_file)
        assert key_file.read_bytes() == before
        assert list(key_file.parent.iterdir()) == [key_file]

    def test_never_written_through_a_link(self, tmp_path, signer):
        (tmp_path / "k").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(BadInput):
            write_signer(signer, tmp_path / "k")
        assert not (tmp_path / "elsewhere").exists()

    def test_a_folder_that_is_not_there(self, tmp_path, signer):
        with pytest.raises(BadInput, match="cannot write the key file"):
            write_signer(signer, tmp_path / "absent" / "k")

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o601])
    def test_a_file_that_others_can_use_is_refused(self, key_file, mode):
        key_file.chmod(mode)
        with pytest.raises(KeyRefused, match="chmod 600"):
            read_signer(key_file)

    def test_a_link_is_refused(self, key_file):
        link = key_file.with_name("link.key")
        link.symlink_to(key_file)
        with pytest.raises(KeyRefused, match="link"):
            read_signer(link)

    def test_a_pipe_is_refused_at_once(self, tmp_path):
        os.mkfifo(tmp_path / "pipe", 0o600)
        with pytest.raises(KeyRefused, match="not a plain file"):
            read_signer(tmp_path / "pipe")

    def test_a_folder_is_refused(self, tmp_path):
        (tmp_path / "k").mkdir(0o700)
        with pytest.raises(KeyRefused, match="not a plain file"):
            read_signer(tmp_path / "k")

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(BadInput, match="cannot read"):
            read_signer(tmp_path / "absent")

    @pytest.mark.parametrize(
        "changes",
        [{"kind": "other"}, {"version": 2}, {"version": "1"}, {"extra": 1}, {"role": None}, {"seed": ""}],
        ids=str,
    )
    def test_what_is_no_key_file(self, key_file, changes):
        rewrite(key_file, **changes)
        with pytest.raises(MalformedDocument):
            read_signer(key_file)

    @pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff", b'{"seed":1,"seed":2}'])
    def test_other_bytes(self, key_file, data):
        key_file.write_bytes(data)
        with pytest.raises(AssayError):
            read_signer(key_file)
