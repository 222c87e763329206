"""The user's computer, the package `mcp` on it, and the command that starts our server.

The package `mcp`: frameworks hold it at versions that are too old for the server. Only the server
and what talks to it import it: the library, the hooks and the other commands work with any version,
and with none.

A command may hold the address of a database, and that a password. People are shown neither.
"""

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path

from context_compression.errors import ServerUnavailable, SetupError, StoreError
from context_compression.store.location import PLACE, TENANT, database_address, folder_named
from context_compression.workspace.loading import home_folder, working_folder

OLDEST = (2, 1)
"""The first version with which the server works."""


def unavailable() -> ServerUnavailable | None:
    """The error that says why the server cannot run in this environment; `None` if it can."""
    try:
        installed = version("mcp")
    except PackageNotFoundError:
        installed = "none"
    numbers = re.match(r"(\d+)\.(\d+)", installed)
    if numbers and (int(numbers[1]), int(numbers[2])) >= OLDEST:
        return None
    return ServerUnavailable(
        f"it needs the package mcp 2.1 or newer, and {installed} is installed",
        f'Install it: {sys.executable} -m pip install "mcp>=2.1,<3". If another package here needs '
        "the older one, install ours once more, in an environment of its own, and let your hosts "
        "start that one.",
    )


PROGRAM = "context-compression"
OF_UV = re.compile(r"(archive|builds|environments)-v\d+")
"""Names of folders in uv's cache."""
TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/dev/shm")
TO_STAY = "`uv tool install .`, or `pip install .` in an environment that stays."


@dataclass(frozen=True)
class Machine:
    """One user's computer, seen from one folder.

    Attributes:
        system: the value of `sys.platform`: `linux`, `darwin`, `win32`.
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
        """The computer that this process runs on.

        Raises:
            StoreError: there is no working directory, or the home folder is unknown.
        """
        return cls(sys.platform, os.environ, home_folder(), working_folder())

    @property
    def config_home(self) -> Path:
        """The configuration folder of programs that follow the XDG specification, on any system."""
        return self.folder("XDG_CONFIG_HOME") or self.home / ".config"

    @property
    def folder_variables(self) -> Mapping[str, str]:
        """The environment variables that name an absolute path.

        Only these are used to locate a host's configuration: a relative path would mean another
        folder for a host that is started elsewhere.
        """
        return {name: value for name, value in self.environ.items() if Path(value).is_absolute()}

    @property
    def applications(self) -> Path:
        """The configuration folder of desktop applications."""
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        if self.system == "win32":
            return self.folder("APPDATA") or self.home / "AppData" / "Roaming"
        return self.config_home

    def folder(self, variable: str) -> Path | None:
        """The folder that an environment variable names by its absolute path, else `None`."""
        path = Path(self.environ.get(variable) or ".")
        return path if path.is_absolute() else None

    def which(self, program: str) -> str | None:
        """The path of a program on the PATH; `None` if there is none."""
        return shutil.which(program, path=self.environ.get("PATH", os.defpath))


@dataclass(frozen=True)
class Server:
    """The command that starts this package.

    Attributes:
        command: an absolute path, because desktop applications do not have the user's PATH.
        options: the arguments before the subcommand (`serve`, `hook`).
    """

    command: str
    options: tuple[str, ...] = ()


def this_server(machine: Machine, script: str, python: str, options: tuple[str, ...]) -> Server:
    """The command of the installation that is running now.

    Args:
        machine: the computer to look for the script on.
        script: the script that was started (`sys.argv[0]`).
        python: the interpreter that runs it (`sys.executable`).
        options: global options to start it with.

    Raises:
        SetupError: it runs from a cache of uv or pipx, which may be emptied at any time.
    """
    command = _script(machine, script, python)
    for place in filter(None, (python, command)):
        if _is_cached(Path(place), machine):
            raise SetupError(
                f"This {PROGRAM} runs from a cache of uv or pipx ({place}), which may be emptied "
                f"any day. Install it permanently first, in a clone of its repository: {TO_STAY}"
            )
    if command:
        return Server(command, options)
    return Server(python, ("-m", "context_compression", *options))


def is_temporary(command: str, machine: Machine) -> bool:
    """Whether a command is in a folder that the operating system empties."""
    named = (machine.folder(name) for name in ("TMPDIR", "TEMP", "TMP"))
    folders = [*map(Path, TEMPORARY), *filter(None, named)]
    return any(Path(command).is_relative_to(folder) for folder in folders)


def _script(machine: Machine, script: str, python: str) -> str | None:
    """Our command's file: the file that was started, next to the interpreter, or on the PATH."""
    sibling = Path(python).parent / PROGRAM
    for candidate in (script, f"{script}.exe", str(sibling), f"{sibling}.exe"):
        path = Path(os.path.abspath(candidate))
        if path.stem == PROGRAM and path.is_file() and os.access(path, os.X_OK):
            return str(path)
    on_path = machine.which(PROGRAM)
    return os.path.abspath(on_path) if on_path else None


def _is_cached(path: Path, machine: Machine) -> bool:
    """Whether a path is in a cache of uvx or `pipx run`."""
    parts = path.parts
    of_pipx = "pipx" in parts and any(part in parts for part in (".cache", "Cache", "Caches"))
    uv, pipx = machine.folder("UV_CACHE_DIR"), machine.folder("PIPX_HOME")
    folders = [folder for folder in (uv, pipx and pipx / ".cache") if folder]
    in_folder = any(path.is_relative_to(folder) for folder in folders)
    return of_pipx or in_folder or any(map(OF_UV.fullmatch, parts))


STORE_OPTION = "--store"
HIDDEN = "postgresql://…"
"""What is shown for an address that cannot be read."""
_ADDRESS = re.compile(r"postgres(?:ql)?(?:\+\w+)?:/.*", re.I | re.S)
_QUOTED = re.compile(r"postgres(?:ql)?(?:\+\w+)?:/[^\s\"']*", re.I)


def place_of(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """The place of the store that a server uses; "" if it looks for one itself."""
    return _given(command, STORE_OPTION) or environ.get(PLACE, "")


def tenant_of(command: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """The tenant whose part of the store a server uses; `None` if none is named."""
    return _given(command, "--tenant") or environ.get(TENANT) or None


def shown(command: Sequence[str]) -> str:
    """A command as people may see it: an address in it is shown without user and password."""
    values = {at for at, _ in _values(command, STORE_OPTION)}
    return " ".join(_word(word, at in values) for at, word in enumerate(command))


def without_addresses(text: str) -> str:
    """A text, such as a change to a configuration, without users and passwords of databases."""
    return _QUOTED.sub(lambda found: _shown(found[0]), text)


def _given(command: Sequence[str], option: str) -> str:
    """The value of an option, the last; "" if it is not given."""
    return ([""] + [value for _, value in _values(command, option)])[-1]


def _values(command: Sequence[str], option: str) -> list[tuple[int, str]]:
    """The values of an option, each with the place of the word that holds it."""
    follows = [
        (at, word) for at, (before, word) in enumerate(pairwise(command), 1) if before == option
    ]
    joined = [
        (at, word.partition("=")[2])
        for at, word in enumerate(command)
        if word.startswith(f"{option}=")
    ]
    return sorted(follows + joined)


def _word(word: str, is_place: bool) -> str:
    if found := _ADDRESS.search(word):
        return f"{word[: found.start()]}{_shown(found[0])}"
    if is_place and word.removeprefix(f"{STORE_OPTION}="):
        try:
            folder_named(word.removeprefix(f"{STORE_OPTION}="))
        except StoreError:  # a mistyped address
            return f"{STORE_OPTION}={HIDDEN}" if word.startswith(f"{STORE_OPTION}=") else HIDDEN
    return word


def _shown(address: str) -> str:
    with suppress(StoreError, ImportError):  # a mistyped one, or an extra is missing
        from context_compression.store.postgres.connections import Address

        if url := database_address(address):
            return Address.read(url).shown
    return HIDDEN
