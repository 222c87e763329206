"""The root folder of a store: private to its user, with an id and a folder for locks."""

import errno
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from filelock import FileLock, Timeout

from context_compression.errors import StoreDamaged, StoreError
from context_compression.store.backend import LOCK_SECONDS
from context_compression.store.files import opened, replace_file, sync_name, writing

LOCKS = ".locks"
"""The folder for data of this machine: locks, and the random id of the store."""
LONGEST_ID = 200
"""How many bytes of an id are read."""


@contextmanager
def holding(root: Path, name: str, busy: str, timeout: float = LOCK_SECONDS) -> Generator[None]:
    """Holds a lock against other threads and processes; the lock is not reentrant.

    The system releases the lock when the process ends, even after a crash.

    Args:
        root: the root folder of the store.
        name: the name of the lock.
        busy: the beginning of the error: "another process is writing to the store".
        timeout: seconds to wait.

    Raises:
        StoreError: the lock did not become free in time.
        StoreUnwritable: the lock file could not be written.
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
    """Make the folder `root/inside/...`, each level with mode 0700, and return its path.

    The root gets an id, and a `.gitignore` that excludes everything.

    Raises:
        StoreUnwritable: the disk refused the write, or one of the levels is a link or a file.
    """
    folder = root
    with writing(root):
        root.parent.mkdir(parents=True, exist_ok=True)
        for level in ("", *inside):
            folder = folder / level
            if level and folder.is_symlink():
                raise OSError(errno.ENOTDIR, f"{folder} is a link, and links are not followed here")
            if not folder.is_dir():
                folder.mkdir(mode=0o700, exist_ok=True)
                sync_name(folder)
                if not level:
                    give_id(root)
        ignore = root / ".gitignore"
        if not ignore.exists():
            replace_file(ignore, b"*\n")
    return folder


def remove_unused(root: Path) -> None:
    """Remove a root folder that contains only what `make_folder` creates."""
    if {path.name for path in root.iterdir()} <= {".gitignore", LOCKS}:
        shutil.rmtree(root)


_on_creation: dict[Path, Callable[[Path], object]] = {}


def when_made(root: Path, call: Callable[[Path], object]) -> None:
    """Register `call` to be called with `root` when this process makes that folder.

    At that time the folder contains only its id. `call` can record the id before other files are
    written there.
    """
    _on_creation[root] = call


def id_of(root: Path) -> str | None:
    """The id of a root folder, 32 hex digits; `None` if it has none."""
    with suppress(OSError, UnicodeDecodeError, StoreDamaged):
        if not (root / LOCKS).is_symlink():
            with opened(root / LOCKS / "id") as file:
                return file.read(LONGEST_ID).decode("ascii").strip() or None
    return None


def id_since(root: Path) -> int | None:
    """When the file of the id was last written, renamed or copied: ns since 1970 (`st_ctime`).

    A copy of the folder, or a folder unpacked from an archive, has another time.
    """
    with suppress(OSError):
        return (root / LOCKS / "id").lstat().st_ctime_ns
    return None


def give_id(root: Path) -> None:
    """Give a root folder a new id."""
    replace_file(make_folder(root, LOCKS) / "id", token_hex(16).encode() + b"\n")
    if call := _on_creation.get(root):
        call(root)
