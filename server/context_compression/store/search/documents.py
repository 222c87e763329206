"""The documents that a search can find in a session, and their places in its files.

The place of a text in the plain files of a session, so that the index need not keep the text. A
text is usually one JSON string in a file that this package wrote, and its span is the bytes of that
string. If a file was reformatted by hand, the span is the message that contains the text. A text
that is joined from several strings has a part for each of them.

Text that this package wrote may be archived later: a summary that went into another summary, or the
preview of a tool result. A search finds it, too; such documents have `by_us`.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol, cast
from zlib import crc32

from context_compression.conversation.messages import Block, Message, Text, ToolResult, texts_of
from context_compression.conversation.refs import DIGITS, digest_of, is_proven, ref_of
from context_compression.errors import ContextCompressionError
from context_compression.evidence.facts import exit_status
from context_compression.evidence.ledger.tasks import reported_errors
from context_compression.store import files
from context_compression.store.json_lines import JsonLine
from context_compression.store.search.excerpt import (
    NO_CALL,
    CallLabel,
    Event,
    RecordedMessage,
    full_text,
    parse_message,
    texts_in,
)
from context_compression.store.search.query import Spellings, lacks
from context_compression.store.session_files import (
    MESSAGE_END,
    MESSAGE_START,
    SessionFiles,
    messages_in,
)


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


BATCH_BYTES = 2**22
"""Bytes of a log that are read at once. Other processes wait for the index no longer than one
batch.
"""


@dataclass(frozen=True)
class IndexedDocument:
    """An archived text, or an archived message with content beyond its archived texts.

    Attributes:
        what: a description in a few words.
        message: ref of the message, or of the message that contains the text; "" for a text of no
            message.
        span: the place of its text.
        source: its text, or a function that reads it when it is needed.
        call: the call that it is the result of; for a message, the names of the tools it calls.
        failed: whether it reports a failure.
        by_us: whether this package wrote it.
        data: the bytes of its span, if they were read.
        place: of its message in the conversation, from 1; `None` if that is not known.
    """

    ref: str
    what: str
    message: str
    span: Span
    source: str | Callable[[], str]
    call: CallLabel = NO_CALL
    failed: bool = False
    by_us: bool = False
    data: bytes | None = None
    place: int | None = None

    @cached_property
    def text(self) -> str:
        """The complete text."""
        return self.source if isinstance(self.source, str) else self.source()

    def lacks(self, spellings: Spellings) -> bool:
        """Whether it certainly does not contain a text; its own text is not read for that."""
        in_parts = bool(self.span.parts)
        return self.data is not None and lacks(self.data, spellings, in_parts=in_parts)

    @property
    def is_text(self) -> bool:
        """Whether the ref stands for a text, so that it has lines."""
        return self.message != self.ref

    @property
    def searched(self) -> str:
        """The text that words are searched in: its own and the call it answers, casefolded."""
        return f"{self.text} {self.call}".casefold()


def documents(
    line: JsonLine,
    originals: Callable[[str], Originals],
    recorded: Callable[[str], RecordedMessage | None],
) -> Iterator[IndexedDocument]:
    """The documents that an event archived, without those whose original is missing.

    Args:
        line: an event of any type.
        originals: returns a file of originals, by its name.
        recorded: returns the recorded message of a ref, or `None`.
    """
    refs = line.item.get("refs")
    if not isinstance(refs, dict):
        return
    entries = cast("dict[str, Any]", refs)
    match line.item:
        case {"type": "offload"}:
            for ref, entry in entries.items():
                match entry:
                    case {"text": str(text), "what": str(what)} if is_proven(ref, entry, text):
                        yield IndexedDocument(
                            ref, what, "", span_in_line(line.start, line.data, text), text
                        )
                    case _:
                        pass
        case {"type": "compression", "originals": str(file)}:
            with suppress(ContextCompressionError):  # the file is gone or damaged
                yield from _Compression(originals(file), entries, recorded).documents()
        case _:
            pass


class _Compression:
    """One compression: the entries of its refs, and the messages it archived."""

    def __init__(
        self,
        originals: Originals,
        entries: Mapping[str, Any],
        recorded: Callable[[str], RecordedMessage | None],
    ) -> None:
        self._entries = entries
        self._span = originals.span
        self._recorded = lru_cache(1)(recorded)  # the refs of one message follow each other

        @lru_cache(1)
        def original(position: int) -> tuple[str, Message]:
            raw = originals.messages[position]
            return digest_of(raw), parse_message(raw)

        self._original = original

    def documents(self) -> Iterator[IndexedDocument]:
        """The documents of the compression, in the order of its refs."""
        for ref, entry in self._entries.items():
            with suppress(ContextCompressionError, IndexError):
                match entry:
                    case {"what": str(what), "message": int(position), "block": int(slot)}:
                        document = self._text(ref, what, position, slot)
                    case {"what": str(what), "message": int(position), "block": None}:
                        document = self._message(ref, what, position)
                    case _:  # the ledger, which is derived from the archived messages
                        document = None
                if document:
                    yield document

    def _text(self, ref: str, what: str, position: int, slot: int) -> IndexedDocument | None:
        digest, message = self._original(position)
        message_ref, block = digest[:DIGITS], message.blocks[slot]
        if not isinstance(block, Text | ToolResult) or not digest_of(block.text).startswith(ref):
            return None
        recorded = self._recorded(message_ref)
        call = recorded.answers.get(slot, NO_CALL) if recorded else NO_CALL
        span = self._span(position, slot, [block.text])
        return IndexedDocument(
            ref, what, message_ref, span, block.text,
            call, _reports_failure(block), recorded is None,
            place=recorded.at if recorded else None,
        )  # fmt: skip

    def _message(self, ref: str, what: str, position: int) -> IndexedDocument | None:
        digest, message = self._original(position)
        if not digest.startswith(ref) or all(map(self._is_covered, message.blocks)):
            return None
        texts = texts_in(message)
        tools = " ".join(call.name for call in message.calls)
        recorded = self._recorded(digest[:DIGITS])
        return IndexedDocument(
            ref, what, ref, self._span(position, None, texts), "\n".join(texts),
            CallLabel(tools, ""), any(map(_reports_failure, message.blocks)), recorded is None,
            place=recorded.at if recorded else None,
        )  # fmt: skip

    def _is_covered(self, block: Block) -> bool:
        """Whether a block has no text, or its text has a ref of its own."""
        if isinstance(block, Text | ToolResult):
            return not block.text.strip() or ref_of(block.text) in self._entries
        return not any(map(str.strip, texts_of(block)))


def _reports_failure(block: Block) -> bool:
    if not isinstance(block, ToolResult):
        return False
    failed = block.is_error or exit_status(block.text) not in (None, "0")
    return failed or bool(reported_errors(block.text, failed))
