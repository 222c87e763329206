"""Answers to Gemini CLI's hooks, in its own JSON. Seen in version 0.61.0.

AfterTool      a large result becomes its preview; `replacing` says how
BeforeModel    the texts of a request that is too long, compressed; calls and results stay
SessionStart   of a resumed session: the list of what was archived, and how to restore it
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import (
    COMPRESSED,
    ToolCall,
    as_object,
    is_array,
    is_object,
)
from context_compression.hooks.host_compaction import answer_after_compaction
from context_compression.hooks.requests import positions_in, session_of, view_to_send
from context_compression.hosts.gemini_cli.about import NAME, TITLE
from context_compression.hosts.gemini_cli.replacing import answer_with
from context_compression.session.arrivals import AnsweredCall, offload_result
from context_compression.threads import in_thread
from context_compression.transcripts.lines import string
from context_compression.transcripts.transcript import folder_name
from context_compression.workspace import Workspace

FENCE = ("<untrusted_context>\n", "\n</untrusted_context>")
"""The marks that Gemini CLI puts around tool results from outside sources."""
LEFT_OUT = f"{COMPRESSED} What stood here is part of the summary."
ROLES = {"model": "assistant"}
OWN = re.compile(r"(?:\s*<(session_context|hook_context)>.*?</\1>\s*)+", re.S)


async def answer(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer to an event; `{}` changes nothing."""
    match string(event, "hook_event_name"):
        case "AfterTool":
            return await in_thread(partial(_after_tool, workspace, event))
        case "BeforeModel":
            return await in_thread(partial(_before_model, workspace, event))
        case "SessionStart" if event.get("source") == "resume":
            return await in_thread(partial(_after_resume, workspace, event))
        case _:
            return {}


def _after_tool(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    response = as_object(event.get("tool_response"))
    text = _text(response.get("llmContent"))
    if text is None or response.get("error") or event.get("original_request_name"):
        return {}  # the last is set where `read_file` just read a preview
    start, end = FENCE
    fenced = text.startswith(start) and text.endswith(end)
    if fenced:
        text = text[len(start) : -len(end)]
    call = ToolCall("", string(event, "tool_name"), event.get("tool_input"))
    kept = offload_result(
        session_of(workspace, event, NAME), AnsweredCall(call, text, is_final=True)
    )
    if kept is None:
        return {}
    return answer_with(f"{start}{kept}{end}" if fenced else kept, workspace, event)


def _after_resume(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    return answer_after_compaction(workspace, folder_name(string(event, "session_id")), TITLE)


def _text(content: Any) -> str | None:
    """The text of a tool result; `None` if it is not only text."""
    if isinstance(content, str):
        return content
    parts = content if is_array(content) else [content]
    texts = [part.get("text") for part in parts if is_object(part)]
    strings = [text for text in texts if isinstance(text, str)]
    return "".join(strings) if strings and len(strings) == len(parts) else None


def _before_model(workspace: Workspace, event: Mapping[str, Any]) -> Mapping[str, Any]:
    request = as_object(event.get("llm_request"))
    shown = [
        (string(message, "role"), *_split(string(message, "content")))
        for message in request.get("messages") or ()
    ]
    texts = [{"role": ROLES.get(role, "user"), "content": content} for role, _, content in shown]
    # no transcript has the texts alone as its conversation, so they get a session of their own
    about = {"session_id": f"{string(event, 'session_id')}-texts", "model": request.get("model")}
    view = view_to_send(session_of(workspace, about, NAME), texts)
    if view is None or not texts:
        return {}
    messages = [
        {"role": role, "content": head + text["content"]}
        for (role, head, _), text in zip(shown, in_place(view, texts), strict=True)
    ]
    output = {"hookEventName": "BeforeModel", "llm_request": {"messages": messages}}
    return {"hookSpecificOutput": output}


def _split(text: str) -> tuple[str, str]:
    """The part that Gemini CLI put before a user's text (may be empty), and the text itself."""
    head = OWN.match(text)
    return (head[0], text[head.end() :]) if head and head.end() < len(text) else ("", text)


def in_place(
    view: Sequence[Mapping[str, Any]], texts: Sequence[Mapping[str, str]]
) -> Iterator[Mapping[str, str]]:
    """A view with as many texts as `texts`, each in the same role.

    A new text goes to the next place of its own role: in place of a text that left, or to the start
    of a text that stays. Without a next one it goes to the end of the one before. A text that left
    and has no replacement becomes `LEFT_OUT`. This is for a host that puts texts back by their
    number.
    """
    kept: set[int] = set()
    before: list[list[str]] = [[] for _ in texts]  # by place: new texts, and those that stay
    after: list[list[str]] = [[] for _ in texts]
    last = -1
    for part in positions_in(view, texts):
        if isinstance(part, int):
            kept.add(part)
            last = part
            continue
        new = parse([part]).messages[0]
        places = [place for place, text in enumerate(texts) if text["role"] == new.role]
        places = places or [*range(len(texts))]
        place = next((place for place in places if place > last), None)
        (after[places[-1]] if place is None else before[place]).append(new.text)
    for place, text in enumerate(texts):
        own = [text["content"]] if place in kept else []
        content = [*before[place], *own, *after[place]]
        yield {**text, "content": "\n\n".join(content or [LEFT_OUT])}
