"""`Host`: all that we know of a host, as one value; and what `install` adds to its files.

A host names the version it was seen working in; without one it follows the host's documentation.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.errors import SetupError
from context_compression.hosts.setup import jsonc
from context_compression.hosts.setup.files import read
from context_compression.hosts.setup.machine import PROGRAM, Machine, Server
from context_compression.transcripts.exporter import Exporter
from context_compression.transcripts.sessions import (
    NO_SESSIONS,
    Caller,
    CandidateConversation,
    StoredSessions,
    transcript_of_call,
)
from context_compression.transcripts.transcript import TranscriptFormat


@dataclass(frozen=True)
class Finding:
    """One result of the doctor.

    Attributes:
        check: the subject of the check: `configuration`, `hooks`, `server`, ...
        ok: whether the subject is as it should be; `None` for information only.
        says: the outcome in words.
        mend: the remedy, if something is wrong.
    """

    check: str
    ok: bool | None
    says: str
    mend: str = ""


Value = dict[str, Any]
HOOKS = "hooks"
OWN_KEYS = ("type", "command", "args", "cmd")
"""The keys of an entry that `install` overwrites; all others belong to the user."""


class FileFormat(Protocol):
    """Reads, adds and removes entries. The modules jsonc, toml and yaml are formats.

    All methods raise `ValueError` for a text that cannot be parsed.
    """

    def holds(self, text: str, under: str) -> bool:
        """Whether the text has a section for entries."""
        ...

    def entry_in(self, text: str, under: str, name: str) -> Any:
        """The entry's value; `None` if there is none."""
        ...

    def with_entry(self, text: str, under: str, name: str, value: Mapping[str, Any]) -> str:
        """The text with the entry."""
        ...

    def without_entry(self, text: str, under: str, name: str, *, tidy: bool) -> str:
        """The text without the entry; with `tidy`, also without a section that became empty."""
        ...


class Addition(Protocol):
    """An entry, hooks or a script that we add to a file. A missing file counts as an empty text.

    All methods raise `ValueError` for a text that cannot be parsed; the message gives the reason.
    """

    @property
    def path(self) -> Path:
        """The file."""
        ...

    def is_in(self, text: str) -> bool:
        """Whether the text has the addition, in any version."""
        ...

    def added_to(self, text: str) -> str:
        """The text with this version of the addition; `text` itself if it has it already."""
        ...

    def removed_from(self, text: str, before: str | None) -> str:
        """The text without the addition, and without the sections that were made for it.

        Args:
            text: the text with the addition.
            before: the text before it was added, if known.
        """
        ...


@dataclass(frozen=True)
class ConfigurationEntry:
    """The entry that makes a host start our server.

    Attributes:
        path: the file.
        format: the format of the file.
        under: the section that holds the entries.
        our_entry: the value that the entry should have.
        strict: whether the host accepts JSON without comments only.
    """

    path: Path
    format: FileFormat
    under: str
    our_entry: Value
    strict: bool = False

    def current(self, text: str) -> Value | None:
        """The entry in a text; `None` if there is none.

        Raises:
            ValueError: the text cannot be parsed, or the value is not an object.
        """
        checked(text, strict=self.strict)
        current = self.format.entry_in(text, self.under, PROGRAM)
        if current is not None and not is_object(current):
            raise ValueError(f"its {PROGRAM} is not the entry of a server")
        return None if current is None else dict(current)

    def is_in(self, text: str) -> bool:
        """Whether there is an entry with our name, be it an empty one."""
        if self.current(text) is not None:
            return True
        return self.format.without_entry(text, self.under, PROGRAM, tidy=False) != text

    def added_to(self, text: str) -> str:
        """The text with the entry; keys that the user added to the entry stay."""
        known = self.current(text)
        own = {name: value for name, value in self.our_entry.items() if name in OWN_KEYS}
        entry = {**self.our_entry, **(known or {}), **own}
        if known == entry:
            return text
        new = self.format.with_entry(text, self.under, PROGRAM, entry)
        if self.current(new) != entry:
            raise ValueError("it is written in a way that no program can add an entry to")
        return new

    def removed_from(self, text: str, before: str | None) -> str:
        """The text without the entry."""
        tidy = before is not None and not self.format.holds(before, self.under)
        return self.format.without_entry(text, self.under, PROGRAM, tidy=tidy)


@dataclass(frozen=True)
class HookAdditions:
    """Hooks in a JSON file, as Claude Code and Codex have them: lists of groups by event.

    Attributes:
        path: the file.
        groups: our groups, by event.
        strict: whether the host accepts JSON without comments only.
    """

    path: Path
    groups: Mapping[str, Sequence[Any]]
    strict: bool = True

    def is_in(self, text: str) -> bool:
        """Whether any group in it is ours."""
        return any(any(map(is_our_group, groups)) for groups in self._groups_in(text).values())

    def added_to(self, text: str) -> str:
        """The text with our groups at the end of each event's list."""
        there = self._groups_in(text)
        own = {event: [g for g in groups if is_our_group(g)] for event, groups in there.items()}
        if {event: groups for event, groups in own.items() if groups} == self.groups:
            return text
        text = self.removed_from(text, None)
        for event, groups in self.groups.items():
            for group in groups:
                text = jsonc.with_item(text, (HOOKS, event), group)
        return text

    def removed_from(self, text: str, before: str | None) -> str:
        """The text without our groups."""
        for event in self._groups_in(text):
            path = (HOOKS, event)
            keep = len(path)
            if before is not None:
                keep = sum(jsonc.value_at(before, path[:n]) is not None for n in (1, 2))
            text = jsonc.without_items(text, path, is_our_group, keep=keep)
        return text

    def _groups_in(self, text: str) -> dict[str, Sequence[Any]]:
        checked(text, strict=self.strict)
        hooks: Any = jsonc.value_at(text, (HOOKS,)) or {}
        if not is_object(hooks) or not all(is_array(groups) for groups in hooks.values()):
            raise ValueError(f'its "{HOOKS}" is not an object with a list for each event')
        return dict(hooks)


@dataclass(frozen=True)
class HostScript:
    """A file of our own: a program that the host runs.

    Attributes:
        path: the file.
        content: its content.
    """

    path: Path
    content: str

    def is_in(self, text: str) -> bool:
        """Whether the file exists; its name shows that it is ours."""
        return bool(text)

    def added_to(self, text: str) -> str:
        """The script."""
        del text
        return self.content

    def removed_from(self, text: str, before: str | None) -> str:
        """An empty text."""
        del text, before
        return ""


def is_our_group(group: Any) -> bool:
    """Whether a group of hooks calls our server."""
    hooks = group.get("hooks") if is_object(group) else None
    servers = (hook.get("server") for hook in hooks if is_object(hook)) if is_array(hooks) else ()
    return PROGRAM in servers


def checked(text: str, *, strict: bool) -> None:
    """Check that a host that accepts plain JSON only can read the text.

    Raises:
        ValueError: `strict` is set, and the text is neither empty nor plain JSON.
    """
    if not strict or not text.strip():
        return
    try:
        json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None


IN_SCRIPT = re.compile(r"^(const COMMAND = )\[.*?\](.*)$", re.MULTILINE)
IN_SHELL = re.compile(r"^(context_compression\(\) \{ ).*?( \"\$@\"; \}.*)$", re.MULTILINE)
"""The lines of a script in which `install` fills in our command."""
SHARED = re.compile(r"^// shared: (\S+)\n", re.MULTILINE)
"""The line of a plugin in whose place `install` puts a file of this folder."""
ANY = Server(PROGRAM)
"""A command, where it does not matter which."""
Environment = Literal["whole", "listed", "desktop"]
"""Which variables of the user's environment a host passes on to our server.

`whole`: all of them. `listed`: a few, and those that its entry lists. `desktop`: the few that a
desktop application is started with.
"""


@dataclass(frozen=True)
class HookFile:
    """A file that makes a host call our hooks; `hosts/README.md` describes each.

    Attributes:
        template: the file in this package.
        user: gives its path for all projects.
        project: its path in a project's folder; `None` if the host does not look there.
        merged: whether the file may also hold hooks of other programs.
        shell: the commands in it that need a shell, which Windows lacks. Our command takes their
            place there, with `arguments`.
        arguments: see `shell`.
    """

    template: Path
    user: Callable[[Machine], Path]
    project: str | None = None
    merged: bool = False
    shell: re.Pattern[str] | None = None
    arguments: tuple[str, ...] = ()

    def content(self) -> str:
        """The content of the file, with what several plugins share."""
        text = self.template.read_text(encoding="utf-8")
        return SHARED.sub(
            lambda found: (Path(__file__).parent / found[1]).read_text(encoding="utf-8"), text
        )

    def addition(self, machine: Machine, server: Server, *, in_project: bool) -> Addition | None:
        """The addition; `None` in a project if the host does not look for the file there."""
        if in_project and self.project is None:
            return None
        path = machine.cwd / str(self.project) if in_project else self.user(machine)
        text = self.content()
        if self.merged:
            return HookAdditions(path, json.loads(text)["hooks"])
        if self.shell and machine.system == "win32":
            parts = [f'"{part}"' for part in (server.command, *server.options)]
            command = json.dumps(" ".join([*parts, *self.arguments]))[1:-1]
            text = self.shell.sub(lambda found: command, text)
        return HostScript(path, _filled_in(text, server))

    def is_current(self, machine: Machine, *, in_project: bool = False) -> bool | None:
        """Whether the file has this version of our hooks; `None` if it has none of ours.

        The command in it does not count: it may start another installation.

        Raises:
            SetupError: the file cannot be read.
        """
        addition = self.addition(machine, ANY, in_project=in_project)
        data = read(addition.path) if addition else None
        if addition is None or data is None:
            return None
        text = _filled_in(data.decode("utf-8", "replace"), ANY)
        try:
            return addition.added_to(text) == text if addition.is_in(text) else None
        except ValueError as error:
            raise SetupError(f"{addition.path} cannot be read: {error}.") from error


def plain(command: str, args: Sequence[str]) -> Value:
    """An entry as most hosts read it."""
    return {"command": command, "args": [*args]}


def typed(command: str, args: Sequence[str]) -> Value:
    """An entry that also names the server's type, `stdio`."""
    return {"type": "stdio", **plain(command, args)}


@dataclass(frozen=True)
class LiveSession:
    """How the live transcript of a host is found.

    Attributes:
        variable: the environment variable that the host sets for every program it starts.
        here: gives the transcripts of the working directory, newest first.
        find: gives the transcript, or raises `ConversationNotFound` with the candidates; without
            it, it is the one among those of `here` that holds the call being answered.
        meta_key: a key in the `_meta` of a call that only this host sends; empty if there is none.
        is_proved: whether `find` always identifies the transcript by the call being answered.
    """

    variable: str
    here: Callable[[Caller], list[CandidateConversation]]
    find: Callable[[Caller], Path] | None = None
    meta_key: str = ""
    is_proved: bool = False

    def current(self, caller: Caller) -> Path:
        """The transcript of the conversation that calls us; blocks for a moment.

        Raises:
            ConversationNotFound: it is not certain which transcript is ours.
        """
        return self.find(caller) if self.find else transcript_of_call(caller, self.here)


@dataclass(frozen=True)
class Host:
    """A host. What is not given, the host does not have, or we do not know.

    Attributes:
        name: the name that the user types, and that its transcripts carry; its MCP clients' names
            begin with it.
        title: the name that the host gives itself.
        seen: the version that this was seen working in.
        program: its command, if it has one.
        user: gives its configuration file for all projects.
        under: the section of that file that holds the servers' entries.
        entry: makes our entry from a command and its arguments.
        project: names of its configuration file in a project's folder, the usual one first.
        format: the format of these files.
        strict: whether it accepts JSON without comments only.
        hooks: the files that make it call our hooks.
        serves_hooks: whether our server answers the hooks; otherwise a separate process does.
        environment: which of the user's variables our server gets.
        then: the step that the user takes so that the host uses the new configuration.
        hindrances: yields findings on settings that keep the host from starting our server or
            calling our hooks. Takes the host, the machine, and whether a project is meant.
        mcp_since: the first version that starts MCP servers, if older versions are in use.
        has_no_folder: whether it starts servers in a folder unrelated to the project.
        formats: the forms of its transcripts; the first to recognise a row reads it.
        transcripts: gives the folder and the glob pattern of the transcripts that we can read.
        stored: the sessions that it keeps on this machine.
        live: how the transcript of the conversation that calls us is found.
        exporter: writes a view as a new session that it resumes.
        resumes: the command that resumes a session of its own, with `{id}` or `{path}` of it.
        deletes: says what of its sessions it deletes, and when, for an environment and a home
            folder, as a sentence without its subject; empty if nothing is known.
    """

    name: str
    title: str
    seen: str | None = None
    program: str | None = None
    user: Callable[[Machine], Path] | None = None
    under: str = ""
    entry: Callable[[str, Sequence[str]], Value] = plain
    project: tuple[str, ...] = ()
    format: FileFormat = jsonc
    strict: bool = False
    hooks: tuple[HookFile, ...] = ()
    serves_hooks: bool = False
    environment: Environment = "whole"
    then: str = "Restart it."
    hindrances: Callable[["Host", Machine, bool], Iterator[Finding]] | None = None
    mcp_since: tuple[int, ...] = ()
    has_no_folder: bool = False
    formats: tuple[TranscriptFormat, ...] = ()
    transcripts: Callable[[Machine], tuple[Path, str]] | None = None
    stored: StoredSessions = NO_SESSIONS
    live: LiveSession | None = None
    exporter: Exporter | None = None
    resumes: tuple[str, ...] = ()
    deletes: Callable[[Mapping[str, str], Path], str] = lambda environ, home: ""

    def file(self, machine: Machine, *, in_project: bool = False) -> Path:
        """The path of the file that holds our entry.

        Raises:
            SetupError: the host reads no configuration in a project.
        """
        if not in_project:
            assert self.user, f"{self.title} has no configuration that we know"
            return self.user(machine)
        if not self.project:
            raise SetupError(
                f"{self.title} reads no configuration in a project; leave out --project."
            )
        return first_of([machine.cwd / name for name in self.project])

    def server_entry(
        self, machine: Machine, server: Server, *, in_project: bool = False, hooks: bool = True
    ) -> ConfigurationEntry:
        """The entry of our server in its configuration."""
        hook_options = ("--hooks", self.name) if hooks and self.serves_hooks else ()
        entry = self.entry(server.command, [*server.options, "serve", *hook_options])
        path = self.file(machine, in_project=in_project)
        return ConfigurationEntry(path, self.format, self.under, entry, self.strict)

    def hook_additions(
        self, machine: Machine, server: Server, *, in_project: bool = False
    ) -> list[Addition]:
        """The additions that make the host call our hooks."""
        made = (file.addition(machine, server, in_project=in_project) for file in self.hooks)
        return [addition for addition in made if addition]

    def is_here(self, machine: Machine) -> bool:
        """Whether the host seems to be installed on this machine."""
        if self.program and machine.which(self.program):
            return True
        path = self.file(machine)
        return path.exists() or (path.parent != machine.home and path.parent.is_dir())


def _filled_in(text: str, server: Server) -> str:
    """A script with the command filled in."""
    command = [server.command, *server.options]
    for line, filled in ((IN_SCRIPT, json.dumps(command)), (IN_SHELL, shlex.join(command))):
        text = line.sub(lambda match, filled=filled: match[1] + filled + match[2], text)
    return text


def first_of(paths: Sequence[Path]) -> Path:
    """The first path that exists, or else the first path."""
    return next((path for path in paths if path.exists()), paths[0])


def command_of(entry: Mapping[str, Any]) -> list[str] | None:
    """The command that an entry of any host starts; `None` if it names none."""
    command, args = entry.get("command") or entry.get("cmd"), entry.get("args")
    parts = command if is_array(command) else [command, *(args if is_array(args) else ())]
    return [str(part) for part in parts] if command else None


def environ_of(entry: Mapping[str, Any]) -> dict[str, str]:
    """The variables that an entry of any host sets."""
    given = entry.get("env") or entry.get("environment") or entry.get("envs")
    return {name: str(value) for name, value in as_object(given).items()}


def below(user: Callable[[Machine], Path], pattern: str) -> Callable[[Machine], tuple[Path, str]]:
    """`Host.transcripts` of a host that keeps them below the folder of its configuration."""
    return lambda machine: (user(machine).parent, pattern)
