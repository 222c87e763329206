"""Gemini's `contents`: role user or model, and `parts`; the key of each part names its kind.

Shapes and rules from the Gemini API reference (Content, Part) and its pages on function calling and
thought signatures. Keys are in camel case as in the JSON API (`functionCall`) or in snake case as
in the Python client (`function_call`); the API takes both.

* the first content is the user's; a content with calls follows a content of the user's;
* the content directly after the calls answers all of them, in their order. Responses are paired by
  name and order (`id` is optional);
* the `thoughtSignature` of a call in the current turn must be sent back on the same part; those of
  older turns need not be. A signature is not bound to what comes before it;
* parts with `thought` describe the reasoning and need not be sent back.
"""

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from context_compression.conversation.formats.parts import Ids, ProviderRules, kind_of
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

CAMEL: Mapping[str, str] = {
    "function_call": "functionCall", "function_response": "functionResponse",
    "inline_data": "inlineData", "file_data": "fileData", "executable_code": "executableCode",
    "code_execution_result": "codeExecutionResult", "thought_signature": "thoughtSignature",
    "mime_type": "mimeType", "tool_call": "toolCall", "tool_response": "toolResponse",
}  # fmt: skip
PARTS = frozenset({"text", "thought", *CAMEL.values()})
RESPONSE_KEYS = ("output", "result", "error", "content")
"""If one of these is a response's only key, its value is the response's text."""


def certainty(message: Mapping[str, Any]) -> int:
    """How surely a message is of this dialect.

    0 without `parts`, with a `content`, or if a part has a `type`. Otherwise 2 if a part is a
    string or has a key of this dialect, else 1. If `parts` is a string, always 1.
    """
    parts = message.get("parts")
    if isinstance(parts, str):
        return 1
    if "content" in message or not is_array(parts) or not parts:
        return 0
    if any(is_object(part) and "type" in part for part in parts):
        return 0
    return 2 if any(isinstance(part, str) or _is_known(part) for part in parts) else 1


def _is_known(part: Any) -> bool:
    return is_object(part) and not PARTS.isdisjoint(camel(part))


def camel(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part with its keys in camel case, as in the JSON API."""
    return {CAMEL.get(key, key): value for key, value in part.items()}


class GeminiFormat:
    """Reads and writes Gemini's contents."""

    name = "gemini"
    system_apart = False
    flags_errors = True
    rules = ProviderRules(
        user_first=True, results_role="user", join="turns with calls", one_text=True
    )

    def read(self, message: Mapping[str, Any], ids: Ids | None = None) -> Message:
        """The content as a message; `parts` may be a list or a string."""
        ids = ids or Ids()
        role = "assistant" if message.get("role") in ("model", "assistant") else "user"
        ids.turn_of(role)
        parts = message.get("parts")
        if not is_array(parts):
            content = parts or message.get("content")
            return Message(role, (Text(content),) if isinstance(content, str) else (), message)
        blocks = [_read_part(part, ids) for part in parts]
        return Message(role, tuple(_with_code_units(blocks, ids)), message)

    def write(self, message: Message) -> dict[str, Any]:
        """An edited or new message as a content; unknown keys are kept."""
        pattern = message.pattern
        role = "model" if message.role == "assistant" else "user"
        if role == "user" and pattern.get("role") == "function" and message.results:
            role = "function"
        pattern.pop("content", None)
        return {**pattern, "role": role, "parts": [_write_part(b) for b in message.blocks]}


FORMAT = GeminiFormat()


def _read_part(part: Any, ids: Ids) -> Block:
    if not is_object(part):
        return Text(part) if isinstance(part, str) else Opaque(part)
    match camel(part):
        case {"functionCall": {"name": str(name)} as call} as part_with_call:
            given = call.get("id")
            call_id = given if isinstance(given, str) and given else ids.call(name)
            signed = bool(part_with_call.get("thoughtSignature"))
            return ToolCall(call_id, name, call.get("args") or {}, part, signed=signed)
        case {"functionResponse": {"name": str(name)} as response}:
            given = response.get("id")
            call_id = given if isinstance(given, str) and given else ids.result(name)
            return _read_response(call_id, name, response, part)
        case {"text": str(text), "thought": True}:
            return Thinking(text, source=part)
        case {"text": "", "thoughtSignature": str()}:
            return Opaque(part)  # at the end of a stream, a signature comes in a part of its own
        case {"text": str(text)}:
            return Text(text, part)
        case {"inlineData": data} | {"fileData": data} if is_object(data):
            kind = str(camel(data).get("mimeType", ""))
            if kind.startswith("image/"):
                return Image(part)
            heard = kind.startswith(("audio/", "video/")) and "data" in data
            return Opaque(part) if heard else Document(source=part)
        case _:
            return Opaque(part)


def _read_response(
    call_id: str, name: str, response: Mapping[str, Any], part: Mapping[str, Any]
) -> ToolResult:
    response_value = response.get("response")
    media = response.get("parts")
    text = "" if response_value in (None, {}) else _text_of(response_value)
    content: list[Block] = [Text(text)] if text else []
    if is_array(media):
        content += (_read_part(each, Ids()) for each in media)
    failed = (
        is_object(response_value)
        and "error" in response_value
        and not response_value.keys() & {"output", "result"}
    )
    return ToolResult(call_id, tuple(content), failed, part, name)


def _text_of(value: Any) -> str:
    """The text of a response: its only string, else its JSON."""
    if isinstance(value, str):
        return value
    if is_object(value) and len(value) == 1:
        only = value.get(next((key for key in RESPONSE_KEYS if key in value), ""))
        if isinstance(only, str):
            return only
    return json.dumps(value, ensure_ascii=False)


def _with_code_units(blocks: list[Block], ids: Ids) -> list[Block]:
    """The blocks with each piece of code that Gemini ran joined to its result as one unit."""
    for at, (first, second) in enumerate(pairwise(blocks[:])):
        if not (isinstance(first, Opaque) and isinstance(second, Opaque)):
            continue
        begins, ends = camel(first.source), camel(second.source)
        if "executableCode" in begins and "codeExecutionResult" in ends:
            unit = ids.unit()
            blocks[at], blocks[at + 1] = (
                Opaque(first.source, unit, True),
                Opaque(second.source, unit),
            )
    return blocks


def _write_part(block: Block) -> Any:
    match block:
        case Text():
            return block.source if block.source is not None else {"text": block.text}
        case ToolCall():
            return _write_call(block)
        case ToolResult():
            return _write_response(block)
        case _:
            return block.source


def _write_call(call: ToolCall) -> dict[str, Any]:
    """A call as a part; the signature is removed if the call's arguments or id were changed."""
    named = {} if kind_of(call.id) else {"id": call.id}
    arguments = call.arguments if is_object(call.arguments) else {"input": call.arguments}
    if call.source is None:
        return {"functionCall": {**named, "name": call.name, "args": arguments}}
    key = "functionCall" if "functionCall" in call.source else "function_call"
    inner: Mapping[str, Any] = call.source[key]
    same = (inner.get("args") or {}) == arguments and inner.get("id") in (None, "", call.id)
    if same:
        return call.source
    unsigned = {k: v for k, v in call.source.items() if CAMEL.get(k, k) != "thoughtSignature"}
    return {**unsigned, key: {**inner, **named, "args": arguments}}


def _write_response(result: ToolResult) -> dict[str, Any]:
    """A result as a part: its text is under the key it came with, else `output` or `error`."""
    named = {} if kind_of(result.call_id) else {"id": result.call_id}
    usual = "error" if result.is_error else "output"
    if result.source is None:
        response = {**named, "name": result.name or "tool", "response": {usual: result.text}}
        return {"functionResponse": response}
    key = "functionResponse" if "functionResponse" in result.source else "function_response"
    inner: Mapping[str, Any] = result.source[key]
    there = inner.get("response")
    if result.text == ("" if there in (None, {}) else _text_of(there)):
        content = there
    else:
        known = next(
            (k for k in RESPONSE_KEYS if is_object(there) and k in there and len(there) == 1), usual
        )
        content = {known: result.text}
    media = [_write_part(block) for block in result.content if not isinstance(block, Text)]
    written = {**inner, **named, "response": content}
    if "parts" in inner:
        written["parts"] = media
    return result.source if written == inner else {**result.source, key: written}
