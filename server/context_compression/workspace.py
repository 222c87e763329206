"""What the doors share: which store, which settings, which conversation is meant.

The environment is read here once and passed on.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_compression import hosts
from context_compression.errors import ConversationNotFound
from context_compression.hosts import Access, Transcript, claude_code
from context_compression.session import Session, name_for
from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.summarizer import Summarizer
from context_compression.tokens import Anchor

CURRENT = "current"
SUMMARY_SECONDS = 25.0
"""For all the requests of a summary: a client may give up on a tool after 30 seconds."""
CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")


@dataclass(frozen=True)
class Opened:
    """A conversation somebody asked for.

    Attributes:
        session: our record of it.
        transcript: the file another program keeps it in; `None` for a session recorded with us,
            whose history a compression really changes.
    """

    session: Session
    transcript: Transcript | None = None

    @property
    def anchor(self) -> Anchor | None:
        """What the host's provider really charged, where the transcript says so."""
        usage = self.transcript.usage if self.transcript else None
        return Anchor(*usage) if usage else None


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

        Raises:
            InvalidSettings: the environment holds an impossible value.
        """
        environ = os.environ if environ is None else environ
        cwd = Path.cwd() if cwd is None else cwd
        home = Path.home() if home is None else home
        found = Store(store) if store else Store.find(cwd, home=home, environ=environ)
        settings = Settings.layered(environ=environ)
        roots = (cwd, found.folder, *map(Path, (*settings.allowed_paths, *allow)))
        access = Access(roots, settings.read_host_transcripts)
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

        Only the user can name one, through the environment, the command line or the `arguments` of
        this call: a project's own file never opens a network path.
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
        given = {**self.overrides, **(arguments or {})}
        user = Settings.layered(environ=self.environ, arguments=given)
        if user.summary_model is None and user.summarizer != "anthropic":
            if settings.summarizer == "auto" and not settings.summary_model:
                return None
            return (
                "No model was asked: it is named in config.json alone, and a project's own file "
                "may not send the conversation anywhere. Set CONTEXT_COMPRESSION_SUMMARY_MODEL in "
                "the environment, or pass summary_model with this call."
            )
        if settings.summarizer == "auto" and not any(map(self.environ.get, CREDENTIALS)):
            return f"No model was asked: neither {' nor '.join(CREDENTIALS)} is set."
        return None

    def open(
        self,
        conversation: str | None = None,
        *,
        settings: Settings | None = None,
        model: str | None = None,
        tool_use_id: str | None = None,
    ) -> Opened:
        """The conversation meant by a session id, a path, or `current`.

        Reads only; `Session.follow(transcript.messages)` brings our record up to a transcript.
        Blocks up to 0.3 s for `current`.

        Raises:
            ConversationNotFound: none of this name, or it is not certain which one is meant.
            PathNotAllowed: a path outside the folders that may be read.
            TranscriptError: a file that cannot be read as a conversation.
        """
        settings = settings or self.settings()
        if conversation in (None, "", CURRENT):
            path = claude_code.find_current(
                self.environ, self.home, self.cwd, tool_use_id, pid=os.getpid()
            )
            transcript = hosts.read(self.access.check_current(path))
        elif conversation in self.store.sessions():
            return Opened(Session(self.store, conversation, settings=settings, model=model))
        elif not _looks_like_path(conversation) and not os.path.exists(self.cwd / conversation):
            raise ConversationNotFound(
                f"No session {conversation!r} is recorded, and it is no path. Pass the id of a "
                "recorded session, the path of a transcript, or `current`.",
                self.store.sessions()[:5],
            )
        else:
            transcript = hosts.read(self.access.check(self.place(conversation)))
        session = Session(
            self.store,
            transcript.session_id,
            settings=settings,
            model=model or transcript.model,
            system=transcript.system,
            tools=transcript.tools,
        )
        return Opened(session, transcript)

    def place(self, path: str) -> Path:
        """Where a path leads that somebody typed: from the working directory, or from a `~`."""
        with suppress(RuntimeError):  # a user nobody knows: then it is the name of a folder
            return self.cwd / Path(path).expanduser()
        return self.cwd / path

    def session_for(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        settings: Settings | None = None,
        model: str | None = None,
    ) -> Session:
        """The session of a conversation a program holds itself, named after its first message."""
        name = name_for(messages)
        return Session(self.store, name, settings=settings or self.settings(), model=model)


def _looks_like_path(text: str) -> bool:
    return "/" in text or "\\" in text or text.endswith((".json", ".jsonl", ".gz"))
