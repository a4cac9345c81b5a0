"""Models by their text: what is understood, what is refused and in which words."""

import importlib
import sys
from pathlib import Path

import pytest

from assay.kernel.errors import BadInput, MissingMaterial
from assay.models.catalog import ModelSpec, open_model, parse_spec, read_config, train_model
from assay.models.recipes import Noise

WEIGHTS = f"sha256:{'0f' * 32}"


def test_a_server_is_named_with_its_tokenizer_and_its_weights():
    text = f"server:https://host:8000/v1/#org/model?tokenizer=a/b%20c&weights={WEIGHTS}"
    spec = parse_spec(text)
    assert (spec.kind, spec.name, spec.model, spec.text) == ("server", "https://host:8000/v1", "org/model", text)
    assert spec.options == {"tokenizer": "a/b c", "weights": WEIGHTS}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected a model such as local:"),
        ("local", "expected a model such as local:"),
        ("local:", "expected a model such as local:"),
        ("hub:someone/model", "kinds: local, folder, server, scripted"),
        ("local:other", "there is: smollm2-135m-instruct"),
        ("scripted:other", "silent, strong, teacher, weak)"),
        ("server:http://host/v1", "expected server:http://HOST:PORT/v1#MODEL"),
        (f"server:ftp://host/v1#m?tokenizer=t&weights={WEIGHTS}", "expected server:http://HOST:PORT/v1#MODEL"),
        (f"server:http://host/v1#?tokenizer=t&weights={WEIGHTS}", "expected server:http://HOST:PORT/v1#MODEL"),
        ("server:http://host/v1#m?tokenizer=t", "the digest which model is meant"),
        (f"server:http://host/v1#m?weights={WEIGHTS}", "the tokenizer tells where a span begins"),
        (f"server:http://host/v1#m?tokenizer=t&weights={WEIGHTS}&key=x", "expected server:http"),
        ("server:http://host/v1#m?tokenizer=t&weights=sha256:0", "64 lower-case hex digits"),
    ],
)
def test_what_is_no_model_is_refused_with_what_would_be(text, words):
    with pytest.raises(BadInput) as refused:
        parse_spec(text)
    assert words in refused.value.message


def test_an_address_with_a_password_is_refused_without_showing_it():
    with pytest.raises(BadInput) as refused:
        parse_spec(f"server:http://me:hunter2@host/v1#m?tokenizer=t&weights={WEIGHTS}")
    assert "hunter2" not in refused.value.message


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"holds no config\.json"):
        open_model(parse_spec("folder:nowhere"), tmp_path)


def test_a_configuration_is_read_where_there_is_one(tmp_path):
    (tmp_path / "config.json").write_text('{"architectures": ["Llama"]}')
    assert read_config(parse_spec("folder:."), tmp_path) == {"architectures": ["Llama"]}
    assert read_config(parse_spec("scripted:weak"), tmp_path) is None
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(BadInput, match="cannot be read as JSON"):
        read_config(parse_spec("folder:."), tmp_path)


def test_a_recipe_needs_weights(tmp_path):
    recipe = Noise(scale=0.1, seed=1)
    scripted = parse_spec("scripted:weak")
    assert train_model(scripted, recipe, (), folder=tmp_path, advance=lambda *_: None) is scripted
    server = parse_spec(f"server:http://host/v1#m?tokenizer=t&weights={WEIGHTS}")
    with pytest.raises(BadInput, match="a recipe changes weights"):
        train_model(server, recipe, (), folder=tmp_path, advance=lambda *_: None)


class Without:
    """An import system in which some packages are not installed."""

    def __init__(self, *names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_a_package_that_is_not_installed_is_named_with_how_to_install_it(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    held = {
        name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith(("assay.models.local", "torch"))
    }
    sys.meta_path.insert(0, Without("torch"))
    try:
        with pytest.raises(MissingMaterial, match=r"needs torch, which is not installed: pip install torch"):
            open_model(parse_spec("folder:."), tmp_path)
    finally:
        del sys.meta_path[0]
        sys.modules.update(held)


def test_the_scripted_models_need_nothing():
    model = open_model(parse_spec("scripted:teacher"), Path())
    assert (model.identity.name, model.identity.checked) == ("scripted:teacher", True)
    assert isinstance(parse_spec("scripted:teacher"), ModelSpec)
    assert importlib.util.find_spec("assay.models.scripted")
