"""`compress`: a shorter conversation on stdout, the account of it beside."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from context_compression.cli import pages, records, two_calls
from context_compression.cli.app import Options, Refused, as_json
from context_compression.cli.asked import Asked, asked_how
from context_compression.cli.terminal import say, write, write_json
from context_compression.compression.forecast import Forecast
from context_compression.compression.result import Result
from context_compression.display.plurals import how_many
from context_compression.errors import ContextCompressionError
from context_compression.hosts import read
from context_compression.session import SummaryAssignment as Wanted
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
@click.option("--dry-run", is_flag=True, help="Only the account; nothing is kept or written.")
@click.option("--undo", is_flag=True, help="Take the last compression of this conversation back.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    callback=_in_a_folder,
    metavar="FILE",
    help="The messages go there, instead of to stdout; of a summary you write, what it is of.",
)
@click.option(
    "--summarizer",
    type=click.Choice(["auto", "anthropic", "caller", "none"]),
    help="Who writes a summary; caller: you, in a second run.",
)
@click.option("--plan-id", metavar="ID", help="Of the run that asked you for a summary.")
@click.option("--summary", metavar="FILE|-", help="The summary it asked for.")
@as_json
@click.pass_obj
def compress(
    options: Options,
    conversation: str,
    dry_run: bool,
    undo: bool,
    output: Path | None,
    summarizer: str | None,
    plan_id: str | None,
    summary: str | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Print CONVERSATION, shorter and valid; the account of it follows.

    CONVERSATION is a transcript or a file of messages (also as .gz), which is never changed, or a
    session's id (its first four characters are enough). The originals are kept in the store.
    """
    if (plan_id is None) != (summary is None) or (plan_id and (dry_run or undo)):
        raise click.UsageError(
            "--plan-id and --summary go together, and without --dry-run and --undo."
        )
    if undo and dry_run:
        raise click.UsageError("--undo cannot be tried out first; leave out --dry-run, or --undo.")
    if summarizer:
        how["changes"] = (*how["changes"], f"summarizer={summarizer}")
    asked = Asked.of(options, conversation, **how)
    session, opened = asked.opened.session, asked.opened
    _spare(asked, output)
    if undo:
        messages = session.undo()
        account: Mapping[str, Any] = {"session": session.id, "undone": True}
        left = how_many(len(messages), "message")
        page = f"The last compression of {session.id} was taken back: {left}."
    else:
        found, foreseen = _compressed(asked, dry_run, plan_id, summary)
        if isinstance(found, Wanted):
            return _ask(session.id, conversation, found, output, as_json)
        messages = found.messages
        told = records.account(found, foreseen, not_counted=opened.not_counted)
        account = {"session": session.id, **told}
        page = pages.account(
            found, foreseen, restorable=not dry_run, not_counted=opened.not_counted
        )
    if not dry_run:
        _deliver(messages, account, output, as_json)
    elif as_json:
        write_json(account)
    if not as_json:
        say(page)
    return None


def _spare(asked: Asked, output: Path | None) -> None:
    """Refuses to write over the conversation itself, by whatever path, or into our store."""
    if output is None:
        return
    store = asked.workspace.store.folder.resolve()
    if output.resolve().is_relative_to(store):
        raise Refused(
            f"{output} lies in {store}, where the originals are kept. Name another file. "
            "Nothing was done."
        )
    if output.exists() and _holds(output, asked):
        raise Refused(
            f"{output} is the conversation itself, which is never changed. Name another file. "
            "Nothing was done."
        )


def _holds(output: Path, asked: Asked) -> bool:
    """Whether a file holds the conversation that is to be compressed."""
    if transcript := asked.opened.transcript:
        # a session of opencode's is named as if its database were a folder
        files = (transcript.path, transcript.path.parent)
        return any(path.is_file() and output.samefile(path) for path in files)
    with suppress(ContextCompressionError, OSError):
        found = asked.workspace.of(read(output.resolve()))
        return found.session.id == asked.opened.session.id
    return False


def _compressed(
    asked: Asked, dry_run: bool, plan_id: str | None, summary: str | None
) -> tuple[Result | Wanted, Forecast | None]:
    """What came of it, or what shall be written first."""
    if plan_id is not None and summary is not None:
        return two_calls.next_call(asked, plan_id, two_calls.text_of(summary)), None
    if two_calls.is_asked(asked):
        return two_calls.foreseen(asked) if dry_run else (two_calls.first_call(asked), None)
    return asked.compress(dry_run=dry_run)


def _ask(
    session: str, conversation: str, wanted: Wanted, output: Path | None, as_json: bool
) -> None:
    """The instructions to stdout; the request as a whole to a file, where one is named."""
    if output:
        _write(output, wanted.prompt.encode("utf-8", "surrogatepass") + b"\n")
    if as_json:
        write_json(two_calls.record(session, wanted))
    else:
        write(wanted.instructions.encode("utf-8", "surrogatepass") + b"\n")
        say(two_calls.page(conversation, wanted, output))


def _write(output: Path, data: bytes) -> None:
    try:
        output.write_bytes(data)
    except OSError as error:
        reason = error.strerror or error
        raise Refused(f"{output} cannot be written: {reason}. Name another file.") from error


def _deliver(
    messages: list[dict[str, Any]], account: Mapping[str, Any], output: Path | None, as_json: bool
) -> None:
    """The messages to a file or to stdout; the account to stdout where it is for programs."""
    if output:
        _write(output, to_json(messages, indent=2) + b"\n")
    if as_json:
        write_json({**account, **({} if output else {"messages": messages})})
    elif not output:
        write(to_json(messages, indent=2) + b"\n")
