"""`install`, `uninstall` and `doctor`: into hosts and out again, and whether it works there."""

import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from context_compression.cli import pages
from context_compression.cli.app import Options, as_json
from context_compression.cli.terminal import say, show, working, write_json
from context_compression.errors import SetupError

if TYPE_CHECKING:  # loaded when used: the other commands shall not wait for it
    from context_compression.setup.finding import Finding
    from context_compression.setup.host import Host
    from context_compression.setup.installing import Done
    from context_compression.setup.machine import Machine, Server

WRONG = 1
"""What the doctor ends with where something is wrong."""
MARKS = {True: "✓", False: "✗", None: "·"}

named = click.argument("names", nargs=-1, metavar="[HOST]...")
project = click.option(
    "--project", "in_project", is_flag=True, help="In this folder's configuration, not the user's."
)
rehearsed = click.option("--dry-run", is_flag=True, help="Print the change; write nothing.")


@click.command()
@named
@project
@click.option("--no-hooks", is_flag=True, help="The tools alone: the host asks no hooks of ours.")
@rehearsed
@click.pass_obj
def install(
    options: Options, names: tuple[str, ...], in_project: bool, no_hooks: bool, dry_run: bool
) -> None:
    """Put the server into the configuration of a HOST; without one, list those found here."""
    from context_compression.hosts.claude_code.configuration import CLAUDE_CODE
    from context_compression.hosts.claude_code.install_plugin import Plugin
    from context_compression.setup import installing
    from context_compression.setup.machine import TO_STAY, is_temporary

    machine, server = _here(options)
    if not names:
        show(_overview(machine))
        return
    for host in _hosts(names):
        entry = host.server_entry(machine, server, in_project=in_project, hooks=not no_hooks)
        hooks = host.hook_additions(machine, server, in_project=in_project)
        plugin = None
        if host is CLAUDE_CODE and not in_project and not no_hooks:
            plugin = Plugin.on(machine)
        if plugin:
            done = [plugin.install(server, dry_run=dry_run)]
        elif no_hooks:
            done = installing.install([entry], machine.home, dry_run=dry_run)
            done += installing.uninstall(hooks, machine.home, dry_run=dry_run)
        else:
            done = installing.install([entry, *hooks], machine.home, dry_run=dry_run)
        _tell(host, done, dry_run, "is in", "has it already")
        if any(each.backup for each in done):
            say(f"  {host.then} Whether it works: context-compression doctor {host.name}")
            if is_temporary(server.command, machine):
                say(f"  warning: the system empties the folder of {server.command} by itself, and")
                say(f"  then nothing starts. Install it again, in a clone that stays: {TO_STAY}")
        if plugin and installing.entry_in(entry):
            twice = "has the server as well, which would start it twice; take it out there."
            say(f"  {entry.path} {twice}")
        if host is CLAUDE_CODE and not (plugin or no_hooks):
            say("  The server alone. Its plugin, with hooks, needs the command claude on the PATH.")
        if in_project:
            say(f"  It names a path of this machine, {server.command}: not for others' clones.")


@click.command()
@named
@project
@rehearsed
def uninstall(names: tuple[str, ...], in_project: bool, dry_run: bool) -> None:
    """Take the server out of the configuration of a HOST again; all else stays as it is."""
    from context_compression.hosts.claude_code.configuration import CLAUDE_CODE
    from context_compression.hosts.claude_code.install_plugin import Plugin, entry_of_plugin
    from context_compression.setup import installing
    from context_compression.setup.machine import Machine, Server

    if not names:
        raise click.UsageError("Name the host; `context-compression install` lists them.")
    machine, any_server = Machine.here(), Server("")
    for host in _hosts(names):
        entry = host.server_entry(machine, any_server, in_project=in_project)
        hooks = host.hook_additions(machine, any_server, in_project=in_project)
        plugin = Plugin.on(machine) if host is CLAUDE_CODE and not in_project else None
        if plugin:
            _tell(host, [plugin.uninstall(dry_run=dry_run)], dry_run, "is out of", "has no plugin")
        elif host is CLAUDE_CODE and not in_project and entry_of_plugin(machine):
            raise SetupError("Only the command claude removes its plugin: put it on the PATH.")
        done = installing.uninstall([entry, *hooks], machine.home, dry_run=dry_run)
        if not plugin or any(each.change.is_one for each in done):
            _tell(host, done, dry_run, "is out of", "has nothing of ours")


@click.command()
@named
@project
@as_json
@click.pass_obj
def doctor(options: Options, names: tuple[str, ...], in_project: bool, as_json: bool) -> None:
    """Start the server as a HOST would, and say what is wrong; without one, for all that have it.

    Ends with 1 where something is wrong.
    """
    from context_compression.doctor import doctor
    from context_compression.hosts.configurations import HOSTS

    machine, server = _here(options)
    found: dict[str, list[Finding]] = {}
    with working("starting the server"):
        for host in _hosts(names) if names else HOSTS:
            if names or _has(host, machine, in_project):
                found[host.title] = doctor.examine(host, machine, server, in_project=in_project)
        if not found:
            command = [server.command, *server.options, "serve"]
            found["This installation"] = doctor.check_server(command, dict(os.environ), machine)
    if as_json:
        write_json({title: list(map(asdict, findings)) for title, findings in found.items()})
    else:
        show("\n\n".join(_page(title, findings) for title, findings in found.items()))
    if any(finding.ok is False for findings in found.values() for finding in findings):
        raise SystemExit(WRONG)


def _here(options: Options) -> "tuple[Machine, Server]":
    """This machine, and how this very installation is started with the options given."""
    from context_compression.setup.machine import Machine, this_server

    machine = Machine.here()
    store = ("--store", os.path.abspath(options.store)) if options.store else ()
    allow = tuple(part for path in options.allow for part in ("--allow", os.path.abspath(path)))
    return machine, this_server(machine, sys.argv[0], sys.executable, (*store, *allow))


def _hosts(names: tuple[str, ...]) -> "list[Host]":
    from context_compression.hosts.configurations import BY_NAME

    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        raise click.UsageError(f"No host {unknown[0]!r}. Hosts: {', '.join(BY_NAME)}.")
    return [BY_NAME[name] for name in names]


def _tell(host: "Host", done: "list[Done]", dry_run: bool, did: str, did_not: str) -> None:
    """What was done; in a dry run the changes themselves go to stdout."""
    for each in done:
        path = each.change.path
        if dry_run:
            show(each.change.diff(), nl=False)
            for command in each.commands:
                show(command)
        elif not each.change.is_one:
            say(f"{host.title}: {path} {did_not}.")
        elif each.change.after is None:
            say(f"{host.title}: {path} is removed, as it was made for context-compression.")
        else:
            say(f"{host.title}: context-compression {did} {path}.")
            if each.backup and each.change.before is not None:
                say(f"  As it was before: {each.backup}")
    if dry_run:
        say(f"{host.title}: nothing was done yet.")


def _overview(machine: "Machine") -> str:
    """The hosts found on this machine, and what each would get."""
    from context_compression.hosts.configurations import HOSTS

    rows = [
        (host.name, "installed" if _has(host, machine, False) else "", str(host.file(machine)))
        for host in HOSTS
        if host.is_here(machine)
    ]
    others = ", ".join(host.name for host in HOSTS if not host.is_here(machine))
    lines = pages.table([("host", "", "its configuration"), *rows], left=3)
    if not rows:
        lines = ["No host that we know was found on this machine."]
    lines += ["", "context-compression install HOST [--dry-run] [--project]"]
    return "\n".join([*lines, *([f"Not found here: {others}"] if others else [])])


def _has(host: "Host", machine: "Machine", in_project: bool) -> bool:
    """Whether our entry is in a host; one that cannot be read may have it."""
    from context_compression.doctor import doctor

    if in_project and not host.project:
        return False
    try:
        return doctor.installed_entry(host, machine, in_project=in_project)[1] is not None
    except SetupError:
        return host.file(machine, in_project=in_project).exists()


def _page(title: str, findings: "list[Finding]") -> str:
    lines = [title]
    for finding in findings:
        lines.append(f"  {MARKS[finding.ok]} {finding.check:<13}  {finding.says}")
        if finding.mend:
            lines.append(f"    {'':13}  → {finding.mend}")
    return "\n".join(lines)
