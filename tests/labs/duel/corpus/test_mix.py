"""The mix: what is taken of each group, what waits, and that only the most over-supplied one is ever trimmed."""

from hypothesis import given
from hypothesis import strategies as st

from assay.labs.duel.corpus.mix import GROUP_MIX, LANGUAGE_MIX, Mix, cap_fill, fill_mix, language_of
from assay.labs.duel.corpus.routing import group_of


def test_the_mix_takes_what_the_vectors_say(read_cases):
    for case in read_cases("cap_fill"):
        asked, expected = case["input"], case["expected"]

        def key_of(record, asked=asked):
            if asked["key"] == "lang":
                return language_of(record)
            return group_of(record, asked["source_to_group"], asked["targets"])

        filled = cap_fill(asked["records"], key_of, asked["have"], asked["targets"])
        assert [record["traj_id"] for record in filled.selected] == expected["selected"], case["id"]
        assert [record["traj_id"] for record in filled.deferred] == expected["deferred"], case["id"]
        assert {key: list(strata) for key, strata in filled.added.items()} == expected["added"], case["id"]


def rollouts(key, count, *, first=0):
    return [{"traj_id": f"{key}.x.pr_{first + n}", "stratum": f"{key}:{first + n}", "k": key} for n in range(count)]


def key_of(record):
    return record["k"]


def test_the_most_over_supplied_key_is_capped_where_the_next_is_on_target():
    filled = cap_fill(rollouts("a", 30) + rollouts("b", 10), key_of, {}, {"a": 0.5, "b": 0.5})
    assert {key: len(strata) for key, strata in filled.added.items()} == {"a": 10, "b": 10}
    assert len(filled.deferred) == 20


def test_what_opens_no_stratum_always_enters():
    again = rollouts("a", 5)
    filled = cap_fill(again * 3 + rollouts("a", 5, first=5), key_of, {"a": ["a:0"]}, {"a": 0.5, "b": 0.5})
    assert [record["stratum"] for record in filled.selected] == ["a:0"] * 3
    assert filled.added == {"a": ()}


def test_a_key_without_a_target_waits_whole():
    filled = cap_fill(rollouts("a", 2) + rollouts("b", 2), key_of, {}, {"a": 1.0, "b": 0.0})
    assert [record["k"] for record in filled.selected] == ["a", "a"]
    assert [record["k"] for record in filled.deferred] == ["b", "b"]


@given(
    keys=st.lists(st.sampled_from("abcd"), max_size=60),
    held=st.dictionaries(st.sampled_from("abcd"), st.integers(0, 20)),
)
def test_nothing_is_lost_or_doubled_and_one_key_at_most_is_trimmed(keys, held):
    records = [{"traj_id": f"{key}{n}", "stratum": f"{key}:{n % 17}", "k": key} for n, key in enumerate(keys)]
    have = {key: [f"{key}:{n}" for n in range(count)] for key, count in held.items()}
    filled = cap_fill(records, key_of, have, dict.fromkeys("abcd", 0.25))
    ids = [record["traj_id"] for record in filled.selected + filled.deferred]
    assert sorted(ids) == sorted(record["traj_id"] for record in records)
    assert len({record["k"] for record in filled.deferred}) <= 1


def coding(language, count, *, repo="r"):
    return [{"traj_id": f"{repo}{language}{n}.x.pr_{n}", "language": language, "source": "s"} for n in range(count)]


def take(records, languages=LANGUAGE_MIX, have=({}, {})):
    mix = Mix(groups=GROUP_MIX, languages=languages)
    return fill_mix(records, lambda record: group_of(record, {"s": "coding", "m": "math"}, GROUP_MIX), have, mix)


def test_languages_are_shared_out_before_groups():
    few = {"python": 0.5, "go": 0.5}
    math = [{"traj_id": f"m{n}.x", "source": "m", "stratum": f"math:{n}"} for n in range(40)]
    filled, added = take(coding("python", 50) + coding("go", 10) + math, few)
    assert {language: len(strata) for language, strata in added.items()} == {"python": 10, "go": 10}
    assert len(filled.added["coding"]) == 20
    assert {record["language"] for record in filled.deferred if record["source"] == "s"} == {"python"}


def test_a_stratum_that_only_the_language_mix_took_is_not_counted_as_held():
    """Coding is trimmed by group as well: what waits there has opened nothing."""
    filled, added = take(coding("go", 50), {"go": 1.0})
    assert sum(map(len, added.values())) == len(filled.added["coding"])
    assert len(filled.selected) + len(filled.deferred) == 50


def test_without_shares_of_languages_all_of_coding_is_one():
    filled, _ = take(coding("go", 3) + coding("python", 3), {})
    assert len(filled.selected) + len(filled.deferred) == 6


def test_unknown_languages_count_as_python():
    assert [language_of({"language": name}) for name in (None, "", "Kotlin", "py", "Rust", "PHP", " Go ")] == [
        "python", "python", "python", "python", "rs", "tsjs", "go",
    ]  # fmt: skip
