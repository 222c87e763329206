"""Reads transcripts of all hosts: the content of a file shows which host wrote it."""

from collections import OrderedDict
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock

from context_compression.conversation.authors import first_words, is_no_request
from context_compression.conversation.formats import parse as parse_messages
from context_compression.errors import ContextCompressionError, InvalidConversation, TranscriptError
from context_compression.hosts.opencode.database import SessionReading, database_of, title_of
from context_compression.hosts.table import HOSTS
from context_compression.transcripts.reading import (
    MAX_BYTES,
    Ends,
    FileReading,
    Later,
    Look,
    contexts_of,
    history_from,
    read_ends,
)
from context_compression.transcripts.transcript import History, Transcript

FORMATS = tuple(form for host in HOSTS for form in host.formats)
REMEMBERED = 8  # transcripts kept; few are read more than once
FIRST = 200  # rows that are searched for the user's first words


def read(path: Path, *, max_bytes: int = MAX_BYTES) -> Transcript:
    """The live conversation in a file.

    Args:
        path: the file; the caller checks whether it may be read.
        max_bytes: the largest size that is read, before and after unpacking.

    Raises:
        TranscriptError: there is no such file, it cannot be read, or it is no conversation.
    """
    return _with_replaced(_begun(path, max_bytes).look(), path, max_bytes)


def glance(path: Path) -> Ends | None:
    """The conversation by the ends of a large file; see `read_ends`."""
    return None if database_of(path) else read_ends(path, FORMATS)


class Readings:
    """Remembers the transcripts read last, and reads only what was added when one is read again.

    Args:
        whole: whether their histories will be asked for; then each is read once for both.
    """

    def __init__(self, *, whole: bool = False) -> None:
        self._whole = whole
        self._readings: OrderedDict[Path, Look] = OrderedDict()
        self._lock = Lock()

    def look(self, path: Path) -> Transcript:
        """The live conversation in a file.

        Raises:
            TranscriptError: as `read`.
        """
        reading, transcript = self._looked(path)
        if self._whole:
            return replace(transcript, replaced=contexts_of(reading)[:-1])
        return _with_replaced(transcript, path)

    def _looked(self, path: Path) -> tuple[Look, Transcript]:
        with self._lock:
            reading = self._readings.pop(path, None) or _begun(path, whole=self._whole)
            transcript = reading.look()
            self._readings[path] = reading  # as the newest; not after an error
            while len(self._readings) > REMEMBERED:
                self._readings.popitem(last=False)
            return reading, transcript

    def history(self, path: Path) -> History:
        """The whole conversation in a file.

        Args:
            path: the file; the caller checks whether it may be read.

        Raises:
            TranscriptError: as `read`.
        """
        stages = contexts_of(self._looked(path)[0])
        if self._whole:  # it holds rows, which the history does not need
            self._readings.pop(path, None)
        try:
            title = first_words(parse_messages(stages[0].messages[:FIRST]).messages)
        except InvalidConversation:
            title = ""
        return history_from(stages, title)

    def title(self, path: Path, transcript: Transcript, *, is_whole: bool = True) -> str:
        """The title of the session in a file, else the user's first words; empty without both.

        Args:
            path: the file.
            transcript: the live conversation in it.
            is_whole: whether all of its messages were read, not only the ends of the file.
        """
        if transcript.title:
            return transcript.title
        words = first_words(parse_messages(transcript.messages).messages)
        begins_here = is_whole and not transcript.compactions
        if not begins_here or not words or is_no_request(words):
            first = self.first_words(path) or words
            words = words if words and is_no_request(first) else first
        return words

    def first_words(self, path: Path) -> str:
        """The user's first words, or the title of the session; empty if it cannot be read."""
        try:
            if location := database_of(path):
                return title_of(*location)
            begun = contexts_of(FileReading(path, FORMATS, rows=FIRST, whole=True))[0]
            messages = parse_messages(begun.messages).messages
        except ContextCompressionError:
            return ""
        return first_words(messages)


def _with_replaced(transcript: Transcript, path: Path, max_bytes: int = MAX_BYTES) -> Transcript:
    """A transcript that gives what its compactions replaced, if nothing was charged since.

    What was charged before says how much the host adds to each request.
    """
    if transcript.usage or not transcript.compactions:
        return transcript

    def earlier() -> list[Transcript]:
        with suppress(TranscriptError):  # the host may have rewritten the file since
            return contexts_of(_begun(path, max_bytes, whole=True))[:-1]
        return []

    return replace(transcript, replaced=Later(earlier))


def history(path: Path) -> History:
    """The whole conversation in a file, as `Readings.history`."""
    return Readings(whole=True).history(path)


def _begun(path: Path, max_bytes: int = MAX_BYTES, *, whole: bool = False) -> Look:
    """A new reading of a file, or of a session in a database."""
    if location := database_of(path):
        return SessionReading(*location, max_bytes)
    return FileReading(path, FORMATS, max_bytes, whole=whole)
