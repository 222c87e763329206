"""A summary that the calling agent writes: one call asks for it, the next one brings it."""

from collections.abc import Mapping
from typing import Any

from mcp.types import CallToolResult

from context_compression.compression.forecast import (
    PlaceholderSummarizer,
    conversation_in,
    first_words,
)
from context_compression.compression.result import Result
from context_compression.conversation.formats import parse
from context_compression.conversation.messages import Message, texts_of
from context_compression.display.strings import one_line
from context_compression.mcp_server.account import Writer, account
from context_compression.mcp_server.answers import answer
from context_compression.mcp_server.arguments import Messages
from context_compression.mcp_server.call import Call
from context_compression.session import PLAN_SECONDS, Session, SummaryAssignment
from context_compression.workspace import Opened


async def asked_of_the_caller(
    call: Call,
    opened: Opened,
    messages: Messages | None,
    writer: Writer,
    options: Mapping[str, Any],
    *,
    where: str,
) -> CallToolResult:
    """What the agent shall write; or the account, where no summary is due.

    Args:
        call: the call.
        opened: the conversation.
        messages: the same, where the caller holds it.
        writer: says whether a model was passed over.
        options: those of `Session.compress`.
        where: the arguments by which the next call names the same conversation.
    """
    session = opened.session
    elsewhere = messages if opened.transcript is None else opened.transcript.messages

    def work() -> CallToolResult:
        outcome = session.ask(messages=elsewhere, before_writing=call.before_writing, **options)
        if isinstance(outcome, Result):
            return account(outcome, opened, options, writer, held=messages is not None)
        return _request(opened, outcome, where, writer.warning)

    return await call.working("planning the summary", work)


async def answered(
    call: Call,
    opened: Opened,
    messages: Messages | None,
    plan_id: str,
    summary: str,
    *,
    where: str,
) -> CallToolResult:
    """The account of a compression with the summary of the agent; or what it shall write next.

    Raises:
        PlanError: the plan is unknown, has expired, or what it covers has changed.
        SummaryError: the summary cannot be used; the plan stays open.
    """
    session, held = opened.session, messages is not None
    elsewhere = messages if opened.transcript is None else opened.transcript.messages

    def work() -> CallToolResult:
        plan = session.state().plans.get(plan_id, {})
        if plan and elsewhere is not None:
            call.before_writing()
            session.follow(elsewhere)
        outcome = session.answer(plan_id, summary, before_writing=call.before_writing)
        if isinstance(outcome, SummaryAssignment):
            return _request(opened, outcome, where, None)
        view = session.view() if held else None
        return account(outcome, opened, plan["options"], held=held, view=view)

    return await call.working("applying the summary", work)


def _request(
    opened: Opened, asked: SummaryAssignment, where: str, warning: str | None
) -> CallToolResult:
    session, transcript = opened.session, opened.transcript
    covers, parts = _covered(session, asked)
    which = f"part {asked.part:,} of {parts:,} of the" if parts > 1 else "a"
    headline = (
        f"nothing is compressed yet: write {which} summary and pass it with plan "
        f"{one_line(asked.plan_id)}"
    )
    said = {"changed": False, "plan_id": asked.plan_id, "part": asked.part, "parts": parts}
    more = {
        "session": session.id,
        "next_call": (
            f'context_compress({where}plan_id="{asked.plan_id}", summary="<what you wrote>")'
        ),
        "valid_for": f"{PLAN_SECONDS // 60} minutes, as long as what it covers does not change",
        **covers,
        "read_it_in": str(transcript.path) if transcript and where else None,
        "instructions": asked.instructions,
        "warnings": [*([warning] if warning else []), *session.store.doubts],
    }
    return answer(headline, said, more)


def _covered(session: Session, asked: SummaryAssignment) -> tuple[dict[str, Any], int]:
    """Between which words lies what this part covers, and how many parts there are.

    Found by a rehearsal, which asks the same: the plan is a function of the conversation.
    """
    view = session.planned(asked.plan_id)
    options = session.state().plans[asked.plan_id]["options"]
    stand_in = PlaceholderSummarizer.of(options, session.settings.summary_tokens)
    result = session.preview(view, summarizer=stand_in, **options)
    if asked.part > len(stand_in.requests):
        return {}, asked.part
    record = conversation_in(stand_in.requests[asked.part - 1])
    covers = {"covers_from": first_words([record]), "covers_to": _last_words(record)}
    if result.summary:
        kept = result.summary.first_kept
        message = parse(view).messages[kept]
        words = f"message {kept:,} of {len(view):,}, {message.role}: {_words(message)}"
        covers["kept_from"] = words
    return covers, len(stand_in.requests)


def _words(message: Message) -> str:
    return first_words([text for block in message.blocks for text in texts_of(block)])


def _last_words(record: str) -> str:
    """The beginning of the last entry of a record."""
    _, bracket, last = record.rpartition("\n\n[")
    return first_words([bracket.strip() + last])
