"""`compress`: a shorter conversation on stdout, the account of it beside."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from context_compression.cli import pages, records
from context_compression.cli.app import Options, Refused, as_json, warn
from context_compression.cli.arguments import change_in, pin
from context_compression.cli.terminal import say, working, write, write_json
from context_compression.result import Result
from context_compression.store.files import to_json
from context_compression.workspace import Opened


def _in_a_folder(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> Path | None:
    """Refuses a file that could not be written, before anything is done."""
    if path and not os.access(path.parent, os.W_OK):
        raise click.BadParameter(f"{path.parent} is no folder that can be written.")
    return path


@click.command()
@click.argument("conversation")
@click.option("--target-tokens", type=int, metavar="N", help="What to come down to.")
@click.option("--strategy", default="auto", show_default=True)
@click.option("--pin", "pins", multiple=True, metavar="INDEX|TEXT", help="Keep whole; repeatable.")
@click.option("--focus", help="What the remaining work is about.")
@click.option("--model", help="Whose tokens and window count.")
@click.option("--set", "changes", multiple=True, metavar="NAME=VALUE", help="For this run only.")
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
    target_tokens: int | None,
    strategy: str,
    pins: tuple[str, ...],
    focus: str | None,
    model: str | None,
    changes: tuple[str, ...],
    dry_run: bool,
    undo: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print CONVERSATION (a transcript, or a session's id), shorter and valid; the account follows.

    The originals are kept in the store; the transcript itself is never changed.
    """
    workspace = options.workspace(conversation)
    settings = workspace.settings(dict(map(change_in, changes)))
    opened = workspace.open(conversation, settings=settings, model=model)
    warn(opened)
    session = opened.session
    if undo:
        messages = session.undo()
        account: Mapping[str, Any] = {"session": session.id, "undone": True}
        page = f"The last compression of {session.id} was taken back: {len(messages)} messages."
    else:
        with working("compressing"):
            result = _compress(
                opened,
                dry_run,
                target_tokens=target_tokens,
                strategy=strategy,
                pins=list(map(pin, pins)),
                focus=focus,
                force=True,
            )
            messages = result.messages
            account = {"session": session.id, **records.account(result)}
            page = pages.account(result, restorable=not dry_run)
    _deliver(messages, account, output, as_json)
    if not as_json:
        say(page)


def _compress(opened: Opened, dry_run: bool, **asked: Any) -> Result:
    """Compress a session's view; or a transcript, as its file has it now."""
    messages = opened.transcript.messages if opened.transcript else None
    if dry_run:
        return opened.session.preview(messages, **asked)
    return opened.session.compress(messages=messages, **asked)


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
