"""What the doors share: which store, which settings, which conversation is meant.

The environment is read here once and passed on.
"""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from context_compression.errors import (
    ConversationNotFound,
    InvalidSettings,
    PathNotAllowed,
    StoreError,
)
from context_compression.formats import parse
from context_compression.hosts import Access, Readings, Transcript
from context_compression.hosts.base import name_of
from context_compression.hosts.caller import NOBODY, Asking, Caller
from context_compression.hosts.current import find_current, is_of_this_project
from context_compression.refs import ref_of
from context_compression.session import Session, name_for
from context_compression.session.state import is_another, opening
from context_compression.settings import GUARDED, Settings, variables
from context_compression.store import Store
from context_compression.summarizer import Summarizer
from context_compression.tokens import Anchor, Counter

CURRENT = "current"
SUMMARY_SECONDS = 25.0
"""For all the requests of a summary: a client may give up on a tool after 30 seconds."""
OFFLOADED = "offloaded"
"""The session of texts that belong to no conversation."""
CHECKPOINT = "checkpoint"
"""That of summaries which belong to none."""
KEPT_IN = {OFFLOADED: "offloaded texts", CHECKPOINT: "checkpoints"}
"""What our own sessions keep, by name; they are no conversations."""
SHORTEST_ID = 4
"""Characters of a session's id that name it, where no other begins so."""
NO_PATH = (
    ", and it is no path. Pass the id of a recorded session, the path of a transcript, or `current`"
)
CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")


@dataclass(frozen=True)
class Opened:
    """A conversation somebody asked for.

    Attributes:
        session: our record of it.
        transcript: the file another program keeps it in; `None` for a session recorded with us,
            whose history a compression really changes.
        beside: tokens that the requests of the program hold beside the messages, where a session
            tells of it.
    """

    session: Session
    transcript: Transcript | None = None
    beside: int = 0

    @property
    def shown(self) -> Sequence[Mapping[str, Any]] | None:
        """What the file of another program holds, read already where it had to be."""
        if self.transcript is None:
            return None
        return self.transcript.conversation or self.transcript.messages

    @property
    def anchor(self) -> Anchor | None:
        """What the host's provider really charged, where the transcript says so.

        Of a session alone: what it would charge for the view.
        """
        if self.beside:
            view, session = self.session.view(), self.session
            counter = Counter(session.model, session.counter)
            counted = counter.messages(parse(view).messages) + counter.system(session.system)
            return Anchor(counted + self.beside, len(view))
        usage = self.transcript.usage if self.transcript else None
        return Anchor(*usage) if usage else None

    @property
    def not_counted(self) -> int:
        """Tokens the host's provider charged beyond our count: system prompt, tools and the like.

        0 where the transcript does not say what was charged. Of a session alone, which has neither,
        all that stands beside its messages.
        """
        if self.transcript is None or (anchor := self.anchor) is None:
            return self.beside
        session = self.session
        counter = Counter(session.model, session.counter)
        charged = parse(self.transcript.messages[: anchor.messages]).messages
        counted = counter.messages(charged) + counter.system(session.system)
        return max(0, anchor.tokens - counted - counter.tools(session.tools))


@dataclass(frozen=True)
class Workspace:
    """Store, settings and access of one run of the program."""

    store: Store
    environ: Mapping[str, str]
    home: Path
    cwd: Path
    access: Access
    overrides: Mapping[str, Any]
    summary_seconds: float | None = SUMMARY_SECONDS
    began: float = field(default_factory=time.time)
    readings: Readings = field(default_factory=Readings, repr=False)

    @classmethod
    def here(
        cls,
        *,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        home: Path | None = None,
        store: str | None = None,
        allow: Sequence[str] = (),
        **overrides: Any,
    ) -> "Workspace":
        """The workspace of this process: its environment, folders and command-line options.

        An impossible value in the environment is told by whatever needs `settings`: a server that
        would not start could not say why.

        Raises:
            StoreError: there is no working directory, or no home folder is known.
        """
        environ = os.environ if environ is None else environ
        cwd = working_folder() if cwd is None else cwd
        home = home_folder() if home is None else home
        found = Store.of_user(store, home) if store else Store.find(cwd, home=home, environ=environ)
        doors = _doors(environ)
        allowed = (*doors.allowed_paths, *allow)
        roots = (*_project(cwd, home), found.folder, *map(Path, allowed))
        access = Access(roots, doors.read_host_transcripts)
        if allow:
            overrides["allowed_paths"] = allowed
        return cls(found, environ, home, cwd, access, overrides)

    def settings(self, arguments: Mapping[str, Any] | None = None) -> Settings:
        """Defaults, `config.json`, the environment, the command line, this call; later ones win.

        Raises:
            InvalidSettings: an unknown name or an impossible value.
            StoreError: `config.json` cannot be read.
        """
        given = {**self.overrides, **(arguments or {})}
        return Settings.layered(self.store.read_config(), self.environ, given)

    def summarizer(
        self, settings: Settings, arguments: Mapping[str, Any] | None = None
    ) -> Summarizer | None:
        """The model that writes summaries, one for each compression; `None` where none may.

        Only the user can name one, through the environment or the command line, which `arguments`
        of a call may come from: neither a project's own file nor an agent opens a network path.
        """
        if settings.summarizer in ("caller", "none") or self.why_no_model(settings, arguments):
            return None
        if settings.summarizer == "auto" and not settings.summary_model:
            return None
        from context_compression.llms.anthropic import AnthropicSummarizer
        from context_compression.llms.in_time import InTime

        seconds = self.summary_seconds
        asking = AnthropicSummarizer(
            settings.summary_model, environ=self.environ, deadline_seconds=seconds
        )
        return InTime(asking, seconds)

    def why_no_model(
        self, settings: Settings, arguments: Mapping[str, Any] | None = None
    ) -> str | None:
        """Why a model that the settings name is not asked, if so."""
        if settings.summarizer in ("caller", "none"):
            return None
        if not self.may_ask_a_model(arguments):
            if settings.summarizer == "auto" and not settings.summary_model:
                return None
            return (
                "No model was asked: it is named in config.json alone, and a project's own file "
                "may not send the conversation anywhere. Set CONTEXT_COMPRESSION_SUMMARY_MODEL in "
                "the environment, or name it on the command line with --summary-model."
            )
        if settings.summarizer == "auto" and not any(map(self.environ.get, CREDENTIALS)):
            return f"No model was asked: neither {' nor '.join(CREDENTIALS)} is set."
        return None

    def may_ask_a_model(self, arguments: Mapping[str, Any] | None = None) -> bool:
        """Whether the user has named a model that writes summaries, or said that one shall.

        Args:
            arguments: settings that the user gives with this call.
        """
        given = {**self.overrides, **(arguments or {})}
        user = Settings.layered(environ=self.environ, arguments=given)
        named = user.summarizer == "auto" and user.summary_model is not None
        return named or user.summarizer == "anthropic"

    def open(
        self,
        conversation: str | None = None,
        *,
        settings: Settings | None = None,
        model: str | None = None,
        asking: Asking = NOBODY,
    ) -> Opened:
        """The conversation meant by a session id, a path, or `current`.

        Reads only; `Session.follow(transcript.messages)` brings our record up to a transcript.
        Blocks up to 0.3 s for `current`, which needs the call that is `asking` to be certain.

        Raises:
            ConversationNotFound: none of this name, or it is not certain which one is meant.
            PathNotAllowed: a path outside the folders that may be read.
            TranscriptError: a file that cannot be read as a conversation.
        """
        settings = settings or self.settings()
        if conversation in (None, "", CURRENT):
            path = self.access.check_current(find_current(self._caller(asking)))
            transcript = self.readings.look(path)
        elif conversation in self.store.sessions():
            return self._by_id(conversation, settings, model)
        elif not _looks_like_path(conversation) and not os.path.exists(self.cwd / conversation):
            return self._by_id(self.session_named(conversation, NO_PATH), settings, model)
        else:
            path = self._readable(self.place(conversation), asking)
            if recorded := self._recorded(path):
                return self._by_id(recorded, settings, model)
            transcript = self.readings.look(path)
        return self.of(transcript, settings=settings, model=model)

    def of(
        self,
        transcript: Transcript,
        *,
        settings: Settings | None = None,
        model: str | None = None,
    ) -> Opened:
        """The conversation in a transcript that was read already."""
        origin = {
            "host": transcript.host,
            "model": transcript.model,
            "window": transcript.window,
        }
        settings = _settings_in(origin, settings or self.settings(), model)
        session = Session(
            self.store,
            self._id(transcript),
            settings=settings,
            model=model or transcript.model,
            system=transcript.system,
            tools=transcript.tools,
        )
        session.origin = origin
        return Opened(session, transcript)

    def _by_id(self, id: str, settings: Settings, model: str | None) -> Opened:
        """A session, with what it tells of the program that keeps its conversation."""
        origin = Session(self.store, id).state().origin
        settings = _settings_in(origin, settings, model)
        session = Session(self.store, id, settings=settings, model=model or origin.get("model"))
        session.origin = origin
        return Opened(session, beside=origin.get("beside", 0))

    def _id(self, transcript: Transcript) -> str:
        """The id of its session; two files of one name may hold two conversations."""
        id, messages = transcript.session_id, transcript.messages
        after_file = transcript.host == "messages" and id == name_of(transcript.path)
        if _is_ours(id):
            id = f"{id}-file"
        if not after_file or id not in self.store.sessions():
            return id
        other = is_another(Session(self.store, id).state(), messages)
        return f"{id}-{ref_of(opening(messages))[:6]}" if other else id

    def recorded(self) -> list[str]:
        """The ids of the recorded conversations, the one last written to first."""
        return [id for id in self.store.sessions() if not _is_ours(id)]

    def session_named(self, name: str, hint: str = "") -> str:
        """The id of the session that is meant, in full or by its first four characters or more.

        Args:
            name: as somebody gave it.
            hint: what else it could have been.

        Raises:
            ConversationNotFound: none is recorded that begins so, or more than one.
        """
        if name in self.store.sessions():
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

    def refuse_ours(self, id: str) -> None:
        """Raises `ConversationNotFound` where a conversation is needed and `id` is a name of ours.

        What is compressed or recorded there would stand among what we keep for others.
        """
        if _is_ours(id):
            raise ConversationNotFound(
                f"The session {id!r} is ours: {KEPT_IN[id.lower()]} are kept in it, and no "
                "conversation is. Take another name; for a file of this name, pass its path.",
                self.recorded()[:5],
            )

    def place(self, path: str) -> Path:
        """Where a path leads that somebody typed: from the working directory, or from a `~`."""
        with suppress(RuntimeError):  # a user nobody knows: then it is the name of a folder
            return self.cwd / Path(path).expanduser()
        return self.cwd / path

    def _caller(self, asking: Asking) -> Caller:
        return Caller(
            self.environ, self.home, self.cwd, os.getpid(), self.began, self.readings.look, asking
        )

    def _readable(self, path: Path, asking: Asking) -> Path:
        """Where a path leads; those that an error listed as candidates for `current` count too."""
        try:
            return self.access.check(path)
        except PathNotAllowed:
            if self.access.read_host_transcripts and is_of_this_project(self._caller(asking), path):
                return path.resolve()
            raise

    def _recorded(self, path: Path) -> str | None:
        """The session of ours whose log a path leads to."""
        log = self.store.folder.resolve() / "sessions" / path.parent.name / "events.jsonl"
        return path.parent.name if path == log else None

    def session_for(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        settings: Settings | None = None,
        model: str | None = None,
    ) -> Session:
        """The session of a conversation a program holds itself."""
        name = name_for(messages, self.store)
        return Session(self.store, name, settings=settings or self.settings(), model=model)


def _project(cwd: Path, home: Path) -> tuple[Path, ...]:
    """The working directory, where it is a project: from the home folder on upward it is not.

    A host may start its servers there, and all of the user's files would be open.
    """
    return () if home.resolve().is_relative_to(cwd.resolve()) else (cwd,)


def working_folder() -> Path:
    """The working directory.

    Raises:
        StoreError: it is gone.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise StoreError(
            f"The working directory cannot be had ({error.strerror}): it was deleted, or may not "
            "be read. Change to a folder that is there; ask again. Nothing was changed."
        ) from error


def home_folder() -> Path:
    """The home folder of the user.

    Raises:
        StoreError: nobody knows of one.
    """
    try:
        return Path.home()
    except RuntimeError as error:
        raise StoreError(
            "No home folder is known: HOME is not set, and the system names none for this user. "
            "Set HOME to a folder that can be written; ask again. Nothing was changed."
        ) from error


def _doors(environ: Mapping[str, str]) -> Settings:
    """The settings that open doors; where one makes no sense, none is opened."""
    given = {v: environ[v] for name, v in variables(environ).items() if name in GUARDED}
    try:
        return Settings.layered(environ=given)
    except InvalidSettings:
        return Settings(read_host_transcripts=False)


def _settings_in(origin: Mapping[str, Any], settings: Settings, model: str | None) -> Settings:
    """The settings as a host's conversation needs them."""
    window = origin.get("window")
    if window and model is None and "token_budget" not in settings.model_fields_set:
        settings = settings.changed({"token_budget": window})
    if origin.get("host", "messages") != "messages" and settings.summary_role != "user":
        settings = settings.changed({"summary_role": "user"})  # it has a system prompt of its own
    return settings


def _is_ours(id: str) -> bool:
    """Whether a session is none of a conversation; some disks take capitals for the same name."""
    return id.lower() in KEPT_IN


def _looks_like_path(text: str) -> bool:
    return "/" in text or "\\" in text or text.endswith((".json", ".jsonl", ".gz"))
