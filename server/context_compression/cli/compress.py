"""`compress`: prints the compacted conversation on stdout and its report on stderr."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from context_compression.cli import json_output, summary_by_user, text_output
from context_compression.cli.app import Options, Refused, as_json
from context_compression.cli.compression_options import RequestedCompression, compression_options
from context_compression.cli.console import is_terminal
from context_compression.cli.help import examples
from context_compression.cli.numbers import CONVERSATION
from context_compression.cli.page import Page
from context_compression.cli.terminal import say, working, write, write_json
from context_compression.compression.forecast import Forecast
from context_compression.compression.result import Result
from context_compression.conversation.cache_marks import without_speakers
from context_compression.display.plurals import how_many
from context_compression.errors import ContextCompressionError
from context_compression.hosts import read
from context_compression.progress import READING, STAGES
from context_compression.session import Session, SummaryAssignment
from context_compression.store.files import to_json
from context_compression.workspace import Opened

NOT_PRINTED = (
    "A terminal shows only this report. The conversation goes to a file with `--output FILE`, or "
    "to another program with `| …`."
)


def _in_writable_folder(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> Path | None:
    """Refuses a file that cannot be written, before the command does anything."""
    if path and not os.access(path.parent, os.W_OK):
        raise click.BadParameter(
            f"{path.parent} is not a folder that can be written. Name a file in another folder."
        )
    return path


@click.command(
    short_help="Print a conversation, compacted.",
    epilog=examples(
        ("compress chat.jsonl --dry-run", "what it would do"),
        (
            "compress chat.jsonl --target-tokens 50k --output small.json",
            "write the conversation to a file",
        ),
        ("compress chat.jsonl > small.json", "the same, to half of its size"),
        ("compress chat.jsonl --undo", "take the last compression back"),
    ),
)
@click.argument("conversation", type=CONVERSATION)
@compression_options
@click.option("--dry-run", is_flag=True, help="Print only the report; keep and write nothing.")
@click.option(
    "--explain", is_flag=True, help="Say why the most telling messages stayed or went, on stderr."
)
@click.option("--undo", is_flag=True, help="Undo the last compression of this conversation.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    callback=_in_writable_folder,
    metavar="FILE",
    help="Write the messages to FILE instead of stdout. With a summary that you write: the "
    "messages to summarize.",
)
@click.option(
    "--summarizer",
    type=click.Choice(["auto", "anthropic", "openai", "caller", "none"]),
    help="Who writes a summary. With caller, you do: this run prints the instructions, a second "
    "run takes the summary.",
)
@click.option("--plan-id", metavar="ID", help="From the run that asked you for a summary.")
@click.option("--summary", metavar="FILE|-", help="The summary that the run asked for.")
@as_json
@click.pass_obj
def compress(
    options: Options,
    conversation: str,
    dry_run: bool,
    explain: bool,
    undo: bool,
    output: Path | None,
    summarizer: str | None,
    plan_id: str | None,
    summary: str | None,
    as_json: bool,
    **compression: Any,
) -> None:
    """Print CONVERSATION, compacted and valid for its provider; the report goes to stderr.

    CONVERSATION is a transcript or a file of messages (also as .gz), which is never changed, the id
    of a session (its first four characters are enough), or its number from `sessions`. The store
    keeps the originals.
    """
    if (plan_id is None) != (summary is None) or (plan_id and (dry_run or undo)):
        raise click.UsageError(
            "--plan-id and --summary go together, and not with --dry-run or --undo."
        )
    if undo and dry_run:
        raise click.UsageError("--undo has no dry run. Leave out --dry-run, or leave out --undo.")
    if summarizer:
        compression["changes"] = (*compression["changes"], f"summarizer={summarizer}")
    with working(READING, *STAGES):
        requested = RequestedCompression.of(options, conversation, **compression)
        _refuse_to_overwrite(requested, output)
        if undo:
            done = _undone(requested.opened.session)
        else:
            if not dry_run:
                requested.opened.archive_cleared()
            outcome, forecast = _compressed(requested, dry_run, plan_id, summary)
            if isinstance(outcome, SummaryAssignment):
                id = requested.opened.session.id
                return _print_assignment(id, conversation, outcome, output, as_json)
            done = _done(requested.opened, outcome, forecast, dry_run, explain)
    if not dry_run:
        _deliver(done.messages, done.report, output, as_json)
    elif as_json:
        write_json(done.report)
    if not as_json:
        say(*done.page)
        if not (dry_run or output) and is_terminal(sys.stdout):
            say("", NOT_PRINTED)
    return None


@dataclass(frozen=True)
class Done:
    """What the command did.

    Attributes:
        messages: the conversation as it is now.
        report: the report for programs.
        page: the report for people.
    """

    messages: list[dict[str, Any]]
    report: Mapping[str, Any]
    page: Page


def _undone(session: Session) -> Done:
    messages = session.undo()
    now = how_many(len(messages), "message")
    text = f"The last compression of {session.id} is undone. The conversation has {now} now."
    return Done(messages, {"session": session.id, "undone": True}, [text])


def _done(
    opened: Opened, outcome: Result, forecast: Forecast | None, dry_run: bool, explain: bool
) -> Done:
    facts = json_output.report(outcome, forecast, opened=opened)
    report = {"session": opened.session.id, **facts}
    page = text_output.report(outcome, forecast, restorable=not dry_run, opened=opened)
    if explain:
        report |= {"explanations": json_output.explanations(outcome)}
        page = [*page, *text_output.explanations(outcome)]
    return Done(outcome.messages, report, page)


def _refuse_to_overwrite(requested: RequestedCompression, output: Path | None) -> None:
    """Refuses an output file that is the conversation itself, by any path, or is in the store."""
    if output is None:
        return
    store = requested.workspace.store
    if store.has_file(output):
        raise Refused(
            f"{output} lies in {store.name}, where the originals are kept. Name another file. "
            "Nothing was done."
        )
    if output.exists() and _holds(output, requested):
        raise Refused(
            f"{output} is the conversation itself, which is never changed. Name another file. "
            "Nothing was done."
        )


def _holds(output: Path, requested: RequestedCompression) -> bool:
    """Whether a file contains the conversation to compress."""
    if transcript := requested.opened.transcript:
        # opencode's sessions have paths inside their database, as if that were a folder
        files = (transcript.path, transcript.path.parent)
        return any(path.is_file() and output.samefile(path) for path in files)
    with suppress(ContextCompressionError, OSError):
        in_file = requested.workspace.of(read(output.resolve()))
        return in_file.session.id == requested.opened.session.id
    return False


def _compressed(
    requested: RequestedCompression, dry_run: bool, plan_id: str | None, summary: str | None
) -> tuple[Result | SummaryAssignment, Forecast | None]:
    """The result, or the summary that the user must write first."""
    if plan_id is not None and summary is not None:
        text = summary_by_user.read_summary(summary)
        return summary_by_user.apply_summary(requested, plan_id, text), None
    if summary_by_user.is_requested(requested):
        if dry_run:
            return summary_by_user.preview(requested)
        return summary_by_user.request_summary(requested), None
    return requested.run(dry_run=dry_run)


def _print_assignment(
    session: str,
    conversation: str,
    assignment: SummaryAssignment,
    output: Path | None,
    as_json: bool,
) -> None:
    """Prints the instructions for a summary; the full request goes to a file, if one is named."""
    if output:
        _write(output, assignment.prompt.encode("utf-8", "surrogatepass") + b"\n")
    if as_json:
        write_json(summary_by_user.as_record(session, assignment))
    else:
        write(assignment.instructions.encode("utf-8", "surrogatepass") + b"\n")
        say(summary_by_user.next_command(conversation, assignment, output))


def _write(output: Path, data: bytes) -> None:
    try:
        output.write_bytes(data)
    except OSError as error:
        reason = error.strerror or error
        raise Refused(f"{output} cannot be written: {reason}. Name another file.") from error


def _deliver(
    messages: list[dict[str, Any]], report: Mapping[str, Any], output: Path | None, as_json: bool
) -> None:
    """Writes the messages to a file or a pipe, and for programs the report to stdout."""
    messages = [dict(without_speakers(message)) for message in messages]
    if output:
        _write(output, to_json(messages, indent=2) + b"\n")
    if as_json:
        write_json({**report, **({} if output else {"messages": messages})})
    elif not output and not is_terminal(sys.stdout):
        write(to_json(messages, indent=2) + b"\n")
