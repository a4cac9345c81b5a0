"""A model behind an HTTP API: opened, bound to an address, and run until somebody stops it."""

import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

import uvicorn

from assay.kernel.errors import BadInput
from assay.models.catalog import ModelSpec, find_folder, open_model, parse_spec
from assay.models.protocol import Model
from assay.models.server import build_app

__all__ = ["Prepared", "prepare"]

_PLAIN: Final = re.compile(r"[^A-Za-z0-9._-]+")
_BACKLOG: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A model whose address is taken, ready to answer.

    Args:
        name: What requests call it.
        address: Where its API begins.
        spec: How a contract names it; empty where it has no tokenizer that a contract could name.
        weights: The digest of its weights.
        listener: The socket that listens.
        model: Which answers.
    """

    name: str
    address: str
    spec: str
    weights: str
    listener: socket.socket
    model: Model

    def to_json(self) -> Mapping[str, object]:
        """What ``assay models serve --json`` answers before it serves."""
        told = {"name": self.name, "address": self.address, "weights": self.weights, "spec": self.spec or None}
        return {"schema": "assay.models.serve", "version": 1, **told}

    def run(self) -> None:
        """Serves until interrupted."""
        config = uvicorn.Config(build_app(self.model, self.name), log_level="warning", access_log=False, ws="none")
        with self.listener, suppress(KeyboardInterrupt):  # which is how serving is meant to end
            uvicorn.Server(config).run(sockets=[self.listener])


def prepare(text: str, host: str, port: int, folder: Path = Path()) -> Prepared:
    """The model, opened, and its address, taken.

    Args:
        text: The model as a contract names it.
        host: The address to listen on.
        port: The port; 0 takes any that is free.
        folder: Where relative paths are looked for.

    Raises:
        BadInput: There is no such model or address, the address is taken, or the model is a server's already.
        MissingMaterial: Its weights, or the packages that run it, are not installed.
    """
    spec = parse_spec(text)
    if spec.kind == "server":
        msg = f"{text}: this model has a server already; name it in the contract as it stands"
        raise BadInput(msg)
    listener = _listen(host, port)
    try:
        model = open_model(spec, folder)
    except BaseException:
        listener.close()
        raise
    name = _PLAIN.sub("-", Path(spec.name).name).strip("-") or "model"
    address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/v1"
    weights = model.identity.weights
    named = _name_in_contract(spec, folder, f"server:{address}#{name}", weights)
    return Prepared(name=name, address=address, spec=named, weights=weights, listener=listener, model=model)


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port < 1 << 16:
        msg = f"expected a port from 0 to 65535, got {port}"
        raise BadInput(msg)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        msg = f"cannot listen on {host} port {port}: {error.strerror or error}"
        raise BadInput(msg) from error
    # Inherited by every connection: an answer in two pieces must not wait for the first to be acknowledged.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _name_in_contract(spec: ModelSpec, folder: Path, server: str, weights: str) -> str:
    if spec.kind == "scripted":
        return ""
    return f"{server}?tokenizer={quote(str(find_folder(spec, folder).resolve()))}&weights={weights}"
