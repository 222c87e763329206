"""Answers to Pi's events, in Pi's own formats. Our extension passes the events on.

Event                   its fields                                       the answer
tool_result             toolName, toolCallId, input, text, shown         {"text": …}
context                 messages, before every request                   {"messages": […]}
session_before_compact  messages that are to be summarised,              {"summary": …}
                        previousSummary, focus, reason

Every event has `session_id`, and `model` and `window` if Pi knows them. Seen in version 0.87.1.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import ToolCall, objects
from context_compression.hooks.requests import positions_in, session_of, view_to_send
from context_compression.hooks.summary_text import compressed_text
from context_compression.hosts.pi.about import NAME
from context_compression.hosts.pi.context import Context
from context_compression.hosts.pi.export import by_model, entries
from context_compression.session import Session
from context_compression.session.arrivals import AnsweredCall, offload_result
from context_compression.threads import in_thread
from context_compression.transcripts.lines import string
from context_compression.workspace import Workspace

Event = Mapping[str, Any]
Row = Mapping[str, Any]
SUMMARIES = ("compactionSummary", "branchSummary")


async def answer(workspace: Workspace, event: Event) -> Mapping[str, Any]:
    """The answer to an event; `{}` changes nothing."""
    return await in_thread(partial(_answer, workspace, event))


def _answer(workspace: Workspace, event: Event) -> Mapping[str, Any]:
    session = session_of(workspace, event, NAME)
    match string(event, "hook_event_name"):
        case "tool_result":
            tool = string(event, "toolName")
            call = ToolCall(string(event, "toolCallId"), tool, event.get("input"))
            shown = string(event, "shown") or None
            answered = AnsweredCall(call, string(event, "text"), shown)
            text = offload_result(session, answered)
            return {} if text is None else {"text": text}
        case "context":
            history = History(objects(event.get("messages")))
            view = view_to_send(session, history.messages)
            return {} if view is None else {"messages": history.laid_out(view)}
        case "session_before_compact" if _shall_compact(session, event):
            session.summarizer = workspace.summarizer(session.settings)
            earlier = string(event, "previousSummary")
            before = [{"role": "user", "content": earlier}] if earlier else []
            history = History(objects(event.get("messages")))
            focus = string(event, "focus") or None
            return {"summary": compressed_text(session, [*before, *history.messages], focus)}
        case _:
            return {}


def _shall_compact(session: Session, event: Event) -> bool:
    """Whether the user requested the compaction, or compression is automatic."""
    return session.settings.auto_compress or event.get("reason") == "manual"


class History:
    """A conversation as Pi's messages, and as Anthropic messages."""

    def __init__(self, rows: Sequence[Row]) -> None:
        context = Context()
        self._rows: dict[int, list[Row]] = {}  # by the index of the message they are in
        self._by: Mapping[str, str] = by_model(None)
        for row in rows:
            context.add(_entry(row), kept=False, charged=False)
            if row.get("role") == "assistant":
                self._by = {name: string(row, name) for name in self._by}
            self._rows.setdefault(max(0, len(context.messages) - 1), []).append(row)
        self.messages = context.messages
        self._began = rows[0].get("timestamp", 0) if rows else 0

    def laid_out(self, view: Sequence[Mapping[str, Any]]) -> list[Row]:
        """A view as Pi's messages; unchanged messages are the original objects."""
        names = {call.id: call.name for m in parse(self.messages).messages for call in m.calls}
        rows: list[Row] = []
        for part in positions_in(view, self.messages):
            if isinstance(part, int):
                rows += self._rows[part]
            else:
                new = entries(parse([part]).messages[0], names, self._by)
                rows += (row | {"timestamp": self._began} for row in new)
        return rows


def _entry(row: Row) -> dict[str, Any]:
    """A message of Pi as an entry of its sessions."""
    if row.get("role") in SUMMARIES:
        return {"type": "branch_summary", "summary": row.get("summary")}
    return {"type": "message", "message": row}
