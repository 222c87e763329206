"""A summary that whoever runs the command writes: one run asks for it, the next one brings it."""

from pathlib import Path
from shlex import quote

import click

from context_compression.cli.asked import Asked
from context_compression.cli.records import Record
from context_compression.cli.terminal import working
from context_compression.compression.forecast import Forecast, forecast_summary
from context_compression.compression.result import Result
from context_compression.session import PLAN_SECONDS
from context_compression.session import SummaryAssignment as Wanted
from context_compression.tokens import Counter


def is_asked(asked: Asked) -> bool:
    """Whether the one who runs the command shall write a summary, where one is due."""
    strategy = asked.options["strategy"] or asked.settings.strategy
    return asked.settings.summarizer == "caller" and strategy in ("auto", "summarize")


def foreseen(asked: Asked) -> tuple[Result, Forecast | None]:
    """What the compression would do, and what the summary would take; nothing is kept."""
    session, transcript = asked.opened.session, asked.opened.transcript
    return forecast_summary(
        session.preview,
        transcript.messages if transcript else session.view(),
        {**asked.options, "force": True},
        counter=Counter(session.model, session.counter),
        most=session.settings.summary_tokens,
        by_caller=True,
    )


def first_call(asked: Asked) -> Wanted | Result:
    """What shall be written; or the result, where no summary is due."""
    session, transcript = asked.opened.session, asked.opened.transcript
    messages = transcript.messages if transcript else None
    with working("planning the summary"):
        return session.ask(
            messages=messages, force=True, settings=dict(asked.given), **asked.options
        )


def next_call(asked: Asked, plan_id: str, summary: str) -> Wanted | Result:
    """The result of a compression with the summary; or what shall be written next.

    Raises:
        PlanError: the plan is unknown, has expired, or what it covers has changed.
        SummaryError: the summary cannot be used; the plan stays open.
    """
    session, transcript = asked.opened.session, asked.opened.transcript
    with working("applying the summary"):
        if transcript and plan_id in session.state().plans:
            session.follow(transcript.messages)
        return session.answer(plan_id, summary)


def record(session: str, wanted: Wanted) -> Record:
    """What a program reads that shall write the summary."""
    return {
        "session": session,
        "changed": False,
        "plan_id": wanted.plan_id,
        "part": wanted.part,
        "instructions": wanted.instructions,
        "prompt": wanted.prompt,
    }


def page(conversation: str, wanted: Wanted, output: Path | None) -> str:
    """What to do with the instructions."""
    part = f"part {wanted.part} of the summary" if wanted.part > 1 else "the summary"
    shown = f"{output} holds what it is written of.\n" if output else ""
    return (
        f"\nNothing is compressed yet. Write {part} as said above, then run, within "
        f"{PLAN_SECONDS // 60} minutes:\n{shown}"
        f"context-compression compress {quote(conversation)} --plan-id {wanted.plan_id} "
        "--summary FILE  (or - for stdin)"
    )


def text_of(path: str) -> str:
    """The summary in a file; `-` is stdin.

    Raises:
        UsageError: it cannot be read as UTF-8.
    """
    try:
        with click.open_file(path, "rb") as file:
            return file.read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise click.UsageError(f"The summary in {path} cannot be read: {reason}.") from error
