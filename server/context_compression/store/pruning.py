"""What may be deleted from a store: old sessions that no other refers to, and leftovers.

A session refers to a ref if its digits stand anywhere in the session's log or originals. That is
more than a compacted context holds, so rather too much is kept than too little.
"""

import os
import re
import shutil
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from context_compression.errors import StoreError
from context_compression.store import files
from context_compression.store.disk_usage import MeasuredStore, size_of, sizes
from context_compression.store.location import INDEX, JOURNAL_ENDINGS
from context_compression.store.log import SessionLog
from context_compression.store.originals import PATTERN
from context_compression.store.root_folder import LOCK_SECONDS, LOCKS

LEFTOVER_SECONDS = 3_600.0
"""Younger files may still be in use by the process that writes them."""
LOCK_ENDINGS = (".log", ".compression")
"""Of the names of locks of sessions that are pruned with them."""
REF_DIGITS = 12
_HEX = re.compile(rb"[0-9a-f]{12,}")


class PrunableStore(MeasuredStore, Protocol):
    """What of a `Store` is used to prune it."""

    def delete(
        self,
        id: str,
        *,
        timeout: float = LOCK_SECONDS,
        if_stamp: tuple[int, int] | None = None,
    ) -> None:
        """Deletes a session."""
        ...


@dataclass(frozen=True)
class Prunable:
    """What may be deleted, or was.

    Attributes:
        sessions: their ids, the one last written to first.
        kept: sessions that are old enough but stay, each with the session that refers to it.
        left_over: files and folders that a killed process left behind.
        bytes: of all that may be deleted.
    """

    sessions: tuple[str, ...]
    kept: Mapping[str, str]
    left_over: tuple[Path, ...]
    bytes: int


def prunable(
    store: PrunableStore, older_than: float, keep: Collection[str] = (), now: float | None = None
) -> Prunable:
    """What `prune` would delete, see `Store.prune`."""
    now = time.time() if now is None else now
    ids = store.sessions()
    old = [id for id in ids if id not in keep and _age(store.session(id), now) >= older_than]
    going, kept = _unreferred(store, ids, old) if old else ([], {})
    over = tuple(leftovers(store, now))
    size = sum(sizes(store, going).values()) + sum(map(size_of, over))
    return Prunable(tuple(going), kept, over, size)


def prune(
    store: PrunableStore, older_than: float, keep: Collection[str] = (), now: float | None = None
) -> Prunable:
    """Delete old sessions and leftovers, see `Store.prune`."""
    candidates = prunable(store, older_than, keep, now)
    gone: list[str] = []
    for id in candidates.sessions:
        with suppress(StoreError):  # another process works in it, or it cannot be removed
            store.delete(id, timeout=0, if_stamp=store.session(id).stamp)
            gone.append(id)
    removed = [path for path in candidates.left_over if _removed(path)]
    remove_empty_index(store)
    kept = {id: by for id, by in candidates.kept.items() if id not in gone}
    return Prunable(tuple(gone), kept, tuple(removed), candidates.bytes)


def referring(store: MeasuredStore, id: str) -> list[str]:
    """The other sessions that refer to a ref which only the session `id` archived."""
    refs = _own_refs(store.session(id))
    return [
        other
        for other in store.sessions()
        if other != id and _quoted(store.session(other)) & refs - _own_refs(store.session(other))
    ]


def leftovers(store: MeasuredStore, now: float | None = None) -> Iterator[Path]:
    """What a killed process left behind, an hour ago or longer: no process uses it any more."""
    now = time.time() if now is None else now
    for path in _suspects(store.folder):
        with suppress(OSError):
            if now - path.lstat().st_mtime >= LEFTOVER_SECONDS:
                yield path


def remove_empty_index(store: MeasuredStore) -> None:
    """Delete the search index of a store without sessions; the next search makes it again."""
    if os.path.lexists(store.folder / INDEX) and not store.sessions():
        from context_compression.store.search import index_file  # imports sqlite3

        with suppress(StoreError):  # it stays, and `archive` shows its size
            index_file.remove(store.folder)


def _unreferred(
    store: MeasuredStore, ids: Collection[str], old: Collection[str]
) -> tuple[list[str], dict[str, str]]:
    """The old sessions to which none that stays refers; and for each other, one that does."""
    refs = {id: _own_refs(store.session(id)) for id in ids}
    kept: dict[str, str] = {}
    staying = [id for id in ids if id not in old]
    while staying:
        by = staying.pop()
        quoted = _quoted(store.session(by)) - refs[by]
        for id in old:
            if id not in kept and quoted & refs[id]:
                kept[id] = by
                staying.append(id)  # what it refers to is needed, too
    return [id for id in old if id not in kept], kept


def _own_refs(log: SessionLog) -> set[str]:
    with suppress(StoreError):
        return {*log.refs()}
    return set()


def _quoted(log: SessionLog) -> set[str]:
    """All digits in a log and its originals that could be a ref."""
    quoted: set[str] = set()
    for path in (log.folder / "events.jsonl", *log.folder.glob(PATTERN)):
        with suppress(OSError, StoreError):
            for run in _HEX.findall(files.ordinary(path).read_bytes()):
                digits = run.decode()
                starts = range(len(digits) - REF_DIGITS + 1)
                quoted.update(digits[at : at + REF_DIGITS] for at in starts)
                quoted.add(digits)
    return quoted


def _suspects(folder: Path) -> Iterator[Path]:
    """Files and folders in a store that are there only while a process works, or after a kill."""
    sessions = folder / "sessions"
    for pattern in (".new-*", "sessions/*/.new-*", "sessions/*/offloaded/.new-*"):
        yield from (path for path in folder.glob(pattern) if _is_inside(path, folder))
    yield from sessions.glob(".deleted-*")
    if not os.path.lexists(folder / INDEX):
        yield from (
            path for ending in JOURNAL_ENDINGS if (path := folder / f"{INDEX}{ending}").exists()
        )
    for path in (folder / LOCKS).glob("*"):
        if not _is_inside(path, folder):
            return
        id = path.name.removesuffix(path.suffix)
        if path.suffix in LOCK_ENDINGS and not os.path.lexists(sessions / id):
            yield path


def _is_inside(path: Path, folder: Path) -> bool:
    """Whether no link leads from the store to a file in it."""
    return not any(map(os.path.islink, path.parents[: path.parents.index(folder)]))


def _age(log: SessionLog, now: float) -> float:
    """Seconds since a session was written to."""
    stamp = log.stamp
    return now - stamp[1] / 1e9 if stamp else 0.0


def _removed(path: Path) -> bool:
    """Whether a file or folder could be removed."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
        return True
    return False
