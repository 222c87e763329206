"""Our entry in a host's configuration: put in, taken out, and all else as it was."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_compression.errors import SetupError
from context_compression.messages import is_object
from context_compression.setup.files import (
    Backup,
    Backups,
    Change,
    hash_of,
    missing_folders,
    read,
    remove_empty,
)
from context_compression.setup.hosts import Entry, Host
from context_compression.setup.machine import PROGRAM, Machine, Server

OURS = ("type", "command", "args", "cmd")
"""What an entry has to say in our words; the rest of it is the user's once it is there."""


@dataclass(frozen=True)
class Done:
    """What was done to a file, or would be.

    Attributes:
        change: to the file.
        backup: the folder where it is kept as it was.
        commands: what would be run, in a dry run of what a host does itself.
    """

    change: Change
    backup: Path | None = None
    commands: tuple[str, ...] = ()


def install(
    host: Host,
    machine: Machine,
    server: Server,
    *,
    in_project: bool = False,
    dry_run: bool = False,
) -> Done:
    """Put our entry into a host's configuration; what a user added to an earlier one is kept.

    Raises:
        SetupError: the file is broken, or cannot be changed; it was left as it is.
    """
    path = _real(host.file(machine, in_project=in_project))
    there = read(path)
    with _understanding(host, path):
        text = _text(host, there)
        known = _entry_in(host, text)
        wanted = host.entry(server)
        ours = {name: value for name, value in wanted.items() if name in OURS}
        entry = {**wanted, **(known or {}), **ours}
        if known == entry:
            return Done(Change(path, there, there))
        new = host.format.with_entry(text, host.under, PROGRAM, entry)
        if _entry_in(host, new) != entry:
            raise ValueError("it is written so that no entry can be added by a program")
    change = Change(path, there, new.encode())
    if dry_run:
        return Done(change)
    backups = Backups(machine.home)
    earlier = backups.of(path)
    before, folders = there, missing_folders(path)
    if earlier and earlier.is_of(there):
        before, folders = earlier.before, earlier.folders
    elif earlier and known:
        before = _without(host, text, earlier)
    backup = backups.keep(Backup(path, before, hash_of(new.encode()), folders))
    change.carry_out()
    return Done(change, backup)


def uninstall(
    host: Host, machine: Machine, *, in_project: bool = False, dry_run: bool = False
) -> Done:
    """Take our entry out again: the file is as it was before.

    If it was changed by others since, their changes stay.

    Raises:
        SetupError: the file is broken, or cannot be changed; it was left as it is.
    """
    path = _real(host.file(machine, in_project=in_project))
    there = read(path)
    backups = Backups(machine.home)
    backup = backups.of(path)
    after = there
    if backup and backup.is_of(there):
        after = backup.before
    elif there is not None:
        with _understanding(host, path):
            text = _text(host, there)
            if _entry_in(host, text) is not None:
                after = _without(host, text, backup)
    change = Change(path, there, after)
    if not dry_run:
        change.carry_out()
        if backup:
            backups.forget(path)
            remove_empty(backup.folders if after is None else ())
    return Done(change)


def entry_of(host: Host, machine: Machine, *, in_project: bool = False) -> Entry | None:
    """Our entry as it stands in a host's configuration.

    Raises:
        SetupError: the file cannot be read.
    """
    path = _real(host.file(machine, in_project=in_project))
    with _understanding(host, path):
        return _entry_in(host, _text(host, read(path)))


def _without(host: Host, text: str, backup: Backup | None) -> bytes | None:
    """What is left without our entry, and without what had to be made for it."""
    tidy = backup is not None and not host.format.holds(_text(host, backup.before), host.under)
    left = host.format.without_entry(text, host.under, PROGRAM, tidy=tidy)
    made_by_us = backup is not None and backup.before is None
    return None if made_by_us and left.strip() in ("", "{}") else left.encode()


def _entry_in(host: Host, text: str) -> Entry | None:
    found: Any = host.format.entry_in(text, host.under, PROGRAM)
    if found is not None and not is_object(found):
        raise ValueError(f"its {PROGRAM} is no entry of a server")
    return None if found is None else dict(found)


def _text(host: Host, data: bytes | None) -> str:
    """The file as text; a missing one is an empty one."""
    text = (data or b"").decode()
    if host.strict and text.strip():
        try:
            json.loads(text)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        except ValueError as error:
            raise ValueError(f"it is not JSON: {error}") from None
    return text


def _real(path: Path) -> Path:
    """Where links lead: the file itself is replaced, and they stay."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise SetupError(f"{path} is a link that leads nowhere: {error}.") from error


@contextmanager
def _understanding(host: Host, path: Path) -> Generator[None]:
    """What cannot be understood becomes an error that names the file."""
    try:
        yield
    except ValueError as error:
        raise SetupError(
            f"{path} is not changed: {error}. Mend it, so that {host.title} and we can read it, "
            "and run this again."
        ) from error
