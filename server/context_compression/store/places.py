"""Where a text stands in the plain files, so that nothing else has to keep it.

Mostly it is one JSON string in a file as we wrote it: then these very bytes are its place. Where a
file was formatted anew, or a text is put together from several, the place is that of the message.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from context_compression.formats import parse
from context_compression.messages import Message, Text, ToolResult, texts_of
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
    """

    file: str
    start: int
    length: int
    position: int | None = None
    block: int | None = None


class Written:
    """A file of originals: its messages, and where each of them stands."""

    def __init__(self, log: SessionLog, file: str) -> None:
        """Raises `StoreDamaged` where it is missing or none."""
        self.file = file
        self.messages = log.read_originals(file)
        self._data = log.part(file)
        spans = [*_spans(self._data)]
        self._spans = spans if len(spans) == len(self.messages) else None

    def place(self, position: int, block: int | None = None, text: str | None = None) -> Place:
        """The place of a message; of a text in it, where one is given."""
        if self._spans is None:
            return Place(self.file, 0, len(self._data), position, block)
        start, length = self._spans[position]
        if text is not None:
            literal = files.to_json(text)
            at = self._data.find(literal, start, start + length)
            if at >= 0:
                return Place(self.file, at, len(literal), None, block)
        return Place(self.file, start, length, None, block)


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
    value = json.loads(data)
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


def spellings(part: str) -> tuple[bytes, ...]:
    """How a part of a text may stand within a JSON string of ours."""
    return files.to_json(part)[1:-1], json.dumps(part)[1:-1].encode()


def may_hold(data: bytes, place: Place, spelled: Sequence[bytes]) -> bool:
    """Whether what stands in a place of a file may hold a text, given how that is spelled."""
    start, stop = place.start, place.start + place.length
    literal = data.startswith(b'"', start)
    return not literal or any(data.find(part, start, stop) >= 0 for part in spelled)


def parsed(raw: Any) -> Message:
    """One message, in our words."""
    return parse([raw]).messages[0]


def whole_text(message: Message) -> str:
    """All that can be read in a message."""
    return "\n".join(text for block in message.blocks for text in texts_of(block))


def _spans(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the messages stand in a file of originals as we write it: start and length of each."""
    start = data.find(_BEGINNING)
    while start >= 0:
        stop = data.find(_END, start) + len(_END)
        yield start + 3, stop - start - 3
        start = data.find(_BEGINNING, stop)
