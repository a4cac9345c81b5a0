"""Whatever a bundle holds, verifying it ends with a report, or with an error of the documented families."""

import contextlib
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel import canonical
from assay.kernel.errors import BadInput, Indeterminate, MissingMaterial
from assay.kernel.manifest import MANIFEST
from assay.testing.labs import TOY
from assay.testing.lines import write_files
from assay.testing.tampering import open_forgery
from assay.verifier.policy import Policy, read_policy
from assay.verifier.result import Outcome
from assay.verifier.verify import Question, verify_bundle

HUGE = 2**53 - 1
TEXTS = st.one_of(
    st.sampled_from(
        ["", "rows", "registration", "author", "witness", "kind", "\x00", "\x1b[2J", "../x", "sha256:", "note-rows"]
    ),
    st.text(max_size=8),
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-2, 3), st.sampled_from([HUGE, -HUGE, 1.5, 1e300]), TEXTS)
SHAPES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)


def paths_in(value, path=()):
    """The place of everything inside a JSON value, itself included."""
    yield path
    if isinstance(value, dict | list):
        for name in value if isinstance(value, dict) else range(len(value)):
            yield from paths_in(value[name], (*path, name))


def put(value, path, new):
    """A copy of a JSON value with something else at one place; ``...`` takes it out."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    name, *rest = path
    if new is ... and not rest:
        del copy[name]
    else:
        copy[name] = put(copy[name], rest, new)
    return copy


@st.composite
def altered(draw, documents):
    """A document's path and the document with one, two or three places replaced, taken out or renamed."""
    path = draw(st.sampled_from(sorted(documents)))
    value = documents[path]
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from([*paths_in(value)]))
        new = draw(st.one_of(SHAPES, st.just(...))) if place else draw(SHAPES)
        value = put(value, place, new)
    return path, value


def ends_well(path, **asked):
    """The outcome, or ``None`` where the bundle is of a format that is not known here; nothing else may be raised."""
    try:
        result = verify_bundle(path, Question(labs={"toy": TOY}, jobs=1, **asked))
    except Indeterminate:
        return None
    assert canonical.dumps(result.to_json())
    return result.outcome


@pytest.fixture(scope="module")
def parts(make, tmp_path_factory):
    """A bundle's JSON documents by path, its other files, and a folder of its own to write variants to."""
    made = make(tmp_path_factory.mktemp("parts"), (3, 12), cadence=2, amendments=1)
    forgery = made.open()
    documents = {MANIFEST: forgery.manifest}
    documents |= {f"checkpoints/{number:06d}.json": point for number, point in forgery.checkpoints.items()}
    documents |= forgery.proofs
    return documents, made.path


@pytest.fixture(scope="module")
def writer(parts, tmp_path_factory):
    """Writes a variant of the bundle with one document replaced, and the manifest put right if asked."""
    _, path = parts
    forgery, place = open_forgery(path), tmp_path_factory.mktemp("variants") / "bundle"
    write_files({MANIFEST: b"", **forgery.contents()}, place)
    sound = {name: (path / name).read_bytes() for name in [MANIFEST, *forgery.contents()]}

    @contextlib.contextmanager
    def write(name, data):
        if name != MANIFEST:
            forgery.overrides = {name: data}
            forgery.write(place)
        else:
            (place / MANIFEST).write_bytes(data)
        yield place
        (place / name).write_bytes(sound[name])
        (place / MANIFEST).write_bytes(sound[MANIFEST])

    return write


def dump(value):
    return canonical.dumps(value) + b"\n"


@given(data=st.data())
def test_any_altered_document_ends_in_a_report(parts, writer, data):
    name, value = data.draw(altered(parts[0]))
    with writer(name, dump(value)) as bundle:
        outcome = ends_well(bundle)
    assert outcome is not Outcome.CONSISTENT or value == parts[0][name] or _is_reordered(value, parts[0][name])


def _is_reordered(value, sound):
    # The order in which a manifest lists files and signers says nothing, and nothing is bound to it.
    return all(sorted(value[part], key=dump) == sorted(sound[part], key=dump) for part in ("files", "signers"))


@given(data=st.data())
def test_any_altered_manifest_ends_in_a_report(parts, writer, data):
    layout = {MANIFEST: parts[0][MANIFEST]["layout"]}
    _, value = data.draw(altered(layout))
    with writer(MANIFEST, dump({**parts[0][MANIFEST], "layout": value})) as bundle:
        assert ends_well(bundle) is not Outcome.CONSISTENT or value == layout[MANIFEST]


@given(
    value=SHAPES, name=st.sampled_from([MANIFEST, "checkpoints/000000.json", "registration.jsonl", "logs/rows.jsonl"])
)
def test_any_json_in_place_of_a_document_ends_in_a_report(writer, value, name):
    with writer(name, dump(value)) as bundle:
        assert ends_well(bundle) is not Outcome.CONSISTENT


@given(
    data=st.one_of(st.binary(max_size=60), st.text(max_size=40).map(str.encode)),
    name=st.sampled_from(
        [MANIFEST, "notes/rows.note", "registration.jsonl", "checkpoints/000001.json", "verdict.json"]
    ),
)
def test_any_bytes_in_place_of_a_file_end_in_a_report(writer, data, name):
    with writer(name, data) as bundle:
        assert ends_well(bundle) is not Outcome.CONSISTENT


@given(data=st.data())
def test_any_altered_entry_ends_in_a_report(parts, writer, data):
    forgery = open_forgery(parts[1])
    log = data.draw(st.sampled_from([*forgery.logs]))
    number = data.draw(st.integers(0, len(forgery.logs[log]) - 1))
    _, value = data.draw(altered({log: forgery.logs[log][number]}))
    same = value == forgery.logs[log][number]
    lines = [*map(dump, forgery.logs[log])]
    lines[number] = dump(value)
    with writer(forgery.spec(log).file, b"".join(lines)) as bundle:
        assert ends_well(bundle) is not Outcome.CONSISTENT or same


@given(data=st.data())
def test_an_altered_run_of_an_operator_who_signs_anything_ends_in_a_report(parts, sound, tmp_path_factory, data):
    """Hostile entries under right signatures, so that the later steps meet them too."""
    forgery = sound.open()
    log = data.draw(st.sampled_from([*forgery.logs]))
    number = data.draw(st.integers(0, len(forgery.logs[log]) - 1))
    entry = forgery.logs[log][number]
    names = [name for name in entry if name not in {"entryHash", "writerSignature"}]
    _, value = data.draw(altered({log: {name: entry[name] for name in names}}))
    forgery.logs[log][number] = {
        **(value if isinstance(value, dict) else {"value": value}),
        "entryHash": entry["entryHash"],
        "writerSignature": entry["writerSignature"],
    }
    forgery.relink(log)
    forgery.resign(log, sound.keys[forgery.spec(log).signer])
    forgery.repair(sound.keys)
    ends_well(forgery.write(tmp_path_factory.mktemp("signed") / "bundle"))


@given(document=altered({"p": {"kind": "assay.policy", "version": 1, "keys": ["x"], "head": "y"}}))
def test_any_policy_is_read_or_refused(document):
    with contextlib.suppress(BadInput):
        assert isinstance(read_policy(dump(document[1]), "p"), Policy)


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b"[" * 200 + b"]" * 200,
        b"9" * 100_000,
        b"-" + b"9" * 5000,
        b"1e999999",
        b"1e16",
        b"0." + b"1" * 100_000,
        b'"\\ud800"',
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf{}",
        b'{"a":1,"a":1}',
        b"NaN",
        b"{}\r",
        b"",
        b"\n\n\n",
        b"\x00",
    ],
    ids=lambda data: ascii(data[:12]),
)
@pytest.mark.parametrize("name", [MANIFEST, "checkpoints/000001.json", "logs/rows.jsonl", "registration.jsonl"])
def test_json_that_readers_stumble_over_is_invalid(writer, data, name):
    with writer(name, data + b"\n") as bundle:
        assert ends_well(bundle) is Outcome.INVALID


@pytest.mark.parametrize("number", [b"1e16", b"12345678901234567890", b"1e400", b"1.0", b"-0", b"1e2"])
def test_a_number_in_another_spelling_is_invalid_in_an_entry(parts, writer, number):
    data = open_forgery(parts[1]).contents()["logs/rows.jsonl"].replace(b'"value":12', b'"value":' + number)
    with writer("logs/rows.jsonl", data) as bundle:
        result = verify_bundle(bundle, Question(labs={"toy": TOY}))
        assert "canonical" in result.failed()


@pytest.mark.parametrize("sequence", ["2", None, True, 1, -1, HUGE, 1.5, [2]])
@pytest.mark.parametrize("number", [1, 2])
def test_a_sequence_of_another_kind_in_the_registration_is_invalid(sound, tmp_path, sequence, number):
    forgery = sound.open()
    forgery.entry("registration", number)["sequence"] = sequence
    same = sequence == number and type(sequence) is int
    assert (ends_well(forgery.write(tmp_path / "bundle")) is Outcome.CONSISTENT) == same


def edit(document, *path, to):
    return put(document, path, to)


LAYOUTS = {
    "no logs": (("logs",), []),
    "a thousand logs": (
        ("logs",),
        [{"name": f"l{n}", "file": f"l{n}", "domain": f"d{n}", "signer": f"s{n}", "link": "p"} for n in range(1000)],
    ),
    "a log in the manifest": (("logs", 1, "file"), "manifest.json"),
    "a log in a checkpoint": (("logs", 1, "file"), "checkpoints/000000.json"),
    "a log in a proof": (("logs", 1, "file"), "proofs/inclusion/x.json"),
    "two logs in one file": (("logs", 1, "file"), "logs/decisions.jsonl"),
    "a log outside": (("logs", 1, "file"), "../rows.jsonl"),
    "a log in the verdict": (("logs", 1, "file"), "verdict.json"),
    "an empty domain": (("logs", 1, "domain"), ""),
    "a domain with a zero byte": (("checkpoint", "domain"), "a\x00b"),
    "a log's domain for checkpoints": (("checkpoint", "domain"), "assay-toy-rows-entry-v1"),
    "a log's key as witness": (("checkpoint", "signer"), "rows-log"),
    "a note's key as witness": (("checkpoint", "signer"), "note-rows"),
    "a head nowhere": (("checkpoint", "heads"), {"rows": []}),
    "a head as the hash": (("checkpoint", "heads"), {"rows": ["checkpointHash"]}),
    "two heads at one place": (("checkpoint", "heads"), {"rows": ["a"], "decisions": ["a"]}),
    "a very deep head": (("checkpoint", "heads"), {"rows": ["a"] * 10_000}),
    "a head of no log": (("checkpoint", "heads"), {"others": ["a"]}),
    "the registration as the number": (("checkpoint", "registration"), "checkpointSequence"),
    "the registration as the trees": (("checkpoint", "registration"), "trees"),
    "the hash as an extra": (("checkpoint", "extra"), ["previousCheckpointHash"]),
    "an extra twice": (("checkpoint", "extra"), ["a", "a"]),
    "a closing of no log": (("closings",), {"others": {"member": "kind", "value": "x"}}),
    "a closing that all lines hold": (("closings", "rows"), {"member": "", "value": ""}),
    "a closing in quotes": (("closings", "rows"), {"member": 'kind":"', "value": '"}\n'}),
    "attachments nowhere": (("attachments",), "others"),
    "a link that is the sequence": (("logs", 1, "link"), "sequence"),
    "a link that is the kind": (("logs", 1, "link"), "kind"),
    "a registration file in the manifest": (("registration",), {"file": "manifest.json", "domain": "d"}),
    "a registration file in a log": (("registration",), {"file": "logs/rows.jsonl", "domain": "d"}),
    "a registration file elsewhere": (("registration",), {"file": "verdict.json", "domain": "d"}),
    "a tree of hostile domains": (("tree",), {"scheme": "domain-separated", "leafDomain": "\x00", "nodeDomain": ""}),
    "a tree of other domains": (("tree",), {"scheme": "domain-separated", "leafDomain": "a", "nodeDomain": "b"}),
}


@pytest.mark.parametrize("what", LAYOUTS)
@pytest.mark.parametrize("fixed", [True, False], ids=["listed anew", "listed as before"])
def test_a_hostile_layout_is_invalid(sound, tmp_path, what, fixed):
    forgery = sound.open()
    path, value = LAYOUTS[what]
    forgery.manifest["layout"] = edit(forgery.manifest["layout"], *path, to=value)
    assert ends_well(forgery.write(tmp_path / "bundle", fix_manifest=fixed)) is Outcome.INVALID


@pytest.mark.parametrize("size", [0, 1, -1, HUGE, 2**31, True, "9", None])
@pytest.mark.parametrize("which", [0, -1])
def test_a_hostile_tree_size_under_the_witness_key_is_invalid(sound, tmp_path, size, which):
    forgery = sound.open()
    number = sorted(forgery.checkpoints)[which]
    forgery.head(number, "rows")["treeSize"] = size
    forgery.seal_checkpoints(sound.keys["witness"])
    same = size == 1 and type(size) is int and which == 0
    assert (ends_well(forgery.write(tmp_path / "bundle")) is Outcome.CONSISTENT) == same


def test_sizes_of_the_largest_integer_with_the_proofs_they_call_for_are_invalid(sound, tmp_path):
    forgery = sound.open()
    for number in forgery.checkpoints:
        for log in forgery.logs:
            forgery.head(number, log)["treeSize"] = HUGE - 10 + number
    forgery.seal_checkpoints(sound.keys["witness"])
    forgery.renote(sound.keys)
    path = ["sha256:" + "0" * 64] * 53
    for number in range(1, len(forgery.checkpoints)):
        proof = {"log": "rows", "fromCheckpoint": number - 1, "toCheckpoint": number, "path": path}
        forgery.proofs[f"proofs/consistency/rows-{number - 1}-{number}.json"] = proof
    assert ends_well(forgery.write(tmp_path / "bundle")) is Outcome.INVALID


@pytest.mark.parametrize("kind", ["inclusion", "consistency"])
@pytest.mark.parametrize(
    "path", [["sha256:" + "0" * 64] * 200_000, ["x"], [7], "sha256:", {}, [[]]], ids=lambda p: str(p)[:20]
)
def test_a_hostile_proof_is_invalid_in_its_own_step(sound, tmp_path, kind, path):
    forgery = sound.open()
    name = next(name for name in forgery.proofs if f"{kind}/rows" in name)
    forgery.proofs[name]["path"] = path
    result = verify_bundle(forgery.write(tmp_path / "bundle"), Question(labs={"toy": TOY}))
    assert result.failed() == [f"{kind}-proofs"]
    assert len(str(result.to_json())) < 20_000


@pytest.mark.parametrize(
    "note",
    ["", "\n\n", "a\n1\nx\n\n— a b\n", "x" * 2_000_000, "\n" * 100_000, "a\x00b\n\n— a AAAA\n", "— \n\n— \n"],
    ids=lambda note: ascii(note[:10]),
)
def test_a_hostile_note_is_invalid_in_its_own_step(sound, tmp_path, note):
    forgery = sound.open()
    forgery.notes["notes/rows.note"] = note
    result = verify_bundle(forgery.write(tmp_path / "bundle"), Question(labs={"toy": TOY}))
    assert result.failed() == ["notes"]


def test_a_second_signature_on_a_note_is_not_taken(sound, tmp_path):
    forgery = sound.open()
    forgery.notes["notes/rows.note"] += forgery.notes["notes/rows.note"].splitlines(keepends=True)[-1]
    result = verify_bundle(forgery.write(tmp_path / "bundle"), Question(labs={"toy": TOY}))
    assert result.failed() == ["notes"]


@pytest.mark.parametrize("lab", ["", "a b", "a+b", "a\nb", "\x1b[2J", "é" * 1000, "../../etc", "x" * 100_000])
def test_a_hostile_lab_name_is_invalid(sound, tmp_path, lab):
    forgery = sound.open()
    forgery.manifest["lab"] = lab
    assert ends_well(forgery.write(tmp_path / "bundle")) is Outcome.INVALID


def test_an_entry_of_megabytes_does_not_make_a_report_of_megabytes(sound, tmp_path):
    forgery = sound.open()
    for name in ("sequence", "previousEntryHash", "entryHash", "writerKeyId", "recordedAt"):
        forgery.entry("rows", 4)[name] = "\x1b" * 200_000
    result = verify_bundle(forgery.write(tmp_path / "bundle"), Question(labs={"toy": TOY}))
    assert {"sequences", "links", "entry-hashes", "writer-signatures"} <= set(result.failed())
    assert len(str(result.to_json())) < 100_000


def test_a_folder_of_names_without_end_is_a_report(sound, tmp_path):
    forgery = sound.open()
    bundle = forgery.write(tmp_path / "bundle")
    (bundle / "many").mkdir()
    for number in range(20_000):
        os.close(os.open(bundle / "many" / f"{number}", os.O_CREAT | os.O_WRONLY))
    result = verify_bundle(bundle, Question(labs={"toy": TOY}))
    assert result.failed() == ["files"]
    assert result.step("files").more == 20_000 - len(result.step("files").failures)


def test_a_manifest_of_names_without_end_is_a_report(sound, tmp_path):
    forgery = sound.open()
    forgery.write(tmp_path / "bundle")
    forgery.manifest["files"] += [{"path": f"many/{n}", "size": 0, "sha256": ""} for n in range(100_000)]
    result = verify_bundle(forgery.write(tmp_path / "more", fix_manifest=False), Question(labs={"toy": TOY}))
    assert result.failed() == ["files", "attachments"]


@pytest.mark.parametrize(
    "name",
    [b"\xff", b"a\nb", b"\x1b[2J", b".hidden", b"a b", "é".encode(), b"..a", b"CON ", b"x" * 200, b"a" * 101],
    ids=ascii,
)
@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_a_hostile_name_in_a_folder_is_invalid_and_shown_escaped(sound, tmp_path, name, kind):
    bundle = sound.open().write(tmp_path / "bundle")
    place = os.path.join(os.fsencode(bundle), name)  # noqa: PTH118 - a name that is no text
    if kind == "file":
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY))
    elif kind == "folder":
        os.mkdir(place)  # noqa: PTH102 - as above
    else:
        os.symlink(b"manifest.json", place)  # noqa: PTH211 - as above
    result = verify_bundle(bundle, Question(labs={"toy": TOY}))
    assert result.failed() == ["container"]
    assert canonical.dumps(result.to_json())
    assert result.step("container").failures[0].message.isprintable()


def test_links_pipes_and_folders_too_deep_are_invalid(sound, tmp_path):
    for number, damage in enumerate(
        (
            lambda bundle: (
                (bundle / "verdict.json").unlink() or (bundle / "verdict.json").symlink_to("registration.jsonl")
            ),
            lambda bundle: (bundle / "verdict.json").unlink() or os.mkfifo(bundle / "verdict.json"),
            lambda bundle: (bundle / "logs").rename(bundle / "l").with_name("logs").symlink_to("l"),
            lambda bundle: (bundle / "/".join("abcdefghijk")).mkdir(parents=True),
        )
    ):
        bundle = sound.open().write(tmp_path / f"bundle-{number}")
        damage(bundle)
        assert verify_bundle(bundle, Question(labs={"toy": TOY})).failed() == ["container"]


def test_what_is_no_bundle_at_all_is_said_so(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.zip").write_text("no zip")
    (tmp_path / "nothing.zip").touch()
    assert ends_well(tmp_path / "empty") is Outcome.INVALID
    assert ends_well(tmp_path / "text.zip") is Outcome.INVALID
    assert ends_well(tmp_path / "nothing.zip") is Outcome.INVALID
    for absent in ("absent", "absent.zip"):
        with pytest.raises(BadInput, match="no bundle at"):
            verify_bundle(tmp_path / absent)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="neither a folder nor a file"):
        verify_bundle(tmp_path / "pipe")
    with pytest.raises(MissingMaterial):
        verify_bundle(tmp_path / "text.zip" / "inside")


@given(data=st.binary(max_size=300))
def test_any_bytes_as_a_zip_end_in_a_report(tmp_path_factory, data):
    place = tmp_path_factory.getbasetemp() / "any.zip"
    place.write_bytes(data)
    assert ends_well(place) is Outcome.INVALID


@given(data=st.data())
def test_a_zip_with_any_bytes_changed_is_invalid(small, tmp_path_factory, data):
    sound = small.with_suffix(".zip").read_bytes()
    changed = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(-300, len(sound) - 1))] = data.draw(st.sampled_from([0, 1, 0x50, 0x7F, 0xFF]))
    cut = changed[: data.draw(st.sampled_from([len(changed), len(changed) - 1, len(changed) // 2]))]
    place = tmp_path_factory.getbasetemp() / "changed.zip"
    place.write_bytes(cut)
    assert (ends_well(place, integrity_only=True) is Outcome.CONSISTENT) == (bytes(cut) == sound)
