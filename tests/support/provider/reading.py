"""Finds blocks, calls and results in the dicts of any dialect, by their keys."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

Json: TypeAlias = Mapping[str, Any]
Messages: TypeAlias = Sequence[Json]

HALF = re.compile("[\ud800-\udfff]")


def is_object(value: Any) -> TypeGuard[Json]:
    """Whether it is a JSON object."""
    return isinstance(value, Mapping)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether it is a JSON array."""
    return isinstance(value, list)


def blocks(message: Json) -> list[dict[str, Any]]:
    """The content, or Gemini's parts, as blocks; a string is one text."""
    content = message.get("content", message.get("parts"))
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [block for block in content if isinstance(block, dict)] if is_list(content) else []


def kind(block: Json) -> str:
    """Its `type`, or "" where it has none."""
    return str(block.get("type") or "")


def under(block: Json, *names: str) -> Json | None:
    """What stands under the first of the names that the block has: `{"toolUse": {…}}`."""
    return next((block[name] for name in names if is_object(block.get(name))), None)


def call_ids(message: Json) -> list[str]:
    """Ids of the tool calls that the caller of the model answers, in order; none without an id."""
    calls = [*map(_called, blocks(message)), *_listed(message.get("tool_calls"))]
    if kind(message) == "function_call":
        calls.append(message.get("call_id"))
    return [call_id for call_id in calls if isinstance(call_id, str)]


def result_ids(message: Json) -> list[str]:
    """Ids of the calls that a message answers, in order."""
    ids = [*map(_answered, blocks(message)), message.get("tool_call_id")]
    if kind(message) == "function_call_output":
        ids.append(message.get("call_id"))
    return [call_id for call_id in ids if isinstance(call_id, str)]


def _listed(calls: Any) -> Iterator[Any]:
    return (call.get("id") for call in (calls or ()) if is_object(call))


def _called(block: Json) -> Any:
    if kind(block) == "tool_use":
        return block.get("id")
    if kind(block) == "tool-call" and not block.get("providerExecuted"):
        return block.get("toolCallId")
    used = under(block, "toolUse")
    if used is not None:
        return None if "type" in used else used.get("toolUseId")
    return (under(block, "functionCall", "function_call") or {}).get("id")


def _answered(block: Json) -> Any:
    if kind(block) == "tool_result":
        return block.get("tool_use_id")
    if kind(block) == "tool-result":
        return block.get("toolCallId")
    result = under(block, "toolResult")
    if result is not None:
        return None if "type" in result else result.get("toolUseId")
    return (under(block, "functionResponse", "function_response") or {}).get("id")


def twice(ids: Iterable[Any]) -> list[Any]:
    """Those that come more than once: `twice("abab") -> ["a", "b"]`."""
    return [found for found, times in Counter(ids).items() if times > 1]


def half_characters(messages: Messages) -> Iterator[str]:
    """Lone surrogates: they have no UTF-8, so no request can hold them (RFC 8259, section 8.1)."""
    for number, message in enumerate(messages):
        if any(HALF.search(text) for text in strings(message)):
            yield f"message {number} holds half a character"


def strings(value: Any) -> Iterator[str]:
    """Every string in parsed JSON, keys too."""
    if isinstance(value, str):
        yield value
    elif is_object(value):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif is_list(value):
        for item in value:
            yield from strings(item)
