"""The root folder of a store: private to its user, with an id and locks; and whether he trusts it.

A folder `.compression/` may come with a clone or an archive file, and only if the user trusts it
are the settings and prompts in it applied. Each folder has an id. The file `folders.json` in the
user's own `~/.compression` lists the ids and places of the folders that this user made or trusts.
The sessions in a folder can be read and restored in any case.
"""

import errno
import os
import re
import shutil
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any

from filelock import FileLock, Timeout

from context_compression.conversation.messages import is_array, is_object
from context_compression.errors import NotOurs, StoreBusy, StoreDamaged, StoreError
from context_compression.opening import opened as open_file
from context_compression.store import files
from context_compression.store.backend import LOCK_SECONDS
from context_compression.store.files import opened, replace_file, sync_name, writing
from context_compression.store.location import NAME, pointer

LOCKS = ".locks"
"""The folder for data of this machine: locks, and the random id of the store."""
LONGEST_ID = 200
"""How many bytes of an id are read."""


@contextmanager
def holding(root: Path, name: str, busy: str, timeout: float = LOCK_SECONDS) -> Generator[None]:
    """Holds a lock against other threads and processes; the lock is not reentrant.

    The system releases the lock when the process ends, even after a crash.

    Raises:
        StoreBusy: the lock did not become free in time.
        StoreUnwritable: the lock file could not be written.
    """
    path = make_folder(root, LOCKS) / name
    lock = FileLock(path, mode=0o600)
    with writing(path):
        try:
            lock.acquire(timeout=timeout, poll_interval=0.01)
        except Timeout:
            raise StoreBusy(f"{busy}; waited {timeout:g} s. Try again later.") from None
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


KNOWN = "folders.json"
"""The list of folders that the user made or trusts."""
PROMPTS = "prompts"
"""The folder for the user's own instructions for summaries."""
LONGEST_GIT_INDEX = 2**26
"""Bytes read of git's index, which lists the tracked files."""
OWN_FOLDER = "set CONTEXT_COMPRESSION_DIR to a folder of your own"
"""The advice for a folder that is not one's own, as the end of a sentence."""
PLAIN_GIT_INDEX = (b"DIRC\0\0\0\2", b"DIRC\0\0\0\3")
"""The first bytes of a git index that holds complete names."""


def check_owner(folder: Path, other: str = OWN_FOLDER) -> None:
    """Refuse a store that belongs to another user, or that other users may write to.

    Args:
        folder: the root of the store; it may be missing.
        other: what else the user can do, as the end of a sentence.

    Raises:
        NotOurs: the message says what to do.
    """
    if os.name == "nt":
        return
    try:
        status = folder.stat()
    except OSError:
        return  # reading or writing there will raise the error
    if status.st_uid != os.geteuid():
        raise NotOurs(
            f"{folder} belongs to another user (number {status.st_uid}), who could read what is "
            f"kept there. Move it away or `chown -R {os.geteuid()} {folder}`, or {other}."
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise NotOurs(
            f"{folder} can be written by others (mode {stat.S_IMODE(status.st_mode):o}). Check "
            f"that everything in it is yours, then `chmod -R go-w {folder}`, or {other}."
        )


class KnownFolders:
    """The stores that a user made or trusts, as listed in the user's home folder."""

    def __init__(self, home: Path) -> None:
        """The list in the store in `home`; it is read when needed."""
        self._home = home / NAME
        self._file = self._home / KNOWN

    def reason_not_applied(self, folder: Path) -> str:
        """Why the settings and prompts of a store are not applied.

        "" if they are applied, or the store has none.

        Raises:
            StoreError: the folder cannot be read.
        """
        if not settings_and_prompts(folder) or os.path.realpath(folder) == os.path.realpath(
            self._home
        ):
            return ""
        entry = self._entry(folder)
        trust = f"`context-compression trust {folder}` applies them, once you have read them"
        if entry is None:
            return f"this user did not make that folder; {trust}"
        if "sha256" in entry:
            changed = entry["sha256"] != settings_digest(folder)
            return f"they changed since you trusted them; {trust}" if changed else ""
        if is_in_git(folder):
            return f"files of that folder are in the repository; {trust}"
        return ""

    def owns(self, folder: Path) -> bool:
        """Whether the user made or trusts a store, and git does not track files of it.

        The search index of any other store is not opened, because SQLite would replay a journal
        that is next to it.
        """
        home = os.path.realpath(folder) == os.path.realpath(self._home)
        return home or (self._entry(folder) is not None and not is_in_git(folder))

    def add_made(self, folder: Path) -> None:
        """Add a folder that was just made; if the list cannot be written, it is not added."""
        if os.path.realpath(folder) != os.path.realpath(self._home):
            with suppress(StoreError):
                self._add(folder, {})

    def trust(self, folder: Path) -> None:
        """Trust the settings and prompts as they are in the folder now.

        Raises:
            StoreError: the folder cannot be read, or the list cannot be written.
        """
        if id_of(folder) is None:
            give_id(folder)
        self._add(folder, {"sha256": settings_digest(folder)})

    def renew_trust(self, folder: Path) -> None:
        """Trust a folder again after this package changed its settings, if it was trusted."""
        if "sha256" in (self._entry(folder) or {}):
            self.trust(folder)

    def _entry(self, folder: Path) -> dict[str, Any] | None:
        """The newest entry for this folder; a copy of the folder has another time."""
        id, place = id_of(folder), os.path.realpath(folder)
        with suppress(StoreError):
            for entry in reversed(self._entries()):
                known = entry.get("id") == id and entry.get("folder") == place
                if id is not None and known and entry.get("since") == id_since(folder):
                    return entry
        return None

    def _entries(self) -> list[dict[str, Any]]:
        entries = files.read_document(self._file).get("folders", [])
        if not is_array(entries) or not all(map(is_object, entries)):
            raise files.damaged(self._file, 'has no list of "folders"')
        return [dict(entry) for entry in entries]

    def _add(self, folder: Path, more: dict[str, Any]) -> None:
        place, now = os.path.realpath(folder), datetime.now(UTC).isoformat(timespec="seconds")
        since = id_since(folder)
        entry = {"folder": place, "id": id_of(folder), "since": since, "at": now, **more}
        busy = "another process is writing the list of folders"
        with holding(self._home, KNOWN, busy):
            kept = [e for e in self._entries() if e.get("folder") != place]
            document = {"version": files.FORMAT, "folders": [*kept, entry]}
            files.replace_file(self._file, files.to_json(document, indent=2) + b"\n")


def settings_and_prompts(folder: Path) -> list[Path]:
    """The files in a store that are applied only if the user made or trusts it.

    These are `config.json` and `prompts/*.md`, if they exist.

    Raises:
        StoreError: the folder cannot be read.
    """
    with files.reading(folder):
        named = [folder / "config.json", *sorted((folder / PROMPTS).glob("*.md"))]
        return [path for path in named if os.path.lexists(path)]


def settings_digest(folder: Path) -> str:
    """The SHA-256 of the settings and prompts in a store: 64 hex digits."""
    digest = sha256()
    for path in settings_and_prompts(folder):
        with files.reading(path):
            data = files.bytes_of(path)
        digest.update(b"%b\0%d\0%b" % (os.fsencode(path.name), len(data), data))
    return digest.hexdigest()


def is_in_git(folder: Path) -> bool:
    """Whether git tracks files of a store: the authors of the repository can change those."""
    git = next(filter(os.path.lexists, (p / ".git" for p in folder.resolve().parents)), None)
    if git is None:
        return False
    repository = pointer(git, "gitdir: ") or git
    name = os.fsencode(folder.resolve().relative_to(git.parent).as_posix()) + b"/"
    with suppress(OSError):
        with open_file(repository / "index") as file:
            index = file.read(LONGEST_GIT_INDEX)
        if index[:8] not in PLAIN_GIT_INDEX or any(repository.glob("sharedindex.*")):
            return True  # names are incomplete: assume tracked
        return any(_is_entry(index, match.start()) for match in re.finditer(re.escape(name), index))
    return False


def _is_entry(index: bytes, at: int) -> bool:
    """Whether the name at an offset of a git index is an entry: its length is stored before it."""
    length = min(index.find(b"\0", at) - at, 0xFFF)
    flags = (int.from_bytes(index[at - back : at - back + 2], "big") for back in (2, 4))
    return length in {each & 0xFFF for each in flags}
