"""Runs the compression that a call requests, and answers with its report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp.types import CallToolResult

from context_compression.compression.forecast import Forecast, forecast_summary
from context_compression.compression.result import Result
from context_compression.mcp_server.arguments import Messages
from context_compression.mcp_server.call import Call
from context_compression.mcp_server.next_steps import replaced_compressions
from context_compression.mcp_server.report import ReportedCompression, report
from context_compression.session import Session
from context_compression.summaries.summarizer import Summarizer
from context_compression.tokens import Counter
from context_compression.workspace import Opened


@dataclass(frozen=True)
class SummaryWriter:
    """The author of the summary, if one is due; by default there is none.

    Attributes:
        model: the model that writes it.
        caller: whether the calling agent writes it.
        warning: why a model that was named is not called.
    """

    model: Summarizer | None = None
    caller: bool = False
    warning: str | None = None


NO_WRITER = SummaryWriter()


async def compress_conversation(
    call: Call,
    opened: Opened,
    messages: Messages | None,
    *,
    writer: SummaryWriter = NO_WRITER,
    dry_run: bool = False,
    explain: bool = False,
    **options: Any,
) -> CallToolResult:
    """Compresses a conversation and reports it; the report never contains the removed text.

    Args:
        call: the call.
        opened: the conversation.
        messages: the conversation's messages, if the caller passed them; then the compacted context
            is part of the answer.
        writer: writes a summary if one is due.
        dry_run: change nothing, and call no model.
        explain: add the explanations of the most telling messages.
        options: the options of `Session.compress`.
    """
    session = opened.session
    history = messages if opened.transcript is None else opened.transcript.messages
    replaced = await call.in_thread(
        "reading the record", lambda: replaced_compressions(opened, history)
    )

    def reported(result: Result, forecast: Forecast | None = None) -> CallToolResult:
        passed = messages is not None
        return report(
            ReportedCompression(
                result, opened, options, passed, dry_run, explain, forecast, writer.warning,
                replaced=replaced,
            )
        )  # fmt: skip

    if dry_run:

        def work() -> CallToolResult:
            view = session.state().view if history is None else history
            return reported(*_preview(session, view, writer, options))

        return await call.in_thread("counting", work)
    await call.in_thread("archiving what the host cleared", opened.archive_cleared)
    if writer.model:
        session.summarizer = writer.model
    return await call.in_thread(
        "Compacting …" if writer.model else "counting and compressing",
        lambda: reported(session.compress(messages=history, **options)),
    )


def _preview(
    session: Session, view: Messages, writer: SummaryWriter, options: Mapping[str, Any]
) -> tuple[Result, Forecast | None]:
    """The result of a compression, and a forecast of its summary; calls no model."""
    if not (writer.model or writer.caller):
        return session.preview(view, **options), None
    return forecast_summary(
        session.preview,
        view,
        options,
        counter=Counter(session.model, session.counter),
        most=session.settings.summary_tokens,
        by_caller=writer.caller,
    )
