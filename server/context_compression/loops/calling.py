"""Runs the tools that a model calls; our tool is one of them.

Results have the order of the calls, even if the calls run concurrently. The error of a failed tool
is an answer too: the model reads it and continues.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, TypeAlias

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import ToolCall, is_array, is_object

Tools: TypeAlias = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class Ran:
    """A tool call that was run, with its result (a text or content blocks) or its error."""

    call_id: str
    content: Any
    failed: bool = False


def open_calls(view: Sequence[Mapping[str, Any]]) -> list[ToolCall]:
    """The calls of the last assistant message that have no result yet, in order."""
    answered: set[str] = set()
    for message in reversed(parse(view).messages):
        if message.role == "assistant":
            return [call for call in message.calls if call.id not in answered]
        answered |= {result.call_id for result in message.results}
    return []


def run(calls: Sequence[ToolCall], tools: Tools) -> list[Ran]:
    """Run the calls one after another."""
    return [_run(call, tools) for call in calls]


async def arun(calls: Sequence[ToolCall], tools: Tools) -> list[Ran]:
    """Run the calls concurrently; functions that are not async run in threads."""
    from anyio import create_task_group

    done: dict[int, Ran] = {}

    async def note(number: int, call: ToolCall) -> None:
        done[number] = await _arun(call, tools)

    async with create_task_group() as group:
        for number, call in enumerate(calls):
            group.start_soon(note, number, call)
    return [done[number] for number in range(len(calls))]


def _run(call: ToolCall, tools: Tools) -> Ran:
    try:
        return Ran(call.id, _content(_bound(call, tools)()))
    except Exception as error:
        return _failed(call, error)


async def _arun(call: ToolCall, tools: Tools) -> Ran:
    from anyio.to_thread import run_sync

    try:
        bound = _bound(call, tools)
        answer = bound() if iscoroutinefunction(bound) else await run_sync(bound)
        return Ran(call.id, _content(await answer if isawaitable(answer) else answer))
    except Exception as error:
        return _failed(call, error)


def _bound(call: ToolCall, tools: Tools) -> Callable[[], Any]:
    """The function to call, with its arguments."""
    if call.name not in tools:
        raise LookupError(f"There is no tool {call.name!r}. There are: {', '.join(tools)}.")
    arguments: Any = call.arguments or {}  # some providers send "" for none
    if not is_object(arguments):
        raise TypeError(f"The arguments are not a JSON object: {call.arguments_text[:200]}")
    return partial(tools[call.name], **arguments)


def _content(answer: Any) -> Any:
    """A text or content blocks, unchanged; any other value as JSON."""
    if isinstance(answer, str):
        return answer
    if is_array(answer) and answer and all(is_object(part) and "type" in part for part in answer):
        return list(answer)
    return json.dumps(answer, ensure_ascii=False, default=str)


def _failed(call: ToolCall, error: Exception) -> Ran:
    return Ran(call.id, f"{type(error).__name__}: {error}", failed=True)
