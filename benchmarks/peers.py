r"""Other ways to make a conversation smaller, called as their documentation says.

They are needed only for benchmarks and require another version of `mcp` than our server, so they
have a separate environment:

    python -m venv peers
    peers/bin/pip install "headroom-ai==0.42.*" "langchain==1.4.*" "agent-framework-core==1.23.*" \
        "strands-agents==1.62.*"
    peers/bin/pip install --no-deps -e . && peers/bin/pip install tiktoken pydantic regex

Peers that are not installed are left out. No model is called here: a peer that would let a model
write a summary does only its other work.
"""

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeAlias

from estimate import message_tokens
from needs import groups
from recordings import Block, Message, Messages

TextCounter: TypeAlias = Callable[[str], int]

os.environ |= {"HF_HUB_OFFLINE": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


@dataclass(frozen=True)
class Peer:
    """A way to make a conversation smaller.

    Attributes:
        write: converts Anthropic's messages to the peer's.
        compress: the view, given the peer's messages and a number of tokens.
        read: converts a view to Anthropic's messages.
        has_budget: whether it takes a size at all.
    """

    name: str
    compress: Callable[[Any, float], Any]
    write: Callable[[Messages], Any] = list
    read: Callable[[Any], Messages] = list
    has_budget: bool = True

    def view(self, messages: Messages, target: float) -> Messages:
        return self.read(self.compress(self.write(messages), target))


def last_messages(counter: TextCounter | None) -> Peer:
    """The newest messages that fit; of the first that does not fit, the results that do."""
    return Peer("last-N window", lambda messages, target: _newest(messages, target))


def trim_messages(counter: TextCounter | None) -> Peer:
    trim = import_module("langchain_core.messages").trim_messages
    count = _langchain_tokens if counter else "approximate"

    def compress(messages: Any, target: float) -> Any:
        return trim(
            messages, max_tokens=int(target), token_counter=count, strategy="last",
            include_system=True, start_on=["human", "ai"],
        )  # fmt: skip

    return Peer("LangChain trim_messages", compress, _to_langchain, _from_langchain)


def clear_tool_uses(counter: TextCounter | None) -> Peer:
    edit = import_module("langchain.agents.middleware").ClearToolUsesEdit
    approximately = import_module("langchain_core.messages.utils").count_tokens_approximately
    count = _langchain_tokens if counter else approximately

    def compress(messages: Any, target: float) -> Any:
        edit(trigger=int(target), keep=3).apply(messages, count_tokens=count)
        return messages

    name = "LangChain ClearToolUsesEdit"
    return Peer(name, compress, _to_langchain, _from_langchain, has_budget=False)


def token_budget(counter: TextCounter | None) -> Peer:
    framework = import_module("agent_framework")
    tokenizer = _Tokenizer(counter) if counter else framework.CharacterEstimatorTokenizer()

    def compress(messages: Any, target: float) -> Any:
        steps = [framework.SelectiveToolCallCompactionStrategy(keep_last_tool_call_groups=20)]
        strategy = framework.TokenBudgetComposedStrategy(
            token_budget=int(target), tokenizer=tokenizer, strategies=steps
        )
        run = framework.apply_compaction(messages, strategy=strategy, tokenizer=tokenizer)
        return asyncio.run(run)

    name = "Agent Framework TokenBudget"
    return Peer(name, compress, _to_framework, _from_framework)


def headroom(counter: TextCounter | None) -> Peer:
    compress: Any = import_module("headroom").compress

    def compressed(messages: Any, target: float) -> Any:
        return compress(messages, model="claude-sonnet-4-5-20250929").messages

    return Peer("headroom compress", compressed, has_budget=False)


def strands_auto(counter: TextCounter | None) -> Peer:
    agent: Any = import_module("strands").Agent
    base: Any = import_module("strands.models").Model

    class Listener(base):
        """A model that records its requests and answers nothing."""

        def __init__(self) -> None:
            self.sent: list[Any] = []

        def get_config(self) -> dict[str, int]:
            return {"context_window_limit": 10**9}  # else it would want a summary

        def update_config(self, **changes: Any) -> None: ...

        def structured_output(self, *args: Any, **kwargs: Any) -> Any: ...

        async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            self.sent = list(messages)
            yield {"messageStart": {"role": "assistant"}}
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "ok"}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn"}}

    def compress(messages: Any, target: float) -> Any:
        model = Listener()
        agent(model=model, messages=messages, context_manager="auto", callback_handler=None)(_NEXT)
        return model.sent

    return Peer("Strands auto", compress, _to_strands, _from_strands, has_budget=False)


PEERS: dict[str, Callable[[TextCounter | None], Peer]] = {
    "last-N window": last_messages,
    "LangChain trim_messages": trim_messages,
    "Agent Framework TokenBudget": token_budget,
    "LangChain ClearToolUsesEdit": clear_tool_uses,
    "headroom compress": headroom,
    "Strands auto": strands_auto,
}


def installed(counter: TextCounter | None) -> tuple[list[Peer], list[str]]:
    """The peers that can be called, and the names of the others."""
    found: list[Peer] = []
    missing: list[str] = []
    for name, make in PEERS.items():
        try:
            found.append(make(counter))
        except ImportError:
            missing.append(name)
    return found, missing


def _newest(messages: Messages, target: float) -> Messages:
    kept: list[Messages] = []
    used = 0.0
    for group in reversed(groups(messages)):
        if used + group.tokens <= target:
            kept.append(group.messages)
            used += group.tokens
            continue
        room = target - used
        if room > 150:
            shortened = _shortened(group.messages, room)
            kept += [shortened] if sum(map(message_tokens, shortened)) <= room else []
        break
    return [message for group in reversed(kept) for message in group]


def _shortened(messages: Messages, target: float) -> Messages:
    """The group with its texts, or the results and arguments of its tools, cut in the middle."""
    if not any(block["type"] == "tool_result" for m in messages for block in m["content"]):
        return _cut(messages, int(2.5 * target), "text")
    length = max(200, int(2.2 * target))
    shortened = _cut(messages, length, "tool_result", "tool_use")
    while sum(map(message_tokens, shortened)) > target and length > 200:
        length //= 2
        shortened = _cut(messages, length, "tool_result", "tool_use")
    return shortened


def _cut(messages: Messages, length: int, *kinds: str) -> Messages:
    def middle(value: Any) -> Any:
        if not isinstance(value, str) or len(value) <= length:
            return value
        gap = f"\n[... {len(value) - length} chars omitted ...]\n"
        return value[: length // 2] + gap + value[len(value) - (length - length // 2) :]

    def cut(block: Block) -> Block:
        match block:
            case {"type": kind} if kind not in kinds:
                return block
            case {"type": "tool_use"}:
                return {**block, "input": {k: middle(v) for k, v in block["input"].items()}}
            case {"type": "tool_result"}:
                return {**block, "content": middle(block.get("content") or "")}
            case _:
                return {**block, "text": middle(block["text"])}

    return [{**message, "content": [*map(cut, message["content"])]} for message in messages]


@dataclass
class _Tokenizer:
    """A text counter with the interface of Agent Framework."""

    count: TextCounter

    def count_tokens(self, text: str) -> int:
        return self.count(text)


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


def _to_langchain(messages: Messages) -> list[Any]:
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


def _from_langchain(messages: Sequence[Any]) -> Messages:
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


def _langchain_tokens(messages: Sequence[Any]) -> int:
    return int(sum(map(message_tokens, _from_langchain(messages))))


def _to_framework(messages: Messages) -> list[Any]:
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


def _from_framework(messages: Sequence[Any]) -> Messages:
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


_NEXT = "(the next request)"


def _to_strands(messages: Messages) -> list[Any]:
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


def _from_strands(messages: Sequence[Any]) -> Messages:
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
        if (blocks := [block(b) for b in m["content"] if b != {"text": _NEXT}])
    ]
