"""Conversations as the messages of peers, and back."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from estimate import message_tokens
from recordings import Block, Message, Messages

NEXT_REQUEST = "(the next request)"
"""What is said to a peer that compresses only when it is asked something; never part of a view."""


@dataclass
class _Entry:
    """A message where results are separate messages, as in OpenAI and most frameworks."""

    role: str
    texts: list[str] = field(default_factory=list[str])
    calls: list[Block] = field(default_factory=list[Block])
    result: Block | None = None


def _entries(messages: Sequence[Message]) -> Iterator[_Entry]:
    for message in messages:
        blocks: list[Block] = message["content"]
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        calls = [block for block in blocks if block["type"] == "tool_use"]
        yield from (_Entry("tool", result=b) for b in blocks if b["type"] == "tool_result")
        if texts or calls:
            yield _Entry(message["role"], texts, calls)


def _joined(entries: Iterable[_Entry]) -> Messages:
    """The entries as Anthropic's messages; all entries after an answer become one user message."""
    messages: Messages = []
    for entry in entries:
        role = "assistant" if entry.role == "assistant" else "user"
        blocks = [{"type": "text", "text": text} for text in entry.texts if text] + entry.calls
        blocks += [entry.result] if entry.result else []
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": role, "content": blocks})
    return messages


def _result(call: str, content: Any, *, failed: bool = False) -> Block:
    block = {"type": "tool_result", "tool_use_id": call, "content": content}
    return {**block, "is_error": True} if failed else block


def to_langchain(messages: Messages) -> list[Any]:
    lc = import_module("langchain_core.messages")
    found: list[Any] = []
    for entry in _entries(messages):
        texts = [{"type": "text", "text": text} for text in entry.texts]
        if entry.result:
            call, content = entry.result["tool_use_id"], entry.result.get("content") or ""
            status = "error" if entry.result.get("is_error") else "success"
            found.append(lc.ToolMessage(content, tool_call_id=call, status=status))
        elif entry.role == "assistant":
            calls = [{"id": c["id"], "name": c["name"], "args": c["input"]} for c in entry.calls]
            found.append(lc.AIMessage(texts, tool_calls=calls))
        else:
            found.append(lc.HumanMessage(texts))
    return found


def from_langchain(messages: Sequence[Any]) -> Messages:
    return _joined(map(_langchain_entry, messages))


def _langchain_entry(message: Any) -> _Entry:
    if message.type == "tool":
        failed = message.status == "error"
        result = _result(message.tool_call_id, message.content, failed=failed)
        return _Entry("tool", result=result)
    content = message.content
    texts = [content] if isinstance(content, str) else [block["text"] for block in content]
    calls: list[Block] = [
        {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]}
        for call in getattr(message, "tool_calls", ())
    ]
    return _Entry("assistant" if message.type == "ai" else "user", texts, calls)


def langchain_tokens(messages: Sequence[Any]) -> int:
    return int(sum(map(message_tokens, from_langchain(messages))))


def to_framework(messages: Messages) -> list[Any]:
    framework = import_module("agent_framework")
    message, content = framework.Message, framework.Content
    found: list[Any] = []
    for entry in _entries(messages):
        parts = [content.from_text(text) for text in entry.texts]
        parts += [
            content.from_function_call(call["id"], call["name"], arguments=call["input"])
            for call in entry.calls
        ]
        if entry.result:
            result = entry.result.get("content") or ""
            parts = [content.from_function_result(entry.result["tool_use_id"], result=result)]
        found.append(message(entry.role, parts))
    return found


def from_framework(messages: Sequence[Any]) -> Messages:
    return _joined(entry for message in messages for entry in _framework_entries(message))


def _framework_entries(message: Any) -> Iterator[_Entry]:
    entry = _Entry(str(getattr(message.role, "value", message.role)))
    for part in message.contents:
        match part.type:
            case "text":
                entry.texts.append(part.text)
            case "function_call":
                call = {"id": part.call_id, "name": part.name, "input": part.arguments}
                entry.calls.append({"type": "tool_use", **call})
            case "function_result":
                yield _Entry("tool", result=_result(part.call_id, part.result))
            case _:
                pass
    if entry.texts or entry.calls:
        yield entry


def to_strands(messages: Messages) -> list[Any]:
    def block(block: Block) -> Any:
        match block["type"]:
            case "text":
                return {"text": block["text"]}
            case "tool_use":
                call = {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}
                return {"toolUse": call}
            case _:
                status = "error" if block.get("is_error") else "success"
                content = [{"text": block.get("content") or ""}]
                call = block["tool_use_id"]
                return {"toolResult": {"toolUseId": call, "status": status, "content": content}}

    return [{"role": m["role"], "content": [*map(block, m["content"])]} for m in messages]


def from_strands(messages: Sequence[Any]) -> Messages:
    def block(block: Any) -> Block:
        if "toolUse" in block:
            call = block["toolUse"]
            fields = {"id": call["toolUseId"], "name": call["name"], "input": call["input"]}
            return {"type": "tool_use", **fields}
        if "toolResult" in block:
            result = block["toolResult"]
            text = "\n".join(item["text"] for item in result["content"] if "text" in item)
            return _result(result["toolUseId"], text, failed=result["status"] == "error")
        return {"type": "text", "text": block["text"]}

    return [
        {"role": m["role"], "content": blocks}
        for m in messages
        if (blocks := [block(b) for b in m["content"] if b != {"text": NEXT_REQUEST}])
    ]


def to_pydantic(messages: Messages) -> list[Any]:
    ai: Any = import_module("pydantic_ai.messages")
    named = {
        block["id"]: block["name"]
        for message in messages
        for block in message["content"]
        if block["type"] == "tool_use"
    }

    def part(block: Block, role: str) -> Any:
        match block["type"]:
            case "text" if role == "assistant":
                return ai.TextPart(block["text"])
            case "text":
                return ai.UserPromptPart(block["text"])
            case "tool_use":
                return ai.ToolCallPart(block["name"], block["input"], block["id"])
            case _:
                call = block["tool_use_id"]
                return ai.ToolReturnPart(named.get(call, ""), block.get("content") or "", call)

    return [
        (ai.ModelResponse if message["role"] == "assistant" else ai.ModelRequest)(
            [part(block, message["role"]) for block in message["content"]]
        )
        for message in messages
    ]


def from_pydantic(messages: Sequence[Any]) -> Messages:
    return _joined(entry for message in messages for entry in _pydantic_entries(message))


def _pydantic_entries(message: Any) -> Iterator[_Entry]:
    entry = _Entry("assistant" if message.kind == "response" else "user")
    for part in message.parts:
        match part.part_kind:
            case "tool-return":
                yield _Entry("tool", result=_result(part.tool_call_id, part.content))
            case "tool-call":
                call = {"id": part.tool_call_id, "name": part.tool_name}
                call["input"] = part.args_as_dict()
                entry.calls.append({"type": "tool_use", **call})
            case _:
                entry.texts.append(str(part.content))
    if entry.texts or entry.calls:
        yield entry
