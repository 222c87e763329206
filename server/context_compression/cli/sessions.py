"""`sessions`: lists the sessions of all hosts and our own, each with a number."""

import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from context_compression.cli import completion
from context_compression.cli.app import PROGRAM, Options, Refused, as_json, examples
from context_compression.cli.last_listing import NumberedSession, last_listing, listing_file
from context_compression.cli.page import Page, StyledLine, Table
from context_compression.cli.terminal import has_screen, is_quiet, say, show, working, write_json
from context_compression.errors import ContextCompressionError
from context_compression.hosts.conversations import SHORTEST_ID
from context_compression.hosts.listing import (
    LISTED_HOSTS,
    RECORDED,
    ListedSession,
    Listing,
    below_home,
    list_sessions,
)
from context_compression.listening import LISTING
from context_compression.plurals import how_many, short_number
from context_compression.report.facts import Record
from context_compression.store.files import replace_file, to_json
from context_compression.store.location import PLACE, is_database
from context_compression.strings import cells, in_words
from context_compression.transcripts.transcript import PROXY
from context_compression.workspace.workspace import TENANT

LONGEST_TITLE_TOLD = 60
MOST_DIGITS = 9  # of a number; a longer one is a name
LIST = "`context-compression sessions`"


class ConversationName(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  # click 8.1 has none
    """The name of a conversation; the number of a session in the last listing becomes its name."""

    name = "conversation"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it was given, or the path or id of the session with this number."""
        options = (ctx.find_object(Options) if ctx else None) or Options()
        return name_of(value, options)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The sessions listed last, by number and id; and files."""
        return completion.sessions_or_files(ctx, param, incomplete)


CONVERSATION = ConversationName()


def name_of(given: str, options: Options) -> str:
    """The name of the conversation that a name or a number means.

    A file or session of that very name comes before a number.

    Raises:
        Refused: no session has this number.
    """
    if not (given.isascii() and given.isdigit() and len(given) <= MOST_DIGITS):
        return given
    listed = last_listing()
    session = listed.get(int(given))
    store = options.workspace().store
    ids = store.sessions()
    if os.path.exists(given) or given in ids:
        what = "a session" if given in ids else "a file"
        if session and not is_quiet():
            say(f"note: {given} is {what} of this name, not number {given} of the last listing.")
        return given
    if session is None:
        if len(given) >= SHORTEST_ID and any(id.startswith(given) for id in ids):
            return given
        raise Refused(_unknown(given, len(listed)))
    if session.store and session.store != store.name:
        raise Refused(f"Session {given}, {session.id}, {_elsewhere(session.store)}")
    if not is_quiet():
        say(f"{given} is {described(session)}")
    return session.name


def described(session: NumberedSession) -> str:
    """A session in a few words, for the user to recognise it."""
    title = in_words(session.title, LONGEST_TITLE_TOLD)
    by_us = session.host == RECORDED
    host = "the proxy" if session.host == PROXY else session.host
    what = f"recorded session {session.id}" if by_us else f"session {session.id} of {host}"
    return f"the {what}" + (f": {title}" if title else "")


def remember(listing: Listing, store: str) -> None:
    """Keep the numbers of a listing for later commands."""
    sessions = [
        asdict(
            NumberedSession(
                number=number,
                name=each.name,
                id=each.id,
                host=each.host,
                title=in_words(each.title, LONGEST_TITLE_TOLD),
                store=store if each.host in (PROXY, RECORDED) else "",
            )
        )
        for number, each in enumerate(listing.sessions, 1)
    ]
    path = listing_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, to_json({"version": 1, "sessions": sessions}) + b"\n")
    except (OSError, ContextCompressionError) as error:
        say(f"warning: the numbers cannot be kept for other commands: {error}")


def _elsewhere(store: str) -> str:
    if is_database(store):
        return f"is recorded in {store}. Name it with {PLACE} and {TENANT}."
    return f"is recorded in another store. Add `--store {store}` before the name of the command."


def _unknown(given: str, listed: int) -> str:
    if not listed:
        return f"No session has a number yet. Run {LIST}, which numbers them."
    return (
        f"No session has the number {given}: {LIST} last listed {how_many(listed, 'session')}. Run "
        "it again, with --all for more of them."
    )


NEWEST = 20
"""How many sessions are listed unless the user asks for more."""
HEAD: tuple[str, ...] = (
    "", "host", "project", "title", "written", "size", "window", "compacted", "archived",
)  # fmt: skip
LONGEST_TITLE, WHOLE_TITLE = 40, 200
LONGEST_PROJECT = 24
INCOMPLETE = "incomplete: "
"""Before the title of a session of which a part is missing."""
KEPT = "kept: "
"""Before the title of a session that its host has no longer, and we do."""
KEPT_LINE = "kept: gone from its host; `export NUMBER --host ITS-HOST` brings it back"


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
@click.option("--host", type=click.Choice(LISTED_HOSTS), help="Only sessions of this host.")
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
            hosts=[host] if host else LISTED_HOSTS,
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
        show(*as_text(listing, conversations.workspace.home, screen=has_screen(sys.stdout)))
    else:
        show("No session was found.", *_why_none(host, here))


def as_record(listing: Listing) -> Record:
    """The listing for programs; times in seconds since 1970."""
    sessions = [
        {"number": number, **asdict(each), "path": each.path and str(each.path)}
        for number, each in enumerate(listing.sessions, 1)
    ]
    return {"sessions": sessions, "older": listing.older, "warnings": [*listing.problems]}


def as_text(listing: Listing, home: Path, *, screen: bool = False) -> Page:
    """The listing for people; on a screen with whole titles, and without columns that say nothing.

    A pipe gets the same columns whatever is in them; only the last may be absent.
    """
    now = time.time()
    rows = [
        (str(number), *_cells(each, home, now, screen=screen))
        for number, each in enumerate(listing.sessions, 1)
    ]
    columns = dict(zip(HEAD, zip(*rows, strict=True), strict=True))
    for name in ("compacted", "archived") if screen else ("archived",):
        if not any(columns[name]):
            del columns[name]
    same = [name for name in ("host", "project") if len({*columns[name]}) == 1 < len(rows)]
    of_all = [f"{name} of all: {columns.pop(name)[0]}" for name in same if screen]
    names = [*columns]
    flexible = tuple(names.index(name) for name in ("project", "title") if name in names)
    title = names.index("title")
    table = [names, *zip(*columns.values(), strict=True)]
    return [
        Table(table, left=title + 1, flexible=flexible, one_line=True, title=title),
        "",
        *(line for line in of_all if not line.endswith(": ")),
        *_not_listed(listing),
        *([KEPT_LINE] if any(each.kept for each in listing.sessions) else []),
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
    return [StyledLine(line, "warning") for line in lines]


def _why_none(host: str | None, here: bool) -> list[str]:
    """What to leave out, to find more."""
    given = [*([f"--host {host}"] if host else []), *(["--here"] if here else [])]
    return [f"Without {' and '.join(given)}, all sessions are listed."] if given else []


def _cells(each: ListedSession, home: Path, now: float, *, screen: bool) -> tuple[str, ...]:
    """The cells of a session after its number."""
    title = f"{KEPT * each.kept}{INCOMPLETE * bool(each.missing)}{each.problem or each.title}"
    return (
        each.host,
        _project(each.project, home, LONGEST_PROJECT if screen else None),
        in_words(title, WHOLE_TITLE if screen else LONGEST_TITLE),
        _age(now - each.written_at),
        "?" if each.tokens is None else short_number(each.tokens),
        "?" if each.share is None else f"{each.share:.0%}",
        "?" if each.compactions is None else f"{each.compactions:,} ×" * bool(each.compactions),
        f"{each.originals:,}" if each.archived else "",
    )


def _age(seconds: float) -> str:
    """`_age(7_400)` -> `"2 h ago"`."""
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.0f} {name} ago"
    return "just now"


def _project(project: str, home: Path, most: int | None) -> str:
    """`~/work/shop`; of a path longer than `most` cells, the last two folders: `…/devenv/cli`."""
    shown = below_home(project, home)
    if most is None or cells(shown) <= most:
        return shown
    return str(Path("…", *Path(shown).parts[-2:]))
