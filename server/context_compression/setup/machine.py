"""A computer: where hosts keep their configuration on it, and how our server is started."""

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from context_compression.errors import SetupError
from context_compression.workspace import home_folder, working_folder

PROGRAM = "context-compression"


@dataclass(frozen=True)
class Machine:
    """One user's computer, seen from one folder.

    Attributes:
        system: as `sys.platform` has it: `linux`, `darwin`, `win32`.
        environ: the environment variables.
        home: the user's home folder.
        cwd: the folder of the project.
    """

    system: str
    environ: Mapping[str, str]
    home: Path
    cwd: Path

    @classmethod
    def here(cls) -> "Machine":
        """The one this process runs on.

        Raises:
            StoreError: there is no working directory, or no home folder is known.
        """
        return cls(sys.platform, os.environ, home_folder(), working_folder())

    @property
    def config_home(self) -> Path:
        """Where programs that follow the XDG rules keep their configuration, on any system."""
        return self.folder("XDG_CONFIG_HOME") or self.home / ".config"

    @property
    def data_home(self) -> Path:
        """Where they keep their data."""
        return self.folder("XDG_DATA_HOME") or self.home / ".local" / "share"

    @property
    def applications(self) -> Path:
        """Where desktop applications keep theirs."""
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        if self.system == "win32":
            return self.folder("APPDATA") or self.home / "AppData" / "Roaming"
        return self.config_home

    def folder(self, variable: str) -> Path | None:
        """The folder an environment variable names; `None` where it names none."""
        path = Path(self.environ.get(variable) or ".")
        return path if path.is_absolute() else None

    def which(self, program: str) -> str | None:
        """Where a program lies on the PATH."""
        return shutil.which(program, path=self.environ.get("PATH", os.defpath))


@dataclass(frozen=True)
class Server:
    """How this package's command is started.

    Attributes:
        command: an absolute path: hosts with windows have no PATH of the user's.
        options: what comes before any word of the command.
    """

    command: str
    options: tuple[str, ...] = ()


def this_server(machine: Machine, script: str, python: str, options: tuple[str, ...]) -> Server:
    """The installation that is running now.

    Args:
        machine: to look for the script on.
        script: what was started (`sys.argv[0]`).
        python: the interpreter it runs on (`sys.executable`).
        options: global options it shall be started with.

    Raises:
        SetupError: it runs from a cache that may be gone tomorrow.
    """
    where = Path(python).parts
    if "uv" in where and any(part.startswith(("archive-v", "builds-v")) for part in where):
        raise SetupError(
            f"This {PROGRAM} runs from uvx's cache ({python}), which may be emptied any day. "
            f"Install it first: `uv tool install {PROGRAM}`, or pip into an environment that stays."
        )
    beside = Path(python).parent / PROGRAM
    for found in (script, f"{script}.exe", str(beside), f"{beside}.exe"):
        path = Path(os.path.abspath(found))
        if path.stem == PROGRAM and path.is_file() and os.access(path, os.X_OK):
            return Server(str(path), options)
    if found := machine.which(PROGRAM):
        return Server(os.path.abspath(found), options)
    return Server(python, ("-m", "context_compression", *options))
