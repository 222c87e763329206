"""Conversations of any length, made of real ones.

Recorded sessions, in a mixed order, follow each other until the conversation is long enough. If
there are not enough recordings, they are repeated in other words. If there are none, the demo's
conversation is used instead.
"""

import json
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import recordings
from recordings import Message, Messages

from context_compression import count_tokens

DEMO = Path(__file__).parents[1] / "server/context_compression/cli/conversation.jsonl"
MODEL = "gpt-4o"
"""The model in whose tokens the lengths are measured: o200k."""


def conversation(length: int, file: Path | None = None) -> Messages:
    """A valid conversation of about this many o200k tokens that ends with the user.

    Args:
        length: tokens.
        file: JSON lines to use instead of the recordings.
    """
    messages: Messages = []
    missing = length
    for each in _endless(file):
        for message in each:
            if missing <= 0 and _is_whole(messages):
                return messages
            messages.append(message)
            missing -= tokens(message)
        while not _is_whole(messages):
            messages.pop()
    raise AssertionError("it never ends")


def parts(messages: Messages, length: int) -> Iterator[Messages]:
    """The messages in parts of at least so many tokens, each ending with the user."""
    part: Messages = []
    for message in messages:
        part.append(message)
        if message["role"] == "user" and tokens(*part) >= length:
            yield part
            part = []
    if part:
        yield part


def reworded(text: str, mark: int) -> str:
    """JSON of messages with ids and long words made different from those of other marks."""
    if not mark:
        return text
    return re.sub(r"\b(?!tool_)([a-z]{4,}_[a-z]+)\b", rf"\g<1>{mark}", text)


def _endless(file: Path | None) -> Iterator[Messages]:
    recorded = sorted(recordings.FOLDER.glob("*.json.gz"), key=recordings.mixed)
    sources = [file] if file else recorded or [DEMO]
    for mark in count():
        for number, source in enumerate(sources):
            if messages := _read(source):
                text = reworded(json.dumps(messages), mark)
                yield [*_with_ids(json.loads(text), f"{mark}_{number}")]


def _read(source: Path) -> Messages:
    """The messages of a session; none if it uses no tools."""
    if source.suffix == ".gz":
        recording = recordings.load(source)
        return recording.messages if recording.uses_tools else []
    lines = source.read_text(encoding="utf-8").split("\n")
    return recordings.plain([json.loads(line) for line in lines if line])


def _with_ids(messages: Messages, mark: str) -> Iterator[Message]:
    """The messages, each tool step with ids of its own."""
    step = 0
    for message in messages:
        step += message["role"] == "assistant"
        blocks: Messages = []
        for block in message["content"]:
            name = {"tool_use": "id", "tool_result": "tool_use_id"}.get(block["type"])
            blocks.append({**block, name: f"{block[name]}_{mark}_{step}"} if name else block)
        yield {**message, "content": blocks}


def _is_whole(messages: Messages) -> bool:
    return not messages or messages[-1]["role"] == "user"


def tokens(*messages: Message) -> int:
    return int(count_tokens(messages, model=MODEL))
