"""`Store`: settings, prompts, summaries and sessions, wherever they are kept.

`CONTEXT_COMPRESSION_OBJECTS` says where a database's store keeps large messages, and
`CONTEXT_COMPRESSION_KEY` encrypts what it keeps. A folder knows neither, so with one of them
nothing is archived in it: who sets a key must not believe that an archive is sealed which is not.
What is there already can be read and deleted.
"""

import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from time import time
from typing import Any, Self, TypeAlias, cast

from context_compression.errors import NotOurs, ObjectsLeft, StoreBusy, StoreError
from context_compression.extras import extra
from context_compression.setting_names import with_own_names
from context_compression.store.backend import CONFIG, LOCK_SECONDS, WRITING, Backend, Stamp
from context_compression.store.beside import HostSessions, OriginalBeside, beside_folder, together
from context_compression.store.file_backend import FileBackend
from context_compression.store.files import collecting, size_of
from context_compression.store.hits import SearchResult
from context_compression.store.location import (
    INDEX,
    JOURNAL_ENDINGS,
    PLACE,
    database_address,
    is_database,
    store_folder_for,
)
from context_compression.store.log import SessionLog
from context_compression.store.objects import objects_at
from context_compression.store.refs import bare_ref
from context_compression.store.root_folder import LOCKS
from context_compression.store.sealing import VARIABLE, seal_from
from context_compression.strings import SHOWN_VALUE, one_line, without_middle

FindBeside: TypeAlias = Callable[[], HostSessions | None]
OBJECTS = "CONTEXT_COMPRESSION_OBJECTS"
NOT_OF_FOLDERS = {
    VARIABLE: "encrypts only a store in PostgreSQL; this store is a folder and would not be "
    "encrypted",
    OBJECTS: "is only for a store in PostgreSQL; this store is a folder and would keep large "
    "messages itself",
}
"""What is wrong with a variable if the store is a folder."""
UNSET = f"Unset it, or name a database in {PLACE}."
IN_A_PROGRAM = "A program that wants such a folder beside a database passes FileBackend(path)."
LEFTOVER_SECONDS = 3_600.0
"""Leftover files younger than this are kept: a process may still be writing them."""
MOST_READ = 1_000
"""Of how many sessions a deletion reads whether they refer to what is deleted."""
LONGEST_LIST = 1_000  # characters of the ids in an error
LOCK_ENDINGS = (".log", ".refs", ".compression", ".fitting", ".background")
"""Endings of the lock files that are pruned with their session."""


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


class Store:
    """What all sessions of a project or a user keep. Several threads and processes may use it.

    Every method that reads or writes raises `NotOurs` if the store must not be used: its folder
    belongs to another user, or other users may write to it. It raises `StoreUnwritable` if a write
    is refused.

        store = Store(".compression")
        store.sessions()                               # ["deploy", "refactoring"]
        store.search("timeout path:src/app").hits[0].ref
    """

    def __init__(self, place: str | Path | Backend) -> None:
        """The store at a place. The first write creates it.

        Args:
            place: the path of a folder, the address of a database (`postgresql://…`), or a backend.

        Raises:
            StoreError: another kind of URL, or the path contains a NUL character.
            InvalidSettings: see `backend_at`.
            MissingExtra: the place is a database, and `psycopg` is not installed.
        """
        self.backend: Backend = backend_at(place) if isinstance(place, str | Path) else place
        self.find_beside: Callable[[], HostSessions | None] = partial(
            beside_folder, self.backend.folder
        )
        self._logs: dict[str, SessionLog] = {}

    def __repr__(self) -> str:
        return f"<Store {without_middle(self.name, SHOWN_VALUE - 8)}>"

    @classmethod
    def find(cls, start: Path, *, home: Path, environ: Mapping[str, str]) -> Self:
        """The user's store for work done in `start`; see `location.store_folder_for`.

        `CONTEXT_COMPRESSION_STORE` may also name a database.
        """
        if (place := environ.get(PLACE)) and is_database(place):
            return cls.of_user(place, home, environ)
        return cls.of_user(store_folder_for(start, home=home, environ=environ), home, environ)

    @classmethod
    def of_user(
        cls, place: str | Path, home: Path, environ: Mapping[str, str] | None = None
    ) -> Self:
        """The store at a place; settings and prompts apply only if the user made or trusts it.

        A folder that a program names with `Store(folder)` is always trusted. The list of the user's
        folders is kept in `home`.
        """
        return cls(backend_at(place, home, environ))

    @property
    def name(self) -> str:
        """What people are shown for the store: its path, or its address without secrets."""
        return self.backend.name

    @property
    def files(self) -> FileBackend:
        """The engine of a store in a folder.

        Raises:
            StoreError: it is kept somewhere else.
        """
        if isinstance(self.backend, FileBackend):
            return self.backend
        raise StoreError(f"{self.name} is not a folder, and this needs a store in a folder.")

    @property
    def folder(self) -> Path:
        """The folder of the store; raises what `files` raises."""
        return self.files.folder

    def exists(self) -> bool:
        """Whether anything was ever written here."""
        folder = self.backend.folder
        return folder is None or folder.exists()

    def has_file(self, path: Path) -> bool:
        """Whether a path is that of the store's folder, or leads into it."""
        folder = self.backend.folder
        return folder is not None and path.resolve().is_relative_to(folder.resolve())

    @property
    def place_of_settings(self) -> str:
        """What people are shown for the place of the settings."""
        return self.backend.place_of_document(CONFIG)

    def is_ours(self) -> bool:
        """Whether the user made or trusts this store, or a program named it."""
        return self.backend.is_ours()

    def not_applied(self) -> str:
        """Why settings and prompts here are not applied; "" if they are, or none exist.

        Raises:
            StoreError: the store cannot be read.
        """
        return self.backend.not_applied()

    def doubts(self) -> tuple[str, ...]:
        """Warnings: why settings are not applied, and why nothing may be archived here."""
        return tuple(filter(None, (self.not_applied(), self.backend.refusal)))

    def of_tenant(self, tenant: str) -> "Store":
        """The store of a tenant, apart from this one and from those of all other tenants.

        Raises:
            StoreError: the name has other characters than A-Z a-z 0-9 . _ -, or too many.
        """
        return Store(self.backend.of_tenant(tenant))

    def prompt(self, name: str) -> str | None:
        """The user's instruction for summaries of this name.

        `None` if there is none, or prompts are not applied.

        Raises:
            StoreDamaged: it cannot be read, or is not UTF-8.
        """
        return None if self.not_applied() else self.backend.prompt(name)

    def read_config(self) -> dict[str, Any]:
        """The settings by our names; `{}` if there are none, or they are not applied.

        Raises:
            StoreDamaged: they are not a JSON object.
            StoreTooNew: a newer version wrote it.
        """
        not_applied = self.not_applied()
        values = self.backend.read_document(CONFIG)
        values.pop("version", None)
        return {} if not_applied else with_own_names(values)

    def update_config(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Replace the settings with what `change` returns for them; returns the new values.

        No other process writes in between.

            store.update_config(lambda values: {**values, "token_budget": 100_000})

        Raises:
            NotOurs: settings in this store are not applied.
            StoreDamaged: the old settings are damaged; they are not overwritten.
            StoreTooNew: a newer version wrote it.
        """
        with self.backend.lock("store", WRITING):
            if reason := self.not_applied():
                raise NotOurs(f"{reason} Nothing was changed.")
            values = change(self.read_config())
            self.backend.write_document(CONFIG, values)
        return values

    def add_summary(self, entry: Mapping[str, Any]) -> None:
        """Add a summary to those of the store.

        Args:
            entry: JSON values; `entry["session"]` is the id of the session. If a compression wrote
                the summary, `entry["n"]` is its number.

        Raises:
            StoreDamaged: the summaries are damaged; they are not overwritten.
        """
        self.backend.add_summary(entry)

    def summaries(
        self, *, session: str | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """The summaries that were added, newest first.

        A checkpoint that was added several times is returned once. Fields of a wrong type are
        omitted, and so are summaries without a text or of a compression that was killed.

        Args:
            session: return only the summaries of the session with this id; `None` for all.
            limit: how many at most; `None` for all.

        Raises:
            StoreDamaged: the summaries are damaged.
        """
        entries = filter(_is_whole, map(_usable_part, self.backend.summaries(session)))
        return list(islice(_without_repeats(filter(self._counts, entries)), limit))

    def session(self, id: str) -> SessionLog:
        """The log of a session, whether or not it exists; the same object for the same id.

        Raises:
            StoreError: `id` is not 1 to 128 letters, digits, `.`, `_`, `-`, or begins with a dot.
        """
        self.backend.check()
        return self._log(id)

    def sessions(self) -> list[str]:
        """The ids of all sessions that have recorded events, the most recently written first."""
        return self.backend.sessions()

    def delete(
        self, id: str, *, timeout: float = LOCK_SECONDS, if_stamp: Stamp | None = None
    ) -> None:
        """Delete a session, its archive and its summaries; they cannot be restored.

        Args:
            id: of the session.
            timeout: seconds to wait for a running compression of the session.
            if_stamp: an earlier `SessionLog.stamp`; if events were added since, nothing is deleted.

        Raises:
            StoreError: another process works in the session, or wrote to it; nothing was deleted.
            ObjectsLeft: it was deleted, but large messages of it are still where the objects are.
        """
        log = self.session(id)

        def unchanged() -> None:
            if if_stamp is not None and log.stamp() != if_stamp:
                raise StoreError(f"Something was recorded in {id} meanwhile; it was not deleted.")

        try:
            self.backend.remove(id, timeout, unchanged)
        finally:
            self._logs.pop(id, None)

    def forget(self, id: str) -> None:
        """Free the memory that a session takes; it is read again when it is used."""
        self._logs.pop(id, None)
        self.backend.forget(id)

    def prunable(
        self, older_than: float, *, keep: Collection[str] = (), now: float | None = None
    ) -> Prunable:
        """The sessions and files that `prune` would delete, and how many bytes they take."""
        now = time() if now is None else now
        ids = self.sessions()
        old = [id for id in ids if id not in keep and _age(self.session(id), now) >= older_than]
        going, kept, unread = _unreferred(self, ids, old) if old else ([], {}, [])
        over = tuple(leftovers(self.backend.folder, now))
        size = sum(self.sizes(going).values()) + sum(map(size_of, over))
        return Prunable(tuple(going), kept, over, size, tuple(unread))

    def prune(
        self, older_than: float, *, keep: Collection[str] = (), now: float | None = None
    ) -> Prunable:
        """Delete old sessions, and files left by killed processes; returns what was deleted.

        A session is kept if a session that stays refers to it, or if a process is working in it. It
        refers to a ref if the ref's digits occur anywhere in its log or originals. A compacted
        context contains fewer refs, so this keeps too much rather than too little.

            store.prune(older_than=90 * 86_400).sessions    # ("an-old-one",)

        Args:
            older_than: seconds since the last write to a session.
            keep: ids of sessions that are kept in any case.
            now: seconds since 1970; `None` for the current time.
        """
        candidates = self.prunable(older_than, keep=keep, now=now)
        removed = [path for path in candidates.left_over if _removed(path)]
        gone = _deleted(self, candidates.sessions, lambda stamp: False)
        remove_empty_index(self)
        kept = {id: by for id, by in candidates.kept.items() if id not in gone}
        return Prunable(tuple(gone), kept, tuple(removed), candidates.bytes, candidates.unread)

    def expire(self, older_than: float, *, now: float | None = None) -> list[str]:
        """Delete every session that was last written so long ago, also one that others refer to.

        For archives that must not be kept longer than a rule allows; `prune` is for the room they
        take. A session in which a process works is kept until the next time. Returns the ids of the
        deleted sessions, the oldest first; for the arguments see `prune`.
        """
        until = (time() if now is None else now) - older_than
        return _deleted(self, reversed(self.sessions()), lambda stamp: stamp[1] / 1e9 > until)

    def sizes(self, ids: Collection[str]) -> Mapping[str, int]:
        """The bytes of each of these sessions, with its share of the search index."""
        return self.backend.stats(ids).sizes if ids else {}

    def size_of(self, id: str | None = None) -> int:
        """The bytes of a session, 0 if it does not exist; of the whole store for `None`."""
        return self.backend.size() if id is None else self.backend.session(id).size()

    def locate(self, ref: str) -> SessionLog | None:
        """The newest session that archived a ref; `None` if no session did.

        Args:
            ref: complete, or its first four or more digits. `SessionLog.full_ref` completes it.

        Raises:
            UnknownRef: several refs begin with these digits, or two sessions archived different
                originals under the ref, which does not happen by chance.
        """
        owner = self.backend.owner(bare_ref(ref))
        return None if owner is None else self._log(owner)

    def search(
        self,
        query: str = "",
        *,
        pattern: str | None = None,
        session: str | None = None,
        limit: int = 5,
        skip: int = 0,
        calling: Path | None = None,
    ) -> SearchResult:
        """Archived texts and messages that fit a query best, or the newest that match a pattern.

        Also those in the sessions that hosts wrote in the project of a store `.compression`.

            store.search('"connection refused" tool:bash error:', limit=3).hits

        Args:
            query: words, names, phrases in quotation marks, `path:…`, `tool:…`, `error:`; other
                wordings after `|`.
            pattern: a regular expression; with a query, hits must match both.
            session: search only the session with this id; `None` for all.
            limit: how many hits at most.
            skip: how many of the best hits to omit, for a further page.
            calling: the transcript of the conversation that asks. What it still has in its context
                is no hit.

        Raises:
            StoreError: the pattern is invalid or takes too long.
        """
        search = partial(self.backend.search, query, pattern=pattern, session=session)
        archived = search(limit=limit, skip=skip)
        if (session is not None and session in self.sessions()) or not (beside := self.beside):
            return archived
        most = skip + limit
        found = beside.search(query, pattern=pattern, session=session, limit=most, calling=calling)
        if not found.searched and not found.note:
            return archived
        if skip:
            archived = search(limit=most, skip=0)
        return together([archived, found], limit, skip)

    def search_everywhere(self) -> None:
        """Search the sessions that hosts wrote in all projects; only a user may ask for that."""
        if self.beside:
            self.beside = self.beside.of_all_projects()

    def original_beside(self, ref: str) -> OriginalBeside | None:
        """What a search found in the sessions of hosts, by its ref; `None` if they do not have it.

        Raises:
            UnknownRef: see `HostSessions.original`.
        """
        return self.beside.original(bare_ref(ref)) if self.beside else None

    @cached_property
    def beside(self) -> HostSessions | None:
        """The sessions of hosts that a search looks into, too; `None` if there are none."""
        return self.find_beside()

    def verify(self) -> list[str]:
        """One sentence for each problem with the store; `[]` if there are none."""
        problems = self.backend.verify()
        with collecting(problems):
            self.read_config()
        with collecting(problems):
            problems += _summary_problems([*self.backend.summaries()][::-1])
        with collecting(problems):
            for id in self.backend.sessions(also_empty=True):
                problems += self._log(id).problems()
        return problems

    def _log(self, id: str) -> SessionLog:
        """As `session`, without a check of the store."""
        log = self._logs.get(id) or SessionLog(self.backend, id)
        return self._logs.setdefault(id, log)

    def _counts(self, summary: Mapping[str, Any]) -> bool:
        """Whether the compression of a summary completed; `True` if the log cannot be read."""
        with suppress(StoreError):
            if "n" in summary:
                return self.session(str(summary.get("session"))).completed(summary["n"])
        return True


def not_of_folders(environ: Mapping[str, str]) -> str | None:
    """Why an environment is not that of a store in a folder; `None` if it may be."""
    given = [name for name in NOT_OF_FOLDERS if environ.get(name, "").strip()]
    return f"{given[0]} {NOT_OF_FOLDERS[given[0]]}" if given else None


def backend_at(
    place: str | Path, home: Path | None = None, environ: Mapping[str, str] | None = None
) -> Backend:
    """The engine of the store at a place. Nothing is opened or created yet.

    Args:
        place: the path of a folder, or the address of a database.
        home: see `FileBackend`; a database is always trusted.
        environ: the environment variables; by default those of this process.

    Raises:
        StoreError: an address of another kind, one that PostgreSQL does not know, or a NUL.
        InvalidSettings: a variable for a database's store cannot be right.
        MissingExtra: the place is a database, and a package for it is not installed.
    """
    environ = os.environ if environ is None else environ
    if (address := database_address(place)) is None:
        why = not_of_folders(environ)
        refusal = f"{why}, so nothing is archived in it. {UNSET} {IN_A_PROGRAM}" if why else ""
        return FileBackend(place, home, refusal=refusal)
    with extra("postgres"):
        from context_compression.store.postgres.backend import PostgresBackend
    objects = environ.get(OBJECTS)
    return PostgresBackend(
        address, seal=seal_from(environ), objects=objects_at(objects) if objects else None
    )


def probe(backend: Backend) -> None:
    """Raises why a store cannot be read now; it does not try for seconds, as calls do."""
    if not isinstance(backend, FileBackend):
        with suppress(ImportError):  # then it is no database
            from context_compression.store.postgres.backend import PostgresBackend

            if isinstance(backend, PostgresBackend):
                backend.database.probe()
    backend.read_document(CONFIG)


_FIELDS = frozenset(
    {
        "content",
        "created_at",
        "key_points",
        "messages",
        "n",
        "session",
        "strategy",
        "title",
        "tokens",
        "turns",
    }
)
"""The fields of a summary whose types are checked, see `_fits`. Other fields are not checked."""


def _summary_problems(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A sentence for each summary with a field of a wrong type; `entries` are the oldest first."""
    for number, entry in enumerate(entries, 1):
        if wrong := ", ".join(sorted(entry.keys() - _usable_part(entry).keys())):
            yield f"summaries: summary {number} has an unusable value in {wrong}"
        elif not _is_whole(entry):
            yield f"summaries: summary {number} has no text"


def _is_whole(entry: Mapping[str, Any]) -> bool:
    """Whether the usable part of a summary has its text."""
    return isinstance(entry.get("content"), str)


def _usable_part(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A summary without the fields that have a wrong type."""
    return {name: value for name, value in entry.items() if _fits(name, value)}


def _without_repeats(entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The summaries without repeats: of equal texts in one session, only the first.

    All summaries of compressions are kept; they have an `n`.
    """
    known: set[tuple[str, str]] = set()
    for entry in entries:
        match entry:
            case {"session": str(session), "content": str(text)} if "n" not in entry:
                if (session, text) in known:
                    continue
                known.add((session, text))
            case _:
                pass
        yield entry


def _fits(name: str, value: Any) -> bool:
    """Whether a value has the type of its field; unknown fields may have any type."""
    match name, value:
        case (("content" | "created_at" | "session" | "strategy" | "title"), str()):
            return True
        case (("tokens" | "n"), int()):
            return not isinstance(value, bool)
        case (("messages" | "turns"), [int(), int()]):
            return True
        case "key_points", list():
            return all(isinstance(point, str) for point in cast("list[Any]", value))
        case _:
            return name not in _FIELDS


def referring(store: Store, id: str) -> list[str]:
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
    now = time() if now is None else now
    for path in _suspects(folder) if folder else ():
        with suppress(OSError):
            if now - path.lstat().st_mtime >= LEFTOVER_SECONDS:
                yield path


def remove_empty_index(store: Store) -> None:
    """Delete the search index of a store without sessions; the next search creates it again."""
    folder = store.backend.folder
    if folder and os.path.lexists(folder / INDEX) and not store.sessions():
        from context_compression.store.search import index as index_file  # imports sqlite3

        with suppress(StoreError):  # it stays, and `archive` shows its size
            index_file.remove(folder)


def _unreferred(
    store: Store, ids: Collection[str], old: Collection[str]
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


def _deleted(store: Store, ids: Iterable[str], is_young: Callable[[Stamp], bool]) -> list[str]:
    """Delete sessions, but those in which a process works; returns the ids of those that are gone.

    What goes wrong with one does not keep the others. The first that is young ends it, because all
    others are younger.

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
        except StoreBusy:
            continue
        except StoreError as error:
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
