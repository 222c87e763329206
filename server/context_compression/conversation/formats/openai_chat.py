"""OpenAI Chat Completions: calls are in `tool_calls`, each result is a message of role tool.

Shapes from the Chat Completions reference: content as string or parts (text, refusal, image_url,
input_audio, file), `refusal`, roles developer and tool, function and custom tool calls, the legacy
`function_call` with its message of role function, spoken answers as `audio`.

Compatible APIs add to it. Ollama's calls have no ids, and its `images` and `thinking` are keys of
the message. Gemini signs its calls in `extra_content`. Parts may be `input_text` or `output_text`.
Reasoning is in `reasoning_content` (DeepSeek, Kimi, vLLM), `reasoning` or `reasoning_details`
(OpenRouter).

Rules from that reference and the providers' own:

* the results of an assistant message's calls follow it directly; any role may come first;
* ids have at most 64 characters; Mistral's have exactly nine letters and digits;
* a signature or sealed text in `reasoning_details` is bound as the provider behind it binds it;
* DeepSeek and Kimi refuse a call in a thinking loop without `reasoning_content`. Reasoning that was
  dropped is replaced by a space, which both accept.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from context_compression.conversation.formats.parts import (
    Ids,
    ProviderRules,
    as_written,
    given,
    kind_of,
    opaque,
    parsed,
    role_of,
    stays,
)
from context_compression.conversation.messages import (
    COMPRESSED,
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

REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking")
"""Keys of a message that hold reasoning."""
EXTRA_KEYS = (*REASONING, "images")
"""Keys besides `content` that hold content: reasoning, and Ollama's pictures."""
SIGNED = "extra_content"
"""The key of a call with Gemini's signature, which must be sent back in the current turn."""
DROPPED = " "
"""Replaces the `reasoning_content` that was removed from a message with a call."""
PARTS = ("image_url", "input_audio", "file", "refusal")
TEXTS = ("text", "input_text", "output_text")


def certainty(message: Mapping[str, Any]) -> int:
    """How surely a message is of this dialect.

    2 for a call or result of this dialect, 1 for another key or part that only this dialect has,
    else 0.
    """
    called = message.get("tool_calls") or message.get("function_call")
    if called or message.get("role") == "function":
        return 2
    if message.get("role") == "tool":  # tool messages of the AI SDK have a list and no id
        return 2 if "tool_call_id" in message or isinstance(message.get("content"), str) else 1
    if (
        message.get("refusal")
        or message.get("audio")
        or any(message.get(key) for key in EXTRA_KEYS)
    ):
        return 1
    content = message.get("content")
    parts = content if is_array(content) else ()
    return int(any(is_object(part) and part.get("type") in PARTS for part in parts))


class OpenAIChatFormat:
    """Reads and writes OpenAI Chat messages."""

    name = "openai"
    system_apart = False
    flags_errors = False
    rules = ProviderRules(results_role="tool", join="calls", lone_reasoning="message")

    def read(self, message: Mapping[str, Any], ids: Ids | None = None) -> Message:
        """The message as a value."""
        ids = ids or Ids()
        role = role_of(message)
        ids.turn_of(role)
        content = read_content(message.get("content"))
        if role == "tool":
            call_id = message.get("tool_call_id")
            name = str(message.get("tool_name") or message.get("name") or "")
            if not isinstance(call_id, str):
                call_id = ids.result(name)
            return Message(
                "tool", (ToolResult(call_id, content, source=message, name=name),), message
            )
        if is_array(message.get("images")):
            content = _with_pictures(content, message["images"])
        blocks = [*_read_reasoning(message), *content]
        if isinstance(message.get("refusal"), str):
            blocks.append(Opaque({"refusal": message["refusal"]}))
        if is_object(message.get("audio")):
            blocks.append(Opaque({"audio": message["audio"]}))
        if message.get("function_call"):
            blocks.append(_read_function_call(message["function_call"], ids))
        calls = message.get("tool_calls")
        if is_array(calls):
            blocks.extend(_read_call(call, ids) for call in calls)
        return Message(role, tuple(blocks), message)

    def write(self, message: Message) -> dict[str, Any]:
        """An edited or new message as a dict; unknown keys are kept."""
        pattern = message.pattern
        if message.results:
            return _write_result(message.results[0], pattern)
        written: dict[str, Any] = {**pattern, "role": message.role}
        for key in ("tool_calls", "tool_call_id", "refusal", "audio", "function_call", *EXTRA_KEYS):
            written.pop(key, None)
        if message.role != "tool":
            written.pop("tool_name", None)
        parts: list[Block] = []
        calls: list[Any] = []
        for block in message.blocks:
            if isinstance(block, ToolCall):
                if kind_of(block.id) == "function":
                    written["function_call"] = _write_function_call(block)
                else:
                    calls.append(_write_call(block))
            elif isinstance(block, Opaque | Thinking | Image) and _is_key(block.source):
                written |= _joined(written, block.source)
            else:
                parts.append(block)
        texts = [block.text for block in parts if isinstance(block, Text)]
        if "images" in pattern and len(texts) == len(parts):
            written.setdefault("images", [])
            parts = [Text("\n".join(texts))]
        called = calls or "function_call" in written
        written["content"] = _write_content(tuple(parts), pattern) if parts or not called else None
        if called and "reasoning_content" in pattern and "reasoning_content" not in written:
            written["reasoning_content"] = DROPPED
        return written | ({"tool_calls": calls} if calls else {})


FORMAT = OpenAIChatFormat()


def read_content(content: Any) -> tuple[Block, ...]:
    """The blocks of a `content` value; a string becomes one `Text`."""
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (Text(content),)
    return tuple(map(_read_part, content))


def _read_part(part: Any) -> Block:
    match part:
        case str():
            return Text(part)
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return Text(text, part)
        case {"type": "image_url" | "input_image"}:
            return Image(part)
        case {"type": "file" | "input_file"}:
            return Document(source=part)
        case {"type": "thinking", "thinking": thought}:
            return _read_thinking(thought, part)
        case _:
            return opaque(part)


def _read_thinking(thought: Any, part: Mapping[str, Any]) -> Thinking:
    """A part with reasoning: a text, or with Mistral's models a list of parts with a text."""
    inner = read_content(thought) if isinstance(thought, str) or is_array(thought) else ()
    text = "\n".join(block.text for block in inner if isinstance(block, Text))
    return Thinking(text, bound=bool(part.get("signature")), source=part)


def _with_pictures(content: Sequence[Block], pictures: Sequence[Any]) -> tuple[Block, ...]:
    """The blocks of an Ollama message; a note that this package added is split off its text."""
    text = content[0].text if len(content) == 1 and isinstance(content[0], Text) else ""
    answer, mark, note = text.rpartition(f"\n{COMPRESSED} ")
    texts = (Text(answer), Text(f"{mark[1:]}{note}")) if answer else content
    return (*texts, *(Image({"images": [picture]}) for picture in pictures))


def _read_reasoning(message: Mapping[str, Any]) -> list[Block]:
    """The reasoning of a message, one block for each key that holds some."""
    blocks: list[Block] = []
    for key in REASONING:
        value = message.get(key)
        if isinstance(value, str) and value.strip():
            blocks.append(Thinking(value, source={key: value}))
        elif is_array(value) and value:
            details = [detail for detail in value if is_object(detail)]
            texts = (str(d.get("text") or d.get("summary") or "") for d in details)
            sealed = any(d.get("signature") or d.get("data") for d in details)
            text = "\n".join(filter(None, texts))
            blocks.append(Thinking(text, bound=sealed, source={key: value}))
    return blocks


def _joined(written: Mapping[str, Any], of: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of `of`, their values appended to those that are already in `written`."""
    made = dict(of)
    for key, value in of.items():
        there = written.get(key)
        if isinstance(there, str) and isinstance(value, str):
            made[key] = f"{there}\n{value}"
        elif is_array(there) and is_array(value):
            made[key] = [*there, *value]
    return made


def _read_call(call: Any, ids: Ids) -> Block:
    if not is_object(call):
        return Opaque({"tool_calls": [call]})
    inner = call.get("custom") if call.get("type") == "custom" else call.get("function")
    name = inner.get("name") if is_object(inner) else None
    if not is_object(inner) or not isinstance(name, str):
        return Opaque({"tool_calls": [call]})
    call_id = call["id"] if isinstance(call.get("id"), str) and call["id"] else ids.call(name)
    if call.get("type") == "custom":
        return ToolCall(call_id, name, str(inner.get("input", "")), call)
    signed = bool(call.get(SIGNED))
    came = inner.get("arguments")
    return ToolCall(call_id, name, parsed(came), call, signed=signed, written=as_written(came))


def _read_function_call(call: Any, ids: Ids) -> Block:
    name = call.get("name") if is_object(call) else None
    if not isinstance(name, str):
        return Opaque({"function_call": call})
    call_id = ids.call(name, "function")
    came = call.get("arguments")
    return ToolCall(call_id, name, parsed(came), call, alone=True, written=as_written(came))


def _write_call(call: ToolCall) -> Any:
    if call.source is None:
        function = {"name": call.name, "arguments": call.arguments_text}
        named = {} if kind_of(call.id) else {"id": call.id}
        return {**named, "type": "function", "function": function}
    key, argument = ("custom", "input") if "custom" in call.source else ("function", "arguments")
    inner = call.source[key]
    there = inner.get(argument)
    as_it_was = stays(call, there)
    named = {} if kind_of(call.id) else {"id": call.id}
    if as_it_was and named.get("id", "") in ("", call.source.get("id")):
        return call.source
    pattern = {k: v for k, v in call.source.items() if as_it_was or k != SIGNED}
    return {**pattern, **named, key: {**inner, "name": call.name, argument: given(call, there)}}


def _write_function_call(call: ToolCall) -> Any:
    if call.source is None:
        return {"name": call.name, "arguments": call.arguments_text}
    there = call.source.get("arguments")
    if stays(call, there):
        return call.source
    return {**call.source, "name": call.name, "arguments": given(call, there)}


def _write_result(result: ToolResult, pattern: Mapping[str, Any]) -> dict[str, Any]:
    """A result as a message; without an id if it is paired by order."""
    written = {key: value for key, value in pattern.items() if key != "tool_call_id"}
    content = _write_content(result.content, pattern)
    match kind_of(result.call_id):
        case "":
            return {**written, "role": "tool", "tool_call_id": result.call_id, "content": content}
        case "function":
            return {"name": result.name, **written, "role": "function", "content": content}
        case _:
            name = {"tool_name": result.name} if result.name and not pattern else {}
            return {**written, **name, "role": "tool", "content": content}


def _write_content(blocks: Sequence[Block], pattern: Mapping[str, Any]) -> Any:
    """A string if the content was a string or is one new text; else a list of parts."""
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
    """Whether a block's source is a key of the message, not a content part."""
    keys = {"refusal", "audio", "function_call", "tool_calls", *EXTRA_KEYS}
    return is_object(source) and bool(source.keys() & keys) and "type" not in source
