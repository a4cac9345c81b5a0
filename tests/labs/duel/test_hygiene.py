"""Hygiene of submissions: each rule with what breaks it, in the order in which they are told."""

import pytest

from assay.labs.duel.eras import Era
from assay.labs.duel.hygiene import Limits, find_violation, is_allowed_name, names_its_owner

GB = 10**9
CONFIG = {"architectures": ["A"]}
WHOLE = {"config.json": 100, "model.safetensors": GB}
INDEX = "model.safetensors.index.json"


def shards(*numbers, count=2):
    return {"config.json": 100, INDEX: 100} | {f"model-{n:05}-of-{count:05}.safetensors": GB for n in numbers}


BOTH = [
    (WHOLE, CONFIG, None),
    (shards(1, 2), CONFIG, None),
    (WHOLE | {f"{n}.txt": 1 for n in range(4999)}, CONFIG, "too-many-files"),
    (WHOLE | {"a/model.py": 1}, CONFIG, "code-file"),
    (WHOLE, CONFIG | {"auto_map": {}}, "auto-map"),
    (WHOLE, CONFIG | {"x": "y" * 2**20}, "config-too-large"),
    ({"config.json": 100}, CONFIG, "no-weights"),
    ({"config.json": 100, "other.safetensors": 1}, CONFIG, "weights-not-standard"),
    ({"config.json": 100, "model-00001-of-00001.safetensors": 1}, CONFIG, "weights-not-standard"),
    ({"config.json": 100, "a/model.safetensors": 1}, CONFIG, "weights-not-standard"),
    ({"config.json": 100, "model.safetensors": 90 * GB}, CONFIG, None),
    ({"config.json": 100, "model.safetensors": 90 * GB + 1}, CONFIG, "weights-too-large"),
    (WHOLE | {"notes.txt": 99 * GB}, CONFIG, "repository-too-large"),
]


@pytest.mark.parametrize("era", list(Era))
@pytest.mark.parametrize(("files", "config", "expected"), BOTH)
def test_both_eras_find(files, config, expected, era):
    assert find_violation(files, config, era) == expected


@pytest.mark.parametrize(
    ("files", "config", "network", "safe"),
    [
        (WHOLE | {"Model.PY": 1}, CONFIG, None, "code-file"),
        (WHOLE | {"training_args.bin": 1}, CONFIG, None, "code-file"),
        (WHOLE | {"weights.PKL": 1}, CONFIG, None, "code-file"),
        (WHOLE, CONFIG | {"text_config": [{"auto_map": {}}]}, None, "auto-map"),
        (WHOLE, None, None, "config-missing"),
        (WHOLE, [], None, "config-missing"),
        ({"model.safetensors": GB}, CONFIG, None, "config-missing"),
        (WHOLE | {"config.json": 2**20 + 1}, CONFIG, None, "config-too-large"),
        (shards(1), CONFIG, None, "weights-not-standard"),
        (shards(1, 3), CONFIG, None, "weights-not-standard"),
        (shards(1, 2) | {"extra.safetensors": 1}, CONFIG, None, "weights-not-standard"),
        (shards(1, 2) | shards(1, 2, 3, count=3), CONFIG, None, "weights-not-standard"),
        (WHOLE | shards(1, 2), CONFIG, None, "weights-not-standard"),
        (WHOLE | {"a.txt": -GB}, CONFIG, None, "bad-size"),
        (WHOLE | {"a.txt": True}, CONFIG, None, "bad-size"),
    ],
)
def test_the_safe_reading_closes(files, config, network, safe):
    assert find_violation(files, config, Era.NETWORK) == network
    assert find_violation(files, config, Era.SAFE) == safe


def test_the_first_rule_that_fails_is_told():
    files, config = {f"{n}.py": 50 * GB for n in range(3)}, {"auto_map": {}, "x": "y" * 2**20}
    assert find_violation(files, config, Era.SAFE, Limits(files=2)) == "too-many-files"
    assert find_violation(files, config, Era.SAFE) == "code-file"
    assert find_violation({}, config, Era.NETWORK) == "auto-map"


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("config.json", True),
        ("model.safetensors", True),
        ("model-00001-of-00021.safetensors", True),
        ("LICENSE", True),
        ("LICENSE.md", True),
        ("chat_template.jinja", True),
        (".gitattributes", True),
        ("LICENSE.MD", False),
        ("model-1-of-2.safetensors", False),
        ("model-00001-of-00021.safetensors.py", False),
        ("Config.json", False),
        ("a/config.json", False),
        ("manifest.json", False),
        ("", False),
        ("config.json\n\n", False),
        ("model-\u0660\u0660\u0660\u0660\u0661-of-00002.safetensors", False),
    ],
)
@pytest.mark.parametrize("era", list(Era))
def test_file_names_of_a_submission(name, allowed, era):
    assert is_allowed_name(name, era) is allowed


@pytest.mark.parametrize("name", ["config.json\n", "LICENSE.md\n", "model-00001-of-00002.safetensors\n"])
def test_a_name_with_a_line_end_is_another_name_in_the_safe_era(name):
    assert is_allowed_name(name, Era.NETWORK)
    assert not is_allowed_name(name, Era.SAFE)


HOTKEY, COLDKEY = "5AbcdXXXXXXXXXXwxyzQ", "5FghiYYYYYYYYYYstuvR"


@pytest.mark.parametrize(
    ("repository", "named"),
    [
        ("u/Affine-5abcd-wxyzq", True),
        ("u/affine-x-5ABCD.WXYZQ", True),
        ("u/Affine-5fghi-stuvr", True),
        ("u/Affine-5abcd-stuvr", False),
        ("u/Affine-5abcd", False),
        ("u/Affine5abcd-wxyzq", False),
        ("u/v/Affine-5abcd-wxyzq", False),
        ("Affine-5abcd-wxyzq", False),
    ],
)
@pytest.mark.parametrize("era", list(Era))
def test_a_public_repository_names_its_owner(repository, named, era):
    assert names_its_owner(repository, (HOTKEY, COLDKEY), era) is named


def test_an_empty_key_names_nobody():
    assert not names_its_owner("u/Affine-x", ("", "a"), Era.SAFE)
    assert names_its_owner("u/Affine-5abcd-wxyzq\n", (HOTKEY,), Era.NETWORK)
    assert not names_its_owner("u/Affine-5abcd-wxyzq\n", (HOTKEY,), Era.SAFE)
