"""What the AI SDK refuses in `messages` (ModelMessage), or what a provider behind it would.

Sources: the AI SDK's reference of ModelMessage and its parts; its errors InvalidPrompt,
MissingToolResults, InvalidToolApproval, ToolCallNotFoundForApproval.
"""

from collections.abc import Iterator
from typing import Any

from provider.reading import Json, Messages, blocks, call_ids, kind, result_ids, twice

PARTS = {
    "user": {"text", "image", "file"},
    "assistant": {
        "text", "file", "reasoning", "reasoning-file", "custom", "tool-call", "tool-result",
        "tool-approval-request",
    },
    "tool": {"tool-result", "tool-approval-response"},
}  # fmt: skip
"""Parts that a message of each role may hold."""


def rules(messages: Messages) -> Iterator[str]:
    """Every rule of this kind of messages."""
    for number, message in enumerate(messages):
        yield from _shape(number, message)
    yield from _run_by_provider(messages)
    yield from _pairs(messages)
    yield from _approvals(messages)


def _shape(number: int, message: Json) -> Iterator[str]:
    """Four roles; the system's content is a string, a tool's a list; parts fit their role.

    A part of a type that no role has is left to the SDK of tomorrow.
    """
    role, content = str(message.get("role")), message.get("content")
    if role not in ("system", *PARTS):
        yield f"message {number} has role {role}"
    legal = {"system": (str,), "tool": (list,)}.get(role, (str, list))
    if not isinstance(content, legal):
        yield f"the content of message {number} is {type(content).__name__}"
    elif not any(_says(part) for part in blocks(message)):
        yield f"message {number} is empty"
    for part in blocks(message) if isinstance(content, list) else ():
        known = any(kind(part) in parts for parts in PARTS.values())
        if known and kind(part) not in PARTS.get(role, ()):
            yield f"message {number} of role {role} holds a {kind(part)}"


def _says(part: Json) -> bool:
    """Empty texts are left out by the SDK."""
    return kind(part) != "text" or bool(part.get("text"))


def _run_by_provider(messages: Messages) -> Iterator[str]:
    """A call that the provider runs has its result in what the assistant says, behind it."""
    running: list[Any] = []
    for message in messages:
        if message.get("role") == "user":
            yield from (f"no result of {call_id}, run by the provider" for call_id in running)
            running = []
        for part in blocks(message) if message.get("role") == "assistant" else ():
            if kind(part) == "tool-call" and part.get("providerExecuted"):
                running.append(part.get("toolCallId"))
            elif kind(part) == "tool-result":
                if part.get("toolCallId") not in running:
                    yield f"tool-result {part.get('toolCallId')} without its call"
                else:
                    running.remove(part.get("toolCallId"))


def _pairs(messages: Messages) -> Iterator[str]:
    """The tool messages behind an assistant's answer each of its calls, once ("Tool results are
    missing for tool calls"); ids are used once.
    """
    ids = [call_id for message in messages for call_id in call_ids(message)]
    yield from (f"a call id is used twice: {call_id}" for call_id in twice(ids))
    waiting: list[str] = []
    for number, message in enumerate(messages):
        if message.get("role") == "tool":
            for call_id in result_ids(message):
                if call_id not in waiting:
                    yield f"message {number} answers {call_id}, not just called"
                else:
                    waiting.remove(call_id)
            continue
        if waiting:
            yield f"tool-calls without tool-result: {waiting}"
        waiting = call_ids(message)


def _approvals(messages: Messages) -> Iterator[str]:
    """A response names a request before it, a request a call ("references unknown approvalId",
    "Tool call … not found for approval request").
    """
    calls, requests = set[Any](), set[Any]()
    for message in messages:
        for part in blocks(message):
            if kind(part) == "tool-call":
                calls.add(part.get("toolCallId"))
            elif kind(part) == "tool-approval-request":
                requests.add(part.get("approvalId"))
                if part.get("toolCallId") not in calls:
                    yield f"approval {part.get('approvalId')} is asked for no call"
            elif kind(part) == "tool-approval-response" and part.get("approvalId") not in requests:
                yield f"approval {part.get('approvalId')} is answered without a request"
