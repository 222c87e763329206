"""Reads whole conversations of all hosts, with what compactions took out of the context."""

from pathlib import Path

from context_compression.conversation.authors import first_words
from context_compression.conversation.formats import parse
from context_compression.errors import InvalidConversation
from context_compression.hosts.opencode.database import SessionReading, database_of
from context_compression.hosts.reading import FIRST, WRITERS
from context_compression.transcripts.history import History
from context_compression.transcripts.reading import MAX_BYTES, FileReading
from context_compression.transcripts.stages import history_from, led_to
from context_compression.transcripts.transcript import Transcript


def history(path: Path, *, max_bytes: int = MAX_BYTES) -> History:
    """The whole conversation in a file.

    Args:
        path: the file; the caller checks whether it may be read.
        max_bytes: the largest size that is read, before and after unpacking.

    Raises:
        TranscriptError: there is no such file, it cannot be read, or it is no conversation.
    """
    before: dict[int | None, Transcript] = {}
    if location := database_of(path):
        session = SessionReading(*location, max_bytes)
        live, before = session.look(), session.before_compactions()
    else:
        live = FileReading(path, WRITERS, max_bytes, before=before).look()
    stages = led_to(live, before)
    try:
        title = first_words(parse(stages[0].messages[:FIRST]).messages)
    except InvalidConversation:
        title = ""
    return history_from(stages, title)
