"""One session as stored in the index: its messages and documents, read by their spans."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, partial
from typing import Any, TypeVar

from context_compression.conversation.messages import Message
from context_compression.errors import ContextCompressionError
from context_compression.store.search import tables
from context_compression.store.search.documents import IndexedDocument
from context_compression.store.search.messages import (
    NO_CALL,
    CallLabel,
    RecordedMessage,
    answers_in,
    calls_of,
    glimpse_of,
    parse_message,
    speaker,
)
from context_compression.store.search.spans import Span, message_from
from context_compression.store.search.spellings import Spellings, lacks
from context_compression.store.session_files import SessionFiles

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
        span = tables.span_of(self._messages[number], self._file_names)
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

    def call(self, row: tables.DocumentRow) -> CallLabel | None:
        """The call that a text is the result of; `None` if no block has the document's text."""
        if not row.message or row.block is None:
            return None
        number = self._numbers.get(row.message.hex())
        if number is None:
            return NO_CALL
        return answers_in(self.message(number), self._calls_for(number)).get(row.block, NO_CALL)

    def documents(
        self, rows: Sequence[tables.DocumentRow], spellings: Spellings | None = None
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
    def _messages(self) -> list[tables.MessageRow]:
        query = "SELECT refs, packed FROM messages WHERE log = ? ORDER BY id"
        chunks = self._rows(query, self._id)
        return [message for refs, data in chunks for message in tables.unpacked(refs, data)]

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
