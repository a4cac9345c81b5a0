"""What every test may use: the shared vectors (or a named skip), and hypothesis profiles."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("ASSAY_SHARED", REPOSITORY.parent / "shared"))

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile(
    "ci", max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("nightly", max_examples=5000, deadline=None)
settings.load_profile(os.environ.get("ASSAY_HYPOTHESIS", "dev"))


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """Finds material that is not ours to commit, and skips by name where it is absent."""

    def find(relative: str) -> Path:
        path = SHARED / relative
        if not path.exists():
            pytest.skip(f"needs shared/{relative}, which is not here (set ASSAY_SHARED to the folder that holds it)")
        return path

    return find


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The folder of committed vectors."""
    return REPOSITORY / "tests" / "vectors"
