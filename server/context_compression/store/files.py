"""A file is whole or not there; what the disk refuses becomes an error that says what to do."""

import errno
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, cast

from filelock import FileLock, Timeout

from context_compression.errors import (
    StoreDamaged,
    StoreError,
    StoreNotDurable,
    StoreTooNew,
    StoreUnwritable,
)

FORMAT = 1
"""The version that our JSON files carry."""
LOCKS = ".locks"
"""Holds what is of this machine: the locks, and a random id by which a folder is known again."""
LONGEST_ID = 200
"""Bytes of an id that are read."""
LOCK_SECONDS = 30.0


@contextmanager
def writing(path: Path) -> Generator[None]:
    """Turns the disk's refusal to write `path` into `StoreUnwritable`."""
    try:
        yield
    except OSError as error:
        in_the_way = isinstance(error, FileExistsError)
        reason = "a file is in its way" if in_the_way else error.strerror or error
        raise StoreUnwritable(
            f"{path} cannot be written: {reason}. Nothing was changed. Make room or correct the "
            "permissions, or set CONTEXT_COMPRESSION_DIR to a folder that can be written."
        ) from error


@contextmanager
def reading(path: Path) -> Generator[None]:
    """Turns the disk's refusal to read `path` into `StoreDamaged`."""
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
def noting(found: list[str]) -> Generator[None]:
    """Collects an error of the store as one more finding."""
    try:
        yield
    except StoreError as error:
        found.append(str(error))


@contextmanager
def holding(root: Path, name: str, busy: str, timeout: float = LOCK_SECONDS) -> Generator[None]:
    """Holds the lock `name` against other threads and processes; `busy` says who may have it.

    Not reentrant. The system lets go of it when the process ends, however it ends.
    """
    path = make_folder(root, LOCKS) / name
    lock = FileLock(path, mode=0o600)
    with writing(path):
        try:
            lock.acquire(timeout=timeout, poll_interval=0.01)
        except Timeout:
            raise StoreError(f"{busy}; waited {timeout:g} s. Try again later.") from None
    try:
        yield
    finally:
        lock.release()


def make_folder(root: Path, *inside: str) -> Path:
    """`root/inside/...`, every level 0700; in the root a `.gitignore` that hides everything."""
    folder = root
    with writing(root):
        root.parent.mkdir(parents=True, exist_ok=True)
        for level in ("", *inside):
            folder = folder / level
            if level and folder.is_symlink():
                raise OSError(errno.ENOTDIR, f"{folder} is a link, and none is followed here")
            if not folder.is_dir():
                folder.mkdir(mode=0o700, exist_ok=True)
                sync_name(folder)
                if not level:
                    name(root)
        ignore = root / ".gitignore"
        if not ignore.exists():
            replace_file(ignore, b"*\n")
    return folder


def remove_unused(root: Path) -> None:
    """Remove a folder in which nothing is but what it was made with."""
    if {path.name for path in root.iterdir()} <= {".gitignore", LOCKS}:
        shutil.rmtree(root)


_tell: dict[Path, Callable[[Path], object]] = {}


def when_made(root: Path, tell: Callable[[Path], object]) -> None:
    """Have `tell` called when this process makes the folder `root`, with nothing in it but its id.

    So what it writes down is known before anything is kept there.
    """
    _tell[root] = tell


def id_of(root: Path) -> str | None:
    """The id of a folder of ours, 32 hex digits; `None` where it has none."""
    with suppress(OSError, UnicodeDecodeError, StoreDamaged):
        if not (root / LOCKS).is_symlink():
            with open(ordinary(root / LOCKS / "id"), "rb") as file:
                return file.read(LONGEST_ID).decode("ascii").strip() or None
    return None


def id_since(root: Path) -> int | None:
    """When the file of the id was last written, renamed or copied: ns, as the system keeps it.

    Who unpacks the folder once more has another.
    """
    with suppress(OSError):
        return (root / LOCKS / "id").lstat().st_ctime_ns
    return None


def name(root: Path) -> None:
    """Give a folder an id of its own."""
    replace_file(make_folder(root, LOCKS) / "id", token_hex(16).encode() + b"\n")
    if tell := _tell.get(root):
        tell(root)


def replace_file(path: Path, data: bytes) -> None:
    """Puts `data` at `path` (0600): a reader, and a crash, meets the old file or the new one."""
    with writing(path):
        descriptor, temporary = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        sync_name(path)


def sync_name(path: Path) -> None:
    """Makes the new name of what was just written survive a power cut.

    Raises:
        StoreNotDurable: the disk refuses; all that was written is there and stays.
    """
    try:
        sync_folder(path.parent)
    except OSError as error:
        raise StoreNotDurable(
            f"{path} is written and stays, but its name may not survive a power cut: its folder "
            f"cannot be synced ({error.strerror or error}). Nothing after it was done. Check the "
            "disk, and see what is there before you ask again."
        ) from error


def sync_folder(folder: Path) -> None:
    """Makes new names in `folder` survive a power cut, where the system can do that."""
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
    """`value` as readable UTF-8; in escapes where it holds a lone surrogate, which has no UTF-8."""
    separators = None if indent else (",", ":")
    try:
        try:
            text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=False)
            return text.encode()
        except UnicodeEncodeError:
            return json.dumps(value, indent=indent, separators=separators).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"The store keeps JSON values, and this is none: {error}.") from error


def read_json(path: Path, *, default: Any) -> Any:
    """What stands at `path`, `default` where there is no file."""
    data = _read_bytes(path)
    if data is None:
        return default
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"is not JSON: {error}") from error


def read_text(path: Path) -> str | None:
    """The text in UTF-8 at `path`, `None` where there is no file; no link is followed."""
    if path.parent.is_symlink():
        raise damaged(path, "is a link, and none is followed here")
    data = _read_bytes(path)
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError as error:
        raise damaged(path, f"is not UTF-8: {error}") from error


def _read_bytes(path: Path) -> bytes | None:
    with reading(path):
        try:
            return ordinary(path).read_bytes()
        except FileNotFoundError:
            return None


def ordinary(path: Path) -> Path:
    """The path; `StoreDamaged` where a link is there, or a device, which might never end."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        raise damaged(path, "is a link, and none is followed here")
    if not stat.S_ISREG(mode):
        raise damaged(path, "is no ordinary file")
    return path


def no_link(folder: Path) -> Path:
    """The folder; `StoreDamaged` where a link is there that would lead out of the store."""
    if folder.is_symlink():
        raise damaged(folder, "is a link, and none is followed here")
    return folder


def stamp(path: Path) -> tuple[int, int] | None:
    """Size and modification time (ns) of a file, `None` where it is gone."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def read_document(path: Path) -> dict[str, Any]:
    """The JSON object at `path`, checked for its version; `{}` where there is no file."""
    value = read_json(path, default={})
    if not isinstance(value, dict):
        raise damaged(path, "is not a JSON object")
    document = cast("dict[str, Any]", value)
    check_version(document, path)
    return document


def check_version(header: dict[str, Any], path: Path) -> None:
    """Refuses what a newer version wrote; what has no version was written by hand."""
    version = header.get("version")
    if isinstance(version, int) and version > FORMAT:
        raise StoreTooNew(
            f"{path} was written by a newer context-compression (format {version}, this one knows "
            f"{FORMAT}): upgrade, or use another folder with CONTEXT_COMPRESSION_DIR."
        )


def damaged(path: Path, what: str) -> StoreDamaged:
    """The error for a file that "is not JSON", "is missing", ..., with what to do about it."""
    return StoreDamaged(
        f"{path} {what}. Correct it by hand, or move it away to begin anew; it was left as it is."
    )
