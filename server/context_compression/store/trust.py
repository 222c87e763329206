"""Whether the user trusts a store, and the summaries that all its sessions kept.

Whether the user trusts a store: only then are the settings and prompts in it applied.

A folder `.compression/` may come with a clone or an archive file. Each folder has an id. The file
`folders.json` in the user's own `~/.compression` lists the ids and places of the folders that this
user made or trusts. The sessions in a folder can be read and restored in any case.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from context_compression.conversation.messages import is_array, is_object
from context_compression.errors import NotOurs, StoreError
from context_compression.opening import opened
from context_compression.store import files, root_folder
from context_compression.store.location import NAME, pointer

FIELDS = frozenset(
    {
        "content",
        "created_at",
        "key_points",
        "messages",
        "n",
        "session",
        "strategy",
        "tokens",
        "turns",
    }
)
"""The fields of a summary whose types are checked, see `_fits`. Other fields are not checked."""


def entries_in(document: Mapping[str, Any], place: str) -> list[dict[str, Any]]:
    """The summaries in a document, oldest first; `[]` if it is empty.

    Raises:
        StoreDamaged: the document is damaged; the error names its `place`.
    """
    entries = document.get("summaries", [])
    if not isinstance(entries, list):
        raise files.damaged(place, 'has no list of "summaries"')
    if not all(isinstance(entry, dict) for entry in cast("list[Any]", entries)):
        raise files.damaged(place, "holds a summary that is not a JSON object")
    return cast("list[dict[str, Any]]", entries)


def problems(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A sentence for each summary with a field of a wrong type; `entries` are the oldest first."""
    for number, entry in enumerate(entries, 1):
        if wrong := ", ".join(sorted(entry.keys() - usable_part(entry).keys())):
            yield f"summaries: summary {number} has an unusable value in {wrong}"
        elif not is_whole(entry):
            yield f"summaries: summary {number} has no text"


def is_whole(entry: Mapping[str, Any]) -> bool:
    """Whether the usable part of a summary has its text."""
    return isinstance(entry.get("content"), str)


def usable_part(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A summary without the fields that have a wrong type."""
    return {name: value for name, value in entry.items() if _fits(name, value)}


def without_repeats(entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The summaries without repeats: of equal texts in one session, only the first.

    All summaries of compressions are kept; they have an `n`.
    """
    known: set[tuple[str, str]] = set()
    for entry in entries:
        match entry:
            case {"session": str(session), "content": str(text)} if "n" not in entry:
                if (session, text) in known:
                    continue
                known.add((session, text))
            case _:
                pass
        yield entry


def _fits(name: str, value: Any) -> bool:
    """Whether a value has the type of its field; unknown fields may have any type."""
    match name, value:
        case (("content" | "created_at" | "session" | "strategy"), str()):
            return True
        case (("tokens" | "n"), int()):
            return not isinstance(value, bool)
        case (("messages" | "turns"), [int(), int()]):
            return True
        case "key_points", list():
            return all(isinstance(point, str) for point in cast("list[Any]", value))
        case _:
            return name not in FIELDS


KNOWN = "folders.json"
"""The list of folders that the user made or trusts."""
PROMPTS = "prompts"
"""The folder for the user's own instructions for summaries."""
LONGEST_GIT_INDEX = 2**26
"""Bytes read of git's index, which lists the tracked files."""
PLAIN_GIT_INDEX = (b"DIRC\0\0\0\2", b"DIRC\0\0\0\3")
"""The first bytes of a git index that holds complete names."""


def check_owner(folder: Path) -> None:
    """Refuse a store that belongs to another user, or that other users may write to.

    Raises:
        NotOurs: the message says what to do.
    """
    if os.name == "nt":
        return
    try:
        status = folder.stat()
    except OSError:
        return  # reading or writing there will raise the error
    other = "or set CONTEXT_COMPRESSION_DIR to a folder of your own"
    if status.st_uid != os.geteuid():
        raise NotOurs(
            f"{folder} belongs to another user (number {status.st_uid}), who could read what is "
            f"kept there. Move it away or `chown -R {os.geteuid()} {folder}`, {other}."
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise NotOurs(
            f"{folder} can be written by others (mode {stat.S_IMODE(status.st_mode):o}). Check "
            f"that everything in it is yours, then `chmod -R go-w {folder}`, {other}."
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
        if root_folder.id_of(folder) is None:
            root_folder.give_id(folder)
        self._add(folder, {"sha256": settings_digest(folder)})

    def renew_trust(self, folder: Path) -> None:
        """Trust a folder again after this package changed its settings, if it was trusted."""
        if "sha256" in (self._entry(folder) or {}):
            self.trust(folder)

    def _entry(self, folder: Path) -> dict[str, Any] | None:
        """The newest entry for this folder; a copy of the folder has another time."""
        id, place = root_folder.id_of(folder), os.path.realpath(folder)
        with suppress(StoreError):
            for entry in reversed(self._entries()):
                known = entry.get("id") == id and entry.get("folder") == place
                if id is not None and known and entry.get("since") == root_folder.id_since(folder):
                    return entry
        return None

    def _entries(self) -> list[dict[str, Any]]:
        entries = files.read_document(self._file).get("folders", [])
        if not is_array(entries) or not all(map(is_object, entries)):
            raise files.damaged(self._file, 'has no list of "folders"')
        return [dict(entry) for entry in entries]

    def _add(self, folder: Path, more: dict[str, Any]) -> None:
        place, now = os.path.realpath(folder), datetime.now(UTC).isoformat(timespec="seconds")
        since = root_folder.id_since(folder)
        entry = {
            "folder": place,
            "id": root_folder.id_of(folder),
            "since": since,
            "at": now,
            **more,
        }
        busy = "another process is writing the list of folders"
        with root_folder.holding(self._home, KNOWN, busy):
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
        with opened(repository / "index") as file:
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
