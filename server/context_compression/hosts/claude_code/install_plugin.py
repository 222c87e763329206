"""Installation of our plugin through Claude Code's own commands, and of the status line.

Our command as the `statusLine` in Claude Code's settings, unless the user has one of their own. It
goes into the user's settings, because a plugin cannot bring a status line along (seen in version
2.1.329, which takes only `agent` and `subagentStatusLine` from a plugin's settings).

Installation of our plugin, the server with its hooks, through Claude Code's own command. The plugin
is a folder of this package. Claude Code registers that folder as a marketplace with one plugin, and
runs the plugin from there; nothing is copied.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.errors import SetupError
from context_compression.hosts.claude_code import status_line
from context_compression.hosts.claude_code.host import CLAUDE_CODE, folder
from context_compression.hosts.host import Finding, Value, checked
from context_compression.hosts.setup import jsonc
from context_compression.hosts.setup.files import Backup, Backups, FileChange, hash_of, read
from context_compression.hosts.setup.installing import (
    AppliedChange,
    is_current,
    naming_file,
    opened,
    resolved,
)
from context_compression.hosts.setup.machine import PROGRAM, Machine, Server

KEY = "statusLine"
STATUS_SCRIPT = Path(status_line.__file__)
OURS = ("context_compression/hosts/claude_code/status_line.py", f"{PROGRAM} statusline")
"""What our command contains, in any installation."""
CHECK = "status line"


@dataclass(frozen=True)
class StatusLine:
    """Our command in a settings file. A status line that is not ours stays as it is.

    Attributes:
        path: the file.
        command: what Claude Code runs.
    """

    path: Path
    command: str

    @classmethod
    def on(cls, machine: Machine, python: str = sys.executable) -> "StatusLine":
        """The command that runs `status_line` by its path, without any package."""
        parts = [python, "-I", "-S", str(STATUS_SCRIPT)]
        if machine.system == "win32":  # it is run in Git Bash, which takes slashes
            command = " ".join(f'"{part}"' for part in parts).replace("\\", "/")
        else:
            command = shlex.join(parts)
        return cls(folder(machine) / "settings.json", command)

    @property
    def value(self) -> Value:
        """The value of the setting."""
        return {"type": "command", "command": self.command}

    @property
    def by_hand(self) -> str:
        """How the user sets it in place of their own."""
        return f"to show ours instead, set in {self.path}: {json.dumps({KEY: self.value})[1:-1]}"

    def is_in(self, text: str) -> bool:
        """Whether the status line is ours."""
        command = str(as_object(self._current(text)).get("command", ""))
        return any(ours in command.replace("\\", "/") for ours in OURS)

    def is_of_user(self, text: str) -> bool:
        """Whether there is a status line that is not ours."""
        return self._current(text) is not None and not self.is_in(text)

    def added_to(self, text: str) -> str:
        """The text with our status line, unless it has another."""
        current = as_object(self._current(text))
        if self.is_of_user(text) or current.get("command") == self.command:
            return text
        return jsonc.with_value(text, (KEY,), {**self.value, **current, "command": self.command})

    def removed_from(self, text: str, before: str | None) -> str:
        """The text without our status line."""
        del before
        return jsonc.without_value(text, (KEY,), keep=0)

    def _current(self, text: str) -> Any:
        checked(text, strict=True)
        return jsonc.value_at(text, (KEY,))


def user_has_own(line: StatusLine) -> bool:
    """Whether the user has a status line of their own.

    Raises:
        SetupError: the settings cannot be read.
    """
    path, data = opened(line.path)
    with naming_file(path):
        return line.is_of_user((data or b"").decode())


def check_status_line(machine: Machine) -> Finding:
    """A finding on whether Claude Code shows our status line."""
    line = StatusLine.on(machine)
    install = f"{PROGRAM} install {CLAUDE_CODE.name}"
    try:
        if user_has_own(line):
            return Finding(CHECK, None, f"your own; {line.by_hand}")
        current = is_current(line)
    except SetupError as error:
        return Finding(CHECK, False, str(error), "Correct the file.")
    if current is None:
        return Finding(CHECK, None, f"none; {install} adds one to {line.path}")
    if current:
        return Finding(CHECK, True, f"of this version, in {line.path}")
    state = f"{line.path} has the command of another installation"
    return Finding(CHECK, False, state, install)


FOLDER = Path(__file__).parent / "plugin"
SCRIPT = "start.sh"
MANIFEST = Path(".claude-plugin") / "plugin.json"
HOOK_FILES = ("hooks/hooks.json", "hooks/register.ts")
MARKET = "context-compression"
PLUGIN = f"context-compression@{MARKET}"
PATIENCE = 60  # seconds for a command of Claude Code, which usually takes 1
VARIABLE = re.compile(r"\$\{([^}:${]{1,200})(?::-([^}${]{0,4000}))?\}")


@dataclass(frozen=True)
class Plugin:
    """The plugin, and the command of Claude Code that registers it."""

    program: str
    machine: Machine

    @classmethod
    def on(cls, machine: Machine) -> "Plugin | None":
        """The plugin, if this package holds it and Claude Code's command is on the PATH."""
        program = machine.which(str(CLAUDE_CODE.program))
        return cls(program, machine) if program and (FOLDER / MANIFEST).is_file() else None

    def folder(self, server: Server) -> Path:
        """The folder that Claude Code runs the plugin from: on Windows a copy without a shell.

        Raises:
            SetupError: the copy cannot be written.
        """
        if self.machine.system != "win32":
            return FOLDER
        return plugin_for([server.command, *server.options], copies(self.machine))

    def install(self, server: Server, *, dry_run: bool = False) -> AppliedChange:
        """Have Claude Code install the plugin, unless it is installed from this folder already.

        Raises:
            SetupError: Claude Code refused, or its settings cannot be read.
        """
        path = settings_file(self.machine)
        before = read(path)
        enabled, folder = _enabled(path), FOLDER if dry_run else self.folder(server)
        if enabled and enabled[0] == folder:
            return AppliedChange(FileChange(path, before, before))
        wants_command = _at(_object(FOLDER / MANIFEST), "userConfig", "command") is not None
        config = ("--config", f"command={server.command}") if wants_command else ()
        commands = (
            ("plugin", "marketplace", "add", str(folder)),
            ("plugin", "install", PLUGIN, *config),
        )
        if dry_run:
            return AppliedChange(FileChange(path, before, before), commands=self._shown(commands))
        earlier = Backups(self.machine.home).of(path)
        try:
            self._run(commands)
        except SetupError:
            with suppress(SetupError):  # a marketplace without its plugin is half an installation
                self._run((("plugin", "marketplace", "remove", MARKET),))
            raise
        after = read(path)
        known = earlier is not None and earlier.is_of(before)
        kept = earlier.before if earlier and known else before
        backup = Backup(path, kept, hash_of(after or b""))
        return AppliedChange(
            FileChange(path, before, after), Backups(self.machine.home).keep(backup)
        )

    def uninstall(self, *, dry_run: bool = False) -> AppliedChange:
        """Have Claude Code remove the plugin.

        If its settings did not change since `install`, they get their earlier content back.

        Raises:
            SetupError: Claude Code refused, or its settings cannot be read.
        """
        path = settings_file(self.machine)
        there = read(path)
        if _enabled(path) is None:
            return AppliedChange(FileChange(path, there, there))
        commands = (("plugin", "uninstall", PLUGIN), ("plugin", "marketplace", "remove", MARKET))
        if dry_run:
            return AppliedChange(FileChange(path, there, there), commands=self._shown(commands))
        self._run(commands)
        backups = Backups(self.machine.home)
        backup = backups.of(path)
        if backup and backup.is_of(there):  # the command leaves some of the plugin's settings
            FileChange(path, read(path), backup.before).carry_out()
        backups.forget(path)
        return AppliedChange(FileChange(path, there, read(path)))

    def _run(self, commands: tuple[tuple[str, ...], ...]) -> None:
        for shown, arguments in zip(self._shown(commands), commands, strict=True):
            try:
                ended = subprocess.run(
                    [self.program, *arguments],
                    env=dict(self.machine.environ),
                    cwd=self.machine.home,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=PATIENCE,
                    check=False,
                )
            except (OSError, subprocess.SubprocessError) as error:
                raise SetupError(f"`{shown}` did not work: {error}.") from error
            if ended.returncode:
                output = " ".join((ended.stderr or ended.stdout).split())
                raise SetupError(f"`{shown}` did not work: {output[-300:]}")

    def _shown(self, commands: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
        return tuple(" ".join([self.program, *command]) for command in commands)


def plugin_for(command: Sequence[str], copies: Path) -> Path:
    """The folder of a copy of the plugin that starts a command, and needs no shell for that.

    Args:
        command: the program and its first arguments; ours follow.
        copies: the folder in which copies are kept, each under the hash of its content.

    Raises:
        SetupError: the copy cannot be written.
    """
    files = {file.relative_to(FOLDER): file.read_bytes() for file in _files_of_plugin()}
    files = {path: _starting(command, data) for path, data in files.items()}
    about = [part for path, data in files.items() for part in (path.as_posix().encode(), data)]
    made = copies.absolute() / hash_of(b"\0".join(about))[:16] / PROGRAM
    try:
        if not made.is_dir():
            made.parent.mkdir(parents=True, exist_ok=True)
            new = Path(mkdtemp(dir=made.parent)) / made.name
            for path, data in files.items():
                (new / path).parent.mkdir(parents=True, exist_ok=True)
                (new / path).write_bytes(data)
            _put(new, made)
    except OSError as error:
        raise SetupError(f"The plugin cannot be written to {copies}: {error}.") from error
    return made


def copies(machine: Machine) -> Path:
    """The folder for copies of the plugin on a machine whose hosts have no shell to start it."""
    return machine.home / ".compression" / "plugins"


def _files_of_plugin() -> list[Path]:
    """The files of the plugin, without the script for a shell."""
    return [file for file in sorted(FOLDER.rglob("*")) if file.is_file() and file.name != SCRIPT]


def _starting(command: Sequence[str], data: bytes) -> bytes:
    """A file of the plugin in which the command takes the place of the shell's script."""
    listed = json.dumps([*command])[1:-1].encode()
    quoted = " ".join(f'"{part}"' for part in command).replace("\\", "/")  # for Git Bash, too
    first, _, more = listed.partition(b", ")
    in_manifest = b'"command": ' + first + b',\n      "args": [' + more + b", " * bool(more)
    for old, new in (
        (b'"command": "sh",\n      "args": ["${CLAUDE_PLUGIN_ROOT}/start.sh", ', in_manifest),
        (b'sh \\"${CLAUDE_PLUGIN_ROOT}/start.sh\\"', json.dumps(quoted)[1:-1].encode()),
        (b"'sh', `${$.plugin.root}/start.sh`", listed),
    ):
        data = data.replace(old, new)
    return data


def _put(new: Path, made: Path) -> None:
    """Move a finished copy to its place; another process may have been faster."""
    try:
        os.rename(new, made)
    except OSError:
        if not made.is_dir():
            raise
    shutil.rmtree(new.parent, ignore_errors=True)


def settings_file(machine: Machine) -> Path:
    """The file in which Claude Code lists the user's plugins; where it is a link, its target."""
    return resolved(folder(machine) / "settings.json")


def entry_of_plugin(machine: Machine) -> tuple[Path, Value] | None:
    """The plugin's folder, and the entry of its server; `None` if it is not installed.

    Raises:
        SetupError: a file cannot be read.
    """
    path = settings_file(machine)
    enabled = _enabled(path)
    if enabled is None:
        return None
    root, on = enabled
    servers = _at(_object(root / MANIFEST), "mcpServers")
    options = _at(_object(path), "pluginConfigs", PLUGIN, "options")
    given = as_object(options)
    values = {f"user_config.{name}": str(value) for name, value in given.items()}
    values |= {"CLAUDE_PLUGIN_ROOT": str(root), **machine.environ}
    server: Any = next(iter(servers.values()), None) if is_object(servers) else None
    return root, {**_expanded(as_object(server), values), "enabled": on}


def other_version(machine: Machine) -> str | None:
    """The version of the installed plugin, if its hooks differ from ours; `None` if they do not.

    Raises:
        SetupError: a file cannot be read.
    """
    enabled = _enabled(settings_file(machine))
    if enabled is None or enabled[0] == FOLDER or enabled[0].is_relative_to(copies(machine)):
        return None
    root = enabled[0]
    if all(read(root / name) == read(FOLDER / name) for name in HOOK_FILES):
        return None
    return str(_at(_object(root / MANIFEST), "version") or "unknown")


def _enabled(settings: Path) -> tuple[Path, bool] | None:
    """The folder that the plugin runs from, and whether it is switched on."""
    known = _object(settings)
    on = _at(known, "enabledPlugins", PLUGIN)
    path = _at(known, "extraKnownMarketplaces", MARKET, "source", "path")
    return None if on is None else (Path(str(path)), bool(on))


def _at(value: Any, *names: str) -> Any:
    """The value at a path of names; `None` if there is none."""
    for name in names:
        value = value.get(name) if is_object(value) else None
    return value


def _expanded(value: Any, values: Mapping[str, str]) -> Any:
    """A value with `${name}` and `${name:-otherwise}` filled in."""
    if isinstance(value, str):
        return VARIABLE.sub(lambda match: values.get(match[1]) or match[2] or "", value)
    if is_object(value):
        return {name: _expanded(part, values) for name, part in value.items()}
    return [_expanded(part, values) for part in value] if is_array(value) else value


def _object(path: Path) -> Mapping[str, Any]:
    """The JSON object in a file; empty if there is none."""
    data = (read(path) or b"").removeprefix(BOM_UTF8)  # Claude Code takes no notice of it
    with naming_file(path):
        checked(text := data.decode(), strict=True)
        return as_object(json.loads(text) if text.strip() else None)
