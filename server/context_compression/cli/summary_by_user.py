"""A summary that the user writes: one run prints the instructions, the next run takes it."""

from pathlib import Path
from shlex import quote

import click

from context_compression.cli.compression_options import RequestedCompression
from context_compression.cli.json_output import Record
from context_compression.cli.terminal import working
from context_compression.compression.forecast import Forecast, forecast_summary
from context_compression.compression.result import Result
from context_compression.session import PLAN_SECONDS, SummaryAssignment
from context_compression.tokens import Counter


def is_requested(requested: RequestedCompression) -> bool:
    """Whether the user chose to write the summary, and the strategy may use one."""
    strategy = requested.options["strategy"] or requested.settings.strategy
    return requested.settings.summarizer == "caller" and strategy in ("auto", "summarize")


def preview(requested: RequestedCompression) -> tuple[Result, Forecast | None]:
    """The result of a dry run, and a forecast of the summary; nothing is kept."""
    session, transcript = requested.opened.session, requested.opened.transcript
    return forecast_summary(
        session.preview,
        transcript.messages if transcript else session.state().view,
        {**requested.options, "force": True},
        counter=Counter(session.model, session.counter),
        most=session.settings.summary_tokens,
        by_caller=True,
    )


def request_summary(requested: RequestedCompression) -> SummaryAssignment | Result:
    """The summary to write; or the result, if no summary is due."""
    session, transcript = requested.opened.session, requested.opened.transcript
    messages = transcript.messages if transcript else None
    with working("planning the summary"):
        return session.ask(
            messages=messages, force=True, settings=dict(requested.changes), **requested.options
        )


def apply_summary(
    requested: RequestedCompression, plan_id: str, summary: str
) -> SummaryAssignment | Result:
    """The result of a compression with the summary; or the next part to write.

    Raises:
        PlanError: the plan is unknown or has expired, or the messages it covers have changed.
        SummaryError: the summary cannot be used; the plan stays open.
    """
    session, transcript = requested.opened.session, requested.opened.transcript
    with working("applying the summary"):
        if transcript and plan_id in session.state().plans:
            session.follow(transcript.messages)
        return session.answer(plan_id, summary)


def as_record(session: str, assignment: SummaryAssignment) -> Record:
    """The assignment for a program."""
    return {
        "session": session,
        "changed": False,
        "plan_id": assignment.plan_id,
        "part": assignment.part,
        "instructions": assignment.instructions,
        "prompt": assignment.prompt,
    }


def next_command(conversation: str, assignment: SummaryAssignment, output: Path | None) -> str:
    """What the user does next, with the command that takes the summary."""
    part = f"part {assignment.part} of the summary" if assignment.part > 1 else "the summary"
    source = f"{output} holds the messages to summarize.\n" if output else ""
    return (
        f"\nNothing is compressed yet. Write {part} by the instructions above. Then run, within "
        f"{PLAN_SECONDS // 60} minutes:\n{source}"
        f"context-compression compress {quote(conversation)} --plan-id {assignment.plan_id} "
        "--summary FILE  (or - for stdin)"
    )


def read_summary(path: str) -> str:
    """The summary in a file; `-` is stdin.

    Raises:
        UsageError: the file cannot be read as UTF-8.
    """
    try:
        with click.open_file(path, "rb") as file:
            return file.read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise click.UsageError(f"The summary in {path} cannot be read: {reason}.") from error
