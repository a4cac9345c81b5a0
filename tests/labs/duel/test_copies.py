"""The copy check: what the network did, and that what cannot be told is nobody's loss in the safe era."""

from dataclasses import replace

import pytest

from assay.kernel.errors import BadInput
from assay.labs.duel.copies import Published, find_copy
from assay.labs.duel.eras import Era

WORDS = {None: "no-copy", "reject": "reject", "crown_earlier": "crown-earlier"}
EARLY, LATE = "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00Z"
KING = Published(repository="u/k", revision="d", weights={"a": "aaa", "b": "bbb"}, published=EARLY)
COPY = Published(repository="u/t", revision="c", weights={"x": "aaa", "y": "bbb", "z": "zzz"}, published=LATE)


def read(side):
    return Published(
        repository=side["ref"]["repo"], revision=side["ref"]["revision"], weights=side["blobs"], published=side["ts"]
    )


def test_copies_are_those_of_the_network(read_cases):
    cases = read_cases("model_copy")
    assert len(cases) == 6
    for case in cases:
        found = find_copy(read(case["input"]["challenger"]), read(case["input"]["king"]), Era.NETWORK)
        assert found == WORDS[case["expected"]["action"]], case["id"]


@pytest.mark.parametrize(
    ("challenger", "king", "network", "safe"),
    [
        ({}, {}, "reject", "reject"),
        ({"published": EARLY}, {"published": LATE}, "crown-earlier", "crown-earlier"),
        ({"published": LATE}, {"published": LATE}, "reject", "reject"),
        ({"weights": {"x": "aaa"}}, {}, "no-copy", "no-copy"),
        ({"weights": None}, {}, "no-copy", "unknown"),
        ({"weights": {}}, {}, "no-copy", "unknown"),
        ({}, {"weights": None}, "no-copy", "unknown"),
        ({}, {"weights": {}}, "no-copy", "unknown"),
        ({"published": None}, {}, "reject", "unknown"),
        ({}, {"published": None}, "reject", "unknown"),
        ({"published": "2026-02-01T00:00:00"}, {"published": "2026-03-01T00:00:00"}, "crown-earlier", "unknown"),
        ({"repository": "u/k", "revision": "d", "weights": None}, {}, "reject", "reject"),
    ],
)
def test_what_cannot_be_told_is_unknown_in_the_safe_era(challenger, king, network, safe):
    sides = replace(COPY, **challenger), replace(KING, **king)
    assert find_copy(*sides, Era.NETWORK) == network
    assert find_copy(*sides, Era.SAFE) == safe


def test_one_weight_file_twice_is_two_files():
    """A king of two equal files is not found in a challenger that has the file once."""
    king = replace(KING, weights={"a": "aaa", "b": "aaa"})
    assert find_copy(replace(COPY, weights={"x": "aaa"}), king, Era.SAFE) == "no-copy"
    assert find_copy(replace(COPY, weights={"x": "aaa", "y": "aaa"}), king, Era.SAFE) == "reject"


@pytest.mark.parametrize("time", ["yesterday", "", "2026-13-01T00:00:00Z"])
def test_a_time_that_is_none_is_refused_or_unknown(time):
    copy = replace(COPY, published=time)
    assert find_copy(copy, KING, Era.SAFE) == "unknown"
    with pytest.raises(BadInput, match="ISO 8601"):
        find_copy(copy, KING, Era.NETWORK)


def test_times_of_two_kinds_cannot_be_compared():
    with pytest.raises(BadInput, match="zone"):
        find_copy(replace(COPY, published="2026-02-01T00:00:00"), KING, Era.NETWORK)
