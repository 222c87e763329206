"""Items of OpenAI Responses: each message, call, result and piece of reasoning is its own item.

Shapes and rules from the Responses API reference (input items) and its guide on reasoning:

* the output of a call has its `call_id` and is anywhere after it; every output has its call;
* the parts of a message are `input_text`, `input_image` and `input_file`, those of the assistant
  `output_text` and `refusal`; any role may have a plain string instead;
* a `reasoning` item comes directly before the model's item that it belongs to, and is refused
  without that item. An item with an `id` is refused without the reasoning it came with ("was
  provided without its required 'reasoning' item"); it is accepted without its `id`. Reasoning is
  not bound to what comes before it;
* an `mcp_approval_response` is refused without its `mcp_approval_request`, and a
  `tool_search_output` of the agent's own program without its `tool_search_call`;
* the items of tools that OpenAI runs (web search, file search, code interpreter, MCP) hold both
  the call and its result;
* a `compaction` item holds the earlier conversation, encrypted. An `item_reference` names an item
  that only OpenAI has. Such items always stay, as do items of a type that is not known here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from context_compression.conversation.formats.parts import (
    COMPACTION,
    Ids,
    ProviderRules,
    as_written,
    given,
    opaque,
    parsed,
)
from context_compression.conversation.messages import (
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_array,
    is_object,
)

CALLS: Mapping[str, tuple[str, str]] = {
    "function_call": ("name", "arguments"),
    "custom_tool_call": ("name", "input"),
    "local_shell_call": ("type", "action"),
    "shell_call": ("type", "action"),
    "apply_patch_call": ("type", "operation"),
    "computer_call": ("type", "action"),
}
"""The calls that the agent's program answers, with the keys of the tool's name and arguments."""
RESULTS = tuple(f"{kind}_output" for kind in CALLS)
ASSISTANT_ITEMS = (
    "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
    "mcp_call", "mcp_approval_request", "tool_search_call", "tool_search_output",
)  # fmt: skip
"""Items of the assistant that are never edited; they may be removed."""
USER_ITEMS = ("mcp_approval_response",)
"""Items of the user that are never edited; they may be removed."""
UNITS: Mapping[str, str] = {
    "mcp_approval_request": "id", "mcp_approval_response": "approval_request_id",
    "tool_search_call": "call_id", "tool_search_output": "call_id",
}  # fmt: skip
"""Items that are answered by another item, with the key of what they have in common."""
OPENING = ("mcp_approval_request", "tool_search_call")
"""Those of them that ask."""
LASTING = (COMPACTION, "item_reference", "mcp_list_tools")
"""Items that are neither edited nor removed."""
ITEMS = frozenset({*CALLS, *RESULTS, *ASSISTANT_ITEMS, *USER_ITEMS, *LASTING, "reasoning"})
OWN_PARTS = ("input_text", "output_text", "input_image", "input_file")


def is_item(message: Mapping[str, Any]) -> bool:
    """Whether it is an item other than a message."""
    kind = message.get("type")
    return isinstance(kind, str) and kind in ITEMS and "role" not in message


def certainty(message: Mapping[str, Any]) -> int:
    """How surely a message is of this dialect.

    2 for an item other than a message, 1 for a message with parts or a `type` of this dialect, else
    0.
    """
    if is_item(message):
        return 2
    content = message.get("content")
    if is_array(content):
        return int(any(is_object(part) and part.get("type") in OWN_PARTS for part in content))
    return int(message.get("type") == "message" and isinstance(content, str))


def unknown_type(message: Mapping[str, Any]) -> str | None:
    """The type of an item of a type that is not known here; `None` for all others."""
    kind = message.get("type")
    known = kind in ITEMS or kind == "message" or not isinstance(kind, str)
    return None if known else kind


class ResponsesFormat:
    """Reads and writes items of OpenAI Responses, each as a message of its own."""

    name = "responses"
    system_apart = False
    flags_errors = False
    rules = ProviderRules(results_role="tool", reasoning_apart=True)

    def read(self, message: Mapping[str, Any], ids: Ids | None = None) -> Message:
        """The item as a message."""
        kind = message.get("type")
        unknown = unknown_type(message) is not None
        if "role" in message and not (unknown and "content" not in message):
            role: Role = message["role"] if message["role"] in _ROLES else "user"
            return Message(role, _read_content(message.get("content")), message)
        call_id = message.get("call_id") or message.get("id")
        if isinstance(kind, str) and kind in CALLS and isinstance(call_id, str):
            name, arguments = (message.get(key) for key in CALLS[kind])
            text = as_written(arguments)
            call = ToolCall(
                call_id, str(name), parsed(arguments), message, kind=str(kind), written=text
            )
            return Message("assistant", (call,), message)
        if kind in RESULTS and isinstance(call_id, str):
            content = _read_content(message.get("output"))
            return Message("tool", (ToolResult(call_id, content, source=message),), message)
        if kind == "reasoning":
            return Message("assistant", (_read_reasoning(message),), message)
        block = replace(
            opaque(message), stays=unknown or kind in LASTING, unit=_unit_of(message),
            opens=kind in OPENING,
        )  # fmt: skip
        return Message("user" if kind in USER_ITEMS else "assistant", (block,), message)

    def write(self, message: Message) -> dict[str, Any]:
        """An edited or new message as an item; unknown keys are kept."""
        pattern = message.pattern
        block = message.blocks[0] if len(message.blocks) == 1 else None
        match block:
            case ToolCall():
                return _write_call(block, pattern)
            case ToolResult():
                return _write_result(block, pattern)
            case Opaque() | Thinking() if "role" not in pattern or message.is_item:
                return block.source
            case _:
                return _write_message(message, pattern if "role" in pattern else {})


FORMAT = ResponsesFormat()
_ROLES = ("system", "developer", "user", "assistant")


def _unit_of(item: Mapping[str, Any]) -> str:
    """What an item has in common with the item that answers it, or that it answers."""
    key = UNITS.get(str(item.get("type")))
    common = item.get(key) if key else None
    return common if isinstance(common, str) else ""


def _read_content(content: Any) -> tuple[Block, ...]:
    """The blocks of a `content` or `output`; a string becomes one `Text`, an object `Opaque`."""
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (Text(content),)
    return tuple(map(_read_part, content)) if is_array(content) else (Opaque(content),)


def _read_part(part: Any) -> Block:
    match part:
        case str():
            return Text(part)
        case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
            return Text(text, part)
        case {"type": "input_image" | "computer_screenshot"}:
            return Image(part)
        case {"type": "input_file"}:
            return Document(source=part)
        case _:
            return opaque(part)


def _read_reasoning(item: Mapping[str, Any]) -> Thinking:
    """A reasoning item; its text is its summary, or its content where an open model shows it."""
    texts = [
        str(part["text"])
        for key in ("summary", "content")
        if is_array(parts := item.get(key))
        for part in parts
        if is_object(part) and part.get("text")
    ]
    return Thinking("\n".join(texts), redacted=bool(item.get("encrypted_content")), source=item)


def _write_call(call: ToolCall, pattern: Mapping[str, Any]) -> dict[str, Any]:
    if pattern.get("type") not in CALLS:
        return {"type": "function_call", "call_id": call.id, "name": call.name,
                "arguments": call.arguments_text}  # fmt: skip
    _, key = CALLS[pattern["type"]]
    return {**pattern, "call_id": call.id, key: given(call, pattern.get(key))}


def _write_result(result: ToolResult, pattern: Mapping[str, Any]) -> dict[str, Any]:
    known = pattern.get("type") in RESULTS
    written: dict[str, Any] = (
        dict(pattern) if known else {"type": f"{result.kind or 'function_call'}_output"}
    )
    if "call_id" in written or not known:  # the result of a local shell has only an `id`
        written["call_id"] = result.call_id
    if result.content != (Opaque(written.get("output")),):  # an unknown output is kept
        written["output"] = _write_content(result.content, "input") if result.content else ""
    return written


def _write_message(message: Message, pattern: Mapping[str, Any]) -> dict[str, Any]:
    direction = "output" if message.role == "assistant" else "input"
    role = "user" if message.role == "tool" else message.role
    parts = is_array(pattern.get("content"))
    content = _write_content(message.blocks, direction, parts=parts)
    return {**pattern, "role": role, "content": content}


def _write_content(blocks: Sequence[Block], direction: str, *, parts: bool = False) -> Any:
    """A string if the only block is a new text and `parts` is false; else a list of parts."""
    text = blocks[0] if len(blocks) == 1 and not parts else None
    if isinstance(text, Text) and text.source is None:
        return text.text
    written: list[Any] = [_write_part(block, direction) for block in blocks]
    return written or ""


def _write_part(block: Block, direction: str) -> Any:
    if isinstance(block, Text) and block.source is None:
        made: dict[str, Any] = {"type": f"{direction}_text", "text": block.text}
        if direction == "output":
            made["annotations"] = []
        return made
    return block.source
