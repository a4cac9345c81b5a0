"""A small world of duels: a corpus of rollouts of one turn, and contracts between scripted models over it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from assay.labs.duel.corpus.planning import Revision
from assay.labs.duel.corpus.publish import publish
from assay.models.catalog import open_model, parse_spec
from assay.objects.folder import FolderStore

__all__ = ["FORMS", "make_contract", "make_view_record", "publish_corpus"]

FORMS: Final[Mapping[str, tuple[str, str]]] = {
    "bash": ("Reply with exactly one bash block.", "look\n```bash\nls -la\n```"),
    "boxed": ("Put the answer into \\boxed{}.", "so \\boxed{4}"),
    "tool_call": ("Use a tool: <tool_call>...</tool_call>.", "look\n<tool_call>ls</tool_call>"),
    "terminus_json": (
        'Answer as JSON with "analysis", "plan" and "commands".',
        '{"analysis": "a", "plan": "p", "commands": ["ls"]}',
    ),
    "text": ("Say what is the case.", "All is well."),
}
"""What mandates each dialect, and a reply in it."""

_WORDS: Final = (
    "parser",
    "module",
    "logger",
    "config",
    "network",
    "buffer",
    "thread",
    "signal",
    "packet",
    "header",
    "socket",
)


def make_view_record(number: int) -> dict[str, Any]:
    """The view record of a rollout of one turn; its dialect and its task hang on the number."""
    kind, (system, reply) = sorted(FORMS.items())[number % len(FORMS)]
    task = " ".join(_WORDS[(number * step + step) % len(_WORDS)] for step in range(1, 8))
    contents = [("system", system), ("user", f"Task {number}: look after {task}"), ("assistant", reply)]
    nodes = [
        {"parent": at - 1 if at else None, "role": role, "content": text} for at, (role, text) in enumerate(contents)
    ]
    turn = {
        "turn_idx": 0,
        "node_id": 2,
        "phase": "early",
        "suffix_len": len(reply),
        "n_prefix_chars": sum(len(text) for _, text in contents[:2]),
        "action_kind": kind,
    }
    return {
        "view": "duel_turns@v4",
        "rollout_id": f"r{number}",
        "traj_id": f"task{number}.{number:08x}.pr_{number}__run",
        "instance_id": f"task{number}-{number}",
        "repo": "",
        "model": "scripted",
        "policy": {"id": "p", "harness": "h", "action_kind": kind},
        "source": "tests",
        "language": "",
        "action_kind": kind,
        "generated_at": "2026-09-10T00:00:00Z",
        "outcome": "solved",
        "nodes": nodes,
        "turns": [turn],
    }


def publish_corpus(folder: Path, rollouts: int = 40) -> str:
    """Publishes a corpus of so many rollouts in a folder, and returns the digest of its manifest in hex."""
    revision = Revision(
        base=None,
        records=tuple(make_view_record(number) for number in range(rollouts)),
        created_at="2026-09-10T00:00:00.000Z",
        allowed_action_kinds=tuple(sorted(FORMS)),
    )
    return publish(FolderStore(folder), revision)


def make_contract(
    manifest: str,
    *,
    turns: int = 15,
    challenger_model: str = "strong",
    **changes: Any,  # noqa: ANN401 - sections are of any shape
) -> dict[str, Any]:
    """A contract between scripted models over the corpus in the folder ``corpus``.

    Args:
        manifest: The digest of the corpus's manifest.
        turns: How many turns are played.
        challenger_model: The scripted model that wants the crown.
        changes: Sections that are replaced, or whose members are.
    """
    document: dict[str, Any] = {
        "lab": "duel",
        "version": 1,
        "id": "scripted",
        "question": "Does the strong model beat the weak one?",
        "dialects": sorted(FORMS),
        "contract": {"version": 15, "history": [{"version": 15, "since": "2026-12-01", "what": "ours"}]},
        "seenBefore": [{"who": "the tests", "what": "everything"}],
        "teacher": {"model": "scripted:teacher", "weights": _weights("scripted:teacher")},
        "king": {"name": "old", "model": "scripted:weak"},
        "challenger": {"name": "new", "key": "5Dkey", "model": f"scripted:{challenger_model}"},
        "corpus": {"store": "corpus", "manifest": manifest},
        "slice": {"beacon": "0x00", "beaconFrom": "the tests chose it", "turns": turns},
        "duel": {
            "scoreMode": "min_rg",
            "tau": 0.03,
            "bandC": 2.0,
            "bandFloor": 0.002,
            "forfeitTurnScore": -0.1,
            "kSigma": 2.0,
            "minMargin": 0.002,
            "minThoughtChars": 20,
            "causalityGamma": 0.3,
            "teacherSamples": 3,
            "requireThinkClose": True,
            "temperature": 0.7,
            "maxThoughtTokens": 64,
            "maxActionTokens": 64,
        },
        "probes": {"injectability": {"turns": 2}, "protocol": {"mode": "shadow", "samples": 1, "maxTokens": 64}},
        "run": {"concurrency": 4},
    }
    for section, members in changes.items():
        own = document.get(section)
        document[section] = own | members if isinstance(own, dict) and isinstance(members, dict) else members
    return document


def _weights(name: str) -> str:
    return open_model(parse_spec(name), Path()).identity.weights
