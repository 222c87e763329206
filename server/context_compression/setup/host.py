"""A host, and how it is told of our server and our hooks.

Each host's own folder below `hosts/` has one of these, in its `configuration.py`. Seen working in
the versions named, or else taken from the host's own documentation.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from context_compression.conversation.messages import is_array, is_object
from context_compression.errors import SetupError
from context_compression.setup import jsonc
from context_compression.setup.additions import Entry, Format, Hooks, Piece, Script, Value
from context_compression.setup.finding import Finding
from context_compression.setup.machine import Machine, Server

IN_SCRIPT = re.compile(r"^(const COMMAND = )\[.*?\](.*)$", re.MULTILINE)
IN_SHELL = re.compile(r"^(context_compression\(\) \{ ).*?( \"\$@\"; \}.*)$", re.MULTILINE)
"""The lines that say how our command is started."""
Environment = Literal["whole", "listed", "desktop"]
"""What of the user's environment a host passes on: all; a few and those its entry lists; what a
desktop application is started with, which is little."""


@dataclass(frozen=True)
class HookFile:
    """A file that makes a host ask our hooks; `hosts/README.md` says what it does there.

    Attributes:
        template: the file in this package.
        user: where it goes for all projects.
        project: where it goes in a project, if the host looks there.
        merged: whether others' hooks may stand in the same file.
    """

    template: Path
    user: Callable[[Machine], Path]
    project: str | None = None
    merged: bool = False

    def piece(self, machine: Machine, server: Server, *, in_project: bool) -> Piece | None:
        """The piece; `None` in projects where the host does not look for it."""
        if in_project and self.project is None:
            return None
        path = machine.cwd / str(self.project) if in_project else self.user(machine)
        text = self.template.read_text(encoding="utf-8")
        if self.merged:
            return Hooks(path, json.loads(text)["hooks"])
        command = [server.command, *server.options]
        for line, filled in ((IN_SCRIPT, json.dumps(command)), (IN_SHELL, shlex.join(command))):
            text = line.sub(lambda found, filled=filled: found[1] + filled + found[2], text)
        return Script(path, text)


@dataclass(frozen=True)
class Host:
    """A host, and how it is told of a server.

    Attributes:
        name: what people type.
        title: what it calls itself.
        program: its command, where it has one.
        user: its configuration for all projects.
        under: where the entries stand in it.
        entry: ours, for a command and its arguments.
        project: names of its configuration in a project's folder, the usual one first.
        format: of the files.
        strict: whether it takes JSON without comments only.
        hooks: the files that make it ask our hooks.
        serves_hooks: whether they are answered by the server.
        environment: what our server gets of the user's.
        transcripts: the folder and the pattern of those we can read.
        then: what has to be done for it to take notice.
        seen: the version this was seen working in.
        hindrances: tells what keeps it from starting our server or asking our hooks, although
            both are configured; given the host, the machine, and whether it is about a project.
        mcp_since: the first version that starts servers at all, where earlier ones are about.
    """

    name: str
    title: str
    program: str | None
    user: Callable[[Machine], Path]
    under: str
    entry: Callable[[str, Sequence[str]], Value]
    project: tuple[str, ...] = ()
    format: Format = jsonc
    strict: bool = False
    hooks: tuple[HookFile, ...] = ()
    serves_hooks: bool = False
    environment: Environment = "whole"
    transcripts: Callable[[Machine], tuple[Path, str]] | None = None
    then: str = "Start it anew."
    seen: str | None = None
    hindrances: Callable[["Host", Machine, bool], Iterator[Finding]] | None = None
    mcp_since: tuple[int, ...] = ()

    def file(self, machine: Machine, *, in_project: bool = False) -> Path:
        """The file our entry goes into.

        Raises:
            SetupError: the host has no configuration of its own in a project.
        """
        if not in_project:
            return self.user(machine)
        if not self.project:
            raise SetupError(f"{self.title} reads no configuration in a project; omit --project.")
        return first_of([machine.cwd / name for name in self.project])

    def server_entry(
        self,
        machine: Machine,
        server: Server,
        *,
        in_project: bool = False,
        hooks: bool = True,
    ) -> Entry:
        """Our entry in its configuration."""
        asked = ("--hooks", self.name) if hooks and self.serves_hooks else ()
        wanted = self.entry(server.command, [*server.options, "serve", *asked])
        path = self.file(machine, in_project=in_project)
        return Entry(path, self.format, self.under, wanted, self.strict)

    def hook_pieces(
        self, machine: Machine, server: Server, *, in_project: bool = False
    ) -> list[Piece]:
        """What makes it ask our hooks."""
        made = (file.piece(machine, server, in_project=in_project) for file in self.hooks)
        return [piece for piece in made if piece]

    def is_here(self, machine: Machine) -> bool:
        """Whether the host seems to be on this machine."""
        if self.program and machine.which(self.program):
            return True
        path = self.user(machine)
        return path.exists() or (path.parent != machine.home and path.parent.is_dir())


def first_of(paths: Sequence[Path]) -> Path:
    """The first that is there, else the first."""
    return next((path for path in paths if path.exists()), paths[0])


def plain(command: str, args: Sequence[str]) -> Value:
    """As most hosts take it."""
    return {"command": command, "args": [*args]}


def typed(command: str, args: Sequence[str]) -> Value:
    """With the kind of server named."""
    return {"type": "stdio", **plain(command, args)}


def command_of(entry: Mapping[str, Any]) -> list[str] | None:
    """The command an entry of any of these hosts starts; `None` where it starts none."""
    command, args = entry.get("command") or entry.get("cmd"), entry.get("args")
    parts = command if is_array(command) else [command, *(args if is_array(args) else ())]
    return [str(part) for part in parts] if command else None


def environ_of(entry: Mapping[str, Any]) -> dict[str, str]:
    """The variables an entry of any of these hosts sets."""
    given = entry.get("env") or entry.get("environment") or entry.get("envs")
    return {name: str(value) for name, value in given.items()} if is_object(given) else {}


def below(user: Callable[[Machine], Path], pattern: str) -> Callable[[Machine], tuple[Path, str]]:
    """Transcripts below the folder of a host's configuration."""
    return lambda machine: (user(machine).parent, pattern)
