"""Agent frameworks in tests: the real packages, each in an environment of its own.

    LANGCHAIN = Framework("langchain")
    seen = LANGCHAIN.run("langchain_agent.py", "ours", folder=tmp_path)

An environment is made once, in `$CONTEXT_COMPRESSION_FRAMEWORKS/<extra>`, and again if the packages
that it needs change. Without that variable these tests are skipped, so that running the tests does
not download 1 GB. A program prints one JSON object on its last line.
"""

import json
import os
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from environments import environment

FRAMEWORKS = "CONTEXT_COMPRESSION_FRAMEWORKS"
ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "integrations" / "programs"
BESIDE = {"langchain": ("deepagents>=0.7,<1",), "litellm": ("litellm[proxy]",)}
"""The packages that the programs of an extra use beside its own."""
PATIENCE = 300  # seconds for a whole run; most take 15


def environment_for(name: str, packages: Sequence[str]) -> Path:
    """The Python of an environment that is kept; a test without a place for it is skipped."""
    named = os.environ.get(FRAMEWORKS)
    if not named:
        pytest.skip(f"{FRAMEWORKS} names no folder to keep {name} in")
    return environment(Path(named).absolute() / name, packages)


@dataclass(frozen=True)
class Framework:
    """An extra of ours, with the packages that it needs in an environment of its own.

    Attributes:
        extra: its name in `pyproject.toml`.
    """

    extra: str

    @property
    def beside(self) -> tuple[str, ...]:
        """Other packages that its programs use."""
        return BESIDE.get(self.extra, ())

    @cached_property
    def packages(self) -> list[str]:
        """All that is installed: what we need, the framework, and what its programs use."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        extra = project["optional-dependencies"][self.extra]
        return [*project["dependencies"], *extra, *self.beside]

    def python(self) -> Path:
        """Its Python. Installed if necessary; the test is skipped if that is impossible."""
        return environment_for(self.extra, self.packages)

    def run(self, program: str, *arguments: str, folder: Path) -> dict[str, Any]:
        """What a program prints that runs in this framework's environment.

        Args:
            program: the name of a file in `tests/integrations/programs`.
            arguments: its arguments.
            folder: the folder in which it runs, for its files.
        """
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "server", ROOT / "tests" / "support"))),
            "PYTHONSAFEPATH": "1",  # its folder must not hide a package of the same name
        }
        ended = subprocess.run(
            [str(self.python()), str(PROGRAMS / program), *arguments], cwd=folder, env=environ,
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr[-5_000:]
        return json.loads(ended.stdout.splitlines()[-1])
