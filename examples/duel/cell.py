"""A folder in which commands of a model run confined: no network, nothing writable but the folder, 5 seconds."""

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

LIMIT_S = 5
MOST_CHARS = 600
_BOX = "/box"
_SETTINGS = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108 - a folder of its own, in memory, inside the cell
    "LANG": "C.UTF-8",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "init.defaultBranch",
    "GIT_CONFIG_VALUE_0": "main",
}
_LIMITS = ("prlimit", "--cpu=5", "--as=1000000000", "--nproc=64", "--nofile=64", "--fsize=1000000", "--core=0")


class Outcome(NamedTuple):
    """What a command printed, errors among it and cut to `MOST_CHARS`, and its exit status."""

    text: str
    status: int


class CellMissing(Exception):
    """Bubblewrap isn't there, and nothing is run without it."""


class Cell:
    """One folder and the commands that run in it, until it is closed."""

    def __init__(self, files: Mapping[str, str]) -> None:
        bubblewrap = shutil.which("bwrap")
        if bubblewrap is None:
            message = "bubblewrap (bwrap) is absent; commands of a model run in it or not at all"
            raise CellMissing(message)
        self._bubblewrap = bubblewrap
        self._home = tempfile.TemporaryDirectory(prefix="cell-")
        self.root = Path(self._home.name)
        for name, text in files.items():
            (self.root / name).write_text(text, encoding="utf-8", newline="\n")

    def close(self) -> None:
        """Removes the folder."""
        self._home.cleanup()

    def run(self, command: str) -> Outcome:
        """What `command` did, given to bash; status 124 when it was ended at the limit."""
        with tempfile.TemporaryFile() as output:
            try:
                status = subprocess.run(  # noqa: S603 - the command is a model's, and confined for that reason
                    [*self._confine(), "bash", "-c", command],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=LIMIT_S,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired:
                status = 124
            except ValueError:  # a zero byte in the command
                status = 126
            output.seek(0)
            text = output.read(4 * MOST_CHARS + 4).decode("utf-8", errors="replace").rstrip()
        return Outcome(text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS]}\n(cut)", status)

    def _confine(self) -> list[str]:
        unshared = ("user", "pid", "net", "ipc", "uts", "cgroup-try")
        links = (("usr/bin", "/bin"), ("usr/lib", "/lib"), ("usr/lib64", "/lib64"), ("usr/sbin", "/sbin"))
        return [
            self._bubblewrap,
            *(f"--unshare-{name}" for name in unshared),
            *("--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL", "--hostname", "cell"),
            *("--uid", "1000", "--gid", "1000", "--ro-bind", "/usr", "/usr"),
            *(part for link in links for part in ("--symlink", *link)),
            *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),  # noqa: S108 - inside the cell
            *("--bind", str(self.root), _BOX, "--chdir", _BOX),
            *(part for setting in _SETTINGS.items() for part in ("--setenv", *setting)),
            *_LIMITS,
        ]
