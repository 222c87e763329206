"""`doctor`: whether the server works in the hosts, and what to do where it does not."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING

import click

from context_compression.cli.app import Options, as_json
from context_compression.cli.help import examples
from context_compression.cli.page import Block, Fact, Page, Style, StyledLine
from context_compression.cli.setup import (
    PROBLEM,
    PROGRAM,
    has_server,
    here,
    host_names,
    hosts_named,
    project,
)
from context_compression.cli.terminal import show, working, write_json
from context_compression.progress import CHECKING
from context_compression.store.location import PLACE, TENANT, is_database

if TYPE_CHECKING:  # imported when used, so that the other commands start faster
    from context_compression.hosts.host import Finding

HERE = "This installation"
MARKS = {True: "✓", False: "✗", None: "·"}
STYLES: "Mapping[bool | None, Style]" = {True: "good", False: "bad", None: "quiet"}


@click.command(
    short_help="Check that the server works in a host.",
    epilog=examples(
        ("doctor", "all hosts that have it"),
        ("doctor claude-code", "one host, in detail"),
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
