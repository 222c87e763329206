"""A summary that the calling agent writes: one call requests it, the next call brings it."""

from collections.abc import Mapping, Sequence
from typing import Any

from mcp.types import CallToolResult

from context_compression.compression.forecast import PlaceholderSummarizer, conversation_in
from context_compression.compression.result import Result
from context_compression.conversation.formats import parse
from context_compression.conversation.messages import Message, texts_of
from context_compression.mcp_server.arguments import Messages
from context_compression.mcp_server.calls import Call, answer
from context_compression.mcp_server.compressing import SummaryWriter, report
from context_compression.report.facts import (
    ReportedCompression,
    history_kept,
    replaced_compressions,
)
from context_compression.session import PLAN_SECONDS, Session, SummaryAssignment, planned_view
from context_compression.strings import one_line
from context_compression.threads import about_to_write
from context_compression.workspace import Opened


async def request_summary(
    call: Call,
    opened: Opened,
    messages: Messages | None,
    writer: SummaryWriter,
    options: Mapping[str, Any],
    *,
    same_conversation: str,
    explain: bool = False,
) -> CallToolResult:
    """The instructions for the summary; or the report, if no summary is due.

    Args:
        call: the call.
        opened: the conversation.
        messages: the conversation's messages, if the caller passed them.
        writer: says why a model was not called.
        options: the options of `Session.compress`.
        same_conversation: the arguments with which the next call names the conversation.
        explain: whether a report explains the most telling messages.
    """
    session = opened.session

    def work() -> CallToolResult:
        replaced = replaced_compressions(opened)
        outcome = session.ask(messages=opened.shown, **options)
        if isinstance(outcome, Result):
            return report(
                ReportedCompression(
                    outcome,
                    opened,
                    options,
                    messages_passed=messages is not None,
                    warning=writer.warning,
                    explain=explain,
                    replaced=replaced,
                )
            )
        return _instructions(opened, outcome, same_conversation, writer.warning)

    return await call.in_thread("planning the summary", work)


async def apply_summary(
    call: Call,
    opened: Opened,
    messages: Messages | None,
    plan_id: str,
    summary: str,
    *,
    same_conversation: str,
    explain: bool = False,
) -> CallToolResult:
    """The report of the compression with the agent's summary; or the next part to write.

    Raises:
        PlanError: the plan is unknown or has expired, or the messages it covers have changed.
        SummaryError: the summary cannot be used; the plan stays open.
    """
    session, passed = opened.session, messages is not None

    def work() -> CallToolResult:
        plan = session.state().plans.get(plan_id, {})
        if plan and opened.shown is not None:
            about_to_write()
            session.follow(opened.shown)
        outcome = session.answer(plan_id, summary)
        if isinstance(outcome, SummaryAssignment):
            return _instructions(opened, outcome, same_conversation, None)
        return report(
            ReportedCompression(
                outcome,
                opened,
                plan["options"],
                passed,
                explain=explain,
                replaced=plan.get("undoes", 0),
            ),
            session.view() if passed else None,
        )

    return await call.in_thread("applying the summary", work)


def _instructions(
    opened: Opened, assignment: SummaryAssignment, same_conversation: str, warning: str | None
) -> CallToolResult:
    """The answer that requests a summary from the agent."""
    session, transcript = opened.session, opened.transcript
    covers, parts = _covered(session, assignment)
    which = f"part {assignment.part:,} of {parts:,} of the" if parts > 1 else "a"
    headline = (
        f"nothing is compressed yet: write {which} summary and pass it with plan "
        f"{one_line(assignment.plan_id)}"
    )
    headline_facts = {
        "changed": False,
        "plan_id": assignment.plan_id,
        "part": assignment.part,
        "parts": parts,
    }
    plan, minutes = assignment.plan_id, PLAN_SECONDS // 60
    facts = {
        "note": history_kept(opened),
        "session": session.id,
        "next_call": (
            f'context_compress({same_conversation}plan_id="{plan}", summary="<your summary>")'
        ),
        "valid_for": f"{minutes} minutes, as long as the messages it covers do not change",
        **covers,
        "read_it_in": str(transcript.path) if transcript and same_conversation else None,
        "instructions": assignment.instructions,
        "warnings": [*([warning] if warning else []), *session.store.doubts()],
    }
    return answer(headline, headline_facts, facts)


def _covered(session: Session, assignment: SummaryAssignment) -> tuple[dict[str, Any], int]:
    """The first and last words of the messages in this part, and the number of parts.

    A preview of the compression finds them: it makes the same requests, because the plan depends
    only on the conversation.
    """
    view = parse(planned_view(session, assignment.plan_id))
    options = session.state().plans[assignment.plan_id]["options"]
    placeholder = PlaceholderSummarizer.of(options, session.settings.summary_tokens)
    result = session.preview(view, summarizer=placeholder, **options)
    if assignment.part > len(placeholder.requests):
        return {}, assignment.part
    record = conversation_in(placeholder.requests[assignment.part - 1])
    covers = {"covers_from": _first_words([record]), "covers_to": _last_words(record)}
    if result.summary:
        kept = result.summary.first_kept
        message = view.messages[kept]
        words = f"message {kept:,} of {len(view):,}, {message.role}: {_words(message)}"
        covers["kept_from"] = words
    return covers, len(placeholder.requests)


def _words(message: Message) -> str:
    return _first_words([text for block in message.blocks for text in texts_of(block)])


def _last_words(record: str) -> str:
    """The first words of the last entry of a record."""
    _, bracket, last = record.rpartition("\n\n[")
    return _first_words([bracket.strip() + last])


def _first_words(texts: Sequence[str], most: int = 80) -> str:
    r"""`["", "Look at\n  this"]` -> `"Look at this"`; cut after `most` characters."""
    words = " ".join(" ".join(texts).split())
    return words if len(words) <= most else f"{words[: most - 1]}…"
