"""The place of a text in the plain files of a session, so that the index need not keep the text.

A text is usually one JSON string in a file that this package wrote, and its span is the bytes of
that string. If a file was reformatted by hand, the span is the message that contains the text. A
text that is joined from several strings has a part for each of them.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol
from zlib import crc32

from context_compression.conversation.messages import Text, ToolResult
from context_compression.errors import ContextCompressionError
from context_compression.store import files
from context_compression.store.events import messages_in
from context_compression.store.json_lines import JsonLine
from context_compression.store.originals import MESSAGE_END, MESSAGE_START
from context_compression.store.search.messages import Event, full_text, parse_message
from context_compression.store.session_files import SessionFiles


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes of a file that are JSON: a string, a message, a line of the log, or all messages.

    Attributes:
        file: name of a file of originals; "" for the log.
        start: offset of the first byte.
        length: in bytes.
        position: of the message, if the span is the complete file.
        block: index of the block that contains the text; `None` for all text of the message.
        parts: for a text joined from several strings and numbers: alternately the start, relative
            to the start of the span, and the length of each.
    """

    file: str
    start: int
    length: int
    position: int | None = None
    block: int | None = None
    parts: tuple[int, ...] = ()


class Originals(Protocol):
    """Messages that are kept under a name, each with its place."""

    @property
    def messages(self) -> Sequence[Any]:
        """All of them."""
        ...

    def span(self, position: int, block: int | None, texts: Sequence[str]) -> Span:
        """The place of a text; see `OriginalsFile.span`."""
        ...


class OriginalsFile:
    """A file of originals in memory: its messages, and the span of each of them."""

    def __init__(self, log: SessionFiles, name: str) -> None:
        """Reads the file; `StoreDamaged` if it is missing or damaged."""
        self.name = name
        self.messages = log.read_originals(name)
        self._data = log.part(name)
        spans = [*_message_spans(self._data)]
        self._spans = spans if len(spans) == len(self.messages) else None

    def span(self, position: int, block: int | None, texts: Sequence[str]) -> Span:
        """The span of the text that is joined from `texts`.

        Args:
            position: of the message.
            block: index of the block that contains them; `None` for the message.
            texts: in their order in the message; empty for the message itself.
        """
        if self._spans is None:
            return Span(self.name, 0, len(self._data), position, block)
        start, length = self._spans[position]
        parts = self._parts(texts, start, start + length)
        if not parts:
            return Span(self.name, start, length, None, block)
        first, end = parts[0], parts[-2] + parts[-1]
        relative = [number - first if at % 2 == 0 else number for at, number in enumerate(parts)]
        return Span(
            self.name, first, end - first, None, block,
            tuple(relative) if len(parts) > 2 else (),
        )  # fmt: skip

    def _parts(self, texts: Sequence[str], start: int, stop: int) -> list[int]:
        """Start and length of each text, one after the other; `[]` if one is missing."""
        parts: list[int] = []
        for text in texts:
            literal = files.to_json(text)
            at = self._data.find(literal, start, stop)
            if at < 0 and _is_number(text):
                literal = text.encode()
                at = self._data.find(literal, start, stop)
            if at < 0:
                return []
            start = at + len(literal)
            parts += (at, len(literal))
        return parts


def events_in(
    line: JsonLine, originals: Callable[[str], Originals]
) -> Iterator[tuple[Event, Span]]:
    """The events of a line of the log, each with its span.

    This is one event. If the line stands for messages in a file of originals, it is one event for
    each of these messages.

    Args:
        line: of the log.
        originals: returns a file of originals, by its name.
    """
    event = line.item
    if event.get("type") != "messages":
        yield event, Span("", line.start, len(line.data))
        return
    with suppress(ContextCompressionError):  # gone or damaged: reading the log warns of it
        messages = messages_in(event, lambda file: originals(file).messages)
        for number, each in enumerate(messages):
            yield each, originals(event["file"]).span(event["from"] + number, None, ())


def span_in_line(start: int, line: bytes, text: str) -> Span:
    """The span of a text in an event's refs; the event's line begins at offset `start`."""
    literal = files.to_json(text)
    at = line.find(literal)
    return Span("", start, len(line)) if at < 0 else Span("", start + at, len(literal))


def checksum(ref: str, data: bytes) -> int:
    """A CRC-32 of a ref and the bytes of its span, to detect changes of the bytes."""
    return crc32(data, crc32(ref.encode()))


def text_from(data: bytes, span: Span, ref: str) -> str:
    """The text of a ref, from the bytes of its span."""
    if parts := span.parts:
        strings = (data[at : at + length] for at, length in zip(*[iter(parts)] * 2, strict=True))
        return "\n".join(map(str, json.loads(f"[{b','.join(strings).decode()}]")))
    value = json.loads(data.decode())
    if isinstance(value, str):
        return value
    if not span.file:
        return value["refs"][ref]["text"]
    message = parse_message(value if span.position is None else value[span.position])
    if span.block is None:
        return full_text(message)
    block = message.blocks[span.block]
    return block.text if isinstance(block, Text | ToolResult) else ""


def message_from(data: bytes, span: Span) -> Any:
    """The message of a span as it was recorded, from the bytes of the span."""
    value = json.loads(data)
    if not span.file:
        return value["message"]
    return value if span.position is None else value[span.position]


def _is_number(text: str) -> bool:
    try:
        return text == str(json.loads(text))
    except (ValueError, RecursionError):
        return False


def _message_spans(data: bytes) -> Iterator[tuple[int, int]]:
    """Start and length of each message in a file of originals that has the layout we write."""
    start = data.find(MESSAGE_START)
    while start >= 0:
        stop = data.find(MESSAGE_END, start) + len(MESSAGE_END)
        brace = start + len(MESSAGE_START) - 1
        yield brace, stop - brace
        start = data.find(MESSAGE_START, stop)
