"""Machines and servers for tests of getting into hosts."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from context_compression.setup.machine import Machine, Server


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
