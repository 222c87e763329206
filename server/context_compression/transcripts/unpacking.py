"""Packed files, gzip and Zstandard: the stream of their content, and the limits for them.

Sixteen megabytes of gzip may hold sixteen gigabytes. Unpacking costs a hundredth of reading JSON,
so a file is unpacked once to measure it, before any of it is parsed, and refused early.
"""

import gzip
import io
import os
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from context_compression.display.plurals import how_many
from context_compression.errors import TranscriptError

GZIP = b"\x1f\x8b"
ZSTANDARD = b"\x28\xb5\x2f\xfd"
PACKED_NAMES = (".gz", ".zst")
MAX_UNPACKED = 512 * 1024 * 1024
"""Bytes that a packed file may hold: more than any session seen so far, unpacked in a second."""
ALWAYS_READ = 32 * 1024 * 1024
"""Bytes that any packed file may hold, however small it is itself."""
MAX_RATIO = 100
"""Unpacked bytes for each packed byte: recorded sessions reach 14, gzip itself 1,032."""
CHUNK = 256 * 1024


def unpacked(file: BinaryIO, start: bytes, path: Path) -> BinaryIO | None:
    """The stream of a packed file's content; `None` if the file is not packed.

    Args:
        file: the file, at its first byte.
        start: its first bytes.
        path: for the error.

    Raises:
        TranscriptError: it is packed with Zstandard, and nothing here unpacks that.
    """
    if start.startswith(GZIP):
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if start.startswith(ZSTANDARD):
        return cast(BinaryIO, _zstandard(path).ZstdFile(file))
    return None


def is_packed(stream: BinaryIO) -> bool:
    """Whether a stream unpacks what it reads."""
    return not isinstance(stream, io.BufferedReader)


def damages() -> tuple[type[Exception], ...]:
    """The errors for damaged data, besides `OSError` and `EOFError`."""
    loaded = sys.modules.get("compression.zstd") or sys.modules.get("backports.zstd")
    return (zlib.error, loaded.ZstdError) if loaded else (zlib.error,)


def check_packed(stream: BinaryIO, path: Path, max_bytes: int) -> int:
    """Unpack a file to measure it, and rewind the stream; the bytes that it holds.

    A damaged file passes, because the reader can still use the part before the damage.

    Raises:
        TranscriptError: the file holds more than `max_bytes` or `MAX_UNPACKED` bytes. Or it holds
            more than `ALWAYS_READ` bytes and more than `MAX_RATIO` bytes for each packed byte.
    """
    most, size = min(max_bytes, MAX_UNPACKED), 0
    stream.seek(0)
    with suppress(OSError, EOFError, *damages()):
        while chunk := stream.read(CHUNK):
            size += len(chunk)
            if size > most:
                raise _holds_too_much(path, f"at most {most:,} bytes are unpacked")
            read = os.lseek(stream.fileno(), 0, os.SEEK_CUR)
            if size > max(ALWAYS_READ, MAX_RATIO * read):
                size_so_far = f"{how_many(size, 'byte')} came out of the first {read:,}"
                raise _holds_too_much(
                    path, f"{size_so_far}; at most {MAX_RATIO} times as many are read"
                )
    stream.seek(0)
    return size


def _zstandard(path: Path) -> Any:
    """The module that unpacks Zstandard; part of Python since 3.14."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as error:
        raise TranscriptError(
            f"{path} is packed with Zstandard; `zstd -d --keep {path.name}` unpacks it. Pass the "
            "file that comes out, or install context-compression[zstd] (from Python 3.14 on, "
            "nothing is needed)."
        ) from error
    return zstd


def _holds_too_much(path: Path, why: str) -> TranscriptError:
    return TranscriptError(
        f"{path} is packed and holds too much to be read: {why}. If you trust it, unpack it "
        "(gunzip -k, zstd -d) and pass the file that comes out, or a smaller part of it."
    )
