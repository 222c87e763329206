"""Claude Code: `~/.claude/projects/<folder of the project>/<session>.jsonl`, a row per line.

    reader.py    a transcript, row by row, and the conversation it holds now
    row.py       what a row is
    outline.py   what is kept of every row
    lineage.py   which row each row follows
    history.py   which of them go back to before a compaction
    branch.py    which rows are in the context now
    context.py   the messages they make, and their real usage
    stream.py    the same from the log of a run: rows as they were sent

The format is the host's own and changes: what we do not know is passed over and reported.
"""

from pathlib import Path

from context_compression.hosts.claude_code.about import NAME
from context_compression.hosts.claude_code.transcript import reader as sessions
from context_compression.hosts.claude_code.transcript import stream
from context_compression.hosts.claude_code.transcript.reader import (
    ClaudeCodeReader,
    reader,
    recognises,
)
from context_compression.transcripts.reading import Reading, Writers
from context_compression.transcripts.transcript import Transcript

__all__ = ["NAME", "ClaudeCodeReader", "read_own", "reader", "recognises"]


def read_own(path: Path) -> Transcript:
    """The conversation in a file that Claude Code wrote.

    Raises:
        TranscriptError: there is no such file, it cannot be read, or it is no conversation.
    """
    return Reading(path, Writers((stream, sessions), ((stream.is_log, stream),))).look()
