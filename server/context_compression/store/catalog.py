"""What a store has, without a look at each of its sessions: their logs, and the owner of a ref.

A store may have thousands of sessions, and a look at each takes longer than a search. So the list
of refs tells which session has a ref, and which logs have grown. A person, or an older version of
this package, may write to a log without noting it. So in a store with few sessions all of them are
looked at. In a large one a search looks at all of them from time to time, and such a ref is found
with the id of its session.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import monotonic, time_ns

from context_compression.errors import StoreError
from context_compression.store.backend import Owner, RefOwner, Stamp
from context_compression.store.owners import owner_of
from context_compression.store.ref_list import Mark, RefList
from context_compression.store.sessions import log_stamp, newest_first, session_folders
from context_compression.store.short_refs import SHORT_REF

FEW_TO_READ = 30
"""The logs of this many sessions are read for a ref that is not in the list."""
FEW_TO_STAT = 300
"""Up to this many sessions, each search looks at the size and time of each log."""
SETTLED_NS = 2_000_000_000
"""A folder that was changed longer ago than this, in ns, has another time after the next change."""
SECONDS = 60.0
"""How long a larger store relies on the list."""


class Catalog:
    """The sessions of one store, as far as this process knows them."""

    def __init__(self, root: Path) -> None:
        """The sessions of the store at `root`. Nothing is read yet."""
        self._root = root
        self._lock = Lock()  # several threads may search at once
        self._refs = RefList(root)
        self._stamps: dict[str, Stamp] = {}
        self._mark: Mark = (0, 0)
        self._until = 0.0
        self._changed = 0
        self._folders = frozenset[str]()
        self._listed = frozenset[str]()

    def owner(self, ref: str, log_of: Callable[[str], Owner], *, by_list: bool) -> Owner | None:
        """The newest session that archived a ref; see `owners.owner_of` for the errors.

        Args:
            ref: complete, or its first four or more digits.
            log_of: returns the log of a session.
            by_list: whether the list may be read and written; otherwise all logs are read.
        """
        if not SHORT_REF.fullmatch(ref):
            return None
        with self._lock:
            names = self._names()
        listed = self._listed_with(ref.lower(), names, log_of) if by_list else ()
        read_all = not by_list or len(names) <= FEW_TO_READ
        for ids in (listed, names if read_all else ()):
            logs = [*map(log_of, newest_first(self._root, ids))]
            by_bytes = owner_of(ref, logs, lambda log: log.about(ref))
            if log := by_bytes or owner_of(ref, logs, lambda log: log.refs()):
                return log
        return None

    def stamps(self) -> Mapping[str, Stamp]:
        """The stamps of the logs that have events, by session, the most recently written first.

        It is the same object as long as nothing is known to have changed.
        """
        with self._lock:
            return self._known_stamps()

    def _listed_with(
        self, ref: str, names: Collection[str], log_of: Callable[[str], RefOwner]
    ) -> Collection[str]:
        """The sessions that may have archived a ref, by the list."""
        with self._lock:
            self._refs.read()
            self._refs.add_missing(names, lambda id: _refs_of(log_of(id)))
            return self._refs.sessions_with(ref).intersection(names)

    def _known_stamps(self) -> Mapping[str, Stamp]:
        names = self._names()
        end = self._refs.read()
        grown = self._refs.grown_since(self._mark)
        if len(names) <= FEW_TO_STAT or grown is None or monotonic() > self._until:
            self._stamps, grown = {}, set(names)
            self._until = monotonic() + SECONDS
        self._mark = end
        known = self._stamps
        if names is not self._listed:
            known = {name: known[name] for name in names if name in known}
            grown |= names.difference(known)
        changed = {name: log_stamp(self._root, name) for name in grown.intersection(names)}
        if known is not self._stamps or any(known.get(n) != stamp for n, stamp in changed.items()):
            found = [(n, stamp) for n, stamp in {**known, **changed}.items() if stamp]
            self._stamps = dict(sorted(found, key=lambda item: (-item[1][1], item[0])))
        self._listed = names
        return self._stamps

    def _names(self) -> frozenset[str]:
        """The names of the folders of sessions; the same object if the folder did not change."""
        now = time_ns()
        with suppress(OSError):
            changed = os.stat(f"{self._root}/sessions").st_mtime_ns
            if changed != self._changed:
                self._folders = frozenset(session_folders(self._root))
                # a later change may have the same time if the clock of the disk is coarse
                self._changed = changed if now - changed > SETTLED_NS else 0
            return self._folders
        return frozenset()


def _refs_of(log: RefOwner) -> Iterable[str] | None:
    """All refs of a session; `None` if its log cannot be read."""
    with suppress(StoreError):
        return log.refs()
    return None
