"""Reading of a transcript file: complete once, later only the new; by stages; or its ends.

A whole conversation, read by looking at its file as of each compaction. A reader gives the live
conversation as of any row. So the context before a compaction is what the reader gives just before
the compaction's row.

The first and the last rows of a large file, for a quick look at its size. A reader that gets only
these rows knows the usage of the last request, which covers the whole context. Its messages are
incomplete.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from os import SEEK_END
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar, overload

from context_compression.conversation.messages import is_array, is_by_model, is_object
from context_compression.errors import TranscriptError
from context_compression.transcripts import message_files
from context_compression.transcripts.lines import (
    BLANK,
    EXPECTED,
    LONGEST,
    NOTHING_READ,
    NUL,
    At,
    Line,
    LineNotes,
    Lines,
    Rows,
    opened,
    parsed_json,
    row_in,
    too_large,
)
from context_compression.transcripts.opening import CHUNK, PACKED_NAMES, check_packed, is_packed
from context_compression.transcripts.transcript import (
    AnsweredRequest,
    Compaction,
    DocumentFormat,
    EarlierRows,
    History,
    Reader,
    Row,
    RowFormat,
    Stage,
    Strange,
    Transcript,
    TranscriptFormat,
    id_from_name,
    told,
)

T = TypeVar("T")


class Later(Sequence[T]):
    """A sequence whose items `make` gives, once they are asked for."""

    def __init__(self, make: Callable[[], Sequence[T]]) -> None:
        self._make: Callable[[], Sequence[T]] | None = make

    @cached_property
    def _items(self) -> Sequence[T]:
        make, self._make = self._make, None  # with all that it needed
        assert make is not None, "made once"
        return make()

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        return is_array(other) and [*self] == [*other]

    def __repr__(self) -> str:
        return repr(self._items)


MAX_BYTES = 2 * 1024 * 1024 * 1024
"""The most bytes of a file that is read row by row; for one JSON value it is `LONGEST`."""
LIST = re.compile(rb"\[\s*(?:$|[\[{\"])")  # and not `[12:30] starting`, which a log may begin with
LOOKED_AT = 20  # rows that may show the host; the first may be of unknown types
MARK = 1024  # bytes at the end of the last reading; if unchanged, the file only grew


class Look(Protocol):
    """A transcript that can be read again and again."""

    def look(self) -> Transcript:
        """The live conversation."""
        ...

    def before_compactions(self) -> Mapping[int | None, Transcript]:
        """The conversation before each compaction, by the compaction's place."""
        ...


class FileReading:
    """One file, and the state of reading it.

    Args:
        path: the file.
        formats: the forms in which it may be written; the first to recognise a row is used. A
            plain file of messages is read without one.
        max_bytes: the most bytes that are read.
        rows: how many rows are read; all of them by default.
        whole: whether `look` keeps what `before_compactions` gives, which else reads it again.
    """

    def __init__(
        self,
        path: Path,
        formats: Sequence[TranscriptFormat],
        max_bytes: int = MAX_BYTES,
        *,
        rows: int | None = None,
        whole: bool = False,
    ) -> None:
        self.path, self._formats, self.max_bytes, self._rows = path, formats, max_bytes, rows
        self._before: dict[int | None, Transcript] | None = {} if whole else None
        self._state: tuple[int, ...] = ()  # of the file, when it was looked at
        self._transcript: Transcript | None = None
        self._reader: Reader | None = None
        self._earlier: EarlierRows | None = None  # in other files, before the rows of this one
        self._newer: list[str] = []  # about a generation of the format that is not known
        self._strange = Strange()
        self._last = NOTHING_READ
        self._seen = LineNotes()

    def look(self) -> Transcript:
        """The live conversation. If the file grew since the last call, only the new part is read.

        Raises:
            TranscriptError: there is no such file, it cannot be read, or it is no conversation.
        """
        with opened(self.path, self.max_bytes) as stream:
            about = self.path.stat()
            state = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)
            if self._transcript is None or state != self._state:
                if is_packed(stream):
                    check_packed(stream, self.path, self.max_bytes)
                reader = self._reader if state[:2] == self._state[:2] else None
                if reader is not None and self._goes_on(stream):
                    self._transcript = self._more(stream, reader)
                else:
                    self._transcript = self._from_start(stream)
                self._state = state
            return self._transcript

    def before_compactions(self) -> Mapping[int | None, Transcript]:
        """The conversation before each compaction, by the compaction's place.

        Raises:
            TranscriptError: as `look`.
        """
        if self._before is None:
            self._before, self._transcript, self._reader = {}, None, None
        self.look()
        return self._before

    def _goes_on(self, stream: BinaryIO) -> bool:
        """Whether the file only grew: the bytes before the end of the last reading are the same."""
        mark = self._last.data[-MARK:]
        stream.seek(self._last.end - len(mark))
        return stream.read(len(mark)) == mark

    def _more(self, stream: BinaryIO, reader: Reader) -> Transcript:
        last = self._last
        stream.seek(last.end)
        number = last.number if last.data.endswith(b"\n") else last.number - 1  # the same line
        lines = Lines(stream, self.path, self.max_bytes, last.end, max(number, 0))
        return self._fed(stream, reader, Rows(lines, (), self._seen, last))

    def _from_start(self, stream: BinaryIO) -> Transcript:
        lines = self._lines_from_the_start(stream)
        taken = list(islice(lines, 2))
        if not taken and (lines.cut_off or self.path.suffix in PACKED_NAMES):
            raise TranscriptError(
                f"{self.path} is damaged: it is packed, and cut off before the end of its first "
                "row, so that nothing of it can be read. Pass another copy of it."
            )
        if not taken:
            empty = ["The file is empty."]
            return Transcript(
                self.path, message_files.NAME, id_from_name(self.path), [], warnings=empty
            )
        value = parsed_json(taken[0].data.replace(NUL, b""))
        if isinstance(value, dict) and (len(taken) > 1 or not message_files.is_document(value)):
            return self._from_rows(stream, lines, taken)
        if value is not None and len(taken) == 1:
            return self._document(value, damaged=NUL in taken[0].data)
        in_a_list = LIST.match(taken[0].data.lstrip(BLANK)) is not None
        if not in_a_list and row_in(taken[-1].data) and len(taken) > 1:  # the first is damaged
            return self._from_rows(stream, lines, taken)
        data = self._all_bytes(lines, taken)
        value = parsed_json(data.replace(NUL, b""))
        if value is not None:
            return self._document(value, damaged=NUL in data)
        if not in_a_list and any(Rows(self._lines_from_the_start(stream))):
            return self._from_rows(stream, self._lines_from_the_start(stream))
        what = "is not JSON, or not all of it is there"
        if not data.strip(BLANK):
            what = "is binary, or a crash has left nothing but NUL bytes of it"
        elif self.path.suffix in PACKED_NAMES and not is_packed(stream):
            what = "is damaged: its name says that it is packed, and what it holds does not"
        raise TranscriptError(f"{self.path} {what}. {EXPECTED}")

    def _lines_from_the_start(self, stream: BinaryIO) -> Lines:
        """All lines of the file; the state of earlier readings is reset."""
        stream.seek(0)
        self._reader, self._earlier, self._seen = None, None, LineNotes()
        if self._before is not None:
            self._before.clear()
        return Lines(stream, self.path, self.max_bytes)

    def _document(self, value: Any, *, damaged: bool) -> Transcript:
        """The conversation in a file that is one JSON value."""
        documents = (each for each in self._formats if isinstance(each, DocumentFormat))
        its = next((each for each in documents if each.recognises(value)), message_files.DOCUMENT)
        strange = Strange(its.shapes)
        if is_object(value):
            strange.look(value)
        transcript = told(its.read(self.path, value), strange.warnings)
        if self._before is not None:
            self._before.update(its.before_compactions(self.path, value))
        notes = ["NUL bytes, which a crash left in the file, were passed over."] * damaged
        return replace(transcript, warnings=[*notes, *transcript.warnings])

    def _from_rows(self, stream: BinaryIO, lines: Lines, taken: Iterable[Line] = ()) -> Transcript:
        rows = Rows(lines, taken, self._seen)
        first = list(islice(rows, LOOKED_AT))
        its = _format_of((row for row, _ in first), self._formats) or message_files.ROWS
        self._newer = its.newer(row for row, _ in first)
        self._strange = Strange(its.shapes)
        self._reader = its.reader()
        self._earlier = its.earlier((row for row, _ in first), self.path)
        before = self._earlier.rows(self.max_bytes) if self._earlier else ()
        return self._fed(stream, self._reader, rows, chain(before, first))

    def _fed(
        self, stream: BinaryIO, reader: Reader, rows: Rows, first: Iterable[tuple[Row, At]] = ()
    ) -> Transcript:
        """Pass the rows in `first` and the other rows to the reader; its transcript."""

        def load(at: At) -> Row:
            stream.seek(at.offset)
            return row_in(stream.read(at.length))

        for row, at in islice(chain(first, rows), self._rows):
            if self._before is not None and (before := reader.before(row, self.path, load)):
                self._before[at.offset] = before.read_to_the_end()
            self._strange.look(row)
            reader.add(row, at)
        self._last = rows.last
        transcript = reader.transcript(self.path, load)
        missing = [*self._newer, *(self._earlier.missing if self._earlier else ())]
        missing += self._strange.warnings
        of_others = self._earlier.warnings if self._earlier else ()
        others = [*of_others, *rows.warnings, *transcript.warnings]
        return told(replace(transcript, warnings=others), missing)

    def _all_bytes(self, lines: Lines, taken: list[Line]) -> bytes:
        """The bytes of a file that may be one JSON value over several lines."""
        parts: list[bytes] = []
        for line in chain(taken, lines):
            if line.end > LONGEST:
                raise too_large(self.path, "a JSON value of more than is allowed", LONGEST)
            parts.append(line.data)
        return b"".join(parts)


def _format_of(rows: Iterable[Row], formats: Sequence[TranscriptFormat]) -> RowFormat | None:
    """The first form that recognises one of some rows."""
    of_rows = [each for each in formats if isinstance(each, RowFormat)]
    return next((each for row in rows for each in of_rows if each.recognises(row)), None)


def contexts_of(reading: Look) -> list[Transcript]:
    """The live conversation, after those before the compactions that led to it, the oldest first.

    Raises:
        TranscriptError: as `Look.look`.
    """
    live, before = reading.look(), reading.before_compactions()
    return [*(before[compaction.place] for compaction in live.compactions), live]


def history_from(stages: Sequence[Transcript], title: str = "") -> History:
    """The history of a conversation.

    Args:
        stages: the conversation before each compaction and at its end.
        title: the title of a session whose host records none.
    """
    live = stages[-1]
    began: list[Compaction | None] = [None]
    for compaction, before in zip(live.compactions, stages, strict=False):
        began.append(_with_size(compaction, before))
    made = [_stage(*parts) for parts in zip(stages, began, strict=True)]
    return History(
        path=live.path,
        host=live.host,
        session_id=live.session_id,
        stages=[stage for stage in made if stage.messages or stage is made[-1]],
        project=live.project,
        title=live.title or title,
        model=live.model,
        window=live.window,
        warnings=live.warnings,
        cleared=live.cleared,
    )


def _stage(transcript: Transcript, began: Compaction | None) -> Stage:
    messages, carried = transcript.messages, transcript.carried
    times = [*transcript.times] or [None] * len(messages)
    requests = [*transcript.requests]
    if transcript.host == message_files.NAME:
        requests = answers_among(messages, carried, times)
    return Stage(messages, carried, times, requests, began)


def answers_among(
    messages: Sequence[Mapping[str, Any]], carried: int, times: Sequence[float | None]
) -> list[AnsweredRequest]:
    """A request for each answer, where no usage is recorded.

    Consecutive items without a role, as in OpenAI Responses, are one answer.

    Args:
        messages: the context at the end of a stage.
        carried: how many of the messages were there before; their requests are not of the stage.
        times: when each message was written.
    """
    requests: list[AnsweredRequest] = []
    answered = False
    for index, message in enumerate(messages):
        is_answer = is_by_model(message)
        if is_answer and not (answered and "role" not in message) and index >= carried:
            requests.append(AnsweredRequest(index, times[index]))
        answered = is_answer
    return requests


def _with_size(compaction: Compaction, before: Transcript) -> Compaction:
    """A compaction with the size of the context before it, by the last request, if need be."""
    last = before.requests[-1] if before.requests else None
    if compaction.tokens_before is not None or last is None or last.input_tokens is None:
        return compaction
    return replace(compaction, tokens_before=last.input_tokens + last.output_tokens)


LAST_BYTES = (512 * 1024, 8 * 1024 * 1024, 32 * 1024 * 1024)
"""How many bytes at the end of a file are read; more, if fewer do not tell the usage."""
MESSAGES = re.compile(r'"messages"\s*:\s*\[\s*')
MESSAGE = re.compile(r'\{\s*"id"')


@dataclass(frozen=True)
class Ends:
    """A conversation by the ends of its file.

    Attributes:
        transcript: its messages are incomplete; without usage, its size is not known.
        files: the files that the conversation goes through, and the byte before which its rows in
            each end; `None` for the end of the file.
    """

    transcript: Transcript
    files: Sequence[tuple[Path, int | None]]


def read_ends(path: Path, formats: Sequence[TranscriptFormat]) -> Ends | None:
    """The conversation by the first and last rows of a file.

    `None` if that does not tell its size, or spares nothing: the conversation is small, or no host
    recognises its first rows, or its last rows do not tell the usage of a request. One of more than
    64 MB is never read as a whole for this; its usage may be missing.

    Raises:
        TranscriptError: there is no such file, or it cannot be read.
    """
    ends: Ends | None = None
    with opened(path, MAX_BYTES) as stream:
        packed = is_packed(stream)
        size = check_packed(stream, path, MAX_BYTES) if packed else path.stat().st_size
        if packed and size <= 2 * LAST_BYTES[-1]:
            return None
        rows = iter(Rows(Lines(stream, path, MAX_BYTES)))
        first = list(islice(rows, LOOKED_AT))
        its = _format_of((row for row, _ in first), formats)
        if its is None:
            is_large = size > 2 * LAST_BYTES[-1] and not packed
            return _ends_of_document(stream, path, formats) if is_large else None
        earlier = its.earlier((row for row, _ in first), path)
        files = [*(earlier.ends if earlier else ()), (path, None)]
        whole = size + sum(map(_bytes, files[:-1]))
        missing = [
            *its.newer(row for row, _ in first),
            *(earlier.missing_at_a_glance() if earlier else ()),
        ]
        after_first = stream.tell()

        def load(at: At) -> Row:
            stream.seek(at.offset)
            return row_in(stream.read(at.length))

        for last in LAST_BYTES:
            if whole <= 2 * last:
                return None
            goes_on = (
                after_first > size - last
            )  # few rows are left of a fork, or the first are long
            reader = its.reader()
            for row, at in chain(first, rows if goes_on else _last(stream, path, size - last)):
                reader.add(row, at)
            transcript = reader.transcript(path, load)
            ends = Ends(replace(transcript, missing=[*missing, *transcript.missing]), files)
            if ends.transcript.usage and ends.transcript.usage[1]:
                return ends
            if goes_on:
                break
    return ends if whole > 2 * LAST_BYTES[-1] else None


def _ends_of_document(
    stream: BinaryIO, path: Path, formats: Sequence[TranscriptFormat]
) -> Ends | None:
    """The same of a file that is one JSON value, whose messages a reader takes as rows."""
    stream.seek(0)
    head = stream.read(LAST_BYTES[0]).decode("utf-8", "replace")
    if (begin := MESSAGES.search(head)) is None:
        return None
    about = row_in(f"{head[: begin.start()].rstrip().rstrip(',')}}}".encode())
    its = _format_of([about], formats)
    if its is None:
        return None
    ends = None
    for last in LAST_BYTES:
        stream.seek(-last, SEEK_END)
        rows = [
            about,
            *_messages(head[begin.end() :]),
            *_messages(stream.read().decode("utf-8", "replace")),
        ]
        reader = its.reader()
        for row in rows:
            reader.add(row, At(0, 0))
        transcript = reader.transcript(path, lambda _: {})
        ends = Ends(replace(transcript, missing=its.newer([about])), [(path, None)])
        if transcript.usage and transcript.usage[1]:
            break
    return ends


def _messages(text: str) -> Iterator[Row]:
    """The messages that are whole in a part of a JSON value; their first key is `id`."""
    decoder, at = json.JSONDecoder(), 0
    while found := MESSAGE.search(text, at):
        at = found.end()
        with suppress(ValueError, RecursionError):
            row, end = decoder.raw_decode(text, found.start())
            if "type" in row:
                at = end
                yield row


def _bytes(part: tuple[Path, int | None]) -> int:
    path, stop = part
    return path.stat().st_size if stop is None else stop


def _last(stream: BinaryIO, path: Path, start: int) -> Rows:
    stream.seek(start)
    stream.readline()  # the rest of a row that began before
    return Rows(Lines(stream, path, MAX_BYTES, stream.tell()))


def how_often(marks: Iterable[bytes], path: Path, stop: int | None = None) -> int:
    """How often one of several marks is in a file that is not empty; its rows are not parsed.

    Args:
        marks: the marks.
        path: the file.
        stop: the byte before which they are counted; `None` for all of the file.

    Raises:
        TranscriptError: there is no such file, or it cannot be read.
    """
    with opened(path, MAX_BYTES) as stream:
        if is_packed(stream):
            check_packed(stream, path, MAX_BYTES)
        return _count([re.compile(re.escape(mark)) for mark in marks], stream, stop)


def _count(patterns: Sequence[re.Pattern[bytes]], stream: BinaryIO, stop: int | None) -> int:
    """How often marks are in what is left of a stream before `stop`; it is never held as a whole.

    A mark may lie across the border of two parts, so the end of each is read again with the next.
    """
    longest = max((len(pattern.pattern) for pattern in patterns), default=1)
    count, kept = 0, b""
    while part := stream.read(CHUNK if stop is None else min(CHUNK, stop - stream.tell())):
        data = kept + part
        found = (each for pattern in patterns for each in pattern.finditer(data))
        count += sum(each.end() > len(kept) for each in found)
        kept = data[-longest:]
    return count
