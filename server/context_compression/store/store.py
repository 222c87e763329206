"""`Store`: settings, prompts, summaries and sessions, wherever they are kept."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Self

from context_compression.errors import NotOurs, StoreError
from context_compression.setting_names import with_own_names
from context_compression.store import pruning
from context_compression.store.backend import CONFIG, LOCK_SECONDS, WRITING, Backend, Stamp
from context_compression.store.file_backend import FileBackend
from context_compression.store.files import collecting
from context_compression.store.hits import SearchResult
from context_compression.store.location import PLACE, store_folder_for
from context_compression.store.log import SessionLog
from context_compression.store.places import backend_at, is_database
from context_compression.store.refs import bare_ref
from context_compression.store.trust import is_whole, usable_part, without_repeats
from context_compression.store.trust import problems as summary_problems


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
            InvalidSettings: see `places.backend_at`.
            MissingExtra: the place is a database, and `psycopg` is not installed.
        """
        self.backend: Backend = backend_at(place) if isinstance(place, str | Path) else place
        self._logs: dict[str, SessionLog] = {}

    def __repr__(self) -> str:
        return f"<Store {self.name}>"

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
        entries = filter(is_whole, map(usable_part, self.backend.summaries(session)))
        return list(islice(without_repeats(filter(self._counts, entries)), limit))

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
            log.remove(timeout, unchanged)
        finally:
            self._logs.pop(id, None)

    def forget(self, id: str) -> None:
        """Free the memory that a session takes; it is read again when it is used."""
        self._logs.pop(id, None)
        self.backend.forget(id)

    def prunable(
        self, older_than: float, *, keep: Collection[str] = (), now: float | None = None
    ) -> pruning.Prunable:
        """The sessions and files that `prune` would delete, and how many bytes they take."""
        return pruning.prunable(self, older_than, keep, now)

    def prune(
        self, older_than: float, *, keep: Collection[str] = (), now: float | None = None
    ) -> pruning.Prunable:
        """Delete old sessions, and files left by killed processes; returns what was deleted.

        A session is kept if a session that stays refers to it, or if a process is working in it.

            store.prune(older_than=90 * 86_400).sessions    # ("an-old-one",)

        Args:
            older_than: seconds since the last write to a session.
            keep: ids of sessions that are kept in any case.
            now: seconds since 1970; `None` for the current time.
        """
        return pruning.prune(self, older_than, keep, now)

    def expire(self, older_than: float, *, now: float | None = None) -> list[str]:
        """Delete every session that was last written so long ago, also one that others refer to.

        For archives that must not be kept longer than a rule allows; `prune` is for the room they
        take. A session in which a process works is kept until the next time. Returns the ids of the
        deleted sessions, the oldest first; for the arguments see `prune`.
        """
        return pruning.expire(self, older_than, now)

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
    ) -> SearchResult:
        """Archived texts and messages that fit a query best, or the newest that match a pattern.

            store.search('"connection refused" tool:bash error:', limit=3).hits

        Args:
            query: words, names, phrases in quotation marks, `path:…`, `tool:…`, `error:`.
            pattern: a regular expression; with a query, hits must match both.
            session: search only the session with this id; `None` for all.
            limit: how many hits at most.
            skip: how many of the best hits to omit, for a further page.

        Raises:
            StoreError: the pattern is invalid or takes too long.
        """
        return self.backend.search(query, pattern=pattern, session=session, limit=limit, skip=skip)

    def verify(self) -> list[str]:
        """One sentence for each problem with the store; `[]` if there are none."""
        problems = self.backend.verify()
        with collecting(problems):
            self.read_config()
        with collecting(problems):
            problems += summary_problems([*self.backend.summaries()][::-1])
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
