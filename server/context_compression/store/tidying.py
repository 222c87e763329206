"""What may be deleted from a store: old sessions that no other refers to, and left-overs.

A ref counts as referred to wherever its digits stand in a log or in originals: that is more than
the views hold, so rather too much stays than too little.
"""

import os
import re
import shutil
import stat
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from context_compression.errors import StoreError
from context_compression.store import files
from context_compression.store.location import BESIDE_INDEX, INDEX
from context_compression.store.log import SessionLog

if TYPE_CHECKING:
    from context_compression.store.folder import Store

LEFT_SECONDS = 3_600.0
"""What is younger may still be written by somebody."""
LOCKS = (".log", ".compression")
_HEX = re.compile(rb"[0-9a-f]{12,}")


@dataclass(frozen=True)
class Prunable:
    """What may go, or went.

    Attributes:
        sessions: their ids, the one last written to first.
        kept: which are old enough but stay, each with the session that refers to it.
        left_over: files and folders that a kill left behind.
        bytes: how much all of it takes.
    """

    sessions: tuple[str, ...]
    kept: Mapping[str, str]
    left_over: tuple[Path, ...]
    bytes: int


def prunable(
    store: "Store", older_than: float, keep: Collection[str] = (), now: float | None = None
) -> Prunable:
    """What `prune` would delete."""
    now = time.time() if now is None else now
    ids = store.sessions()
    old = [id for id in ids if id not in keep and _age(store.session(id), now) >= older_than]
    going, kept = _unreferred(store, ids, old) if old else ([], {})
    over = tuple(left_over(store, now))
    size = sum(sizes(store, going).values()) + sum(map(_size, over))
    return Prunable(tuple(going), kept, over, size)


def prune(
    store: "Store", older_than: float, keep: Collection[str] = (), now: float | None = None
) -> Prunable:
    """Delete it; a session that another process works in stays."""
    found = prunable(store, older_than, keep, now)
    gone: list[str] = []
    for id in found.sessions:
        with suppress(StoreError):  # somebody works in it, or it cannot be removed
            store.delete(id, timeout=0, if_stamp=store.session(id).stamp)
            gone.append(id)
    removed = [path for path in found.left_over if _removed(path)]
    remove_empty_index(store)
    kept = {id: by for id, by in found.kept.items() if id not in gone}
    return Prunable(tuple(gone), kept, tuple(removed), found.bytes)


def referring(store: "Store", id: str) -> list[str]:
    """The other sessions in which a ref stands that is archived in this one alone."""
    refs = _own_refs(store.session(id))
    return [
        other
        for other in store.sessions()
        if other != id and _quoted(store.session(other)) & refs - _own_refs(store.session(other))
    ]


def left_over(store: "Store", now: float | None = None) -> Iterator[Path]:
    """What a kill left behind, an hour ago or longer: nobody can be writing it any more."""
    now = time.time() if now is None else now
    for path in _suspects(store):
        with suppress(OSError):
            if now - path.lstat().st_mtime >= LEFT_SECONDS:
                yield path


def sizes(store: "Store", ids: Collection[str]) -> dict[str, int]:
    """Bytes that each of these sessions takes: its files, and its share of the index."""
    shares = index_shares(store) if ids else {}
    return {id: store.size_of(id) + shares.get(id, 0) for id in ids}


def index_shares(store: "Store") -> dict[str, int]:
    """`Store.index_shares`; nothing while a change of it is not ended, which a look would end."""
    if any(os.path.lexists(store.folder / f"{INDEX}{ending}") for ending in BESIDE_INDEX):
        return {}
    return store.index_shares()


def index_beside(store: "Store") -> int:
    """Bytes of the search index that are counted to no session."""
    shares = index_shares(store)
    if not shares:
        return _size(store.folder / INDEX)
    return sum(shares[name] for name in shares.keys() - {*store.sessions()})


def remove_empty_index(store: "Store") -> None:
    """Delete the search index of a store in which no session is left; it can be made anew."""
    if os.path.lexists(store.folder / INDEX) and not store.sessions():
        from context_compression.store import index

        with suppress(StoreError):  # it stays, and `archive` tells its size
            index.remove(store.folder)


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(map(_size, _files(folder)))


def _unreferred(
    store: "Store", ids: Collection[str], old: Collection[str]
) -> tuple[list[str], dict[str, str]]:
    """Of the old ones those that none of the others refers to; and who refers to the rest."""
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
    """All that could be a ref in any text of a session, or in its originals."""
    found: set[str] = set()
    for path in (log.folder / "events.jsonl", *log.folder.glob("compact-*.json")):
        with suppress(OSError, StoreError):
            for run in _HEX.findall(files.ordinary(path).read_bytes()):
                digits = run.decode()
                found.update(digits[at : at + 12] for at in range(len(digits) - 11))
                found.add(digits)
    return found


def _suspects(store: "Store") -> Iterator[Path]:
    """What no work leaves behind that comes to its end."""
    folder = store.folder
    sessions = folder / "sessions"
    for pattern in (".new-*", "sessions/*/.new-*", "sessions/*/offloaded/.new-*"):
        yield from (path for path in folder.glob(pattern) if _is_inside(path, folder))
    yield from sessions.glob(".deleted-*")
    if not os.path.lexists(folder / INDEX):
        yield from (
            path for ending in BESIDE_INDEX if (path := folder / f"{INDEX}{ending}").exists()
        )
    for path in (folder / ".locks").glob("*"):
        if not _is_inside(path, folder):
            return
        id = path.name.removesuffix(path.suffix)
        if path.suffix in LOCKS and not os.path.lexists(sessions / id):
            yield path


def _is_inside(path: Path, folder: Path) -> bool:
    """Whether no link leads from the store to a file in it."""
    return not any(map(os.path.islink, path.parents[: path.parents.index(folder)]))


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names)


def _size(path: Path) -> int:
    with suppress(OSError):
        status = path.lstat()
        return size_of(path) if stat.S_ISDIR(status.st_mode) else status.st_size
    return 0


def _age(log: SessionLog, now: float) -> float:
    stamp = log.stamp
    return now - stamp[1] / 1e9 if stamp else 0.0


def _removed(path: Path) -> bool:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
        return True
    return False
