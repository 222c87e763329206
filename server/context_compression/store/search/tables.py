"""The tables of the search index, and one session as stored in them.

The texts stay in the plain files. The tables hold only the spans of the texts, and their words.
"""

import json
import re
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache, partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeVar

from context_compression.conversation.messages import Message
from context_compression.errors import ContextCompressionError
from context_compression.evidence.words import Lexicon, kind_of
from context_compression.store.json_lines import Mark
from context_compression.store.search.documents import (
    IndexedDocument,
    Span,
    checksum,
    message_from,
    text_from,
)
from context_compression.store.search.excerpt import (
    NO_CALL,
    CallLabel,
    ConversationReader,
    RecordedMessage,
    answers_in,
    calls_of,
    glimpse_of,
    parse_message,
    speaker,
)
from context_compression.store.search.query import Spellings, humps, indexable, lacks
from context_compression.store.session_files import SessionFiles

VERSION = 7
"""Version of the tables. An index of another version is rebuilt from the plain files."""
NUMBER = "#"
"""Replaces the number of the message in a kind."""
REF_DIGITS = 12
"""Hex digits of each ref in the table of messages."""
PAGE_BYTES = 1024
"""About half a page stays empty in every table, so small pages suit small archives."""
TABLES = (
    "CREATE TABLE logs (id INTEGER PRIMARY KEY, name TEXT UNIQUE, size INTEGER, time INTEGER,"
    " offset INTEGER DEFAULT 0, ending BLOB DEFAULT x'', reading TEXT DEFAULT '[0, {}, 0, 0]')",
    "CREATE TABLE files (id INTEGER PRIMARY KEY, log INTEGER, name TEXT, stamp TEXT)",
    "CREATE TABLE kinds (id INTEGER PRIMARY KEY, about TEXT UNIQUE, tool TEXT)",
    "CREATE TABLE messages (id INTEGER PRIMARY KEY, log INTEGER, refs BLOB, packed BLOB)",
    "CREATE TABLE documents (id INTEGER PRIMARY KEY, log INTEGER, ref BLOB, message BLOB,"
    " kind INTEGER, number INTEGER, failed INTEGER, ours INTEGER, file INTEGER, start INTEGER,"
    " length INTEGER, position INTEGER, block INTEGER, parts TEXT, checksum INTEGER,"
    " words INTEGER, place INTEGER, UNIQUE (log, ref))",
    "CREATE INDEX documents_by_message ON documents (log, message) WHERE message > x''",
    "CREATE VIRTUAL TABLE words USING fts5 (text, humps, paths, about, content = '',"
    " tokenize = 'unicode61 remove_diacritics 2')",
    "CREATE VIRTUAL TABLE stems USING fts5 (text, beside, content = '',"
    " tokenize = 'porter unicode61 remove_diacritics 2')",
    f"INSERT INTO words (words, rank) VALUES ('pgsz', {PAGE_BYTES - 48})",
    f"INSERT INTO stems (stems, rank) VALUES ('pgsz', {PAGE_BYTES - 48})",
    f"PRAGMA user_version = {VERSION}",
)
"""`words` and `stems` keep no text of their own: removing a row needs the words it was made from.

`words` has words as they are written, for names and patterns. `stems` has the same texts with each
English word as its stem ("migrations" -> "migrat"), for questions.
"""
ADD_DOCUMENT = (
    "INSERT INTO documents (log, ref, message, kind, number, failed, ours, file, start,"
    " length, position, block, parts, checksum, words, place)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
ADD_WORDS = "INSERT INTO words (rowid, text, humps, paths, about) VALUES (?, ?, ?, ?, ?)"
REMOVE_WORDS = (
    "INSERT INTO words (words, rowid, text, humps, paths, about) VALUES ('delete', ?, ?, ?, ?, ?)"
)
ADD_STEMS = "INSERT INTO stems (rowid, text, beside) VALUES (?, ?, ?)"
REMOVE_STEMS = "INSERT INTO stems (stems, rowid, text, beside) VALUES ('delete', ?, ?, ?)"
SELECT_DOCUMENT = (
    "SELECT documents.id, documents.log, ref, message, about, number, failed, ours,"
    " files.name, stamp, start, length, position, block, parts, checksum, words FROM documents"
    " JOIN kinds ON kinds.id = kind JOIN files ON files.id = file"
)
"""Selects the columns of a `DocumentRow`."""

_NUMBERED = re.compile(r"(message )(0|[1-9]\d{0,15})\b")


class DocumentRow(NamedTuple):
    """A document as stored in the index: all but its text and its call.

    Attributes:
        message: ref of the message that contains it; `None` if the document is that message, empty
            for a text of no message.
        about: its kind, see `kind_to_row`.
        number: of the message, if its kind has one.
        by_us: whether this package wrote it.
        stamp: of the file, at the time it was read.
        start: part of its span, with `length`, `position`, `block` and `parts`.
        checksum: of the bytes of its span, see `spans.checksum`.
        words: checksum of its words, see `sum_of`.
    """

    id: int
    log: int
    ref: bytes
    message: bytes | None
    about: str
    number: int | None
    failed: int
    by_us: int
    file: str
    stamp: str
    start: int
    length: int
    position: int | None
    block: int | None
    parts: str | None
    checksum: int
    words: int

    @property
    def span(self) -> Span:
        """The span of its text."""
        parts = tuple(json.loads(self.parts)) if self.parts else ()
        return Span(self.file, self.start, self.length, self.position, self.block, parts)

    @property
    def message_ref(self) -> str:
        """The ref of the message it is or belongs to; "" for a text of no message."""
        return (self.ref if self.message is None else self.message).hex()

    def document(self, data: bytes, call: CallLabel | None = None) -> IndexedDocument:
        """The document, from the bytes of its span.

        Args:
            data: the bytes.
            call: the call it is the result of; without it, only the tool is known.

        Raises:
            ValueError: the bytes were changed.
        """
        ref, span = self.ref.hex(), self.span
        if checksum(ref, data) != self.checksum:
            raise ValueError(f"bytes of {self.file or 'the log'} were changed")
        what, tool = _kind(self.about)
        what = what if self.number is None else what.replace(NUMBER, str(self.number), 1)
        return IndexedDocument(
            ref, what, self.message_ref, span, lambda: text_from(data, span, ref),
            call or CallLabel(tool, ""), bool(self.failed), bool(self.by_us), data,
        )  # fmt: skip


@lru_cache
def _kind(about: str) -> tuple[str, str]:
    what, tool = json.loads(about)
    return what, tool


class MessageRow(NamedTuple):
    """A recorded message: its ref, its place in the conversation, its span.

    Attributes:
        at: its place in the conversation, from 1.
        back: how many messages before it the message with its calls is; 0 if it answers none.
        file: id in the table of files.
        position: of the message, if the span is the complete file; else -1.
    """

    ref: str
    at: int
    back: int
    file: int
    start: int
    length: int
    position: int


def progress_from_row(offset: int, ending: bytes, reading: str) -> tuple[Mark, ConversationReader]:
    """How far a log was read, and a reader that continues from there."""
    length, calls, number, caller = json.loads(reading)
    waiting = {key: CallLabel(*call) for key, call in calls.items()}
    reader = ConversationReader(length, waiting, number, caller, described=False)
    return Mark(offset, ending), reader


def progress_to_row(mark: Mark, reader: ConversationReader) -> tuple[int, bytes, str]:
    """The columns that `progress_from_row` reads."""
    calls = {key: (call.tool, call.arguments) for key, call in reader.calls.items()}
    reading = json.dumps([reader.length, calls, reader.number, reader.caller])
    return mark.offset, mark.ending, reading


def packed(messages: Sequence[MessageRow]) -> tuple[bytes, bytes]:
    """The refs of messages, and their other columns compressed, usually to a few bytes each."""
    refs, *columns = zip(*messages, strict=True)
    steps = [[b - a for a, b in pairwise((0, *column))] for column in columns]
    return bytes.fromhex("".join(refs)), zlib.compress(json.dumps(steps).encode(), 9)


def unpacked(refs: bytes, data: bytes) -> Iterator[MessageRow]:
    """The messages that `packed` packed; `ValueError` if the data is damaged."""
    try:
        steps = json.loads(zlib.decompress(data))
    except zlib.error as error:
        raise ValueError(str(error)) from error
    digits = refs.hex()
    named = (digits[at : at + REF_DIGITS] for at in range(0, len(digits), REF_DIGITS))
    return map(MessageRow._make, zip(named, *map(accumulate, steps), strict=True))


def span_of(message: MessageRow, names: Mapping[int, str]) -> Span:
    """The span of a recorded message, given the names of the files by their ids."""
    position = None if message.position < 0 else message.position
    return Span(names[message.file], message.start, message.length, position)


def kind_to_row(document: IndexedDocument) -> tuple[str, str, int | None]:
    """The kind of a document as JSON, its tool in the form that is searched, and its number.

    `message 7 (user)` is of the kind `message # (user)`, with the number 7.
    """
    tool, what, number = document.call.tool, document.what, None
    match = _NUMBERED.match(what)
    if match and NUMBER not in what:
        what, number = _NUMBERED.sub(rf"\g<1>{NUMBER}", what), int(match[2])
    return json.dumps([what, tool]), indexable(tool), number


def document_to_row(
    document: IndexedDocument, kind: int, number: int | None, file: int, sums: tuple[int, int]
) -> tuple[Any, ...]:
    """The columns of a document, all but its log.

    Args:
        document: of the index.
        kind: id in the table of kinds.
        number: of the message, if its kind has one.
        file: id in the table of files.
        sums: checksums of the bytes of its span and of its words.
    """
    span, ref = document.span, bytes.fromhex(document.ref)
    return (
        ref, None if document.message == document.ref else bytes.fromhex(document.message),
        kind, number, document.failed, document.by_us, file, span.start, span.length,
        span.position, span.block, json.dumps(span.parts) if span.parts else None, *sums,
        document.place,
    )  # fmt: skip


def lexicon() -> Lexicon:
    """The lexicon of `words_of`. It includes weak words, because a search may ask for any word."""
    return Lexicon(kind_of)


def words_of(document: IndexedDocument, lexicon: Lexicon) -> tuple[str, ...]:
    """The columns of `words` for a document; the same document always has the same columns.

    They are its text; the parts of names in camel case; paths; and the call it is the result of,
    with the word "error" if it reports a failure.
    """
    text = document.text
    about = f"{document.call.tool} {document.call.arguments}"
    names = sorted(lexicon.words(f"{about}\n{text}"))
    paths = " ".join(name for name, kind in names if kind in ("path", "url"))
    columns = (
        text,
        humps(name for name, _ in names),
        paths,
        f"{about} error" if document.failed else about,
    )
    return tuple(map(indexable, columns))


def stems_of(words: Sequence[str]) -> tuple[str, str]:
    """The columns of `stems` for a document, from its columns of `words`."""
    text, humps_in_it, _, about = words
    return text, f"{humps_in_it} {about}"


def sum_of(words: Sequence[str]) -> int:
    """A CRC-32 of words, to check that they are the words that were added."""
    return zlib.crc32("\0".join(words).encode("utf-8", "surrogatepass"))


QUOTE = ord('"')
T = TypeVar("T")


class IndexedSession:
    """The messages and documents of one session that are in the index.

    Methods raise `ValueError` if the files no longer match the index. A new index must then be
    made.
    """

    def __init__(
        self, rows: Callable[..., list[tuple[Any, ...]]], id: int, log: SessionFiles
    ) -> None:
        """The session with the given id.

        Args:
            rows: runs a query with its parameters, and returns the rows.
            id: of the session in the table of logs.
            log: the files of the session.
        """
        self.log = log
        self._rows, self._id = rows, id
        self._pending: dict[str, RecordedMessage] = {}

    def add(self, message: RecordedMessage) -> None:
        """Add a message that is not in the table yet."""
        self._pending.setdefault(message.ref, message)

    def recorded(self, ref: str) -> RecordedMessage | None:
        """The recorded message of a ref; if there are several, the first."""
        number = self._numbers.get(ref)
        if number is None:
            return self._pending.get(ref)
        return self._described(number, self._calls_for(number))

    def message(self, number: int) -> Message:
        """A message of the table, by its number from 0."""
        span = span_of(self._messages[number], self._file_names)
        return parse_message(self._read(span, message_from))

    def neighbours(self, ref: str) -> tuple[RecordedMessage | None, RecordedMessage | None]:
        """The messages right before and right after another in the conversation."""
        number, messages = self._numbers.get(ref), self._messages
        if number is None:
            return None, None
        at = messages[number].at
        before = (i for i in range(number - 1, -1, -1) if messages[i].at == at - 1)
        after = (i for i in range(number + 1, len(messages)) if messages[i].at == at + 1)
        numbers = next(before, None), next(after, None)
        first, second = (None if n is None else self._described(n, {}) for n in numbers)
        return first, second

    def call(self, row: DocumentRow) -> CallLabel | None:
        """The call that a text is the result of; `None` if no block has the document's text."""
        if not row.message or row.block is None:
            return None
        number = self._numbers.get(row.message.hex())
        if number is None:
            return NO_CALL
        return answers_in(self.message(number), self._calls_for(number)).get(row.block, NO_CALL)

    def documents(
        self, rows: Sequence[DocumentRow], spellings: Spellings | None = None
    ) -> dict[int, IndexedDocument]:
        """The documents for rows that all belong to one file, by the rows' ids.

        Args:
            rows: rows of the table of documents, at least one.
            spellings: of a text; documents that certainly do not contain it are omitted.

        Raises:
            ValueError: the file was changed.
        """
        file, stamp = rows[0].file, rows[0].stamp
        if self._stamp(file) != stamp:
            raise ValueError(f"{file} was changed")
        with _as_damage():
            parts = self.log.parts(file, [(row.start, row.length) for row in rows])
        return {
            row.id: row.document(data)
            for row, data in zip(rows, parts, strict=True)
            if not (spellings and lacks(data, spellings, in_parts=bool(row.parts)))
        }

    def may_hold(
        self, file: str, spellings: Spellings, documents: Iterable[tuple[int, int, int, int]]
    ) -> set[int]:
        """The ids of the documents in a file, without those that certainly do not contain a text.

        Args:
            file: of originals; "" for the log.
            spellings: of the text.
            documents: id, start and length of the span, and whether it has parts, for each
                document.
        """
        with _as_damage():
            data = self.log.part(file)
        if spellings.may_be_in(data, in_parts=False):
            return {
                id
                for id, start, length, parts in documents
                if not lacks(data[start : start + length], spellings, in_parts=bool(parts))
            }
        if not spellings.in_one:  # several strings may form it
            return {id for id, start, _, parts in documents if parts or data[start] != QUOTE}
        return {id for id, start, _, parts in documents if not parts and data[start] != QUOTE}

    @cached_property
    def _messages(self) -> list[MessageRow]:
        query = "SELECT refs, packed FROM messages WHERE log = ? ORDER BY id"
        chunks = self._rows(query, self._id)
        return [message for refs, data in chunks for message in unpacked(refs, data)]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The number of each message in the table, by ref; if a ref has several, the first."""
        numbered = reversed([*enumerate(self._messages)])
        return {message.ref: number for number, message in numbered}

    @cached_property
    def _file_names(self) -> dict[int, str]:
        return dict(self._rows("SELECT id, name FROM files WHERE log = ?", self._id))

    @cached_property
    def _stamp(self) -> Callable[[str], str]:
        return cache(partial(stamp_of, self.log))

    def _described(self, number: int, calls: Mapping[str, CallLabel]) -> RecordedMessage:
        """A message of the table; its answers are the answers to `calls`."""
        row, message = self._messages[number], self.message(number)
        answers = answers_in(message, calls)
        return RecordedMessage(row.at, row.ref, speaker(message), glimpse_of(message), answers)

    def _calls_for(self, number: int) -> dict[str, CallLabel]:
        """The calls whose results a message may contain, by their ids."""
        back = self._messages[number].back
        return calls_of(self.message(number - back)) if back else {}

    def _read(self, span: Span, read: Callable[[bytes, Span], T]) -> T:
        with _as_damage():
            return read(self.log.part(span.file, span.start, span.length), span)


def stamp_of(log: SessionFiles, file: str) -> str:
    """The stamp of a file of originals, which changes with the file; "" for the log itself."""
    return str(log.stamp_of(file)) if file else ""


@contextmanager
def _as_damage() -> Generator[None]:
    """Turns an error of the store into a `ValueError`: the index does not match the files."""
    try:
        yield
    except ContextCompressionError as error:
        raise ValueError(str(error)) from error
