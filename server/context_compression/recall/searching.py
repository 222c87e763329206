"""A search in the sessions that hosts wrote in a project, and an original of them by its ref."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import Text, ToolResult
from context_compression.conversation.refs import DIGITS, digest_of, is_ref
from context_compression.errors import (
    ContextCompressionError,
    ConversationNotFound,
    StoreError,
    StoreUnwritable,
    UnknownRef,
)
from context_compression.hosts.conversations import SHORTEST_ID
from context_compression.hosts.projects import FoundSession, folder_of
from context_compression.plurals import how_many
from context_compression.recall.logs import HostLog, before_live, history_of, said_in
from context_compression.recall.looking import LastLook, Project, look
from context_compression.store.beside import OriginalBeside, together
from context_compression.store.hits import Hit, Origin, SearchResult
from context_compression.store.location import INDEX
from context_compression.store.root_folder import holding, make_folder
from context_compression.store.search import index as index_file
from context_compression.store.search.index import NOTHING_NEW, Index
from context_compression.store.search.lookup import IndexLookup
from context_compression.store.search.run import Search, search_by
from context_compression.store.search.tables import message_of
from context_compression.strings import one_line
from context_compression.transcripts.sessions import day_of
from context_compression.workspace import Workspace

T = TypeVar("T")
SECONDS = 0.7
"""How long a search may read what it has not indexed yet."""
EVERYWHERE = "*"
"""The value of `recall_projects` that stands for all projects."""


@dataclass(frozen=True)
class Recall:
    """The sessions of hosts that may be searched in a workspace; see `store.beside.HostSessions`.

    Attributes:
        workspace: whose project it is.
        everywhere: whether the user asked for the sessions of all projects.
    """

    workspace: Workspace
    everywhere: bool = False

    def search(
        self,
        query: str,
        *,
        pattern: str | None,
        session: str | None,
        limit: int,
        calling: Path | None = None,
    ) -> SearchResult:
        """The best hits in what is indexed; for about `SECONDS`, it indexes what is not.

        A process of its own indexes the rest, and a note says how much that is.
        """
        until = monotonic() + SECONDS
        unread, unreadable = 0, list[str]()
        now = self._look()
        results = [SearchResult((), 0, 0, (), problem) for problem in now.problems]
        for project in now.projects:
            index = ProjectIndex(project, self.workspace)
            finding = partial(index.search, until, session, calling)
            results.append(search_by(finding, query, pattern=pattern, limit=limit, skip=0))
            unread += index.unread
            unreadable += project.unreadable
        if unread:
            update_beside(self)
            rest = (
                f"still to be indexed: {how_many(unread, 'session')} of this project; search again "
                "in a moment to search all"
            )
            results.append(SearchResult((), 0, 0, (), rest))
        if unreadable:
            more = f" and {len(unreadable) - 1:,} more" if unreadable[1:] else ""
            rest = f"not searched, because it cannot be read: {one_line(unreadable[0])}{more}"
            results.append(SearchResult((), 0, 0, (), rest))
        return together(results, limit, 0) if results else SearchResult((), 0, 0, ())

    def of_all_projects(self) -> "Recall":
        """The same for all projects of the user."""
        return replace(self, everywhere=True)

    def named(self, name: str) -> str | None:
        """The host's id of a session, by that or its beginning; `None` if no session has it.

        Raises:
            ConversationNotFound: several ids begin so.
        """
        found = (each for project in self._projects() for each in project.by_path.values())
        ids = dict.fromkeys(map(id_of, found))
        if name in ids:
            return name
        begin = [id for id in ids if len(name) >= SHORTEST_ID and id.startswith(name)]
        if len(begin) > 1:
            raise ConversationNotFound(
                f"{name!r} is the beginning of several sessions' ids. Pass more of one.", begin[:5]
            )
        return begin[0] if begin else None

    def original(self, ref: str) -> OriginalBeside | None:
        """What a search found, by its ref or the beginning of it; `None` if no session has it.

        Raises:
            UnknownRef: several refs begin with these digits, or the host has changed the session.
        """
        if not is_ref(ref):
            return None
        places = self._places(ref) or self._places(ref, monotonic() + SECONDS)
        refs = dict.fromkeys(place.ref for place in places)
        if len(refs) > 1:
            raise UnknownRef(
                f"{ref!r} is the beginning of {how_many(len(refs), 'ref')}. Pass more digits: "
                f"{', '.join([*refs][:5])}."
            )
        for place in places:
            with suppress(ContextCompressionError):  # another session may have it, too
                if (original := place.original()) is not None:
                    return OriginalBeside(place.ref, id_of(place.found), place.what(), original)
        if places:
            raise UnknownRef(
                f"{places[0].ref} was in the session {id_of(places[0].found)}, but its program has "
                "changed or removed that text since."
            )
        return None

    def _places(self, ref: str, until: float = NOTHING_NEW) -> list["PlaceOfOriginal"]:
        """Where the refs that begin with these digits stand; see `ProjectIndex.places`."""
        indexes = (ProjectIndex(project, self.workspace) for project in self._projects())
        return [place for index in indexes for place in index.places(ref, until)]

    def update(self) -> None:
        """Index all that is not indexed yet, the newest sessions first."""
        for project in self._projects():
            with suppress(StoreUnwritable):
                index = ProjectIndex(project, self.workspace)
                index.with_index(lambda index: None, monotonic() + LONGEST)

    def _projects(self) -> Sequence[Project]:
        """This project, then those that the user allowed."""
        return self._look().projects

    def _look(self) -> LastLook:
        everywhere = self.everywhere or EVERYWHERE in self.workspace.recall_projects
        return look(self.workspace, everywhere=everywhere)


class ProjectIndex:
    """The index of the sessions of one project.

    Attributes:
        unread: how many sessions there was no time to index.
    """

    def __init__(self, project: Project, workspace: Workspace) -> None:
        """The index of a project that may be searched in a workspace."""
        self.project, self.unread = project, 0
        self._workspace = workspace
        self._by_path = project.by_path

    def search(
        self, until: float, session: str | None, calling: Path | None, search: Search
    ) -> SearchResult:
        """The result of a search.

        Args:
            until: see `with_index`.
            session: the host's id of the only session to search; `None` for all.
            calling: see `HostSessions.search`.
            search: of a query, a pattern, or both.
        """
        sessions = self._by_path.items() if session else ()
        named = [path for path, each in sessions if id_of(each) == session]
        if session and not named:
            return SearchResult((), 0, 0, search.terms)

        live = None
        if calling and str(calling) in self._by_path:
            live = str(calling), before_live(calling)

        def look_up(index: Index) -> SearchResult:
            with index.transaction():
                only = named if session else None
                result = search.run(IndexLookup(index, only, live, NEWEST_FIRST))
                hits = (
                    self._with_origin(index, h) for h in result.hits if h.session in self._by_path
                )
                return replace(result, hits=tuple(hits))

        try:
            return self.with_index(look_up, until)
        except StoreUnwritable as error:
            why = f"the sessions that agents' programs wrote were not searched: {error}"
            return SearchResult((), 0, 0, search.terms, why)

    def places(self, ref: str, until: float = NOTHING_NEW) -> list["PlaceOfOriginal"]:
        """Where the refs that begin with these digits stand, as far as that is indexed.

        Until a time, what is missing is indexed first, if a search has begun an index before.
        """
        there = os.path.lexists(self.project.folder / INDEX)
        if not there and not (until and self.project.folder.is_dir()):
            return []
        known = ref[:DIGITS]  # the index has so many
        ends = [bytes.fromhex(known.ljust(DIGITS, digit)) for digit in "0f"]
        try:
            rows = self.with_index(lambda index: index.rows(PLACES, *ends), until)
        except StoreUnwritable:
            return []
        return [
            PlaceOfOriginal(full.hex(), message.hex(), title, self._by_path[path], self._workspace)
            for path, title, full, message in rows
            if path in self._by_path
        ]

    def with_index(self, work: Callable[[Index], T], until: float) -> T:
        """The result of some work with the index.

        What is new is indexed before, until a time as `monotonic` tells it, unless another process
        is doing that.

        Raises:
            StoreUnwritable: there can be no index.
        """
        project, was = self.project, self.project.index
        has_all = was is not None and was == project.indexed

        def working(index: Index) -> T:
            if has_all and not index.rows("SELECT 1 FROM logs LIMIT 1"):  # it is a new one
                index.catch_up(project.stamps, self._log, until)
            if not has_all and until != NOTHING_NEW:
                project.unreadable = index.unreadable
            self.unread = index.unread
            return work(index)

        with ExitStack() as stack:
            try:
                make_folder(project.folder)
                if until != NOTHING_NEW and not has_all:
                    stack.enter_context(
                        holding(project.folder, "updating", "another process indexes", 0)
                    )
            except StoreUnwritable:
                raise
            except StoreError:
                until = NOTHING_NEW
            stamps = None if has_all else project.stamps
            result = index_file.using(project.folder, stamps, self._log, working, until)
        if not self.unread:
            project.indexed = project.index
        return result

    def _log(self, path: str) -> HostLog:
        if path not in self._by_path:
            raise ConversationNotFound(f"{path} is gone.", [])
        return HostLog(self._by_path[path], self._workspace)

    def _with_origin(self, index: Index, hit: Hit) -> Hit:
        """A hit with the session, the speaker and the date."""
        found = self._by_path[hit.session]
        [(title, *row)] = index.rows(MESSAGE_OF, hit.session, bytes.fromhex(hit.ref))
        said = message_of(*row)
        host = found.host.name if found.host else ""
        day = day_of(found.written_at if said.time is None else said.time)
        origin = Origin(host, title, day, said.role, folder_of(found))
        return replace(hit, session=id_of(found), origin=origin)


MESSAGE_OF = (
    "SELECT title, messages.ref, messages.place, packed FROM documents"
    " JOIN logs ON logs.id = documents.log JOIN messages ON messages.log = documents.log"
    " AND messages.ref = coalesce(documents.message, documents.ref)"
    " WHERE logs.name = ? AND documents.ref = ? ORDER BY messages.id LIMIT 1"
)
PLACES = (
    "SELECT logs.name, title, documents.ref, coalesce(message, ref) FROM documents"
    " JOIN logs ON logs.id = log WHERE ref BETWEEN ? AND ?"
)
NEWEST_FIRST = "(SELECT time FROM logs WHERE logs.id = documents.log) DESC, id DESC"
"""The newest session first, and in it the newest message."""
LONGEST = 3_600.0
"""How many seconds a process may index."""
_running: list[subprocess.Popen[bytes]] = []
"""The processes that this one began to index the rest, and that may still run."""


@dataclass(frozen=True)
class PlaceOfOriginal:
    """Where an original stands in the sessions of hosts.

    Attributes:
        ref: of the original.
        message: the ref of its message.
        title: of the session.
        found: the session.
        workspace: in which it was found.
    """

    ref: str
    message: str
    title: str
    found: FoundSession
    workspace: Workspace

    def original(self) -> Any:
        """The text or message; `None` if the session has it no more.

        Raises:
            TranscriptError: the session cannot be read.
        """
        for said in said_in(history_of(self.found, self.workspace)):
            if said.ref != self.message:
                continue
            if self.ref == self.message:
                return said.message
            for block in parse([said.message]).messages[0].blocks:
                if isinstance(block, Text | ToolResult) and self.is_of(block.text):
                    return block.text
        return None

    def is_of(self, text: str) -> bool:
        """Whether the ref is that of a text."""
        return digest_of(text).startswith(self.ref)

    def what(self) -> str:
        """The session in a few words, with its day."""
        host = self.found.host.title if self.found.host else ""
        day = day_of(self.found.written_at)
        return f'from a session of {host}, "{self.title}", last written {day}'


def id_of(found: FoundSession) -> str:
    """The host's id of a session, or the name of its file."""
    return found.candidate.id or found.candidate.path.stem


def of_project(folder: Path) -> Recall:
    """The sessions of the project in a folder, as this process may see them."""
    return Recall(Workspace.here(cwd=folder))


def update_beside(recall: Recall) -> None:
    """Index the rest in a process of its own, which ends by itself."""
    _running[:] = [process for process in _running if process.poll() is None]
    command = [sys.executable, "-Im", "context_compression.recall.updating"]
    with suppress(OSError):  # the next search goes on
        process = subprocess.Popen(
            [*command, str(recall.workspace.cwd), *["--everywhere"] * recall.everywhere],
            env=dict(recall.workspace.environ), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        _running.append(process)
