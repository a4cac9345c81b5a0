"""Registration files: one strict reading for YAML, TOML and JSON, and a clear word for every file that has none."""

import os
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.errors import BadInput, MalformedDocument
from assay.rules.documents import LARGEST_DOCUMENT, read_document, read_file
from assay.rules.yaml_documents import read_yaml

EXPECTED = {
    "id": "x-1",
    "level": 0.95,
    "draws": 20000,
    "on": True,
    "none": [None, "no", "yes", "1_000", "12:30"],
    "nested": {"true": ["true"], "false": ["false"], "text": "a\nb\n", "big": 9007199254740991, "neg": -3},
}
YAML = b"""# comment
id: x-1
level: 0.95
draws: 20000
"on": true
none: [~, no, yes, 1_000, 12:30]
nested: {true: ["true"], false: ["false"], text: "a\\nb\\n", big: 9007199254740991, neg: -3}
"""
TOML = b"""id = "x-1"
level = 0.95
draws = 20000
on = true
[nested]
true = ["true"]
false = ["false"]
text = "a\\nb\\n"
big = 9007199254740991
neg = -3
"""
JSON = b"""{"id": "x-1", "level": 0.95, "draws": 20000, "on": true, "none": [null, "no", "yes", "1_000", "12:30"],
"nested": {"true": ["true"], "false": ["false"], "text": "a\\nb\\n", "big": 9007199254740991, "neg": -3}}"""


def write(folder, name, data):
    path = folder / name
    path.write_bytes(data)
    return path


def test_the_three_writings_read_alike(tmp_path):
    assert read_document(write(tmp_path, "a.yaml", YAML)) == EXPECTED
    assert read_document(write(tmp_path, "a.yml", YAML)) == EXPECTED
    assert read_document(write(tmp_path, "a.YAML", b"\xef\xbb\xbf" + YAML)) == EXPECTED
    assert read_document(write(tmp_path, "a.json", JSON)) == EXPECTED
    expected = {name: value for name, value in EXPECTED.items() if name != "none"}
    assert read_document(write(tmp_path, "a.toml", TOML)) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("~", None),
        ("", None),
        ("TRUE", True),
        ('"true"', "true"),
        ("'1'", "1"),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("+7", 7),
        ("-0", 0),
        ("|\n  a\n  b\n", "a\nb\n"),
        (">-\n  a\n  b\n", "a b"),
        ('"2026-01-01"', "2026-01-01"),
        ("1.2.3", "1.2.3"),
        ("=", "="),
        ("0b1", "0b1"),
    ],
)
def test_yaml_scalars_follow_the_core_schema(text, value):
    read = read_yaml(f"a: {text}\n")
    assert read == {"a": value}
    assert type(read["a"]) is type(value)


@pytest.mark.parametrize(
    ("text", "reason", "words"),
    [
        ("a: 1\nb: 2\na: 3", "duplicate-key", "line 3: 'a' is given a second time"),
        ("a: {b: 1, 'b': 2}", "duplicate-key", "line 1"),
        ("a: .nan", "not-finite", "line 1: numbers are finite"),
        ("a: 1\nb: -.inf", "not-finite", "line 2"),
        ("a: 1e999", "not-finite", "beyond the largest"),
        ("a: 9007199254740992", "integer-range", "beyond ±(2^53−1)"),
        ("a: " + "9" * 10_000, "integer-range", "beyond"),
        ("a: 1e300", "integer-range", "beyond"),
        ('a: "\\uD800"', "lone-surrogate", "line 1: a lone surrogate"),
        ('"\\udc00": 1', "lone-surrogate", "line 1"),
        ("a: &x 1\nb: *x", "anchor", "line 1: anchors"),
        ("b: *x", "alias", "line 1: aliases"),
        ("*x : 1", "alias", "line 1"),
        ("a: !!python/object/apply:os.system [ls]", "tag", "line 1: tags ("),
        ("a: !!str 5", "tag", "tags"),
        ("a: !local 5", "tag", "tags"),
        ("a: 2026-01-01", "time", "line 1: a date or time is not JSON; put '2026-01-01' in quotes"),
        ("a: 2026-01-01T10:00:00Z", "time", "in quotes"),
        ("a: 2026-01-01 10:00:00", "time", "in quotes"),
        ("a: 007", "number", "plain decimal"),
        ("a: 0x1F", "number", "plain decimal"),
        ("a: 0o17", "number", "plain decimal"),
        ("1: a", "key-type", "put '1' in quotes"),
        ("1.5: a", "key-type", "in quotes"),
        ("null: a", "key-type", "in quotes"),
        (": a", "key-type", "in quotes"),
        ("True: a", "key-type", "in quotes"),
        ("2026-01-01: a", "time", "in quotes"),
        ("? [a, b]\n: c", "key-type", "not a list or an object"),
        ("? {a: b}\n: c", "key-type", "not a list or an object"),
        ("a: {<<: {b: 1}}", "merge", "merge keys"),
        ("a: 1\n---\nb: 2", "trailing-data", "line 2: a second document"),
        ("# nothing\n", "empty", "nothing but comments"),
        ("a: [1, 2", "syntax", "line 1: not YAML"),
        ("a: b: c", "syntax", "line 1: not YAML"),
        ("\ta: 1", "syntax", "line 1"),
        ("a: '", "syntax", "line 1"),
        ("a: \x01", "syntax", "not YAML"),
        ('a: "\\U00110000"', "syntax", "not YAML"),
        ("a: " + "[" * 500 + "]" * 500, "too-deep", "128 levels"),
        ("- " * 3000 + "a", "too-deep", "128 levels"),
        ("{a: " * 200 + "1" + "}" * 200, "too-deep", "128 levels"),
    ],
)
def test_yaml_that_readers_could_read_differently_is_refused(text, reason, words):
    with pytest.raises(MalformedDocument) as caught:
        read_yaml(text)
    assert caught.value.details["reason"] == reason, caught.value.message
    assert words in caught.value.message


def test_a_bomb_of_aliases_is_refused_at_its_first_anchor():
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    with pytest.raises(MalformedDocument, match="line 1: anchors"):
        read_yaml("\n".join(lines))


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.txt", b"a: 1", "expected a file named .yaml, .yml, .toml, .json"),
        ("a", b"a: 1", "expected a file named"),
        ("a.yaml", b"", "the file is empty"),
        ("a.json", b" \n ", "the file is empty"),
        ("a.yaml", b"a: \xff", "line 1: byte 0xff is not UTF-8"),
        ("a.toml", b"a = 1\nb = '\xff'", "line 2: byte 0xff is not UTF-8"),
        ("a.json", b'{"a": "\xff"}', "expected UTF-8"),
        ("a.yaml", b"- a", "expected an object of named members"),
        ("a.yaml", b"text", "expected an object of named members"),
        ("a.json", b"[]", "expected an object of named members"),
        ("a.json", b"\xef\xbb\xbf{}", "byte order mark"),
        ("a.json", b'{"a": 1, "a": 2}', "appears more than once"),
        ("a.json", b'{"a": NaN}', "NaN is not JSON"),
        ("a.json", b'{"a": 1e999}', "beyond the largest float"),
        ("a.json", b'{"a": 9007199254740992}', "9007199254740992"),
        ("a.json", b'{"a": "\\ud800"}', "lone surrogate"),
        ("a.json", b'{"a": 1} {}', "one JSON document"),
        ("a.json", b'{"a": 1', "not JSON"),
        ("a.json", b"[" * 5000, "128 levels"),
        ("a.toml", b"a = 1\na = 2\nb = 3", "not TOML: Cannot overwrite a value (at line 2"),
        ("a.toml", b"[a]\nb = 1\n[a]\nb = 2", "not TOML"),
        ("a.toml", b"a = nan", "a: numbers are finite"),
        ("a.toml", b"[a]\nb = [1, -inf]", "a.b[1]: numbers are finite"),
        ("a.toml", b"a = 9007199254740992", "a: an integer beyond"),
        ("a.toml", b"a = 1e300", "a: an integer beyond"),
        ("a.toml", b"a = " + b"9" * 10_000, "TOML"),
        ("a.toml", b"a = 2026-01-01", "a: a date or time is not JSON; put it in quotes"),
        ("a.toml", b"a = 2026-01-01T10:00:00Z", "in quotes"),
        ("a.toml", b"a = 10:00:00", "in quotes"),
        ("a.toml", b"a = {b = 2026-01-01}", "a.b: a date"),
        ("a.toml", b'a = "\\ud800"', "not TOML"),
        ("a.toml", b"a = " + b"[" * 300 + b"]" * 300, "nested deeper than 128"),
        ("a.toml", b"a = " + b"[" * 50_000 + b"]" * 50_000, "nested deeper than 128"),
        ("a.yaml", b"a: " + b"x" * 1_000_001, "larger than 1,000,000 bytes"),
        ("a.json", b" " * (LARGEST_DOCUMENT + 1), "larger than 10,000,000 bytes"),
    ],
)
def test_files_that_cannot_be_read_say_why(tmp_path, name, data, words):
    path = write(tmp_path, name, data)
    with pytest.raises(BadInput) as caught:
        read_document(path)
    assert words in caught.value.message
    assert caught.value.message.startswith(str(path))


def test_what_is_not_a_file_says_what_it_is(tmp_path):
    with pytest.raises(BadInput, match="there is no such file"):
        read_document(tmp_path / "missing.yaml")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(BadInput, match="this is a folder"):
        read_document(tmp_path / "folder.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(BadInput, match="no regular file"):
        read_document(tmp_path / "pipe.yaml")
    with pytest.raises(BadInput, match="cannot be read"):
        read_document(tmp_path / ("x" * 5000 + ".yaml"))
    with pytest.raises(BadInput, match=r"no such file|cannot be read"):
        read_file(tmp_path / "nul\0.yaml", 10)
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    with pytest.raises(BadInput):
        read_document(tmp_path / "loop.yaml")


@given(text=st.text(alphabet=st.sampled_from(list("ab:-#&*!|>'\"{}[],?% \n\t\\0159.~<@`\ud800é")), max_size=40))
def test_yaml_of_any_kind_is_read_or_refused(text):
    with suppress(MalformedDocument):
        read_yaml(text)
