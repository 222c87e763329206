"""Conversations made by hypothesis: valid ones in both dialects, and broken ones."""

import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from provider import blocks

from context_compression.testing import PIXEL, Dialect, Run, said_by_user, tool_step

Messages: TypeAlias = list[dict[str, Any]]

SENTENCES = (
    "ok",
    "Please fix src/app/main.py, but never change the tests.",
    "不要修改数据库，因为明天发布。",
    "The root cause is `parse_header`; see CORE-118 and https://example.org/a?b=1.",
    "SUMMARY of what we did so far: nothing.",
    "NODE_COMPLETE build 42",
    "[Compressed History] older words",
    "<system-reminder>be careful</system-reminder>",
    "```python\nprint('hello')\n```\n\nsecond paragraph\n\n" + "a long line without end " * 40,
)
LINES = (
    "info worker 7 handled request id=9f31bc02 in 120ms",
    "ERROR cannot open /srv/data/index.db: no such file",
    "    return self.connect(timeout=30)  # src/net/client.py:88",
    "会话超时，正在重试",
)

SCREEN = b64encode(b"GIF89a" + (1280).to_bytes(2, "little") + (800).to_bytes(2, "little")).decode()
"""The beginning of a picture as large as a screen: that is all that a counter looks at."""

words = st.one_of(st.sampled_from(SENTENCES), st.text(min_size=1, max_size=60).filter(str.strip))
dialects: SearchStrategy[Dialect] = st.sampled_from(("anthropic", "openai"))


@st.composite
def outputs(draw: DrawFn) -> str:
    """What a tool prints: nothing, a few words, or up to some hundred lines."""
    if draw(st.booleans()):
        return draw(st.one_of(st.just(""), words))
    line, times = draw(st.sampled_from(LINES)), draw(st.integers(2, 160))
    middle = draw(st.sampled_from((*LINES, "exit code: 2", "")))
    return "\n".join([f"{n} {line}" for n in range(times)] + [middle] + [line] * (times // 2))


@st.composite
def runs(draw: DrawFn, taken: list[int]) -> list[Run]:
    """One to three parallel calls, their ids new among `taken`."""
    found: list[Run] = []
    for _ in range(draw(st.integers(1, 3))):
        taken.append(len(taken))
        arguments = {"path": draw(st.sampled_from(("src/a.py", "src/b.py"))), "note": draw(words)}
        name = draw(st.sampled_from(("Bash", "Read", "mcp__cc__context_restore")))
        failed, picture = draw(st.booleans()), draw(st.integers(0, 9)) == 0
        found.append(Run(f"id{taken[-1]}", name, arguments, draw(outputs()), failed, picture))
    return found


@st.composite
def conversations(
    draw: DrawFn,
    dialect: SearchStrategy[Dialect] = dialects,
    max_turns: int = 5,
) -> Messages:
    """A valid conversation; it may be empty, and end in an open tool step."""
    kind = draw(dialect)
    messages: Messages = []
    taken: list[int] = []
    if kind == "openai" and draw(st.booleans()):
        messages.append({"role": "system", "content": draw(words)})
    for _ in range(draw(st.integers(0, max_turns))):
        messages.append(said_by_user(draw(words), kind, draw(st.integers(0, 9)) == 0))
        if kind == "openai" and draw(st.integers(0, 4)) == 0:
            messages.append({"role": "developer", "content": draw(words)})
        thought = draw(st.one_of(st.none(), words))
        for _ in range(draw(st.integers(0, 3))):
            says = draw(st.one_of(st.just(""), words))
            messages += tool_step(draw(runs(taken)), kind, thought=thought, says=says)
        if draw(st.integers(0, 4)):
            messages.append(_spoken(kind, draw(words), draw(st.integers(0, 5))))
    ending = draw(st.integers(0, 3))
    if messages and messages[-1]["role"] != "system" and ending:
        answered = draw(st.integers(0, 2)) if ending == 1 else 9
        messages += tool_step(draw(runs(taken)), kind, answered=answered)
    if draw(st.booleans()):
        messages = json.loads(json.dumps(messages).replace(PIXEL, SCREEN))
    return messages


def _spoken(dialect: Dialect, text: str, rare: int) -> dict[str, Any]:
    """What the model says, sometimes in one of the shapes one rarely sees."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if dialect == "openai":
        extra: list[dict[str, Any]] = [{"refusal": "I can't."}, {"name": "helper"}]
    else:
        block = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
        search: dict[str, Any] = {
            "type": "server_tool_use",
            "id": "srv",
            "name": "web_search",
            "input": {},
        }
        extra = [{"content": [block]}, {"content": [search, block]}, {"id": "msg_1"}]
    return message | (extra[rare] if rare < len(extra) else {})


def _drop(messages: Messages, at: int, to: int) -> None:
    del messages[at]


def _repeat(messages: Messages, at: int, to: int) -> None:
    messages.insert(to, deepcopy(messages[at]))


def _move(messages: Messages, at: int, to: int) -> None:
    messages.insert(to, messages.pop(at))


def _empty(messages: Messages, at: int, to: int) -> None:
    messages[at]["content"] = ("", [], None, [{"type": "text", "text": ""}])[to % 4]


def _model_first(messages: Messages, at: int, to: int) -> None:
    messages.insert(0, {"role": "assistant", "content": "As I said before."})


def _unknown(messages: Messages, at: int, to: int) -> None:
    block = {"type": "hologram", "waves": [1, 2, 3]}
    content = messages[at].get("content")
    messages[at]["content"] = [*content, block] if isinstance(content, list) else [block]


def _same_ids(messages: Messages, at: int, to: int) -> None:
    for message in messages[min(at, to) : max(at, to) + 1]:
        calls = [b for b in blocks(message) if b.get("type") == "tool_use"]
        for call in (*calls, *(message.get("tool_calls") or ())):
            call["id"] = "id0"


def _other_id(messages: Messages, at: int, to: int) -> None:
    if "tool_call_id" in messages[at]:
        messages[at]["tool_call_id"] = f"nobody{to}"
    for block in blocks(messages[at]):
        if block.get("type") == "tool_result":
            block["tool_use_id"] = f"nobody{to}"


def _mixed(messages: Messages, at: int, to: int) -> None:
    messages[at]["content"] = [*blocks(messages[at])[::-1], *blocks(messages[to])[:1]]


DAMAGES: Sequence[Callable[[Messages, int, int], None]] = (
    _drop, _repeat, _move, _empty, _model_first, _unknown, _same_ids, _other_id, _mixed,
)  # fmt: skip


@st.composite
def broken(draw: DrawFn, dialect: SearchStrategy[Dialect] = dialects) -> Messages:
    """A conversation with one to four damages; some of them leave it valid."""
    messages = deepcopy(draw(conversations(dialect)))
    for _ in range(draw(st.integers(1, 4))):
        if not messages:
            break
        at, to = (draw(st.integers(0, len(messages) - 1)) for _ in range(2))
        draw(st.sampled_from(DAMAGES))(messages, at, to)
    return messages
