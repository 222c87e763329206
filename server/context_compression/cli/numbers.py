"""The numbers of sessions: `sessions` gives them, and other commands take them."""

import os
from dataclasses import asdict
from typing import Any

import click
from click.shell_completion import CompletionItem

from context_compression.cli.app import Options, Refused
from context_compression.cli.terminal import say
from context_compression.display.plurals import how_many
from context_compression.display.strings import in_words
from context_compression.doors.conversations import SHORTEST_ID
from context_compression.doors.listing import RECORDED, Listing
from context_compression.errors import ContextCompressionError
from context_compression.shell import completing
from context_compression.shell.last_listing import NumberedSession, last_listing, listing_file
from context_compression.store.files import replace_file, to_json
from context_compression.store.location import PLACE
from context_compression.store.places import is_database
from context_compression.workspace.workspace import TENANT

LONGEST_TITLE = 60
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
        return completing.sessions_or_files(ctx, param, incomplete)


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
        if session:
            say(f"note: {given} is {what} of this name, not number {given} of the last listing.")
        return given
    if session is None:
        if len(given) >= SHORTEST_ID and any(id.startswith(given) for id in ids):
            return given
        raise Refused(_unknown(given, len(listed)))
    if session.store and session.store != store.name:
        raise Refused(f"Session {given}, {session.id}, {_elsewhere(session.store)}")
    say(f"{given} is {described(session)}")
    return session.name


def described(session: NumberedSession) -> str:
    """A session in a few words, for the user to recognise it."""
    title = in_words(session.title, LONGEST_TITLE)
    by_us = session.host == RECORDED
    what = f"recorded session {session.id}" if by_us else f"session {session.id} of {session.host}"
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
                title=in_words(each.title, LONGEST_TITLE),
                store="" if each.path else store,
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
