"""Pieces of ours put into files of others and taken out again: all else stays as it was."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from context_compression.errors import SetupError
from context_compression.setup.additions import Entry, Piece, Value
from context_compression.setup.files import (
    Backup,
    Backups,
    Change,
    hash_of,
    missing_folders,
    read,
    remove_empty,
)


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


def install(pieces: Sequence[Piece], home: Path, *, dry_run: bool = False) -> list[Done]:
    """Put pieces into their files; what is there already stays.

    Args:
        pieces: of one host.
        home: where backups are kept.
        dry_run: only say what would be done.

    Raises:
        SetupError: a file is broken, or cannot be changed. All were left as they are, unless the
            disk failed in between.
    """
    rehearsed = [Done(_putting(piece)) for piece in pieces]
    return rehearsed if dry_run else [_put(piece, Backups(home)) for piece in pieces]


def uninstall(pieces: Sequence[Piece], home: Path, *, dry_run: bool = False) -> list[Done]:
    """Take pieces out of their files again, which are as they were before.

    If a file was changed by others since, their changes stay.

    Raises:
        SetupError: as `install`.
    """
    backups = Backups(home)
    rehearsed = [Done(_taking(piece, backups)) for piece in pieces]
    if dry_run:
        return rehearsed
    # in reverse: the folders that the first ones made are empty only then
    return [_take(piece, backups) for piece in reversed(pieces)][::-1]


def entry_in(entry: Entry) -> Value | None:
    """An entry as it stands in its file.

    Raises:
        SetupError: the file cannot be read.
    """
    path = _real(entry.path)
    with _understanding(path):
        return entry.found(_text(read(path)))


def is_current(piece: Piece) -> bool | None:
    """Whether a piece is in its file as it would be put there now; `None` where it is not at all.

    Raises:
        SetupError: the file cannot be read.
    """
    change = _putting(piece)
    return (not change.is_one) if piece.is_in(_text(change.before)) else None


def _putting(piece: Piece) -> Change:
    path = _real(piece.path)
    there = read(path)
    with _understanding(path):
        text = _text(there)
        new = piece.put(text)
    return Change(path, there, there if new == text else new.encode())


def _put(piece: Piece, backups: Backups) -> Done:
    change = _putting(piece)
    if not change.is_one or change.after is None:
        return Done(change)
    path, there = change.path, change.before
    before, folders = there, missing_folders(path)
    earlier = backups.of(path)
    if earlier and earlier.is_of(there):
        before, folders = earlier.before, earlier.folders
    elif earlier and there is not None and piece.is_in(_text(there)):
        before = _left(piece, there, earlier)
    backup = backups.keep(Backup(path, before, hash_of(change.after), folders))
    change.carry_out()
    return Done(change, backup)


def _taking(piece: Piece, backups: Backups) -> Change:
    path = _real(piece.path)
    there = read(path)
    backup = backups.of(path)
    after = there
    if backup and backup.is_of(there):
        after = backup.before
    elif there is not None:
        with _understanding(path):
            if piece.is_in(_text(there)):
                after = _left(piece, there, backup)
    return Change(path, there, after)


def _take(piece: Piece, backups: Backups) -> Done:
    change = _taking(piece, backups)
    backup = backups.of(change.path)
    change.carry_out()
    if backup:
        backups.forget(change.path)
        remove_empty(backup.folders if change.after is None else ())
    return Done(change)


def _left(piece: Piece, data: bytes, backup: Backup | None) -> bytes | None:
    """What is left of a file without a piece; `None` where it was made for that."""
    left = piece.taken(_text(data), _text(backup.before) if backup else None)
    made_by_us = backup is not None and backup.before is None
    return None if made_by_us and left.strip() in ("", "{}") else left.encode()


def _text(data: bytes | None) -> str:
    """A file as text; a missing one is an empty one."""
    return (data or b"").decode()


def _real(path: Path) -> Path:
    """Where links lead: the file itself is replaced, and they stay."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise SetupError(f"{path} is a link that leads nowhere: {error}.") from error


@contextmanager
def _understanding(path: Path) -> Generator[None]:
    """What cannot be understood becomes an error that names the file."""
    try:
        yield
    except ValueError as error:
        raise SetupError(
            f"{path} is not changed: {error}. Mend it, so that its program and we can read it, and "
            "run this again."
        ) from error
