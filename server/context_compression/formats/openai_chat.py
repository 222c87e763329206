"""OpenAI Chat Completions: calls stand in `tool_calls`, each result is a message of role tool.

Shapes from the Chat Completions reference: content as string or parts (text, refusal, image_url,
input_audio, file), `refusal`, roles developer and tool, function and custom tool calls. The legacy
`function_call` has no id to pair by and is carried as it is.
"""

import json
from collections.abc import Mapping
from typing import Any

from context_compression.formats.plain import why_not_json
from context_compression.messages import (
    Block,
    Document,
    Edited,
    Image,
    Message,
    Opaque,
    Text,
    ToolCall,
    ToolResult,
    is_array,
    is_object,
)

PARTS = ("image_url", "input_audio", "file", "refusal")


def uses_tools(message: Mapping[str, Any]) -> bool:
    """Whether the message holds a call or a result as only this dialect has them."""
    called = message.get("tool_calls") or message.get("function_call")
    return bool(called) or message["role"] in ("tool", "function")


def shows(message: Mapping[str, Any]) -> bool:
    """Whether it holds another part that only this dialect has."""
    content = message.get("content")
    parts = content if is_array(content) else ()
    return bool(message.get("refusal")) or any(
        is_object(part) and part.get("type") in PARTS for part in parts
    )


class OpenAIChatFormat:
    """Reads and writes OpenAI Chat messages."""

    name = "openai"
    user_first = False

    def read(self, message: Mapping[str, Any]) -> Message:
        """The message as a value."""
        role = message["role"]
        content = _read_content(message.get("content"))
        if role == "tool" and isinstance(message.get("tool_call_id"), str):
            result = ToolResult(message["tool_call_id"], content, source=message)
            return Message("tool", (result,), message)
        if role == "function":
            return Message("tool", (Opaque(message),), message)
        extra: list[Block] = []
        if isinstance(message.get("refusal"), str):
            extra.append(Opaque({"refusal": message["refusal"]}))
        if message.get("function_call"):
            extra.append(Opaque({"function_call": message["function_call"]}))
        calls = message.get("tool_calls")
        if is_array(calls):
            extra.extend(_read_call(call) for call in calls)
        return Message(role, (*content, *extra), message)

    def write(self, message: Message) -> dict[str, Any]:
        """An edited or new message as a dict; keys we do not know stay."""
        pattern = dict(message.source) if isinstance(message, Edited) and message.source else {}
        written: dict[str, Any] = {**pattern, "role": message.role}
        for key in ("tool_calls", "tool_call_id", "refusal", "function_call"):
            written.pop(key, None)
        if message.results:
            result = message.results[0]
            content = _write_content(result.content, pattern)
            return {**written, "tool_call_id": result.call_id, "content": content}
        parts: list[Block] = []
        calls: list[Any] = []
        for block in message.blocks:
            if isinstance(block, ToolCall):
                calls.append(_write_call(block))
            elif isinstance(block, Opaque) and _is_key(block.source):
                written |= block.source
            else:
                parts.append(block)
        written["content"] = _write_content(tuple(parts), pattern) if parts or not calls else None
        return written | ({"tool_calls": calls} if calls else {})


FORMAT = OpenAIChatFormat()


def _read_content(content: Any) -> tuple[Block, ...]:
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (Text(content),)
    return tuple(map(_read_part, content))


def _read_part(part: Any) -> Block:
    match part:
        case str():
            return Text(part)
        case {"type": "text", "text": str(text)}:
            return Text(text, part)
        case {"type": "image_url"}:
            return Image(part)
        case {"type": "file"}:
            return Document(source=part)
        case _:
            return Opaque(part)


def _read_call(call: Any) -> Block:
    match call:
        case {"id": str(call_id), "function": {"name": str(name)}}:
            return ToolCall(call_id, name, _parsed(call["function"].get("arguments")), call)
        case {"id": str(call_id), "type": "custom", "custom": {"name": str(name)}}:
            return ToolCall(call_id, name, str(call["custom"].get("input", "")), call)
        case _:
            return Opaque({"tool_calls": [call]})


def _parsed(arguments: Any) -> Any:
    """Arguments as JSON where they are JSON that says the same when written again."""
    if not isinstance(arguments, str):
        return arguments if arguments is not None else ""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return value if is_object(value) and why_not_json(value) is None else arguments


def _write_call(call: ToolCall) -> Any:
    if call.source is None:
        function = {"name": call.name, "arguments": call.arguments_text}
        return {"id": call.id, "type": "function", "function": function}
    if _read_call(call.source) == call:
        return call.source
    key, argument = ("custom", "input") if "custom" in call.source else ("function", "arguments")
    inner = {**call.source[key], "name": call.name, argument: call.arguments_text}
    return {**call.source, "id": call.id, key: inner}


def _write_content(blocks: tuple[Block, ...], pattern: Mapping[str, Any]) -> Any:
    """A string where it was one or is new; else a list of parts."""
    if len(blocks) == 1 and isinstance(blocks[0], Text):
        was_list = isinstance(pattern.get("content"), list)
        if not was_list and blocks[0].source is None:
            return blocks[0].text
    if not blocks:
        return ""
    return [_write_part(block) for block in blocks]


def _write_part(block: Block) -> Any:
    if isinstance(block, Text):
        return block.source if block.source is not None else {"type": "text", "text": block.text}
    return block.source


def _is_key(source: Any) -> bool:
    """Whether an opaque block stands for a key of the message and not for a content part."""
    return is_object(source) and bool(source.keys() & {"refusal", "function_call", "tool_calls"})
