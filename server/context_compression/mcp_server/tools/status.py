"""`context_status`: how full the context window is, and what fills it."""

from collections.abc import Mapping
from functools import partial
from typing import Literal

from mcp.types import CallToolResult

from context_compression.hosts.conversations import CURRENT
from context_compression.mcp_server.calls import Arguments, Call, Messages, answer
from context_compression.mcp_server.compressing import (
    NoCurrentConversation,
    open_conversation,
    status_of_own_session,
    status_without_conversation,
)
from context_compression.report.facts import status_facts
from context_compression.workspace.opened import KEPT_IN

STATUS_FACTS: Mapping[str, type] = {
    "used_tokens": int,
    "total_budget": int,
    "usage_percent": float,
    "remaining": int,
    "compression_due": bool,
    "session": str,
    "transcript": str,
    "messages": int,
    "tokens_by_kind": dict,
    "host_compactions": str,
    "tokens_saved": int,
    "refs_total": int,
    "newest_refs": dict,
    "conversation_known": bool,
    "archived": dict,
}


class StatusArguments(Arguments):
    """The arguments of `context_status`."""

    conversation: str | None = None
    """session id, transcript path, or current (default)"""
    messages: Messages | None = None
    """the history, if a program holds it"""
    response_format: Literal["concise", "detailed"] = "concise"
    """detailed shows more"""


async def context_status(call: Call, arguments: StatusArguments) -> CallToolResult:
    """How full the context window is, what fills it, refs; or, if unknown, what helps instead."""
    detailed = arguments.response_format == "detailed"
    try:
        opened = await open_conversation(call, arguments.conversation, arguments.messages)
    except NoCurrentConversation as nothing:
        answer_without = partial(status_without_conversation, call, nothing, detailed=detailed)
        return await call.in_thread("looking into the archive", answer_without)
    if (own := opened.session.id) in KEPT_IN:
        answer_own = partial(status_of_own_session, call, own, detailed=detailed)
        return await call.in_thread("looking into the archive", answer_own)

    # the current conversation offers the six tools, because this call comes from it
    current = arguments.conversation in (None, "", CURRENT)
    offered = opened.transcript is not None and current

    def work() -> CallToolResult:
        status = opened.session.status(opened.shown, opened.anchor)
        facts = status_facts(
            call.workspace,
            opened,
            status,
            detailed=detailed,
            offered=offered,
            readable=[*map(str, call.workspace.access.roots)],
        )
        return answer(*facts)

    return await call.in_thread("counting tokens", work)
