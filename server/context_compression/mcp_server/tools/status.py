"""`context_status`: how full the context window is, and what fills it."""

import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from mcp.types import CallToolResult

from context_compression.hosts.compaction_words import due_words, in_words, next_request
from context_compression.hosts.conversations import CURRENT
from context_compression.hosts.installed_hooks import outdated_hooks
from context_compression.hosts.setup.machine import Machine
from context_compression.mcp_server.calls import Arguments, Call, Messages, answer
from context_compression.mcp_server.compressing import (
    NoCurrentConversation,
    open_conversation,
    status_of_own_session,
    status_without_conversation,
)
from context_compression.mcp_server.report import history_kept
from context_compression.plurals import how_many
from context_compression.session import Status
from context_compression.settings import GUARDED, NAMES, Settings
from context_compression.strings import one_line
from context_compression.workspace import Opened, Workspace
from context_compression.workspace.opened import KEPT_IN

REFS = {"concise": 5, "detailed": 100}  # the newest ones
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
ITEMS = {"concise": 3, "detailed": 10}  # the largest ones


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

    def work() -> CallToolResult:
        messages = arguments.messages if opened.transcript is None else opened.shown
        return _answer(call, opened.session.status(messages, opened.anchor), opened, arguments)

    return await call.in_thread("counting tokens", work)


def _answer(
    call: Call, status: Status, opened: Opened, arguments: StatusArguments
) -> CallToolResult:
    used, session, transcript = status.usage, opened.session, opened.transcript
    beside = opened.tokens_beside
    due = "is due" if status.due.now else "is not due"
    headline = (
        f"{used.used_tokens:,} of {used.total_budget:,} tokens used ({used.usage_percent} %), "
        f"{used.remaining:,} remaining; compression {due}"
    )
    headline_facts = {
        "used_tokens": int(used.used_tokens),
        "total_budget": used.total_budget,
        "usage_percent": used.usage_percent,
        "remaining": used.remaining,
        "compression_due": status.due.now,
    }
    detailed = arguments.response_format == "detailed"
    # the current conversation offers the six tools, because this call comes from it
    offered = transcript is not None and arguments.conversation in (None, "", CURRENT)
    savings = status.savings.offering_tools(session.model) if offered else status.savings
    newest = list(status.refs)[: -REFS[arguments.response_format] - 1 : -1]
    over_all_requests = savings.as_answer()
    facts = {
        "session": session.id,
        "transcript": f"{transcript.path} ({transcript.host})" if transcript else None,
        "store": session.store.name,
        "files_may_be_read_in": [*map(str, call.workspace.access.roots)],
        "next_request": next_request(used.used_tokens - beside, beside, opened.host),
        "due_from_tokens": used.threshold_tokens,
        "compression_is": due_words(
            status.due.reason, used.threshold_tokens, opened.host, opened.compacts_at
        ),
        "host_compacts_at_tokens": opened.compacts_at or None,
        "counted_by": used.used_tokens.method,
        "used_tokens_upper": used.used_tokens.upper,
        "messages": status.messages,
        "tokens_by_kind": status.by_kind,
        "largest": [
            f"message {item.message:,}, {one_line(item.what)}: {how_many(item.tokens, 'token')}"
            for item in status.largest[: ITEMS[arguments.response_format]]
        ],
        "offload_would_free_tokens": status.could_free,
        "host_compactions": (transcript and in_words(transcript.compactions, time.time())) or None,
        "compressions": status.compressions,
        "messages_compressed": status.messages_compressed,
        "tokens_saved": status.tokens_saved,
        "compacted_copy": _copy(status, opened),
        "requests": savings.requests or None,
        "tokens_over_all_requests": None if over_all_requests == {"net": 0} else over_all_requests,
        "refs_total": len(status.refs),
        "newest_refs": {ref: one_line(status.refs[ref]) for ref in newest},
        "settings": _settings(call.workspace, session.settings, all_of_them=detailed),
        "warnings": [
            *dict.fromkeys((*status.warnings, *call.workspace.doubts(session.settings))),
            *(transcript.warnings if transcript else ()),
            *_outdated_hooks(call.workspace),
        ],
    }
    return answer(headline, headline_facts, facts)


def _copy(status: Status, opened: Opened) -> str | None:
    """The compacted context in our record, if the transcript does not have it."""
    if not status.not_taken_over:
        return None
    smaller = how_many(status.not_taken_over, "token")
    return f"{smaller} smaller, kept in session {opened.session.id}. {history_kept(opened)}"


def _outdated_hooks(workspace: Workspace) -> list[str]:
    if workspace.tenant is not None:  # its hosts are on other machines
        return []
    machine = Machine(sys.platform, workspace.environ, workspace.home, workspace.cwd)
    return outdated_hooks(machine)


def _settings(workspace: Workspace, settings: Settings, *, all_of_them: bool) -> Mapping[str, Any]:
    """All settings, or only those that the user set, so without a budget that the model gives."""
    names = NAMES if all_of_them else workspace.settings().model_fields_set
    return settings.model_dump(mode="json", include={*names}.difference(GUARDED))
