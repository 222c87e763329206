"""Transcripts of agent hosts and plain message files: `read(path)` -> `Transcript`.

One module for each host; which one a file belongs to is told by its content, not by its name.
"""

from pathlib import Path

from context_compression.errors import TranscriptError
from context_compression.hosts import claude_code, message_files
from context_compression.hosts.access import Access
from context_compression.hosts.base import Host, Transcript, name_of
from context_compression.hosts.lines import WANTED, Lines, Rows, opened, parse

__all__ = ["MAX_BYTES", "Access", "Transcript", "read"]

MAX_BYTES = 256 * 1024 * 1024
HOSTS: tuple[Host, ...] = (claude_code,)
LOOKED_AT = 20  # rows; the first may be of a type we do not know


def read(path: Path, *, max_bytes: int = MAX_BYTES) -> Transcript:
    """The conversation in a file.

    Args:
        path: where it is; whether it may be read is for the caller to check.
        max_bytes: largest file that is read, packed and unpacked.

    Raises:
        TranscriptError: there is no such file, it cannot be read, or it is no conversation.
    """
    with opened(path, max_bytes) as lines:
        taken = [line for line in (next(lines, None), next(lines, None)) if line is not None]
        if not taken:
            empty = ["The file is empty."]
            return Transcript(path, message_files.NAME, name_of(path), [], warnings=empty)
        value = parse(taken[0])
        if isinstance(value, dict) and (len(taken) > 1 or "messages" not in value):
            return _read_rows(path, Rows(lines, taken))
        if value is not None and len(taken) == 1:
            return message_files.read_document(path, value)
        in_a_list = taken[0].lstrip().startswith(b"[")
        if not in_a_list and isinstance(parse(taken[-1]), dict):  # the first line is damaged
            return _read_rows(path, Rows(lines, taken))
        return message_files.read_document(path, _whole(path, lines, taken))


def _read_rows(path: Path, rows: Rows) -> Transcript:
    for row in rows.ahead(LOOKED_AT):
        for host in HOSTS:
            if host.recognises(row):
                return host.read(path, rows)
    return message_files.read_rows(path, rows)


def _whole(path: Path, lines: Lines, taken: list[bytes]) -> object:
    """The one JSON value of a file that spreads it over lines."""
    value = parse(b"".join([*taken, *lines]))
    if value is None:
        raise TranscriptError(f"{path} is not JSON, or not all of it is there. {WANTED}")
    return value
