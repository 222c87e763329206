"""ModelMessages of Vercel's AI SDK: content is a string or typed parts, `tool-call` among them.

Shapes and rules from the AI SDK's reference (ModelMessage, its parts and prompts):

* the `tool-result` of a `tool-call` is in the tool messages directly after it. If the provider ran
  the tool itself, the result is in the assistant's own content;
* an approval response needs its approval request;
* the SDK sends to any provider, so the first message is the user's, as the strictest provider
  requires;
* `reasoning` with a signature from Anthropic or Bedrock is bound to everything before it. OpenAI
  refuses a part with an `itemId` if the reasoning it came with is missing, so the `itemId` is
  removed together with the reasoning;
* a call that Gemini signed in the current turn must be sent back unchanged.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from context_compression.conversation.formats.parts import (
    OPTIONS,
    Ids,
    ProviderRules,
    as_written,
    is_compaction,
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
    objects,
)

TOOLS = ("tool-call", "tool-result", "tool-approval-request", "tool-approval-response")
SIGNED = ("signature", "redactedData")
"""Provider options that seal or sign reasoning, which binds it to everything before it."""
SIGNATURE = "thoughtSignature"
"""The option that holds Gemini's signature of a call; it is removed from a call that was edited."""


def certainty(message: Mapping[str, Any]) -> int:
    """How surely a message is of this dialect.

    2 for a tool part of this dialect, 1 for another part or key that only this dialect has, else 0.
    """
    content = message.get("content")
    parts = objects(content)
    if any(part.get("type") in TOOLS for part in parts):
        return 2
    return int(not message.keys().isdisjoint(OPTIONS) or any(_is_own(part) for part in parts))


def _is_own(part: Mapping[str, Any]) -> bool:
    kind = part.get("type")
    return (
        (kind == "reasoning" and "text" in part)
        or (kind == "image" and "image" in part)
        or not part.keys().isdisjoint(OPTIONS)
        or (kind in ("file", "reasoning-file") and bool(part.keys() & {"mediaType", "mimeType"}))
    )


class AISDKFormat:
    """Reads and writes ModelMessages."""

    name = "ai-sdk"
    system_apart = False
    flags_errors = True
    rules = ProviderRules(
        user_first=True, results_role="tool", join="calls", lone_reasoning="end of a turn"
    )

    def read(self, message: Mapping[str, Any], ids: Ids | None = None) -> Message:
        """The message as a value."""
        content = message.get("content")
        if isinstance(content, str):
            return Message(role_of(message), (Text(content),) if content else (), message)
        parts = content if is_array(content) else ()
        role = role_of(message)
        blocks = tuple(_read_part(part, role) for part in parts)
        return Message(role, blocks, message)

    def write(self, message: Message) -> dict[str, Any]:
        """An edited or new message as a dict; unknown keys are kept."""
        pattern = message.pattern
        blocks = message.blocks
        was_text = not pattern or isinstance(pattern.get("content"), str)
        if was_text and len(blocks) == 1 and isinstance(blocks[0], Text) and not blocks[0].source:
            return {**pattern, "role": message.role, "content": blocks[0].text}
        content = [_write_part(block) for block in blocks]
        if _has_reasoning(pattern.get("content")) and not _has_reasoning(content):
            content = [_without_option(part, "itemId") for part in content]
        return {**pattern, "role": message.role, "content": content}


FORMAT = AISDKFormat()


def _read_part(part: Any, role: str = "assistant") -> Block:
    if not is_object(part):
        return Text(part) if isinstance(part, str) else Opaque(part)
    match part:
        case _ if role == "assistant" and is_compaction(part):
            return opaque(part)
        case {"type": "text", "text": str(text)}:
            return Text(text, part)
        case {"type": "reasoning", "text": str(text)}:
            given = [*_options(part)]
            sealed = any("redactedData" in option for option in given)
            bound = any(not option.keys().isdisjoint(SIGNED) for option in given)
            return Thinking(text, redacted=sealed, bound=bound, source=part)
        case {"type": "tool-call", "toolCallId": str(call_id), "toolName": str(name)}:
            if part.get("providerExecuted"):
                return Opaque(part, call_id, opens=True)
            given = part.get("input", part.get("args", {}))
            text = as_written(given)
            arguments = parsed(text) if text else given
            signed = any(option.get(SIGNATURE) for option in _options(part))
            return ToolCall(call_id, name, arguments, part, signed=signed, written=text)
        case {"type": "tool-result", "toolCallId": str(call_id)}:
            if role != "tool":
                return Opaque(part, call_id)
            name = str(part.get("toolName", ""))
            content, failed = _read_output(part)
            said = _denial(part.get("output"))
            return ToolResult(call_id, content, failed, part, name, said=said)
        case {"type": "tool-approval-request", "approvalId": str(unit)}:
            return Opaque(part, unit, opens=True)
        case {"type": "tool-approval-response", "approvalId": str(unit)}:
            return Opaque(part, unit)
        case {"type": "image"}:
            return Image(part)
        case {"type": "file"}:
            kind = str(part.get("mediaType") or part.get("mimeType") or "")
            return Image(part) if kind.startswith("image/") else Document(source=part)
        case _:
            return Opaque(part)


def _options(part: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The options and metadata of each provider on a part."""
    for key in OPTIONS:
        given = part.get(key)
        if is_object(given):
            yield from (option for option in given.values() if is_object(option))


def _read_output(part: Mapping[str, Any]) -> tuple[tuple[Block, ...], bool]:
    """The content of a tool's output, and whether the tool failed; older versions use `result`."""
    output = part.get("output", part.get("result"))
    if not is_object(output) or "type" not in output:
        texts = () if output in (None, "") else (Text(_as_text(output)),)
        return texts, bool(part.get("isError"))
    value, kind = output.get("value", output.get("reason")), str(output["type"])
    if kind == "content" and is_array(value):
        return tuple(map(_read_piece, value)), False
    texts = () if value in (None, "") else (Text(_as_text(value)),)
    return texts, kind.startswith(("error", "execution-denied"))


def _denial(output: Any) -> str:
    """The user's reason in the output of a denied call; `""` in any other output."""
    denied = is_object(output) and output.get("type") == "execution-denied"
    reason = output.get("reason") if denied else None
    return reason.strip() if isinstance(reason, str) else ""


def _read_piece(piece: Any) -> Block:
    """One piece of a result's content: a text, a picture or a file."""
    match piece:
        case {"type": "text", "text": str(text)}:
            return Text(text, piece)
        case {"type": str(kind)} if kind.startswith("image"):
            return Image(piece)
        case {"type": "media" | "file-data" | "file-url" | "file-id"}:
            media = str(piece.get("mediaType") or "")
            return Image(piece) if media.startswith("image/") else Document(source=piece)
        case _:
            return Opaque(piece)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _write_part(block: Block) -> Any:
    match block:
        case Text():
            return (
                block.source if block.source is not None else {"type": "text", "text": block.text}
            )
        case ToolCall():
            if block.source is not None and _read_part(block.source) == block:
                return block.source
            pattern = _without_option(block.source or {"type": "tool-call"}, SIGNATURE)
            given = "args" if "args" in pattern else "input"
            return {
                **pattern,
                "toolCallId": block.id,
                "toolName": block.name,
                given: block.written or block.arguments,
            }
        case ToolResult():
            return _write_result(block)
        case _:
            return block.source


def _write_result(result: ToolResult) -> Any:
    if result.source is not None and _read_part(result.source, "tool") == result:
        return result.source
    pattern: dict[str, Any] = dict(
        result.source or {"type": "tool-result", "toolName": result.name}
    )
    pattern["toolCallId"] = result.call_id
    old = "result" in pattern and "output" not in pattern
    if old:
        return {**pattern, "result": result.text}
    others = [block for block in result.content if not isinstance(block, Text)]
    if others or len(result.content) > 1:
        value = [_write_part(block) for block in result.content]
        return {**pattern, "output": {"type": "content", "value": value}}
    kind = "error-text" if result.is_error else "text"
    return {**pattern, "output": {"type": kind, "value": result.text}}


def _has_reasoning(content: Any) -> bool:
    return is_array(content) and any(is_object(p) and p.get("type") == "reasoning" for p in content)


def _without_option(part: Any, gone: str) -> Any:
    """The part without the provider option `gone`."""
    if not is_object(part):
        return part
    made = dict(part)
    for key in OPTIONS:
        given = part.get(key)
        if is_object(given) and any(is_object(v) and gone in v for v in given.values()):
            made[key] = {
                name: {k: v for k, v in option.items() if k != gone}
                if is_object(option)
                else option
                for name, option in given.items()
            }
    return made
