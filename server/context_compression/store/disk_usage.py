"""The disk space of files and folders."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def folder_size(folder: Path) -> int:
    """Bytes of all files in a folder; 0 if the folder does not exist."""
    return sum(map(size_of, _files(folder)))


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder; 0 if the path does not exist."""
    with suppress(OSError):
        status = path.lstat()
        return folder_size(path) if stat.S_ISDIR(status.st_mode) else status.st_size
    return 0


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names)
