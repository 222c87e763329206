"""Pruning of a store: old sessions that no other session refers to, and leftover files.

A session refers to a ref if the ref's digits occur anywhere in the session's log or originals. A
compacted context contains fewer refs, so pruning keeps too much rather than too little.
"""

import os
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from context_compression.errors import ObjectsLeft, StoreError
from context_compression.store.backend import LOCK_SECONDS, Backend, Stamp
from context_compression.store.files import size_of
from context_compression.store.location import INDEX, JOURNAL_ENDINGS
from context_compression.store.log import SessionLog
from context_compression.store.root_folder import LOCKS
from context_compression.strings import one_line

LEFTOVER_SECONDS = 3_600.0
"""Leftover files younger than this are kept: a process may still be writing them."""
MOST_READ = 1_000
"""Of how many sessions a deletion reads whether they refer to what is deleted."""
LONGEST_LIST = 1_000  # characters of the ids in an error
LOCK_ENDINGS = (".log", ".refs", ".compression", ".fitting", ".background")
"""Endings of the lock files that are pruned with their session."""


class PrunableStore(Protocol):
    """The part of a `Store` that pruning uses."""

    @property
    def backend(self) -> Backend:
        """What keeps it."""
        ...

    def sessions(self) -> list[str]:
        """The ids of all sessions."""
        ...

    def session(self, id: str) -> SessionLog:
        """The log of a session."""
        ...

    def delete(
        self, id: str, *, timeout: float = LOCK_SECONDS, if_stamp: Stamp | None = None
    ) -> None:
        """Deletes a session."""
        ...


@dataclass(frozen=True)
class Prunable:
    """The sessions and files that can be deleted, or were deleted.

    Attributes:
        sessions: their ids, the most recently written first.
        kept: sessions that are old enough but stay, each with a session that refers to it.
        left_over: files and folders that a killed process left behind.
        bytes: the size of everything that can be deleted.
        unread: sessions of which could not be read what they refer to, so all that is named in
            `kept` with one of them stays.
    """

    sessions: tuple[str, ...]
    kept: Mapping[str, str]
    left_over: tuple[Path, ...]
    bytes: int
    unread: tuple[str, ...] = ()


def prunable(
    store: PrunableStore, older_than: float, keep: Collection[str] = (), now: float | None = None
) -> Prunable:
    """The sessions and files that `prune` would delete, see `Store.prune`."""
    now = time.time() if now is None else now
    ids = store.sessions()
    old = [id for id in ids if id not in keep and _age(store.session(id), now) >= older_than]
    going, kept, unread = _unreferred(store, ids, old) if old else ([], {}, [])
    over = tuple(leftovers(store.backend.folder, now))
    size = sum(map(size_of, over))
    if going:
        size += sum(store.backend.stats(going).sizes.values())
    return Prunable(tuple(going), kept, over, size, tuple(unread))


def prune(
    store: PrunableStore, older_than: float, keep: Collection[str] = (), now: float | None = None
) -> Prunable:
    """Delete old sessions and leftovers, see `Store.prune`."""
    candidates = prunable(store, older_than, keep, now)
    removed = [path for path in candidates.left_over if _removed(path)]
    gone = _deleted(store, candidates.sessions, lambda stamp: False)
    remove_empty_index(store)
    kept = {id: by for id, by in candidates.kept.items() if id not in gone}
    return Prunable(tuple(gone), kept, tuple(removed), candidates.bytes, candidates.unread)


def expire(store: PrunableStore, older_than: float, now: float | None = None) -> list[str]:
    """Delete all sessions that are too old to be kept, see `Store.expire`."""
    until = (time.time() if now is None else now) - older_than
    return _deleted(store, reversed(store.sessions()), lambda stamp: stamp[1] / 1e9 > until)


def referring(store: PrunableStore, id: str) -> list[str]:
    """The other sessions that refer to a ref of session `id` and did not archive it themselves.

    In a store of a team only the newest are looked at, because each has to be read.
    """
    refs = _own_refs(store.session(id))
    return [
        other
        for other in store.sessions()[:MOST_READ]
        if other != id
        and store.backend.session(other).quoted() & refs - _own_refs(store.session(other))
    ]


def leftovers(folder: Path | None, now: float | None = None) -> Iterator[Path]:
    """Files and folders left by a killed process, last changed at least `LEFTOVER_SECONDS` ago."""
    now = time.time() if now is None else now
    for path in _suspects(folder) if folder else ():
        with suppress(OSError):
            if now - path.lstat().st_mtime >= LEFTOVER_SECONDS:
                yield path


def remove_empty_index(store: PrunableStore) -> None:
    """Delete the search index of a store without sessions; the next search creates it again."""
    folder = store.backend.folder
    if folder and os.path.lexists(folder / INDEX) and not store.sessions():
        from context_compression.store.search import index as index_file  # imports sqlite3

        with suppress(StoreError):  # it stays, and `archive` shows its size
            index_file.remove(folder)


def _unreferred(
    store: PrunableStore, ids: Collection[str], old: Collection[str]
) -> tuple[list[str], dict[str, str], list[str]]:
    """The old sessions that can go; for each that stays, one that refers to it; and the unread.

    One that cannot be read may refer to any.
    """
    refs = {id: _own_refs(store.session(id)) for id in ids}
    kept: dict[str, str] = {}
    unread: list[str] = []
    staying = [id for id in ids if id not in old]
    doubtful = {id for id in old if refs[id]}
    while staying and doubtful:
        by = staying.pop()
        try:
            quoted = store.backend.session(by).quoted() - refs[by]
            referred = {id for id in doubtful if quoted & refs[id]}
        except StoreError:
            unread.append(by)
            referred = doubtful
        kept |= dict.fromkeys(sorted(referred), by)
        staying += sorted(referred)  # sessions they refer to must stay, too
        doubtful = doubtful - referred
    return [id for id in old if id not in kept], kept, unread


def _deleted(
    store: PrunableStore, ids: Iterable[str], is_young: Callable[[Stamp], bool]
) -> list[str]:
    """Delete sessions, but those in which a process works; returns the ids of those that are gone.

    What goes wrong with one does not keep the others.

    Args:
        store: it has them.
        ids: of the sessions. The first that is young ends it, because all others are younger.
        is_young: whether a session with such a stamp is to stay.

    Raises:
        ObjectsLeft: something stays that should have gone; the error names what is gone.
    """
    gone: list[str] = []
    staying: list[str] = []
    wrong: StoreError | None = None
    for id in ids:
        try:
            stamp = store.session(id).stamp()
            if stamp and is_young(stamp):
                break
            store.delete(id, timeout=0, if_stamp=stamp)
        except ObjectsLeft as error:
            wrong = error
        except StoreError as error:
            if type(error) is not StoreError:  # not only that another process works in it
                wrong = error
                staying.append(id)
            continue
        gone.append(id)
    if wrong:
        stay = f"Not deleted: {one_line(', '.join(staying), LONGEST_LIST)}. " if staying else ""
        raise ObjectsLeft(f"{stay}{wrong}", gone) from wrong
    return gone


def _own_refs(log: SessionLog) -> set[str]:
    with suppress(StoreError):
        return {*log.refs()}
    return set()


def _suspects(folder: Path) -> Iterator[Path]:
    """Files and folders in a store that exist only while a process works, or after a kill."""
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
    """Whether the path from the store to a file goes through no link."""
    return not any(map(os.path.islink, path.parents[: path.parents.index(folder)]))


def _age(log: SessionLog, now: float) -> float:
    """Seconds since the last write to a session."""
    stamp = log.stamp()
    return now - stamp[1] / 1e9 if stamp else 0.0


def _removed(path: Path) -> bool:
    """Remove a file or folder; whether that succeeded."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
        return True
    return False
