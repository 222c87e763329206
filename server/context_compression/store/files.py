"""Files that are complete or absent: atomic writes, names, sizes, and errors that say why."""

import errno
import json
import os
import re
import stat
import tempfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

from context_compression import opening
from context_compression.errors import (
    StoreDamaged,
    StoreError,
    StoreNotDurable,
    StoreTooNew,
    StoreUnwritable,
)
from context_compression.opening import NoFile

FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
"""Matches a name that stands for one file inside its folder, and never for a path outside it."""
RULE = "1 to 128 characters of A-Z a-z 0-9 . _ - and does not begin with a dot"
"""What `FILE_NAME` says, in words: a name has …"""


def checked_name(name: str, what: str) -> str:
    """Return `name` unchanged if it can be the name of a file; the error tells `what` it is for.

    Raises:
        StoreError: the name could lead to another folder, or is too long.
    """
    if FILE_NAME.fullmatch(name):
        return name
    raise StoreError(f"{what} has {RULE}; {name[:60]!r} does not fit.")


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


FORMAT = 1
"""The format version written into the JSON files of a store."""
_DECODER = json.JSONDecoder()


UNFINISHED = ".new-"
"""The beginning of the names of files that are being written."""
OTHER_FOLDER = "set CONTEXT_COMPRESSION_DIR to a folder that can be written"
"""The advice for a folder that cannot be written, as the end of a sentence."""


@contextmanager
def writing(path: Path, other: str = OTHER_FOLDER) -> Generator[None]:
    """Turns an `OSError` while `path` is written into `StoreUnwritable`; `other` is its advice."""
    try:
        yield
    except OSError as error:
        in_the_way = isinstance(error, FileExistsError)
        reason = "a file is in its way" if in_the_way else error.strerror or error
        raise StoreUnwritable(
            f"{path} cannot be written: {reason}. Nothing was changed. Make room or correct the "
            f"permissions, or {other}."
        ) from error


@contextmanager
def reading(path: Path) -> Generator[None]:
    """Turns an `OSError` while `path` is read into `StoreDamaged`.

    If a file is in the place of one of the parent folders, `StoreUnwritable` is raised instead.
    """
    try:
        yield
    except NotADirectoryError as error:
        raise StoreUnwritable(
            f"{path} cannot be there: a file stands where one of its folders should be. Move it "
            "away, or set CONTEXT_COMPRESSION_DIR to another folder."
        ) from error
    except OSError as error:
        raise damaged(path, f"cannot be read: {error.strerror or error}") from error


@contextmanager
def collecting(problems: list[str]) -> Generator[None]:
    """Adds the message of a `StoreError` to `problems` instead of raising it."""
    try:
        yield
    except StoreError as error:
        problems.append(str(error))


def replace_file(path: Path, data: bytes, other: str = OTHER_FOLDER) -> None:
    """Put `data` at `path`, mode 0600. Readers see the old or the new file, even after a crash.

    Raises:
        StoreUnwritable: the disk refused the write; the old file is unchanged.
        StoreNotDurable: the new file exists, but its name could not be synced.
    """
    replace_by_parts(path, [data], other)


def replace_by_parts(path: Path, parts: Iterable[bytes], other: str = OTHER_FOLDER) -> None:
    """`replace_file` with data that never is in memory as a whole."""
    with writing(path, other):
        descriptor, temporary = tempfile.mkstemp(prefix=UNFINISHED, dir=path.parent)
        try:
            with open(descriptor, "wb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        sync_name(path)


def sync_name(path: Path) -> None:
    """Sync the folder of a file that was just created, so that its name survives a power cut.

    Raises:
        StoreNotDurable: the folder could not be synced; the file exists and stays.
    """
    try:
        sync_folder(path.parent)
    except OSError as error:
        raise StoreNotDurable(
            f"{path} is written and stays, but its name may not survive a power cut: its folder "
            f"cannot be synced ({error.strerror or error}). Nothing was done after that. Check the "
            "disk, and look at what is there before you try again."
        ) from error


def sync_folder(folder: Path) -> None:
    """Sync a folder. Does nothing on Windows, or on a file system that cannot sync folders."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
    finally:
        os.close(descriptor)


def to_json(value: Any, *, indent: int | None = None) -> bytes:
    """The JSON of `value` in UTF-8, or with ASCII escapes if it contains a lone surrogate.

    Raises:
        StoreError: `value` is not a JSON value.
    """
    separators = None if indent else (",", ":")
    try:
        try:
            text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=False)
            return text.encode()
        except UnicodeEncodeError:
            return json.dumps(value, indent=indent, separators=separators).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"The store keeps JSON values, and this is not one: {error}.") from error


def leading_json(data: bytes) -> Any:
    """The JSON value at the beginning of `data`; `None` if there is none. The rest is ignored."""
    try:
        return _DECODER.raw_decode(data.decode())[0]
    except (ValueError, RecursionError):
        return None


def json_in(data: bytes, path: Path) -> Any:
    """The JSON value in the bytes of the file `path`.

    Raises:
        StoreDamaged: they are not JSON.
    """
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"is not JSON: {error}") from error


def read_text(path: Path) -> str | None:
    """The text of the file `path`; `None` if the file does not exist.

    Raises:
        StoreDamaged: the file cannot be read or is not UTF-8, or the file or its folder is a link.
    """
    if path.parent.is_symlink():
        raise damaged(path, "is a link, and links are not followed here")
    data = bytes_or_none(path)
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError as error:
        raise damaged(path, f"is not UTF-8: {error}") from error


def bytes_or_none(path: Path) -> bytes | None:
    """The bytes of the file `path`; `None` if it does not exist.

    Raises:
        StoreDamaged: the file cannot be read, or is a link.
    """
    with reading(path):
        try:
            return bytes_of(path)
        except FileNotFoundError:
            return None


def bytes_of(path: Path) -> bytes:
    """The bytes of a regular file; errors as those of `opened`."""
    with opened(path) as file:
        return file.read()


def opened(path: Path) -> BufferedReader:
    """A regular file, open to be read. It is opened once and judged by its descriptor.

    So no link that somebody puts in its place meanwhile is followed, and no pipe waited for.

    Raises:
        StoreDamaged: the path is a link, a folder or a device.
        FileNotFoundError: the path does not exist.
    """
    try:
        file = opening.opened(path, follows=False)
    except NoFile as error:
        raise damaged(path, "is not a regular file") from error
    except OSError as error:
        if error.errno == errno.ENOENT or not os.path.lexists(path):
            raise
        if path.is_symlink():
            raise damaged(path, "is a link, and links are not followed here") from error
        if not path.is_file():
            raise damaged(path, "is not a regular file") from error
        raise
    if not opening.NO_LINK and path.is_symlink():
        file.close()
        raise damaged(path, "is a link, and links are not followed here")
    return file


def no_link(folder: Path) -> Path:
    """Return `folder`; `StoreDamaged` if it is a link, which could lead out of the store."""
    if folder.is_symlink():
        raise damaged(folder, "is a link, and links are not followed here")
    return folder


def stamp(path: Path) -> tuple[int, int] | None:
    """Size in bytes and modification time in ns of a file; `None` if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def read_document(path: Path) -> dict[str, Any]:
    """The JSON object in the file `path`; `{}` if the file does not exist.

    Raises:
        StoreDamaged: the file cannot be read, or is not a JSON object.
        StoreTooNew: a newer version of this package wrote it.
    """
    data = bytes_or_none(path)
    value: Any = {} if data is None else json_in(data, path)
    if not isinstance(value, dict):
        raise damaged(path, "is not a JSON object")
    document = cast("dict[str, Any]", value)
    check_version(document, path)
    return document


def check_version(header: dict[str, Any], path: Path) -> None:
    """Refuse a file that a newer version of this package wrote.

    A header without a version was written by hand, and is accepted.

    Raises:
        StoreTooNew: the version of the header is greater than `FORMAT`.
    """
    version = header.get("version")
    if isinstance(version, int) and version > FORMAT:
        raise StoreTooNew(
            f"{path} was written by a newer context-compression (format {version}, this one knows "
            f"{FORMAT}): upgrade, or use another folder with CONTEXT_COMPRESSION_DIR."
        )


def damaged(path: Path | str, problem: str) -> StoreDamaged:
    """The error for a damaged file, with advice. `problem` is for example "is not JSON"."""
    return StoreDamaged(
        f"{path} {problem}. Correct it by hand, or move it away to start again; it was left as it "
        "is."
    )
