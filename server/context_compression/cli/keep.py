"""`keep`: whether sessions of hosts are kept past their deletion; and what is kept."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click

from context_compression.cli.app import Options, Refused, as_json, examples
from context_compression.cli.archive import in_units
from context_compression.cli.output import when
from context_compression.cli.page import Block, Fact, Page, StyledLine, Table
from context_compression.cli.terminal import say, show, working, write_json
from context_compression.errors import ContextCompressionError
from context_compression.hosts.conversations import Conversations
from context_compression.hosts.keeping import Looked, look, wait_for_end
from context_compression.hosts.listing import below_home, found_sessions
from context_compression.hosts.table import INSTALLABLE
from context_compression.listening import KEEPING
from context_compression.plurals import how_many
from context_compression.report.facts import Record
from context_compression.store.kept import KeptSession
from context_compression.strings import in_words
from context_compression.workspace import Workspace
from context_compression.workspace.kept import kept_in, may_keep

NICE = 19
"""How far a look gives way to other work."""
LONGEST_TITLE = 50
SWITCHED_OFF = (
    "Reading the transcripts of hosts is switched off (CONTEXT_COMPRESSION_READ_HOST_TRANSCRIPTS), "
    "or this is a tenant's part of the store. So no session is kept."
)


@click.group(
    invoke_without_command=True,
    short_help="Keep the sessions of hosts past their deletion.",
    epilog=examples(
        ("keep on", "keep every session of every host from now on"),
        ("keep status", "what is kept, and how large it is"),
        ("keep off", "keep no more; what is there stays"),
    ),
)
@as_json
@click.pass_context
def keep(ctx: click.Context, as_json: bool) -> None:
    """Keep the sessions of all hosts as they were written, past their hosts' own deletion.

    Off until you say `keep on`. Kept sessions are compressed, in a folder that only you can read.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(status, as_json=as_json)
    elif as_json:
        raise click.UsageError(
            f"Put --json after the subcommand: keep {ctx.invoked_subcommand} --json"
        )


@keep.command(
    short_help="Keep every session of every host from now on.",
    epilog=examples(("keep on", "keep every session of every host from now on")),
)
@as_json
@click.pass_obj
def on(options: Options, as_json: bool) -> None:
    """Keep every session of every host, those of today and all later ones."""
    workspace = options.workspace()
    if not may_keep(workspace):
        raise Refused(SWITCHED_OFF)
    kept_in(workspace).switch(on=True)
    _show(workspace, as_json)


@keep.command(
    short_help="Keep no more sessions; what is there stays.",
    epilog=examples(("keep off", "keep no more; what is there stays")),
)
@as_json
@click.pass_obj
def off(options: Options, as_json: bool) -> None:
    """Keep no more sessions. What is kept stays, and can be read and deleted."""
    workspace = options.workspace()
    kept = kept_in(workspace)
    if kept.is_on:
        kept.switch(on=False)
    _show(workspace, as_json)


@keep.command(
    short_help="What is kept, and how large it is.",
    epilog=examples(
        ("keep status", "what is kept"), ("keep status --json", "the same, for a program")
    ),
)
@as_json
@click.pass_obj
def status(options: Options, as_json: bool) -> None:
    """Show whether sessions are kept, how many there are, their sizes, and what hosts delete.

    While sessions are kept, it keeps first what has changed.
    """
    _show(options.workspace(), as_json)


@keep.command(name="look", hidden=True)
@click.option("--at-end", is_flag=True, help="Wait until stdin ends.")
@click.pass_obj
def look_now(options: Options, at_end: bool) -> None:
    """Keep what has changed. A server begins this beside itself."""
    with suppress(AttributeError, OSError):  # Windows
        os.nice(NICE)
    if at_end:
        wait_for_end(sys.stdin.buffer)
    with suppress(ContextCompressionError):  # nobody reads it; `keep status` says it again
        look(options.workspace())


def _show(workspace: Workspace, as_json: bool) -> None:
    with working(KEEPING, KEEPING):
        looked = look(workspace)
        record = as_record(workspace, looked)
    if as_json:
        write_json(record)
        return
    for problem in looked.problems:
        say(f"warning: {problem}")
    show(*as_text(record, workspace))


def as_record(workspace: Workspace, looked: Looked) -> Record:
    """What is kept, for programs; sizes in bytes, times in seconds since 1970."""
    kept = kept_in(workspace)
    sessions, problems = kept.read()
    found, _ = found_sessions(Conversations(workspace)) if sessions else ([], [])
    gone = {each.kept.id for each in found if each.kept}
    by_project: dict[str, list[KeptSession]] = {}
    for each in sessions:
        by_project.setdefault(each.project, []).append(each)
    newest = sessions[0] if sessions else None
    return {
        "on": kept.is_on and may_keep(workspace),
        "folder": str(kept.folder),
        "sessions": len({(each.host, each.id) for each in sessions}),
        "gone": len(gone),
        "bytes_written": sum(each.size for each in sessions),
        "bytes_stored": kept.stored(),
        "newly_kept": len(looked.kept),
        "newest": newest
        and {
            "host": newest.host,
            "id": newest.id,
            "title": newest.title,
            "project": newest.project,
            "written_at": newest.written_at,
        },
        "projects": [
            {
                "project": project,
                "sessions": len({(each.host, each.id) for each in own}),
                "gone": len({each.id for each in own} & gone),
                "written_at": own[0].written_at,
                "bytes_written": sum(each.size for each in own),
                "bytes_stored": kept.stored(own),
            }
            for project, own in by_project.items()
        ],
        "hosts": {
            host.name: said
            for host in INSTALLABLE
            if (said := host.deletes(workspace.environ, workspace.home))
        },
        "warnings": [*problems, *looked.problems],
    }


def as_text(record: Record, workspace: Workspace) -> Page:
    """What is kept, for people."""
    home = workspace.home
    folder = below_home(record["folder"], home)
    state = "on: every session of every host is kept" if record["on"] else "off: no session is kept"
    if not may_keep(workspace):
        state = f"off: {SWITCHED_OFF}"
    lines: list[Block] = [StyledLine(state, "strong")]
    if record["sessions"]:
        sizes = (
            f"{in_units(record['bytes_written'])} as written, "
            f"{in_units(record['bytes_stored'])} stored"
        )
        gone = f", {record['gone']} of them gone from their host" if record["gone"] else ""
        lines.append(Fact("kept", f"{how_many(record['sessions'], 'session')}{gone}; {sizes}"))
        newest = record["newest"]
        title = in_words(newest["title"], LONGEST_TITLE) or newest["id"]
        lines.append(Fact("newest", f"{title} ({newest['host']}, {_when(newest['written_at'])})"))
        lines.append(Fact("folder", f"{folder}; only you can read it"))
        head = ("project", "newest", "sessions", "gone", "written", "stored")
        rows = [_row(each, home) for each in record["projects"]]
        lines += ["", Table([head, *rows], left=2, flexible=(0,), long=True)]
    lines.append("")
    titles = {host.name: host.title for host in INSTALLABLE}
    lines += [f"{titles[name]} {said}." for name, said in record["hosts"].items()]
    return [*lines, *_advice(record, folder)]


def _advice(record: Record, folder: str) -> Sequence[str]:
    """What to do next."""
    if not record["on"] and not record["sessions"]:
        return [
            "`context-compression keep on` keeps every session, compressed, until you delete it."
        ]
    delete = (
        "Delete with `context-compression archive prune --older-than 90d` or `archive delete ID`"
        f"; all of it with `rm -r {folder}`."
    )
    if record["on"]:
        return [
            "Kept as they were written, whatever secrets they hold. `keep off` keeps no more.",
            delete,
        ]
    return ["What is kept stays until you delete it. `keep on` keeps more.", delete]


def _row(each: Record, home: Path) -> tuple[str, ...]:
    return (
        below_home(each["project"], home) or "(not known)",
        _when(each["written_at"]),
        f"{each['sessions']:,}",
        f"{each['gone']:,}",
        in_units(each["bytes_written"]),
        in_units(each["bytes_stored"]),
    )


def _when(seconds: float) -> str:
    return when(datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds"))
