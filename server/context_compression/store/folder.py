"""The folder `.compression/` as an object: its settings, prompts, summaries and sessions."""

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from context_compression.errors import NotOurs, StoreError
from context_compression.setting_names import with_own_names
from context_compression.store import disk_usage, files, pruning
from context_compression.store.catalog import Catalog
from context_compression.store.location import INDEX, folder_named, store_folder_for
from context_compression.store.log import SessionLog
from context_compression.store.root_folder import LOCK_SECONDS, holding, when_made
from context_compression.store.search import SearchResult, SearchScope, search
from context_compression.store.sessions import has_compression, newest_first, session_folders
from context_compression.store.summaries import SummaryFile, usable_part, without_repeats
from context_compression.store.trust import PROMPTS, KnownFolders, check_owner, settings_and_prompts


class Store:
    """One `.compression/` folder. Several threads and processes may use it at once.

    Every method that reads or writes in the folder raises `NotOurs` if the folder belongs to
    another user or other users may write to it. It raises `StoreUnwritable` if the disk refuses a
    write.

        store = Store(".compression")
        store.sessions()                               # ["deploy", "refactoring"]
        store.search("timeout path:src/app").hits[0].ref
    """

    def __init__(self, folder: str | Path) -> None:
        """The store at `folder`. The first write creates the folder.

        Raises:
            StoreError: `folder` is a URL, or contains a NUL character.
        """
        self.folder = folder_named(folder)
        self._config = self.folder / "config.json"
        self._summary_file = SummaryFile(self.folder)
        self._logs: dict[str, SessionLog] = {}
        self._catalog = Catalog(self.folder)
        self._known_folders: KnownFolders | None = None

    @classmethod
    def find(cls, start: Path, *, home: Path, environ: Mapping[str, str]) -> "Store":
        """The user's store for work done in `start`, see `location.store_folder_for`."""
        return cls.of_user(store_folder_for(start, home=home, environ=environ), home)

    @classmethod
    def of_user(cls, folder: str | Path, home: Path) -> "Store":
        """The store at `folder`; settings and prompts apply only if the user made or trusts it.

        A folder that a program names with `Store(folder)` is always trusted. The list of the user's
        folders is kept in `home`.
        """
        store = cls(folder)
        store._known_folders = KnownFolders(home)
        when_made(store.folder, store._known_folders.add_made)
        return store

    @property
    def is_ours(self) -> bool:
        """Whether the user made or trusts this folder, or a program named it."""
        return self._known_folders is None or self._known_folders.owns(self.folder)

    @property
    def not_applied(self) -> str:
        """Why settings and prompts here are not applied; "" if they are, or none exist.

        Raises:
            StoreError: the folder cannot be read.
        """
        check_owner(self.folder)
        known = self._known_folders
        reason = known.reason_not_applied(self.folder) if known else ""
        return f"Settings and prompts in {self.folder} are not applied: {reason}." if reason else ""

    @property
    def doubts(self) -> tuple[str, ...]:
        """`not_applied` as a list of warnings; empty if everything is applied."""
        return (self.not_applied,) if self.not_applied else ()

    def speaking(self) -> list[Path]:
        """The existing files with settings and prompts: `config.json` and `prompts/*.md`."""
        return settings_and_prompts(self.folder)

    def trust(self) -> None:
        """Apply the settings and prompts as they are in this folder now, from now on.

        Raises:
            StoreError: the folder cannot be read, or the list in the home folder cannot be written.
        """
        check_owner(self.folder)
        if self._known_folders:
            from context_compression.store.search import index_file  # imports sqlite3

            index_file.remove(self.folder)  # its author may also have made a journal for it
            self._known_folders.trust(self.folder)

    def prompt(self, name: str) -> str | None:
        """The user's instruction for summaries in `prompts/<name>.md`.

        `None` if the file does not exist, or prompts are not applied.

        Raises:
            StoreDamaged: the file cannot be read, is a link, or is not UTF-8.
        """
        path = self.folder / PROMPTS / f"{name}.md"
        return None if self.not_applied else files.read_text(path)

    def read_config(self) -> dict[str, Any]:
        """The values of `config.json` by our names; `{}` without a file, or if not applied.

        Raises:
            StoreDamaged: the file is not a JSON object.
            StoreTooNew: a newer version wrote it.
        """
        not_applied = self.not_applied
        values = files.read_document(self._config)
        values.pop("version", None)
        return {} if not_applied else with_own_names(values)

    def update_config(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Replace the values of `config.json` with what `change` returns for them.

        No other process writes in between. Returns the new values.

            store.update_config(lambda values: {**values, "token_budget": 100_000})

        Raises:
            NotOurs: settings in this folder are not applied.
            StoreDamaged: the file is damaged; it is not overwritten.
            StoreTooNew: a newer version wrote it.
        """
        with self._locked():
            config = self.read_config()
            if reason := self.not_applied:
                raise NotOurs(f"{reason} Nothing was changed.")
            values = change(config)
            document = {"version": files.FORMAT, **values}
            files.replace_file(self._config, files.to_json(document, indent=2) + b"\n")
            if self._known_folders:
                self._known_folders.renew_trust(self.folder)
        return values

    def add_summary(self, entry: Mapping[str, Any]) -> None:
        """Append a summary to `summaries.json`.

        Args:
            entry: JSON values; `entry["session"]` is the id of the session. If a compression wrote
                the summary, `entry["n"]` is its number.

        Raises:
            StoreDamaged: the file is damaged; it is not overwritten.
        """
        with self._locked():
            self._summary_file.write([*self._read_summaries(), dict(entry)])

    def summaries(
        self, *, session: str | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """The summaries that were added, newest first.

        A checkpoint that was added several times is returned once. Fields of a wrong type are
        omitted, and so is the summary of a compression that was killed before it ended.

        Args:
            session: return only the summaries of the session with this id; `None` for all.
            limit: how many at most; `None` for all.

        Raises:
            StoreDamaged: the file is damaged.
        """
        entries = [usable_part(entry) for entry in reversed(self._read_summaries())]
        if session is not None:
            entries = [entry for entry in entries if entry.get("session") == session]
        return list(islice(without_repeats(filter(self._counts, entries)), limit))

    def session(self, id: str) -> SessionLog:
        """The log of a session, whether or not it exists; the same object for the same id.

        Raises:
            StoreError: `id` is not 1 to 128 letters, digits, `.`, `_`, `-`, or begins with a dot.
        """
        check_owner(self.folder)
        files.no_link(self.folder / "sessions")
        return self._log(id)

    def _log(self, id: str) -> SessionLog:
        """As `session`, without a check of the folder."""
        if id not in self._logs:
            self._logs[id] = SessionLog(self.folder, id)
        return self._logs[id]

    def sessions(self) -> list[str]:
        """The ids of all sessions that have recorded events, the most recently written first."""
        return newest_first(self.folder, self._session_folders())

    def delete(
        self,
        id: str,
        *,
        timeout: float = LOCK_SECONDS,
        if_stamp: tuple[int, int] | None = None,
    ) -> None:
        """Delete a session, its archive and its summaries; they cannot be restored.

        Args:
            id: of the session.
            timeout: seconds to wait for a running compression of the session.
            if_stamp: an earlier `SessionLog.stamp`; if events were added since, nothing is deleted.

        Raises:
            StoreError: another process works in the session, or wrote to it; nothing was deleted.
        """
        log = self.session(id)

        def forget() -> None:
            if if_stamp is not None and log.stamp != if_stamp:
                raise StoreError(f"Something was recorded in {id} meanwhile; it was not deleted.")
            if os.path.lexists(self.folder / INDEX):
                from context_compression.store.search import index_file  # imports sqlite3

                if self.is_ours:
                    index_file.forget(self.folder, [id])
                else:
                    index_file.remove(self.folder)

        log.remove(timeout, forget)  # the index needs the texts to remove their words
        self._logs.pop(id, None)
        if self.summaries(session=id):
            with self._locked():
                entries = self._read_summaries()
                self._summary_file.write([entry for entry in entries if entry.get("session") != id])

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

    def size_of(self, id: str) -> int:
        """Bytes of all files of a session; 0 if the session does not exist."""
        return disk_usage.folder_size(self.session(id).folder)

    def index_shares(self) -> dict[str, int]:
        """The approximate bytes of the search index for each session; `{}` without an index."""
        if not self.is_ours or not os.path.lexists(self.folder / INDEX):
            return {}
        from context_compression.store.search import index_file  # imports sqlite3

        return index_file.shares(self.folder)

    def locate(self, ref: str) -> SessionLog | None:
        """The newest session that archived a ref; `None` if no session did.

        Args:
            ref: complete, or its first four or more digits. `SessionLog.full_ref` completes it.

        Raises:
            UnknownRef: several refs begin with these digits, or two sessions archived different
                originals under the ref, which does not happen by chance.
        """
        check_owner(self.folder)
        return self._catalog.owner(ref, self._log, by_list=self.is_ours)

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
        check_owner(self.folder)
        files.no_link(self.folder / "sessions")
        scope = SearchScope(self.folder, self._catalog.stamps(), self._log, session, self.is_ours)
        return search(scope, query, pattern=pattern, limit=limit, skip=skip)

    def verify(self) -> list[str]:
        """One sentence for each problem with the folder; `[]` if there are none."""
        problems: list[str] = []
        with files.collecting(problems):
            self.read_config()
        with files.collecting(problems):
            check_owner(self.folder)
            problems += self._summary_file.problems()
        with files.collecting(problems):
            for id in self._session_folders():
                problems += SessionLog(self.folder, id).problems()
        return problems

    def _counts(self, summary: Mapping[str, Any]) -> bool:
        """Whether the compression of a summary completed; `True` if the log cannot be read."""
        with suppress(StoreError):
            if "n" in summary:
                return has_compression(self.session(str(summary.get("session"))), summary["n"])
        return True

    def _session_folders(self) -> list[str]:
        check_owner(self.folder)
        return session_folders(self.folder)

    def _read_summaries(self) -> list[dict[str, Any]]:
        check_owner(self.folder)
        return self._summary_file.read()

    def _locked(self) -> AbstractContextManager[None]:
        check_owner(self.folder)
        return holding(self.folder, "store", "another process is writing to the store")
