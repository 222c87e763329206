"""Rows of any shape: the places in them, and what is read and told of a session."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from opencode_database import answer, checkpoint, tool, user

from context_compression import hosts
from context_compression.conversation import is_array, is_object
from context_compression.errors import ContextCompressionError

PICTURE = {"mime": "image/png", "data": "cG5n", "name": "a.png"}
LISTED = {"status": "completed", "content": [{"type": "text", "text": "a.py"}]}
TALK = [
    user("List.", files=[PICTURE], skills=[{"id": "s", "name": "tidy", "text": "Be tidy."}]),
    answer("I look.", {"type": "reasoning", "text": "Hm."}, tool("c1", "shell", **LISTED)),
    ("shell", {"command": "pwd", "output": {"output": "/work"}}),
    ("system", {"text": "The tools have changed."}),
    checkpoint("Two folders.", "[User]: And of b?"),
    user("Go on."),
    answer(tool("c2", "read", status="error", error={"type": "x", "message": "no file"})),
    user("And c?"),
]
"""A session of opencode 2: the type of each row, and its data."""


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The keys that lead to each value inside of a value, and to itself."""
    yield at
    inner: Iterable[tuple[Any, Any]] = ()
    if is_object(value):
        inner = value.items()
    elif is_array(value):
        inner = enumerate(value)
    for key, part in inner:
        yield from places(part, (*at, key))


def replaced(value: Any, at: Sequence[Any], by: Any) -> Any:
    """A value with another value in one place."""
    if not at:
        return by
    copy = value.copy()
    copy[at[0]] = replaced(value[at[0]], at[1:], by)
    return copy


def parts(path: Path) -> tuple[str, str]:
    """What is read of a session in all its stages, and what is told; or why it is refused."""
    try:
        transcript, history = hosts.read(path), hosts.history(path)
    except ContextCompressionError as error:
        return "", str(error)
    stages = [stage.messages for stage in history.stages]
    read = [transcript.messages, stages, transcript.system, transcript.tools]
    return json.dumps(read), "\n".join(transcript.warnings)


def everything(path: Path) -> str:
    """What is read of a session, and what is told."""
    return "".join(parts(path))
