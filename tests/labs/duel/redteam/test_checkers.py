"""The attacks that no contract decides see it where what they check is broken."""

from collections import Counter
from dataclasses import replace

from assay.kernel.errors import AssayError
from assay.labs.duel.corpus.corpus import open_corpus
from assay.labs.duel.corpus.routing import Routed, route_king
from assay.labs.duel.crown import decide
from assay.labs.duel.redteam.crowns import inflate
from assay.labs.duel.redteam.slicing import snipe, tamper, trap


def test_rt_6_a_slice_that_never_changes_is_found(make_ground):
    finding = snipe(make_ground(), lambda strata, n, _: list(range(n)))
    assert finding.broken == ("every stratum is reached", "slices overlap no more than by chance")


def test_rt_6_a_slice_that_keeps_to_half_of_the_strata_is_found(make_ground):
    finding = snipe(make_ground(), lambda strata, n, seed: [(seed + 7 * at) % 30 for at in range(n)])
    assert "every stratum is reached" in finding.broken


def test_covariate_trap_a_route_that_lets_everything_in_is_found():
    finding = trap(lambda records, _: Routed(kept=tuple({**r, "fold_group": "king_fail"} for r in records), drops={}))
    assert finding.verdict == "lost"
    assert "only what the king failed enters" in finding.broken


def test_covariate_trap_a_route_that_miscounts_is_found():
    def miscount(records, rule):
        routed = route_king(records, rule)
        return replace(routed, drops={"dropped": sum(Counter(routed.drops).values())})

    assert trap(miscount).broken == ("the rest is dropped, and counted by reason",)


class Trusting:
    """Serves whatever the pointer names, and says nothing."""

    stale = None

    def __init__(self, store):
        self._store = store
        self._corpus = None

    @property
    def corpus(self):
        return self._corpus

    def refresh(self):
        try:
            self._corpus = open_corpus(self._store)
        except AssayError:
            return False
        return True


def test_corpus_tamper_a_reader_that_trusts_the_pointer_is_found():
    finding = tamper(Trusting)
    assert len(finding.broken) == 6
    assert not finding.kept


def test_rt_3_a_rule_that_reads_what_a_side_tells_of_itself_is_found(make_ground):
    def believe(row):
        pairs = [replace(pair, c_yc_za=pair.c_yc_za + (pair.a or {}).get("lpA_yc_za", 0.0)) for pair in row.pairs]
        return replace(row, pairs=tuple(pairs))

    def gullible(challenger, king, knobs):
        return decide([*map(believe, challenger)], king, knobs)

    finding = inflate(make_ground("v4"), gullible)
    assert finding.broken == ("no field of the verdict moves", "no score moves")
    assert finding.gained > 1
