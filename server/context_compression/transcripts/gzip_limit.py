"""The limits for gzip files. A file is unpacked once to measure it, before any of it is parsed.

Sixteen megabytes of gzip may hold sixteen gigabytes. Unpacking costs a hundredth of reading JSON,
so a file that holds too much is refused early.
"""

import zlib
from contextlib import suppress
from gzip import GzipFile
from pathlib import Path
from typing import BinaryIO, cast

from context_compression.display.plurals import how_many
from context_compression.errors import TranscriptError

MAX_UNPACKED = 512 * 1024 * 1024
"""Bytes that a gzip file may hold: more than any session seen so far, and unpacked in a second."""
ALWAYS_READ = 32 * 1024 * 1024
"""Bytes that any gzip file may hold, however small it is itself."""
MAX_RATIO = 100
"""Unpacked bytes for each gzip byte: recorded sessions reach 14, gzip itself 1,032."""
CHUNK = 256 * 1024


def check_packed(stream: GzipFile, path: Path, max_bytes: int) -> None:
    """Unpack a file to measure it, and rewind the stream; nothing is kept.

    A damaged file passes, because the reader can still use the part before the damage.

    Raises:
        TranscriptError: the file holds more than `max_bytes` or `MAX_UNPACKED` bytes. Or it holds
            more than `ALWAYS_READ` bytes and more than `MAX_RATIO` bytes for each packed byte.
    """
    most, size = min(max_bytes, MAX_UNPACKED), 0
    file = cast("BinaryIO", stream.fileobj)
    stream.seek(0)
    with suppress(OSError, EOFError, zlib.error):
        while chunk := stream.read(CHUNK):
            size += len(chunk)
            if size > most:
                raise _holds_too_much(path, f"at most {most:,} bytes are unpacked")
            read = file.tell()
            if size > max(ALWAYS_READ, MAX_RATIO * read):
                size_so_far = f"{how_many(size, 'byte')} came out of the first {read:,}"
                raise _holds_too_much(
                    path, f"{size_so_far}; at most {MAX_RATIO} times as many are read"
                )
    stream.seek(0)


def _holds_too_much(path: Path, why: str) -> TranscriptError:
    return TranscriptError(
        f"{path} is packed and holds too much to be read: {why}. If you trust it, unpack it "
        "(gunzip -k) and pass the file that comes out, or a smaller part of it."
    )
