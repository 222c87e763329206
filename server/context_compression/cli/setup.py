"""`install`, `uninstall`, `doctor`: the server in hosts, and whether it works in them."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING

import click

from context_compression.cli import completion
from context_compression.cli.app import PROGRAM, Options, as_json, did_you_mean, examples
from context_compression.cli.page import Block, Fact, Page, Style, StyledLine, Table
from context_compression.cli.terminal import say, show, working, write, write_json
from context_compression.errors import SetupError
from context_compression.hosts.setup.machine import without_addresses
from context_compression.listening import CHECKING
from context_compression.store.location import PLACE, TENANT, is_database
from context_compression.strings import harmless

if TYPE_CHECKING:  # imported when used, so that the other commands start faster
    from context_compression.hosts.claude_code.install_plugin import Plugin, StatusLine
    from context_compression.hosts.host import Addition, Finding, Host
    from context_compression.hosts.setup.installing import AppliedChange
    from context_compression.hosts.setup.machine import Machine, Server

PROBLEM = 1
"""The exit code if something is left that the user must mend."""

host_names = click.argument("names", nargs=-1, metavar="[HOST]...", shell_complete=completion.hosts)
project = click.option(
    "--project",
    "in_project",
    is_flag=True,
    help="Use this folder's configuration instead of the user's.",
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Print the change; write nothing.")


@click.command(
    short_help="Add the server to the configuration of a host.",
    epilog=examples(
        ("install", "the hosts on this machine"),
        ("install claude-code", "add it to one"),
        ("install codex --dry-run", "show what would change"),
    ),
)
@host_names
@project
@click.option("--no-hooks", is_flag=True, help="Install only the tools, without hooks.")
@click.option("--no-status-line", is_flag=True, help="Leave Claude Code's status line as it is.")
@dry_run_option
@click.pass_obj
def install(
    options: Options,
    names: tuple[str, ...],
    in_project: bool,
    no_hooks: bool,
    no_status_line: bool,
    dry_run: bool,
) -> None:
    """Add the server to the configuration of a HOST; without HOST, list the hosts found here.

    Each file is read before the first one is changed: a HOST gets all that belongs to it, or
    nothing.
    """
    from context_compression.hosts.setup.machine import unavailable

    if options.store and is_database(options.store):
        raise click.UsageError(
            "A database's address may hold a password, and a host's configuration is no place for "
            "one. Set CONTEXT_COMPRESSION_STORE where the host starts, and leave out --store."
        )
    machine, server = here(options)
    if not names:
        show(*_overview(machine))
        return
    if error := unavailable():
        say(f"warning: {error}")
    wanted = Wanted(in_project, not no_hooks, not (no_hooks or no_status_line))
    for installation in [_planned(host, machine, server, wanted) for host in hosts_named(names)]:
        _install(installation, machine, server, dry_run=dry_run)


@dataclass(frozen=True)
class Wanted:
    """What the user wants in a host: in a project or for all, with hooks, with a status line."""

    in_project: bool
    hooks: bool
    status_line: bool


@dataclass(frozen=True)
class Installation:
    """What `install` does in a host. All files were read when this was made.

    Attributes:
        host: the host.
        additions: our server in the host's configuration, and files with hooks; empty if a plugin
            brings both along.
        removed: hooks that the user does not want any more.
        plugin: Claude Code's plugin, if it is installed.
        line: the status line, if the user wants it and has none of their own.
        notes: what the user should know afterwards.
    """

    host: "Host"
    additions: "Sequence[Addition]"
    removed: "Sequence[Addition]"
    plugin: "Plugin | None"
    line: "StatusLine | None"
    notes: Sequence[str]


def _planned(host: "Host", machine: "Machine", server: "Server", wanted: Wanted) -> Installation:
    """The installation in a host.

    Raises:
        SetupError: one of its files cannot be read or parsed.
    """
    from context_compression.hosts.claude_code.host import CLAUDE_CODE
    from context_compression.hosts.claude_code.install_plugin import (
        Plugin,
        StatusLine,
        user_has_own,
    )
    from context_compression.hosts.setup import installing

    in_project, of_claude = wanted.in_project, host is CLAUDE_CODE
    entry = host.server_entry(machine, server, in_project=in_project, hooks=wanted.hooks)
    hooks = host.hook_additions(machine, server, in_project=in_project)
    plugin = Plugin.on(machine) if of_claude and wanted.hooks and not in_project else None
    notes: list[str] = []
    if plugin:
        plugin.install(server, dry_run=True)
        if installing.entry_in(entry):
            notes.append(f"{entry.path} has the server too, so it would start twice. Remove it.")
    elif of_claude and wanted.hooks:
        notes.append("Only the server is installed. The plugin, which has the hooks, needs the")
        notes.append("command claude on the PATH.")
    if in_project:
        notes.append(f"The entry names a path of this machine, {server.command}. Do not commit it.")
    line = StatusLine.on(machine) if of_claude and wanted.status_line and not in_project else None
    if line and user_has_own(line):
        notes.append(f"Your status line stays; {line.by_hand}")
        line = None
    additions: list[Addition] = [] if plugin else [entry, *(hooks if wanted.hooks else ())]
    removed = [] if wanted.hooks else hooks
    installing.planned([*additions, *removed, *([line] if line else ())])
    return Installation(host, additions, removed, plugin, line, notes)


def _install(planned: Installation, machine: "Machine", server: "Server", *, dry_run: bool) -> None:
    """Carries out an installation, and says what was done. After an error nothing is left of it."""
    from context_compression.hosts.setup import installing
    from context_compression.hosts.setup.machine import TO_STAY, is_temporary

    host, plugin, home = planned.host, planned.plugin, machine.home
    done = [plugin.install(server, dry_run=dry_run)] if plugin else []
    line = [planned.line] if planned.line else []
    try:
        added = installing.install([*planned.additions, *line], home, dry_run=dry_run)
    except SetupError:
        if plugin and done[0].change.is_one:
            plugin.uninstall()
        raise
    shown = [added.pop()] if line else []
    done += added + installing.uninstall(planned.removed, home, dry_run=dry_run)
    _print_changes(host, done, dry_run, "is in", "has it already")
    if any(each.backup for each in done):
        say(f"  {host.then} To check that it works: context-compression doctor {host.name}")
        if is_temporary(server.command, machine):
            say(f"  warning: the system deletes the folder of {server.command} after a while.")
            say(f"  Then the server cannot start. Install it in a permanent folder: {TO_STAY}")
    if not dry_run and (deletes := host.deletes(machine.folder_variables, machine.home)):
        say(f"  {host.title} {deletes}; `context-compression keep on` keeps it.")
    for note in planned.notes:
        say(f"  {note}")
    for each in shown:
        if dry_run:
            write(without_addresses(harmless(each.change.diff())).encode())
        elif each.change.is_one:
            say("  Its status line shows how full the context is; --no-status-line leaves it out.")


@click.command(
    short_help="Remove the server from the configuration of a host.",
    epilog=examples(
        ("uninstall claude-code", "remove it from one"),
        ("uninstall codex --dry-run", "show what would change"),
    ),
)
@host_names
@project
@dry_run_option
def uninstall(names: tuple[str, ...], in_project: bool, dry_run: bool) -> None:
    """Remove the server from the configuration of a HOST; everything else stays unchanged.

    What cannot be removed is named, and the exit code is 1; the rest is removed.
    """
    from context_compression.hosts.setup.machine import Machine

    if not names:
        raise click.UsageError("Name a host. `context-compression install` lists the hosts.")
    machine = Machine.here()
    left = [
        each
        for host in hosts_named(names)
        for each in _uninstall(host, machine, in_project, dry_run)
    ]
    problems = [*dict.fromkeys(map(str, left))]  # two parts may be in one file
    for problem in problems:
        if not any(problem in other for other in problems if other != problem):
            say(f"Not removed: {problem}")
    if left:
        raise SystemExit(PROBLEM)


def _uninstall(
    host: "Host", machine: "Machine", in_project: bool, dry_run: bool
) -> "list[SetupError]":
    """Removes from a host what can be removed, and says so; returns why the rest is left."""
    from context_compression.hosts.claude_code.host import CLAUDE_CODE
    from context_compression.hosts.claude_code.install_plugin import (
        Plugin,
        StatusLine,
        entry_of_plugin,
    )
    from context_compression.hosts.setup import installing
    from context_compression.hosts.setup.machine import Server

    of_user, left = host is CLAUDE_CODE and not in_project, list[SetupError]()
    entry = host.server_entry(machine, Server(""), in_project=in_project)
    hooks = host.hook_additions(machine, Server(""), in_project=in_project)
    plugin = Plugin.on(machine) if of_user else None
    try:
        if plugin:
            done = [plugin.uninstall(dry_run=dry_run)]
            _print_changes(host, done, dry_run, "is removed from", "has no plugin")
        elif of_user and entry_of_plugin(machine):
            raise SetupError(
                "Only the command claude can remove the plugin. Put it on the PATH, then run this "
                "again."
            )
    except SetupError as error:
        left.append(error)
    line = [StatusLine.on(machine)] if of_user else []
    done = installing.uninstall([entry, *hooks, *line], machine.home, dry_run=dry_run)
    left += [each.problem for each in done if each.problem]
    done = [each for each in done if not each.problem]
    if any(each.change.is_one for each in done) or not (plugin or left):
        _print_changes(host, done, dry_run, "is removed from", "has no entry to remove")
    return left


def here(options: Options) -> "tuple[Machine, Server]":
    """This machine, and the command that starts this installation with the given options."""
    from context_compression.hosts.setup.machine import Machine, this_server

    machine = Machine.here()
    folder = options.store if options.store and not is_database(options.store) else None
    store = ("--store", os.path.abspath(folder)) if folder else ()
    tenant = ("--tenant", options.tenant) if options.tenant else ()
    allow = tuple(part for path in options.allow for part in ("--allow", os.path.abspath(path)))
    return machine, this_server(machine, sys.argv[0], sys.executable, (*store, *tenant, *allow))


def hosts_named(names: tuple[str, ...]) -> "list[Host]":
    """The hosts with these names.

    Raises:
        click.UsageError: there is no host of one of the names; the nearest is named.
    """
    from context_compression.hosts.table import BY_NAME

    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        nearest = did_you_mean(unknown[0], BY_NAME)
        known = ", ".join(BY_NAME)
        raise click.UsageError(f"Unknown host {unknown[0]!r}.{nearest} Hosts: {known}.")
    return [BY_NAME[name] for name in names]


def _print_changes(
    host: "Host", done: "list[AppliedChange]", dry_run: bool, did: str, did_not: str
) -> None:
    """Prints the changes that were made; in a dry run, prints the changes themselves to stdout."""
    for each in done:
        path = each.change.path
        if dry_run:
            write(without_addresses(harmless(each.change.diff())).encode())
            for command in each.commands:
                show(StyledLine(command, "command"))
        elif not each.change.is_one:
            say(f"{host.title}: {path} {did_not}.")
        elif each.change.after is None:
            say(f"{host.title}: {path} is deleted, because it was made for context-compression.")
        else:
            say(f"{host.title}: context-compression {did} {path}.")
            if each.backup and each.change.before is not None:
                say(f"  The file before the change: {each.backup}")
    if dry_run:
        say(f"{host.title}: this was a dry run; nothing was changed.")


def _overview(machine: "Machine") -> Page:
    """The hosts found on this machine, and the file that an installation would change."""
    from context_compression.hosts.table import INSTALLABLE

    rows = [
        (
            host.name,
            "installed" if has_server(host, machine, False) else "",
            str(host.file(machine)),
        )
        for host in INSTALLABLE
        if host.is_here(machine)
    ]
    others = ", ".join(host.name for host in INSTALLABLE if not host.is_here(machine))
    page: list[Block] = [Table([("host", "", "its configuration"), *rows], left=3)]
    if not rows:
        page = ["No supported host was found on this machine."]
    page += ["", "context-compression install HOST [--dry-run] [--project]"]
    return [*page, *([f"Not found here: {others}"] if others else [])]


def has_server(host: "Host", machine: "Machine", in_project: bool) -> bool:
    """Whether a host has the server; an unreadable configuration counts as yes."""
    from context_compression.hosts import doctor

    if in_project and not host.project:
        return False
    try:
        return doctor.installed_entry(host, machine, in_project=in_project)[1] is not None
    except SetupError:
        return host.file(machine, in_project=in_project).exists()


HERE = "This installation"
MARKS = {True: "✓", False: "✗", None: "·"}
STYLES: "Mapping[bool | None, Style]" = {True: "good", False: "bad", None: "quiet"}


@click.command(
    short_help="Check that the server works in a host.",
    epilog=examples(
        ("doctor", "all hosts that have it"), ("doctor claude-code", "one host, in detail")
    ),
)
@host_names
@project
@click.option("--no-hooks", is_flag=True, help="Check the tools alone, as installed with it.")
@as_json
@click.pass_obj
def doctor(
    options: Options, names: tuple[str, ...], in_project: bool, no_hooks: bool, as_json: bool
) -> None:
    """Start the server as a HOST would, and report problems; without HOST, for all that have it.

    The exit code is 1 if there is a problem.
    """
    from context_compression.hosts import doctor
    from context_compression.hosts.host import Finding
    from context_compression.hosts.table import INSTALLABLE

    machine, server = here(options)
    hosts = hosts_named(names) or [
        host
        for host in INSTALLABLE
        if has_server(host, machine, in_project)
        or doctor.has_hooks(host, machine, in_project=in_project)
    ]
    without = [] if names or in_project else [h for h in INSTALLABLE if h not in hosts]
    without = [host for host in without if host.is_here(machine)]
    findings: dict[str, list[Finding]] = {}
    with working("starting the server", CHECKING):
        if not hosts:
            command = [server.command, *server.options, "serve"]
            environ = dict(os.environ)
            if options.store and is_database(options.store):  # other users can see a command line
                environ[PLACE] = options.store
            if options.tenant:
                environ[TENANT] = options.tenant
            findings[HERE] = doctor.check_server(command, environ, machine)
        all_here = [*hosts, *without]
        examined = doctor.examine_all(
            all_here, machine, server, in_project=in_project, with_hooks=not no_hooks
        )
    for host, found in zip(all_here, examined, strict=True):
        if host in without:
            state = f"not installed in it; {PROGRAM} install {host.name}"
            found[0] = Finding("configuration", None, state)
        findings[host.title] = found
    if as_json:
        write_json({title: list(map(asdict, listed)) for title, listed in findings.items()})
    elif names:
        pages = [_as_page(title, listed) for title, listed in findings.items()]
        show(*pages[0], *chain.from_iterable(["", *page] for page in pages[1:]))
    else:
        show(*_overview_of(findings, doctor.own_version()))
    if any(finding.ok is False for listed in findings.values() for finding in listed):
        raise SystemExit(PROBLEM)


def _as_page(title: str, findings: "list[Finding]") -> Page:
    page: list[Block] = [StyledLine(title, "strong")]
    for finding in findings:
        label = f"  {MARKS[finding.ok]} {finding.check}"
        page.append(Fact(label, finding.says, width=18, style=STYLES[finding.ok]))
        if finding.mend:
            page.append(Fact("", f"→ {finding.mend}", width=18))
    return page


def _overview_of(findings: "Mapping[str, list[Finding]]", version: str) -> Iterator[Block]:
    """A line for each host: whether all is well, or what to do; this installation in full."""
    yield f"{PROGRAM} {version}"
    if HERE in findings:
        yield from _as_page(HERE, findings[HERE])
    rows = [(title, *_in_short(listed)) for title, listed in findings.items() if title != HERE]
    if not rows:
        return
    longest, *_, wide = (max(map(len, column)) for column in [*zip(*rows, strict=True)][:3])
    styles: dict[str, Style] = {mark: STYLES[ok] for ok, mark in MARKS.items()}
    for title, mark, version, state in rows:
        label = f"{mark} {title:<{longest}}  {version:<{wide}} "
        yield Fact(label, state, style=styles[mark])
    yield f"More about one of them: {PROGRAM} doctor HOST"


def _in_short(findings: "list[Finding]") -> tuple[str, str, str]:
    """The mark of a host, its version, and "ok" or what to do, in a few words."""
    of_host = next((finding.says for finding in findings if finding.check == "host"), "")
    number = re.search(r"(?<!\d)\d++(?:\.\d++)++", of_host.partition(";")[0])
    version = number[0] if number else ""
    if findings[0].ok is None:  # it is not installed there
        return MARKS[None], version, findings[0].says
    wrong = [finding for finding in findings if finding.ok is False]
    shown = ("host",) if wrong else ("host", "hooks")
    doubts = [_to_do(each) for each in findings if each.ok is None and each.check in shown]
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        return MARKS[False], version, "; ".join([f"{_to_do(wrong[0])}{more}", *doubts])
    return MARKS[None if doubts else True], version, "; ".join(["ok", *doubts])


def _to_do(finding: "Finding") -> str:
    return f"{finding.check}: {finding.mend or finding.says}"
