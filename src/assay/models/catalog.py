"""Models by the text under which a contract names them; what a backend needs is imported when it is named.

=====================================  ==========================================================================
``local:smollm2-135m-instruct``        a model whose weights an installed package carries, run in this process
``folder:models/mine``                 a folder that transformers loads, run in this process
``server:http://host:8000/v1#name``    a model of an OpenAI-compatible server; ``?tokenizer=FOLDER`` names its
                                       tokenizer, ``&weights=sha256:…`` the digest that whoever serves it declares;
                                       both are needed
``scripted:teacher``                   a small deterministic stand-in, for tests and for trying a contract out
=====================================  ==========================================================================
"""

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast
from urllib.parse import parse_qs

from assay.kernel.canonical import Json, loads
from assay.kernel.errors import AssayError, BadInput, MissingMaterial
from assay.models.packaged import PACKAGED, cache_folder
from assay.models.protocol import Model
from assay.models.recipes import Lesson, Noise, Training
from assay.models.scripted import PROFILES, ScriptedModel

__all__ = ["KINDS", "ModelSpec", "find_folder", "open_model", "parse_spec", "read_config", "train_model"]

Kind: TypeAlias = Literal["local", "folder", "server", "scripted"]
KINDS: Final = ("local", "folder", "server", "scripted")
LOCAL_NAMES: Final = tuple(sorted(PACKAGED))

_URL: Final = re.compile(r"https?://[^\s#?]+")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_INSTALL: Final = "pip install torch==2.13.0, then pip install '.[ml]' in Assay's checkout"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """Which model is meant.

    Args:
        text: The text that says it.
        kind: Which backend runs it.
        name: Its name there, its folder, or its address.
        model: Its name at a server.
        options: What else a server's text says.
    """

    text: str
    kind: Kind
    name: str
    model: str = ""
    options: Mapping[str, str] | None = None


def parse_spec(text: str) -> ModelSpec:
    """The model that a text means.

    Raises:
        BadInput: It means none.
    """
    kind, colon, name = text.partition(":")
    if not colon or kind not in KINDS or not name:
        msg = f"expected a model such as local:{LOCAL_NAMES[0]} (kinds: {', '.join(KINDS)}), got {text!a:.100}"
        raise BadInput(msg)
    if kind == "local" and name not in LOCAL_NAMES:
        msg = f"no packaged model is called {name!a:.60} (there is: {', '.join(LOCAL_NAMES)})"
        raise BadInput(msg)
    if kind == "scripted" and name not in PROFILES:
        msg = f"no scripted model is called {name!a:.60} (there are: {', '.join(sorted(PROFILES))})"
        raise BadInput(msg)
    spec = ModelSpec(text=text, kind=kind, name=name)
    return _parse_server(spec) if kind == "server" else spec


def _parse_server(spec: ModelSpec) -> ModelSpec:
    address, _, rest = spec.name.partition("#")
    if "@" in address:
        msg = "a server's address holds no user and password: a contract is public (they are not shown here)"
        raise BadInput(msg)
    model, _, query = rest.partition("?")
    options = {key: values[-1] for key, values in parse_qs(query).items()}
    if not _URL.fullmatch(address) or not model or set(options) != {"tokenizer", "weights"}:
        msg = (
            "expected server:http://HOST:PORT/v1#MODEL?tokenizer=FOLDER&weights=sha256:DIGEST (the tokenizer tells "
            f"where a span begins, the digest which model is meant), got {spec.text!a:.120}"
        )
        raise BadInput(msg)
    if not _DIGEST.fullmatch(options["weights"]):
        msg = f"expected weights=sha256: and 64 lower-case hex digits, got {options['weights']!a:.80}"
        raise BadInput(msg)
    return replace(spec, name=address.rstrip("/"), model=model, options=options)


def open_model(spec: ModelSpec, folder: Path) -> Model:
    """The model, ready to be asked.

    Args:
        spec: Which one.
        folder: Where relative paths are looked for.

    Raises:
        MissingMaterial: Its weights, or the packages that run it, are not installed.
        BadInput: A folder that it names holds no such thing.
    """
    if spec.kind == "scripted":
        return ScriptedModel(spec.text, PROFILES[spec.name])
    if spec.kind == "server":
        server = _load("assay.models.openai")
        return cast(Model, server.open_server(spec, folder))
    place = find_folder(spec, folder)  # before the packages are loaded, which takes seconds
    return cast(Model, _load("assay.models.local").LocalModel(spec.text, place))


def train_model(
    spec: ModelSpec,
    recipe: Noise | Training,
    lessons: Sequence[Lesson],
    *,
    folder: Path,
    advance: Callable[[int, int], None],
) -> ModelSpec:
    """The model that a recipe makes from another, made on first use and kept.

    Args:
        spec: What it is made from.
        recipe: How it is made.
        lessons: What it is trained on.
        folder: Where relative paths are looked for.
        advance: Told the steps that are done, and how many there are.

    Raises:
        BadInput: The model does not run in this process, so that its weights cannot be changed.
        MissingMaterial: As :func:`open_model`.
    """
    if spec.kind == "scripted":
        return spec
    if spec.kind == "server":
        msg = f"{spec.text}: a recipe changes weights, and those of a server are not here"
        raise BadInput(msg)
    training = _load("assay.models.training")
    base, cache = find_folder(spec, folder), cache_folder() / "recipes"
    if isinstance(recipe, Noise):
        made = training.weaken(base, cache, recipe)
    else:
        made = training.distil(base, cache, recipe, lessons, advance=advance)
    return ModelSpec(text=f"folder:{made.name}", kind="folder", name=str(made))


def read_config(spec: ModelSpec, folder: Path) -> Json:
    """The model's ``config.json``; null where the model has none here.

    Raises:
        MissingMaterial: As :func:`open_model`.
        BadInput: The file is not there or is no JSON.
    """
    if spec.kind in ("scripted", "server"):
        return None
    path = find_folder(spec, folder) / "config.json"
    try:
        return loads(path.read_bytes())
    except (OSError, AssayError) as error:
        msg = f"{path}: cannot be read as JSON: {error}"
        raise BadInput(msg, path=str(path)) from error


def find_folder(spec: ModelSpec, folder: Path) -> Path:
    """Where the files of a model that runs in this process lie.

    Args:
        spec: A packaged model, which is unpacked on first use, or one of a folder.
        folder: Where relative paths are looked for.

    Raises:
        MissingMaterial: As :func:`open_model`.
        BadInput: There is no such folder.
    """
    if spec.kind == "local":
        return cast(Path, _load("assay.models.weights").unpack_weights(spec.name))
    path = folder / spec.name
    if not (path / "config.json").is_file():
        msg = f"{spec.text}: {path} holds no config.json; expected the folder of a model that transformers loads"
        raise BadInput(msg, path=str(path))
    return path


def _load(module: str) -> Any:  # noqa: ANN401 - a module that is imported by name
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("assay"):
            raise
        msg = f"this model needs {error.name}, which is not installed: {_INSTALL}"
        raise MissingMaterial(msg, missing=error.name) from error
