"""Finds the conversation for a session id, the path of a transcript, or `current`."""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from context_compression.errors import ContextCompressionError, ConversationNotFound, PathNotAllowed
from context_compression.hosts import Readings
from context_compression.hosts.host import Host, LiveSession
from context_compression.hosts.projects import folders_of, is_below, sessions_of
from context_compression.hosts.table import HOSTS
from context_compression.session import Session, session_id_for
from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.store.kept import KeptSession
from context_compression.transcripts.sessions import (
    INSTEAD,
    NO_REQUEST,
    OF_NAME,
    Caller,
    ToolRequest,
    newest_first,
    uncertain,
)
from context_compression.transcripts.transcript import Transcript, told
from context_compression.workspace import Workspace
from context_compression.workspace.kept import kept_in, may_keep
from context_compression.workspace.opened import KEPT_IN, Opened, is_own_session

CURRENT = "current"
SHORTEST_ID = 4
"""How many first characters of a session id are enough, if no other id begins with them."""
NO_PATH = (
    ", and it is no path. Pass the id of a recorded session, the path of a transcript, or `current`"
)
LIVE = [(host, host.live) for host in HOSTS if host.live]
NO_FILE = ", and this server reads no files. Pass the id of a recorded session, or the messages"


@dataclass(frozen=True)
class Conversations:
    """The conversations that can be named in one workspace.

    Attributes:
        workspace: its store holds the recorded sessions.
        readings: the transcripts that were already read.
        began: when this process began, in seconds since 1970.
    """

    workspace: Workspace
    readings: Readings = field(default_factory=Readings, repr=False)
    began: float = field(default_factory=time.time)

    @property
    def _store(self) -> Store:
        return self.workspace.store

    def open(
        self,
        conversation: str | None = None,
        *,
        settings: Settings | None = None,
        model: str | None = None,
        tool_request: ToolRequest = NO_REQUEST,
        of_host: bool = False,
    ) -> Opened:
        """The conversation that a session id, a path, or `current` names.

        Nothing is written; `Session.follow(transcript.messages)` updates our record to a
        transcript. `current` blocks up to 0.3 s.

        Args:
            conversation: as the caller passed it; `None` means `current`.
            settings: for the session.
            model: for the session.
            tool_request: the running call; without it, `current` is less certain.
            of_host: whether the id of a host's session names the host's file, if it is on this
                machine, as its path does; else it names our record, which a compression changes.

        Raises:
            ConversationNotFound: no conversation has this name, or it is uncertain which is meant.
            PathNotAllowed: the path is outside the folders that may be read.
            TranscriptError: the file cannot be read as a conversation.
        """
        settings = settings or self.workspace.settings()
        if conversation in (None, "", CURRENT):
            self.workspace.access.check_search()
            path = self.workspace.access.check_current(find_current(self._caller(tool_request)))
            transcript = self.readings.look(path)
        elif of_host and (found := self._of_host(conversation)):
            transcript = found
        elif conversation in self._store.sessions():
            return self._by_id(conversation, settings, model)
        elif self.workspace.access.no_files:
            return self._by_id(self.session_named(conversation, NO_FILE), settings, model)
        elif not _looks_like_path(conversation) and not os.path.exists(
            self.workspace.cwd / conversation
        ):
            try:
                return self._by_id(self.session_named(conversation, NO_PATH), settings, model)
            except ConversationNotFound:
                by_user = tool_request == NO_REQUEST
                if (found := self._of_host(conversation, by_user=by_user)) is None:
                    raise
                transcript = found
        else:
            path = self._readable(self.workspace.place(conversation), tool_request)
            if recorded := self._recorded(path):
                return self._by_id(recorded, settings, model)
            transcript = self.readings.look(path)
        return self.workspace.of(transcript, settings=settings, model=model)

    def calling(self, tool_request: ToolRequest = NO_REQUEST) -> Path | None:
        """The transcript that a tool is called from; `None` if that is not certain.

        Blocks up to 0.3 s.
        """
        with suppress(ConversationNotFound, PathNotAllowed):
            self.workspace.access.check_search()
            return find_current(self._caller(tool_request))
        return None

    def shares_current(self, tool_request: ToolRequest) -> bool:
        """Whether the conversation that a tool is called from can be read, or one of a few may be.

        Blocks up to 0.3 s.
        """
        try:
            self.workspace.access.check_search()
            self.workspace.access.check_current(find_current(self._caller(tool_request)))
        except ConversationNotFound as error:
            return bool(error.candidates)
        except PathNotAllowed:
            return False
        return True

    def _by_id(self, id: str, settings: Settings, model: str | None) -> Opened:
        """A session, with what its log records about the program that keeps its conversation."""
        origin = Session(self._store, id).state().origin
        settings, compacts_at = self.workspace.settings_in(origin, settings, model)
        model = model or origin.get("model")
        session = Session(self._store, id, settings=settings, model=model, summarizer=None)
        session.origin = lambda: origin
        return Opened(session, recorded_beside=origin.get("beside", 0), compacts_at=compacts_at)

    def _of_host(self, name: str, *, by_user: bool = True) -> Transcript | None:
        """A host's session by its id or the beginning; as it was kept, if its host has it no more.

        Args:
            name: as the caller passed it.
            by_user: whether the user asks; an agent gets what was kept of its own project alone.

        Raises:
            ConversationNotFound: several kept sessions have such an id.
            StoreError: what was kept cannot be read.
        """
        if by_user and (path := self._kept_by_host(name)):
            return self.readings.look(path)
        kept = self.kept(name, by_user=by_user)
        if kept is None:
            return None
        if path := self._kept_by_host(kept.id) if by_user else self._of_this_project(kept.id):
            return self.readings.look(path)
        broken: list[str] = []
        path = kept_in(self.workspace).unpacked(kept, broken)
        return told(self.readings.look(path), broken)

    def kept(self, name: str, *, by_user: bool = True) -> KeptSession | None:
        """The newest version of a kept session, by its id or the beginning; `None` if none is.

        Args:
            name: as the caller passed it.
            by_user: see `_of_host`. Two projects may have sessions of one id.

        Raises:
            ConversationNotFound: several have such an id.
        """
        if not may_keep(self.workspace) or _looks_like_path(name):
            return None
        kept = kept_in(self.workspace).sessions()
        found = {
            each.id: each
            for each in reversed(kept)
            if (each.id == name or (len(name) >= SHORTEST_ID and each.id.startswith(name)))
            and (by_user or self._is_of_this_project(each))
        }
        if name in found or len(found) < 2:
            return found.get(name) or next(iter(found.values()), None)
        raise ConversationNotFound(
            f"{name!r} is the beginning of several kept sessions' ids. Pass more of one.",
            [*found][:5],
        )

    def gone(self, name: str) -> KeptSession | None:
        """The kept session of this id that its host has no longer; `None` if there is none.

        Raises:
            ConversationNotFound: as `kept`.
        """
        kept = self.kept(name)
        return None if kept is None or self._kept_by_host(kept.id) else kept

    def _is_of_this_project(self, kept: KeptSession) -> bool:
        home = self.workspace.home.resolve()
        roots = folders_of(self.workspace.cwd, home)
        return bool(kept.folders) and all(is_below(each, roots, home) for each in kept.folders)

    def _of_this_project(self, id: str) -> Path | None:
        """The host's own file of a session of this project; `None` if no host has it."""
        ids = (id, id[:OF_NAME])
        found = (each.candidate for each in sessions_of(self.workspace))
        return next((each.path for each in found if each.id in ids), None)

    def _kept_by_host(self, name: str) -> Path | None:
        """The host's own file of a session on this machine, by the session's id or its beginning.

        `None` if no host has it, or if hosts' transcripts may not be read.
        """
        access, workspace = self.workspace.access, self.workspace
        if access.no_files or not access.read_host_transcripts or _looks_like_path(name):
            return None
        with suppress(ConversationNotFound):
            name = self.session_named(name)
        for host in HOSTS:
            with suppress(ContextCompressionError, OSError):
                for session in host.stored.sessions(workspace.environ, workspace.home):
                    if session.id and session.id in (name, name[:OF_NAME]):
                        return session.path
        return None

    def recorded(self) -> list[str]:
        """The ids of the recorded conversations, the most recently written first."""
        return [id for id in self._store.sessions() if not is_own_session(id)]

    def session_named(self, name: str, hint: str = "") -> str:
        """The id of a session, given completely or by at least its first four characters.

        Args:
            name: as the caller passed it.
            hint: for the error: what else the name could have been.

        Raises:
            ConversationNotFound: no recorded session begins with this name, or several do.
        """
        if name in self._store.sessions():
            return name
        recorded = self.recorded()
        begin = [id for id in recorded if len(name) >= SHORTEST_ID and id.startswith(name)]
        if len(begin) == 1:
            return begin[0]
        if begin:
            raise ConversationNotFound(
                f"{name!r} is the beginning of several sessions' ids. Pass more of one.", begin[:5]
            )
        raise ConversationNotFound(f"No session {name!r} is recorded{hint}.", recorded[:5])

    def session_to_search(self, name: str) -> str:
        """The id of a recorded session, or of one of this project that a host wrote.

        Raises:
            ConversationNotFound: as `session_named`.
        """
        try:
            return self.session_named(name)
        except ConversationNotFound:
            beside = self._store.beside
            if beside and (id := beside.named(name)):
                return id
            raise

    def refuse_own_session(self, id: str) -> None:
        """Refuse a session of this package where a conversation is needed.

        A conversation recorded there would mix with the texts and summaries that are kept in it.

        Raises:
            ConversationNotFound: `id` names such a session.
        """
        if is_own_session(id):
            raise ConversationNotFound(
                f"The session {id!r} is reserved: {KEPT_IN[id.lower()]} are kept in it, and no "
                "conversation is. Take another name; for a file of this name, pass its path.",
                self.recorded()[:5],
            )

    def refuse_file_name(self, id: str) -> None:
        """Refuse the name of a file for a session, because it would hide the file.

        Raises:
            ConversationNotFound: a file in the working directory has this name.
        """
        no_files = self.workspace.access.no_files
        if not no_files and Path(id).name == id and os.path.isfile(self.workspace.cwd / id):
            raise ConversationNotFound(
                f"{id!r} is a file in {self.workspace.cwd}, and a session of this name would hide "
                "it. Name the session otherwise; or leave out messages, to use the file.",
                self.recorded()[:5],
            )

    def _caller(self, tool_request: ToolRequest) -> Caller:
        return Caller(
            self.workspace.environ,
            self.workspace.home,
            self.workspace.cwd,
            os.getpid(),
            self.began,
            self.readings,
            tool_request,
        )

    def _readable(self, path: Path, tool_request: ToolRequest) -> Path:
        """The resolved path, if it may be read; the candidates for `current` may be read, too."""
        access, caller = self.workspace.access, self._caller(tool_request)
        try:
            return access.check(path)
        except PathNotAllowed:
            if access.read_host_transcripts and is_of_this_project(caller, path):
                return path.resolve()
            raise

    def _recorded(self, path: Path) -> str | None:
        """The id of the session in our store whose log is at `path`; `None` if there is none."""
        folder = self._store.backend.folder
        log = folder and folder.resolve() / "sessions" / path.parent.name / "events.jsonl"
        return path.parent.name if path == log else None

    def session_for(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        settings: Settings | None = None,
        model: str | None = None,
    ) -> Session:
        """The session of a conversation that a program keeps itself."""
        name = session_id_for(messages, self._store)
        settings = settings or self.workspace.settings()
        return Session(self._store, name, settings=settings, model=model, summarizer=None)


def _looks_like_path(text: str) -> bool:
    return "/" in text or "\\" in text or text.endswith((".json", ".jsonl", ".gz", ".zst"))


def find_current(caller: Caller) -> Path:
    """The transcript of the conversation we are called from.

    Blocks for a moment: call it in a worker thread.

    Raises:
        ConversationNotFound: no known host started us, or it is not certain which transcript is
            ours.
    """
    hosts = _hosts_of(caller)
    if len(hosts) == 1:
        return hosts[0][1].current(caller)
    if not hosts:
        names = ", ".join(host.title for host, _ in LIVE)
        client = f" but by {caller.request.client!r}" if caller.request.client else ""
        raise ConversationNotFound(
            f"This process was not started by a host whose transcripts we know ({names}){client}, "
            f"so there is no current one. {INSTEAD}"
        )
    names = " and ".join(host.title for host, _ in hosts)
    raise uncertain(
        caller,
        f"Several hosts are around this process ({names}), so it is not certain which conversation "
        "is the current one",
        newest_first(candidate for _, live in hosts for candidate in live.here(caller)),
    )


def is_of_this_project(caller: Caller, path: Path) -> bool:
    """Whether a path is a transcript of the host that started us, for the working directory."""
    listed = (known for _, live in _hosts_of(caller) for known in live.here(caller))
    return path.resolve() in {known.path.resolve() for known in listed}


def _hosts_of(caller: Caller) -> list[tuple[Host, LiveSession]]:
    """The host that started us; several hosts if one runs inside another and the client names none.

    The client names the host when it connects. On the command line there is no client; there we go
    by the environment variables that a host sets for each program it starts. A client with another
    name may run inside a host, which set its variable for every program. Then only hosts with
    `is_proved` count, because they identify the conversation by the call itself.
    """
    client, meta = caller.request.client.lower(), caller.request.meta
    named = [
        (host, live)
        for host, live in LIVE
        if live.meta_key in meta or f"{client}-".startswith(f"{host.name}-")
    ]
    around = [(host, live) for host, live in LIVE if caller.environ.get(live.variable)]
    return named or [(host, live) for host, live in around if live.is_proved or not client]
