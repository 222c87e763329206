"""Where a text stands in the plain files, so that nothing else has to keep it.

Mostly it is one JSON string in a file as we wrote it: then these very bytes are its place. Where a
file was formatted anew, or a text is put together from several, the place is that of the message.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import Message, Text, ToolResult, texts_of
from context_compression.store import files
from context_compression.store.log import SessionLog

_BEGINNING, _END = b"\n  {", b"\n  }"


@dataclass(frozen=True, slots=True)
class Place:
    """Bytes of a file, which are JSON: a string, a message, a line of the log, or all messages.

    Attributes:
        file: of originals; empty for the log.
        start: offset of the first byte.
        position: of the message, where the bytes are all of them.
        block: in which the text stands; `None` for all that can be read in the message.
        parts: of a text put together from several strings, and from numbers: where the first
            byte of each stands, counted from `start`, and its length, by turns.
    """

    file: str
    start: int
    length: int
    position: int | None = None
    block: int | None = None
    parts: tuple[int, ...] = ()


class Written:
    """A file of originals: its messages, and where each of them stands."""

    def __init__(self, log: SessionLog, file: str) -> None:
        """Raises `StoreDamaged` where it is missing or none."""
        self.file = file
        self.messages = log.read_originals(file)
        self._data = log.part(file)
        spans = [*_spans(self._data)]
        self._spans = spans if len(spans) == len(self.messages) else None

    def place(self, position: int, block: int | None, texts: Sequence[str]) -> Place:
        """The place of what these texts make, of a message or of a block in it."""
        if self._spans is None:
            return Place(self.file, 0, len(self._data), position, block)
        start, length = self._spans[position]
        parts = self._parts(texts, start, start + length)
        if not parts:
            return Place(self.file, start, length, None, block)
        first, end = parts[0], parts[-2] + parts[-1]
        told = [number - first if at % 2 == 0 else number for at, number in enumerate(parts)]
        return Place(
            self.file, first, end - first, None, block, tuple(told) if len(parts) > 2 else ()
        )

    def _parts(self, texts: Sequence[str], start: int, stop: int) -> list[int]:
        """Where the texts stand one behind the other; nothing where one of them does not."""
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


def in_line(start: int, line: bytes, text: str) -> Place:
    """The place of a text that stands in a line of the log, among the refs of its event."""
    literal = files.to_json(text)
    at = line.find(literal)
    return Place("", start, len(line)) if at < 0 else Place("", start + at, len(literal))


def checksum(ref: str, data: bytes) -> int:
    """By this it is known again what stood in a place."""
    return crc32(data, crc32(ref.encode()))


def text_from(data: bytes, place: Place, ref: str) -> str:
    """The text that stands in a place, given its bytes."""
    if parts := place.parts:
        strings = (data[at : at + length] for at, length in zip(*[iter(parts)] * 2, strict=True))
        return "\n".join(map(str, json.loads(f"[{b','.join(strings).decode()}]")))
    value = json.loads(data.decode())
    if isinstance(value, str):
        return value
    if not place.file:
        return value["refs"][ref]["text"]
    message = parsed(value if place.position is None else value[place.position])
    if place.block is None:
        return whole_text(message)
    block = message.blocks[place.block]
    return block.text if isinstance(block, Text | ToolResult) else ""


def message_from(data: bytes, place: Place) -> Any:
    """The message that stands in a place, as it came, given its bytes."""
    value = json.loads(data)
    if not place.file:
        return value["message"]
    return value if place.position is None else value[place.position]


class Spelled:
    """How a text may stand within a JSON string of ours; a path also with the other slashes."""

    def __init__(self, text: str) -> None:
        self._ways = {files.to_json(text)[1:-1], json.dumps(text)[1:-1].encode()}
        self._is_path = "/" in text
        self.in_one = "\n" not in text

    def may_be_in(self, data: bytes, *, in_parts: bool) -> bool:
        """Whether it may stand in such a string; in several that are put together in lines."""
        if (in_parts and not self.in_one) or (self._is_path and b"\\\\" in data):
            return True
        return any(way in data for way in self._ways)


def lacks(data: bytes, spelled: Spelled, *, in_parts: bool) -> bool:
    """Whether a text certainly does not stand in a place, given the bytes there."""
    literal = in_parts or data.startswith(b'"')
    return literal and not spelled.may_be_in(data, in_parts=in_parts)


def parsed(raw: Any) -> Message:
    """One message, in our words."""
    return parse([raw]).messages[0]


def whole_text(message: Message) -> str:
    """All that can be read in a message."""
    return "\n".join(texts_in(message))


def texts_in(message: Message) -> list[str]:
    """The same, apart."""
    return [text for block in message.blocks for text in texts_of(block)]


def _is_number(text: str) -> bool:
    try:
        return text == str(json.loads(text))
    except (ValueError, RecursionError):
        return False


def _spans(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the messages stand in a file of originals as we write it: start and length of each."""
    start = data.find(_BEGINNING)
    while start >= 0:
        stop = data.find(_END, start) + len(_END)
        yield start + 3, stop - start - 3
        start = data.find(_BEGINNING, stop)
