"""Whose transcript a file is, told by its content; the conversation in it."""

from collections import OrderedDict
from pathlib import Path
from threading import Lock

from context_compression.conversation.authors import user_words
from context_compression.conversation.formats import parse as parse_messages
from context_compression.errors import ContextCompressionError
from context_compression.hosts.claude_code import transcript as claude_code
from context_compression.hosts.claude_code.transcript import stream
from context_compression.hosts.codex import transcript as codex
from context_compression.hosts.copilot_cli import transcript as copilot_cli
from context_compression.hosts.gemini_cli import transcript as gemini_cli
from context_compression.hosts.opencode import transcript as opencode
from context_compression.hosts.opencode.database import SessionReading, database_of, title_of
from context_compression.hosts.pi import transcript as pi
from context_compression.transcripts.reading import MAX_BYTES, Look, Reading, Writers
from context_compression.transcripts.transcript import Transcript

WRITERS = Writers(
    of_rows=(stream, claude_code, codex, copilot_cli, gemini_cli, pi),
    of_documents=(
        (opencode.is_export, opencode),
        (gemini_cli.is_session, gemini_cli),
        (stream.is_log, stream),
    ),
)
REMEMBERED = 8  # transcripts; few are looked at more than once
FIRST = 200  # rows in which the user's first words are looked for
TOLD = ("<", "# AGENTS.md")  # what hosts tell the model in the user's role before


def read(path: Path, *, max_bytes: int = MAX_BYTES) -> Transcript:
    """The conversation in a file.

    Args:
        path: where it is; whether it may be read is for the caller to check.
        max_bytes: largest file that is read, packed and unpacked.

    Raises:
        TranscriptError: there is no such file, it cannot be read, or it is no conversation.
    """
    return _begun(path, max_bytes).look()


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

    def first_words(self, path: Path) -> str:
        """How the user began, or the title of the session; empty where that cannot be read."""
        try:
            if found := database_of(path):
                return title_of(*found)
            messages = parse_messages(Reading(path, WRITERS, rows=FIRST).look().messages).messages
        except ContextCompressionError:
            return ""
        said = (user_words(message).strip() for message in messages)
        return next((text for text in said if text and not text.startswith(TOLD)), "")


def _begun(path: Path, max_bytes: int = MAX_BYTES) -> Look:
    """What will read a transcript: a file, or a session in a database."""
    if found := database_of(path):
        return SessionReading(*found)
    return Reading(path, WRITERS, max_bytes)
