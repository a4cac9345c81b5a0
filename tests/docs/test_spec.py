"""The page on the bundle format against the code, and against a second verifier that is written from the page alone.

From ``examine`` up to the first test nothing of Assay is used: only what docs/spec/bundle.md says.
"""

import ast
import base64
import hashlib
import json
import re
import shutil
import struct
import zlib
from pathlib import Path

import pytest
from nacl import bindings
from nacl.exceptions import BadSignatureError

from assay.app.cli.main import main
from assay.kernel.bundle import export_bundle
from assay.kernel.canonical import MAX_DEPTH, MAX_SAFE_INTEGER
from assay.kernel.keys import encode_public
from assay.kernel.layout import default_layout
from assay.kernel.logs import MAX_LINE_BYTES
from assay.kernel.notes import MAX_NOTE_BYTES, MAX_SIGNATURES
from assay.kernel.roles import NOTE_DOMAIN
from assay.kernel.run import Plan, open_run
from assay.kernel.seal import layout_digest
from assay.kernel.writer import Cadence
from assay.verifier.policy import Policy
from assay.verifier.result import LIMITS, SHOWN, STEPS, Outcome
from assay.verifier.verify import Question, verify_bundle

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs" / "spec" / "bundle.md").read_text(encoding="utf-8")
SECTIONS = {int(text.split(".")[0]): text for text in re.split(r"^## (?=\d+\. )", PAGE, flags=re.MULTILINE)[1:]}
LAYOUT = default_layout("example", ("rows", "decisions"))
ZEROS = "sha256:" + "0" * 64
NOTES = "c2sp-signed-note"


def read_blocks(section):
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", SECTIONS[section], re.DOTALL)]


def read_names(section):
    """Every name in backquotes in the first column of the section's tables."""
    rows = re.findall(r"^\| (`.*?) \|", SECTIONS[section], re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def write(value):
    """Canonical bytes, section 2, for values whose numbers Python happens to write as RFC 8785 does."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def text_digest(domain, value):
    return "sha256:" + hashlib.sha256(domain.encode() + b"\0" + write(value)).hexdigest()


def raw(text):
    assert re.fullmatch("sha256:[0-9a-f]{64}", text)
    return bytes.fromhex(text[7:])


def read_base64(text, prefix, size):
    assert text.startswith(prefix)
    data = base64.b64decode(text.removeprefix(prefix))
    assert len(data) == size
    assert prefix + base64.b64encode(data).decode() == text
    return data


def is_signed(public, message, signature):
    key = read_base64(public, "ed25519-pub:", 32)
    assert bindings.crypto_core_ed25519_is_valid_point(key)
    try:
        bindings.crypto_sign_open(read_base64(signature, "ed25519:", 64) + message, key)
    except (BadSignatureError, AssertionError):
        return False
    return True


def without(value, *names):
    return {name: member for name, member in value.items() if name not in names}


def node(left, right):
    return hashlib.sha256(b"\x01" + left + right).digest()


def leaf(text):
    return hashlib.sha256(b"\0" + raw(text)).digest()


def split(size):
    k = 1
    while 2 * k < size:
        k *= 2
    return k


def root_of(leaves):
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = split(len(leaves))
    return node(root_of(leaves[:k]), root_of(leaves[k:]))


def climb(start, index, size, path):
    """The root that an inclusion path leads to."""
    if size == 1:
        assert not path
        return start
    k = split(size)
    if index < k:
        return node(climb(start, index, k, path[:-1]), path[-1])
    return node(path[-1], climb(start, index - k, size - k, path[:-1]))


def climb_both(first, second, path, known):
    """The old and the new root that a consistency path leads to; ``known`` is the old root while it is still whole."""
    if first == second:
        if known is None:
            (known,) = path
        else:
            assert not path
        return known, known
    k = split(second)
    if first <= k:
        old, new = climb_both(first, k, path[:-1], known)
        return old, node(new, path[-1])
    old, new = climb_both(first - k, second - k, path[:-1], None)
    return node(path[-1], old), node(path[-1], new)


class Second:
    """A second verifier, for bundles in folder form, in the default layout, with a manifest that can be read."""

    def __init__(self, folder):
        self.files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")}
        self.manifest = json.loads(self.files["manifest.json"])
        self.layout = self.manifest["layout"]
        self.keys = {key["role"]: key for key in self.manifest["signers"]}
        self.listed = {item["path"]: item for item in self.manifest["files"]}
        self.entries, self.points, self.wrong, self.open = {}, [], set(), False

    def expect(self, step, holds):
        if not holds:
            self.wrong.add(step)

    def examine(self):
        self.check_files()
        for log in self.layout["logs"]:
            self.check_log(log)
        self.check_checkpoints()
        self.check_inclusion()
        self.check_consistency()
        self.check_notes()
        self.expect("anchors", not self.under("anchors/"))
        try:
            self.check_registration()
        except (AssertionError, KeyError):
            self.wrong.add("registration")
        self.check_completeness()
        self.check_attachments()
        return self

    @property
    def outcome(self):
        return "invalid" if self.wrong else "incomplete" if self.open else "consistent"

    def under(self, folder):
        return {path for path in self.listed if path.startswith(folder)}

    def check_files(self):
        self.expect("files", set(self.listed) | {"manifest.json"} == set(self.files))
        for path, data in self.files.items():
            item = self.listed.get(path, {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()})
            self.expect("files", (item["size"], item["sha256"]) == (len(data), hashlib.sha256(data).hexdigest()))

    def check_log(self, log):
        *lines, rest = self.files[log["file"]].split(b"\n")
        self.expect("canonical", rest == b"")
        key, before, self.entries[log["name"]] = self.keys[log["signer"]], (0, ZEROS), []
        for line in lines:
            entry = json.loads(line)
            self.expect("canonical", write(entry) == line and isinstance(entry["recordedAt"], str))
            self.expect("sequences", entry["sequence"] == before[0] + 1)
            self.expect("links", entry[log["link"]] == before[1])
            signed = without(entry, "entryHash", "writerSignature")
            self.expect("entry-hashes", entry["entryHash"] == text_digest(log["domain"], signed))
            fits = is_signed(key["publicKey"], raw(entry["entryHash"]), entry["writerSignature"])
            self.expect("writer-signatures", fits and entry["writerKeyId"] == key["keyId"])
            before = entry["sequence"], entry["entryHash"]
            self.entries[log["name"]].append(entry)

    def check_checkpoints(self):
        names, previous = {log["name"] for log in self.layout["logs"]}, ZEROS
        key = self.keys[self.layout["checkpoint"]["signer"]]
        self.expect("checkpoint-hashes", self.under("checkpoints/"))
        for number, path in enumerate(sorted(self.under("checkpoints/"))):
            point = json.loads(self.files[path])
            sealed = without(point, "checkpointHash", "witnessSignature")
            self.expect("checkpoint-hashes", path == f"checkpoints/{number:06d}.json")
            self.expect("checkpoint-hashes", write(point) + b"\n" == self.files[path] and set(point["trees"]) == names)
            self.expect("checkpoint-hashes", (point["version"], point["checkpointSequence"]) == (1, number))
            self.expect("checkpoint-hashes", point["previousCheckpointHash"] == previous)
            self.expect(
                "checkpoint-hashes",
                point["checkpointHash"] == text_digest(self.layout["checkpoint"]["domain"], sealed),
            )
            fits = is_signed(key["publicKey"], raw(point["checkpointHash"]), point["witnessSignature"])
            self.expect("witness-signatures", fits and point["witnessKeyId"] == key["keyId"])
            for name in names:
                self.check_head(self.entries[name], point["trees"][name])
            self.points.append(point)
            previous = point["checkpointHash"]

    def check_head(self, entries, head):
        covered = entries[: head["treeSize"]]
        root = root_of([leaf(entry["entryHash"]) for entry in covered])
        last = covered[-1]["entryHash"] if covered else ZEROS
        self.expect("merkle-roots", len(covered) == head["treeSize"])
        self.expect("merkle-roots", (raw(head["merkleRoot"]), head["lastEntryHash"]) == (root, last))

    def head(self, number, name):
        head = self.points[number]["trees"][name]
        return head["treeSize"], raw(head["merkleRoot"])

    def read_proof(self, step, path, expected):
        """The hashes of a proof that states what its name says, or None."""
        document = json.loads(self.files.get(path, b"{}"))
        fits = without(document, "path") == expected and write(document) + b"\n" == self.files[path]
        self.expect(step, fits)
        return [raw(text) for text in document["path"]] if fits else None

    def check_inclusion(self):
        called, last = set(), len(self.points) - 1
        for name, entries in self.entries.items() if self.points else ():
            size, root = self.head(last, name)
            for sequence in {1, size} if size else ():
                path = f"proofs/inclusion/{name}-{sequence}-at-{last}.json"
                called.add(path)
                expected = {"log": name, "sequence": sequence, "checkpoint": last}
                steps = self.read_proof("inclusion-proofs", path, expected)
                try:
                    reached = climb(leaf(entries[sequence - 1]["entryHash"]), sequence - 1, size, steps or [])
                except (AssertionError, IndexError):
                    reached = None
                self.expect("inclusion-proofs", reached == root)
        self.expect("inclusion-proofs", self.under("proofs/inclusion/") == called)

    def check_consistency(self):
        called = set()
        for name in self.entries:
            for k in range(len(self.points) - 1):
                (older, old), (newer, new) = self.head(k, name), self.head(k + 1, name)
                self.expect("consistency-proofs", older < newer or (older, old) == (newer, new))
                if 0 < older < newer:
                    path = f"proofs/consistency/{name}-{k}-{k + 1}.json"
                    called.add(path)
                    expected = {"log": name, "fromCheckpoint": k, "toCheckpoint": k + 1}
                    steps = self.read_proof("consistency-proofs", path, expected)
                    try:
                        reached = climb_both(older, newer, steps or [], old)
                    except (AssertionError, IndexError, ValueError):
                        reached = None
                    self.expect("consistency-proofs", reached == (old, new))
        self.expect("consistency-proofs", self.under("proofs/consistency/") == called)

    def check_notes(self):
        witness = read_base64(self.keys["witness"]["publicKey"], "ed25519-pub:", 32)
        run = hashlib.sha256(witness).hexdigest()[:16]
        for name in self.entries if self.points else ():
            origin = f"assay/{self.manifest['lab']}/{run}/{name}"
            public = read_base64(self.keys[f"note-{name}"]["publicKey"], "ed25519-pub:", 32)
            size, root = self.head(-1, name)
            text = f"{origin}\n{size}\n{base64.b64encode(root).decode()}\n"
            self.expect("notes", is_note(self.files.get(f"notes/{name}.note", b""), text, origin, public))
        self.expect("notes", self.under("notes/") == {f"notes/{name}.note" for name in self.entries if self.points})

    def check_registration(self):
        first = self.layout["logs"][0]
        assert first["signer"] == "author"
        seal, *others = self.entries[first["name"]]
        envelope = {"sequence", "recordedAt", "writerKeyId", "entryHash", "writerSignature", "previousEntryHash"}
        stated = {"kind", "version", "lab", "layout", "document", "registration", "signers"}
        assert (set(seal), seal["kind"], seal["version"]) == (envelope | stated, "registration.sealed", 1)
        assert seal["layout"] == text_digest("assay-layout-v1", self.layout)
        assert seal["lab"] == self.manifest["lab"]
        assert sorted(map(write, seal["signers"])) == sorted(map(write, self.manifest["signers"]))
        in_force = {1: seal["registration"]}
        for number, entry in enumerate(others, start=2):
            assert "run.closed" not in [earlier.get("kind") for earlier in others[: number - 2]]
            if entry.get("kind") != "run.closed":
                assert set(entry) == envelope | {"kind", "document", "registration", "replaces", "why", "seen"}
                assert entry["kind"] == "registration.amended"
                assert entry["replaces"] == in_force[max(in_force)] != entry["registration"]
                assert entry["why"].strip()
                assert entry["seen"].strip()
                in_force[number] = entry["registration"]
        for entry in [seal, *others]:
            if "document" in entry:
                assert entry["registration"] == text_digest("assay-registration-v1", entry["document"])
        for number in range(len(self.points)):
            size, _ = self.head(number, first["name"])
            known = [digest for sequence, digest in in_force.items() if sequence <= size]
            assert self.points[number]["registration"] == known[-1]

    def check_completeness(self):
        beyond = False
        for name, entries in self.entries.items():
            covered = self.head(-1, name)[0] if self.points else 0
            beyond = beyond or len(entries) > covered
            if name in self.layout["closings"]:
                closing = self.layout["closings"][name]
                ends = [n for n, e in enumerate(entries, 1) if e.get(closing["member"]) == closing["value"]]
                self.expect("completeness", ends[:1] in ([], [len(entries)]))
                self.open = self.open or ends[:1] != [covered]
        self.expect("completeness", self.open or not beyond)

    def check_attachments(self):
        attached = [e for e in self.entries[self.layout["attachments"]] if e.get("kind") == "file.attached"]
        paths = [entry["path"] for entry in attached]
        self.expect("attachments", len(set(paths)) == len(paths))
        for entry in attached:
            item = self.listed.get(entry["path"], {"sha256": None, "size": None})
            self.expect("attachments", (item["sha256"], item["size"]) == (entry["sha256"], entry["size"]))
        own = {log["file"] for log in self.layout["logs"]}
        for folder in ("checkpoints/", "proofs/inclusion/", "proofs/consistency/", "notes/", "anchors/"):
            own |= self.under(folder)
        self.expect("attachments", set(self.listed) - own == set(paths) & set(self.listed))


def is_note(note, text, origin, public):
    body, separator, line = note.rpartition(b"\n\n")
    dash, name, encoded = line.decode().removesuffix("\n").split(" ") if separator else ("", "", "")
    key_hash = hashlib.sha256(origin.encode() + b"\n\x01" + public).digest()[:4]
    signature = base64.b64decode(encoded)
    if (body + b"\n", dash, name, signature[:4]) != (text.encode(), "\u2014", origin, key_hash):
        return False
    return is_signed(
        "ed25519-pub:" + base64.b64encode(public).decode(),
        text.encode(),
        "ed25519:" + base64.b64encode(signature[4:]).decode(),
    )


def zip_form(folder):
    """Section 16 from the manifest's list of files."""
    manifest = (folder / "manifest.json").read_bytes()
    names = ["manifest.json", *(item["path"] for item in json.loads(manifest)["files"])]
    body, directory = b"", b""
    for name in names:
        data = (folder / name).read_bytes()
        common = struct.pack("<HHHHIII", 0, 0, 0, 0x21, zlib.crc32(data), len(data), len(data))
        tail = struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0x81A40000, len(body))
        directory += b"PK\x01\x02" + struct.pack("<HH", 0x314, 20) + common + tail + name.encode()
        head = b"PK\x03\x04" + struct.pack("<H", 20) + common + struct.pack("<HH", len(name), 0)
        body += head + name.encode() + data
    end = struct.pack("<HHHHIIH", 0, 0, len(names), len(names), len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end


class Ticks:
    def now(self):
        return "2026-11-30T12:00:00.000Z"

    def monotonic(self):
        return 0.0


def make_bundles(folder):
    """The same run as it stood before its end (``open``), and closed, as a folder and as a zip."""
    count = iter(range(100))
    plan = Plan(
        lab="example",
        layout=LAYOUT,
        document={"lab": "example", "threshold": 0.25},
        cadence=Cadence(entries=5),
        clock=Ticks(),
        entropy=lambda size: hashlib.sha256(next(count).to_bytes(8, "big")).digest()[:size],
    )

    def export(run, name):
        export_bundle(run.store, LAYOUT, lab="example", signers=run.sealed.signers, to=folder / name)

    with open_run(folder / "run", plan) as run:
        for index in range(23):
            with run.transaction() as transaction:
                transaction.append("rows", {"kind": "row", "index": index, "unit": f"café {index}", "score": 0.5})
        run.amend({"lab": "example", "threshold": 0.5}, why="a slip", seen="nothing")
        run.attach("verdict.json", b'{"decision":"none"}\n')
        export(run, "open")
        run.close()
        export(run, "closed")
        export(run, "closed.zip")


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundles")
    make_bundles(folder)
    return folder


@pytest.fixture
def closed(bundles, tmp_path):
    return Path(shutil.copytree(bundles / "closed", tmp_path / "closed"))


def fit_manifest(folder, **members):
    """Lists the files as they are now, as whoever changes a bundle would."""
    manifest = json.loads((folder / "manifest.json").read_bytes()) | members
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*"))
    files = {path: (folder / path).read_bytes() for path in paths if path != "manifest.json"}
    manifest["files"] = [
        {"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for path, data in files.items()
    ]
    (folder / "manifest.json").write_bytes(write(manifest) + b"\n")


def edit(path, old, new):
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


def edit_lines(path, change):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(change(lines)))


def rehash(folder):
    def change(lines):
        entry = json.loads(lines[4])
        entry["score"] = 0.75
        content = without(entry, "entryHash", "writerSignature")
        entry["entryHash"] = text_digest("assay-example-rows-entry-v1", content)
        return [*lines[:4], write(entry) + b"\n", *lines[5:]]

    edit_lines(folder / "logs/rows.jsonl", change)


def replace_key(folder):
    public, _ = bindings.crypto_sign_seed_keypair(bytes(32))
    signers = json.loads((folder / "manifest.json").read_bytes())["signers"]
    next(key for key in signers if key["role"] == "rows-log")["publicKey"] = encode_public(public)
    fit_manifest(folder, signers=signers)


def change_proof(folder, kind):
    path = next(path for path in sorted((folder / "proofs" / kind).iterdir()) if json.loads(path.read_bytes())["path"])
    document = json.loads(path.read_bytes())
    document["path"].pop()
    path.write_bytes(write(document) + b"\n")


def add(path):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x")


def last_checkpoint(folder):
    return max((folder / "checkpoints").iterdir())


# What is done to a bundle, and the steps that must fail once the manifest was made to fit.
ORDER = {"sequences", "links", "merkle-roots", "inclusion-proofs"}
TAMPERINGS = {
    "a value": (lambda f: edit(f / "logs/rows.jsonl", b'"score":0.5', b'"score":0.6'), {"entry-hashes"}),
    "a value, hashed again": (rehash, {"writer-signatures", "links", "merkle-roots"}),
    "a space": (lambda f: edit(f / "logs/rows.jsonl", b'"kind":', b'"kind": '), {"canonical"}),
    "a line feed out": (
        lambda f: edit_lines(f / "logs/rows.jsonl", lambda x: [*x[:-1], x[-1].rstrip()]),
        {"canonical"},
    ),
    "a line out": (lambda f: edit_lines(f / "logs/rows.jsonl", lambda x: x[:6] + x[7:]), ORDER),
    "lines exchanged": (lambda f: edit_lines(f / "logs/rows.jsonl", lambda x: [x[1], x[0], *x[2:]]), ORDER),
    "a reason": (lambda f: edit(f / "registration.jsonl", b'"why":"a slip"', b'"why":" "'), {"registration"}),
    "the document": (lambda f: edit(f / "registration.jsonl", b"0.25", b"0.5"), {"entry-hashes", "registration"}),
    "a key": (replace_key, {"writer-signatures", "registration"}),
    "nothing need be closed": (lambda f: fit_manifest(f, layout=LAYOUT.to_json() | {"closings": {}}), {"registration"}),
    "another lab": (lambda f: fit_manifest(f, lab="other"), {"registration", "notes"}),
    "a checkpoint's time": (lambda f: edit(last_checkpoint(f), b"12:00:00", b"13:00:00"), {"checkpoint-hashes"}),
    "the last checkpoint out": (lambda f: last_checkpoint(f).unlink(), {"inclusion-proofs", "consistency-proofs"}),
    "an inclusion proof": (lambda f: change_proof(f, "inclusion"), {"inclusion-proofs"}),
    "a consistency proof": (lambda f: change_proof(f, "consistency"), {"consistency-proofs"}),
    "one proof more": (lambda f: add(f / "proofs/inclusion/rows-2-at-0.json"), {"inclusion-proofs"}),
    "a note": (lambda f: edit(f / "notes/rows.note", b"\n2", b"\n3"), {"notes"}),
    "a note out": (lambda f: (f / "notes/rows.note").unlink(), {"notes"}),
    "an anchor": (lambda f: add(f / "anchors/0.json"), {"anchors"}),
    "the verdict": (lambda f: edit(f / "verdict.json", b"none", b"some"), {"attachments"}),
    "the verdict out": (lambda f: (f / "verdict.json").unlink(), {"attachments"}),
    "one file more": (lambda f: add(f / "extra.txt"), {"attachments"}),
}


def compare(folder):
    """What the second verifier finds, after it was held against ours."""
    second = Second(folder).examine()
    ours = verify_bundle(folder, Question(integrity_only=True))
    assert set(ours.failed()) == second.wrong
    assert ours.outcome.value == second.outcome
    return second


def test_steps_are_numbered_and_named_as_in_the_code():
    headings = re.findall(r"^### (\d+)\. (\S+)$", SECTIONS[17], re.MULTILINE)
    assert headings == [(str(number), name) for number, (name, _) in enumerate(STEPS, start=1)]


def find_domains(source):
    """Every domain of the form assay-…-v1 that a module spells, with what is filled in left in braces."""
    found = set()
    for part in ast.walk(ast.parse(source)):
        if isinstance(part, ast.JoinedStr):
            values = part.values
            text = "".join(v.value if isinstance(v, ast.Constant) else f"{{{ast.unparse(v.value)}}}" for v in values)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str | bytes):
            text = part.value if isinstance(part.value, str) else part.value.decode("latin-1").rstrip("\0")
        else:
            continue
        if re.fullmatch(r"assay-[a-z0-9{}-]+-v[0-9]+", text):
            found.add(text)
    return found


def test_every_domain_of_the_code_is_on_the_page_and_no_other():
    source = REPOSITORY / "src" / "assay"
    modules = [path for path in source.rglob("*.py") if "app" not in path.relative_to(source).parts]
    found = set().union(*(find_domains(path.read_text(encoding="utf-8")) for path in modules))
    assert found | {NOTE_DOMAIN} == read_names(3)


def test_a_domain_is_found_however_it_is_spelt():
    source = 'A = "assay-a-v1"\nB = f"assay-{lab}-b-v2"\nC = b"assay-c-v1\\x00"\nD = "assay-page"'
    assert find_domains(source) == {"assay-a-v1", "assay-{lab}-b-v2", "assay-c-v1"}


def test_the_worked_example_can_be_made_from_the_page():
    (example,) = read_blocks(6)
    key, before, leaves = example["logKey"], ZEROS, []
    public, secret = bindings.crypto_sign_seed_keypair(bytes.fromhex(example["logSeed"]))
    assert key == read_blocks(4)[0]
    assert read_base64(key["publicKey"], "ed25519-pub:", 32) == public
    assert key["keyId"] == f"rows-log-{hashlib.sha256(public).hexdigest()[:16]}"
    for number, (body, line) in enumerate(zip(example["bodies"], example["lines"], strict=True), start=1):
        entry = {
            **body,
            "sequence": number,
            "previousEntryHash": before,
            "recordedAt": example["recordedAt"],
            "writerKeyId": key["keyId"],
        }
        before = entry["entryHash"] = text_digest(key["domain"], entry)
        signature = bindings.crypto_sign(raw(before), secret)[:64]
        entry["writerSignature"] = "ed25519:" + base64.b64encode(signature).decode()
        assert write(entry).decode() == line
        leaves.append(leaf(before))
    assert ["sha256:" + each.hex() for each in leaves] == example["leaves"]
    assert raw(example["root"]) == root_of(leaves)
    assert example["registration"] == text_digest("assay-registration-v1", example["document"])


def test_the_checkpoint_and_the_note_of_the_example_can_be_made_from_the_page():
    (example,) = read_blocks(6)
    public, secret = bindings.crypto_sign_seed_keypair(bytes.fromhex(example["witnessSeed"]))
    last = json.loads(example["lines"][1])["entryHash"]
    point = {
        "version": 1,
        "checkpointSequence": 0,
        "previousCheckpointHash": ZEROS,
        "registration": example["registration"],
        "trees": {"rows": {"treeSize": 2, "merkleRoot": example["root"], "lastEntryHash": last}},
        "createdAt": json.loads(example["checkpoint"])["createdAt"],
        "witnessKeyId": f"witness-{hashlib.sha256(public).hexdigest()[:16]}",
    }
    assert set(point) | {"checkpointHash", "witnessSignature"} == read_names(8)
    point["checkpointHash"] = text_digest("assay-checkpoint-v1", point)
    signature = bindings.crypto_sign(raw(point["checkpointHash"]), secret)[:64]
    point["witnessSignature"] = "ed25519:" + base64.b64encode(signature).decode()
    assert write(point).decode() == example["checkpoint"]

    origin = f"assay/example/{hashlib.sha256(public).hexdigest()[:16]}/rows"
    public, secret = bindings.crypto_sign_seed_keypair(bytes.fromhex(example["noteSeed"]))
    text = f"{origin}\n2\n{base64.b64encode(raw(example['root'])).decode()}\n"
    key_hash = hashlib.sha256(origin.encode() + b"\n\x01" + public).digest()[:4]
    signature = base64.b64encode(key_hash + bindings.crypto_sign(text.encode(), secret)[:64]).decode()
    assert example["note"] == f"{text}\n\u2014 {origin} {signature}\n"
    typed = base64.b64encode(b"\x01" + public).decode()
    assert example["noteKey"] == f"{origin}+{key_hash.hex()}+{typed}"


def test_the_layout_of_the_page_is_the_default_one():
    (layout,) = read_blocks(9)
    assert layout == LAYOUT.to_json()
    assert set(layout) == read_names(9)
    assert layout_digest(LAYOUT) == text_digest("assay-layout-v1", layout)
    assert layout_digest(LAYOUT) in SECTIONS[9]


def test_the_policy_of_the_page_has_the_members_of_one():
    (policy,) = read_blocks(17)
    keys = frozenset(policy["authors"])
    assert set(policy) == set(Policy(authors=keys, keys=keys, registration=ZEROS, head=ZEROS).to_json())


def test_the_tables_of_members_are_those_of_a_bundle(bundles):
    second = Second(bundles / "closed").examine()
    entry = second.entries["rows"][1]
    seal, amendment, closing = second.entries["registration"]
    envelope = set(closing) - {"kind"}
    assert envelope == read_names(5)
    assert set(entry) - envelope == {"kind", "index", "unit", "score"}
    assert (set(seal) | set(amendment)) - envelope == read_names(10)
    assert set(second.points[0]) == read_names(8)
    assert set(second.manifest) == read_names(14)


def test_limits_and_what_no_bundle_shows_are_on_the_page():
    numbers = [MAX_LINE_BYTES, MAX_SAFE_INTEGER, MAX_NOTE_BYTES, MAX_SIGNATURES, MAX_DEPTH, SHOWN]
    assert [number for number in numbers if f"{number:,}" not in PAGE] == []
    assert [limit for limit in LIMITS if f"- {limit}\n" not in SECTIONS[19]] == []


@pytest.mark.parametrize("name", ["closed", "open"])
def test_the_second_verifier_agrees_on_an_untouched_bundle(bundles, name):
    second = compare(bundles / name)
    assert len(second.points) > 4
    assert second.wrong == set()
    assert second.open == (name == "open")


@pytest.mark.parametrize("name", TAMPERINGS)
def test_the_second_verifier_agrees_on_a_tampered_bundle(closed, name):
    tamper, steps = TAMPERINGS[name]
    fit_manifest(closed)
    assert compare(closed).outcome == "consistent"
    tamper(closed)
    fit_manifest(closed)
    assert steps <= compare(closed).wrong


def test_the_second_verifier_agrees_where_the_manifest_was_not_made_to_fit(closed):
    edit(closed / "logs/rows.jsonl", b'"score":0.5', b'"score":0.6')
    assert compare(closed).wrong == {"files", "entry-hashes"}


def test_the_zip_form_can_be_made_from_the_page(bundles):
    assert zip_form(bundles / "closed") == (bundles / "closed.zip").read_bytes()


def test_the_table_of_outcomes_is_what_the_command_answers(bundles, closed, tmp_path, capsys):
    rows = re.findall(r"^\| `([a-z]+)` \| .* \| (\d) \|$", SECTIONS[17], re.MULTILINE)
    table = {outcome: int(code) for outcome, code in rows}
    assert [name for name, _ in rows] == ["invalid", "untrusted", "incomplete", "unchecked", "authentic", "consistent"]
    assert set(table) == {outcome.value for outcome in Outcome}

    def answer(path, *options):
        code = main(["verify", str(path), *options, "--json"])
        return json.loads(capsys.readouterr().out)["outcome"], code

    keys = {key["role"]: key["publicKey"] for key in json.loads((closed / "manifest.json").read_bytes())["signers"]}
    stranger = encode_public(bindings.crypto_sign_seed_keypair(bytes(32))[0])
    for name, key in (("author", keys["author"]), ("stranger", stranger)):
        (tmp_path / f"{name}.json").write_bytes(write(Policy(authors=frozenset({key})).to_json()))
    edit(closed / "verdict.json", b"none", b"some")
    answers = [
        answer(closed),
        answer(bundles / "closed", "--policy", str(tmp_path / "stranger.json")),
        answer(bundles / "open"),
        answer(bundles / "closed"),
        answer(bundles / "closed", "--integrity-only", "--policy", str(tmp_path / "author.json")),
        answer(bundles / "closed.zip", "--integrity-only"),
    ]
    assert answers == [(name, table[name]) for name, _ in rows]
