"""The first and the last rows of a large file, for a quick look at its size.

A reader that gets only these rows knows the usage of the last request, which covers the whole
context. Its messages are incomplete.
"""

import mmap
import re
from collections.abc import Iterable
from gzip import GzipFile
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from context_compression.transcripts.damaged_lines import row_in
from context_compression.transcripts.lines import At, Lines, opened, translated
from context_compression.transcripts.reading import LOOKED_AT, MAX_BYTES, Writers
from context_compression.transcripts.rows import Rows
from context_compression.transcripts.transcript import Row, Transcript

LAST_BYTES = 512 * 1024
"""How many bytes at the end of a file are read."""


def read_ends(path: Path, writers: Writers) -> Transcript | None:
    """The conversation by the first and last rows of a file.

    `None` if that does not tell its size, or spares nothing: the file is small, or packed, or no
    host recognises its first rows, or its last rows do not tell the usage of a request.

    Raises:
        TranscriptError: there is no such file, or it cannot be read.
    """
    with opened(path, MAX_BYTES) as stream:
        size = path.stat().st_size
        if size <= 2 * LAST_BYTES or isinstance(stream, GzipFile):
            return None
        first = list(islice(Rows(Lines(stream, path, MAX_BYTES)), LOOKED_AT))
        written_by = (host for row, _ in first for host in writers.of_rows if host.recognises(row))
        if (host := next(written_by, None)) is None or stream.tell() > size - LAST_BYTES:
            return None

        def load(at: At) -> Row:
            stream.seek(at.offset)
            return row_in(stream.read(at.length))

        reader = host.reader()
        for row, at in (*first, *_last(stream, path, size)):
            reader.add(row, at)
        transcript = reader.transcript(path, load)
    covers = transcript.usage[1] if transcript.usage else 0
    return transcript if covers else None


def _last(stream: BinaryIO, path: Path, size: int) -> Rows:
    stream.seek(size - LAST_BYTES)
    stream.readline()  # the rest of a row that began before
    return Rows(Lines(stream, path, MAX_BYTES, stream.tell()))


def how_often(marks: Iterable[bytes], path: Path) -> int:
    """How often one of several marks is in a file that is not empty; its rows are not parsed.

    Raises:
        TranscriptError: there is no such file, or it cannot be read.
    """
    with (
        translated(path),
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        return sum(1 for mark in marks for _ in re.finditer(re.escape(mark), data))
