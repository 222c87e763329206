"""`Workspace`: the store, settings and file access of one run of the program.

The environment is read here once and passed on.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_compression.conversation.refs import ref_of
from context_compression.errors import InvalidSettings
from context_compression.setting_names import Provider, own_name
from context_compression.settings import GUARDED, Settings, variables
from context_compression.store import Store
from context_compression.store.beside import beside_workspace
from context_compression.store.location import TENANT
from context_compression.transcripts.opening import Access
from context_compression.workspace.doubts import doubt_about_model, doubts, why_no_model
from context_compression.workspace.loading import home_folder, working_folder

if TYPE_CHECKING:
    from context_compression.summaries.summarizer import Summarizer
    from context_compression.transcripts.transcript import Transcript
    from context_compression.workspace.opened import Opened

SUMMARY_SECONDS = 25.0
"""Time limit for each request of a summary, if no setting says how long it may take: a client may
give up on a tool after 30 seconds."""


@dataclass(frozen=True)
class Workspace:
    """Store, settings and access of one run of the program.

    Attributes:
        store: the store in use.
        environ: the environment of the process.
        home: the home folder of the user.
        cwd: the working directory.
        access: which files may be read.
        overrides: settings from the command line.
        summary_seconds: for each request of a summary, if no setting says how long it may take;
            `None` for no limit.
        tenant: the tenant whose agents work here; `None` for the user's own.
        part: the tenant to whose part of the store the user has bound this run; `None` for none.
    """

    store: Store
    environ: Mapping[str, str]
    home: Path
    cwd: Path
    access: Access
    overrides: Mapping[str, Any]
    summary_seconds: float | None = SUMMARY_SECONDS
    tenant: str | None = None
    part: str | None = None
    _made: Callable[[], "Workspace"] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def here(
        cls,
        *,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        home: Path | None = None,
        store: str | Store | None = None,
        tenant: str | None = None,
        allow: Sequence[str] = (),
        **overrides: Any,
    ) -> "Workspace":
        """The workspace of this process: its environment, folders and command-line options.

        An impossible value in the environment raises no error here, only in `settings`: a server
        that does not start could not report the reason.

        Args:
            environ: the environment variables; by default those of this process.
            cwd: the working directory; by default that of this process.
            home: the home folder of the user.
            store: the place of the store, or the store, which is used as it is, without a tenant.
            tenant: whose part of the store is used; by default the one in the environment.
            allow: more files and folders that may be read.
            overrides: settings from the command line.

        Raises:
            StoreError: there is no working directory, or no home folder is known; or the store's
                place or the tenant's name is impossible.
            InvalidSettings: a variable for a database's store cannot be right.
        """
        environ = os.environ if environ is None else environ
        cwd = working_folder() if cwd is None else cwd
        home = home_folder() if home is None else home
        again = partial(
            cls.here, environ={**environ}, cwd=cwd, home=home, store=store, tenant=tenant,
            allow=allow, **overrides,
        )  # fmt: skip
        tenant = None if isinstance(store, Store) else tenant or environ.get(TENANT)
        if isinstance(store, Store):
            opened = store
        elif store:
            opened = Store.of_user(store, home, environ)
        else:
            opened = Store.find(cwd, home=home, environ=environ)
        if tenant:
            opened = opened.of_tenant(tenant)
        guarded = _guarded_settings(environ)
        allowed = (*guarded.allowed_paths, *allow)
        own = [opened.backend.folder] if opened.backend.folder else []
        roots = (*_project(cwd, home), *own, *map(Path, allowed))
        access = Access(roots, guarded.read_host_transcripts)
        if allow:
            overrides["allowed_paths"] = allowed
        made = None if isinstance(store, Store) else again
        here = cls(opened, environ, home, cwd, access, overrides, part=tenant or None, _made=made)
        if made and not tenant and opened.backend.folder:
            opened.find_beside = partial(beside_workspace, here)
        return here

    def of_tenant(self, name: str) -> "Workspace":
        """The workspace of one of the server's tenants: a store of its own, and no files.

        Its agents run on other machines, so no file, folder or transcript of this one is theirs.
        """
        opening = {variables(self.environ).get(guarded) for guarded in GUARDED}
        nowhere = Path(os.devnull)
        return replace(
            self,
            store=self.store.of_tenant(name),
            environ={n: value for n, value in self.environ.items() if n not in opening},
            home=nowhere,
            cwd=nowhere,
            access=Access((), False, no_files=True),
            overrides={n: value for n, value in self.overrides.items() if n not in GUARDED}
            | {"read_host_transcripts": False},
            tenant=name,
            _made=None,
        )

    def opened_again(self) -> Callable[[], "Workspace"]:
        """What makes the same workspace in another process; it can be pickled.

        Raises:
            InvalidSettings: the program has made the store itself, or this is a tenant's workspace.
        """
        if self._made is None:
            raise InvalidSettings(
                "Another process cannot open this workspace, because the program has made its "
                "store itself. Name the store's place instead."
            )
        return self._made

    def settings(self, arguments: Mapping[str, Any] | None = None) -> Settings:
        """The settings: defaults, `config.json`, environment, command line, this call; later wins.

        Raises:
            InvalidSettings: an unknown name or an impossible value.
            StoreError: `config.json` cannot be read.
        """
        given = {**self.overrides, **(arguments or {})}
        config = self.store.read_config()
        return Settings.layered(config, self.environ, given, self.settings_origin)

    @property
    def recall_projects(self) -> Sequence[str]:
        """The folders of other projects whose sessions may be searched; the user names them."""
        given = self.overrides.get("recall_projects")
        return _guarded_settings(self.environ).recall_projects if given is None else given

    @property
    def settings_origin(self) -> str:
        """What people are shown as the origin of a setting that the store keeps."""
        return "config.json" if self.store.backend.folder else "the store"

    def origins(self) -> dict[str, str]:
        """What sets each setting that is set: the store, a variable by name, the command line."""
        origins = dict.fromkeys(map(own_name, self.store.read_config()), self.settings_origin)
        origins |= variables(self.environ)
        return origins | dict.fromkeys(map(own_name, self.overrides), "command line")

    def summarizer(
        self, settings: Settings, arguments: Mapping[str, Any] | None = None
    ) -> "Summarizer | None":
        """The model that writes summaries, a new one for each compression; `None` if none may.

        Args:
            settings: of the compression.
            arguments: settings that the user gives with this call.
        """
        named = self.provider(arguments)
        if not settings.provider or why_no_model(settings, named, self.environ):
            return None
        from context_compression.summaries.attempts import InTime
        from context_compression.summaries.summarizer import summarizer_of

        model = summarizer_of(
            settings.provider, settings.summary_model, environ=self.environ, deadline_seconds=None
        )
        return InTime(model, self.summary_seconds)

    def why_no_model(
        self, settings: Settings, arguments: Mapping[str, Any] | None = None
    ) -> str | None:
        """Why a model that the settings name is not called; `None` if it is, or none is named."""
        reason = why_no_model(settings, self.provider(arguments), self.environ)
        return f"No model was asked: {reason}" if reason else None

    def doubts(self, settings: Settings | None = None) -> tuple[str, ...]:
        """What is doubtful about the store, the settings, and the model that they name."""
        settings = settings or self.settings()
        of_model = doubt_about_model(settings, self.provider(), self.environ)
        return (*self.store.doubts(), *doubts(settings), *filter(None, [of_model]))

    def reads_files(self) -> bool:
        """Whether files outside the store may be read."""
        return not all(map(self.store.has_file, self.access.roots))

    def provider(self, arguments: Mapping[str, Any] | None = None) -> Provider | None:
        """The API of the model that the user has named for summaries, if one is named."""
        given = {**self.overrides, **(arguments or {})}
        return Settings.layered(environ=self.environ, arguments=given).provider

    def of(
        self,
        transcript: "Transcript",
        *,
        settings: Settings | None = None,
        model: str | None = None,
    ) -> "Opened":
        """The conversation in a transcript that was already read."""
        from context_compression.session import Session
        from context_compression.workspace.opened import Opened, largest_in

        used, told = largest_in(transcript)
        origin = {
            "host": transcript.host, "window": transcript.window, "model": transcript.model,
            "project": transcript.project, "used": used, "told": told,
        }  # fmt: skip
        settings, compacts_at = self.settings_in(origin, settings or self.settings(), model)
        handed_in = transcript.host == "messages"  # a host's own system prompt is its share
        session = Session(
            self.store,
            self._id(transcript),
            settings=settings,
            model=model or transcript.model,
            system=transcript.system if handed_in else None,
            tools=transcript.tools if handed_in else None,
            summarizer=None,
        )
        opened = Opened(session, transcript, compacts_at=compacts_at)
        session.origin = opened.origin
        return opened

    def settings_in(
        self, origin: Mapping[str, Any], settings: Settings, model: str | None = None
    ) -> tuple[Settings, int]:
        """The settings, adapted to a conversation: see `opened.settings_in`."""
        from context_compression.workspace.opened import settings_in

        return settings_in(origin, settings, model, self.environ, self.home)

    def _id(self, transcript: "Transcript") -> str:
        """The id of a transcript's session; two files of one name may hold two conversations."""
        from context_compression.session.following import first_messages, is_another_conversation
        from context_compression.session.state import state_of
        from context_compression.transcripts.transcript import id_from_name
        from context_compression.workspace.opened import is_own_session

        id, messages = transcript.session_id, transcript.messages
        after_file = transcript.host == "messages" and id == id_from_name(transcript.path)
        if is_own_session(id):
            id = f"{id}-file"
        if not after_file or id not in self.store.sessions():
            return id
        other = is_another_conversation(state_of(self.store.session(id)), messages)
        return f"{id}-{ref_of(first_messages(messages))[:6]}" if other else id

    def place(self, path: str) -> Path:
        """The path that a user typed, relative to the working directory; `~` is the home folder."""
        with suppress(RuntimeError):  # `~name` of an unknown user is the name of a folder
            return self.cwd / Path(path).expanduser()
        return self.cwd / path


def _project(cwd: Path, home: Path) -> tuple[Path, ...]:
    """The working directory, if it is a project; the home folder and the folders above are none.

    A host may start its servers there, and all of the user's files could be read.
    """
    return () if home.resolve().is_relative_to(cwd.resolve()) else (cwd,)


def _guarded_settings(environ: Mapping[str, str]) -> Settings:
    """The settings that open folders; if one has an impossible value, no folder is opened."""
    given = {v: environ[v] for name, v in variables(environ).items() if name in GUARDED}
    try:
        return Settings.layered(environ=given)
    except InvalidSettings:
        return Settings(read_host_transcripts=False)
