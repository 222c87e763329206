"""Long tool results are shortened when they come in, before the model reads them.

Preview, ref and archive are those of the strategy `offload`, as in the hooks of hosts.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import ToolCall, is_array, is_object
from context_compression.loops.calling import Ran
from context_compression.moved import held_elsewhere
from context_compression.session import Session
from context_compression.session.tool_results import AnsweredCall, offload_result, recent_talk


def shortened(session: Session, calls: Sequence[ToolCall], done: Sequence[Ran]) -> list[Ran]:
    """The results; a text of at least `offload_min_tokens` is archived, and its preview returned.

    With `auto_compress` off they stay as they are.
    """
    if not session.settings.auto_compress:
        return [*done]
    recent = recent_talk(parse(session.view()).messages)

    def shorten(call: ToolCall, text: str) -> str:
        return offload_result(session, AnsweredCall(call, text, recent=recent)) or text

    def content_of(call: ToolCall, content: Any) -> Any:
        if isinstance(content, str):
            return shorten(call, content)
        if not is_array(content):
            return content
        return [
            {**part, "text": shorten(call, part["text"])}
            if is_object(part) and part.get("type") == "text" and isinstance(part.get("text"), str)
            else part
            for part in content
        ]

    by_id = {call.id: call for call in calls}
    return [
        replace(ran, content=content_of(by_id[ran.call_id], ran.content))
        if ran.call_id in by_id
        else ran
        for ran in done
    ]


__getattr__ = held_elsewhere(__name__)
