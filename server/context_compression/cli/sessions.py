"""`sessions`: lists the sessions of all hosts, and our own, newest first."""

import time
from dataclasses import asdict
from pathlib import Path

import click

from context_compression.cli.app import Options, as_json
from context_compression.cli.help import PROGRAM, examples
from context_compression.cli.json_output import Record
from context_compression.cli.numbers import remember
from context_compression.cli.page import Line, Page, Table
from context_compression.cli.terminal import say, show, working, write_json
from context_compression.display.plurals import how_many, short_number
from context_compression.display.strings import in_words
from context_compression.doors.listing import RECORDED, ListedSession, Listing, list_sessions
from context_compression.hosts.sessions import HOSTS
from context_compression.progress import LISTING

NEWEST = 20
"""How many sessions are listed unless the user asks for more."""
HEAD = ("", "host", "project", "title", "written", "size", "window", "compacted", "archived")
LONGEST_TITLE = 40
INCOMPLETE = "incomplete: "
"""Before the title of a session of which a part is missing."""


@click.command(
    short_help="List the sessions of all hosts, and our own.",
    epilog=examples(
        ("sessions --here", "only the sessions of this folder"),
        ("status 3", "how full the context of the third one is"),
        ("compress 3 --dry-run", "what a compression of it would do"),
    ),
)
@click.option("--all", "everything", is_flag=True, help="List all sessions.")
@click.option(
    "--limit",
    default=NEWEST,
    show_default=True,
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Sessions to list.",
)
@click.option("--host", type=click.Choice([*HOSTS, RECORDED]), help="Only sessions of this host.")
@click.option("--here", is_flag=True, help="Only sessions of this folder.")
@as_json
@click.pass_obj
def sessions(
    options: Options, everything: bool, limit: int, host: str | None, here: bool, as_json: bool
) -> None:
    """List the sessions of all hosts on this machine, and those recorded here, newest first.

    Other commands take the number of a session: of the last listing, in any folder.
    """
    conversations = options.conversations()
    with working(LISTING, LISTING):
        listing = list_sessions(
            conversations,
            hosts=[host] if host else [*HOSTS, RECORDED],
            only_here=here,
            limit=None if everything else limit,
        )
    if listing.sessions:  # else the numbers of the last listing stay
        remember(listing, conversations.workspace.store.name)
    if as_json:
        write_json(as_record(listing))
        return
    for problem in listing.problems:
        say(f"warning: {problem}")
    if listing.sessions:
        show(*as_text(listing, conversations.workspace.home))
    else:
        show("No session was found.", *_why_none(host, here))


def as_record(listing: Listing) -> Record:
    """The listing for programs; times in seconds since 1970."""
    sessions = [
        {"number": number, **asdict(each), "path": each.path and str(each.path)}
        for number, each in enumerate(listing.sessions, 1)
    ]
    return {"sessions": sessions, "older": listing.older, "warnings": [*listing.problems]}


def as_text(listing: Listing, home: Path) -> Page:
    """The listing for people."""
    now = time.time()
    rows = [
        (str(number), *_cells(each, home, now)) for number, each in enumerate(listing.sessions, 1)
    ]
    head = HEAD
    if not any(each.archived for each in listing.sessions):  # room for titles
        head, rows = HEAD[:-1], [row[:-1] for row in rows]
    return [
        Table([head, *rows], left=4, flexible=(2, 3), one_line=True),
        "",
        *_not_listed(listing),
        *_not_whole(listing),
        f"`{PROGRAM} status 1` shows more of the first one; compress and export take a number, too",
    ]


def _not_listed(listing: Listing) -> list[str]:
    """A line on subagents and older sessions, if there are any."""
    subagents = sum(each.subagents for each in listing.sessions)
    parts = [
        *([f"{how_many(subagents, 'transcript')} of their subagents"] if subagents else []),
        *(
            [f"{how_many(listing.older, 'older session')} (--all, --limit)"]
            if listing.older
            else []
        ),
    ]
    return [f"not listed: {'; '.join(parts)}"] if parts else []


def _not_whole(listing: Listing) -> Page:
    """A line for each session of which a part is missing, or that cannot be read, with the reason.

    A reason that its row shows as a whole is not repeated.
    """
    lines: list[str] = []
    for number, each in enumerate(listing.sessions, 1):
        if len(each.problem) > LONGEST_TITLE:
            lines.append(f"{number} cannot be read: it {each.problem}")
        elif each.missing:
            lines.append(f"{number} is incomplete: {' '.join(each.missing)}")
    return [Line(line, "warning") for line in lines]


def _why_none(host: str | None, here: bool) -> list[str]:
    """What to leave out, to find more."""
    given = [*([f"--host {host}"] if host else []), *(["--here"] if here else [])]
    return [f"Without {' and '.join(given)}, all sessions are listed."] if given else []


def _cells(each: ListedSession, home: Path, now: float) -> tuple[str, ...]:
    """The cells of a session after its number."""
    return (
        each.host,
        _project(each.project, home),
        in_words(f"{INCOMPLETE * bool(each.missing)}{each.problem or each.title}", LONGEST_TITLE),
        _age(now - each.written_at),
        "?" if each.tokens is None else short_number(each.tokens),
        "?" if each.share is None else f"{each.share:.0%}",
        "?" if each.compactions is None else f"{each.compactions:,} ×" * bool(each.compactions),
        "yes" if each.archived else "",
    )


def _age(seconds: float) -> str:
    """`_age(7_400)` -> `"2 h ago"`."""
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.0f} {name} ago"
    return "just now"


def _project(project: str, home: Path) -> str:
    if project and Path(project).is_relative_to(home):
        return str(Path("~") / Path(project).relative_to(home))
    return project
