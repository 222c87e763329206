"""Whether our server works in a host: what is wrong, and how to mend it."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import anyio

from context_compression import hosts as transcripts
from context_compression.conversation.messages import is_array
from context_compression.display.plurals import how_many
from context_compression.display.strings import one_line
from context_compression.doctor.checks import (
    VARIABLES,
    Finding,
    of_key,
    of_search,
    of_store,
    of_variables,
)
from context_compression.doctor.trial import Trial, try_out
from context_compression.errors import ContextCompressionError, SetupError
from context_compression.hosts.claude_code.configuration import CLAUDE_CODE
from context_compression.hosts.claude_code.install_plugin import FOLDER, entry_of_plugin
from context_compression.setup.additions import Piece, Value
from context_compression.setup.host import Environment, Host, command_of, environ_of
from context_compression.setup.installing import entry_in, is_current
from context_compression.setup.machine import PROGRAM, Machine, Server

VERBS = ("status", "compress", "config", "summary", "offload", "restore")
TOOLS = {f"context_{verb}" for verb in VERBS}
ALWAYS = ("HOME", "LANG", "LOGNAME", "SHELL", "TERM", "USER")
DESKTOP_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
"""What a desktop application is started with, on Linux as well as on macOS."""


def examine(
    host: Host, machine: Machine, here: Server, *, in_project: bool = False
) -> list[Finding]:
    """Everything there is to say of our server in a host.

    Args:
        host: the host.
        machine: the computer.
        here: how the installation that is running now is started.
        in_project: look at the host's configuration in the project.
    """
    again = f"{PROGRAM} install {host.name}{' --project' if in_project else ''}"
    try:
        path, entry = found_entry(host, machine, in_project=in_project)
    except SetupError as error:
        return [Finding("configuration", False, str(error), "Mend the file.")]
    command = command_of(entry) if entry is not None else None
    if entry is None or command is None:
        return [Finding("configuration", False, f"{path} has no entry of ours", again)]
    hindered = list(host.hindrances(host, machine, in_project)) if host.hindrances else []
    found = [each for each in hindered if each.check == "configuration"]
    found = found or [Finding("configuration", True, str(path))]
    mine = host.server_entry(machine, here, in_project=in_project)
    if entry.get("enabled") is False or entry.get("disabled") is True:
        found.append(Finding("configuration", False, "the entry is switched off", "Switch it on."))
    if path != mine.path and entry_in(mine):
        twice = f"{mine.path} has the server as well as the plugin, so it is started twice"
        mend = "Take it out there: claude mcp remove --scope user context-compression"
        found.append(Finding("configuration", False, twice, mend))
    found += _version(host, machine)
    if command != command_of(mine.wanted) and path != FOLDER:
        other = "another installation or other options than now"
        found.append(Finding("command", None, f"{' '.join(command)}: {other}; {again} changes it"))
    hooks_off = [each for each in hindered if each.check == "hooks"]
    if path == mine.path:
        asked = list(_hooks(host.hook_pieces(machine, here, in_project=in_project), again))
        found += hooks_off if hooks_off and asked and asked[0].ok else asked
    else:  # the plugin brings its hooks along
        found += hooks_off
    environ = environment(host.environment, machine, entry.get("env_vars"))
    return [*found, *check(command, environ | environ_of(entry), machine, host)]


def found_entry(
    host: Host, machine: Machine, *, in_project: bool = False
) -> tuple[Path, Value | None]:
    """Our entry in a host, and where it stands; in Claude Code that of the plugin, if installed.

    Raises:
        SetupError: a file cannot be read.
    """
    if host is CLAUDE_CODE and not in_project and (plugin := entry_of_plugin(machine)):
        return plugin
    mine = host.server_entry(machine, Server(""), in_project=in_project)
    return mine.path, entry_in(mine)


def check(
    command: list[str], environ: Mapping[str, str], machine: Machine, host: Host | None = None
) -> list[Finding]:
    """What there is to say of a server, started in this environment; of the transcripts, too."""
    found = [*of_variables(environ), *_not_passed(environ, machine, host)]
    # an application with windows starts servers where it was itself started, which is anywhere
    cwd = Path(machine.home.anchor) if host and host.name == "claude-desktop" else machine.cwd
    if shutil.which(command[0], path=environ.get("PATH", os.defpath)) is None:
        mend = f"Run {PROGRAM} install again, from where it is installed now."
        return [*found, Finding("server", False, f"there is no program {command[0]}", mend)]
    try:
        trial = anyio.run(try_out, command, environ, cwd)
    except SetupError as error:
        mend = f"Start it by hand and see: {' '.join(command)}"
        return [*found, Finding("server", False, f"does not start: {error}", mend)]
    found += _trial(trial)
    if store := trial.status.get("store"):
        found += of_store(Path(store), machine.home)
    return [*found, *of_search(), *of_key(environ), *_transcripts(machine, host)]


def environment(kind: Environment, machine: Machine, listed: object = None) -> dict[str, str]:
    """What a host passes on to a server of the user's environment."""
    environ = dict(machine.environ)
    if kind == "whole" or machine.system == "win32":
        return environ
    names = [*ALWAYS, *(map(str, listed) if is_array(listed) else ())]
    passed = {name: environ[name] for name in names if name in environ}
    path = environ.get("PATH", os.defpath) if kind == "listed" else DESKTOP_PATH
    return {**passed, "HOME": str(machine.home), "PATH": path}


def _hooks(pieces: Sequence[Piece], again: str) -> Iterator[Finding]:
    """Whether the host asks our hooks, in this version."""
    if not pieces:
        return
    place = str(pieces[0].path)
    try:
        states = {is_current(piece) for piece in pieces}
    except SetupError as error:
        yield Finding("hooks", False, str(error), "Mend the file.")
        return
    if states == {True}:
        yield Finding("hooks", True, place)
    elif states == {None}:
        yield Finding("hooks", None, f"not asked; {again} puts them into {place}")
    else:
        yield Finding("hooks", False, f"not as this version has them, in {place}", again)


def _version(host: Host, machine: Machine) -> Iterator[Finding]:
    """The host's own version, beside the one this was seen working in."""
    program = machine.which(host.program) if host.program else None
    if program is None or host.environment == "desktop":
        return
    try:
        told = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=20, check=False,
            env=dict(machine.environ), stdin=subprocess.DEVNULL,
        )  # fmt: skip
        shown = told.stdout.strip().splitlines()[-1]
    except (OSError, IndexError, subprocess.SubprocessError):
        yield Finding("host", False, f"{program} --version does not work", "Install it anew.")
        return
    if host.mcp_since and (told_version := _number(shown)) and told_version < host.mcp_since:
        since = ".".join(map(str, host.mcp_since))
        says = f"{shown} has no MCP of its own, and passes its configuration over"
        yield Finding("host", False, says, f"Update {host.title}: it has it since {since}.")
        return
    seen = f"; seen working with {host.seen}" if host.seen and host.seen not in shown else ""
    yield Finding("host", True, f"{shown}{seen}")


def _number(version: str) -> tuple[int, ...]:
    """`"pi 0.99.1"` -> `(0, 99, 1)`; empty where there is no number."""
    found = re.search(r"\d+(?:\.\d+)+", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def _not_passed(
    environ: Mapping[str, str], machine: Machine, host: Host | None
) -> Iterator[Finding]:
    """Variables that are set in this shell, and that the server does not get to see."""
    lost = sorted(name for name in machine.environ if name in VARIABLES and name not in environ)
    if host and lost:
        where = "env_vars" if host.environment == "listed" else "env"
        names = ", ".join(lost)
        says = f"{host.title} does not pass on {names}; name them in {where} of the entry if needed"
        yield Finding("environment", None, says)


def _trial(trial: Trial) -> Iterator[Finding]:
    try:
        ours = version(PROGRAM)
    except PackageNotFoundError:  # run from a source tree
        ours = trial.version
    says = f"version {trial.version}, {trial.seconds:.1f} s to start, protocol {trial.protocol}"
    mend = f"It is another version than this one, {ours}: run {PROGRAM} install again."
    yield Finding("server", ours == trial.version, says, "" if ours == trial.version else mend)
    there, missing = TOOLS & {*trial.tools}, sorted(TOOLS - {*trial.tools})
    lacking = f", but not {', '.join(missing)}" if missing else ""
    says = f"{how_many(len(there), 'tool')}{lacking}"
    yield Finding("tools", not missing, says, "Install the package anew." if missing else "")
    if trial.refusal:
        yield Finding("status", False, trial.refusal, "Correct what it names.")
        return
    counted = str(trial.status.get("counted_by", "not at all")).partition(";")[0]
    opened = map(str, trial.status.get("files_may_be_read_in", ()))
    yield Finding("agents read", None, one_line(", ".join(opened)))
    fine = "unavailable" not in counted and "counted_by" in trial.status
    yield Finding("counting", fine, f"by {counted}", "" if fine else "Install tiktoken anew.")


def _transcripts(machine: Machine, host: Host | None) -> Iterator[Finding]:
    """Whether the newest conversation of the host can be read."""
    if host is None:
        return
    if host.transcripts is None:
        yield Finding("transcripts", None, "none that we read: the agent says what to archive")
        return
    folder, pattern = host.transcripts(machine)
    newest = max(folder.glob(pattern), key=lambda path: path.stat().st_mtime, default=None)
    if newest is None:
        yield Finding("transcripts", None, f"none yet in {folder}")
        return
    try:
        read = transcripts.read(newest)
    except ContextCompressionError as error:
        yield Finding("transcripts", False, str(error), "Tell us; this host has a new format.")
        return
    says = f"the newest, {newest}, has {how_many(len(read.messages), 'message')} in its context"
    yield Finding("transcripts", True, says)
