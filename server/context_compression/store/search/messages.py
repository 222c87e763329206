"""Recorded messages as a search shows them: the speaker, the beginning, the tool calls.

A search also finds a tool result by its call. So a conversation is read in order, and each call is
remembered until its result comes.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from context_compression.conversation.authors import author_of
from context_compression.conversation.formats import parse
from context_compression.conversation.messages import (
    Message,
    Text,
    ToolCall,
    ToolResult,
    strings_in,
    texts_of,
)
from context_compression.conversation.refs import ref_of
from context_compression.errors import ContextCompressionError

GLIMPSE_CHARS = 200
"""How many characters of a message next to a hit are shown."""
CALL_CHARS = 500
"""How many characters of a call's arguments can find its result."""

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CallLabel:
    """A tool call: the tool's name and the beginning of its arguments."""

    tool: str
    arguments: str

    def __str__(self) -> str:
        return f"{self.tool} {self.arguments}"


NO_CALL = CallLabel("", "")


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """A recorded message, as a search shows it next to a hit.

    Attributes:
        at: its place in the conversation, from 1.
        role: the speaker: the message's role, but `tool` for results and `host` for its notes.
        glimpse: the beginning of its text, on one line.
        answers: the calls whose results it contains, by the block's index.
    """

    at: int
    ref: str
    role: str
    glimpse: str
    answers: Mapping[int, CallLabel]


class ConversationReader:
    """Reads the events of a conversation one by one, and remembers the calls without results.

    Attributes:
        length: how many messages the conversation has.
        calls: the calls that wait for results, by their ids.
        number: how many messages were read, including those that a rewind removed.
        caller: the number of the message with these calls, from 0.
    """

    def __init__(
        self, length: int = 0, calls: Mapping[str, CallLabel] | None = None, number: int = 0,
        caller: int = 0, *, described: bool = True,
    ) -> None:  # fmt: skip
        """A reader that continues after `number` messages.

        Args:
            length: how many messages the conversation has.
            calls: the calls that wait for results, by their ids.
            number: how many messages were read.
            caller: the number of the message with these calls.
            described: whether the messages are read with their roles and glimpses, which takes
                time; otherwise these are "".
        """
        self.length = length
        self.calls = dict(calls or {})
        self.number = number
        self.caller = caller
        self._described = described

    def read(self, event: Event) -> RecordedMessage | None:
        """The message that an event records; `None` for other events and unreadable messages."""
        match event:
            case {"type": "rewind", "to": int(to)}:
                self.length = to
            case {"type": "message", "message": raw}:
                self.length += 1
                with suppress(ContextCompressionError):
                    return self._read_message(raw, parse_message(raw))
            case _:
                pass
        return None

    def _read_message(self, raw: Any, message: Message) -> RecordedMessage:
        if message.role == "assistant":
            self.calls, self.caller = calls_of(message), self.number
        self.number += 1
        answers = answers_in(message, self.calls)
        about = (speaker(message), glimpse_of(message)) if self._described else ("", "")
        return RecordedMessage(self.length, ref_of(raw), *about, answers)


def parse_message(raw: Any) -> Message:
    """One message of any format as a `Message`; otherwise `InvalidConversation` is raised."""
    return parse([raw]).messages[0]


def texts_in(message: Message) -> list[str]:
    """All texts of a message, block by block."""
    return [text for block in message.blocks for text in texts_of(block)]


def full_text(message: Message) -> str:
    """All texts of a message, joined by newlines."""
    return "\n".join(texts_in(message))


def calls_of(message: Message) -> dict[str, CallLabel]:
    """The calls that a message makes, by their ids."""
    return {call.id: _call(call) for call in message.calls}


def answers_in(message: Message, calls: Mapping[str, CallLabel]) -> dict[int, CallLabel]:
    """The calls whose results a message contains, by the block's index."""
    return {
        slot: calls[block.call_id]
        for slot, block in enumerate(message.blocks)
        if isinstance(block, ToolResult) and block.call_id in calls
    }


def speaker(message: Message) -> str:
    """The speaker of a message, see `RecordedMessage.role`."""
    authors = {author_of(message, b.text) for b in message.blocks if isinstance(b, Text)}
    if message.results:
        authors = authors - {"host"} | {"tool"}
    return authors.pop() if len(authors) == 1 else message.role


def glimpse_of(message: Message) -> str:
    """The beginning of a message's text, on one line."""
    texts = [
        " ".join(texts_of(block))[: 4 * GLIMPSE_CHARS]
        for block in message.blocks
        if isinstance(block, Text | ToolCall | ToolResult)
    ]
    words = " ".join(" ".join(texts).split())
    return words if len(words) <= GLIMPSE_CHARS else f"{words[:GLIMPSE_CHARS]}…"


def _call(call: ToolCall) -> CallLabel:
    return CallLabel(call.name, " ".join(strings_in(call.arguments))[:CALL_CHARS])
