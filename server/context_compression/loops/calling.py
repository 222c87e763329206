"""Runs the tools that a model calls; our tool is one of them.

Results have the order of the calls, even if the calls run concurrently. The error of a failed tool
is an answer too: the model reads it and continues.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, TypeAlias

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import ToolCall, is_array, is_object
from context_compression.display.fences import fence_for
from context_compression.errors import StoreError
from context_compression.session import Session

Tools: TypeAlias = Mapping[str, Callable[..., Any]]

RESTORE = "context_restore"
DESCRIPTION = (
    "Brings back what was moved out of this conversation. The notes that stand in its place name "
    "the ref."
)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ref": {"type": "string", "description": "as the note says"},
        "lines": {"type": "string", "description": "only these lines: 10-40"},
        "pattern": {"type": "string", "description": "only lines with this regular expression"},
        "start": {"type": "integer", "description": "characters to skip: for the next page"},
    },
    "required": ["ref"],
}
PAGE = 8_000
"""The most characters that one call restores."""


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


def restored(
    session: Session, ref: str, lines: str | None = None, pattern: str | None = None, start: int = 0
) -> str:
    """The answer of `context_restore`: a page of the original under a ref, quoted.

    Raises:
        StoreError: the ref is unknown, or the range or pattern is impossible.
    """
    text = session.restore(ref, lines=_span(lines), pattern=pattern, note=False)
    start = min(max(0, start), len(text))
    page = text[start : start + PAGE]
    stop = start + len(page)
    if full := session.store.session(session.id).full_ref(ref):
        session.note_restored(full, page)
    header = f"ref {ref}, characters {start + 1:,}-{stop:,} of {len(text):,}"
    if stop < len(text):
        header += f"; next page: start={stop}"
    fence = fence_for(page)
    return f"{header}\n{fence}text quoted from the archive\n{page}\n{fence}"


def _span(lines: str | None) -> tuple[int, int] | None:
    """`"10-40"` -> `(10, 40)`, `"7"` -> `(7, 7)`."""
    if not lines:
        return None
    match = re.fullmatch(r"\s*(\d{1,9})(?:\s*-\s*(\d{1,9}))?\s*", lines)
    if match is None:
        raise StoreError(f"lines must be as 10-40 or 7, from 1 on, not {lines[:40]!r}.")
    return int(match[1]), int(match[2] or match[1])


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
