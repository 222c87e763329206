"""Reading of a transcript file: the complete file once, and later only the lines added to it."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from context_compression.conversation.messages import is_object
from context_compression.errors import TranscriptError
from context_compression.transcripts import message_files
from context_compression.transcripts.damaged_lines import BLANK, NUL, row_in
from context_compression.transcripts.generations import unknown_generation
from context_compression.transcripts.lines import (
    EXPECTED,
    LONGEST,
    NOTHING_READ,
    At,
    Line,
    Lines,
    opened,
    parse,
    too_large,
)
from context_compression.transcripts.rows import Rows, Seen
from context_compression.transcripts.shapes import Strange, strange_rows
from context_compression.transcripts.transcript import (
    EarlierRows,
    HostTranscripts,
    Reader,
    Row,
    Transcript,
    earlier_rows,
    id_from_name,
    told,
)
from context_compression.transcripts.unpacking import PACKED_NAMES, check_packed, is_packed

MAX_BYTES = 2 * 1024 * 1024 * 1024
"""The most bytes of a file that is read row by row; for one JSON value it is `LONGEST`."""
LIST = re.compile(rb"\[\s*(?:$|[\[{\"])")  # and not `[12:30] starting`, which a log may begin with
LOOKED_AT = 20  # rows that may show the host; the first may be of unknown types
MARK = 1024  # bytes at the end of the last reading; if unchanged, the file only grew


class DocumentReader(Protocol):
    """Reads a transcript that is a single JSON value."""

    def read_document(self, path: Path, document: Any) -> Transcript:
        """The conversation in the JSON value."""
        ...

    def before_compactions(self, path: Path, document: Any) -> Mapping[int | None, Transcript]:
        """The conversation before each compaction in the JSON value, by the compaction's place."""
        ...


@dataclass(frozen=True)
class Writers:
    """The hosts that may have written a file; plain files of messages are read without a host.

    Attributes:
        of_rows: hosts with a JSON object in each line; the first host to recognise a row is used.
        of_documents: hosts whose files are one JSON value, each after a check for such values.
    """

    of_rows: Sequence[HostTranscripts]
    of_documents: Sequence[tuple[Callable[[Any], bool], DocumentReader]] = ()


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
        writers: the hosts that may have written it.
        max_bytes: the most bytes that are read.
        rows: how many rows are read; all of them by default.
        whole: whether `look` keeps what `before_compactions` gives, which else reads it again.
    """

    def __init__(
        self,
        path: Path,
        writers: Writers,
        max_bytes: int = MAX_BYTES,
        *,
        rows: int | None = None,
        whole: bool = False,
    ) -> None:
        self.path, self._writers, self.max_bytes, self._rows = path, writers, max_bytes, rows
        self._before: dict[int | None, Transcript] | None = {} if whole else None
        self._state: tuple[int, ...] = ()  # of the file, when it was looked at
        self._transcript: Transcript | None = None
        self._reader: Reader | None = None
        self._earlier: EarlierRows | None = None  # in other files, before the rows of this one
        self._newer: list[str] = []  # about a generation of the format that is not known
        self._strange = Strange()
        self._last = NOTHING_READ
        self._seen = Seen()

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
        value = parse(taken[0].data.replace(NUL, b""))
        if isinstance(value, dict) and (len(taken) > 1 or not message_files.is_document(value)):
            return self._from_rows(stream, lines, taken)
        if value is not None and len(taken) == 1:
            return self._document(value, damaged=NUL in taken[0].data)
        in_a_list = LIST.match(taken[0].data.lstrip(BLANK)) is not None
        if not in_a_list and row_in(taken[-1].data) and len(taken) > 1:  # the first is damaged
            return self._from_rows(stream, lines, taken)
        data = self._all_bytes(lines, taken)
        value = parse(data.replace(NUL, b""))
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
        self._reader, self._earlier, self._seen = None, None, Seen()
        if self._before is not None:
            self._before.clear()
        return Lines(stream, self.path, self.max_bytes)

    def _document(self, value: Any, *, damaged: bool) -> Transcript:
        """The conversation in a file that is one JSON value."""
        written_by = (host for is_its, host in self._writers.of_documents if is_its(value))
        host = next(written_by, message_files)
        strange = strange_rows(host)
        if is_object(value):
            strange.look(value)
        transcript = told(host.read_document(self.path, value), strange.warnings)
        if self._before is not None:
            self._before.update(host.before_compactions(self.path, value))
        notes = ["NUL bytes, which a crash left in the file, were passed over."] * damaged
        return replace(transcript, warnings=[*notes, *transcript.warnings])

    def _from_rows(self, stream: BinaryIO, lines: Lines, taken: Iterable[Line] = ()) -> Transcript:
        rows = Rows(lines, taken, self._seen)
        first = list(islice(rows, LOOKED_AT))
        written_by = (
            host for row, _ in first for host in self._writers.of_rows if host.recognises(row)
        )
        host = next(written_by, message_files)
        self._newer = unknown_generation(host, (row for row, _ in first))
        self._strange = strange_rows(host)
        self._reader = host.reader()
        self._earlier = earlier_rows(host, (row for row, _ in first), self.path)
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
