"""All findings of the doctor about our server in one host."""

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
    check_key,
    check_search,
    check_store,
    check_variables,
)
from context_compression.doctor.trial import Trial, try_out
from context_compression.errors import ContextCompressionError, SetupError
from context_compression.hosts.claude_code.configuration import CLAUDE_CODE
from context_compression.hosts.claude_code.install_plugin import FOLDER, entry_of_plugin
from context_compression.setup.additions import Addition, ConfigurationEntry, Value
from context_compression.setup.host import Environment, Host, command_of, environ_of
from context_compression.setup.installing import entry_in, is_current
from context_compression.setup.machine import PROGRAM, Machine, Server

VERBS = ("status", "compress", "config", "summary", "offload", "restore")
TOOLS = {f"context_{verb}" for verb in VERBS}
ALWAYS_PASSED = ("HOME", "LANG", "LOGNAME", "SHELL", "TERM", "USER")
DESKTOP_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
"""The PATH that a desktop application is started with, on Linux as well as on macOS."""


def examine(
    host: Host, machine: Machine, here: Server, *, in_project: bool = False
) -> list[Finding]:
    """All findings about our server in a host.

    Args:
        host: the host.
        machine: the user's computer.
        here: the command of the installation that is running now.
        in_project: whether to check the host's configuration in the project.
    """
    install = f"{PROGRAM} install {host.name}{' --project' if in_project else ''}"
    try:
        path, entry = installed_entry(host, machine, in_project=in_project)
    except SetupError as error:
        return [Finding("configuration", False, str(error), "Correct the file.")]
    command = command_of(entry) if entry is not None else None
    if entry is None or command is None:
        return [Finding("configuration", False, f"{path} has no entry of ours", install)]
    hindrances = list(host.hindrances(host, machine, in_project)) if host.hindrances else []
    expected = host.server_entry(machine, here, in_project=in_project)
    environ = passed_environment(host.environment, machine, entry.get("env_vars"))
    hooks = host.hook_additions(machine, here, in_project=in_project)
    if path != expected.path:  # the plugin has hooks of its own
        hooks = []
    return [
        *_configuration(path, entry, expected, hindrances),
        *_version(host, machine),
        *_command(command, path, expected, install),
        *_hooks(hooks, hindrances, install, from_plugin=path != expected.path),
        *check_server(command, environ | environ_of(entry), machine, host),
    ]


def installed_entry(
    host: Host, machine: Machine, *, in_project: bool = False
) -> tuple[Path, Value | None]:
    """The path of our entry, and the entry or `None`.

    In Claude Code, this is the plugin's folder and entry if the plugin is installed.

    Raises:
        SetupError: a file cannot be read.
    """
    if host is CLAUDE_CODE and not in_project and (plugin := entry_of_plugin(machine)):
        return plugin
    expected = host.server_entry(machine, Server(""), in_project=in_project)
    return expected.path, entry_in(expected)


def check_server(
    command: list[str], environ: Mapping[str, str], machine: Machine, host: Host | None = None
) -> list[Finding]:
    """Findings on a server that is started in an environment.

    They cover our variables, the start, the store, the search, the key, and the transcripts.
    """
    findings = [*check_variables(environ), *_not_passed(environ, machine, host)]
    cwd = Path(machine.home.anchor) if host and host.has_no_folder else machine.cwd
    if shutil.which(command[0], path=environ.get("PATH", os.defpath)) is None:
        mend = f"Run {PROGRAM} install again, with the installation that is in use now."
        return [*findings, Finding("server", False, f"there is no program {command[0]}", mend)]
    try:
        trial = anyio.run(try_out, command, environ, cwd)
    except SetupError as error:
        mend = f"Start it in a terminal to see why: {' '.join(command)}"
        return [*findings, Finding("server", False, f"does not start: {error}", mend)]
    findings += _trial(trial)
    if store := trial.status.get("store"):
        findings += check_store(Path(store), machine.home)
    return [*findings, *check_search(), *check_key(environ), *_transcripts(machine, host)]


def passed_environment(
    kind: Environment, machine: Machine, listed: object = None
) -> dict[str, str]:
    """The variables of the user's environment that a server gets from a host."""
    environ = dict(machine.environ)
    if kind == "whole" or machine.system == "win32":
        return environ
    names = [*ALWAYS_PASSED, *(map(str, listed) if is_array(listed) else ())]
    passed = {name: environ[name] for name in names if name in environ}
    path = environ.get("PATH", os.defpath) if kind == "listed" else DESKTOP_PATH
    return {**passed, "HOME": str(machine.home), "PATH": path}


def _configuration(
    path: Path, entry: Value, expected: ConfigurationEntry, hindrances: Sequence[Finding]
) -> Iterator[Finding]:
    """Findings on whether the host uses our entry, and starts the server only once."""
    hindered = [finding for finding in hindrances if finding.check == "configuration"]
    yield from hindered or [Finding("configuration", True, str(path))]
    if entry.get("enabled") is False or entry.get("disabled") is True:
        yield Finding("configuration", False, "the entry is switched off", "Switch it on.")
    if path != expected.path and entry_in(expected):
        state = f"the plugin and {expected.path} both have the server, so it is started twice"
        mend = f"Remove it from that file: claude mcp remove --scope user {PROGRAM}"
        yield Finding("configuration", False, state, mend)


def _command(
    command: list[str], path: Path, expected: ConfigurationEntry, install: str
) -> Iterator[Finding]:
    """A finding if the entry starts another installation, or has other options than now."""
    if command != command_of(expected.our_entry) and path != FOLDER:
        state = f"{' '.join(command)}: another installation, or other options than now"
        yield Finding("command", None, f"{state}; {install} changes it")


def _hooks(
    additions: Sequence[Addition],
    hindrances: Sequence[Finding],
    install: str,
    *,
    from_plugin: bool,
) -> list[Finding]:
    """Findings on whether the host calls this version of our hooks.

    Findings that keep the host from calling them count only if the hooks are configured.
    """
    switched_off = [finding for finding in hindrances if finding.check == "hooks"]
    if from_plugin:
        return switched_off
    configured = list(_configured_hooks(additions, install))
    return switched_off if switched_off and configured and configured[0].ok else configured


def _configured_hooks(additions: Sequence[Addition], install: str) -> Iterator[Finding]:
    if not additions:
        return
    place = str(additions[0].path)
    try:
        states = {is_current(addition) for addition in additions}
    except SetupError as error:
        yield Finding("hooks", False, str(error), "Correct the file.")
        return
    if states == {True}:
        yield Finding("hooks", True, place)
    elif states == {None}:
        yield Finding("hooks", None, f"not configured; {install} adds them to {place}")
    else:
        yield Finding("hooks", False, f"{place} has them in another version", install)


def _version(host: Host, machine: Machine) -> Iterator[Finding]:
    """A finding on the host's version, with the version that this was seen working in."""
    program = machine.which(host.program) if host.program else None
    if program is None or host.environment == "desktop":
        return
    try:
        run = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=20, check=False,
            env=dict(machine.environ), stdin=subprocess.DEVNULL,
        )  # fmt: skip
        shown = run.stdout.strip().splitlines()[-1]
    except (OSError, IndexError, subprocess.SubprocessError):
        yield Finding("host", False, f"{program} --version does not work", "Install it again.")
        return
    if host.mcp_since and (number := _number(shown)) and number < host.mcp_since:
        since = ".".join(map(str, host.mcp_since))
        state = f"{shown} does not start MCP servers, and ignores its configuration"
        yield Finding("host", False, state, f"Update {host.title}: it starts them since {since}.")
        return
    seen = f"; seen working with {host.seen}" if host.seen and host.seen not in shown else ""
    yield Finding("host", True, f"{shown}{seen}")


def _number(version: str) -> tuple[int, ...]:
    """`"pi 0.99.1"` -> `(0, 99, 1)`; empty if there is no version number."""
    match = re.search(r"\d+(?:\.\d+)+", version)
    return tuple(map(int, match[0].split("."))) if match else ()


def _not_passed(
    environ: Mapping[str, str], machine: Machine, host: Host | None
) -> Iterator[Finding]:
    """A finding on our variables that are set in this shell but do not reach the server."""
    missing = sorted(name for name in machine.environ if name in VARIABLES and name not in environ)
    if host and missing:
        where = "env_vars" if host.environment == "listed" else "env"
        names = ", ".join(missing)
        state = (
            f"{host.title} does not pass on {names}; name them in {where} of the entry if needed"
        )
        yield Finding("environment", None, state)


def _trial(trial: Trial) -> Iterator[Finding]:
    try:
        own_version = version(PROGRAM)
    except PackageNotFoundError:  # run from a source tree
        own_version = trial.version
    state = f"version {trial.version}, {trial.seconds:.1f} s to start, protocol {trial.protocol}"
    mend = f"This is version {own_version}: run {PROGRAM} install again."
    yield Finding(
        "server", own_version == trial.version, state, "" if own_version == trial.version else mend
    )
    there, missing = TOOLS & {*trial.tools}, sorted(TOOLS - {*trial.tools})
    lacking = f", but not {', '.join(missing)}" if missing else ""
    state = f"{how_many(len(there), 'tool')}{lacking}"
    yield Finding("tools", not missing, state, "Install the package again." if missing else "")
    if trial.refusal:
        yield Finding("status", False, trial.refusal, "Correct what the error names.")
        return
    counted = str(trial.status.get("counted_by", "not at all")).partition(";")[0]
    opened = map(str, trial.status.get("files_may_be_read_in", ()))
    yield Finding("agents read", None, one_line(", ".join(opened)))
    fine = "unavailable" not in counted and "counted_by" in trial.status
    yield Finding("counting", fine, f"by {counted}", "" if fine else "Install tiktoken again.")


def _transcripts(machine: Machine, host: Host | None) -> Iterator[Finding]:
    """A finding on whether the newest transcript of the host can be read."""
    if host is None:
        return
    if host.transcripts is None:
        yield Finding(
            "transcripts", None, "we read none of this host: the agent passes what to compress"
        )
        return
    folder, pattern = host.transcripts(machine)
    newest = max(folder.glob(pattern), key=lambda path: path.stat().st_mtime, default=None)
    if newest is None:
        yield Finding("transcripts", None, f"none yet in {folder}")
        return
    try:
        read = transcripts.read(newest)
    except ContextCompressionError as error:
        yield Finding("transcripts", False, str(error), "Report it: this host has a new format.")
        return
    state = f"the newest, {newest}, has {how_many(len(read.messages), 'message')} in its context"
    yield Finding("transcripts", True, state)
