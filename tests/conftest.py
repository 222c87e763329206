"""What every test may ask for."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from postgres import Server as DatabaseServer
from postgres import programs, running

from context_compression.hosts import Machine, Server

settings.register_profile(
    "gate",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=16,
    derandomize="CI" in os.environ,  # a landing fails for what it changed; at home each run is new
)
settings.register_profile("house", settings.get_profile("gate"), max_examples=40)
settings.register_profile("long", settings.get_profile("gate"), max_examples=2_000)
settings.load_profile(os.environ.get("CONTEXT_COMPRESSION_LAWS", "gate"))
if "CI" in os.environ:
    # Hypothesis also draws what stands in the modules that a process has loaded, such as
    # benchmarks, so the same law would get other examples behind other tests. No setting says so,
    # so a private function gives way for the whole run.
    none = vars(providers)["_local_constants"]
    pytest.MonkeyPatch().setattr(providers, "_get_local_constants", lambda: none)


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


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[DatabaseServer]:
    """A real PostgreSQL server."""
    if programs() is None:
        pytest.skip("no PostgreSQL server is installed: apt-get install postgresql")
    with running() as server:
        yield server


@pytest.fixture
def real_server() -> Server:
    """The package under test, started as a host would."""
    return Server(sys.executable, ("-m", "context_compression"))


@pytest.fixture
def machine_with(tmp_path: Path) -> Callable[..., Machine]:
    """A machine with an empty home and project, and these variables."""

    def made(**environ: str) -> Machine:
        home, project = tmp_path / "home", tmp_path / "project"
        for folder in (home, project):
            folder.mkdir(exist_ok=True)
        always = {"HOME": str(home), "PATH": os.environ["PATH"]}
        return Machine(sys.platform, {**always, **environ}, home, project)

    return made
