"""The one way to open a file in order to read it.

A path is looked at first and opened later. In between, somebody may put a symbolic link, a pipe or
a device in the place of any part of it. So a file is opened once, and all that is asked of it is
asked of the open one. A path that was checked is opened without following links, one folder within
another; in a store no link is followed; and a pipe is never waited for.
"""

import os
import stat
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

STEPWISE = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether this system opens a file within an open folder; Windows does not."""
FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
"""How a folder is opened on the way: without reading it, where the system can."""
FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""How a file is opened: without O_NONBLOCK, a pipe would wait for a writer."""
NO_LINK = getattr(os, "O_NOFOLLOW", 0)


class CheckedPath(type(Path())):
    """A path without symbolic links that may be read. Links that appear in it are not followed."""

    __slots__ = ()


class NoFile(OSError):
    """A folder, a device or a pipe is in the place of a file."""

    def __init__(self, path: Path, mode: int) -> None:
        """What a path is, by the mode of the open thing."""
        what = "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"
        super().__init__(f"{path} is {what}")
        self.is_folder = stat.S_ISDIR(mode)


def opened(path: Path, *, follows: bool = True) -> BufferedReader:
    """An ordinary file, open to be read; whoever asks closes it.

    Args:
        path: the file. In a `CheckedPath` no link is followed.
        follows: whether the file may be a link. Its folders may be links even if not.

    Raises:
        NoFile: it is a folder, a device or a pipe.
        OSError: a part of the path is missing, may not be read, or is a link and must not be one.
    """
    descriptor = _descriptor(path, follows)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise NoFile(path, mode)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


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


def _descriptor(path: Path, follows: bool) -> int:
    if not isinstance(path, CheckedPath):
        return os.open(path, FILE if follows else FILE | NO_LINK)
    if not STEPWISE:
        return os.open(path, FILE)
    *folders, name = path.parts[1:] or (".",)
    folder = os.open(path.anchor, FOLDER)
    try:
        for part in folders:
            inner = os.open(part, FOLDER | NO_LINK, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(name, FILE | NO_LINK, dir_fd=folder)
    finally:
        os.close(folder)
