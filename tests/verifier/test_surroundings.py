"""Verifying runs nothing that lies beside the bundle, and believes no layout that the seal does not commit."""

import os
import shutil
import subprocess
import sys

import pytest

from assay.kernel.canonical import dumps
from assay.testing.tampering import open_forgery
from assay.verifier.result import Outcome

VERIFY = """
from pathlib import Path
from assay.verifier.verify import Question, verify_bundle
if __name__ == "__main__":
    print(verify_bundle(Path("."), Question(integrity_only=True, jobs=2)).outcome.value)
"""
BETRAYAL = "import os\nopen(os.environ['BETRAYED'], 'w').write(__name__)\nraise SystemExit(0)\n"


@pytest.mark.parametrize("module", ["multiprocessing", "struct", "selectors", "orjson", "assay"])
def test_workers_import_nothing_from_the_folder_they_are_started_in(sound, tmp_path, module):
    folder = tmp_path / "bundle"
    shutil.copytree(sound.path, folder)
    (folder / f"{module}.py").write_text(BETRAYAL)
    script = tmp_path / "verify.py"
    script.write_text(VERIFY)
    environment = {**os.environ, "BETRAYED": str(tmp_path / "betrayed")}
    done = subprocess.run(
        [sys.executable, script], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("invalid\n", "")  # the file is not listed, and that is all that it does
    assert not (tmp_path / "betrayed").exists()


def test_a_registration_file_does_not_pass_for_a_seal(sound, verify, tmp_path):
    """Cut to its first checkpoint, under a layout that closes nothing and keeps its registration in a file."""
    forgery = open_forgery(sound.path)
    forgery.cut(0)
    layout = forgery.manifest["layout"]
    layout["registration"] = {"file": "registration.json", "domain": "assay-registration-v1"}
    layout["closings"], layout["attachments"], layout["recovery"] = {}, None, None
    signers = forgery.manifest["signers"]
    forgery.manifest["signers"] = [key for key in signers if not key["role"].startswith("note-")]
    forgery.manifest["lab"] = "elsewhere"
    forgery.files["registration.json"] = dumps(forgery.entry("registration", 1)["document"]) + b"\n"
    result = verify(forgery.write(tmp_path / "cut"))
    assert result.outcome is Outcome.INVALID
    assert result.failed() == ["manifest"]
    assert "kernel's own" in result.step("manifest").failures[0].message
