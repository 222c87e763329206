"""What every test may ask for."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "house",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=60,
    derandomize="CI" in os.environ,  # a landing fails for what it changed; at home each run is new
)
settings.register_profile("long", settings.get_profile("house"), max_examples=2_000)
settings.load_profile(os.environ.get("CONTEXT_COMPRESSION_LAWS", "house"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The shared recordings; tests that need them are skipped where they are absent."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("CONTEXT_COMPRESSION_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no recorded conversations at {folder}; set CONTEXT_COMPRESSION_DATA")
    return folder
