"""`report`: what filled a session's context, what left it, and what that cost."""

import os
import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from context_compression.cli.app import Options, Refused, as_json, examples, place
from context_compression.cli.arguments import FiniteRange
from context_compression.cli.page import Page, StyledLine
from context_compression.cli.sessions import CONVERSATION
from context_compression.cli.terminal import is_terminal, say, show, size, working, write_json
from context_compression.errors import (
    ContextCompressionError,
    ConversationNotFound,
    StoreUnwritable,
    TranscriptError,
)
from context_compression.hosts import Readings
from context_compression.hosts.conversations import CURRENT, Conversations
from context_compression.hosts.listing import found_sessions, list_sessions
from context_compression.listening import COMPARING, COUNTING, READING
from context_compression.store import Store
from context_compression.store.files import replace_file
from context_compression.strings import one_line
from context_compression.transcripts.opening import opened_once
from context_compression.workspace import Opened

if TYPE_CHECKING:
    from context_compression.report.model import Report

MARK = b"<!-- a report of context-compression -->"
"""The last line of every page, by which it is known before it is overwritten."""
NARROW, WIDE = 60, 120
"""How many columns the text takes at least and at most."""

price = FiniteRange(0, 1_000_000)


@click.command(
    short_help="Show what filled and left a session's context, and its cost.",
    epilog=examples(
        ("report", "the current conversation, or the newest of this folder"),
        ("report 3 --open", "session 3 of `sessions` as a page in the browser"),
        ("report chat.jsonl --html r.html", "a page to keep"),
        ("report --all", "tokens, money and compactions of all sessions"),
    ),
)
@click.argument("conversation", required=False, type=CONVERSATION, metavar="[SESSION]")
@click.option(
    "--html", "--output", "file", metavar="FILE", help="Write the report as a page for a browser."
)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@click.option("--force", is_flag=True, help="Overwrite FILE even if it is not a report.")
@click.option("--without-text", is_flag=True, help="Leave out the texts of archived originals.")
@click.option(
    "--input-price", type=price, metavar="USD", help="Per million input tokens, for amounts."
)
@click.option("--output-price", type=price, metavar="USD", help="Per million output tokens.")
@click.option(
    "--model", metavar="MODEL", help="The session's model, for token counts and window size."
)
@click.option(
    "--all", "everything", is_flag=True, help="Show all sessions, by week, project and host."
)
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="With --all: the newest N sessions.  [default: 1000]",
)
@as_json
@click.pass_obj
def report(
    options: Options,
    conversation: str | None,
    file: str | None,
    opens: bool,
    force: bool,
    without_text: bool,
    input_price: float | None,
    output_price: float | None,
    model: str | None,
    everything: bool,
    limit: int | None,
    as_json: bool,
) -> None:
    """Show what filled the context of SESSION, what left it, and what that cost.

    SESSION is a transcript, a file of messages, the id of a session, or its number in
    `context-compression sessions`. Without it, the current conversation is shown, or the newest
    session of this folder. Nothing is changed.
    """
    if everything or limit:
        one = {
            "SESSION": conversation, "--model": model, "--input-price": input_price,
            "--output-price": output_price,
        }  # fmt: skip
        if not everything:
            raise Refused("--limit goes with --all, which shows all sessions. Add --all.")
        if given := next((name for name, value in one.items() if value is not None), None):
            raise Refused(f"{given} is about one session. Leave it out, or leave out --all.")
        _show_all(options, file, limit, opens, force, as_json)
        return
    from context_compression.report.building import report_of
    from context_compression.tokens.o200k import base_count

    path = _checked(file, force) if file is not None else None
    conversations = options.conversations(*filter(None, [conversation]))
    conversations = replace(conversations, readings=Readings(whole=True))
    with working(READING, READING, COUNTING, COMPARING):
        base_count("a")  # loads the vocabulary; the rows then take the memory that loading frees
        opened = _opened(conversations, conversation, model)
        if path:
            _refuse_to_lose(path, opened)
        facts = report_of(opened, conversations.readings.history)
    doubts = conversations.workspace.doubts(opened.session.settings)
    cost = facts.cost.at(input_price, output_price)
    facts = replace(facts, warnings=[*dict.fromkeys((*facts.warnings, *doubts))], cost=cost)
    if without_text:
        facts = _without_text(facts)
    if path or opens:
        from context_compression.report.html import page

        _write(page(facts), path, opens, "" if without_text else _TEXTS)
    if as_json:
        write_json(asdict(facts))
    elif not path and not opens:
        from context_compression.report.text import text

        show(text(facts, _width()))
        say(*_as_a_page(quote(conversation) if conversation else ""))


_TEXTS = (
    " It holds texts of the conversation, and only you may read it; --without-text leaves them out."
)


def _opened(conversations: Conversations, session: str | None, model: str | None) -> Opened:
    """The session that was named; else the current one, else the newest one of this folder."""
    if session is not None:
        return conversations.open(session, model=model, of_host=True)
    try:
        opened = conversations.open(CURRENT, model=model)
    except ContextCompressionError:
        newest = list_sessions(conversations, only_here=True, limit=1).sessions
        if not newest:
            raise ConversationNotFound(
                "There is no current conversation and no session of this folder. Pass the path of "
                "a transcript; `context-compression sessions` lists all sessions."
            ) from None
        opened = conversations.open(newest[0].name, model=model)
        say(f"The newest session of this folder: {opened.session.id}")
    else:
        say(f"The current conversation: {opened.session.id}")
    return opened


def _without_text(report: "Report") -> "Report":
    """The report without the texts of originals and of what the model sees in their place."""
    archived = [
        replace(entry, original="", shown="", cut=entry.cut + len(entry.original))
        for entry in report.archived
    ]
    return replace(report, archived=archived)


def _checked(file: str, force: bool) -> Path:
    """The path of the page, if it may be written.

    Raises:
        Refused: the file exists and is not a report, or its name cannot be one.
    """
    if "\0" in file:
        raise Refused(f"{file!r} contains a NUL character, which no file name can. Remove it.")
    path = place(file)
    if path.is_dir():
        raise Refused(f"{one_line(path)} is a folder. Name a file in it.")
    if path.exists() and not path.is_file():
        raise Refused(f"{one_line(path)} is a device or a pipe. Name a file.")
    if os.path.lexists(path) and not (force or _is_report(path)):
        raise Refused(
            f"{one_line(path)} exists and is not a report of context-compression. Choose another "
            "name, or add --force to overwrite it."
        )
    return path


def _refuse_to_lose(path: Path, opened: Opened) -> None:
    """Refuse a page in place of the conversation itself, or of anything in the store.

    Raises:
        Refused: the message says which it is; --force does not help.
    """
    transcript = opened.transcript.path if opened.transcript else None
    _refuse_one_of(path, opened.session.store, [transcript] if transcript else [])


def _refuse_to_lose_any(path: Path, conversations: Conversations) -> None:
    """Refuse a page in place of any conversation of this user, or of anything in the store.

    Raises:
        Refused: as `_refuse_to_lose`.
    """
    found = found_sessions(conversations)[0] if path.exists() else []
    kept = [each.candidate.path for each in found if each.host]
    _refuse_one_of(path, conversations.workspace.store, kept)


def _refuse_one_of(path: Path, store: Store, transcripts: Sequence[Path]) -> None:
    if store.has_file(path):
        raise Refused(
            f"{one_line(path)} lies in {one_line(store.name)}, where the originals are kept. Name "
            "another file."
        )
    there = [each for each in transcripts if each.exists()] if path.exists() else []
    if any(path.samefile(each) for each in there):
        raise Refused(
            f"{one_line(path)} is the conversation itself, which is never changed. Name another "
            "file."
        )


def _show_all(
    options: Options, file: str | None, limit: int | None, opens: bool, force: bool, as_json: bool
) -> None:
    """Show the totals of all sessions."""
    from context_compression.cli.all_sessions import as_text, totals
    from context_compression.report.totals import NEWEST

    conversations = options.conversations()
    path = _checked(file, force) if file is not None else None
    if path:
        _refuse_to_lose_any(path, conversations)
    facts = totals(conversations, limit or NEWEST)
    home = conversations.workspace.home
    if path or opens:
        from context_compression.report.html import page_of_all

        _write(page_of_all(facts, home), path, opens)
    if as_json:
        write_json(asdict(facts))
    elif not path and not opens:
        show(*as_text(facts, home))
        say(*_as_a_page("--all"))


def _as_a_page(of: str) -> Page:
    command = " ".join(filter(None, ["context-compression report", of, "--html FILE"]))
    return ["", "As a page for a browser:", StyledLine(command, "command")]


def _write(page: str, path: Path | None, opens: bool, more: str = "") -> None:
    """Write the page, without a path into a new folder, and open it if that is asked for.

    Raises:
        Refused: it cannot be written there.
    """
    path = path or Path(tempfile.mkdtemp(prefix="context-report-"), "report.html")
    try:
        replace_file(path, page.encode("utf-8", "replace") + b"\n" + MARK + b"\n")
    except StoreUnwritable as error:
        reason = getattr(error.__cause__, "strerror", None) or error
        raise Refused(f"{one_line(path)} cannot be written: {reason}. Choose another.") from error
    say(f"Written to {one_line(path)}.{more}")
    if opens and not webbrowser.open(path.resolve().as_uri()):
        say("No browser could be opened. Open the file in one.")


def _is_report(path: Path) -> bool:
    """Whether a file ends as our pages do."""
    with suppress(OSError, TranscriptError), opened_once(path) as (file, size):
        file.seek(max(0, size - len(MARK) - 8))
        return MARK in file.read()
    return False


def _width() -> int:
    """How many columns a line of the text has at most."""
    if not is_terminal(sys.stdout):
        return 80
    return min(WIDE, max(NARROW, size(sys.stdout).columns))
