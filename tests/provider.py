"""What the two providers refuse, read off the dicts that would be sent; knows none of our code.

Rules from the API references of Anthropic Messages and OpenAI Chat Completions. A conversation may
end in the middle of a tool step: the next thing to happen is the missing result.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

Messages = Sequence[Mapping[str, Any]]


def refused(messages: Messages, dialect: str) -> list[str]:
    """Why the provider would refuse the conversation; empty when it would not."""
    rules = _by_openai if dialect == "openai" else _by_anthropic
    return [*_ids(messages), *rules(messages)]


def call_ids(message: Mapping[str, Any]) -> list[str]:
    """Ids of the tool calls of a message, in order."""
    calls = [block for block in blocks(message) if block.get("type") == "tool_use"]
    return [call["id"] for call in (*calls, *(message.get("tool_calls") or ()))]


def result_ids(message: Mapping[str, Any]) -> list[str]:
    """Ids of the calls that a message answers, in order."""
    ids = [b["tool_use_id"] for b in blocks(message) if b.get("type") == "tool_result"]
    return ids + ([message["tool_call_id"]] if "tool_call_id" in message else [])


def blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The content as blocks; a string is one text."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content or [])


def _ids(messages: Messages) -> Iterator[str]:
    ids = [call_id for message in messages for call_id in call_ids(message)]
    if len(ids) != len(set(ids)):
        yield "a call id is used twice"


def _by_anthropic(messages: Messages) -> Iterator[str]:
    spoken = [message for message in messages if message["role"] != "system"]
    if spoken and spoken[0]["role"] != "user":
        yield "the first message is not the user's"
    for number, message in enumerate(messages):
        strange = result_ids if message["role"] == "assistant" else call_ids
        if strange(message):
            yield f"message {number} of role {message['role']} holds calls or results"
        thinks = any("thinking" in str(b.get("type")) for b in blocks(message))
        if thinks and message["role"] != "assistant":
            yield f"message {number} of role {message['role']} thinks"
        if not blocks(message):
            yield f"message {number} is empty"
        if any(b.get("type") == "text" and not b.get("text") for b in blocks(message)):
            yield f"message {number} has an empty text"
    waiting: list[str] = []
    for role, group in groupby(spoken, key=lambda message: message["role"]):
        said = list(group)
        if role == "assistant":
            for message in said:
                if waiting:
                    yield f"calls without result: {waiting}"
                waiting = call_ids(message)
            continue
        merged = [block for message in said for block in blocks(message)]
        kinds = [block.get("type") == "tool_result" for block in merged]
        if kinds != sorted(kinds, reverse=True):
            yield "results do not stand first"
        answers = [call_id for message in said for call_id in result_ids(message)]
        if len(answers) != len(set(answers)) or not set(answers) <= set(waiting):
            yield f"results {answers} for calls {waiting}"
        waiting = [call_id for call_id in waiting if call_id not in answers]
        if waiting and (said[-1] is not messages[-1] or not all(kinds)):
            yield f"calls without result: {waiting}"


def _by_openai(messages: Messages) -> Iterator[str]:
    waiting: list[str] = []
    for number, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                yield f"message {number} answers {message.get('tool_call_id')}, not just called"
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield f"calls without result: {waiting}"
        if "tool_call_id" in message:
            yield f"message {number} of role {role} has a tool_call_id"
        if "tool_calls" in message and role != "assistant":
            yield f"message {number} of role {role} makes calls"
        if any(b.get("type") == "text" and not b.get("text") for b in blocks(message)):
            yield f"message {number} has an empty text"
        keys = ("content", "tool_calls", "refusal", "function_call")
        if role != "function" and not any(message.get(key) for key in keys):
            yield f"message {number} is empty"
        waiting = call_ids(message)
