"""The sessions of a store in a folder."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from context_compression.store import files
from context_compression.store.backend import Stamp
from context_compression.store.names import FILE_NAME


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


def log_stamp(folder: Path, name: str) -> Stamp | None:
    """`Backend.stamp` of a session; `None` if it has no events."""
    with suppress(OSError):
        status = os.stat(f"{folder}/sessions/{name}/events.jsonl")
        return (status.st_size, status.st_mtime_ns) if status.st_size else None
    return None
