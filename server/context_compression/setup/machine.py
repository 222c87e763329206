"""A computer: where hosts keep their configuration on it, and how our server is started."""

import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from context_compression.errors import SetupError
from context_compression.workspace.folders import home_folder, working_folder

PROGRAM = "context-compression"
OF_UV = re.compile(r"(archive|builds|environments)-v\d+")
"""Folders in uv's cache, wherever that is."""
TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/dev/shm")
TO_STAY = "`uv tool install .`, or `pip install .` in an environment that stays."


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
    def folder_variables(self) -> Mapping[str, str]:
        """The environment variables that name an absolute path.

        A host's configuration is looked for by these alone: a relative path leads elsewhere for a
        host that is started in another folder.
        """
        return {name: value for name, value in self.environ.items() if Path(value).is_absolute()}

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
    command = _script(machine, script, python)
    for place in filter(None, (python, command)):
        if _is_cached(Path(place), machine):
            raise SetupError(
                f"This {PROGRAM} runs from a cache of uv or pipx ({place}), which may be emptied "
                f"any day. Install it to stay first, in a clone of its repository: {TO_STAY}"
            )
    if command:
        return Server(command, options)
    return Server(python, ("-m", "context_compression", *options))


def is_temporary(command: str, machine: Machine) -> bool:
    """Whether a command lies in a folder that the system empties by itself."""
    named = (machine.folder(name) for name in ("TMPDIR", "TEMP", "TMP"))
    folders = [*map(Path, TEMPORARY), *filter(None, named)]
    return any(Path(command).is_relative_to(folder) for folder in folders)


def _script(machine: Machine, script: str, python: str) -> str | None:
    """The command as a file: the one that was started, beside the interpreter, or on the PATH."""
    beside = Path(python).parent / PROGRAM
    for found in (script, f"{script}.exe", str(beside), f"{beside}.exe"):
        path = Path(os.path.abspath(found))
        if path.stem == PROGRAM and path.is_file() and os.access(path, os.X_OK):
            return str(path)
    on_path = machine.which(PROGRAM)
    return os.path.abspath(on_path) if on_path else None


def _is_cached(path: Path, machine: Machine) -> bool:
    """Whether a path lies where uvx or `pipx run` keep what they run once."""
    parts = path.parts
    of_pipx = "pipx" in parts and any(part in parts for part in (".cache", "Cache", "Caches"))
    uv, pipx = machine.folder("UV_CACHE_DIR"), machine.folder("PIPX_HOME")
    folders = [folder for folder in (uv, pipx and pipx / ".cache") if folder]
    in_folder = any(path.is_relative_to(folder) for folder in folders)
    return of_pipx or in_folder or any(map(OF_UV.fullmatch, parts))
