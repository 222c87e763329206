"""`FileBackend`: keeps a store in one folder of plain files, with locks between processes.

A store may have thousands of sessions, and a look at each takes longer than a search. So the list
of refs tells which session has a ref, and which logs have grown. A person may write to a log
without noting it, so in a store with few sessions all of them are looked at. In a large one a
search looks at all of them from time to time, and such a ref is found with the id of its session.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from threading import Lock
from time import monotonic, time_ns
from typing import Any, cast

from context_compression.conversation.messages import is_array, is_object
from context_compression.errors import StoreError, StoreUnwritable, UnknownRef
from context_compression.store import files
from context_compression.store.backend import CONFIG, LOCK_SECONDS, WRITING, Stamp, Stats
from context_compression.store.files import FILE_NAME, checked_name
from context_compression.store.hits import SearchResult
from context_compression.store.location import INDEX, JOURNAL_ENDINGS, folder_named
from context_compression.store.log import SessionLog
from context_compression.store.refs import SHORT_REF, Mark, RefList, complete_ref, several_originals
from context_compression.store.root_folder import (
    PROMPTS,
    KnownFolders,
    check_owner,
    holding,
    make_folder,
    settings_and_prompts,
    when_made,
)
from context_compression.store.session_files import SessionFiles


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
    """The stamp of a session; `None` if it has no events."""
    with suppress(OSError):
        status = os.stat(f"{folder}/sessions/{name}/events.jsonl")
        return (status.st_size, status.st_mtime_ns) if status.st_size else None
    return None


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

    def owner(self, ref: str, log_of: Callable[[str], SessionLog], *, by_list: bool) -> str | None:
        """The id of the newest session that archived a ref, as `Backend.owner` returns it.

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
                return log.id
        return None

    def stamps(self) -> Mapping[str, Stamp]:
        """The stamps of the logs that have events, by session, the most recently written first.

        It is the same object as long as nothing is known to have changed.
        """
        with self._lock:
            return self._known_stamps()

    def _listed_with(
        self, ref: str, names: Collection[str], log_of: Callable[[str], SessionLog]
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


def _refs_of(log: SessionLog) -> Iterable[str] | None:
    """All refs of a session; `None` if its log cannot be read."""
    with suppress(StoreError):
        return log.refs()
    return None


def owner_of(
    ref: str, logs: Iterable[SessionLog], refs_of: Callable[[SessionLog], Iterable[str]]
) -> SessionLog | None:
    """The first log that archived a ref, which may be shortened; `None` if no log did.

    Raises:
        UnknownRef: several refs begin with these digits, or two logs archived different originals
            under the ref.
    """
    owners: dict[str, list[SessionLog]] = {}
    for log in logs:
        with suppress(StoreError):  # another log may still be readable
            for full in refs_of(log):
                owners.setdefault(full, []).append(log)
    if (full := complete_ref(ref, owners)) is None:
        return None
    if len(owners[full]) == 1:
        return owners[full][0]
    by_digest: dict[str, SessionLog] = {}
    for log in owners[full]:
        with suppress(StoreError):
            by_digest.setdefault(log.digest(full), log)
    if len(by_digest) > 1:
        raise UnknownRef(several_originals(full, [log.id for log in by_digest.values()]))
    return next(iter(by_digest.values()), owners[full][0])


SUMMARIES = "summaries"
"""The name of the document with the summaries."""


class FileBackend:
    """A `Backend` in one folder. The first write creates the folder.

    Every method that reads or writes there raises `NotOurs` if the folder belongs to another user
    or other users may write to it.
    """

    def __init__(self, folder: str | Path, home: Path | None = None, *, refusal: str = "") -> None:
        """The store in a folder.

        Args:
            folder: its path.
            home: the home folder of a user whose settings and prompts apply only if he made or
                trusts the folder; `None` for a folder that a program names, which is trusted.
            refusal: why nothing may be archived here; "" if it may. All can be read and deleted.

        Raises:
            StoreError: `folder` is a URL, or contains a NUL character.
        """
        self.folder = folder_named(folder)
        self.refusal = refusal
        self._catalog = Catalog(self.folder)
        self._sessions: dict[str, SessionFiles] = {}
        self._known = KnownFolders(home) if home else None
        if self._known:
            when_made(self.folder, self._known.add_made)

    @property
    def name(self) -> str:
        """The path of the folder."""
        return str(self.folder)

    def of_tenant(self, tenant: str) -> "FileBackend":
        """The store in the folder `tenants/<tenant>`, which a program names and so is trusted."""
        folder = self.folder / "tenants" / checked_name(tenant, "A tenant's name")
        return FileBackend(folder, refusal=self.refusal)

    def is_ours(self) -> bool:
        """Whether the user made or trusts this folder, or a program named it."""
        return self._known is None or self._known.owns(self.folder)

    def not_applied(self) -> str:
        """Why settings and prompts here are not applied; "" if they are, or none exist."""
        check_owner(self.folder)
        reason = self._known.reason_not_applied(self.folder) if self._known else ""
        return f"Settings and prompts in {self.folder} are not applied: {reason}." if reason else ""

    def speaking(self) -> list[Path]:
        """The existing files with settings and prompts: `config.json` and `prompts/*.md`."""
        return settings_and_prompts(self.folder)

    def trust(self) -> None:
        """Apply the settings and prompts as they are in this folder now, from now on.

        Databases in a folder that was not ours lose their journals first: SQLite would follow what
        its author wrote there. In a folder of ours, a journal may hold what a killed process wrote.

        Raises:
            StoreError: the folder cannot be read, another process is writing to a conversation, or
                the list in the home folder cannot be written.
        """
        check_owner(self.folder)
        if self._known is None:
            return
        if not self.is_ours():
            from context_compression.store.search import index as index_file  # imports sqlite3

            index_file.remove(self.folder)
            for id in session_folders(self.folder):
                self.session(id).remove_journals()
        self._known.trust(self.folder)

    def session(self, id: str) -> SessionFiles:
        """The files of a session; the same object for the same id."""
        if id not in self._sessions:
            self._sessions[id] = SessionFiles(self.folder, id, self.refusal)
        return self._sessions[id]

    def forget(self, session: str) -> None:
        """Free the memory that a session takes; it is read again when it is used."""
        self._sessions.pop(session, None)

    def check(self) -> None:
        """Refuse a folder of another user."""
        check_owner(self.folder)
        files.no_link(self.folder / "sessions")

    def sessions(self, *, also_empty: bool = False) -> list[str]:
        """The ids of all sessions that have events, the most recently written first."""
        check_owner(self.folder)
        names = session_folders(self.folder)
        return names if also_empty else newest_first(self.folder, names)

    def owner(self, ref: str) -> str | None:
        """By the list of refs if it may be trusted, and by the logs."""
        check_owner(self.folder)
        return self._catalog.owner(ref, lambda id: SessionLog(self, id), by_list=self.is_ours())

    def add_summary(self, summary: Mapping[str, Any]) -> None:
        """Add to the list in `summaries.json`."""
        if self.refusal:
            raise StoreUnwritable(self.refusal)
        with self._writing_summaries():
            self._write_summaries([*self._summaries(), dict(summary)])

    def summaries(self, session: str | None = None) -> list[dict[str, Any]]:
        """Those in `summaries.json`."""
        entries = reversed(self._summaries())
        return [each for each in entries if session in (None, each.get("session"))]

    def remove(self, session: str, timeout: float, before: Callable[[], object]) -> None:
        """Delete the folder of a session, what the search index has of it, and its summaries."""

        def forget() -> None:
            before()
            if os.path.lexists(self.folder / INDEX):
                from context_compression.store.search import index as index_file  # imports sqlite3

                if self.is_ours():
                    index_file.forget(self.folder, session)
                else:
                    index_file.remove(self.folder)

        self.session(session).remove(timeout, forget)  # the index needs the texts for their words
        self.forget(session)
        if self.summaries(session):
            with self._writing_summaries():
                entries = self._summaries()
                self._write_summaries([each for each in entries if each.get("session") != session])

    def lock(
        self, name: str, busy: str, timeout: float = LOCK_SECONDS
    ) -> AbstractContextManager[None]:
        """A lock file in the folder."""
        check_owner(self.folder)
        return holding(self.folder, name, busy, timeout)

    def search(
        self, query: str, *, pattern: str | None, session: str | None, limit: int, skip: int
    ) -> SearchResult:
        """By an index in the folder, if the user may trust it."""
        from context_compression.store.search.run import SearchScope, search

        self.check()
        stamps = self._catalog.stamps()
        scope = SearchScope(self.folder, stamps, self.session, session, self.is_ours())
        return search(scope, query, pattern=pattern, limit=limit, skip=skip)

    def read_document(self, name: str) -> dict[str, Any]:
        """The object in `<name>.json`."""
        check_owner(self.folder)
        return files.read_document(self._document(name))

    def write_document(self, name: str, document: Mapping[str, Any]) -> None:
        """Replace `<name>.json`, with the version of the format."""
        data = files.to_json({"version": files.FORMAT, **document}, indent=2)
        make_folder(self.folder)
        files.replace_file(self._document(name), data + b"\n")
        if self._known and name == CONFIG:
            self._known.renew_trust(self.folder)

    def place_of_document(self, name: str) -> str:
        """The path of `<name>.json`."""
        return str(self._document(name))

    def prompt(self, name: str) -> str | None:
        """The text of `prompts/<name>.md`.

        Raises:
            StoreDamaged: the file cannot be read, is a link, or is not UTF-8.
        """
        return files.read_text(self.folder / PROMPTS / f"{name}.md")

    def sweep(self) -> int:
        """There are no other places; `prune` deletes what killed writers left in the folder."""
        return 0

    def verify(self) -> list[str]:
        """Reading the documents tells what is wrong with them: `[]`."""
        return []

    def size(self) -> int:
        """The bytes of all files in the folder."""
        return files.folder_size(self.folder)

    def stats(self, sessions: Collection[str]) -> Stats:
        """The bytes of the files of each session, and of the index."""
        shares = self._index_shares()
        sizes = {id: self.session(id).size() + shares.get(id, 0) for id in sessions}
        if not shares:
            return Stats(sizes, shares, files.size_of(self.folder / INDEX))
        return Stats(sizes, shares, sum(shares[id] for id in shares.keys() - {*self.sessions()}))

    def _index_shares(self) -> dict[str, int]:
        """The approximate bytes of the search index for each session; `{}` without an index.

        `{}` as well while another process is changing the index: opening it would end the change.
        """
        if not self.is_ours() or not os.path.lexists(self.folder / INDEX):
            return {}
        if any(os.path.lexists(self.folder / f"{INDEX}{ending}") for ending in JOURNAL_ENDINGS):
            return {}
        from context_compression.store.search import index as index_file  # imports sqlite3

        return index_file.shares(self.folder)

    def _summaries(self) -> list[dict[str, Any]]:
        """The summaries, oldest first."""
        entries = self.read_document(SUMMARIES).get("summaries", [])
        if not is_array(entries):
            raise files.damaged(self._document(SUMMARIES), 'has no list of "summaries"')
        if not all(map(is_object, entries)):
            problem = "holds a summary that is not a JSON object"
            raise files.damaged(self._document(SUMMARIES), problem)
        return cast("list[dict[str, Any]]", entries)

    def _write_summaries(self, entries: Sequence[Mapping[str, Any]]) -> None:
        self.write_document(SUMMARIES, {"summaries": entries})

    def _writing_summaries(self) -> AbstractContextManager[None]:
        return self.lock("store", WRITING)

    def _document(self, name: str) -> Path:
        return self.folder / f"{name}.json"
