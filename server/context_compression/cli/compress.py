"""`compress`: a shorter conversation on stdout, the account of it beside."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from context_compression.cli import pages, records
from context_compression.cli.app import Options, Refused, as_json, warn
from context_compression.cli.arguments import change_in, pin
from context_compression.cli.terminal import say, working, write, write_json
from context_compression.llms.forecast import Forecast, foresee
from context_compression.result import Result
from context_compression.settings import Settings
from context_compression.store.files import to_json
from context_compression.summarizer import Summarizer
from context_compression.tokens import Counter
from context_compression.workspace import Opened, Workspace


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
@click.option("--summary-model", metavar="MODEL", help="Claude model that writes a summary.")
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
    summary_model: str | None,
    changes: tuple[str, ...],
    dry_run: bool,
    undo: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print CONVERSATION (a transcript, or a session's id), shorter and valid; the account follows.

    The originals are kept in the store; the transcript itself is never changed.
    """
    # nobody gives up on a person's command: a summary may take as long as it takes
    workspace = replace(options.workspace(conversation), summary_seconds=None)
    given = dict(map(change_in, changes))
    if summary_model:
        given["summary_model"] = summary_model
    settings = workspace.settings(given)
    opened = workspace.open(conversation, settings=settings, model=model)
    warn(opened)
    session = opened.session
    if undo:
        messages = session.undo()
        account: Mapping[str, Any] = {"session": session.id, "undone": True}
        page = f"The last compression of {session.id} was taken back: {len(messages)} messages."
    else:
        summarizer = _summarizer(workspace, settings, given, strategy)
        with working("Compacting" if summarizer and not dry_run else "compressing"):
            result, foreseen = _compress(
                opened,
                summarizer,
                dry_run,
                target_tokens=target_tokens,
                strategy=strategy,
                pins=list(map(pin, pins)),
                focus=focus,
                force=True,
            )
            messages = result.messages
            account = {"session": session.id, **records.account(result, foreseen)}
            page = pages.account(result, foreseen, restorable=not dry_run)
    _deliver(messages, account, output, as_json)
    if not as_json:
        say(page)


def _summarizer(
    workspace: Workspace, settings: Settings, given: Mapping[str, Any], strategy: str
) -> Summarizer | None:
    """Who writes a summary; says why a model that was named is not asked."""
    strategy = settings.strategy if strategy == "auto" else strategy
    if strategy not in ("auto", "summarize"):
        return None
    if warning := workspace.why_no_model(settings, given):
        say(f"warning: {warning}")
    summarizer = workspace.summarizer(settings, given)
    if summarizer is None and strategy == "summarize":
        raise Refused(
            "Nobody is there to write the summary. Name a model with --summary-model, and its key "
            "in ANTHROPIC_API_KEY; or take --strategy extract, which needs none."
        )
    return summarizer


def _compress(
    opened: Opened, summarizer: Summarizer | None, dry_run: bool, **asked: Any
) -> tuple[Result, Forecast | None]:
    """Compress a session's view; or a transcript, as its file has it now."""
    session = opened.session
    messages = opened.transcript.messages if opened.transcript else None
    if not dry_run:
        session.summarizer = summarizer
        return session.compress(messages=messages, **asked), None
    if summarizer is None:
        return session.preview(messages, **asked), None
    return foresee(
        session.preview,
        session.view() if messages is None else messages,
        asked,
        counter=Counter(session.model, session.counter),
        most=session.settings.summary_tokens,
    )


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
