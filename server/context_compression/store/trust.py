"""Whose a store is: settings and prompts are applied only where this user made it, or trusts it.

A folder `.compression/` may come with a clone or an archive file. It has an id; `folders.json` in
the user's own `~/.compression` says which ids were made where. What else is found in a folder can
be read and restored.
"""

import os
import re
import stat
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import is_array, is_object
from context_compression.errors import NotOurs, StoreError
from context_compression.store import files
from context_compression.store.location import NAME, pointer

KNOWN = "folders.json"
LONGEST_GIT_INDEX = 2**26
"""Bytes of git's list of files in which ours are looked for."""
PLAIN_INDEX = (b"DIRC\0\0\0\2", b"DIRC\0\0\0\3")
"""How a list of git's begins in which names stand whole."""
PROMPTS = "prompts"


def check_owner(folder: Path) -> None:
    """Refuse a store into which somebody else may write, or whose owner could read along.

    Raises:
        NotOurs: with what to do.
    """
    if os.name == "nt":
        return
    try:
        status = folder.stat()
    except OSError:
        return  # whoever reads or writes there will tell
    other = "or set CONTEXT_COMPRESSION_DIR to a folder of your own"
    if status.st_uid != os.geteuid():
        raise NotOurs(
            f"{folder} belongs to another user (number {status.st_uid}), who could read what is "
            f"kept there. Move it away or `chown -R {os.geteuid()} {folder}`, {other}."
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise NotOurs(
            f"{folder} can be written by others (mode {stat.S_IMODE(status.st_mode):o}). See that "
            f"all in it is yours, then `chmod -R go-w {folder}`, {other}."
        )


class Folders:
    """The stores that a user made or trusts."""

    def __init__(self, home: Path) -> None:
        """Those that the store in the user's home folder knows of."""
        self._home = home / NAME
        self._file = self._home / KNOWN

    def why_not(self, folder: Path) -> str:
        """Why settings and prompts of a store are not applied; "" where they are, or are none."""
        if not speaking(folder) or os.path.realpath(folder) == os.path.realpath(self._home):
            return ""
        entry = self._entry(folder)
        trust = f"`context-compression trust {folder}` applies them, once you have read them"
        if entry is None:
            return f"this user did not make that folder; {trust}"
        if "sha256" in entry:
            changed = entry["sha256"] != digest_of(folder)
            return f"they changed since you trusted them; {trust}" if changed else ""
        if is_in_git(folder):
            return f"files of that folder are in the repository; {trust}"
        return ""

    def owns(self, folder: Path) -> bool:
        """Whether the user made a store, or trusts it, and no repository writes into it.

        Of any other not even the search index is opened: SQLite does what a journal beside it says.
        """
        home = os.path.realpath(folder) == os.path.realpath(self._home)
        return home or (self._entry(folder) is not None and not is_in_git(folder))

    def made(self, folder: Path) -> None:
        """Remember a folder that was just made, as far as the home folder lets us."""
        if os.path.realpath(folder) != os.path.realpath(self._home):
            with suppress(StoreError):
                self._remember(folder, {})

    def trust(self, folder: Path) -> None:
        """Remember what a folder holds now as the user's own.

        Raises:
            StoreError: it cannot be read, or remembered.
        """
        if files.id_of(folder) is None:
            files.name(folder)
        self._remember(folder, {"sha256": digest_of(folder)})

    def wrote(self, folder: Path) -> None:
        """Follow a change of our own in a folder: what was trusted stays so."""
        if "sha256" in (self._entry(folder) or {}):
            self.trust(folder)

    def _entry(self, folder: Path) -> dict[str, Any] | None:
        id, place = files.id_of(folder), os.path.realpath(folder)
        with suppress(StoreError):
            for entry in reversed(self._entries()):
                known = entry.get("id") == id and entry.get("folder") == place
                if id is not None and known and entry.get("since") == files.id_since(folder):
                    return entry
        return None

    def _entries(self) -> list[dict[str, Any]]:
        entries = files.read_document(self._file).get("folders", [])
        if not is_array(entries) or not all(map(is_object, entries)):
            raise files.damaged(self._file, 'has no list of "folders"')
        return [dict(entry) for entry in entries]

    def _remember(self, folder: Path, more: dict[str, Any]) -> None:
        place, now = os.path.realpath(folder), datetime.now(UTC).isoformat(timespec="seconds")
        since = files.id_since(folder)
        entry = {"folder": place, "id": files.id_of(folder), "since": since, "at": now, **more}
        with files.holding(self._home, KNOWN, "another process writes the list of folders"):
            kept = [e for e in self._entries() if e.get("folder") != place]
            document = {"version": files.FORMAT, "folders": [*kept, entry]}
            files.replace_file(self._file, files.to_json(document, indent=2) + b"\n")


def speaking(folder: Path) -> list[Path]:
    """The files of a store that would speak for the user: its settings and prompts.

    Raises:
        StoreError: the folder cannot be read.
    """
    with files.reading(folder):
        named = [folder / "config.json", *sorted((folder / PROMPTS).glob("*.md"))]
        return [path for path in named if os.path.lexists(path)]


def digest_of(folder: Path) -> str:
    """The SHA-256 of the settings and prompts in a store."""
    found = sha256()
    for path in speaking(folder):
        with files.reading(path):
            data = files.ordinary(path).read_bytes()
        found.update(b"%b\0%d\0%b" % (os.fsencode(path.name), len(data), data))
    return found.hexdigest()


def is_in_git(folder: Path) -> bool:
    """Whether git tracks files of a store: then whoever writes the repository writes them."""
    git = next(filter(os.path.lexists, (p / ".git" for p in folder.resolve().parents)), None)
    if git is None:
        return False
    repository = pointer(git, "gitdir: ") or git
    name = os.fsencode(folder.resolve().relative_to(git.parent).as_posix()) + b"/"
    with suppress(OSError):
        if not (repository / "index").is_file():
            return False
        with open(repository / "index", "rb") as file:
            index = file.read(LONGEST_GIT_INDEX)
        if index[:8] not in PLAIN_INDEX or any(repository.glob("sharedindex.*")):
            return True  # names stand there in part only: as if it were
        return any(_is_entry(index, found.start()) for found in re.finditer(re.escape(name), index))
    return False


def _is_entry(index: bytes, at: int) -> bool:
    """Whether the name of a file begins there: before it stands how long it is."""
    length = min(index.find(b"\0", at) - at, 0xFFF)
    flags = (int.from_bytes(index[at - back : at - back + 2], "big") for back in (2, 4))
    return length in {each & 0xFFF for each in flags}
