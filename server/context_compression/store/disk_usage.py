"""The disk space of a store: its sessions, and their shares of the search index."""

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from context_compression.store.location import INDEX, JOURNAL_ENDINGS
from context_compression.store.log import SessionLog


class MeasuredStore(Protocol):
    """The part of a `Store` that is measured."""

    @property
    def folder(self) -> Path:
        """The folder of the store."""
        ...

    def sessions(self) -> list[str]:
        """The ids of all sessions."""
        ...

    def session(self, id: str) -> SessionLog:
        """The log of a session."""
        ...

    def index_shares(self) -> dict[str, int]:
        """Bytes of the index by session."""
        ...


def sizes(store: MeasuredStore, ids: Collection[str]) -> dict[str, int]:
    """The bytes of each of these sessions: its files, and its share of the index."""
    shares = index_shares(store) if ids else {}
    return {id: folder_size(store.session(id).folder) + shares.get(id, 0) for id in ids}


def index_shares(store: MeasuredStore) -> dict[str, int]:
    """The result of `Store.index_shares`; `{}` while another process is changing the index.

    Opening the index at that time would end the change.
    """
    if any(os.path.lexists(store.folder / f"{INDEX}{ending}") for ending in JOURNAL_ENDINGS):
        return {}
    return store.index_shares()


def unassigned_index_bytes(store: MeasuredStore) -> int:
    """Bytes of the search index that `sizes` assigns to no session."""
    shares = index_shares(store)
    if not shares:
        return size_of(store.folder / INDEX)
    return sum(shares[name] for name in shares.keys() - {*store.sessions()})


def folder_size(folder: Path) -> int:
    """Bytes of all files in a folder; 0 if the folder does not exist."""
    return sum(map(size_of, _files(folder)))


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder; 0 if the path does not exist."""
    with suppress(OSError):
        status = path.lstat()
        return folder_size(path) if stat.S_ISDIR(status.st_mode) else status.st_size
    return 0


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names)
