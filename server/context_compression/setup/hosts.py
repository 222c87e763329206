"""The hosts we know: where each keeps its configuration, and what our entry in it looks like.

Seen working in the versions named, or else taken from the host's own documentation.
"""

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from context_compression.errors import SetupError
from context_compression.messages import is_array, is_object
from context_compression.setup import jsonc, toml, yaml
from context_compression.setup.machine import PROGRAM, Machine, Server
from context_compression.setup.pieces import Entry, Format, Hooks, Piece, Script, Value

PLUGINS = Path(__file__).parents[1] / "plugins"
IN_SCRIPT = re.compile(r"^(const COMMAND = )\[.*?\](.*)$", re.MULTILINE)
IN_SHELL = re.compile(r"^(context_compression\(\) \{ ).*?( \"\$@\"; \}.*)$", re.MULTILINE)
"""The lines that say how our command is started."""
OPENCODE = ("opencode.json", "opencode.jsonc")
Environment = Literal["whole", "listed", "desktop"]
"""What of the user's environment a host passes on: all; a few and those its entry lists; what a
desktop application is started with, which is little."""


@dataclass(frozen=True)
class HookFile:
    """A file that makes a host ask our hooks; `plugins/README.md` says what it does there.

    Attributes:
        template: its name in this package, below `plugins`.
        user: where it goes for all projects.
        project: where it goes in a project, if the host looks there.
        merged: whether others' hooks may stand in the same file.
    """

    template: str
    user: Callable[[Machine], Path]
    project: str | None = None
    merged: bool = False

    def piece(self, machine: Machine, server: Server, *, in_project: bool) -> Piece | None:
        """The piece; `None` in projects where the host does not look for it."""
        if in_project and self.project is None:
            return None
        path = machine.cwd / str(self.project) if in_project else self.user(machine)
        text = (PLUGINS / self.template).read_text(encoding="utf-8")
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


def for_codex(command: str, args: Sequence[str]) -> Value:
    """Codex passes few variables on; without CODEX_HOME its transcripts cannot be found."""
    limits = {"startup_timeout_sec": 30, "tool_timeout_sec": 120}
    return {**plain(command, args), "env_vars": ["CODEX_HOME"], **limits}


def for_opencode(command: str, args: Sequence[str]) -> Value:
    """The time limit, in ms, is for the start as well as for each call; 5,000 without it."""
    return {"type": "local", "command": [command, *args], "enabled": True, "timeout": 120_000}


def for_pi(command: str, args: Sequence[str]) -> Value:
    """Tools that are not `direct` are for scripts alone; the model never sees them."""
    return {**plain(command, args), "exposure": "direct"}


def for_goose(command: str, args: Sequence[str]) -> Value:
    """Goose calls servers extensions, and wants all of this."""
    return {
        "enabled": True,
        "type": "stdio",
        "name": PROGRAM,
        "description": "Context window management: usage, compression, offloading, restoring",
        "cmd": command,
        "args": [*args],
        "envs": {},
        "timeout": 300,
    }


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


def folder_of_claude_code(machine: Machine) -> Path:
    """`~/.claude`, or CLAUDE_CONFIG_DIR."""
    return machine.folder("CLAUDE_CONFIG_DIR") or machine.home / ".claude"


def claude_desktop(machine: Machine) -> Path:
    """On Windows an application from a package sees a folder of its own in place of AppData."""
    name = "claude_desktop_config.json"
    if machine.system == "win32":
        local = machine.folder("LOCALAPPDATA") or machine.home / "AppData" / "Local"
        for package in sorted((local / "Packages").glob("Claude_*")):
            return package / "LocalCache" / "Roaming" / "Claude" / name
    return machine.applications / "Claude" / name


def claude_code(machine: Machine) -> Path:
    """Beside its folder, unless that was moved."""
    return (machine.folder("CLAUDE_CONFIG_DIR") or machine.home) / ".claude.json"


def codex(machine: Machine) -> Path:
    """`~/.codex`, or CODEX_HOME."""
    return (machine.folder("CODEX_HOME") or machine.home / ".codex") / "config.toml"


def gemini_cli(machine: Machine) -> Path:
    """GEMINI_CLI_HOME stands for the home folder."""
    home = machine.folder("GEMINI_CLI_HOME") or machine.home
    return home / ".gemini" / "settings.json"


def folder_of_opencode(machine: Machine) -> Path:
    """By the XDG rules, on every system."""
    return machine.folder("OPENCODE_CONFIG_DIR") or machine.config_home / "opencode"


def opencode(machine: Machine) -> Path:
    """One of three names."""
    folder = folder_of_opencode(machine)
    return first_of([folder / name for name in (*OPENCODE, "config.json")])


def pi(machine: Machine) -> Path:
    """`~/.pi/agent`, or PI_CODING_AGENT_DIR."""
    return (machine.folder("PI_CODING_AGENT_DIR") or machine.home / ".pi" / "agent") / "mcp.json"


CODEX_HOOKS = HookFile(
    "codex/hooks.json",
    lambda machine: codex(machine).parent / "hooks.json",
    ".codex/hooks.json",
    merged=True,
)
GEMINI_HOOKS = tuple(
    HookFile(
        f"gemini_cli/{name}",
        lambda machine, name=name: gemini_cli(machine).parent / "extensions" / PROGRAM / name,
    )
    for name in ("gemini-extension.json", "hook.sh", "hooks/hooks.json")
)
OPENCODE_HOOKS = HookFile(
    f"opencode/{PROGRAM}.js",
    lambda machine: folder_of_opencode(machine) / "plugin" / f"{PROGRAM}.js",
    f".opencode/plugin/{PROGRAM}.js",
)
PI_HOOKS = HookFile(
    f"pi/{PROGRAM}.ts",
    lambda machine: pi(machine).parent / "extensions" / f"{PROGRAM}.ts",
    f".pi/extensions/{PROGRAM}.ts",
)


def vscode(machine: Machine) -> Path:
    """Of the default profile."""
    return machine.applications / "Code" / "User" / "mcp.json"


def zed(machine: Machine) -> Path:
    """On macOS it follows the XDG rules too, but for the variable."""
    if machine.system == "win32":
        return machine.applications / "Zed" / "settings.json"
    home = machine.config_home if machine.system == "linux" else machine.home / ".config"
    return home / "zed" / "settings.json"


def goose(machine: Machine) -> Path:
    """On Windows below the name of its first publisher."""
    if root := machine.folder("GOOSE_PATH_ROOT"):
        return root / "config" / "config.yaml"
    if machine.system == "win32":
        return machine.applications / "Block" / "goose" / "config" / "config.yaml"
    return machine.config_home / "goose" / "config.yaml"


CLAUDE_CODE = Host(
    "claude-code", "Claude Code", "claude", claude_code, "mcpServers", typed,
    project=(".mcp.json",), strict=True, seen="2.1.329",
    transcripts=lambda machine: (folder_of_claude_code(machine), "projects/*/*.jsonl"),
)  # fmt: skip
HOSTS = (
    CLAUDE_CODE,
    Host(
        "claude-desktop", "Claude Desktop", None, claude_desktop, "mcpServers", plain,
        strict=True, environment="desktop", then="Quit it, not only its window, and start it anew.",
    ),
    Host(
        "codex", "Codex", "codex", codex, "mcp_servers", for_codex,
        project=(".codex/config.toml",), format=toml, environment="listed",
        hooks=(CODEX_HOOKS,), serves_hooks=True, then="Start it anew and trust the hooks: /hooks.",
        transcripts=below(codex, "sessions/*/*/*/*.jsonl"), seen="0.169.0",
    ),
    Host(
        "gemini-cli", "Gemini CLI", "gemini", gemini_cli, "mcpServers", plain,
        project=(".gemini/settings.json",), hooks=GEMINI_HOOKS,
        transcripts=below(gemini_cli, "tmp/*/chats/*.jsonl"), seen="0.61.0",
    ),
    Host(
        "opencode", "opencode", "opencode", opencode, "mcp", for_opencode,
        project=OPENCODE, hooks=(OPENCODE_HOOKS,),
        transcripts=lambda machine: (machine.data_home / "opencode", "opencode.db"),
        seen="1.18.33",
    ),
    Host(
        "pi", "Pi", "pi", pi, "mcpServers", for_pi, project=(".pi/mcp.json",), strict=True,
        hooks=(PI_HOOKS,), transcripts=below(pi, "sessions/*/*.jsonl"),
        then="Start it anew. Pi before 0.99 has no MCP of its own and passes this file over.",
        mcp_since=(0, 99),
    ),
    Host(
        "cursor", "Cursor", "cursor", lambda machine: machine.home / ".cursor" / "mcp.json",
        "mcpServers", typed, project=(".cursor/mcp.json",), environment="desktop",
        then="See in its settings, under MCP, that it is on.",
    ),
    Host(
        "vscode", "VS Code", "code", vscode, "servers", typed,
        project=(".vscode/mcp.json",), environment="desktop",
        then="Start it in the list of MCP servers (command MCP: List Servers).",
    ),
    Host(
        "zed", "Zed", "zed", zed, "context_servers", plain,
        project=(".zed/settings.json",), environment="desktop", then="It takes notice by itself.",
    ),
    Host(
        "goose", "Goose", "goose", goose, "extensions", for_goose,
        format=yaml, environment="desktop",
    ),
)  # fmt: skip
BY_NAME = {host.name: host for host in HOSTS}
