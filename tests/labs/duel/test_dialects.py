"""Action dialects: the reference's spans, a slow reading of each rule beside ours, and texts that want to stop us."""

import json
import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import UnknownName
from assay.labs.duel.dialects import DIALECTS, Dialect, Span, find_dialect
from assay.labs.duel.eras import Era
from assay.labs.duel.json_objects import DEEPEST
from assay.labs.duel.rollouts import split_completion
from assay.labs.duel.spans import find_unclosed

BATCH = '{"analysis": "a", "plan": "p", "commands": []}'
PIECES = ["```bash\n", "\n```", "<tool_call>", "</tool_call>", "\\boxed{", " ", "x", "</think>", "{", "}", '"', "\\"]
TEXTS = st.lists(st.sampled_from([*PIECES, BATCH]) | st.text(max_size=4), max_size=12).map("".join)
SCRAPS = [
    *'{}[]":,\\ 1',
    '"analysis":',
    '"plan":1,',
    '"commands":[',
    '"comm\\u0061nds":[]',
    '{"a":',
    "]}",
    "NaN",
    BATCH,
]
JSON_TEXTS = st.lists(st.sampled_from(SCRAPS), max_size=14).map("".join)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
NAMES = st.sampled_from(["analysis", "plan", "commands", "name", "x"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)


def find(kind, text, era=Era.NETWORK):
    return DIALECTS[kind].find(text, era)


def load(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def is_batch(value):
    return isinstance(value, dict) and {"analysis", "plan"} <= value.keys() and isinstance(value.get("commands"), list)


def close_slowly(text, start):
    depth, quoted, escaped = 0, False, False
    for at in range(start, len(text)):
        sign = text[at]
        if quoted:
            quoted = escaped or sign != '"'
            escaped = sign == "\\" and not escaped
        elif sign == '"':
            quoted = True
        elif sign in "{}":
            depth += 1 if sign == "{" else -1
            if depth == 0:
                return at + 1
    return None


def find_batches_slowly(text, *, past_strays):
    found, start = [], text.find("{")
    while start >= 0:
        end = close_slowly(text, start)
        if end is None and not past_strays:
            break
        hit = end is not None and is_batch(load(text[start:end]))
        if hit:
            found.append((start, end))
        start = text.find("{", end if hit else start + 1)
    return found


def find_boxes_slowly(text):
    found = []
    for box in re.finditer(r"\\boxed\{", text):
        depth = 1
        for at in range(box.end(), len(text)):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            if depth == 0:
                if text[box.end() : at].strip():
                    found.append((box.start(), at + 1))
                break
    return found


def test_vectors(read_cases):
    for case in read_cases("dialects"):
        text, kind = case["input"]["text"], case["input"]["kind"]
        if "error" in case["expected"]:
            with pytest.raises(UnknownName, match=f"no dialect is called '{kind}'"):
                find_dialect(kind)
            continue
        spans = find_dialect(kind).find(text, Era.NETWORK)
        last = spans[-1] if spans else None
        assert {
            "spans": [[*span] for span in spans],
            "count": len(spans),
            "last_action": text[last.start : last.end] if last else "",
            "before": text[: last.start] if last else "",
        } == case["expected"], case["id"]


def test_fuzz_vectors(read_cases):
    for case in read_cases("dialect_fuzz"):
        text = case["input"]["text"]
        for kind, expected in case["expected"].items():
            assert [[*span] for span in find(kind, text)] == expected["spans"], (case["id"], kind)
            for name, require in (("split", False), ("split_required", True)):
                found = split_completion(text, kind, require_think_close=require, era=Era.NETWORK)
                assert {"z": found.thought, "y": found.action} == expected[name], (case["id"], kind)


def test_an_unknown_dialect_is_named_with_the_nearest_known():
    with pytest.raises(UnknownName, match="did you mean 'tool_call'"):
        find_dialect("toolcall")
    assert find_dialect(None) is find_dialect("") is DIALECTS["bash"]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("bash", "```bash\n```", []),
        ("bash", "```bash\n\n```", ["```bash\n\n```"]),
        ("bash", "```bash\r\nls\r\n```", []),
        ("bash", "```bash \nls\n```", []),
        ("bash", "```bash\nls\n  ```", []),
        ("bash", "````bash\nls\n````", ["```bash\nls\n```"]),
        ("bash", "```bash\ncat <<E\n```\nx\nE\n```", ["```bash\ncat <<E\n```"]),
        ("tool_call", "<tool_call>a<tool_call>b</tool_call>", ["<tool_call>a<tool_call>b</tool_call>"]),
        ("boxed", r"\boxed{\boxed{1}}", [r"\boxed{\boxed{1}}", r"\boxed{1}"]),
        ("boxed", r"\boxed{1 and \boxed{2}", [r"\boxed{2}"]),
        ("boxed", r"\boxed{\{1}", []),
        ("text", "\u00a0x\u200b ", ["x\u200b"]),
        ("terminus_json", f'{{"reply": {BATCH}}}', [BATCH]),
        ("terminus_json", BATCH.replace('"a"', "NaN"), [BATCH.replace('"a"', "NaN")]),
        ("terminus_json", BATCH.replace("commands", "comm\\u0061nds"), [BATCH.replace("commands", "comm\\u0061nds")]),
        ("terminus_json", BATCH[:-1] + ', "commands": 1}', []),
        ("terminus_json", BATCH[:-1] + ",}", []),
        ("terminus_json", BATCH.replace(",", ""), []),
        ("terminus_json", BATCH.replace('"a"', "[1 2]"), []),
        ("terminus_json", BATCH.replace('"a"', "-Infinity"), [BATCH.replace('"a"', "-Infinity")]),
        ("terminus_json", BATCH.replace('"a"', BATCH), [BATCH.replace('"a"', BATCH)]),
        ("terminus_json", BATCH.replace('"a"', '"\\"}{"'), [BATCH.replace('"a"', '"\\"}{"')]),
        ("terminus_json", BATCH.replace('"a"', '"a\n"'), []),
        ("terminus_json", BATCH.replace('"a"', "9" * 4300), [BATCH.replace('"a"', "9" * 4300)]),
        ("terminus_json", BATCH.replace('"a"', "9" * 4301), []),
    ],
)
def test_what_is_an_action(kind, text, expected):
    for era in Era:
        assert [text[span.start : span.end] for span in find(kind, text, era)] == expected


@given(TEXTS)
def test_spans_lie_in_the_text_in_order_and_hold_no_blank_action(text):
    for dialect in DIALECTS.values():
        for era in Era:
            spans = dialect.find(text, era)
            assert [*spans] == sorted(set(spans))
            assert all(
                0 <= span.start < span.end <= len(text) and text[span.start : span.end].strip() for span in spans
            )
            if dialect.name != "boxed":
                assert all(left.end <= right.start for left, right in pairwise(spans))
            else:
                assert all(left.end <= right.start or left.end > right.end for left, right in pairwise(spans))


@given(st.text(alphabet='{}"\\x', max_size=16), st.integers(0, 3))
def test_braces_that_nothing_closes_are_those_of_the_slow_reading(text, start):
    unclosed = find_unclosed(text, start)
    for brace in re.finditer("{", text[start:]):
        at = start + brace.start()
        assert (at in unclosed) == (close_slowly(text, at) is None)


@given(TEXTS)
def test_the_eras_differ_in_the_last_dialect_only(text):
    for name in DIALECTS.keys() - {"terminus_json"}:
        assert find(name, text) == find(name, text, Era.SAFE)


@given(TEXTS)
def test_fences_calls_and_boxes_are_those_of_the_slow_reading(text):
    for kind, pattern in (("bash", "```bash\n.*?\n```"), ("tool_call", "<tool_call>.*?</tool_call>")):
        assert [*find(kind, text)] == [match.span() for match in re.finditer(pattern, text, re.DOTALL)]
    assert [*find("boxed", text)] == find_boxes_slowly(text)


@given(JSON_TEXTS | TEXTS | st.tuples(JSON_TEXTS, VALUES.map(json.dumps), JSON_TEXTS).map("".join))
def test_batches_are_those_of_the_slow_reading(text):
    network, safe = find("terminus_json", text), find("terminus_json", text, Era.SAFE)
    assert [*network] == find_batches_slowly(text, past_strays=False)
    assert [*safe] == find_batches_slowly(text, past_strays=True)
    assert network == safe[: len(network)]
    if all(close_slowly(text, brace.start()) for brace in re.finditer("{", text)):
        assert network == safe


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I open a { and then " + BATCH, [BATCH]),
        ('{"analysis": "cut ' + "off\n" + BATCH + " { and " + BATCH, [BATCH, BATCH]),
        ('say "{ ' + BATCH, [BATCH]),
    ],
)
def test_a_stray_brace_costs_the_turn_on_the_network_and_nothing_under_the_safe_reading(text, expected):
    assert find("terminus_json", text) == ()
    assert [text[span.start : span.end] for span in find("terminus_json", text, Era.SAFE)] == expected


def test_how_deep_an_action_may_go_does_not_hang_on_the_stack():
    def nest(depth):
        return BATCH.replace('"a"', "[" * depth + "]" * depth)

    def find_from_below(text, frames):
        return find_from_below(text, frames - 1) if frames else find("terminus_json", text, Era.SAFE)

    for frames in (0, 600):
        assert len(find_from_below(nest(DEEPEST - 1), frames)) == 1
        assert find_from_below(nest(DEEPEST), frames) == ()
        assert find_from_below(nest(100_000), frames) == ()
        inside = f'{{"reply": {BATCH}, "deep": {"[" * 5000}{"]" * 5000}}}'
        assert len(find_from_below(inside, frames)) == 1


HOSTILE = {
    "braces": "{" * 100_000,
    "closed braces": "{" * 50_000 + "}" * 50_000,
    "pairs": "{}" * 50_000,
    "objects": '{"a":' * 20_000,
    "closed objects": '{"a":' * 20_000 + "x" + "}" * 20_000,
    "quoted braces": '{"' * 50_000,
    "wrong escapes": '{"\\x' * 25_000,
    "wrong values": '{"a":x' * 20_000 + "}" * 20_000,
    "deep strings": '{"a":' * 800 + '"' + "s" * 100_000 + "\n" + "}" * 800,
    "escapes": '{"a":"' + '\\"' * 50_000,
    "spaces": '{"a":' + " " * 100_000,
    "numbers": '{"a":' + "1" * 100_000,
    "brackets": '{"a":' + "[" * 100_000,
    "boxes": "\\boxed{" * 20_000,
    "blank boxes": "\\boxed{" * 50_000 + " " * 100_000 + "}",
    "fences": ("```bash\n" + "x ") * 40_000,
    "fence ends": "\n```" * 100_000,
    "calls": "<tool_call>" * 40_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_repetition_stops_no_search(text):
    begun = time.process_time()
    for name in DIALECTS.keys() - {"text"}:
        for era in Era:
            assert find(name, text, era) == ()
    assert time.process_time() - begun < 15  # well below a second here; one that grows with the square takes minutes


def test_boxes_in_one_another_are_all_found():
    text = "\\boxed{" * 50_000 + "1" + "}" * 50_000
    assert len(find("boxed", text)) == 50_000


def test_a_dialect_is_added_by_a_row():
    shout = Dialect(
        name="shout", find=lambda text, _: (Span(len(text) - 3, len(text)),) if text.endswith("!!!") else (), marker=""
    )
    rows = {**DIALECTS, "shout": shout}
    found = split_completion("why</think>so !!!", "shout", require_think_close=True, era=Era.SAFE, dialects=rows)
    assert (found.thought, found.action) == ("why\nso", "!!!")
    assert split_completion("why</think>so", "shout", require_think_close=True, era=Era.SAFE, dialects=rows).forfeit
    with pytest.raises(UnknownName):
        split_completion("x", "shout", require_think_close=False, era=Era.SAFE)
