"""Packed files: what comes out of one is measured before any of it is read.

Sixteen megabytes of gzip may hold sixteen gigabytes. To unpack costs a hundredth of what it costs
to read JSON, so a file that holds too much is found out before that.
"""

import zlib
from contextlib import suppress
from gzip import GzipFile
from pathlib import Path
from typing import BinaryIO, cast

from context_compression.display.plurals import how_many
from context_compression.errors import TranscriptError

MOST = 512 * 1024 * 1024
"""Bytes that a packed file may hold: more than any session we know, and unpacked in a second."""
FREE = 32 * 1024 * 1024
"""Bytes that any packed file may hold, however small it is."""
RATIO = 100
"""Bytes that each packed byte may stand for: recordings have up to 14, gzip reaches 1,032."""
CHUNK = 256 * 1024


def check_packed(stream: GzipFile, path: Path, max_bytes: int) -> None:
    """Unpack all of a file, holding none of it; the stream stands at its beginning then.

    Damage is left to whoever reads on: what stands before it may be wanted.

    Raises:
        TranscriptError: it holds more than `max_bytes`, than `MOST`, or than `RATIO` for each byte.
    """
    most, size = min(max_bytes, MOST), 0
    file = cast("BinaryIO", stream.fileobj)
    stream.seek(0)
    with suppress(OSError, EOFError, zlib.error):
        while chunk := stream.read(CHUNK):
            size += len(chunk)
            if size > most:
                raise _holds_too_much(path, f"at most {most:,} bytes are unpacked")
            read = file.tell()
            if size > max(FREE, RATIO * read):
                found = f"{how_many(size, 'byte')} came out of the first {read:,}"
                raise _holds_too_much(path, f"{found}; at most {RATIO} times as many are read")
    stream.seek(0)


def _holds_too_much(path: Path, why: str) -> TranscriptError:
    return TranscriptError(
        f"{path} is packed and holds too much to be read: {why}. If you trust it, unpack it "
        "(gunzip -k) and pass the file that comes out, or a smaller part of it."
    )
