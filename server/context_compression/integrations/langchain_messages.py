# The framework is an extra, and not installed where this is checked:
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
"""LangChain's messages as dicts of the AI SDK's dialect, with who speaks, and edited dicts back.

That dialect has all that LangChain's messages have, too: reasoning among the texts, results as
messages of their own, failed tools. Content blocks may be LangChain's own or a provider's
(docs.langchain.com, "Messages"). Each is kept in its part, and is the block of the edited message.
A dict leaves out what differs when a program passes the same history again: ids, usage, metadata.

A decision of a person about a call is marked by the middleware that asked for it. What a person
answers to an interrupt in a tool is only known while the tool runs, so our own mark keeps it. Both
marks are in `additional_kwargs`, which LangChain does not send.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeVar

from context_compression.conversation.authors import BY_USER
from context_compression.conversation.formats import ROLES
from context_compression.conversation.labels import unmarked
from context_compression.conversation.messages import as_object, objects, strings_in
from context_compression.extras import extra
from context_compression.integrations.translation import Translation, parts_of

with extra("langchain"):
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        ChatMessage,
        HumanMessage,
        SystemMessage,
        ToolMessage,
    )

SOURCE, DATA = "lc_source", "lc_data"
"""The keys with which LangChain marks messages that its own parts add."""
DECIDED = "hitl_interrupt_decision"
"""The source of a decision that a person made about a call."""
REASON = " with reason: "
"""What LangChain writes before the reason of a rejection."""
STANDS_FOR = ("summarization", "pinned_skill")
"""The sources of messages that are as good as the user's: earlier messages, and instructions."""


def is_by_user(message: HumanMessage) -> bool:
    """Whether no part of LangChain is known to have added a message, as with a task's result."""
    source = message.additional_kwargs.get(SOURCE)
    return not isinstance(source, str) or source in STANDS_FOR


def said_by_user(message: ToolMessage) -> str | Literal[False] | None:
    """The words of a person in a result; `False` if there are none, `None` if nobody knows."""
    about = message.additional_kwargs
    if about.get(SOURCE) != DECIDED:
        return about.get(BY_USER)
    if as_object(about.get(DATA)).get("decision") == "respond":
        return message.text
    _, _, reason = message.text.partition(REASON)
    return reason or False


def said_in(message: ToolMessage, answers: Sequence[Any]) -> ToolMessage:
    """A tool's message that knows which words in it a person answered to the tool's interrupts."""
    words = [text for text in strings_in(answers) if text.strip() and text in message.text]
    if not words or SOURCE in message.additional_kwargs:
        return message
    marked = {**message.additional_kwargs, BY_USER: "\n".join(words)}
    return message.model_copy(update={"additional_kwargs": marked})


Kind = TypeVar("Kind", bound=BaseMessage)
Part = dict[str, Any]
CALLS = ("tool_use", "tool_call", "function_call", "custom_tool_call", "invalid_tool_call")
"""The blocks of tool calls, which `tool_calls` repeats."""
REASONING = ("reasoning", "thinking", "redacted_thinking", "reasoning_content")
IMAGES = ("image", "image_url", "input_image")
FILES = ("file", "input_file", "document", "media", "audio", "input_audio", "video", "text-plain")
RAW_CALLS = ("tool_calls", "function_call")
"""The keys of `additional_kwargs` in which OpenAI's calls are repeated as they came."""

USAGE = ("usage", "token_usage")
"""The keys of `response_metadata` that repeat the usage."""


def translation(history: Sequence[BaseMessage]) -> Translation[BaseMessage]:
    """Reads and writes the messages of a history."""
    return Translation(read, LangChainOriginals(history).written)


def read(message: BaseMessage) -> dict[str, Any] | None:
    """The dict of a message; `None` for a kind that we do not know."""
    if isinstance(message, AIMessage):
        return _dict("assistant", _parts_of_answer(message))
    if isinstance(message, ToolMessage):
        return {"role": "tool", "content": [_result(message)]}
    if isinstance(message, HumanMessage):
        parts = _parts(message)
        if not is_by_user(message):
            parts = [p | {BY_USER: False} if p["type"] == "text" else p for p in parts]
        return _dict("user", parts, message.name)
    if isinstance(message, SystemMessage):
        return _dict("system", _parts(message))
    if isinstance(message, ChatMessage) and message.role in ROLES:
        return _dict(ROLES[message.role], _parts(message))
    return None


def _dict(role: str, parts: Sequence[Part], name: str | None = None) -> dict[str, Any]:
    """A message as a dict; more than a text shows its dialect by its options."""
    options = {"langchain": {"name": name} if name else {}}
    match parts:
        case []:
            content: Any = ""
        case [{"type": "text", "text": content, **others}] if not others:
            pass
        case _:
            return {"role": role, "content": parts, "providerOptions": options}
    made = {"role": role, "content": content}
    return made | {"providerOptions": options} if name else made


class LangChainOriginals:
    """The messages of a history, found again for dicts that were edited."""

    def __init__(self, history: Sequence[BaseMessage]) -> None:
        self._history = history

    def written(self, made: Mapping[str, Any]) -> BaseMessage:
        """The message for a dict that was edited or is new; a copy of its original, if it has one.

        An edited message has no usage: it would be that of other messages.
        """
        match made["role"]:
            case "tool":
                [part] = made["content"]
                return self._result(part)
            case "assistant":
                return self._answer(made["content"])
            case role:
                kind = HumanMessage if role == "user" else SystemMessage
                original = self._sharing(made["content"], kind)
                options = as_object(as_object(made.get("providerOptions")).get("langchain"))
                original = original or kind("", name=options.get("name"))
                return original.model_copy(update={"content": _blocks(made["content"], original)})

    @cached_property
    def _by_call(self) -> Mapping[str | None, AIMessage]:
        """The model's messages by the ids of their calls."""
        answers = (message for message in self._history if isinstance(message, AIMessage))
        return {id: message for message in answers for id in _calls(message)}

    @cached_property
    def _by_result(self) -> Mapping[str, ToolMessage]:
        """The tool messages by the ids of their calls."""
        return {m.tool_call_id: m for m in self._history if isinstance(m, ToolMessage)}

    def _sharing(self, content: Any, kind: type[Kind]) -> Kind | None:
        """The first message of a kind that has one of these parts."""
        parts = parts_of(content)
        for message in self._history:
            if isinstance(message, kind) and any(part in parts for part in _parts(message)):
                return message
        return None

    def _result(self, part: Mapping[str, Any]) -> ToolMessage:
        call_id, output = part["toolCallId"], part["output"]
        original = self._by_result.get(call_id)
        if original is None:
            failed = {"status": "error"} if output["type"].startswith("error") else {}
            name = part.get("toolName") or None
            return ToolMessage(output["value"], tool_call_id=call_id, name=name, **failed)
        value = output["value"]
        content = value if isinstance(value, str) else [*map(_block, value)]
        return original.model_copy(update={"content": content})

    def _answer(self, content: Any) -> AIMessage:
        parts = parts_of(content)
        calls = [part for part in parts if _is_call(part)]
        original = next(filter(None, (self._by_call.get(p["toolCallId"]) for p in calls)), None)
        original = original or self._sharing(content, AIMessage) or AIMessage("")
        invalid = {call["id"] for call in original.invalid_tool_calls}
        kept = {call["id"]: call for call in (*original.tool_calls, *original.invalid_tool_calls)}
        made = [(p["toolCallId"] in invalid, _call(p, kept.get(p["toolCallId"]))) for p in calls]
        extra = dict(original.additional_kwargs)
        if [call for _, call in made] != [*kept.values()]:
            extra = {key: value for key, value in extra.items() if key not in RAW_CALLS}
        if not any(part["type"] == "reasoning" for part in parts):
            extra.pop("reasoning_content", None)
        return original.model_copy(
            update={
                "content": _blocks(content, original),
                "tool_calls": [call for is_invalid, call in made if not is_invalid],
                "invalid_tool_calls": [call for is_invalid, call in made if is_invalid],
                "additional_kwargs": extra,
                "usage_metadata": None,
                "response_metadata": {
                    key: value
                    for key, value in original.response_metadata.items()
                    if key not in USAGE
                },
            }
        )


def _parts(message: BaseMessage) -> list[Part]:
    """The content of a message as parts."""
    return [part for part, _ in _parts_and_blocks(message)]


def _parts_and_blocks(message: BaseMessage) -> Iterator[tuple[Part, Any]]:
    """Each part of a message's content, with the block that it was."""
    content = message.content
    if isinstance(content, str):
        if content:
            yield {"type": "text", "text": content}, content
        return
    calls = _calls(message) if isinstance(message, AIMessage) else {}
    for block in content:
        if isinstance(block, str):
            yield {"type": "text", "text": block}, block
        elif block.get("type") not in CALLS:
            yield _part(block), block
        elif call := calls.get(block.get("call_id") or block.get("id")):
            yield _call_part(call), block


def _part(block: Mapping[str, Any]) -> Part:
    """A block that is no tool call, as a part; one of a kind we do not know stays as it is."""
    kind = block.get("type")
    if kind in ("text", "input_text", "output_text") and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    if kind in REASONING:
        return _reasoning(block)
    if kind in IMAGES:
        return {"type": "image", "image": block}
    if kind in FILES:
        media = block.get("mime_type") or as_object(block.get("source")).get("media_type")
        return {"type": "file", "data": block, "mediaType": media or f"{kind}/*"}
    if kind in ("server_tool_use", "mcp_tool_use", "server_tool_call"):
        called = {"toolCallId": block.get("id"), "toolName": block.get("name", "")}
        return {"type": "tool-call", **called, "providerExecuted": True, "input": block}
    answered = block.get("tool_use_id") or block.get("tool_call_id")
    if str(kind).endswith(("_tool_result", "server_tool_result")) and answered:
        return {"type": "tool-result", "toolCallId": answered, "output": block}
    return dict(block)


def _reasoning(block: Mapping[str, Any]) -> Part:
    """Reasoning; what Anthropic and Bedrock sign is bound to everything before it."""
    inner = as_object(block.get("reasoning_content"))
    texts = [block.get("thinking"), block.get("reasoning"), inner.get("text")]
    text = next((text for text in texts if isinstance(text, str)), None)
    if text is None:
        text = "\n".join(strings_in([part.get("text") for part in objects(block.get("summary"))]))
    extras = as_object(block.get("extras"))
    options: dict[str, Any] = {"block": block}
    for source in (block, inner, extras):
        if signature := source.get("signature"):
            options["signature"] = signature
    if block.get("type") == "redacted_thinking":
        options["redactedData"] = block.get("data", "")
    return {"type": "reasoning", "text": text, "providerOptions": {"langchain": options}}


def _block(part: Part) -> Any:
    """The block of a part of a dict; a text becomes a text block."""
    match part:
        case {"type": "image", "image": block} | {"type": "file", "data": block}:
            return block
        case {"type": "image-data" | "file-data", "data": block}:
            return block
        case {"type": "reasoning", "providerOptions": {"langchain": {"block": block}}}:
            return block
        case {"type": "tool-call", "providerExecuted": True, "input": block}:
            return block
        case {"type": "tool-result", "output": block}:
            return block
        case _:
            return unmarked(part)


def _blocks(content: Any, original: BaseMessage) -> Any:
    """The content of an edited message; unchanged blocks are those of its original."""
    if isinstance(original.content, str) and all(
        part["type"] == "text" or _is_call(part) or _is_extra(part) for part in parts_of(content)
    ):
        return "\n".join(part["text"] for part in parts_of(content) if part["type"] == "text")
    before = [*_parts_and_blocks(original)]
    without_reasoning = any(part["type"] == "reasoning" for part, _ in before) and not any(
        part["type"] == "reasoning" for part in parts_of(content)
    )
    blocks: list[Any] = []
    for part in parts_of(content):
        same = next((block for each, block in before if each == part), None)
        if same is None and _is_call(part):
            same = _call_block(part, before)
        elif same is None and not _is_extra(part):
            same = _block(part)
        if same is not None:
            blocks.append(_unlinked(same) if without_reasoning else same)
    return blocks


def _unlinked(block: Any) -> Any:
    """The block without the id by which OpenAI links it to reasoning that is gone."""
    if isinstance(block, dict) and str(block.get("id", "")).startswith(("msg_", "fc_")):
        return {key: value for key, value in block.items() if key != "id"}
    return block


def _parts_of_answer(message: AIMessage) -> list[Part]:
    """The parts of a message of the model; calls that are no blocks come last."""
    parts = _parts(message)
    reasoning = message.additional_kwargs.get("reasoning_content")
    if isinstance(reasoning, str) and reasoning:  # DeepSeek, and APIs like it
        parts.insert(0, {"type": "reasoning", "text": reasoning})
    placed = {part["toolCallId"] for part in parts if _is_call(part)}
    return parts + [_call_part(call) for id, call in _calls(message).items() if id not in placed]


def _is_extra(part: Part) -> bool:
    """Whether it is the reasoning of `additional_kwargs`."""
    return part["type"] == "reasoning" and "providerOptions" not in part


def _calls(message: AIMessage) -> dict[str | None, Mapping[str, Any]]:
    """The calls of a message by id; those whose arguments are no JSON, too."""
    return {call["id"]: call for call in (*message.tool_calls, *message.invalid_tool_calls)}


def _call_part(call: Mapping[str, Any]) -> Part:
    named = {"toolCallId": call["id"] or "", "toolName": call["name"] or ""}
    return {"type": "tool-call", **named, "input": call["args"]}


def _is_call(part: Mapping[str, Any]) -> bool:
    return part["type"] == "tool-call" and not part.get("providerExecuted")


def _call(part: Part, original: Mapping[str, Any] | None) -> dict[str, Any]:
    """The call of a part, a copy of its original."""
    kept = original or {"type": "tool_call"}
    return {**kept, "id": part["toolCallId"], "name": part["toolName"], "args": part["input"]}


def _call_block(part: Part, before: Sequence[tuple[Part, Any]]) -> Any:
    """The block of an edited call; `None` if its original was no block."""
    for each, block in before:
        if _is_call(each) and each["toolCallId"] == part["toolCallId"]:
            as_text = part["input"] if isinstance(part["input"], str) else json.dumps(part["input"])
            new = {"input": part["input"], "args": part["input"], "arguments": as_text}
            return {key: new.get(key, value) for key, value in block.items()}
    return None


def _result(message: ToolMessage) -> Part:
    """The result in a tool message."""
    parts = _parts(message)
    if all(part["type"] == "text" for part in parts):
        kind = "error-text" if message.status == "error" else "text"
        output: Part = {"type": kind, "value": "\n".join(part["text"] for part in parts)}
    else:
        output = {"type": "content", "value": [*map(_piece, parts)]}
    named: Part = {"toolName": message.name} if message.name else {}
    if (said := said_by_user(message)) is not None:
        named[BY_USER] = said
    return {"type": "tool-result", "toolCallId": message.tool_call_id, **named, "output": output}


def _piece(part: Part) -> Part:
    """A part as a piece of a tool's output."""
    match part:
        case {"type": "image", "image": block}:
            return {"type": "image-data", "data": block}
        case {"type": "file"}:
            return {**part, "type": "file-data"}
        case _:
            return part
