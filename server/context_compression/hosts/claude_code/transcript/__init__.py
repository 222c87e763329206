"""Claude Code's transcripts: `~/.claude/projects/<folder of the project>/<session>.jsonl`.

Each line of a transcript is one row, a JSON object.

    reader.py    reads a transcript row by row, and builds its live conversation
    rows.py      rows of a Claude Code transcript: their kinds, what each follows, the live branch,
                 the course
    context.py   messages from live rows: what the model was sent, with compactions and what the
                 user said
    stream.py    reads the log of a run (`claude -p --output-format stream-json`)

The format is internal to Claude Code and changes. Unknown rows are skipped and reported.
"""

from dataclasses import replace
from pathlib import Path

from context_compression.hosts.claude_code.transcript import stream
from context_compression.hosts.claude_code.transcript.reader import (
    GENERATIONS,
    ClaudeCodeReader,
    recognises,
)
from context_compression.hosts.claude_code.transcript.rows import SHAPES
from context_compression.transcripts.reading import FileReading
from context_compression.transcripts.transcript import DocumentFormat, RowFormat

__all__ = ["FORMATS", "reading_of"]

FORMATS = (
    RowFormat(stream.recognises, stream.StreamReader),
    RowFormat(recognises, ClaudeCodeReader, GENERATIONS, SHAPES),
    DocumentFormat(stream.is_log, stream.read_document, stream.before_compactions),
)


def reading_of(path: Path, *, whole: bool = False) -> FileReading:
    """A reading of a file that Claude Code wrote: a transcript, or the log of a run.

    It is for the host's own hooks and compares no shapes: each attachment of a newer version would
    be told to the model after a compaction. `status` and the tools tell them.
    """
    log, session, document = FORMATS
    return FileReading(path, (log, replace(session, shapes=None), document), whole=whole)
