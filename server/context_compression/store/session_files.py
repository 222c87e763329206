"""`SessionFiles`: what one session has in a folder of files, and what its events say.

The messages that a compression archived are files `compact-<time>-<n>.json`, each a JSON list. The
log names each file with its SHA-256. The entry of a ref in the log names the file and the message,
and says whether the ref stands for the message or for the text of one of its blocks.

There are two locks: a short one around each append, and the long one of `SessionLog.locked`, which
a compression holds from start to end. Both are outside the session's folder, so that the folder
can be deleted.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import Text, ToolResult
from context_compression.conversation.refs import is_proven, is_ref
from context_compression.errors import (
    ContextCompressionError,
    InvalidConversation,
    StoreDamaged,
    StoreError,
    StoreNotDurable,
    StoreUnwritable,
)
from context_compression.store import files
from context_compression.store import refs as refs_of_store
from context_compression.store.backend import COMPRESSING, Events, Kind, Stamp
from context_compression.store.files import checked_name, collecting
from context_compression.store.json_lines import LineFile, digits_in
from context_compression.store.location import JOURNAL_ENDINGS
from context_compression.store.root_folder import holding, make_folder
from context_compression.strings import one_line


def messages_in(
    event: Mapping[str, Any], read: Callable[[str], Sequence[Any]]
) -> Iterator[dict[str, Any]]:
    """The `message` events that an event of the type `messages` stands for.

    Such an event names a file of originals and a range of its messages: `from`, and `to`, which is
    exclusive.

    Raises:
        StoreDamaged: the file is missing or damaged, or has no such messages.
    """
    match event:
        case {"file": str(file), "from": int(start), "to": int(stop)} if 0 <= start < stop:
            messages = read(file)
            if stop > len(messages):
                raise StoreDamaged(
                    f"The log names messages {start} to {stop - 1} of {file}, which has "
                    f"{len(messages)}."
                )
            for message in messages[start:stop]:
                yield {
                    "type": "message", "created_at": event.get("created_at"), "message": message
                }  # fmt: skip
        case _:
            raise StoreDamaged("events.jsonl: an event does not say where its messages are")


def refs_in(event: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The entries of the refs that an event created, by ref; only JSON objects count."""
    refs = event.get("refs")
    if event.get("type") not in ("compression", "offload") or not isinstance(refs, dict):
        return {}
    entries = cast("dict[str, Any]", refs)
    return {ref: entry for ref, entry in entries.items() if isinstance(entry, dict)}


def hashes_of_originals(events: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The SHA-256 of each file of originals that a log names, by the file's name."""
    records = (event for event in events if event.get("type") == "originals")
    return {str(record.get("file")): str(record.get("sha256")) for record in records}


PATTERN = "compact-*.json"
"""Matches these files in a session's folder."""
MESSAGE_START, MESSAGE_END = b"\n  {", b"\n  }"
"""How each message begins and ends in a file, which is JSON with an indent of 2."""
_LIST_START, _LIST_END = b"[\n  {\n", b"\n  }\n]"


def file_name(created_at: str, n: int) -> str:
    """`file_name("2026-11-21T09:18:02.4Z", 3)` -> `"compact-2026-11-21T09-18-02Z-3.json"`.

    The time is in UTC. It has no colons, because Windows does not allow them in file names.

    Raises:
        StoreError: `created_at` is not an ISO 8601 time.
    """
    try:
        time = datetime.fromisoformat(created_at)
    except ValueError as error:
        raise StoreError(f"{created_at!r} is not an ISO 8601 time.") from error
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return f"compact-{time.strftime('%Y-%m-%dT%H-%M-%SZ')}-{n}.json"


def read_unchanged(path: Path, digest: str | None = None) -> list[Any]:
    """The messages in a file, after checking that its SHA-256 is `digest`; `None` skips the check.

    Raises:
        StoreDamaged: the file is missing, is not a JSON list, or has another hash.
    """
    data = files.bytes_or_none(path)
    value = None if data is None else files.json_in(data, path)
    if not isinstance(value, list):
        raise files.damaged(path, "is missing" if value is None else "is not a list of messages")
    if digest not in (None, hashlib.sha256(data or b"").hexdigest()):
        raise StoreDamaged(
            f"{path} was changed: its hash does not match the log's. Put back a copy of it; "
            "messages in it that are intact can still be restored. Nothing was written."
        )
    return cast("list[Any]", value)


def read_message(path: Path, position: int) -> Any:
    """One message in a file, by its position from 0; usually without parsing the others.

    Raises:
        StoreDamaged: the file is missing or damaged, or has no such message.
    """
    with files.reading(path):
        message = message_at(files.bytes_of(path), position)
    if message is not None:
        return message
    messages = read_unchanged(path)
    if not 0 <= position < len(messages):
        raise files.damaged(path, f"has no message {position}")
    return messages[position]


def message_at(data: bytes, position: int) -> Any:
    """A message in the bytes of a file; `None` if the file does not have the layout we write."""
    if position < 0 or not (data.startswith(_LIST_START) and data.endswith(_LIST_END)):
        return None
    at = -1
    for _ in range(position + 1):
        at = data.find(MESSAGE_START, at + 1)
        if at < 0:
            return None
    return files.leading_json(data[at : data.find(MESSAGE_END, at) + len(MESSAGE_END)].lstrip())


def original_of(entry: Mapping[str, Any], read: Callable[[str, int], Any]) -> Any:
    """The original that a ref stands for: a text, or a message as it was recorded.

    Raises:
        StoreDamaged: the original is not where the entry says.
    """
    if entry.get("text") is not None:
        return entry["text"]
    try:
        message = read(entry["file"], entry["message"])
        return message if entry["block"] is None else text_in(message, entry["block"])
    except (InvalidConversation, IndexError, KeyError, TypeError) as error:
        raise StoreDamaged(
            f"The log names an original that is not there: {one_line(error)}."
        ) from error


def text_in(message: Mapping[str, Any], block: int) -> str:
    """The text of one block of a message, by its index; "" if the block is of another kind."""
    content = parse([message]).messages[0].blocks[block]
    return content.text if isinstance(content, Text | ToolResult) else ""


def damaged_originals(
    hashes: Mapping[str, str], present: Collection[str], read: Callable[[str, str | None], object]
) -> list[str]:
    """One sentence for each file of originals that is missing, damaged or changed."""
    problems: list[str] = []
    for name in sorted({*hashes, *present}):
        with collecting(problems):
            read(name, hashes.get(name))
    return problems


def lost_refs(
    events: Iterable[Mapping[str, Any]],
    read_originals: Callable[[str], Sequence[Any]],
    read_original: Callable[[str, int], Any],
) -> list[str]:
    """The refs whose original is in none of the places that the log names."""
    read_all = lru_cache(2)(read_originals)  # the refs of a compression follow each other
    damaged: set[str] = set()

    def read(file: str, at: int) -> Any:
        if file not in damaged:
            try:
                return read_all(file)[at]
            except ContextCompressionError:
                damaged.add(file)
        return read_original(file, at)

    restorable: dict[str, bool] = {}
    for event in events:
        for ref, entry in refs_in(event).items():
            if not restorable.get(ref):
                located = {"file": event.get("originals"), **entry}
                restorable[ref] = False
                with suppress(ContextCompressionError):
                    original = original_of(located, read)
                    restorable[ref] = is_proven(ref, entry, original)
    return [ref for ref, is_there in restorable.items() if not is_there]


EVENTS = "session"
"""The kind of the file of events."""


class SessionFiles:
    """A `SessionStore` in the folder `sessions/<id>/` of a store. The first write creates it."""

    title = ""

    def __init__(self, root: Path, id: str, refusal: str = "") -> None:
        """The session `id` of the store at `root`. An invalid id raises `StoreError`.

        `refusal` is why nothing may be added; "" if it may.
        """
        self.id = checked_name(id, "A session's id")
        self.root, self.refusal = root, refusal
        self.folder = root / "sessions" / id
        self._folder_path = str(self.folder)
        self._events = LineFile(self.folder / "events.jsonl", EVENTS)
        self._files: dict[Kind, LineFile] = {
            "events": self._events,
            "ledger": LineFile(self.folder / "ledger.jsonl", "ledger"),
        }
        self._entries: tuple[Any, list[tuple[str, Mapping[str, Any]]]] = (None, [])

    def stamp(self) -> Stamp | None:
        """Size in bytes and modification time in ns of the log; `None` if it has no events."""
        stamp = files.stamp(self._events.path)
        return stamp if stamp and stamp[0] else None

    def rows(self, kind: Kind) -> Events:
        """All rows of a kind, oldest first; the same objects at each call."""
        file = self._files[kind]
        lines = file.read()
        if file.torn:  # another process may be writing: read again when it is done
            with suppress(StoreError), self._writing():
                lines = file.read()
        return lines

    def append(self, kind: Kind, rows: Sequence[Mapping[str, Any]], created_at: str | None) -> None:
        """Add rows, and note in the store's list of refs what is added to the log."""
        file = self._files[kind]
        self._check_may_add()
        with self._writing():
            self._make()
            noted: AbstractContextManager[None] = nullcontext()
            if kind == "events":
                refs = [ref for event in rows for ref in refs_in(event) if is_ref(ref)]
                is_new = not os.path.lexists(file.path)
                noted = refs_of_store.noting(self.root, self.id, refs, is_new=is_new)
            with noted:
                file.append(rows, {"id": self.id, "created_at": created_at})

    def length(self) -> int:
        """The bytes of the log."""
        stamp = self.stamp()
        return stamp[0] if stamp else 0

    def checksum(self, stop: int) -> int:
        """A CRC-32 of the first `stop` bytes of the log."""
        return self._events.checksum(stop)

    def events_after(self, offset: int, at_least: int) -> tuple[list[dict[str, Any]], int]:
        """The events in about `at_least` bytes after an offset, and the offset after them."""
        events, end = self._events.items_after(offset, at_least)
        return [event for event in events if event.get("type") != "originals"], end

    def holds(self, text: str) -> bool:
        """Whether any event or original contains a text. Only bytes are compared."""
        archives = (LineFile(path, "") for path in self._archives())
        return any(file.holds(text) for file in (self._events, *archives))

    def quoted(self) -> set[str]:
        """All digits in the log and its originals that could be a ref."""
        quoted: set[str] = set()
        for path in (self._events.path, *self._archives()):
            with suppress(OSError, StoreError):
                quoted |= digits_in(files.bytes_of(path))
        return quoted

    def write_originals(self, name: str, messages: Sequence[Any], created_at: str) -> None:
        """Archive messages in a file, and its hash in the log."""
        data = files.to_json(list(messages), indent=2)
        path = self._make() / self._checked(name)
        if os.path.lexists(path):
            raise StoreError(f"{path} exists, and an archive is never overwritten. Take another n.")
        digest = hashlib.sha256(data).hexdigest()
        record = {"type": "originals", "created_at": created_at, "file": name, "sha256": digest}
        files.replace_file(path, data)
        try:
            self.append("events", [record], created_at)
        except StoreNotDurable:
            raise  # the log names the file
        except BaseException:
            with suppress(OSError):
                path.unlink()
            raise

    def originals(self) -> list[str]:
        """The names of all files of originals that are there."""
        return [path.name for path in self._archives()]

    def read_originals(self, name: str, digest: str | None = None) -> list[Any]:
        """The messages in a file of originals, as `read_unchanged`."""
        return read_unchanged(self.folder / self._checked(name), digest)

    def read_original(self, name: str, position: int) -> Any:
        """One message in a file of originals, as `read_message`."""
        return read_message(self.folder / self._checked(name), position)

    def stamp_of(self, name: str) -> Stamp | None:
        """Size and time of a file of originals, as in `stamp`; `None` if there is no such file."""
        return files.stamp(self.folder / self._checked(name))

    def entries(self, digits: str = "") -> Sequence[tuple[str, Mapping[str, Any]]]:
        """The refs that begin with some hex digits, and their entries."""
        if not digits:
            with_refs = self._events.lines_with("refs")
            return [found for event in with_refs for found in refs_in(event).items()]
        key = (digits, self.stamp())  # a restore needs the same entries several times
        if self._entries[0] != key:
            self._entries = (key, [*refs_of_store.entries(self._events.data(), digits)])
        return self._entries[1]

    def following(self, ref: str) -> str | None:
        """The ref of the message that was archived right after the message `ref`."""
        return refs_of_store.following(self._events.data(), ref)

    def write_text(self, ref: str, text: str) -> str:
        """Write a text in UTF-8; its line ends and lone surrogates are kept."""
        path = self._text(ref)
        self._make("offloaded")
        files.replace_file(path, text.encode("utf-8", "surrogatepass"))
        return str(path)

    def place_of_text(self, ref: str) -> str:
        """The path of the file of a text."""
        return str(self._text(ref))

    def remove_texts(self, refs: Iterable[str]) -> tuple[list[str], list[str]]:
        """The refs whose files were removed, and a warning for each file that could not be.

        A file that is already gone is in neither list.
        """
        removed: list[str] = []
        warnings: list[str] = []
        for ref in refs:
            path = self._text(ref)
            try:
                path.unlink()
                removed.append(ref)
            except FileNotFoundError:
                pass
            except OSError as error:
                warnings.append(f"{path} could not be removed: {error.strerror or error}")
        return removed, warnings

    def size(self) -> int:
        """The bytes of all files in the folder."""
        return files.folder_size(self.folder)

    def verify(self) -> list[str]:
        """One sentence for each problem with the files."""
        problems: list[str] = []
        hashes: dict[str, str] = {}
        here = f"sessions/{self.id}"
        if not self.stamp():
            problems.append(f"{here}/events.jsonl is missing")
        for kind in self._files:
            with collecting(problems):
                lines = self.rows(kind)
                problems += [f"{here}/{warning}" for warning in lines.warnings]
                hashes |= hashes_of_originals(lines.items)
        return problems + damaged_originals(hashes, self.originals(), self.read_originals)

    @contextmanager
    def database(self, name: str) -> Generator[Path]:
        """The path of an SQLite database here that a framework writes, while nobody else writes.

        It is made with mode 0600, which SQLite gives to the journals beside it, too.
        """
        self._check_may_add()
        with self._writing():
            path = self._make() / name
            with files.writing(path):
                if not os.path.lexists(path):
                    self._remove_journals()
                flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
                os.close(os.open(path, flags, 0o600))
            yield path

    def remove_journals(self) -> None:
        """Remove the journals of databases in the folder, while nobody writes."""
        with self._writing():
            self._remove_journals()

    def _remove_journals(self) -> None:
        """Remove journals: SQLite would follow what they say."""
        with files.writing(self.folder):
            for path in [path for end in JOURNAL_ENDINGS for path in self.folder.glob(f"*{end}")]:
                path.unlink()

    def remove(self, timeout: float, before: Callable[[], object]) -> None:
        """Delete everything in the folder while both locks are held, as in `Backend.remove`."""
        gone = self.folder.with_name(f".deleted-{self.id}")
        with files.writing(self.folder):
            if not self.folder.exists() and not gone.exists():
                return
            with (
                holding(self.root, f"{self.id}.compression", COMPRESSING, timeout),
                self._writing(),
            ):
                before()
                if gone.exists():  # an earlier deletion was killed
                    shutil.rmtree(gone)
                refs_of_store.remove(self.root)  # the refs of what is deleted must not stay in it
                if self.folder.exists():
                    self.folder.rename(gone)
                    shutil.rmtree(gone)

    def _make(self, *inside: str) -> Path:
        """Make the folder, to which something is to be added; returns its path, or that inside."""
        self._check_may_add()
        return make_folder(self.root, "sessions", self.id, *inside)

    def _check_may_add(self) -> None:
        if self.refusal:
            raise StoreUnwritable(self.refusal)

    def _writing(self) -> AbstractContextManager[None]:
        busy = "another process is writing to this conversation"
        return holding(self.root, f"{self.id}.log", busy)

    def _archives(self) -> Iterable[Path]:
        return self.folder.glob(PATTERN)

    def _text(self, ref: str) -> Path:
        return self.folder / "offloaded" / f"{checked_name(ref, 'A ref')}.txt"

    @staticmethod
    def _checked(name: str) -> str:
        return checked_name(name, "An archive's name")
