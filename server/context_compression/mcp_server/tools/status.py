"""`context_status`: how full the context is."""

from collections.abc import Mapping
from typing import Any, Literal

from mcp.types import CallToolResult

from context_compression.display.plurals import how_many
from context_compression.display.strings import one_line
from context_compression.doors.conversations import CURRENT
from context_compression.mcp_server.answers import answer
from context_compression.mcp_server.arguments import Arguments, Messages
from context_compression.mcp_server.call import Call
from context_compression.mcp_server.opening import opened
from context_compression.session import Status
from context_compression.settings import GUARDED, Settings
from context_compression.workspace import Opened

REFS = {"concise": 5, "detailed": 100}
ITEMS = {"concise": 3, "detailed": 10}


class StatusArguments(Arguments):
    """Of `context_status`."""

    conversation: str | None = None
    """session id, transcript path, or current (default): the host's live transcript"""
    messages: Messages | None = None
    """as they are sent to a model, from programs that hold them"""
    response_format: Literal["concise", "detailed"] = "concise"
    """detailed: all settings, up to 100 refs"""


async def context_status(call: Call, asked: StatusArguments) -> CallToolResult:
    """Context window usage: tokens used, budget, percent, remaining, largest parts, refs.

    Changes nothing; context_compress does.
    """
    about = await opened(call, asked.conversation, asked.messages)

    def work() -> CallToolResult:
        messages = asked.messages if about.transcript is None else about.shown
        return _answer(call, about.session.status(messages, about.anchor), about, asked)

    return await call.working("counting tokens", work)


def _answer(call: Call, status: Status, about: Opened, asked: StatusArguments) -> CallToolResult:
    used, session, transcript = status.usage, about.session, about.transcript
    due = "is due" if used.over_threshold else "is not due"
    headline = (
        f"{used.used_tokens:,} of {used.total_budget:,} tokens used ({used.usage_percent} %), "
        f"{used.remaining:,} remaining; compression {due}"
    )
    said = {
        "used_tokens": int(used.used_tokens),
        "total_budget": used.total_budget,
        "usage_percent": used.usage_percent,
        "remaining": used.remaining,
        "compression_due": used.over_threshold,
    }
    detailed = asked.response_format == "detailed"
    # this very call says that the conversation it is made in offers our tools; others need not
    offered = transcript is not None and asked.conversation in (None, "", CURRENT)
    savings = status.savings.offering_tools(session.model) if offered else status.savings
    newest = list(status.refs)[: -REFS[asked.response_format] - 1 : -1]
    more = {
        "session": session.id,
        "transcript": f"{transcript.path} ({transcript.host})" if transcript else None,
        "store": str(session.store.folder),
        "files_may_be_read_in": [*map(str, call.workspace.access.roots)],
        "due_from_tokens": used.threshold_tokens,
        "counted_by": f"{used.used_tokens.method}; at most {used.used_tokens.upper:,}",
        "messages": status.messages,
        "tokens_by_kind": status.by_kind,
        "largest": [
            f"message {item.message:,}, {one_line(item.what)}: {how_many(item.tokens, 'token')}"
            for item in status.largest[: ITEMS[asked.response_format]]
        ],
        "offload_would_free_tokens": status.could_free,
        "compressions": status.compressions,
        "messages_compressed": status.messages_compressed,
        "tokens_saved": status.tokens_saved,
        "requests": savings.requests or None,
        "tokens_over_all_requests": told if (told := savings.as_answer()) != {"net": 0} else None,
        "refs_total": len(status.refs),
        "newest_refs": {ref: one_line(status.refs[ref]) for ref in newest},
        "settings": _settings(session.settings, whole=detailed),
        "warnings": [*status.warnings, *(transcript.warnings if transcript else ())],
    }
    return answer(headline, said, more)


def _settings(settings: Settings, *, whole: bool) -> Mapping[str, Any]:
    """All settings, or those somebody set."""
    shown = settings.model_dump(mode="json", exclude_unset=not whole)
    return {name: value for name, value in shown.items() if name not in GUARDED}
