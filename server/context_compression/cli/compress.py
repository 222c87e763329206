"""`compress`: a shorter conversation on stdout, the account of it beside."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from context_compression.cli import pages, records
from context_compression.cli.app import Options, Refused, as_json
from context_compression.cli.asked import Asked, asked_how
from context_compression.cli.terminal import say, write, write_json
from context_compression.store.files import to_json


def _in_a_folder(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> Path | None:
    """Refuses a file that could not be written, before anything is done."""
    if path and not os.access(path.parent, os.W_OK):
        raise click.BadParameter(f"{path.parent} is no folder that can be written.")
    return path


@click.command()
@click.argument("conversation")
@asked_how
@click.option("--dry-run", is_flag=True, help="Only tell; keep nothing.")
@click.option("--undo", is_flag=True, help="Take the last compression of this conversation back.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    callback=_in_a_folder,
    metavar="FILE",
    help="The messages go there, instead of to stdout.",
)
@as_json
@click.pass_obj
def compress(
    options: Options,
    conversation: str,
    dry_run: bool,
    undo: bool,
    output: Path | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Print CONVERSATION (a transcript, or a session's id), shorter and valid; the account follows.

    The originals are kept in the store; the transcript itself is never changed.
    """
    asked = Asked.of(options, conversation, **how)
    session = asked.opened.session
    if undo:
        messages = session.undo()
        account: Mapping[str, Any] = {"session": session.id, "undone": True}
        page = f"The last compression of {session.id} was taken back: {len(messages)} messages."
    else:
        result, foreseen = asked.compress(dry_run=dry_run)
        messages = result.messages
        account = {"session": session.id, **records.account(result, foreseen)}
        page = pages.account(result, foreseen, restorable=not dry_run)
    _deliver(messages, account, output, as_json)
    if not as_json:
        say(page)


def _deliver(
    messages: list[dict[str, Any]], account: Mapping[str, Any], output: Path | None, as_json: bool
) -> None:
    """The messages to a file or to stdout; the account to stdout where it is for programs."""
    if output:
        try:
            output.write_bytes(to_json(messages, indent=2) + b"\n")
        except OSError as error:
            reason = error.strerror or error
            raise Refused(f"{output} cannot be written: {reason}. Name another file.") from error
    if as_json:
        write_json({**account, **({} if output else {"messages": messages})})
    elif not output:
        write(to_json(messages, indent=2) + b"\n")
