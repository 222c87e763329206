"""One run of the program: its store, its settings, and what it may read.

The environment is read here once and passed on.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_compression.conversation.refs import ref_of
from context_compression.errors import InvalidSettings
from context_compression.session import Session
from context_compression.session.state import first_messages, is_another_conversation
from context_compression.settings import GUARDED, Settings, variables
from context_compression.store import Store
from context_compression.summaries.summarizer import Summarizer
from context_compression.transcripts.access import Access
from context_compression.transcripts.transcript import Transcript, id_from_name
from context_compression.workspace.folders import home_folder, working_folder
from context_compression.workspace.opened import Opened, settings_in
from context_compression.workspace.own_sessions import is_ours

SUMMARY_SECONDS = 25.0
"""For all the requests of a summary: a client may give up on a tool after 30 seconds."""
CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")


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
        from context_compression.summaries.llms.anthropic import AnthropicSummarizer
        from context_compression.summaries.llms.deadline import InTime

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
        settings = settings_in(origin, settings or self.settings(), model)
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

    def _id(self, transcript: Transcript) -> str:
        """The id of its session; two files of one name may hold two conversations."""
        id, messages = transcript.session_id, transcript.messages
        after_file = transcript.host == "messages" and id == id_from_name(transcript.path)
        if is_ours(id):
            id = f"{id}-file"
        if not after_file or id not in self.store.sessions():
            return id
        other = is_another_conversation(Session(self.store, id).state(), messages)
        return f"{id}-{ref_of(first_messages(messages))[:6]}" if other else id

    def place(self, path: str) -> Path:
        """Where a path leads that somebody typed: from the working directory, or from a `~`."""
        with suppress(RuntimeError):  # a user nobody knows: then it is the name of a folder
            return self.cwd / Path(path).expanduser()
        return self.cwd / path


def _project(cwd: Path, home: Path) -> tuple[Path, ...]:
    """The working directory, where it is a project: from the home folder on upward it is not.

    A host may start its servers there, and all of the user's files would be open.
    """
    return () if home.resolve().is_relative_to(cwd.resolve()) else (cwd,)


def _doors(environ: Mapping[str, str]) -> Settings:
    """The settings that open doors; where one makes no sense, none is opened."""
    given = {v: environ[v] for name, v in variables(environ).items() if name in GUARDED}
    try:
        return Settings.layered(environ=given)
    except InvalidSettings:
        return Settings(read_host_transcripts=False)
