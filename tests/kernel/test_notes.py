"""Signed notes and tree heads: the vectors, both directions, and every rule of the form broken once."""

import copy
import json
import pickle
from base64 import b64decode, b64encode
from hashlib import sha256

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from nacl.signing import SigningKey

from assay.kernel.errors import (
    AssayError,
    BadInput,
    BadSignature,
    EvidenceInvalid,
    KeyRefused,
    MalformedDocument,
    UnknownVersion,
)
from assay.kernel.notes import (
    MAX_NOTE_BYTES,
    MAX_SIGNATURES,
    NoteSigner,
    TreeHead,
    parse_tree_head,
    tree_head,
    verify_note,
)

SEED = sha256(b"a test seed").digest()
SIGNER = NoteSigner("log.example/run-1", SEED)
OTHER = NoteSigner("witness.example/w", sha256(b"another test seed").digest())
ROOT = sha256(b"a root").digest()
TEXT = tree_head("log.example/run-1", 17, ROOT)
NOTE = SIGNER.sign(TEXT)

CONTROLS = "".join(chr(code) for code in range(32) if chr(code) != "\n")
PLAIN = st.characters(exclude_categories=["Cs"], exclude_characters=CONTROLS)
TEXTS = st.text(PLAIN, max_size=80).map(lambda text: text + "\n")
NAMES = st.text(PLAIN, min_size=1, max_size=20).filter(lambda name: "+" not in name and not set(name) & set(" \n"))
NAMES = NAMES.filter(lambda name: not any(character.isspace() for character in name))


def signature_line(note: str) -> str:
    return note.rpartition("\n\n")[2]


def line(name: str, raw: bytes) -> str:
    return f"\u2014 {name} {b64encode(raw).decode()}\n"


def vkey(name: str, kind: int, public: bytes) -> str:
    body = bytes([kind]) + public
    key_id = sha256(name.encode() + b"\n" + body).hexdigest()[:8]
    return f"{name}+{key_id}+{b64encode(body).decode()}"


class TestVectors:
    def test_every_case(self, vectors):
        cases = json.loads((vectors / "evidence/signed_note.json").read_text())["cases"]
        assert [case["expect"] for case in cases] == ["accept", "accept", "reject", "reject"]
        for case in cases:
            if case["expect"] == "accept":
                assert verify_note(case["note"], case["vkey"]) + "\n" + signature_line(case["note"]) == case["note"]
            else:
                with pytest.raises(BadSignature):
                    verify_note(case["note"], case["vkey"])

    def test_the_tree_head_of_the_merkle_vectors(self, vectors):
        cases = json.loads((vectors / "evidence/signed_note.json").read_text())["cases"]
        roots = json.loads((vectors / "evidence/merkle.json").read_text())["roots"]
        case = next(case for case in cases if case["id"] == "nursery-tree-head")
        head = parse_tree_head(verify_note(case["note"], case["vkey"]))
        root = bytes.fromhex(roots["17"].removeprefix("sha256:"))
        assert head == TreeHead(origin="nursery.example/run-vector-001/baby-a", size=17, root=root)


class TestSigning:
    def test_the_note_and_the_key_text_are_made_as_the_format_says(self):
        public = bytes(SigningKey(SEED).verify_key)
        key_id = sha256(b"log.example/run-1\n\x01" + public).digest()[:4]
        signature = SigningKey(SEED).sign(TEXT.encode()).signature
        encoded = b64encode(b"\x01" + public).decode()
        assert SIGNER.vkey == f"log.example/run-1+{key_id.hex()}+{encoded}"
        assert f"{TEXT}\n\u2014 log.example/run-1 {b64encode(key_id + signature).decode()}\n" == NOTE

    @given(text=TEXTS, name=NAMES)
    def test_what_is_signed_verifies_as_the_same_text(self, text, name):
        signer = NoteSigner(name, SEED)
        note = signer.sign(text)
        assert verify_note(note, signer.vkey) == text == verify_note(note.encode(), signer.vkey)

    @pytest.mark.parametrize("text", ["\n", "\n\n", "a\n\n", "a\n\n\u2014 b c\n", "\u2028\x7f\x85\n"])
    def test_texts_that_could_be_cut_in_the_wrong_place(self, text):
        assert verify_note(SIGNER.sign(text), SIGNER.vkey) == text

    @pytest.mark.parametrize("text", ["", "a", "a\r\n", "a\tb\n", "\x00\n", "\ud800\n"])
    def test_a_text_no_note_may_carry_is_not_signed(self, text):
        with pytest.raises(BadInput, match="a note's text"):
            SIGNER.sign(text)

    def test_a_note_that_nobody_would_read_is_not_signed(self):
        room = MAX_NOTE_BYTES - len(NOTE.encode()) + len(TEXT)
        assert len(SIGNER.sign("a" * (room - 1) + "\n").encode()) == MAX_NOTE_BYTES
        with pytest.raises(BadInput, match="shorten"):
            SIGNER.sign("a" * room + "\n")

    @pytest.mark.parametrize("name", ["", "a b", "a+b", "a\u00a0b", "a\nb", "a\x01b", "\u2003", "\udcff"])
    def test_a_name_that_cannot_stand_on_a_line_is_refused(self, name):
        with pytest.raises(BadInput, match="name"):
            NoteSigner(name, SEED)

    @pytest.mark.parametrize("seed", [b"", SEED[:31], SEED + b"\x00"])
    def test_a_seed_is_32_bytes_and_never_shown(self, seed):
        with pytest.raises(KeyRefused) as caught:
            NoteSigner("a", seed)
        assert seed.hex() not in str(caught.value) or not seed

    def test_the_seed_is_nowhere_in_the_signers_texts(self):
        for shown in (repr(SIGNER), str(SIGNER), f"{SIGNER}"):
            assert SIGNER.vkey in shown
            for secret in (SEED.hex(), b64encode(SEED).decode(), repr(SEED)[2:-1]):
                assert secret not in shown


class TestTampering:
    def test_no_flipped_bit_verifies(self):
        raw = NOTE.encode()
        for place in range(len(raw)):
            for bit in range(8):
                forged = raw[:place] + bytes([raw[place] ^ (1 << bit)]) + raw[place + 1 :]
                with pytest.raises(EvidenceInvalid):
                    verify_note(forged, SIGNER.vkey)

    def test_no_dropped_or_doubled_byte_verifies(self):
        raw = NOTE.encode()
        for place in range(len(raw)):
            for forged in (raw[:place] + raw[place + 1 :], raw[:place] + raw[place : place + 1] + raw[place:]):
                if forged != raw:
                    with pytest.raises(EvidenceInvalid):
                        verify_note(forged, SIGNER.vkey)

    def test_no_tampered_note_of_two_keys_verifies_as_the_same_text_unless_the_other_line_changed(self):
        note = (NOTE + signature_line(OTHER.sign(TEXT))).encode()
        for place in range(len(note)):
            forged = note[:place] + bytes([note[place] ^ 1]) + note[place + 1 :]
            try:
                text = verify_note(forged, SIGNER.vkey)
            except EvidenceInvalid:
                continue
            assert place >= len(NOTE.encode())
            assert text == TEXT

    @given(note=st.binary(max_size=300) | st.text(max_size=300))
    def test_nothing_but_our_errors_comes_out(self, note):
        with pytest.raises(EvidenceInvalid):
            verify_note(note, SIGNER.vkey)

    @given(text=st.text(max_size=100))
    def test_nothing_but_our_errors_comes_out_of_a_key_text(self, text):
        with pytest.raises(AssayError):
            verify_note(NOTE, text)

    @given(text=TEXTS)
    def test_a_signature_does_not_move_to_another_text(self, text):
        assume(text != TEXT)
        with pytest.raises(EvidenceInvalid):
            verify_note(text + "\n" + signature_line(NOTE), SIGNER.vkey)


class TestSignatureLines:
    def test_lines_of_unknown_keys_are_ignored(self):
        theirs = signature_line(OTHER.sign("another text\n"))
        for note in (NOTE + theirs, TEXT + "\n" + theirs + signature_line(NOTE)):
            assert verify_note(note, SIGNER.vkey) == TEXT

    def test_a_shared_name_or_a_shared_id_alone_is_another_key(self):
        ours = b64decode(signature_line(NOTE).split(" ")[2])
        same_name = line(SIGNER.name, b"\x00\x00\x00\x00" + bytes(64))
        same_id = line("someone.example", ours[:4] + bytes(64))
        assert verify_note(NOTE + same_name + same_id, SIGNER.vkey) == TEXT
        with pytest.raises(BadSignature, match="no signature of"):
            verify_note(TEXT + "\n" + same_name + same_id, SIGNER.vkey)

    @pytest.mark.parametrize("signature", [bytes(64), bytes(63), bytes(1), bytes(65)])
    def test_a_failing_line_of_the_known_key_fails_the_note(self, signature):
        ours = b64decode(signature_line(NOTE).split(" ")[2])
        for note in (
            NOTE + line(SIGNER.name, ours[:4] + signature),
            TEXT + "\n" + line(SIGNER.name, ours[:4] + signature) + signature_line(NOTE),
        ):
            with pytest.raises(BadSignature):
                verify_note(note, SIGNER.vkey)

    def test_a_line_said_twice_is_still_true(self):
        assert verify_note(NOTE + signature_line(NOTE), SIGNER.vkey) == TEXT

    def test_as_many_signatures_as_the_limit_and_no_more(self):
        theirs = signature_line(OTHER.sign(TEXT))
        assert verify_note(NOTE + theirs * (MAX_SIGNATURES - 1), SIGNER.vkey) == TEXT
        with pytest.raises(MalformedDocument, match="at most 100 signatures"):
            verify_note(NOTE + theirs * MAX_SIGNATURES, SIGNER.vkey)

    @pytest.mark.parametrize(
        "extra",
        [
            "\n",
            "text\n",
            "- a AAAAAAA=\n",
            "\u2014 a  AAAAAAA=\n",
            "\u2014  AAAAAAA=\n",
            "\u2014 a\n",
            "\u2014 a \n",
            "\u2014 a AAAA\n",
            "\u2014 a AAAAAA==\n",
            "\u2014 a AAAAAAA\n",
            "\u2014 a AAAAAAB=\n",
            "\u2014 a AAAAAA-_\n",
            "\u2014 a AAAA AAA=\n",
            "\u2014 a AAAAAAA= \n",
            "\u2014 a+b AAAAAAA=\n",
            "\u2014 a\u00a0b AAAAAAA=\n",
            "\u2014 a\tb AAAAAAA=\n",
            "\u2014 a AAAAAAA=\r\n",
            "\u2014 a\x01 AAAAAAA=\n",
            "\x00\u2014 a AAAAAAA=\n",
            "\u2014 a AAAAAAA=",
            "\u2014 a \u0410AAAAAA=\n",
        ],
    )
    def test_a_malformed_line_fails_the_note_whoever_it_is_of(self, extra):
        with pytest.raises(EvidenceInvalid):
            verify_note(NOTE + extra, SIGNER.vkey)

    def test_the_line_the_others_are_broken_from_is_accepted(self):
        assert verify_note(NOTE + "\u2014 a AAAAAAA=\n", SIGNER.vkey) == TEXT


class TestNoteForm:
    @pytest.mark.parametrize(
        ("note", "says"),
        [
            ("", "no blank line"),
            (TEXT, "no blank line"),
            (TEXT + signature_line(NOTE), "no blank line"),
            (TEXT + "\n", "end in a newline"),
            (NOTE.removesuffix("\n"), "end in a newline"),
            (NOTE.replace("17", "1\t7"), r"U\+0009"),
            (NOTE.replace("\n", "\r\n"), "no blank line"),
            (NOTE.encode() + b"\xff", "UTF-8"),
            (NOTE.replace("17", "\ud800"), "UTF-8"),
            (NOTE.encode().replace(b"17", b"\xc0\xb1"), "UTF-8"),
            (NOTE + "a" * MAX_NOTE_BYTES, "at most 1000000 bytes"),
        ],
    )
    def test_a_note_of_another_form_is_refused(self, note, says):
        with pytest.raises(MalformedDocument, match=says):
            verify_note(note, SIGNER.vkey)


class TestKeyTexts:
    def test_each_part_of_a_key_text_counts(self):
        name, key_id, key = SIGNER.vkey.split("+", 2)
        for forged in (
            "",
            name,
            f"{name}+{key_id}",
            f"+{key_id}+{key}",
            f"{name}+{key_id}+",
            f"a b+{key_id}+{key}",
            f"{name}+{key_id.upper()}+{key}" if key_id.upper() != key_id else f"{name}+{key_id}0+{key}",
            f"{name}+{key_id[:7]}+{key}",
            f"{name}+{key_id}+{key[:-1]}",
            f"{name}+{key_id}+{key}\n",
            f"{name}+00000000+{key}",
            f"x{name}+{key_id}+{key}",
            vkey(name, 1, bytes(SigningKey(SEED).verify_key)[:31]),
        ):
            with pytest.raises(MalformedDocument):
                verify_note(NOTE, forged)
        assert verify_note(NOTE, vkey(name, 1, bytes(SigningKey(SEED).verify_key))) == TEXT

    @pytest.mark.parametrize("kind", [0, 2, 4, 255])
    def test_another_signature_type_cannot_be_decided(self, kind):
        with pytest.raises(UnknownVersion, match=f"type {kind}"):
            verify_note(NOTE, vkey(SIGNER.name, kind, bytes(SigningKey(SEED).verify_key)))

    @pytest.mark.parametrize("public", [bytes(32), b"\x01" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f", b"\x02" * 32])
    def test_a_key_that_would_verify_anything_is_refused(self, public):
        with pytest.raises(KeyRefused):
            verify_note(NOTE, vkey(SIGNER.name, 1, public))


class TestTreeHeads:
    @given(
        origin=st.text(PLAIN.filter(lambda character: character != "\n"), min_size=1, max_size=40),
        size=st.integers(0, 2**64 - 1),
        root=st.binary(min_size=32, max_size=32),
    )
    def test_a_head_goes_both_ways(self, origin, size, root):
        text = tree_head(origin, size, root)
        head = parse_tree_head(text)
        assert head == TreeHead(origin=origin, size=size, root=root)
        assert tree_head(head.origin, head.size, head.root) == text

    def test_the_text(self):
        assert tree_head("o", 0, bytes(32)) == "o\n0\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"

    def test_extension_lines_are_kept_as_they_are(self):
        assert parse_tree_head(TEXT + "one\n two \n").extensions == ("one", " two ")

    @pytest.mark.parametrize(
        ("origin", "size", "root"),
        [
            ("", 1, ROOT),
            ("a\nb", 1, ROOT),
            ("a\tb", 1, ROOT),
            ("\ud800", 1, ROOT),
            ("a", -1, ROOT),
            ("a", 2**64, ROOT),
            pytest.param("a", 10**5000, ROOT, id="more digits than Python prints"),
            ("a", 1, ROOT[:31]),
            ("a", 1, ROOT + b"\x00"),
        ],
    )
    def test_a_head_that_could_not_be_read_is_not_written(self, origin, size, root):
        with pytest.raises(BadInput):
            tree_head(origin, size, root)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "\n",
            "o\n17\n",
            TEXT.removesuffix("\n"),
            TEXT + "\n",
            "\n" + TEXT,
            TEXT + "\nextension\n",
            TEXT.replace("\n", "\r\n"),
            *(
                TEXT.replace("\n17\n", f"\n{size}\n")
                for size in (
                    "017",
                    "+17",
                    "-1",
                    " 17",
                    "17 ",
                    "1_7",
                    "1e1",
                    "0x11",
                    "",
                    "00",
                    "\u0661",
                    "18446744073709551616",
                    "1" * 5000,
                )
            ),
            *(
                f"o\n17\n{root}\n"
                for root in (
                    b64encode(ROOT[:31]).decode(),
                    b64encode(ROOT + b"\x00").decode(),
                    b64encode(ROOT).decode().rstrip("="),
                    b64encode(ROOT).decode() + "=",
                    b64encode(ROOT).decode().replace("=", " ="),
                    "A" * 42 + "B=",
                    "A" * 42 + "-=",
                    ROOT.hex(),
                )
            ),
        ],
    )
    def test_a_text_of_another_form_is_refused(self, text):
        with pytest.raises(MalformedDocument, match="tree head"):
            parse_tree_head(text)

    @given(text=st.text(max_size=200))
    def test_nothing_but_our_errors_comes_out(self, text):
        with pytest.raises(MalformedDocument):
            parse_tree_head(text)


def test_a_note_signer_cannot_be_pickled_or_copied():
    signer = NoteSigner("log.example", bytes(range(32)))
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(KeyRefused):
            leave(signer)
