"""`FileBackend`: keeps a store in one folder of plain files, with locks for all its processes."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from context_compression.errors import StoreUnwritable
from context_compression.store import disk_usage, files, summaries
from context_compression.store.backend import (
    CONFIG,
    LOCK_SECONDS,
    WRITING,
    Events,
    Kind,
    Owner,
    Stamp,
)
from context_compression.store.catalog import Catalog
from context_compression.store.hits import SearchResult
from context_compression.store.location import INDEX, JOURNAL_ENDINGS, folder_named
from context_compression.store.names import checked_name
from context_compression.store.root_folder import holding, make_folder, when_made
from context_compression.store.session_files import SessionFiles
from context_compression.store.sessions import newest_first, session_folders
from context_compression.store.trust import PROMPTS, KnownFolders, check_owner, settings_and_prompts

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

    @property
    def is_ours(self) -> bool:
        """Whether the user made or trusts this folder, or a program named it."""
        return self._known is None or self._known.owns(self.folder)

    @property
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
        if not self.is_ours:
            from context_compression.store.search import index_file  # imports sqlite3

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
        """Refuse a folder of another user; see `Backend.check`."""
        check_owner(self.folder)
        files.no_link(self.folder / "sessions")

    def sessions(self) -> list[str]:
        """The ids of all sessions that have events, the most recently written first."""
        return newest_first(self.folder, self.all_sessions())

    def all_sessions(self) -> list[str]:
        """The ids of all sessions, also of those without events."""
        check_owner(self.folder)
        return session_folders(self.folder)

    def stamp(self, session: str) -> Stamp | None:
        """Size and time of the file of events; `None` if it is missing or empty."""
        stamp = self.session(session).stamp
        return stamp if stamp and stamp[0] else None

    def rows(self, session: str, kind: Kind) -> Events:
        """See `Backend.rows`."""
        return self.session(session).rows(kind)

    def append(
        self, session: str, kind: Kind, rows: Sequence[Mapping[str, Any]], created_at: str | None
    ) -> None:
        """See `Backend.append`."""
        self.session(session).append(kind, rows, created_at)

    def holds(self, session: str, text: str) -> bool:
        """See `Backend.holds`."""
        return self.session(session).holds(text)

    def write_originals(
        self, session: str, name: str, messages: Sequence[Any], created_at: str
    ) -> None:
        """See `Backend.write_originals`."""
        self.session(session).write_originals(name, messages, created_at)

    def originals(self, session: str) -> Collection[str]:
        """See `Backend.originals`."""
        return self.session(session).originals()

    def read_originals(self, session: str, name: str, digest: str | None = None) -> list[Any]:
        """See `Backend.read_originals`."""
        return self.session(session).read_originals(name, digest)

    def read_original(self, session: str, name: str, position: int) -> Any:
        """See `Backend.read_original`."""
        return self.session(session).read_original(name, position)

    def entries(self, session: str, digits: str = "") -> Sequence[tuple[str, Mapping[str, Any]]]:
        """See `Backend.entries`."""
        return self.session(session).entries(digits)

    def following(self, session: str, ref: str) -> str | None:
        """See `Backend.following`."""
        return self.session(session).following(ref)

    def owner(self, ref: str, session_of: Callable[[str], Owner]) -> Owner | None:
        """See `Backend.owner`."""
        check_owner(self.folder)
        return self._catalog.owner(ref, session_of, by_list=self.is_ours)

    def write_text(self, session: str, ref: str, text: str) -> str:
        """Write a text in UTF-8; its line ends and lone surrogates are kept."""
        return str(self.session(session).write_offloaded(ref, text))

    def place_of_text(self, session: str, ref: str) -> str:
        """The path of the file of a text."""
        return str(self.session(session).offloaded_path(ref))

    def remove_texts(self, session: str, refs: Sequence[str]) -> tuple[list[str], list[str]]:
        """See `Backend.remove_texts`."""
        return self.session(session).remove_offloaded(refs)

    def add_summary(self, summary: Mapping[str, Any]) -> None:
        """Add to the list in `summaries.json`; see `Backend.add_summary`."""
        if self.refusal:
            raise StoreUnwritable(self.refusal)
        with self._writing_summaries():
            self._write_summaries([*self._summaries(), dict(summary)])

    def summaries(self, session: str | None = None) -> list[dict[str, Any]]:
        """Those in `summaries.json`; see `Backend.summaries`."""
        entries = reversed(self._summaries())
        return [each for each in entries if session in (None, each.get("session"))]

    def remove(self, session: str, timeout: float, before: Callable[[], object]) -> None:
        """Delete the folder of a session, what the search index has of it, and its summaries."""

        def forget() -> None:
            before()
            if os.path.lexists(self.folder / INDEX):
                from context_compression.store.search import index_file  # imports sqlite3

                if self.is_ours:
                    index_file.forget(self.folder, [session])
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
        """A lock file in the folder; see `Backend.lock`."""
        check_owner(self.folder)
        return holding(self.folder, name, busy, timeout)

    def search(
        self, query: str, *, pattern: str | None, session: str | None, limit: int, skip: int
    ) -> SearchResult:
        """By an index in the folder, if the user may trust it; see `Store.search`."""
        from context_compression.store.search.run import SearchScope, search

        self.check()
        stamps = self._catalog.stamps()
        scope = SearchScope(self.folder, stamps, self.session, session, self.is_ours)
        return search(scope, query, pattern=pattern, limit=limit, skip=skip)

    def read_document(self, name: str) -> dict[str, Any]:
        """The object in `<name>.json`; see `Backend.read_document`."""
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
        """The text of `prompts/<name>.md`; see `Backend.prompt`.

        Raises:
            StoreDamaged: the file cannot be read, is a link, or is not UTF-8.
        """
        return files.read_text(self.folder / PROMPTS / f"{name}.md")

    def sweep(self) -> int:
        """There are no other places; `prune` deletes what killed writers left in the folder."""
        return 0

    def problems(self, session: str | None) -> list[str]:
        """See `Backend.problems`."""
        return self.session(session).problems() if session is not None else []

    def quoted(self, session: str) -> set[str]:
        """See `Backend.quoted`."""
        return self.session(session).quoted()

    def size(self, session: str | None = None) -> int:
        """The bytes of all files in the folder of a session, or of the store."""
        folder = self.folder if session is None else self.session(session).folder
        return disk_usage.folder_size(folder)

    def sizes(self, sessions: Collection[str]) -> dict[str, int]:
        """The bytes of the files of each session, and its share of the index."""
        shares = self.index_shares() if sessions else {}
        return {id: self.size(id) + shares.get(id, 0) for id in sessions}

    def index_shares(self) -> dict[str, int]:
        """The approximate bytes of the search index for each session; `{}` without an index.

        `{}` as well while another process is changing the index: opening it would end the change.
        """
        if not self.is_ours or not os.path.lexists(self.folder / INDEX):
            return {}
        if any(os.path.lexists(self.folder / f"{INDEX}{ending}") for ending in JOURNAL_ENDINGS):
            return {}
        from context_compression.store.search import index_file  # imports sqlite3

        return index_file.shares(self.folder)

    def unassigned_index_bytes(self) -> int:
        """Bytes of the search index that `sizes` assigns to no session."""
        shares = self.index_shares()
        if not shares:
            return disk_usage.size_of(self.folder / INDEX)
        return sum(shares[name] for name in shares.keys() - {*self.sessions()})

    def _summaries(self) -> list[dict[str, Any]]:
        """The summaries, oldest first."""
        return summaries.entries_in(
            self.read_document(SUMMARIES), self.place_of_document(SUMMARIES)
        )

    def _write_summaries(self, entries: Sequence[Mapping[str, Any]]) -> None:
        self.write_document(SUMMARIES, {"summaries": entries})

    def _writing_summaries(self) -> AbstractContextManager[None]:
        return self.lock("store", WRITING)

    def _document(self, name: str) -> Path:
        return self.folder / f"{name}.json"
