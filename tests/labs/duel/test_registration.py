"""The contract: what it takes, and that every wrong member is named at once."""

import tomllib

import pytest

from assay.kernel.errors import BadInput
from assay.labs.duel.eras import Era
from assay.labs.duel.registration import load, load_scoring

DIGEST = "sha256:" + "a" * 64
CONTRACT = f"""
lab = "duel"
version = 1
id = "trial"
question = "Who is better?"
dialects = ["bash", "boxed"]
[contract]
version = 15
history = [
  {{ version = 14, since = "2026-09-10", what = "terminus" }},
  {{ version = 15, since = "2026-12-01", what = "ours" }},
]
[[seenBefore]]
who = "the author"
what = "the corpus"
[teacher]
model = "scripted:teacher"
weights = "{DIGEST}"
[king]
name = "old"
model = "scripted:weak"
[challenger]
name = "new"
key = "5Dkey"
model = "scripted:strong"
[corpus]
store = "corpus"
manifest = "{"b" * 64}"
[slice]
beacon = "0x00"
beaconFrom = "a block"
turns = 12
[duel]
scoreMode = "min_rg"
tau = 0.03
bandC = 2.0
bandFloor = 0.002
forfeitTurnScore = -0.1
kSigma = 2.0
minMargin = 0.002
minThoughtChars = 80
causalityGamma = 0.3
teacherSamples = 3
requireThinkClose = true
temperature = 0.8
maxThoughtTokens = 1024
maxActionTokens = 768
[probes]
protocol = {{ mode = "off" }}
"""


@pytest.fixture
def document():
    return tomllib.loads(CONTRACT)


def problems_of(document):
    with pytest.raises(BadInput) as refused:
        load(document)
    return refused.value.details["problems"]


def test_a_contract_is_read_and_written_out_whole(document):
    contract = load(document)
    again = load(contract.to_document())
    assert again == contract
    assert contract.to_document()["duel"]["causalityTau"] == 0.02
    assert contract.knobs.era is Era.SAFE
    assert contract.token_limit("bash") == 1792


def test_every_number_of_the_contract_reaches_the_scoring(document):
    before = load(document).knobs
    for member, knob, value in [
        ("scoreMode", "score_mode", "reason"),
        ("tau", "tau", 0.5),
        ("bandC", "band_c", 3.0),
        ("bandFloor", "band_floor", 0.5),
        ("forfeitTurnScore", "forfeit_turn_score", -0.5),
        ("kSigma", "k_sigma", 3.0),
        ("minMargin", "min_margin", 0.5),
        ("minThoughtChars", "min_thought_chars", 5),
        ("causalityGamma", "causality_gamma", 0.5),
        ("causalityTau", "causality_tau", 0.5),
        ("leakShare", "leak_share", 0.5),
    ]:
        changed = load({**document, "duel": {**document["duel"], member: value}}).knobs
        assert getattr(before, knob) != getattr(changed, knob) == value
    assert load({**document, "duel": {**document["duel"], "tau": 0}}).knobs.tau is None


def test_every_problem_is_named_at_once(document):
    document["duel"] |= {"scoreMode": "median", "kSigma": -1, "turbo": True}
    document["slice"]["turns"] = 1
    assert problems_of(document) == [
        "slice.turns: expected a whole number from 2 to 100,000, got 1",
        "duel.scoreMode: expected reason, min_rg or min_rga, got the text 'median'",
        "duel.kSigma: expected a number, at least 0, got -1",
        "duel.turbo: unknown member; known: 'scoreMode', 'tau', 'bandC', 'bandFloor', 'forfeitTurnScore', 'kSigma', "
        "'minMargin', 'minThoughtChars', 'causalityGamma', 'causalityTau', 'leakShare', 'teacherSamples' and 6 more",
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dialects": ["bash", "telepathy"]}, "no parser knows the dialect 'telepathy'"),
        ({"dialects": ["bash", "bash"]}, "each dialect is admitted once"),
        ({"contract": {"version": 14, "history": [{"version": 14, "since": "x", "what": "y"}]}}, "only replayed"),
        ({"contract": {"version": 15, "history": [{"version": 14, "since": "x", "what": "y"}]}}, "contract.history"),
        ({"king": {"name": "old", "model": "scripted:weak", "weights": DIGEST}}, "are the teacher's"),
        ({"teacher": {"model": "gpt", "weights": DIGEST}}, "teacher.model: expected a model such as"),
        ({"sequential": {"alpha": 0.05, "clip": 0.1, "minTurns": 13}}, "could never end early"),
        ({"sequential": {"alpha": 0.05, "clip": 0.001}}, "not above duel.minMargin"),
        ({"probes": {"protocol": {"mode": "off"}, "injectability": {"turns": 13}}}, "more than slice.turns"),
    ],
)
def test_members_that_do_not_fit_one_another_are_refused(document, change, said):
    assert any(said in problem for problem in problems_of({**document, **change}))


def test_a_copy_of_the_king_is_refused(document):
    for side in ("king", "challenger"):
        document[side]["weights"] = "sha256:" + "c" * 64
    assert problems_of(document) == ["challenger.weights: are the king's; a copy is no challenger"]


def test_a_member_of_the_whole_document_inside_a_section_is_shown_its_place(document):
    document["slice"]["dialects"] = document.pop("dialects")
    assert problems_of(document)[0] == (
        "slice.dialects: unknown member; it belongs at the top of the document: in TOML before the first section, in "
        "YAML not indented"
    )


def test_numbers_for_a_counterfactual_need_no_more_than_the_rule(document):
    part = {"contract": {**document["contract"], "version": 7}, "duel": document["duel"], "lab": "duel"}
    assert load_scoring(part).era is Era.NETWORK
    with pytest.raises(BadInput, match="duel: is missing"):
        load_scoring({"contract": document["contract"]})
