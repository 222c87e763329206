"""Bedrock Converse: content is a list of blocks, and the key of each block names its kind.

Shapes and rules from the Bedrock Runtime API reference (Message, ContentBlock) and its page on the
Converse API:

* user and assistant alternate, the user first; content is never empty, and no text is blank;
* the message after a `toolUse` holds its `toolResult`, and no result without a call;
* a `toolUseId` has 1 to 64 characters of `[a-zA-Z0-9_.:-]`;
* `reasoningContent` that is signed or redacted is bound to everything before it, as Anthropic's
  thinking is (AWS: Claude, thinking block binding).
"""

import json
from collections.abc import Mapping
from typing import Any

from context_compression.conversation.formats.parts import Ids, ProviderRules, role_of
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

BLOCKS = frozenset(
    {
        "text", "toolUse", "toolResult", "reasoningContent", "image", "document", "video", "audio",
        "cachePoint", "guardContent", "citationsContent", "searchResult",
    }
)  # fmt: skip


def certainty(message: Mapping[str, Any]) -> int:
    """2 if a block is of this dialect, else 0; the blocks of other dialects have a `type`."""
    content = message.get("content")
    parts = content if is_array(content) else ()
    return 2 * int(any(is_object(b) and "type" not in b and BLOCKS & {*b} for b in parts))


class BedrockFormat:
    """Reads and writes messages of Bedrock Converse."""

    name = "bedrock"
    system_apart = False
    flags_errors = True
    rules = ProviderRules(
        user_first=True, results_role="user", join="all", alternates=True,
        lone_reasoning="end of a turn",
    )  # fmt: skip

    def read(self, message: Mapping[str, Any], ids: Ids | None = None) -> Message:
        """The message as a value."""
        return Message(role_of(message), _read_content(message.get("content")), message)

    def write(self, message: Message) -> dict[str, Any]:
        """An edited or new message as a dict; unknown keys are kept."""
        pattern = message.pattern
        content = [_write_block(block) for block in message.blocks]
        return {**pattern, "role": message.role, "content": content}


FORMAT = BedrockFormat()


def _read_content(content: Any) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (Text(content),)
    return tuple(map(_read_block, content)) if is_array(content) else ()


def _read_block(block: Any) -> Block:
    if not is_object(block):
        return Text(block) if isinstance(block, str) else Opaque(block)
    match block:
        case {"text": str(text)}:
            return Text(text, block)
        case {"toolUse": {"toolUseId": str(call_id), "name": str(name)} as call}:
            return ToolCall(call_id, name, call.get("input", {}), block)
        case {"toolResult": {"toolUseId": str(call_id)} as result}:
            content = _read_content(result.get("content"))
            return ToolResult(call_id, content, result.get("status") == "error", block)
        case {"json": value}:
            return Text(json.dumps(value, ensure_ascii=False), block)
        case {"reasoningContent": reasoning}:
            return _read_reasoning(reasoning, block)
        case {"image": _}:
            return Image(block)
        case {"document": _}:
            return Document(source=block)
        case _:
            return Opaque(block)


def _read_reasoning(reasoning: Any, block: Mapping[str, Any]) -> Thinking:
    text = reasoning.get("reasoningText") if is_object(reasoning) else None
    if not is_object(text):
        return Thinking("", redacted=True, bound=True, source=block)
    return Thinking(str(text.get("text", "")), bound=bool(text.get("signature")), source=block)


def _write_block(block: Block) -> Any:
    match block:
        case Text():
            return block.source if block.source is not None else {"text": block.text}
        case ToolCall():
            if block.source is not None and _read_block(block.source) == block:
                return block.source
            source: Mapping[str, Any] = block.source or {}
            inner: Mapping[str, Any] = source.get("toolUse", {})
            given = block.arguments if is_object(block.arguments) else {"input": block.arguments}
            call = {**inner, "toolUseId": block.id, "name": block.name, "input": given}
            return {**source, "toolUse": call}
        case ToolResult():
            return _write_result(block)
        case _:
            return block.source


def _write_result(result: ToolResult) -> Any:
    if result.source is not None and _read_block(result.source) == result:
        return result.source
    source: Mapping[str, Any] = result.source or {}
    inner: Mapping[str, Any] = source.get("toolResult", {})
    content = [_write_block(part) for part in result.content] or [{"text": "(no text)"}]
    written = {**inner, "toolUseId": result.call_id, "content": content}
    written |= {"status": "error"} if result.is_error else {}
    return {**source, "toolResult": written}
