"""The log of one session: its events, the originals of its compressions, its refs, its ledger."""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from io import FileIO
from pathlib import Path
from typing import Any

from context_compression.conversation.refs import DIGITS, digest_of, is_proven, is_ref
from context_compression.display.plurals import how_many
from context_compression.display.strings import one_line
from context_compression.errors import (
    StoreDamaged,
    StoreError,
    StoreNotDurable,
    UnknownRef,
)
from context_compression.store import files, originals, ref_entries
from context_compression.store.events import hashes_of_originals, messages_in, refs_in
from context_compression.store.json_lines import Events, JsonLine, LineFile, Mark
from context_compression.store.names import checked_name
from context_compression.store.root_folder import make_folder
from context_compression.store.session_folder import EVENTS, SessionFolder
from context_compression.store.short_refs import complete_ref
from context_compression.store.verification import damaged_originals, lost_refs

RESERVED = ("session", "originals")
"""Event types that only the log itself writes."""


@dataclass(frozen=True)
class _KnownEvents:
    """The events that the last call of `events` returned.

    Attributes:
        events: including the messages from files of originals.
        number: how many lines they were made from.
        last: the last of these lines, compared by identity.
    """

    events: Sequence[dict[str, Any]] = ()
    number: int = 0
    last: dict[str, Any] | None = None

    def begin(self, lines: Sequence[dict[str, Any]]) -> bool:
        """Whether `lines` begins with the known lines."""
        if not self.number:
            return True
        return len(lines) >= self.number and lines[self.number - 1] is self.last


class SessionLog(SessionFolder):
    """The log of one session. Nothing is on disk until something is written."""

    def __init__(self, root: Path, id: str) -> None:
        """The session `id` of the store at `root`. An invalid id raises `StoreError`."""
        super().__init__(root, id)
        self._folder_path = str(self.folder)
        self._events = LineFile(self.folder / "events.jsonl", EVENTS)
        self._ledger = LineFile(self.folder / "ledger.jsonl", "ledger")
        self._known = _KnownEvents()
        self._entries: tuple[Any, dict[str, Mapping[str, Any]]] = (None, {})

    @property
    def exists(self) -> bool:
        """Whether anything was recorded."""
        try:
            return self._events.path.stat().st_size > 0
        except OSError:
            return False

    @property
    def stamp(self) -> tuple[int, int] | None:
        """Size in bytes and modification time in ns of the log; `None` if it does not exist."""
        return files.stamp(self._events.path)

    def events(self) -> Events:
        """Every event, oldest first, and a warning for each event that could not be read.

        Messages in files of originals are returned as `message` events, like all other messages.
        """
        lines = self._read(self._events)
        known = self._known if self._known.begin(lines.items) else _KnownEvents()
        items, warnings = list(known.events), list(lines.warnings)
        hashes = hashes_of_originals(lines.items)

        @lru_cache(1)
        def read(name: str) -> list[Any]:
            return self._read_unchanged(name, hashes.get(name))

        for item in lines.items[known.number :]:
            try:
                items += messages_in(item, read) if item.get("type") == "messages" else [item]
            except StoreError as error:
                warnings.append(str(error))
        items = [item for item in items if item.get("type") != "originals"]
        if len(warnings) == len(lines.warnings):
            last = lines.items[-1] if lines.items else None
            self._known = _KnownEvents(items, len(lines.items), last)
        return Events(list(items), warnings)

    def has(self, mark: Mark) -> bool:
        """Whether the log is unchanged up to the mark."""
        return self._events.has(mark)

    def lines_after(self, mark: Mark, at_least: int) -> tuple[list[JsonLine], Mark]:
        """The events in about `at_least` bytes after a mark, and the mark after them."""
        lines, mark = self._events.lines_after(mark, at_least)
        return [line for line in lines if line.item.get("type") != "originals"], mark

    def holds(self, text: str) -> bool:
        """Whether any event or original contains a text. Only bytes are compared."""
        archives = (LineFile(path, "") for path in self.folder.glob(originals.PATTERN))
        return any(file.holds(text) for file in (self._events, *archives))

    def append(self, *events: Mapping[str, Any]) -> None:
        """Add events; they are on disk when this returns.

        The caller sets the time of each event. The header of a new file takes the `created_at` of
        the first event.

        Raises:
            StoreError: an event has no type, or a reserved type.
            StoreUnwritable: the disk refused the write; nothing was added.
        """
        for event in events:
            if event.get("type") in (None, *RESERVED):
                raise StoreError(
                    'An event needs a "type"; the types "session" and "originals" are reserved.'
                )
        if events:
            self._append(self._events, events, events[0].get("created_at"))

    def append_ledger(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Add ledger entries; they are on disk when this returns."""
        if added := list(entries):
            self._append(self._ledger, added, None)

    def ledger(self) -> list[dict[str, Any]]:
        """Every ledger entry, oldest first."""
        return list(self._read(self._ledger).items)

    def write_originals(self, n: int, created_at: str, messages: Sequence[Any]) -> str:
        """Archive the messages of a compression, and return the name of the file.

        The log records the hash of the file, for `problems`. Reading the file returns the same
        messages, with one exception: two surrogates in a row that form a pair come back as the one
        character they stand for, because JSON does not distinguish the two.

        Args:
            n: number of the compression, from 1.
            created_at: ISO 8601; taken as UTC if it has no offset.
            messages: JSON values.

        Raises:
            StoreError: the file exists already, or a value is not JSON.
            StoreUnwritable: the disk refused the write; nothing was archived.
        """
        data = files.to_json(list(messages), indent=2)
        name = originals.file_name(created_at, n)
        path = make_folder(self.root, "sessions", self.id) / name
        if os.path.lexists(path):
            raise StoreError(f"{path} exists, and an archive is never overwritten. Take another n.")
        digest = hashlib.sha256(data).hexdigest()
        record = {"type": "originals", "created_at": created_at, "file": name, "sha256": digest}
        files.replace_file(path, data)
        try:
            self._append(self._events, [record], created_at)
        except StoreNotDurable:
            raise  # the log names the file
        except BaseException:
            with suppress(OSError):
                path.unlink()
            raise
        return name

    def read_originals(self, name: str) -> list[Any]:
        """The messages in a file of `write_originals`; `StoreDamaged` if missing or damaged."""
        return originals.read_messages(self._originals_path(name))

    def read_original(self, name: str, position: int) -> Any:
        """One message in a file of `write_originals`, by its position from 0.

        Raises:
            StoreDamaged: the file is missing or damaged, or has no such message.
        """
        return originals.read_message(self._originals_path(name), position)

    def stamp_of(self, name: str) -> tuple[int, int] | None:
        """Size and time of a file of originals, as in `stamp`; `None` if there is no such file."""
        return files.stamp(self._originals_path(name))

    def part(self, name: str, start: int = 0, length: int = -1) -> bytes:
        """The bytes `start` to `start + length` of a file; see `parts`."""
        return self.parts(name, [(start, length)])[0]

    def parts(self, name: str, spans: Iterable[tuple[int, int]]) -> list[bytes]:
        """The bytes of several spans of one file, which is opened once.

        Args:
            name: the name of a file of originals; "" for the log.
            spans: start and length of each span; a length of -1 reads to the end.

        Raises:
            StoreDamaged: the file is missing or cannot be read.
        """
        file_name = self._events.path.name if not name else self._checked_originals(name)
        path = f"{self._folder_path}/{file_name}"  # making a Path is slower than reading a text
        try:
            if stat.S_ISREG(os.stat(path).st_mode):
                with open(path, "rb", buffering=0) as opened:
                    return [_read_span(opened, *span) for span in spans]
        except OSError as error:
            raise files.damaged(Path(path), f"cannot be read: {error.strerror or error}") from error
        raise files.damaged(Path(path), "is not a regular file")

    def about(self, ref: str) -> dict[str, Mapping[str, Any]]:
        """The entries of all refs that begin with `ref`, each with the `file` of its originals."""
        if not re.fullmatch(r"[0-9a-fA-F]{4,64}", ref):
            return {}
        digits = ref.lower()
        key = (digits, self.stamp)  # a restore needs the same entries several times
        if self._entries[0] != key:
            log = self._events.data()
            last = ref_entries.latest(log, digits) if len(digits) >= DIGITS else None
            matches = [last] if last else ref_entries.entries(log, digits)
            self._entries = (key, dict(matches))
        return self._entries[1]

    def refs(self) -> dict[str, Any]:
        """The entries of all refs archived here, by ref; if a ref has several, the last one."""
        entries: dict[str, Any] = {}
        for event in self._events.lines_with("refs"):
            entries |= {ref: entry for ref, entry in refs_in(event).items() if is_ref(ref)}
        return entries

    def full_ref(self, ref: str) -> str | None:
        """The complete form of a ref, given by at least four digits; `None` if it is unknown.

        Raises:
            UnknownRef: several refs begin with these digits.
        """
        return complete_ref(ref, self.about(ref) or self.refs())

    def original(self, ref: str, places: Iterable[Mapping[str, Any]] = ()) -> Any:
        """The original archived under a complete ref: a text, or a message as it was recorded.

        Args:
            ref: complete.
            places: more entries of the ref. They are tried after the entries in the log, which are
                tried newest first.

        Raises:
            UnknownRef: the log has no such ref.
            StoreDamaged: the original is in none of the places.
        """
        log = self._events.data()
        known = [entry for full, entry in ref_entries.entries(log, ref) if full == ref]
        problem: StoreError = UnknownRef(f"Nothing is archived under {ref!r}.")
        for entry in (*reversed(known), *places):
            try:
                original = originals.original_of(entry, self.read_original)
            except StoreError as error:
                problem = error
                continue
            if is_proven(ref, entry, original):
                return original
            problem = StoreDamaged(
                f"{self.folder} does not hold the original of ref {ref}: the file was changed."
            )
        raise problem

    def digest(self, ref: str) -> str:
        """The SHA-256 of the original under a complete ref: 64 hex digits.

        Raises:
            StoreError: the ref is unknown, or the log has no hash and the original cannot be read.
        """
        recorded = self.about(ref).get(ref, {}).get("sha256")
        return recorded if isinstance(recorded, str) else digest_of(self.original(ref))

    def following(self, ref: str) -> str | None:
        """The ref of the message archived right after the message `ref`; `None` for a text."""
        is_message = self.about(ref).get(ref, {}).get("block", 0) is None
        return ref_entries.following(self._events.data(), ref) if is_message else None

    def problems(self) -> list[str]:
        """One sentence for each problem with the files of this session; `[]` if there are none."""
        problems: list[str] = []
        hashes: dict[str, str] = {}
        here = f"sessions/{self.id}"
        if not self.exists:
            problems.append(f"{here}/events.jsonl is missing")
        for file in (self._events, self._ledger):
            with files.collecting(problems):
                lines = self._read(file)
                problems += [f"{here}/{warning}" for warning in lines.warnings]
                hashes |= hashes_of_originals(lines.items)
        present = [path.name for path in self.folder.glob(originals.PATTERN)]
        problems += damaged_originals(hashes, present, self._read_unchanged)
        if lost := lost_refs(self._events.lines_with("refs"), self.read_originals):
            count = f"{how_many(len(lost), 'ref')} of {here} cannot be restored"
            problems.append(f"{count}: {', '.join(map(one_line, lost))}")
        return problems

    def _checked_originals(self, name: str) -> str:
        return checked_name(name, "An archive's name")

    def _originals_path(self, name: str) -> Path:
        return self.folder / self._checked_originals(name)

    def _read_unchanged(self, name: str, digest: str | None) -> list[Any]:
        return originals.read_unchanged(self._originals_path(name), digest)


def _read_span(file: FileIO, start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(length) or b""
