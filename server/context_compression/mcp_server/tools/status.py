"""`context_status`: how full the context window is, and what fills it."""

from functools import partial

from mcp.types import CallToolResult

from context_compression.hosts.conversations import CURRENT
from context_compression.mcp_server.arguments import StatusArguments
from context_compression.mcp_server.calls import Call, answer
from context_compression.mcp_server.compressing import (
    MOST_TOKENS,
    NoCurrentConversation,
    open_conversation,
    same_conversation,
    status_of_own_session,
    status_without_conversation,
)
from context_compression.report.facts import of_host, status_facts
from context_compression.session import Status
from context_compression.workspace import Opened
from context_compression.workspace.opened import KEPT_IN


async def context_status(call: Call, arguments: StatusArguments) -> CallToolResult:
    """What `context_status` answers."""
    detailed = arguments.response_format == "detailed"
    try:
        opened = await open_conversation(
            call, arguments.conversation, arguments.messages, model=arguments.model
        )
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
            next_call=_next_call(opened, status, arguments),
            offered=offered,
            readable=[*map(str, call.workspace.access.roots)],
        )
        return answer(*facts, most_tokens=None if detailed else MOST_TOKENS)

    return await call.in_thread("counting tokens", work)


def _next_call(opened: Opened, status: Status, arguments: StatusArguments) -> str | None:
    """The call that makes room, if a compression is due or large results can be moved away."""
    named = same_conversation(arguments.conversation, arguments.messages, arguments.model)
    if status.due.now:
        return f"context_compress({', '.join(named)})"
    ours = arguments.messages is None and not of_host(opened)
    return f"context_offload({', '.join(named)})" if ours and status.could_free else None
