"""Whether two paths that hosts wrote name one folder, on whatever system they were written."""

import re
from pathlib import PureWindowsPath

WINDOWS = re.compile(r"[A-Za-z]:[\\/]|[\\/]{2}")
"""How an absolute path of Windows begins: a drive, or a share such as those of WSL."""
LONG = re.compile(r"^[\\/]{2}\?[\\/](?:UNC(?=[\\/]))?")
"""The beginning of a path without the limit of 260 characters: `\\\\?\\C:\\app`."""
WSL = re.compile(r"^[\\/]{2}wsl\.localhost(?=[\\/])", re.IGNORECASE)


def is_same_folder(one: str, other: str) -> bool:
    r"""Whether two paths name one folder: `C:\App` and `c:/app` do, `/App` and `/app` do not."""
    if one == other or not (WINDOWS.match(one) and WINDOWS.match(other)):
        return one == other
    return _plain(one) == _plain(other)


def _plain(path: str) -> PureWindowsPath:
    r"""The path in its usual form: hosts also write `\\?\C:\app`, and `\\wsl.localhost\Ubuntu`."""
    short = LONG.sub("", path)
    if short != path and not WINDOWS.match(short):
        short = f"\\{short}"  # of a share
    return PureWindowsPath(WSL.sub(r"\\\\wsl$", short))
