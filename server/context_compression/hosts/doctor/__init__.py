"""All findings of the doctor about our server in one host, or in several at the same time."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from context_compression import hosts as transcripts
from context_compression.conversation.messages import is_array
from context_compression.errors import ContextCompressionError, SetupError
from context_compression.hosts.claude_code.host import CLAUDE_CODE
from context_compression.hosts.claude_code.install_plugin import (
    FOLDER,
    HOOK_FILES,
    MANIFEST,
    check_status_line,
    entry_of_plugin,
)
from context_compression.hosts.doctor.checks import (
    VARIABLES,
    Finding,
    check_database,
    check_key,
    check_place,
    check_search,
    check_store,
    check_variables,
    check_version,
)
from context_compression.hosts.host import (
    Addition,
    ConfigurationEntry,
    Environment,
    Host,
    Value,
    command_of,
    environ_of,
)
from context_compression.hosts.setup.files import json_in
from context_compression.hosts.setup.installing import entry_in, is_current
from context_compression.hosts.setup.machine import (
    PROGRAM,
    Machine,
    Server,
    place_of,
    shown,
    tenant_of,
    unavailable,
)
from context_compression.listening import CHECKING, counted
from context_compression.plurals import how_many
from context_compression.store.location import is_database
from context_compression.strings import one_line

if TYPE_CHECKING:
    from context_compression.hosts.doctor.trial import Trial


T = TypeVar("T")
U = TypeVar("U")


class Once:
    """Does the work for a key once, and gives all who ask for it the same outcome."""

    def __init__(self) -> None:
        self._outcomes: dict[object, Future[Any]] = {}
        self._lock = Lock()

    def of(self, key: object, work: Callable[[], T]) -> T:
        """The outcome of the work, which may be an exception."""
        with self._lock:
            is_first = key not in self._outcomes
            outcome: Future[T] = self._outcomes.setdefault(key, Future())
        if is_first:
            try:
                outcome.set_result(work())
            except BaseException as error:  # those who wait for it get it too
                outcome.set_exception(error)
        return outcome.result()


def side_by_side(work: Callable[[T], U], items: Sequence[T], stage: str = "") -> list[U]:
    """The outcome for each item; all are worked on at the same time, as a stage of progress."""
    with ThreadPoolExecutor(max_workers=max(1, len(items))) as pool:
        return list(counted(stage, pool.map(work, items), len(items)))


VERBS = ("status", "compress", "config", "summary", "offload", "restore")
TOOLS = {f"context_{verb}" for verb in VERBS}
ALWAYS_PASSED = ("HOME", "LANG", "LOGNAME", "SHELL", "TERM", "USER")
DESKTOP_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
"""The PATH that a desktop application is started with, on Linux as well as on macOS."""


def examine_all(
    hosts: Sequence[Host],
    machine: Machine,
    here: Server,
    *,
    in_project: bool = False,
    with_hooks: bool = True,
) -> list[list[Finding]]:
    """All findings about our server in each host, which are examined at the same time."""
    once = Once()
    return side_by_side(
        lambda host: examine(
            host, machine, here, in_project=in_project, with_hooks=with_hooks, once=once
        ),
        hosts,
        CHECKING,
    )


def examine(
    host: Host,
    machine: Machine,
    here: Server,
    *,
    in_project: bool = False,
    with_hooks: bool = True,
    once: Once | None = None,
) -> list[Finding]:
    """All findings about our server in a host.

    Args:
        host: the host.
        machine: the user's computer.
        here: the command of the installation that is running now.
        in_project: whether to check the host's configuration in the project.
        with_hooks: whether the host should call our hooks; else only the tools are checked.
        once: the checks that other hosts share.
    """
    install = f"{PROGRAM} install {host.name}{' --project' if in_project else ''}"
    try:
        path, entry = installed_entry(host, machine, in_project=in_project)
    except SetupError as error:
        return [Finding("configuration", False, str(error), "Correct the file.")]
    command = command_of(entry) if entry is not None else None
    hindrances = list(host.hindrances(host, machine, in_project)) if host.hindrances else []
    if entry is None or command is None:
        own = host.hook_additions(machine, here, in_project=in_project)
        has_own = has_hooks(host, machine, in_project=in_project)
        there = _hooks(own, hindrances, install, plugin=None) if has_own else []
        missing = Finding("configuration", False, f"{path} has no entry of ours", install)
        return [missing, *check_version(host, machine), *there]

    def of_version() -> list[Finding]:
        return list(check_version(host, machine))

    def of_server() -> list[Finding]:
        environ = passed_environment(host.environment, machine, entry.get("env_vars"))
        return check_server(command, environ | environ_of(entry), machine, host, once)

    version, server = side_by_side(lambda check: check(), (of_version, of_server))
    expected = host.server_entry(machine, here, in_project=in_project)
    hooks = host.hook_additions(machine, here, in_project=in_project)
    plugin = path if path != expected.path else None
    called = _hooks([] if plugin else hooks, hindrances, install, plugin=plugin)
    if host is CLAUDE_CODE and not (in_project or plugin):
        called = [Finding("hooks", False, "the plugin, which has them, is not installed", install)]
    return [
        *_configuration(path, entry, expected, hindrances),
        *version,
        *_command(command, path, expected, install),
        *(called if with_hooks else ()),
        *([check_status_line(machine)] if host is CLAUDE_CODE and not in_project else []),
        *server,
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


def has_hooks(host: Host, machine: Machine, *, in_project: bool = False) -> bool:
    """Whether a host has hooks of ours, in any version; an unreadable file counts as yes."""
    try:
        additions = host.hook_additions(machine, Server(""), in_project=in_project)
        return any(is_current(addition) is not None for addition in additions)
    except SetupError:
        return True


def check_server(
    command: list[str],
    environ: Mapping[str, str],
    machine: Machine,
    host: Host | None = None,
    once: Once | None = None,
) -> list[Finding]:
    """Findings on a server that is started in an environment.

    They cover our variables, the start, the store, the search, the key, and the transcripts.
    """
    once = once or Once()
    findings = [*check_variables(environ, machine.environ), *_not_passed(environ, machine, host)]
    cwd = Path(machine.home.anchor) if host and host.has_no_folder else machine.cwd
    if shutil.which(command[0], path=environ.get("PATH", os.defpath)) is None:
        mend = f"Run {PROGRAM} install again, with the installation that is in use now."
        return [*findings, Finding("server", False, f"there is no program {command[0]}", mend)]
    if error := unavailable():
        return [*findings, Finding("server", False, error.why, error.remedy)]
    findings += check_place(command, environ)
    from context_compression.hosts.doctor.trial import try_out  # it needs that mcp

    try:
        key = (*command, cwd, *sorted(environ.items()))
        trial = once.of(key, lambda: anyio.run(try_out, command, environ, cwd))
    except SetupError as error:
        mend = f"Start it in a terminal to see why: {shown(command)}"
        return [*findings, Finding("server", False, f"does not start: {error}", mend)]
    findings += _trial(trial)
    place = place_of(command, environ)
    if is_database(place):
        tenant = tenant_of(command, environ)
        findings += once.of((place, tenant), lambda: [*check_database(place, tenant)])
    elif store := trial.status.get("store"):
        findings += once.of(store, lambda: [*check_store(Path(store), machine.home)])
    search = () if is_database(place) else check_search()
    return [*findings, *search, *check_key(environ), *_transcripts(machine, host)]


def own_version() -> str:
    """The version of this package; empty if it runs from a source tree that is not installed."""
    try:
        return version(PROGRAM)
    except PackageNotFoundError:
        return ""


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
        state = f"{shown(command)}: another installation, or other options than now"
        yield Finding("command", None, f"{state}; {install} changes it")


def _hooks(
    additions: Sequence[Addition],
    hindrances: Sequence[Finding],
    install: str,
    *,
    plugin: Path | None,
) -> list[Finding]:
    """Findings on whether the host calls this version of our hooks.

    Findings that keep the host from calling them count only if the hooks are configured.
    """
    switched_off = [finding for finding in hindrances if finding.check == "hooks"]
    if plugin:
        return switched_off or [_of_plugin(plugin, install)]
    configured = list(_configured_hooks(additions, install))
    return switched_off if switched_off and configured and configured[0].ok else configured


def _of_plugin(plugin: Path, install: str) -> Finding:
    if gone := [name for name in HOOK_FILES if not (plugin / name).is_file()]:
        return Finding("hooks", False, f"the plugin in {plugin} lacks {gone[0]}", install)
    number = json_in(plugin / MANIFEST).get("version")
    if own_version() in (number, ""):
        return Finding("hooks", True, f"version {number}, in {plugin}")
    state = f"version {number} in {plugin}, but this is {own_version()}"
    return Finding("hooks", False, state, install)


def _configured_hooks(additions: Sequence[Addition], install: str) -> Iterator[Finding]:
    if not additions:
        return
    try:
        states = {addition.path: is_current(addition) for addition in additions}
    except SetupError as error:
        yield Finding("hooks", False, str(error), "Correct the file.")
        return
    wrong = {path: state for path, state in states.items() if not state}
    if not wrong:
        yield Finding("hooks", True, f"of this version, in {additions[0].path}")
    for path, state in [*wrong.items()][:1]:  # the command that mends one mends all
        has = "has none of ours" if state is None else "has them in another version"
        yield Finding("hooks", False, f"{path} {has}", install)


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


def _trial(trial: "Trial") -> Iterator[Finding]:
    own = own_version() or trial.version
    state = f"version {trial.version}, {trial.seconds:.1f} s to start, protocol {trial.protocol}"
    mend = f"This is version {own}: run {PROGRAM} install again."
    yield Finding("server", own == trial.version, state, "" if own == trial.version else mend)
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
