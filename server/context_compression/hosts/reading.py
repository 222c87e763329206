"""Reading a transcript: who wrote it; all of it once, and later only what was added."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Protocol

from context_compression.authors import user_words
from context_compression.errors import ContextCompressionError, TranscriptError
from context_compression.formats import parse as parse_messages
from context_compression.hosts import (
    claude_code,
    codex,
    copilot_cli,
    gemini_cli,
    message_files,
    opencode,
    pi,
)
from context_compression.hosts.base import Host, Reader, Row, Transcript, name_of
from context_compression.hosts.lines import (
    LONGEST,
    NOTHING_READ,
    WANTED,
    At,
    Line,
    Lines,
    Rows,
    as_object,
    opened,
    parse,
    too_large,
)

MAX_BYTES = 2 * 1024 * 1024 * 1024
"""Of a file that is read row by row; one that is a single JSON value has to be smaller."""
HOSTS: tuple[Host, ...] = (claude_code, codex, copilot_cli, gemini_cli, pi)
LOOKED_AT = 20  # rows; the first may be of a type we do not know
REMEMBERED = 8  # transcripts; few are looked at more than once
FIRST = 200  # rows in which the user's first words are looked for
TOLD = ("<", "# AGENTS.md")  # what hosts tell the model in the user's role before
MARK = 1024  # bytes before the place we came to, by which the file is known again


def read(path: Path, *, max_bytes: int = MAX_BYTES) -> Transcript:
    """The conversation in a file.

    Args:
        path: where it is; whether it may be read is for the caller to check.
        max_bytes: largest file that is read, packed and unpacked.

    Raises:
        TranscriptError: there is no such file, it cannot be read, or it is no conversation.
    """
    return _begun(path, max_bytes).look()


def first_words(path: Path) -> str:
    """How the user began, or the title of the session; empty where that cannot be read."""
    try:
        if found := opencode.database_of(path):
            return opencode.title_of(*found)
        messages = parse_messages(Reading(path, rows=FIRST).look().messages).messages
    except ContextCompressionError:
        return ""
    said = (user_words(message).strip() for message in messages)
    return next((text for text in said if text and not text.startswith(TOLD)), "")


class Readings:
    """Transcripts looked at lately: a second look costs only what was added meanwhile."""

    def __init__(self) -> None:
        self._readings: OrderedDict[Path, Look] = OrderedDict()
        self._lock = Lock()

    def look(self, path: Path) -> Transcript:
        """The conversation in a file now.

        Raises:
            TranscriptError: as `read`.
        """
        with self._lock:
            reading = self._readings.pop(path, None) or _begun(path)
            transcript = reading.look()
            self._readings[path] = reading  # as the newest; not where it failed
            while len(self._readings) > REMEMBERED:
                self._readings.popitem(last=False)
            return transcript


class Look(Protocol):
    """A transcript, as far as it was read."""

    def look(self) -> Transcript:
        """The conversation as it stands now."""
        ...


def _begun(path: Path, max_bytes: int = MAX_BYTES) -> Look:
    """What will read a transcript: a file, or a session in a database."""
    if found := opencode.database_of(path):
        return opencode.SessionReading(*found)
    return Reading(path, max_bytes)


class Reading:
    """One file, as far as it was read; or only its first `rows`."""

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES, *, rows: int | None = None) -> None:
        self.path, self.max_bytes, self._rows = path, max_bytes, rows
        self._state: tuple[int, ...] = ()  # of the file, when it was looked at
        self._found: Transcript | None = None
        self._reader: Reader | None = None
        self._last = NOTHING_READ
        self._malformed: list[int] = []

    def look(self) -> Transcript:
        """The conversation as it stands now.

        Raises:
            TranscriptError: as `read`.
        """
        with opened(self.path, self.max_bytes) as stream:
            about = self.path.stat()
            state = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)
            if self._found is None or state != self._state:
                reader = self._reader if state[:2] == self._state[:2] else None
                if reader is not None and self._goes_on(stream):
                    self._found = self._more(stream, reader)
                else:
                    self._found = self._anew(stream)
                self._state = state
            return self._found

    def _goes_on(self, stream: BinaryIO) -> bool:
        """Whether what was read still stands there, so that the file only grew."""
        mark = self._last.data[-MARK:]
        stream.seek(self._last.end - len(mark))
        return stream.read(len(mark)) == mark

    def _more(self, stream: BinaryIO, reader: Reader) -> Transcript:
        stream.seek(self._last.end)
        lines = Lines(stream, self.path, self.max_bytes, self._last.end, self._last.number)
        rows = Rows(lines, (), self._malformed, self._last)
        return self._fed(stream, reader, rows)

    def _anew(self, stream: BinaryIO) -> Transcript:
        stream.seek(0)
        self._reader, self._malformed = None, []
        lines = Lines(stream, self.path, self.max_bytes)
        taken = list(islice(lines, 2))
        if not taken:
            empty = ["The file is empty."]
            return Transcript(self.path, message_files.NAME, name_of(self.path), [], warnings=empty)
        value = parse(taken[0].data)
        if isinstance(value, dict) and (len(taken) > 1 or not message_files.is_document(value)):
            return self._from_rows(stream, lines, taken)
        if value is not None and len(taken) == 1:
            return self._document(value)
        in_a_list = taken[0].data.lstrip().startswith(b"[")
        if not in_a_list and isinstance(parse(taken[-1].data), dict):  # the first line is damaged
            return self._from_rows(stream, lines, taken)
        return self._document(self._whole(lines, taken))

    def _document(self, value: Any) -> Transcript:
        """A file that is one JSON value."""
        if opencode.is_export(value):
            return opencode.read_document(self.path, value)
        if gemini_cli.is_session(value):
            return gemini_cli.read_document(self.path, value)
        return message_files.read_document(self.path, value)

    def _from_rows(self, stream: BinaryIO, lines: Lines, taken: list[Line]) -> Transcript:
        rows = Rows(lines, taken, self._malformed)
        first = list(islice(rows, LOOKED_AT))
        written_by = (host for row, _ in first for host in HOSTS if host.recognises(row))
        self._reader = next(written_by, message_files).reader()
        return self._fed(stream, self._reader, rows, first)

    def _fed(
        self, stream: BinaryIO, reader: Reader, rows: Rows, first: Iterable[tuple[Row, At]] = ()
    ) -> Transcript:
        """What the reader makes of some rows taken `first`, and of the rest."""

        def load(at: At) -> Row:
            stream.seek(at.offset)
            return dict(as_object(parse(stream.read(at.length))))

        for row, at in islice(chain(first, rows), self._rows):
            reader.add(row, at)
        self._last = rows.last
        transcript = reader.transcript(self.path, load)
        return replace(transcript, warnings=[*rows.warnings, *transcript.warnings])

    def _whole(self, lines: Lines, taken: list[Line]) -> Any:
        """The one JSON value of a file that spreads it over lines."""
        parts: list[bytes] = []
        for line in chain(taken, lines):
            if line.end > LONGEST:
                raise too_large(self.path, "a JSON value of more than is allowed", LONGEST)
            parts.append(line.data)
        value = parse(b"".join(parts))
        if value is None:
            raise TranscriptError(f"{self.path} is not JSON, or not all of it is there. {WANTED}")
        return value
