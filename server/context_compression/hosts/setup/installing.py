"""Puts additions into the files of other programs, and removes them; the rest stays unchanged."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from context_compression.errors import SetupError
from context_compression.hosts.host import Addition, ConfigurationEntry, Value
from context_compression.hosts.setup.files import (
    Backup,
    Backups,
    FileChange,
    hash_of,
    missing_folders,
    read,
    remove_empty,
)


@dataclass(frozen=True)
class AppliedChange:
    """The change of one file; in a dry run, the change that would be made.

    Attributes:
        change: the file before and after.
        backup: the folder with the file as it was before.
        commands: in a dry run, the host's commands that would be run.
        problem: why an addition could not be removed; the file is unchanged then.
    """

    change: FileChange
    backup: Path | None = None
    commands: tuple[str, ...] = ()
    problem: SetupError | None = None


def planned(additions: Sequence[Addition]) -> list[AppliedChange]:
    """The changes that `install` would make; nothing is written.

    Raises:
        SetupError: a file cannot be read or parsed.
    """
    return [AppliedChange(_install_change(addition)) for addition in additions]


def install(
    additions: Sequence[Addition], home: Path, *, dry_run: bool = False
) -> list[AppliedChange]:
    """Put additions into their files, all or none; everything else in these files stays.

    Args:
        additions: the additions for one host.
        home: the home folder; backups are kept below its `.compression`.
        dry_run: change nothing, and return the changes that would be made.

    Raises:
        SetupError: a file cannot be parsed, read or written, or its backup cannot. Every file is
            parsed before the first one is written. After a later error, files that were written
            get their earlier content back.
    """
    rehearsed = planned(additions)
    if dry_run:
        return rehearsed
    done: list[AppliedChange] = []
    try:  # `extend` keeps what was done before an error
        done.extend(_install_one(addition, Backups(home)) for addition in additions)
    except BaseException:
        take_back(done, home)
        raise
    return done


def take_back(done: Sequence[AppliedChange], home: Path) -> None:
    """Undo what `install` has just done, the last change first."""
    backups = Backups(home)
    for each in reversed(done):
        if not each.change.is_one:
            continue
        before, path = each.change.before, each.change.path
        backup = backups.of(path)
        FileChange(path, each.change.after, before).carry_out()
        if backup and backup.before == before:
            backups.forget(path)
            remove_empty(backup.folders if before is None else ())
        elif backup:
            backups.keep(replace(backup, written=hash_of(before or b"")))


def uninstall(
    additions: Sequence[Addition], home: Path, *, dry_run: bool = False
) -> list[AppliedChange]:
    """Remove additions from their files, and return a `AppliedChange` for each, in the same order.

    A file that nobody changed since `install` gets its earlier content back. In any other file,
    only the addition is removed. What cannot be removed has its `problem`; the rest is removed.
    """
    backups = Backups(home)
    # in reverse: folders created for the first additions are empty only at the end
    return [_uninstall_one(each, backups, dry_run=dry_run) for each in reversed(additions)][::-1]


def entry_in(entry: ConfigurationEntry) -> Value | None:
    """The current value of an entry in its file; `None` if there is none.

    Raises:
        SetupError: the file cannot be read.
    """
    path, data = opened(entry.path)
    with naming_file(path):
        return entry.current(_text(data))


def is_current(addition: Addition) -> bool | None:
    """Whether a file has this version of an addition; `None` if it has no version of it.

    Raises:
        SetupError: the file cannot be read.
    """
    change = _install_change(addition)
    return (not change.is_one) if addition.is_in(_text(change.before)) else None


def _install_change(addition: Addition) -> FileChange:
    path, current = opened(addition.path)
    with naming_file(path):
        text = _text(current)
        new = addition.added_to(text)
    return FileChange(path, current, current if new == text else new.encode())


def _install_one(addition: Addition, backups: Backups) -> AppliedChange:
    change = _install_change(addition)
    if not change.is_one or change.after is None:
        return AppliedChange(change)
    path, current = change.path, change.before
    before, folders = current, missing_folders(path)
    earlier = backups.of(path)
    if earlier and earlier.is_of(current):
        before, folders = earlier.before, earlier.folders
    elif earlier and current is not None and addition.is_in(_text(current)):
        before = _without(addition, current, earlier)
    backup = backups.keep(Backup(path, before, hash_of(change.after), folders))
    try:
        change.carry_out()
    except SetupError:
        if earlier is None:
            backups.forget(path)
        raise
    return AppliedChange(change, backup)


def _uninstall_change(addition: Addition, backups: Backups) -> FileChange:
    path, current = opened(addition.path)
    backup = backups.of(path)
    after = current
    if backup and backup.is_of(current):
        after = backup.before
    elif current is not None:
        with naming_file(path):
            if addition.is_in(_text(current)):
                after = _without(addition, current, backup)
    return FileChange(path, current, after)


def _uninstall_one(addition: Addition, backups: Backups, *, dry_run: bool) -> AppliedChange:
    try:
        change = _uninstall_change(addition, backups)
        backup = backups.of(change.path)
        if not dry_run:
            change.carry_out()
    except SetupError as error:
        return AppliedChange(FileChange(addition.path, None, None), problem=error)
    if backup and not dry_run:
        backups.forget(change.path)
        remove_empty(backup.folders if change.after is None else ())
    return AppliedChange(change)


def _without(addition: Addition, data: bytes, backup: Backup | None) -> bytes | None:
    """The file's content without an addition; `None` if the file was created for it."""
    text = addition.removed_from(_text(data), _text(backup.before) if backup else None)
    made_by_us = backup is not None and backup.before is None
    return None if made_by_us and text.strip() in ("", "{}") else text.encode()


def _text(data: bytes | None) -> str:
    """The content of a file as text; empty if there is no file."""
    return (data or b"").decode()


def resolved(path: Path) -> Path:
    """The path with links resolved, so that the file is replaced and the links stay."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise SetupError(
            f"{path} is a link that leads nowhere: {error}. Remove it, and run this again."
        ) from error


def opened(named: Path) -> tuple[Path, bytes | None]:
    """The path of a file with links resolved, and its content; an error names the file, too."""
    path = resolved(named)
    try:
        return path, read(path)
    except SetupError as error:
        if not named.is_symlink():
            raise
        raise SetupError(f"{named} is a link: {error}") from error


@contextmanager
def naming_file(path: Path) -> Generator[None]:
    """Turn a `ValueError` about the text of a file into a `SetupError` that names the file."""
    try:
        yield
    except ValueError as error:
        raise SetupError(
            f"{path} is not changed: {error}. Correct the file, and run this again."
        ) from error
