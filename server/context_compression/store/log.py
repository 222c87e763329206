"""The log of one session: its events, the originals of its compressions, its refs, its ledger."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from context_compression.conversation.refs import digest_of, is_proven, is_ref
from context_compression.errors import StoreDamaged, StoreError, UnknownRef
from context_compression.plurals import how_many
from context_compression.store import session_files
from context_compression.store.backend import COMPRESSING, LOCK_SECONDS, Backend, Events, Stamp
from context_compression.store.files import checked_name, collecting
from context_compression.store.refs import SHORT_REF, bare_ref, complete_ref
from context_compression.store.session_files import (
    hashes_of_originals,
    lost_refs,
    messages_in,
    refs_in,
)
from context_compression.strings import one_line

RESERVED = ("session", "originals")
"""Event types that only the backend writes."""
FITTING_SECONDS = 600.0
"""How many seconds a request waits for another one of the same conversation, which may be waiting
for a summary."""


@dataclass(frozen=True)
class _KnownEvents:
    """The events that the last call of `events` returned, with the messages from originals."""

    events: Sequence[dict[str, Any]] = ()
    number: int = 0
    """how many rows they were made from"""
    last: dict[str, Any] | None = None
    """the last of these rows, compared by identity"""

    def begin(self, rows: Sequence[dict[str, Any]]) -> bool:
        """Whether `rows` begins with the known rows."""
        if not self.number:
            return True
        return len(rows) >= self.number and rows[self.number - 1] is self.last


class SessionLog:
    """The log of one session. Nothing is kept until something is written."""

    def __init__(self, backend: Backend, id: str) -> None:
        """The session `id` in a backend. An invalid id raises `StoreError`."""
        self.id = checked_name(id, "A session's id")
        self.backend = backend
        self._kept = backend.session(id)
        self._known = _KnownEvents()

    @property
    def folder(self) -> Path:
        """The folder of its files.

        Raises:
            StoreError: the store is not a folder.
        """
        if (root := self.backend.folder) is None:
            raise StoreError(f"{self.backend.name} is not a folder, so its sessions have no files.")
        return root / "sessions" / self.id

    @property
    def place(self) -> Path:
        """Its folder; a path of its id alone, which names no file, if the store is no folder."""
        return self.folder if self.backend.folder else Path(self.id)

    def exists(self) -> bool:
        """Whether anything was recorded."""
        return self.stamp() is not None

    def stamp(self) -> Stamp | None:
        """Changes whenever events are added; `None` if there are none."""
        return self._kept.stamp()

    def events(self) -> Events:
        """Every event, oldest first, and a warning for each event that could not be read.

        Messages in originals are returned as `message` events, like all other messages.
        """
        rows = self._kept.rows("events")
        known = self._known if self._known.begin(rows.items) else _KnownEvents()
        items, warnings = list(known.events), list(rows.warnings)
        hashes = hashes_of_originals(rows.items)

        @lru_cache(1)
        def read(name: str) -> list[Any]:
            return self._kept.read_originals(name, hashes.get(name))

        for item in rows.items[known.number :]:
            try:
                items += messages_in(item, read) if item.get("type") == "messages" else [item]
            except StoreError as error:
                warnings.append(str(error))
        items = [item for item in items if item.get("type") != "originals"]
        if len(warnings) == len(rows.warnings):
            last = rows.items[-1] if rows.items else None
            self._known = _KnownEvents(items, len(rows.items), last)
        return Events(list(items), warnings)

    def holds(self, text: str) -> bool:
        """Whether any event or original contains a text."""
        return self._kept.holds(text)

    def append(self, *events: Mapping[str, Any]) -> None:
        """Add events; they are durable when this returns.

        The caller sets the time of each event. The first event dates the session.

        Raises:
            StoreError: an event has no type, or a reserved type.
            StoreUnwritable: the write was refused; nothing was added.
        """
        for event in events:
            if event.get("type") in (None, *RESERVED):
                raise StoreError(
                    'An event needs a "type"; the types "session" and "originals" are reserved.'
                )
        if events:
            self._kept.append("events", events, events[0].get("created_at"))

    def append_ledger(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Add ledger entries; they are durable when this returns."""
        if added := list(entries):
            self._kept.append("ledger", added, None)

    def ledger(self) -> list[dict[str, Any]]:
        """Every ledger entry, oldest first."""
        return list(self._kept.rows("ledger").items)

    def write_originals(self, n: int, created_at: str, messages: Sequence[Any]) -> str:
        """Archive the messages of a compression, and return the name they have.

        Their hash is recorded, for `problems`. Reading returns the same messages, with one
        exception: two surrogates in a row that form a pair come back as the one character they
        stand for, because JSON does not distinguish the two.

        Args:
            n: number of the compression, from 1.
            created_at: ISO 8601; taken as UTC if it has no offset.
            messages: JSON values.

        Raises:
            StoreError: the name is taken, or a value is not JSON.
            StoreUnwritable: the write was refused; nothing was archived.
        """
        name = session_files.file_name(created_at, n)
        self._kept.write_originals(name, messages, created_at)
        return name

    def last_archived(self) -> int:
        """The highest `n` of originals, also of a compression that was killed; 0 if none."""
        names = (name.removesuffix(".json") for name in self._kept.originals())
        numbers = (name.rpartition("-")[2] for name in names)
        return max(map(int, filter(str.isdecimal, numbers)), default=0)

    def completed(self, n: int) -> bool:
        """Whether compression number `n` completed here, or there are no events."""
        events = self.events().items
        ended = (event.get("n") for event in events if event.get("type") == "compression")
        return not events or n in ended

    def read_originals(self, name: str) -> list[Any]:
        """The messages of `write_originals`; `StoreDamaged` if missing or damaged."""
        return self._kept.read_originals(name)

    def read_original(self, name: str, position: int) -> Any:
        """One message of `write_originals`, by its position from 0.

        Raises:
            StoreDamaged: the originals are missing or damaged, or have no such message.
        """
        return self._kept.read_original(name, position)

    def about(self, ref: str) -> dict[str, Mapping[str, Any]]:
        """The entries of all refs that begin with `ref`, each with the `file` of its originals."""
        if not SHORT_REF.fullmatch(ref):
            return {}
        return dict(self._kept.entries(ref.lower()))

    def refs(self) -> dict[str, Any]:
        """The entries of all refs archived here, by ref; if a ref has several, the last one."""
        return {ref: entry for ref, entry in self._kept.entries() if is_ref(ref)}

    def full_ref(self, ref: str) -> str | None:
        """The complete form of a ref, given by at least four digits; `None` if it is unknown.

        Raises:
            UnknownRef: several refs begin with these digits.
        """
        ref = bare_ref(ref)
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
        entries = self._kept.entries(ref) if is_ref(ref) else ()
        known = [entry for full, entry in entries if full == ref]
        problem: StoreError = UnknownRef(f"Nothing is archived under {ref!r}.")
        for entry in (*reversed(known), *places):
            try:
                original = session_files.original_of(entry, self.read_original)
            except StoreError as error:
                problem = error
                continue
            if is_proven(ref, entry, original):
                return original
            problem = StoreDamaged(
                f"Session {self.id} does not hold the original of ref {ref}: it was changed."
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
        return self._kept.following(ref) if is_message else None

    def locked(self, timeout: float = LOCK_SECONDS) -> AbstractContextManager[None]:
        """Keeps other threads and processes from compressing this conversation.

        They can still append. The lock is not reentrant: a thread that already holds it waits like
        any other.
        """
        return self.backend.lock(f"{self.id}.compression", COMPRESSING, timeout)

    def fitting(self, timeout: float = FITTING_SECONDS) -> AbstractContextManager[None]:
        """Keeps other threads and processes from following another history; see `locked`."""
        busy = "another request of this conversation is made smaller"
        return self.backend.lock(f"{self.id}.fitting", busy, timeout)

    def preparing(self, timeout: float = LOCK_SECONDS) -> AbstractContextManager[None]:
        """Keeps others from preparing a compression beside an agent's work; see `locked`."""
        busy = "another session prepares a compression of this conversation"
        return self.backend.lock(f"{self.id}.background", busy, timeout)

    def archiving(self) -> AbstractContextManager[None]:
        """Keeps other threads and processes from creating refs in this conversation."""
        busy = "another process is archiving in this conversation"
        return self.backend.lock(f"{self.id}.refs", busy)

    def write_offloaded(self, ref: str, text: str) -> str:
        """Keep a text where an agent can read it, to the byte; returns the place."""
        return self._kept.write_text(checked_name(ref, "A ref"), text)

    def offloaded_path(self, ref: str) -> str:
        """Where the text of `ref` is, or would be; "" if an agent cannot read it."""
        return self._kept.place_of_text(checked_name(ref, "A ref"))

    def remove_offloaded(self, refs: Iterable[str]) -> tuple[list[str], list[str]]:
        """The refs whose texts were removed, and a warning for each text that could not be.

        A text that is already gone is in neither list.
        """
        return self._kept.remove_texts([checked_name(ref, "A ref") for ref in refs])

    def problems(self) -> list[str]:
        """One sentence for each problem with this session; `[]` if there are none."""
        problems: list[str] = []
        with collecting(problems):
            problems += self._kept.verify()
        rows: Sequence[dict[str, Any]] = ()
        with suppress(StoreError):  # the backend has told it
            rows = self._kept.rows("events").items
        if lost := lost_refs(filter(refs_in, rows), self.read_originals, self.read_original):
            count = f"{how_many(len(lost), 'ref')} of sessions/{self.id} cannot be restored"
            problems.append(f"{count}: {', '.join(map(one_line, lost))}")
        return problems
