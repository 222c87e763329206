"""The first and the last rows of a large file, for a quick look at its size.

A reader that gets only these rows knows the usage of the last request, which covers the whole
context. Its messages are incomplete.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO

from context_compression.transcripts.damaged_lines import row_in
from context_compression.transcripts.generations import unknown_generation
from context_compression.transcripts.lines import At, Lines, opened
from context_compression.transcripts.reading import LOOKED_AT, MAX_BYTES, Writers
from context_compression.transcripts.rows import Rows
from context_compression.transcripts.transcript import Row, Transcript, earlier_rows
from context_compression.transcripts.unpacking import CHUNK, check_packed, is_packed

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


def read_ends(path: Path, writers: Writers) -> Ends | None:
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
        written_by = (host for row, _ in first for host in writers.of_rows if host.recognises(row))
        if (host := next(written_by, None)) is None:
            is_large = size > 2 * LAST_BYTES[-1] and not packed
            return _ends_of_document(stream, path, writers) if is_large else None
        earlier = earlier_rows(host, (row for row, _ in first), path)
        files = [*(earlier.ends if earlier else ()), (path, None)]
        whole = size + sum(map(_bytes, files[:-1]))
        missing = [
            *unknown_generation(host, (row for row, _ in first)),
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
            reader = host.reader()
            for row, at in chain(first, rows if goes_on else _last(stream, path, size - last)):
                reader.add(row, at)
            transcript = reader.transcript(path, load)
            ends = Ends(replace(transcript, missing=[*missing, *transcript.missing]), files)
            if ends.transcript.usage and ends.transcript.usage[1]:
                return ends
            if goes_on:
                break
    return ends if whole > 2 * LAST_BYTES[-1] else None


def _ends_of_document(stream: BinaryIO, path: Path, writers: Writers) -> Ends | None:
    """The same of a file that is one JSON value, whose messages a reader takes as rows."""
    stream.seek(0)
    head = stream.read(LAST_BYTES[0]).decode("utf-8", "replace")
    if (begin := MESSAGES.search(head)) is None:
        return None
    about = row_in(f"{head[: begin.start()].rstrip().rstrip(',')}}}".encode())
    host = next((host for host in writers.of_rows if host.recognises(about)), None)
    if host is None:
        return None
    ends = None
    for last in LAST_BYTES:
        stream.seek(-last, SEEK_END)
        rows = [
            about,
            *_messages(head[begin.end() :]),
            *_messages(stream.read().decode("utf-8", "replace")),
        ]
        reader = host.reader()
        for row in rows:
            reader.add(row, At(0, 0))
        transcript = reader.transcript(path, lambda _: {})
        ends = Ends(replace(transcript, missing=unknown_generation(host, [about])), [(path, None)])
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
