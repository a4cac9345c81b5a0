"""Every must of the table of facts 16, each on its own; and that a broken contract loses just what it should."""

import math

import pytest

from assay.labs.duel.redteam.attacks import conclude
from assay.labs.duel.redteam.ground import Ground
from assay.labs.duel.redteam.table import ATTACKS, ELSEWHERE, run_table

BAND = "with {} the old corpus is served, and said to be stale"
MUSTS = [
    ("RT-1/A1", "its mean turn is not above 0"),
    ("RT-1/A1", "it loses to an honest king"),
    ("RT-2/A2", "no pair passes the licence B"),
    ("RT-2/A2", "the licence blocks the crown"),
    ("RT-2/A2", "the action is found in the thought, in every dialect"),
    ("RT-2c", "it passes the licence B"),
    ("RT-2c", "R is about 0"),
    ("RT-2c", "it is not crowned"),
    ("RT-2c", "its share above the priors is told"),
    ("A9", "no thought at all is below the floor"),
    ("A9", "a cue of 13 characters is below the floor"),
    ("A9", "spaces are no characters"),
    ("A9", "G of silence is far below 0"),
    ("A13", "the commitment is preferred"),
    ("RT-11", "the suffix loses"),
    ("RT-11", "R does not move"),
    ("RT-12", "G is below 0 on every turn"),
    ("RT-12", "G binds"),
    ("RT-12", "nothing is paid for it"),
    ("RT-13", "its mean turn is not above 0"),
    ("RT-13", "R is about 0, and told"),
    ("RT-13", "how seldom G binds is told"),
    ("RT-9", "it is paid at most the tempered mean less the mean"),
    ("RT-9", "it is paid no more at a higher temperature"),
    ("RT-9", "how much hangs on one reference is told"),
    ("RT-10", "that one reference dominates is told"),
    ("RT-10", "the licence counts no other action as leaked"),
    ("RT-10", "the licence counts the side's own as leaked"),
    ("RT-10", "nothing is paid for it above the band"),
    ("RT-4/A4", "the copy is turned down"),
    ("RT-4/A4", "a near copy is not crowned"),
    ("A11", "an edge of 0.0019 is not crowned"),
    ("A11", "an edge above the floor is crowned, at z infinite"),
    ("A7", "nothing is crowned"),
    ("A7", "the duel goes on"),
    ("A7", "no leg drops out unsaid"),
    ("A7", "it pays no more than a forfeit"),
    ("RT-3", "no field of the verdict moves"),
    ("RT-3", "no score moves"),
    ("RT-6/A6", "every stratum is reached"),
    ("RT-6/A6", "slices overlap no more than by chance"),
    ("RT-6/A6", "references are sampled anew in every duel"),
    ("RT-14", "every turn has an action"),
    ("RT-14", "an empty box is none"),
    ("RT-14", "R is about 0"),
    ("RT-14", "G is below 0"),
    ("forfeit-selection", "it is not crowned"),
    ("forfeit-selection", "every turn is compared"),
    ("runaway-thinking", "a side that never closes its thought forfeits"),
    ("runaway-thinking", "the teacher's sample is read all the same"),
    ("teacher-upload", "each is rejected by its config.json alone"),
    ("teacher-upload", "the admitted profiles are admitted"),
    ("scorer-crash", "the scorer goes on"),
    ("scorer-crash", "every turn is scored"),
    ("leak-bypass", "its words are counted all the same"),
    ("stray-brace", "the reference is read"),
    ("duplicate-rows", "each turn counts once"),
    ("duplicate-rows", "the last row of a turn stands"),
    ("duplicate-rows", "the rows too many are told"),
    ("duplicate-rows", "the licence counts each turn once"),
    ("covariate-trap", "only what the king failed enters"),
    ("covariate-trap", "the rest is dropped, and counted by reason"),
    ("corpus-tamper", BAND.format("a pointer without its immutable copy")),
    ("corpus-tamper", BAND.format("a chunk of another digest")),
    ("corpus-tamper", BAND.format("an index of another digest")),
    ("dialect-smuggling", "the slice is refused"),
]
BROKEN = {
    "no-margin": {"RT-4/A4", "A11"},
    "wide-band": {"A9", "RT-10", "RT-11", "RT-12", "RT-14"},
    "no-licence": {"RT-2/A2"},
    "strict-licence": {"RT-2c", "A11"},
    "no-thought-floor": {"A9"},
    "soft-forfeit": {"forfeit-selection"},
}
NETWORKS_HOLES = {"A7", "scorer-crash", "leak-bypass", "stray-brace", "duplicate-rows"}
UNGROUNDED = {"RT-1/A1", "RT-9", "RT-10", "RT-11", "RT-12", "RT-13"}


def lost(findings):
    return {name for name, finding in findings.items() if finding.verdict == "lost"}


@pytest.mark.parametrize(("attack", "must"), MUSTS)
def test_a_must_holds(attacked, attack, must):
    assert must in attacked("v5")[attack].kept


@pytest.mark.parametrize("variant", ["v5", "v6"])
def test_every_attack_is_held(attacked, variant):
    assert {finding.verdict for finding in attacked(variant).values()} == {"held"}


def test_every_attack_of_the_table_is_run_or_said_to_be_elsewhere(attacked):
    assert [result.id for result in ATTACKS] == list(attacked("v5"))
    assert {attack for attack, _ in MUSTS} == set(attacked("v5"))
    # Thirty-four rows, of which one is no attack but a limit of claims.
    assert len(ATTACKS) + len(ELSEWHERE) == 34


@pytest.mark.parametrize(("variant", "expected"), BROKEN.items())
def test_a_broken_contract_loses_just_what_it_should(attacked, variant, expected):
    assert lost(attacked(variant)) == expected


def test_v4_falls_to_the_filler_suffix_by_the_constant_lift(attacked):
    finding = attacked("v4")["RT-11"]
    assert finding.verdict == "lost"
    assert finding.gained == pytest.approx(0.01, abs=1e-6)
    assert finding.broken == ("the suffix loses",)


def test_v5_holds_the_filler_suffix(attacked):
    finding = attacked("v5")["RT-11"]
    assert finding.verdict == "held"
    assert finding.gained is not None
    assert finding.gained < -0.1


def test_v4_loses_what_only_the_grounding_leg_holds(attacked):
    assert lost(attacked("v4")) == UNGROUNDED


def test_a13_v3_prefers_the_hedge_and_later_rules_the_commitment(attacked):
    assert lost(attacked("v3")) == UNGROUNDED | {"A13"}
    assert attacked("v3")["A13"].gained > 0
    assert max(attacked(variant)["A13"].gained for variant in ("v4", "v5", "v6")) < 0


def test_the_networks_era_keeps_the_networks_holes(attacked):
    assert lost(attacked("v5-network")) == NETWORKS_HOLES


def test_forfeit_selection_crowns_where_forfeits_were_dropped(attacked):
    findings = attacked("v5-network-without-floor")
    assert lost(findings) == NETWORKS_HOLES | {"forfeit-selection"}
    assert findings["forfeit-selection"].broken == ("it is not crowned", "every turn is compared")
    assert "3 turns are compared" in findings["forfeit-selection"].said


def test_a4_the_near_copy_is_crowned_where_there_is_no_least_margin(attacked):
    finding = attacked("no-margin")["RT-4/A4"]
    assert finding.gained == pytest.approx(0.0006, abs=1e-9)
    assert "standard error 0.0003: crowned" in finding.said
    assert "not crowned, without a least margin crowned" in attacked("v5")["RT-4/A4"].said


def test_a7_a_broken_number_pays_on_the_network_alone(attacked):
    assert attacked("v5")["A7"].gained == pytest.approx(0.0, abs=1e-12)
    assert attacked("v5-network")["A7"].gained > 0.1


def test_runaway_thinking_passes_where_no_closing_is_required(make_ground):
    findings = {result.id: result.finding for result in run_table(make_ground(require_think_close=False))}
    assert lost(findings) == {"runaway-thinking"}


def test_teacher_upload_passes_where_the_profile_is_loose(make_ground):
    loose = ({"model_type": "dense"},)
    finding = find(make_ground(architecture=loose), "teacher-upload")
    assert finding.verdict == "lost"
    assert "a dense model" in finding.said


@pytest.mark.parametrize("pins", [(), ({},)])
def test_teacher_upload_needs_a_registered_architecture(make_ground, pins):
    assert find(make_ground(architecture=pins), "teacher-upload").verdict == "not-applicable"


@pytest.mark.parametrize("references", [1, 2, 5])
def test_any_number_of_references_is_held(make_ground, references):
    findings = {result.id: result.finding for result in run_table(make_ground(references=references, turns=12))}
    assert not lost(findings)
    assert (findings["A13"].verdict == "not-applicable") == (references == 1)


def find(ground: Ground, name: str):
    return next(attack for attack in ATTACKS if attack.id == name).run(ground)


def test_another_seed_holds_as_well(make_ground):
    assert not lost({result.id: result.finding for result in run_table(make_ground(seed=7))})


def test_a_finding_names_what_is_broken_first():
    finding = conclude(math.pi, "said", {"one": True, "two": False, "three": False})
    assert (finding.verdict, finding.kept, finding.broken) == ("lost", ("one",), ("two", "three"))
    assert finding.said == "broken: two; three. said"
