"""Slices: seeds, strata, draws and digests as the public network made them, and nobody can aim at one (RT-6)."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import BadInput
from assay.labs.duel.slices import draw, slice_digest, slice_seed, stratum_of, turn_id_of


def cases(vectors, name):
    found = json.loads((vectors / "duel" / f"{name}.json").read_bytes())["cases"]
    assert found
    return found


def test_slices_are_those_of_the_vectors(vectors):
    for case in cases(vectors, "slice"):
        given_, expected = case["input"], case["expected"]
        rows = given_["rows"]
        seed = slice_seed(given_["block_hash"], given_["hotkey"])
        drawn = [rows[number] for number in draw([stratum_of(row) for row in rows], given_["n"], seed)]
        turn_ids = [turn_id_of(row) for row in drawn]
        assert str(seed) == expected["seed"], case["id"]
        assert turn_ids == expected["turn_ids"], case["id"]
        assert [stratum_of(row) for row in drawn] == expected["strata"], case["id"]
        assert slice_digest(turn_ids) == expected["digest"], case["id"]


def test_strata_are_those_of_the_vectors(vectors):
    for case in cases(vectors, "stratum_key"):
        assert stratum_of(case["input"]["row"]) == case["expected"]["stratum"], case["id"]


def test_seeds_and_digests_are_those_the_network_stamped(shared):
    found = json.loads(shared("vectors/duel/real/slice_seeds.json").read_bytes())["cases"]
    assert len(found) == 28
    for case in found:
        given_, expected = case["input"], case["expected"]
        assert str(slice_seed(given_["block_hash"], given_["hotkey"])) == str(expected["seed"]), case["id"]
        assert slice_digest(given_["turn_ids"]) == expected["digest"], case["id"]


@pytest.mark.parametrize(
    ("row", "stratum"),
    [
        ({}, "unknown|other"),
        ({"traj_id": ""}, "unknown|other"),
        ({"traj_id": None, "stratum": None}, "unknown|other"),
        ({"traj_id": "a.b", "stratum": ""}, "a|other"),
        ({"traj_id": "a.b", "stratum": 7}, "7"),
        ({"traj_id": ".pr_1"}, "|pr_1"),
        ({"traj_id": "a.pr_x.combine_y"}, "a|combine_"),
        ({"traj_id": "a.pr_٣"}, "a|other"),
    ],
)
def test_a_row_without_a_stratum_gets_one(row, stratum):
    assert stratum_of(row) == stratum


def test_a_row_without_an_id_gets_one():
    assert turn_id_of({"traj_id": "a", "turn_idx": 3}) == "a:3"
    assert turn_id_of({"traj_id": "a", "turn_idx": 3, "turn_id": ""}) == "a:3"
    assert turn_id_of({"traj_id": "a", "turn_idx": 3, "turn_id": "x"}) == "x"


def test_an_empty_index_gives_an_empty_slice():
    for n in (-1, 0, 1, 1300):
        assert draw([], n, 1) == []
    assert draw(["a", "b"], 0, 1) == []
    assert draw(["a", "b"], -3, 1) == []


def test_further_slices_have_seeds_of_their_own():
    first = slice_seed("0xabc", "hk", 1)
    assert len({slice_seed("0xabc", "hk", index) for index in range(4)}) == 4
    assert first == slice_seed("0xabc", "hk|slice1")
    with pytest.raises(BadInput):
        slice_seed("0xabc", "hk", -1)


def test_texts_that_no_bytes_can_hold_are_refused():
    with pytest.raises(BadInput):
        slice_seed("\ud800", "hk")
    with pytest.raises(BadInput):
        slice_digest(["a", "\udfff"])


@given(
    strata=st.lists(st.sampled_from("abcdefgh"), max_size=60),
    n=st.integers(0, 70),
    seed=st.integers(0, 2**64 - 1),
)
def test_every_stratum_is_dealt_as_evenly_as_it_can_be(strata, n, seed):
    drawn = draw(strata, n, seed)
    assert len(drawn) == len(set(drawn)) == min(n, len(strata))
    taken = {name: sum(strata[row] == name for row in drawn) for name in set(strata)}
    if drawn:
        most = max(taken.values())
        assert all(taken[name] >= min(most - 1, strata.count(name)) for name in taken)


# 400 strata of one to nine turns, as uneven as a real corpus, from which slices of 80 are drawn.
STRATA = [f"s{number}" for number in range(400) for _ in range(1 + number * number % 9)]
SLICES = 200
SIZE = 80


def slices():
    return [draw(STRATA, SIZE, slice_seed(f"0x{number:064x}", "miner")) for number in range(SLICES)]


def test_no_part_of_the_corpus_is_out_of_reach():
    drawn = slices()
    reached = {STRATA[row] for rows in drawn for row in rows}
    assert reached == set(STRATA)
    assert all(len({STRATA[row] for row in rows}) == SIZE for rows in drawn)
    # Every stratum is drawn 40 times of 200 on average; an order that favours some would leave others far behind.
    counts = [sum(STRATA[row] == name for rows in drawn for row in rows) for name in sorted(set(STRATA))]
    assert min(counts) >= 18
    assert max(counts) <= 66


def test_two_slices_share_no_more_strata_than_chance_gives():
    drawn = [{STRATA[row] for row in rows} for rows in slices()]
    overlaps = [len(one & other) for one, other in pairwise(drawn)]
    expected = SIZE * SIZE / 400
    assert abs(sum(overlaps) / len(overlaps) - expected) < 1.0
    assert max(overlaps) < 2.5 * expected


def test_a_draw_from_sorted_strata_is_seen_to_be_within_reach():
    """The control: whoever takes the first strata by name reaches a fifth of them, and every slice is the same."""

    def sorted_draw(seed):
        return {STRATA[row] for row in draw(STRATA[: STRATA.index("s80")], SIZE, seed)}

    reached = set().union(*(sorted_draw(seed) for seed in range(20)))
    assert len(reached) == SIZE
    assert sorted_draw(1) == sorted_draw(2)


def test_the_order_of_the_rows_is_part_of_the_contract():
    rows = ["a", "b", "c", "d"] * 3
    ids = [f"t{number}" for number in range(12)]
    forward = [ids[row] for row in draw(rows, 6, 5)]
    backward = [ids[::-1][row] for row in draw(rows[::-1], 6, 5)]
    assert forward != backward
