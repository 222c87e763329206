"""What Anthropic's Messages API refuses.

Sources: the Messages API reference; the guides "Handle tool calls", "Parallel tool use", "Server
tools", "Programmatic tool calling", "Tool search", "Prompt caching", "Extended thinking"; patterns
and texts of its 400 answers.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from provider.reading import (
    Json,
    Messages,
    blocks,
    call_ids,
    is_list,
    is_object,
    kind,
    result_ids,
    twice,
)

MARKS = 4
"""Cache breakpoints a request may have (guide "Prompt caching")."""
CALLED_BY_SERVER = ("server_tool_use", "mcp_tool_use")
CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
SERVER_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")


@dataclass(frozen=True)
class Turn:
    """Consecutive messages of one role, which the API joins before it looks at pairs."""

    role: str
    messages: Messages
    is_last: bool

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """All their blocks in order."""
        return [block for message in self.messages for block in blocks(message)]

    @property
    def speaks(self) -> bool:
        """Whether anything but results stands in it."""
        return any(kind(block) != "tool_result" for block in self.blocks)


def rules(messages: Messages) -> Iterator[str]:
    """Every rule of this API."""
    joined = _turns(messages)
    if joined and joined[0].role != "user":
        yield "the first message is not the user's"
    yield from _shapes(messages)
    yield from _last_blocks(joined)
    yield from _ids(messages)
    yield from _pairs(joined)
    yield from _server_tools(joined)
    yield from _marks(messages)


def _turns(messages: Messages) -> list[Turn]:
    spoken = [message for message in messages if message["role"] != "system"]
    groups = groupby(spoken, key=lambda message: message["role"])
    joined = [(role, list(group)) for role, group in groups]
    last = messages[-1] if messages else None
    return [Turn(role, group, group[-1] is last) for role, group in joined]


def _shapes(messages: Messages) -> Iterator[str]:
    """Results only from the user, calls and thinking only from the assistant; no blank text.

    "text content blocks must be non-empty", "… must contain non-whitespace text": also inside a
    tool result, where a plain empty string is legal.
    """
    for number, message in enumerate(messages):
        strange = result_ids if message["role"] == "assistant" else call_ids
        if strange(message):
            yield f"message {number} of role {message['role']} holds calls or results"
        thinks = any("thinking" in kind(block) for block in blocks(message))
        if thinks and message["role"] != "assistant":
            yield f"message {number} of role {message['role']} thinks"
        if not blocks(message):
            yield f"message {number} is empty"
        nested = [block.get("content") for block in blocks(message)]
        inside = [part for content in nested if is_list(content) for part in content]
        if any(_is_blank(part) for part in (*blocks(message), *inside)):
            yield f"message {number} has an empty text"


def _last_blocks(joined: Sequence[Turn]) -> Iterator[str]:
    """ "The final block in an assistant message cannot be `thinking`"."""
    for turn in joined:
        if turn.role == "assistant" and turn.blocks and "thinking" in kind(turn.blocks[-1]):
            yield "a turn of the assistant's ends with thinking"


def _is_blank(block: Json) -> bool:
    return kind(block) == "text" and not str(block.get("text") or "").strip()


def _ids(messages: Messages) -> Iterator[str]:
    """Each call has its own id, in the API's alphabet ("String should match pattern …")."""
    calls = [call for message in messages for call in call_ids(message)]
    everything = [block for message in messages for block in blocks(message)]
    server = [block for block in everything if kind(block) in CALLED_BY_SERVER]
    for call_id in twice([*calls, *(block.get("id") for block in server)]):
        yield f"a call id is used twice: {call_id}"
    yield from (f"no call id: {call_id!r}" for call_id in calls if not CALL_ID.fullmatch(call_id))
    for block in server:
        if kind(block) == "server_tool_use" and not SERVER_ID.fullmatch(str(block.get("id"))):
            yield f"no id of a server's call: {block.get('id')!r}"


def _pairs(joined: Sequence[Turn]) -> Iterator[str]:
    """Results stand first in the user's next turn, one for each call ("Handle tool calls").

    To calls that a program made, the turn answers with results alone ("Programmatic tool calling").
    """
    waiting: list[str] = []
    by_program = False
    for turn in joined:
        if turn.role == "assistant":
            waiting = [call_id for message in turn.messages for call_id in call_ids(message)]
            by_program = any(kind(b) == "tool_use" and _program(b) for b in turn.blocks)
            if waiting and turn.is_last and _went_on(turn):
                yield f"calls without result: {waiting}"
            continue
        kinds = [kind(block) == "tool_result" for block in turn.blocks]
        if kinds != sorted(kinds, reverse=True):
            yield "results do not stand first"
        if by_program and not all(kinds):
            yield "a program waits for results, and more than results is sent"
        answers = [call_id for message in turn.messages for call_id in result_ids(message)]
        if twice(answers) or not set(answers) <= set(waiting):
            yield f"results {answers} for calls {waiting}"
        waiting = [call_id for call_id in waiting if call_id not in answers]
        if waiting and not (turn.is_last and all(kinds)):
            yield f"calls without result: {waiting}"
        waiting, by_program = [], False


def _went_on(turn: Turn) -> bool:
    """Whether the assistant speaks after a call, as it does only once it has the result."""
    kinds = [kind(block) for block in turn.blocks]
    return "text" in kinds[kinds.index("tool_use") :]


def _server_tools(joined: Sequence[Turn]) -> Iterator[str]:
    """A server's call has its result behind it in what the assistant says ("Server tools").

    In between may stand the calls of the program that it runs, with their results; words of the
    user's may not. A call that names a program needs it open ("source tool … not found").
    """
    running: dict[Any, str] = {}
    for turn in joined:
        if turn.role != "assistant":
            if turn.speaks:
                yield from (f"server tool {call_id} has no result" for call_id in running)
                running = {}
            continue
        for block in turn.blocks:
            program = _program(block)
            if program is not None and program not in running:
                yield f"source tool {program} not found for tool use {block.get('id')}"
            if kind(block) in CALLED_BY_SERVER:
                running[block.get("id")] = kind(block)
            elif kind(block).endswith("_tool_result"):
                called = running.pop(block.get("tool_use_id"), "")
                if not called or (called == "mcp_tool_use") != kind(block).startswith("mcp_"):
                    yield f"{kind(block)} {block.get('tool_use_id')} without its call"


def _program(block: Json) -> Any:
    """Id of the server's call that makes this call; `None` where the model makes it itself."""
    caller = block.get("caller") if kind(block) in ("tool_use", "server_tool_use") else None
    return caller.get("tool_id") if is_object(caller) else None


def _marks(messages: Messages) -> Iterator[str]:
    """At most four cache breakpoints, nested blocks included."""
    marks = sum(map(_marked, messages))
    if marks > MARKS:
        yield f"{marks} cache_control marks"


def _marked(value: Any) -> int:
    if is_object(value):
        return bool(value.get("cache_control")) + sum(map(_marked, value.values()))
    return sum(map(_marked, value)) if is_list(value) else 0


def undeclared(view: Messages, given: Messages) -> list[str]:
    """Calls of tools that only a `tool_reference` declares, where the view has none of it.

    A tool with `defer_loading` is known to the model where a reference to it stands in the
    conversation (guide "Tool search"); `given` tells which tools were found that way.
    """
    found, shown = {*_references(given)}, {*_references(view)}
    called = {b["name"] for m in view for b in blocks(m) if kind(b) == "tool_use"}
    return [f"nothing declares {name}" for name in sorted(called & (found - shown))]


def _references(value: Any) -> Iterator[str]:
    if is_object(value):
        if value.get("type") == "tool_reference":
            yield value["tool_name"]
        for item in value.values():
            yield from _references(item)
    elif is_list(value):
        for item in value:
            yield from _references(item)


def misplaced_system(messages: Messages) -> list[str]:
    """System messages where newer models do not take them; older ones take none at all.

    Each follows the user's message, or an assistant's that ends in a server's call, and stands
    last or before an assistant's (guide "Mid-conversation system messages"; 400 "role 'system' must
    precede an 'assistant' message or end the array").
    """
    faults: list[str] = []
    for number, message in enumerate(messages):
        if message["role"] != "system":
            continue
        before = messages[number - 1] if number else {"role": "nobody"}
        ends_in = kind(blocks(before)[-1]) if blocks(before) else ""
        paused = before["role"] == "assistant" and ends_in in CALLED_BY_SERVER
        if before["role"] != "user" and not paused:
            faults.append(f"system message {number} does not follow the user's")
        if number + 1 < len(messages) and messages[number + 1]["role"] != "assistant":
            faults.append(f"system message {number} does not precede the assistant's")
    return faults
