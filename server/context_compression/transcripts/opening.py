"""The one door through which files are read that a caller names: which may be, also packed ones.

Packed files, gzip and Zstandard: the stream of their content, and the limits for them. Sixteen
megabytes of gzip may hold sixteen gigabytes. Unpacking costs a hundredth of reading JSON, so a file
is unpacked once to measure it, before any of it is parsed, and refused early.
"""

import gzip
import io
import os
import sys
import zlib
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from os import fstat
from pathlib import Path
from typing import Any, BinaryIO, cast

from context_compression.errors import (
    ConversationNotFound,
    MissingExtra,
    PathNotAllowed,
    TranscriptError,
)
from context_compression.extras import zstandard
from context_compression.opening import CheckedPath, NoFile, opened
from context_compression.plurals import how_many

HOW_TO_ALLOW = (
    "The user can allow more, with the environment variable CONTEXT_COMPRESSION_ALLOWED_PATHS or "
    "with --allow on the command line; no tool can."
)

NO_FILES = "This server reads no files: it runs on another machine than your agent"


@contextmanager
def opened_once(path: Path) -> Generator[tuple[BufferedReader, int]]:
    """The bytes of a file that a caller names, and their number; see `opened`.

    Raises:
        OSError: a part of the path is missing, may not be read, or became a link.
        TranscriptError: it is a folder, a device or a pipe.
    """
    try:
        file = opened(path)
    except NoFile as error:
        only = (
            "Pass the path of one file in it" if error.is_folder else "Only ordinary files are read"
        )
        raise TranscriptError(f"{error}. {only}.") from error
    with file:
        yield file, fstat(file.fileno()).st_size


@dataclass(frozen=True)
class Access:
    """The folders below which files may be read."""

    roots: tuple[Path, ...]
    """Allowed folders; resolved when the object is created."""
    read_host_transcripts: bool = True
    """Whether the host's live transcript may be read although it is outside these folders."""
    no_files: bool = False
    """Whether nothing may be read, and even whether a path exists must not be told."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "roots", tuple(map(_resolved, self.roots)))

    def check(self, path: str | Path) -> Path:
        """The path with `~` and symbolic links resolved.

        Raises:
            PathNotAllowed: the path is outside the allowed folders, or cannot be resolved.
        """
        if self.no_files:
            raise PathNotAllowed(f"{NO_FILES}.")
        try:
            resolved = Path(path).expanduser().resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop, an unknown home, a NUL
            raise PathNotAllowed(
                f"{str(path)!r} is not a path that can be followed: {error}."
            ) from error
        if not any(resolved.is_relative_to(root) for root in self.roots):
            folders = ", ".join(map(str, self.roots)) or "none"
            raise PathNotAllowed(
                f"{resolved} lies outside the folders that may be read: {folders}. {HOW_TO_ALLOW}"
            )
        return CheckedPath(resolved)

    def check_search(self) -> None:
        """Refuse to look for the host's live transcript where none may be read at all.

        Raises:
            ConversationNotFound: no file may be read.
        """
        if self.no_files:
            raise ConversationNotFound(
                f"{NO_FILES}, so there is no current conversation. Pass its messages, or the id of "
                "a recorded session."
            )

    def check_current(self, path: Path) -> Path:
        """The resolved path of the host's live transcript, in any folder.

        The path must come from our own search, not from an argument of a tool.

        Raises:
            PathNotAllowed: the user switched off reading live transcripts.
        """
        if self.read_host_transcripts:
            return CheckedPath(path.resolve())
        raise PathNotAllowed(
            "Reading the host's live transcript is switched off "
            "(CONTEXT_COMPRESSION_READ_HOST_TRANSCRIPTS). Pass the messages, or ask the user."
        )

    def named_by_hook(self, path: str, folder: Path) -> Path | None:
        """The resolved path of a transcript that an event of a host names.

        `None` if it is no JSON lines file below `folder`, where the host keeps its transcripts: a
        hook must not open any other file. `None`, too, if the user switched off reading them.
        """
        resolved = Path(path).resolve()
        inside = resolved.suffix == ".jsonl" and resolved.is_relative_to(folder.resolve())
        return CheckedPath(resolved) if inside and self.read_host_transcripts else None


def _resolved(root: Path) -> Path:
    with suppress(RuntimeError):  # `~name` of an unknown user is the name of a folder
        root = root.expanduser()
    try:
        return root.resolve()
    except ValueError as error:
        raise PathNotAllowed(
            f"{str(root)!r} has a NUL character, which no folder has, so it cannot be allowed."
        ) from error


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
    """The module that unpacks Zstandard."""
    try:
        return zstandard()
    except MissingExtra as error:
        raise TranscriptError(
            f"{path} is packed with Zstandard; `zstd -d --keep {path.name}` unpacks it. Pass the "
            "file that comes out, or install context-compression[zstd] (from Python 3.14 on, "
            "nothing is needed)."
        ) from error


def _holds_too_much(path: Path, why: str) -> TranscriptError:
    return TranscriptError(
        f"{path} is packed and holds too much to be read: {why}. If you trust it, unpack it "
        "(gunzip -k, zstd -d) and pass the file that comes out, or a smaller part of it."
    )
