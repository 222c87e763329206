"""The one door through which files are read that a caller names.

A path is checked first and opened later. In between, somebody may put a symbolic link in the place
of any part of it. So a checked path is opened without following links, one folder within another,
and all that is asked of the file is asked of the open one.
"""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

from context_compression.errors import TranscriptError

STEPWISE = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether this system opens a file within an open folder; Windows does not."""
FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
"""How a folder is opened on the way: without reading it, where the system can."""


class CheckedPath(type(Path())):
    """A path without symbolic links that may be read. Links that appear in it are not followed."""

    __slots__ = ()


@contextmanager
def opened_once(path: Path) -> Generator[tuple[BufferedReader, int]]:
    """The bytes of an ordinary file, and their number.

    Only in a `CheckedPath` no link is followed.

    Raises:
        OSError: a part of the path is missing, may not be read, or became a link.
        TranscriptError: it is a folder, a device or a pipe.
    """
    descriptor = _descriptor(path if isinstance(path, CheckedPath) else path.resolve())
    try:
        about = os.fstat(descriptor)
        if stat.S_ISDIR(about.st_mode):
            raise TranscriptError(f"{path} is a folder. Pass the path of one file in it.")
        if not stat.S_ISREG(about.st_mode):
            raise TranscriptError(f"{path} is a device or a pipe. Only ordinary files are read.")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            yield file, about.st_size
    finally:
        os.close(descriptor)


def is_open_twice(descriptor: int) -> bool:
    """Whether this process has the open file open in another place, too.

    It shows that a library that opens files by their names, as SQLite does, opened the one that was
    checked. True where the system does not say which files are open (Windows).
    """
    about = os.fstat(descriptor)
    try:
        others = [int(name) for name in os.listdir("/dev/fd") if int(name) != descriptor]
    except OSError:
        return True
    for other in others:
        with suppress(OSError):  # that of the listing is closed
            if os.path.samestat(os.fstat(other), about):
                return True
    return False


def _descriptor(path: Path) -> int:
    # without O_NONBLOCK, a pipe would wait for a writer
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not STEPWISE:
        return os.open(path, flags)
    flags |= os.O_NOFOLLOW
    *folders, name = path.parts[1:] or (".",)
    folder = os.open(path.anchor, FOLDER)
    try:
        for part in folders:
            inner = os.open(part, FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(name, flags, dir_fd=folder)
    finally:
        os.close(folder)
