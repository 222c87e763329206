"""Anthropic Messages: content is a string or a list of typed blocks; results are the user's.

Shapes from the Messages API reference: text, thinking, redacted_thinking, tool_use, tool_result,
image, document, server_tool_use and its results. Server tools run inside one message: both halves
are carried as they are.
"""

from collections.abc import Mapping
from typing import Any, assert_never

from context_compression.messages import (
    Block,
    Document,
    Edited,
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

TOOLS = ("tool_use", "tool_result")
OTHERS = ("thinking", "redacted_thinking", "image", "document")


def uses_tools(message: Mapping[str, Any]) -> bool:
    """Whether the message holds a call or a result as only this dialect has them."""
    return _holds(message, TOOLS)


def shows(message: Mapping[str, Any]) -> bool:
    """Whether it holds another block that only this dialect has."""
    return _holds(message, OTHERS)


def _holds(message: Mapping[str, Any], types: tuple[str, ...]) -> bool:
    content = message.get("content")
    return is_array(content) and any(
        is_object(block) and block.get("type") in types for block in content
    )


class AnthropicFormat:
    """Reads and writes Anthropic messages."""

    name = "anthropic"
    user_first = True

    def read(self, message: Mapping[str, Any]) -> Message:
        """The message as a value."""
        return Message(message["role"], read_content(message.get("content")), message)

    def write(self, message: Message) -> dict[str, Any]:
        """An edited or new message as a dict; keys we do not know stay."""
        pattern = dict(message.source) if isinstance(message, Edited) and message.source else {}
        blocks = message.blocks
        plain = not pattern or isinstance(pattern.get("content"), str)
        if plain and len(blocks) == 1 and isinstance(blocks[0], Text) and not blocks[0].source:
            return {**pattern, "role": message.role, "content": blocks[0].text}
        content = [write_block(block) for block in blocks]
        return {**pattern, "role": message.role, "content": content}


FORMAT = AnthropicFormat()


def read_content(content: Any) -> tuple[Block, ...]:
    """Blocks of a `content` value: a string is one text."""
    if content is None:
        return ()
    if isinstance(content, str):
        return (Text(content),)
    if not is_array(content):
        return (Opaque(content),)
    return tuple(map(read_block, content))


def read_block(block: Any) -> Block:
    """One content block as a value; whatever does not look as documented is opaque."""
    if not is_object(block):
        return Text(block) if isinstance(block, str) else Opaque(block)
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text, block)
        case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
            return ToolCall(call_id, name, block.get("input", {}), block)
        case {"type": "tool_result", "tool_use_id": str(call_id)}:
            content = read_content(block.get("content"))
            return ToolResult(call_id, content, bool(block.get("is_error")), block)
        case {"type": "thinking", "thinking": str(text)}:
            return Thinking(text, source=block)
        case {"type": "redacted_thinking"}:
            return Thinking("", redacted=True, source=block)
        case {"type": "image"}:
            return Image(block)
        case {"type": "document", "source": {"type": "text", "data": str(text)}}:
            return Document(text, block)
        case {"type": "document"}:
            return Document(source=block)
        case _:
            return Opaque(block)


def write_block(block: Block) -> Any:
    """A block as a dict: its own `source` where it has one, else made new."""
    match block:
        case ToolResult():
            return _write_result(block)
        case ToolCall():
            if block.source is not None and read_block(block.source) == block:
                return block.source
            pattern = dict(block.source or {"type": "tool_use"})
            return {**pattern, "id": block.id, "name": block.name, "input": block.arguments}
        case Text():
            return (
                block.source if block.source is not None else {"type": "text", "text": block.text}
            )
        case Thinking() | Image() | Document() | Opaque():
            return block.source
        case _:
            assert_never(block)


def _write_result(block: ToolResult) -> dict[str, Any]:
    """A result as a dict; its content is a string where it was one."""
    pattern: dict[str, Any] = dict(block.source or {"type": "tool_result"})
    if pattern.get("tool_use_id") == block.call_id and read_content(pattern.get("content")) == (
        block.content
    ):
        return block.source
    content: Any = [write_block(part) for part in block.content]
    if len(block.content) == 1 and isinstance(block.content[0], Text):
        first = block.content[0]
        if isinstance(pattern.get("content", ""), str):
            content = first.text
    written = {**pattern, "tool_use_id": block.call_id, "content": content}
    return written | ({"is_error": True} if block.is_error else {})
