"""Anthropic Messages: content is a string or a list of typed blocks; user messages hold results.

Shapes and rules from the Messages API reference and its pages on tool use, extended thinking,
preserved thinking and server tools:

* the first message is the user's; the API joins neighbouring messages of one role;
* the `tool_result` of each `tool_use` is at the beginning of the next user turn;
* the result of a `server_tool_use` or `mcp_tool_use` follows it in the assistant's content; a
  `tool_use` with a `caller` belongs to the server tool that makes the call;
* the signature of `thinking` and `redacted_thinking` binds them to everything before them;
* a deferred tool may be called only after a `tool_reference` has named it;
* ids match `[a-zA-Z0-9_-]+`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, assert_never

from context_compression.conversation.formats.parts import (
    COMPACTION,
    Ids,
    anthropic_like,
    as_written,
    opaque,
    parsed,
    role_of,
)
from context_compression.conversation.messages import (
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_array,
    is_object,
)

SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
TOOLS = ("tool_use", "tool_result", *SERVER_CALLS)
OTHERS = ("thinking", "redacted_thinking", "document", COMPACTION)


def certainty(message: Mapping[str, Any]) -> int:
    """How surely a message is of this dialect.

    2 for a tool block of this dialect, 1 for another block that only this dialect has, else 0.
    """
    content = message.get("content")
    blocks = [block for block in content if is_object(block)] if is_array(content) else []
    if any(block.get("type") in TOOLS for block in blocks):
        return 2
    return int(any(block.get("type") in OTHERS or _is_image(block) for block in blocks))


def _is_image(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "image" and "source" in block


class AnthropicFormat:
    """Reads and writes Anthropic messages."""

    name = "anthropic"
    system_apart = True
    flags_errors = True
    rules = anthropic_like()

    def read(self, message: Mapping[str, Any], ids: Ids | None = None) -> Message:
        """The message as a value."""
        return Message(role_of(message), read_content(message.get("content")), message)

    def write(self, message: Message) -> dict[str, Any]:
        """An edited or new message as a dict; unknown keys are kept."""
        pattern = message.pattern
        blocks = message.blocks
        plain = not pattern or isinstance(pattern.get("content"), str)
        if plain and len(blocks) == 1 and isinstance(blocks[0], Text) and not blocks[0].source:
            return {**pattern, "role": message.role, "content": blocks[0].text}
        content = [write_block(block) for block in blocks]
        if units_in(pattern.get("content")) - units_in(content):
            content = [_without_citations(block) for block in content]
        return {**pattern, "role": message.role, "content": content}


FORMAT = AnthropicFormat()


def units_in(content: Any) -> set[str]:
    """The ids of the server tool calls whose results a `content` value holds."""
    blocks = map(read_block, content) if is_array(content) else ()
    return {b.unit for b in blocks if isinstance(b, Opaque) and b.unit and not b.opens}


def _without_citations(block: Any) -> Any:
    """The text block without its citations, whose targets were removed."""
    if not is_object(block) or block.get("type") != "text" or "citations" not in block:
        return block
    return {key: value for key, value in block.items() if key != "citations"}


def read_content(content: Any) -> tuple[Block, ...]:
    """The blocks of a `content` value; a string becomes one `Text`."""
    if content is None:
        return ()
    if isinstance(content, str):
        return (Text(content),)
    if not is_array(content):
        return (Opaque(content),)
    return tuple(map(read_block, content))


def read_block(block: Any) -> Block:
    """One content block as a value; `Opaque` if its shape is not a documented one."""
    if not is_object(block):
        return Text(block) if isinstance(block, str) else Opaque(block)
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text, block)
        case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
            caller = block.get("caller")
            unit = caller.get("tool_id") if is_object(caller) else None
            given = block.get("input", {})
            text = as_written(given)
            given = parsed(text) if text else given
            return ToolCall(call_id, name, given, block, unit=unit or "", written=text)
        case {"type": "tool_result", "tool_use_id": str(call_id)}:
            content = read_content(block.get("content"))
            return ToolResult(call_id, content, bool(block.get("is_error")), block)
        case {"type": "thinking", "thinking": str(text)}:
            return Thinking(text, bound=True, source=block)
        case {"type": "redacted_thinking"}:
            return Thinking("", redacted=True, bound=True, source=block)
        case {"type": "image"}:
            return Image(block)
        case {"type": "document", "source": {"type": "text", "data": str(text)}}:
            return Document(text, block)
        case {"type": "document"}:
            return Document(source=block)
        case {"type": "server_tool_use" | "mcp_tool_use", "id": str(unit)}:
            return Opaque(block, unit, opens=True)
        case {"type": str(kind), "tool_use_id": str(unit)} if kind.endswith("_tool_result"):
            return Opaque(block, unit, declares=_declared(block.get("content")))
        case {"type": "tool_reference", "tool_name": str(name)}:
            return Opaque(block, declares=(name,))
        case _:
            return opaque(block)


def _declared(content: Any) -> tuple[str, ...]:
    """The names of the tools that a tool search returned."""
    references = content.get("tool_references") if is_object(content) else None
    return tuple(
        str(reference["tool_name"])
        for reference in (references if is_array(references) else ())
        if is_object(reference) and "tool_name" in reference
    )


def write_block(block: Block) -> Any:
    """A block as a dict: its `source` if it has one and was not edited, else a new dict."""
    match block:
        case ToolResult():
            return _write_result(block)
        case ToolCall():
            return _write_call(block)
        case Text():
            return (
                block.source if block.source is not None else {"type": "text", "text": block.text}
            )
        case Thinking() | Image() | Document() | Opaque():
            return block.source
        case _:
            assert_never(block)


def _write_call(call: ToolCall) -> Any:
    """A call as a dict; `caller` is removed if the call no longer belongs to a server tool."""
    if call.source is not None and read_block(call.source) == call:
        return call.source
    pattern = dict(call.source or {"type": "tool_use"})
    if not call.unit:
        pattern.pop("caller", None)
    return {**pattern, "id": call.id, "name": call.name, "input": call.written or call.arguments}


def _write_result(block: ToolResult) -> dict[str, Any]:
    """A result as a dict; its content stays a string if it was one."""
    pattern: dict[str, Any] = dict(block.source or {"type": "tool_result"})
    if block.source is not None and read_block(pattern) == replace(block, source=pattern):
        return block.source
    content: Any = [write_block(part) for part in block.content]
    if len(block.content) == 1 and isinstance(block.content[0], Text):
        first = block.content[0]
        if isinstance(pattern.get("content", ""), str):
            content = first.text
    written = {**pattern, "tool_use_id": block.call_id, "content": content}
    return written | ({"is_error": True} if block.is_error else {})
