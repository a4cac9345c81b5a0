"""Every published class of mutation that needs no anchor, at every depth of repair, fails the steps it has to fail."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

import pytest

from assay.kernel import canonical
from assay.kernel.bundle import checkpoint_path, inclusion_path
from assay.kernel.digests import ZERO, to_text
from assay.kernel.keys import Signer
from assay.kernel.seal import registration_digest
from assay.testing.tampering import open_forgery
from assay.verifier.policy import Policy
from assay.verifier.result import Outcome

OTHER = to_text(sha256(b"another hash").digest())
FIRST, MIDDLE, LAST = "first", "middle", "last"
ANYWHERE = (FIRST, MIDDLE, LAST)

# The published names of checks, and the steps of ours of which at least one has to fail with them.
STEPS_OF = {
    "canonicalJsonValid": {"canonical"},
    "canonicalJsonValid or a schema failure": {"canonical", "sequences"},
    "sequencesStrictlyIncreasing": {"sequences"},
    "entryHashesRebuilt": {"entry-hashes"},
    "previousEntryLinksValid": {"links"},
    "writerSignaturesValid": {"writer-signatures"},
    "merkleRootsRebuilt": {"merkle-roots"},
    "merkleRootsRebuilt (tree size larger than the file)": {"merkle-roots"},
    "inclusionProofsValid": {"inclusion-proofs"},
    "inclusionProofsValid or gaps": {"inclusion-proofs"},
    "consistencyProofsValid": {"consistency-proofs"},
    "checkpointHashesRebuilt": {"checkpoint-hashes"},
    "gaps": {"checkpoint-hashes"},
    # What a configuration and a manifest are bound by there, the sealed registration binds here.
    "checkpointHashesRebuilt or a manifest binding failure": {"registration"},
    "checkpointHashesRebuilt (configuration binding)": {"registration"},
    "checkpointHashesRebuilt (runConfigurationHash of every checkpoint)": {"registration"},
    "promptBundleHash binding": {"attachments"},
    "the run is not valid; the tail is listed with stream, first and last sequence": {"completeness"},
    "as above": {"completeness"},
}
# What hangs on anchors is not in this format; see test_only_an_outside_head_shows_a_stolen_witness_key.
NEED_ANCHORS = {(1, "stolen-witness-key"), *((number, None) for number in (12, 13))}

LEAF = {"inclusion-proofs": "the first or the last entry of the log is another one"}
CLOSING = {"completeness": "an entry comes after the one that closes the log"}
HEAD = {"notes": "the last checkpoint is another than the published one", **LEAF}


@dataclass
class Scene:
    """A bundle that is being forged, with the operator's keys, and where: a log and an entry, or a checkpoint."""

    forgery: object
    keys: dict
    place: str
    log: str = "rows"

    @property
    def k(self):
        size = len(self.forgery.logs[self.log])
        return {FIRST: 1, MIDDLE: (size + 1) // 2, LAST: size}[self.place]

    @property
    def n(self):
        last = max(self.forgery.checkpoints)
        return {FIRST: 0, MIDDLE: last // 2, LAST: last}[self.place]

    @property
    def entry(self):
        return self.forgery.entry(self.log, self.k)

    @property
    def signer(self):
        return self.keys[self.forgery.spec(self.log).signer]

    @property
    def witness(self):
        return self.keys["witness"]

    def sign(self, *numbers):
        self.forgery.resign(self.log, self.signer, numbers or None)


@dataclass(frozen=True)
class Mutation:
    """One way of tampering: ``act`` forges and returns the place that the report has to name."""

    act: Callable
    places: tuple = ANYWHERE
    log: str = "rows"
    fix_manifest: bool = True
    consequences: dict = field(default_factory=dict)


MUTATIONS = {}


def mutation(number, depth=None, **settings):
    def add(act):
        MUTATIONS[number, depth] = Mutation(act, **settings)
        return act

    return add


def edit_content(scene):
    scene.entry.update(changed=True)
    return f"{scene.log} entry {scene.k}"


@mutation(1)
def modify_content(scene):
    return edit_content(scene)


@mutation(1, "rehash", consequences=LEAF)
def modify_and_rehash(scene):
    where = edit_content(scene)
    scene.forgery.rehash(scene.log, scene.k)
    return where


@mutation(1, "relink", consequences=LEAF)
def modify_and_relink(scene):
    where = edit_content(scene)
    scene.forgery.relink(scene.log, scene.k)
    return where


@mutation(1, "stolen-writer-key", consequences=LEAF)
def modify_and_sign(scene):
    modify_and_relink(scene)
    scene.sign()
    return f"{scene.log} entry"


@mutation(2)
def jump_sequence(scene):
    scene.entry["sequence"] += 1000
    return f"{scene.log} entry {scene.k}"


@mutation(2, "rehash-and-sign", consequences=LEAF)
def jump_sequence_and_sign(scene):
    where = jump_sequence(scene)
    scene.forgery.relink(scene.log, scene.k)
    scene.sign()
    return where


@mutation(2, "string-number")
def sequence_as_text(scene):
    scene.entry["sequence"] = str(scene.k)
    return f"{scene.log} entry {scene.k}"


@mutation(3, places=(FIRST, MIDDLE))
def delete_entry(scene):
    k = scene.k
    del scene.forgery.logs[scene.log][k - 1]
    return f"{scene.log} entry {k}"


@mutation(3, "renumber", places=(FIRST, MIDDLE), consequences=LEAF)
def delete_and_renumber(scene):
    delete_entry(scene)
    scene.forgery.relink(scene.log, renumber=True)
    scene.sign()
    return f"{scene.log} entry"


@mutation(3, "delete-last-of-prefix", places=(LAST,), consequences=LEAF)
def delete_last(scene):
    size = scene.k
    scene.forgery.logs[scene.log].pop()
    return f"{scene.log} entry {size}"


def insert(scene, entry):
    scene.forgery.logs[scene.log].insert(scene.k, entry)


@mutation(4, consequences=LEAF | CLOSING)
def insert_rival(scene):
    k = scene.k
    insert(scene, {**scene.entry, "changed": True})
    scene.forgery.rehash(scene.log, k + 1)
    scene.sign(k + 1)
    return f"{scene.log} entry {k + 1}"


@mutation(4, "identical-copy", consequences=LEAF | CLOSING)
def insert_copy(scene):
    k = scene.k
    insert(scene, dict(scene.entry))
    return f"{scene.log} entry {k + 1}"


@mutation(4, "shifted", consequences=LEAF | CLOSING)
def insert_and_shift(scene):
    insert(scene, {**scene.entry, "changed": True})
    scene.forgery.relink(scene.log, renumber=True)
    scene.sign()
    return scene.log


def neighbours(scene):
    lower = min(scene.k, len(scene.forgery.logs[scene.log]) - 1)
    return lower, lower + 1


def swap(scene):
    entries = scene.forgery.logs[scene.log]
    low, high = neighbours(scene)
    entries[low - 1], entries[high - 1] = entries[high - 1], entries[low - 1]
    return f"{scene.log} entry {low}"


@mutation(5, consequences=LEAF | CLOSING)
def swap_lines(scene):
    return swap(scene)


@mutation(5, "swap-content", consequences=CLOSING)
def swap_content(scene):
    low, high = (scene.forgery.entry(scene.log, number) for number in neighbours(scene))
    envelope = {*scene.forgery.spec(scene.log).envelope}
    bodies = [{name: value for name, value in entry.items() if name not in envelope} for entry in (low, high)]
    for entry, body in zip((low, high), reversed(bodies), strict=True):
        for name in entry.keys() - envelope:
            del entry[name]
        entry.update(body)
    return f"{scene.log} entry {neighbours(scene)[0]}"


@mutation(5, "swap-renumbered", consequences=LEAF | CLOSING)
def swap_and_renumber(scene):
    swap(scene)
    scene.forgery.relink(scene.log, renumber=True)
    scene.sign()
    return f"{scene.log} entry"


def set_link(scene, link):
    scene.entry[scene.forgery.spec(scene.log).link] = link
    scene.forgery.rehash(scene.log, scene.k)
    scene.sign(scene.k)
    return f"{scene.log} entry {scene.k}"


@mutation(6, places=(MIDDLE, LAST), consequences=LEAF)
def link_too_far_back(scene):
    return set_link(scene, scene.forgery.entry(scene.log, scene.k - 2)["entryHash"])


ROOT = {"merkle-roots": "the entry has another hash, and so has every tree above it"}


@mutation(6, "first-event", places=(FIRST,), consequences=LEAF | ROOT)
def link_before_first(scene):
    return set_link(scene, OTHER)


@mutation(6, "zero-later", places=(MIDDLE, LAST), consequences=LEAF | ROOT)
def link_to_nothing(scene):
    return set_link(scene, ZERO)


@mutation(7)
def flip_signature_bit(scene):
    signature = scene.entry["writerSignature"]
    scene.entry["writerSignature"] = signature[:20] + ("A" if signature[20] != "A" else "B") + signature[21:]
    return f"{scene.log} entry {scene.k}"


@mutation(7, "other-domain-key")
def sign_with_other_log_key(scene):
    scene.forgery.resign(scene.log, scene.keys["decisions-log"], [scene.k])
    return f"{scene.log} entry {scene.k}"


@mutation(7, "own-key-in-manifest")
def sign_with_own_key(scene):
    sealed = scene.signer.public
    own = Signer(role=sealed.role, domain=sealed.domain, seed=bytes(range(32)), name=sealed.key_id)
    signers = scene.forgery.manifest["signers"]
    signers[signers.index(sealed.to_json())] = own.public.to_json()
    scene.forgery.resign(scene.log, own)
    return "manifest.json"


@mutation(7, "missing")
def drop_signature(scene):
    del scene.entry["writerSignature"]
    return f"{scene.log} entry {scene.k}"


PROOFS = {"consistency-proofs": "the proofs from and to this checkpoint are of other sizes"}


@mutation(8, consequences=HEAD)
def change_root(scene):
    scene.forgery.head(scene.n, scene.log)["merkleRoot"] = OTHER
    scene.forgery.seal_checkpoints(scene.witness, scene.n)
    return f"{scene.log} entry {scene.forgery.size(scene.n, scene.log)}"


@mutation(8, "raw", consequences=HEAD)
def change_root_only(scene):
    scene.forgery.head(scene.n, scene.log)["merkleRoot"] = OTHER
    return f"checkpoint {scene.n}"


@mutation(8, "size-off-by-one", consequences=HEAD | PROOFS)
def grow_tree(scene):
    scene.forgery.head(scene.n, scene.log)["treeSize"] += 1
    scene.forgery.seal_checkpoints(scene.witness, scene.n)
    return f"{scene.log} entry {scene.forgery.size(scene.n, scene.log)}"


@mutation(8, "last-hash")
def change_last_hash(scene):
    scene.forgery.head(scene.n, scene.log)["lastEntryHash"] = OTHER
    scene.forgery.seal_checkpoints(scene.witness, scene.n)
    return f"{scene.log} entry {scene.forgery.size(scene.n, scene.log)}"


def proof_path(scene, sequence):
    return inclusion_path(scene.log, sequence, max(scene.forgery.checkpoints))


@mutation(9, places=(FIRST, LAST))
def change_proof(scene):
    path = proof_path(scene, scene.k)
    steps = scene.forgery.proofs[path]["path"]
    steps[len(steps) // 2] = OTHER
    return path


@mutation(9, "other-leaf", places=(FIRST, LAST))
def use_other_leafs_proof(scene):
    first, last = proof_path(scene, 1), proof_path(scene, len(scene.forgery.logs[scene.log]))
    path, other = (first, last) if scene.place == FIRST else (last, first)
    scene.forgery.proofs[path]["path"] = scene.forgery.proofs[other]["path"]
    return path


@mutation(9, "true-proof-of-a-false-root", places=(FIRST, LAST))
def prove_false_root(scene):
    path = proof_path(scene, scene.k)
    scene.place, other = MIDDLE, Scene(scene.forgery, scene.keys, MIDDLE, scene.log).entry
    stated = other["entryHash"]
    other["entryHash"] = OTHER
    true_proofs = dict(scene.forgery.proofs)
    scene.forgery.reprove()
    scene.forgery.proofs = {**true_proofs, path: scene.forgery.proofs[path]}
    other["entryHash"] = stated
    return path


@mutation(
    9,
    "missing-file",
    places=(FIRST, LAST),
    fix_manifest=False,
    consequences={"files": "the manifest lists the file that is gone"},
)
def drop_proof(scene):
    path = proof_path(scene, scene.k)
    del scene.forgery.proofs[path]
    return path


CHAIN = {"checkpoint-hashes": "the next checkpoint names the hash of the one that was replaced"}


@mutation(10, places=(MIDDLE, LAST), consequences=HEAD)
def rewrite_prefix(scene):
    forgery, n = scene.forgery, scene.n
    kept = [dict(entry) for entry in forgery.logs[scene.log]]
    forgery.entry(scene.log, 1)["changed"] = True
    forgery.relink(scene.log)
    forgery.recount(n)
    forgery.logs[scene.log] = kept
    reseal_one(scene, n)
    return f"{scene.log} entry {forgery.size(n, scene.log)}"


def reseal_one(scene, n):
    later = {number: dict(point) for number, point in scene.forgery.checkpoints.items() if number > n}
    scene.forgery.seal_checkpoints(scene.witness, n)
    scene.forgery.checkpoints.update(later)


@mutation(10, "shrunk", places=(MIDDLE, LAST), consequences=HEAD | ROOT | CHAIN)
def shrink(scene):
    forgery, n = scene.forgery, scene.n
    forgery.head(n, scene.log)["treeSize"] = forgery.size(n - 1, scene.log) - 1
    reseal_one(scene, n)
    return f"checkpoint {n}"


@mutation(10, "chain-cut", places=(MIDDLE, LAST))
def cut_chain(scene):
    forgery, n = scene.forgery, scene.n
    before = forgery.checkpoints.pop(n - 1)
    forgery.checkpoints[n - 1] = {**before, "checkpointHash": OTHER}
    reseal_one(scene, n)
    forgery.checkpoints[n - 1] = before
    forgery.checkpoints = dict(sorted(forgery.checkpoints.items()))
    return f"checkpoint {n}"


@mutation(
    10,
    "gap",
    places=(MIDDLE, LAST),
    consequences=PROOFS | LEAF,
)
def remove_checkpoint(scene):
    del scene.forgery.checkpoints[scene.n - 1]
    return f"checkpoint {scene.n - 1}"


def edit_document(scene):
    scene.entry["document"]["limit"] += 1
    return "registration"


ENTRY = {"entry-hashes": "the registration is an entry of a log, whose hash covers it"}


@mutation(11, places=(FIRST, MIDDLE), log="registration", consequences=ENTRY)
def modify_registration(scene):
    return edit_document(scene)


@mutation(11, "with-manifest", places=(FIRST, MIDDLE), log="registration", consequences=LEAF | ROOT)
def modify_registration_and_digest(scene):
    edit_document(scene)
    scene.entry["registration"] = registration_digest(scene.entry["document"])
    if scene.place == FIRST:
        scene.forgery.entry(scene.log, 2)["replaces"] = scene.entry["registration"]
    scene.forgery.relink(scene.log, scene.k)
    scene.sign()
    return "checkpoint 0" if scene.place == FIRST else "registration"


@mutation(
    11,
    "whitespace",
    places=(FIRST, MIDDLE),
    log="registration",
    consequences={"registration": "a seal is read from canonical lines only"},
)
def pretty_print_registration(scene):
    lines = scene.forgery.contents()["registration.jsonl"].splitlines(keepends=True)
    lines[scene.k - 1] = lines[scene.k - 1].replace(b'":', b'": ')
    scene.forgery.overrides["registration.jsonl"] = b"".join(lines)
    return f"registration entry {scene.k}"


@mutation(11, "prompt", places=(MIDDLE,))
def change_attached_file(scene):
    scene.forgery.files["verdict.json"] = scene.forgery.files["verdict.json"].replace(b'"total":25', b'"total":26')
    return "decisions entry"


def append_entry(scene):
    entries = scene.forgery.logs[scene.log]
    entries.append({"kind": "late", "recordedAt": entries[-1]["recordedAt"], "writerKeyId": entries[-1]["writerKeyId"]})
    scene.forgery.relink(scene.log, len(entries), renumber=True)
    scene.sign(len(entries))
    return scene.log


@mutation(14, places=(LAST,))
def append_tail(scene):
    return append_entry(scene)


@mutation(14, "checkpointed-not-anchored", places=(LAST,))
def append_tail_and_checkpoint(scene):
    where = append_entry(scene)
    forgery, number = scene.forgery, max(scene.forgery.checkpoints) + 1
    forgery.checkpoints[number] = canonical.loads(canonical.dumps(forgery.checkpoints[number - 1]))
    forgery.checkpoints[number]["checkpointSequence"] = number
    forgery.head(number, scene.log)["treeSize"] += 1
    forgery.repair(scene.keys)
    return where


@mutation(14, "tail-in-auxiliary", places=(LAST,), log="decisions")
def append_tail_elsewhere(scene):
    return append_entry(scene)


def published(vectors):
    """What has to and what may fail, by number and depth."""
    cases = json.loads((vectors / "evidence" / "mutations.json").read_text())["cases"]
    table = {}
    for case in cases:
        may = case["may_fail"]
        table[case["number"], None] = (case["must_fail"], may)
        for variant in case["variants"]:
            table[case["number"], variant["depth"]] = (variant["must_fail"], may)
    return table


def steps_of(names):
    return [STEPS_OF[name] for name in names if not name.startswith(("anchor", "unanchored"))]


def excused(number, depth, place):
    """Steps that have nothing to fail on at this place."""
    return {
        (1, "rehash", LAST): {"links"},  # no entry follows, whose link could break
        (4, "shifted", LAST): {"merkle-roots"},  # what the checkpoints cover is untouched; the run is closed, though
    }.get((number, depth, place), set())


def forge(sound, mutated, place, to):
    scene = Scene(open_forgery(sound.path), sound.keys, place, mutated.log)
    where = mutated.act(scene)
    scene.forgery.write(to, fix_manifest=mutated.fix_manifest)
    return where


def test_the_unchanged_bundle_passes_every_step(sound, verify, tmp_path):
    sound.open().write(tmp_path / "copy")
    result = verify(tmp_path / "copy", policy=Policy(authors=frozenset({sound.public("author")})))
    assert result.outcome is Outcome.AUTHENTIC
    assert {step.status for step in result.steps} == {"passed"}
    assert result.facts["checkpoints"] > 3
    assert len(result.facts["amendments"]) == 2


def test_every_published_class_is_here_or_needs_an_anchor(vectors):
    missing = {key for key in published(vectors) if key not in MUTATIONS}
    assert {key for key in missing if key not in NEED_ANCHORS and key[0] not in {12, 13}} == set()
    assert MUTATIONS.keys() <= published(vectors).keys()


@pytest.mark.parametrize(
    ("number", "depth", "place"),
    [pytest.param(*key, place, id=f"{key[0]}-{key[1]}-{place}") for key, m in MUTATIONS.items() for place in m.places],
)
def test_a_mutation_fails_what_it_must_and_nothing_unexplained(sound, verify, vectors, tmp_path, number, depth, place):
    mutated = MUTATIONS[number, depth]
    where = forge(sound, mutated, place, tmp_path / "forged")
    result = verify(tmp_path / "forged")
    failed = set(result.failed())
    must, may = (steps_of(names) for names in published(vectors)[number, depth])
    excuses = excused(number, depth, place)
    assert result.outcome is Outcome.INVALID
    assert all(failed & steps or steps <= excuses for steps in must), failed
    assert failed <= set().union(*must, *may, mutated.consequences), failed
    places = [failure.where for step in result.steps for failure in step.failures]
    assert any(where in named for named in places), places


def test_a_fork_names_both_hashes(sound, verify, tmp_path):
    scene = Scene(sound.open(), sound.keys, MIDDLE)
    k = scene.k
    insert_rival(scene)
    scene.forgery.write(tmp_path / "forged")
    message = verify(tmp_path / "forged").step("sequences").failures[0].message
    assert all(scene.forgery.entry("rows", number)["entryHash"] in message for number in (k, k + 1))


def test_a_gap_in_the_checkpoints_is_named_though_the_manifest_still_lists_it(sound, verify, tmp_path):
    forgery = sound.open()
    del forgery.checkpoints[2]
    result = verify(forgery.write(tmp_path / "forged", fix_manifest=False))
    assert result.step("files").failures[0].where == checkpoint_path(2)
    assert "checkpoint-hashes" in result.failed()


@pytest.mark.parametrize("log", ["registration", "rows", "decisions"])
def test_a_tail_behind_the_last_checkpoint_of_an_open_run_is_listed(make, verify, tmp_path, log):
    made = make(tmp_path, close=False)
    scene = Scene(made.open(), made.keys, LAST, log)
    before = verify(made.path)
    append_entry(scene)
    if log == "registration":
        scene.forgery.entry(log, scene.k)["kind"] = "registration.amended"
    result = verify(scene.forgery.write(tmp_path / "forged"))
    assert before.outcome is Outcome.INCOMPLETE
    assert "not covered by any checkpoint" not in before.step("completeness").note
    assert f"not covered by any checkpoint: {log} entries {scene.k} to {scene.k}" in result.step("completeness").note
    assert result.outcome is (Outcome.INVALID if log == "registration" else Outcome.INCOMPLETE)


def test_only_an_outside_head_shows_a_stolen_witness_key(sound, verify, tmp_path):
    """Who holds the log keys, the witness key and the note keys rewrites a run that nobody outside has seen."""
    forgery = sound.open()
    head = verify(sound.path).facts["head"]
    policy = {"authors": frozenset({sound.public("author")})}
    # The limit of the registration makes 12 a refused number whatever it is above it: no verdict changes.
    forgery.entry("rows", 3)["recordedAt"] = forgery.entry("rows", 2)["recordedAt"]
    forgery.reseal(sound.keys)
    forgery.write(tmp_path / "forged")
    assert verify(tmp_path / "forged", policy=Policy(**policy)).outcome is Outcome.AUTHENTIC
    result = verify(tmp_path / "forged", policy=Policy(**policy, head=head))
    assert (result.outcome, result.failed()) == (Outcome.UNTRUSTED, ["trust"])
    assert verify(tmp_path / "forged", expect_head=head).outcome is Outcome.UNTRUSTED
    assert verify(sound.path, policy=Policy(**policy, head=head)).outcome is Outcome.AUTHENTIC
