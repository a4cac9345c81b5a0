"""Which paths can lie beside one another."""

import pytest

from assay.kernel.paths import RESERVED, TakenPaths


@pytest.mark.parametrize(
    ("taken", "path", "conflict"),
    [
        ([], "a", None),
        (["a"], "b", None),
        (["a"], "a", "a"),
        (["a"], "a/b", "a"),
        (["a/b"], "a", "a/"),
        (["a/b"], "a/c", None),
        (["a/b/c"], "a/b", "a/b/"),
        (["a/b/c"], "a/b/c/d/e", "a/b/c"),
        (["ab"], "a", None),
        (["a"], "ab", None),
        (RESERVED, "manifest.json", "manifest.json"),
        (RESERVED, "checkpoints/000000.json", "checkpoints"),
        (RESERVED, "proofs/x/y", "proofs"),
        (RESERVED, "notes", "notes"),
        (RESERVED, "anchors/1", "anchors"),
        (RESERVED, "notes.txt", None),
    ],
)
def test_conflicts(taken, path, conflict):
    assert TakenPaths(taken).conflict(path) == conflict


def test_more_paths_can_be_taken():
    taken = TakenPaths(["a"])
    taken.extend(["b/c"])
    assert [taken.conflict(path) for path in ("a", "b", "b/c", "b/d")] == ["a", "b/", "b/c", None]
