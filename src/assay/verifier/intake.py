"""Steps 1 to 3: what lies there, what the manifest says of it, and whether the files are those it lists."""

from collections.abc import Mapping
from pathlib import Path

from assay.kernel.archive import Span
from assay.kernel.container import open_container, read_whole
from assay.kernel.errors import EvidenceInvalid, KeyRefused
from assay.kernel.layout import REGISTRATION_LOG
from assay.kernel.manifest import MANIFEST, Manifest, read_manifest
from assay.kernel.roles import NOTE_DOMAIN, roles_of
from assay.verifier.examination import Examination
from assay.verifier.reading import read_file
from assay.verifier.result import Verification

# A thousandth of what a log may be: a manifest holds one short object a file.
_MANIFEST_LIMIT = 16 << 20

__all__ = ["check_container", "check_files", "check_manifest"]


def check_container(path: Path, result: Verification) -> Mapping[str, Span] | None:
    """Step 1: the bundle is a folder of plain files or the one zip form.

    Raises:
        BadInput: There is nothing there.
        MissingMaterial: It cannot be read.
    """
    step = result.step("container")
    try:
        container = open_container(path)
    except EvidenceInvalid as error:
        step.fail(path.name, error.message)
        return None
    if MANIFEST not in container:
        step.fail(MANIFEST, f"expected {MANIFEST} in the bundle, got {len(container)} files without it")
        return None
    return container


def check_manifest(container: Mapping[str, Span], result: Verification) -> Manifest | None:
    """Step 2: the manifest is canonical and names a layout and usable keys, one for each role and no other.

    Raises:
        UnknownVersion: The bundle's format is of another version.
    """
    step = result.step("manifest")
    try:
        manifest = read_manifest(read_whole(container[MANIFEST], _MANIFEST_LIMIT))
    except (EvidenceInvalid, KeyRefused) as error:
        step.fail(MANIFEST, error.message)
        return None
    expected = roles_of(manifest.layout)
    if manifest.layout.registration is not None:
        # A layout of another system may publish no log heads; where it does, the keys must be all there.
        published = any(key.domain == NOTE_DOMAIN for key in manifest.signers)
        expected = {role: domain for role, domain in expected.items() if domain != NOTE_DOMAIN or published}
    elif manifest.layout.logs[0] != REGISTRATION_LOG:
        step.fail(MANIFEST, "without a registration file the first log must be the kernel's registration log")
    stated = {key.role: key.domain for key in manifest.signers}
    if stated != expected:
        step.fail(MANIFEST, f"expected exactly the signers {sorted(expected.items())}, got {sorted(stated.items())}")
    return manifest if step.status == "passed" else None


def check_files(exam: Examination) -> None:
    """Step 3: the files are those the manifest lists, with its sizes and digests; the logs are planned on the way."""
    step = exam.step("files")
    listed, present = exam.manifest.files, exam.container
    for path in sorted(set(listed) - set(present)):
        step.fail(path, "listed in the manifest, not in the bundle")
    for path in sorted(set(present) - set(listed) - {MANIFEST}):
        step.fail(path, "in the bundle, not listed in the manifest")
    logs = {spec.file for spec in exam.manifest.layout.logs}
    for path in sorted(logs - set(listed)):
        step.fail(path, "the layout declares this log, and the manifest does not list it")
    for path, entry in listed.items():
        if path not in present:
            continue
        reading = read_file(present[path], plan=path in logs)
        exam.readings[path] = reading
        if reading.size != entry.size:
            step.fail(path, f"expected {entry.size} bytes, got {reading.size}")
        elif reading.sha256 != entry.sha256:
            step.fail(path, f"expected SHA-256 {entry.sha256}, got {reading.sha256}")
