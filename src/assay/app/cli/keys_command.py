"""`assay keys`: make an author's key, show a key's public part, write a trust policy."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from assay.app.cli.echo import Echo
from assay.app.cli.main import add_common, add_epilog
from assay.kernel import canonical
from assay.kernel.canonical import Json
from assay.kernel.digests import to_raw
from assay.kernel.errors import BadInput, MalformedDocument
from assay.kernel.keys import Signer, decode_public, encode_public, read_signer, write_signer
from assay.kernel.layout import REGISTRATION_LOG
from assay.kernel.roles import AUTHOR
from assay.verifier.policy import Policy

__all__ = ["configure", "execute", "read_key"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    new = actions.add_parser("new", help="make a key that signs registrations (an author's key)")
    new.add_argument("file", type=Path, help="where it goes; the file is readable by you alone")
    show = actions.add_parser("show", help="show the public part of a key file")
    show.add_argument("file", type=Path, help="a key file, or a file with a public key's text")
    policy = actions.add_parser("policy", help="write a trust policy that believes some keys")
    policy.add_argument("keys", nargs="+", metavar="KEY", help="a public key (ed25519-pub:…), or a file with one")
    policy.add_argument("--registration", metavar="DIGEST", help="believe this registration only")
    policy.add_argument("--head", metavar="HASH", help="expect this last checkpoint")
    for name, action in (("new", new), ("show", show), ("policy", policy)):
        add_common(action, f"examples:\n{_EXAMPLES[name]}")
    add_epilog(parser, "\n".join(["examples:", *_EXAMPLES.values()]))


_PREFIX = "ed25519-pub:"
_LONGEST_TEXT = 200
_EXAMPLES = {
    "new": "  assay keys new me.key",
    "show": "  assay keys show me.key",
    "policy": "  assay keys policy ed25519-pub:11qYAYKx… > trust.json",
}


def execute(arguments: argparse.Namespace, echo: Echo) -> int:
    """Does what was asked."""
    if arguments.action == "policy":
        return _write_policy(arguments, echo)
    if arguments.action == "show":
        return _show(arguments, echo)
    return _make(arguments, echo)


def _make(arguments: argparse.Namespace, echo: Echo) -> int:
    signer = Signer.new(role=AUTHOR, domain=REGISTRATION_LOG.domain)
    write_signer(signer, arguments.file)
    if not arguments.quiet:
        echo.note(f"wrote {arguments.file}; keep it secret, publish the public key below")
    return _tell(signer.public.to_json(), arguments, echo)


def _show(arguments: argparse.Namespace, echo: Echo) -> int:
    try:
        public = _read_public_text(arguments.file)
    except MalformedDocument as error:
        raise BadInput(error.message, path=str(arguments.file)) from error
    # A text alone does not say whose key it is nor what for.
    key = {"publicKey": public} if public else read_key(arguments.file).public.to_json()
    return _tell(key, arguments, echo)


def _tell(key: Mapping[str, Json], arguments: argparse.Namespace, echo: Echo) -> int:
    if arguments.json:
        echo.json({"schema": "assay.key", "version": 1, **key})
    else:
        echo.result(str(key["publicKey"]))
    return 0


def _write_policy(arguments: argparse.Namespace, echo: Echo) -> int:
    try:
        for digest in (arguments.registration, arguments.head):
            if digest is not None:
                to_raw(digest)
        policy = Policy(
            authors=frozenset(_public(text) for text in arguments.keys),
            registration=arguments.registration,
            head=arguments.head,
        )
    except MalformedDocument as error:
        raise BadInput(error.message) from error
    if arguments.json:
        echo.json(policy.to_json())
    else:
        echo.result(canonical.dumps(policy.to_json()).decode("utf-8"))
    return 0


def _public(text: str) -> str:
    if text.startswith(_PREFIX):
        return encode_public(decode_public(text))
    return _read_public_text(Path(text)) or encode_public(read_key(Path(text)).public.raw)


def _read_public_text(path: Path) -> str | None:
    """The public key whose text is all that a file holds, or nothing; such a file may be readable by everybody."""
    if not path.is_file():  # never a pipe, which could keep the reader waiting
        return None
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST_TEXT).decode("ascii", "replace").strip()
    except OSError:
        return None
    return encode_public(decode_public(text)) if text.startswith(_PREFIX) else None


def read_key(path: Path) -> Signer:
    """The key of a key file that the caller named.

    Raises:
        BadInput: It is missing, cannot be read, or is not a key file.
        KeyRefused: Others can read it, or it must not be used.
    """
    try:
        return read_signer(path)
    except MalformedDocument as error:
        msg = f"{path} is not a key file: {error.message}; `assay keys new FILE` makes one"
        raise BadInput(msg, path=str(path)) from error
