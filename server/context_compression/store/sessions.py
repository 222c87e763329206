"""The sessions of a store, and the session that archived a ref."""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from context_compression.errors import StoreError, UnknownRef
from context_compression.store import files
from context_compression.store.log import SessionLog
from context_compression.store.names import FILE_NAME
from context_compression.store.short_refs import complete_ref


def session_folders(folder: Path) -> list[str]:
    """The names of all folders of sessions in a store, in alphabetical order.

    Raises:
        StoreDamaged: the folder cannot be read, or is a link.
    """
    sessions = files.no_link(folder / "sessions")
    with (
        files.reading(sessions),
        suppress(FileNotFoundError),
        os.scandir(sessions) as entries,  # they know what is a link without asking the disk
    ):
        return sorted(
            entry.name
            for entry in entries
            if FILE_NAME.fullmatch(entry.name) and not entry.is_symlink()
        )
    return []


def newest_first(folder: Path, names: Iterable[str]) -> list[str]:
    """The sessions that have recorded events, the most recently written first."""
    stamps = {name: stamp for name in names if (stamp := log_stamp(folder, name))}
    return sorted(stamps, key=lambda name: (-stamps[name][1], name))


def log_stamp(folder: Path, name: str) -> tuple[int, int] | None:
    """`SessionLog.stamp` of a session; `None` if it has no events."""
    with suppress(OSError):
        status = os.stat(f"{folder}/sessions/{name}/events.jsonl")
        return (status.st_size, status.st_mtime_ns) if status.st_size else None
    return None


def has_compression(log: SessionLog, n: int) -> bool:
    """Whether compression number `n` completed in a session, or the session has no events."""
    events = log.events().items
    ended = (event.get("n") for event in events if event.get("type") == "compression")
    return not events or n in ended


def owner_of(
    ref: str, logs: Iterable[SessionLog], refs_of: Callable[[SessionLog], Iterable[str]]
) -> SessionLog | None:
    """The first log that archived a ref; `None` if no log did.

    Args:
        ref: complete, or its first four or more digits.
        logs: the newest first.
        refs_of: returns the refs of a log that may match.

    Raises:
        UnknownRef: several refs begin with these digits, or two logs archived different originals
            under the ref.
    """
    owners: dict[str, list[SessionLog]] = {}
    for log in logs:
        with suppress(StoreError):  # another log may still be readable
            for full in refs_of(log):
                owners.setdefault(full, []).append(log)
    full = complete_ref(ref, owners)
    return None if full is None else _first_owner(full, owners[full])


def _first_owner(ref: str, owners: Sequence[SessionLog]) -> SessionLog:
    """The first log that has the original of a ref; the original must be the same in all logs."""
    if len(owners) == 1:
        return owners[0]
    by_digest: dict[str, SessionLog] = {}
    for log in owners:
        with suppress(StoreError):
            by_digest.setdefault(log.digest(ref), log)
    if len(by_digest) > 1:
        where = " and in ".join(log.id for log in by_digest.values())
        raise UnknownRef(
            f"{ref} stands for different things in {where}: their hashes begin alike, which does "
            "not happen by chance. Name the session, too."
        )
    return next(iter(by_digest.values()), owners[0])
