"""One session on disk: its events, the originals of its compressions, offloaded texts, its ledger.

Two locks, both outside the session's folder so that it can be deleted: a short one around each
append, and the long one of `locked`, held by a compression from start to end.
"""

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from io import FileIO
from pathlib import Path
from typing import Any, cast

from context_compression.conversation.refs import DIGITS, digest_of, is_proven, is_ref
from context_compression.display.plurals import how_many
from context_compression.display.strings import one_line
from context_compression.errors import (
    ContextCompressionError,
    StoreDamaged,
    StoreError,
    StoreNotDurable,
    UnknownRef,
)
from context_compression.store import files
from context_compression.store.lines import Events, Line, LineFile, Mark
from context_compression.store.originals import original_of
from context_compression.store.refs import entries, following, latest, message_at

FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
"""What an id or a ref may be: the name of a file, and of nothing outside our folder."""


MOST_NAMED = 20
"""Refs of which one can be taken, in an error."""


@dataclass(frozen=True)
class _Whole:
    """The events as they were when they were last asked for.

    Attributes:
        events: with the messages that stand elsewhere.
        number: of the lines they were made of.
        last: of these the last, the very object.
    """

    events: Sequence[dict[str, Any]] = ()
    number: int = 0
    last: dict[str, Any] | None = None

    def begins(self, items: Sequence[dict[str, Any]]) -> bool:
        """Whether these are the same lines, and perhaps more."""
        if not self.number:
            return True
        return len(items) >= self.number and items[self.number - 1] is self.last


def messages_in(
    event: Mapping[str, Any], read: Callable[[str], Sequence[Any]]
) -> Iterator[dict[str, Any]]:
    """The events that an event of the type `messages` stands for.

    It names a file of originals and which of them: `from`, and `to` behind the last.

    Args:
        event: such an event.
        read: the messages of a file of originals.

    Raises:
        StoreDamaged: the file is missing or damaged, or has no such messages.
    """
    match event:
        case {"file": str(file), "from": int(start), "to": int(stop)} if 0 <= start < stop:
            messages = read(file)
            if stop > len(messages):
                raise StoreDamaged(
                    f"{file} has no messages {start} to {stop - 1}, as the log says."
                )
            for message in messages[start:stop]:
                yield {
                    "type": "message", "created_at": event.get("created_at"), "message": message
                }  # fmt: skip
        case _:
            raise StoreDamaged("events.jsonl: an event does not say where its messages are")


class SessionLog:
    """The folder `sessions/<id>/`. Nothing in it exists until something is written."""

    def __init__(self, root: Path, id: str) -> None:
        """The session `id` of the store at `root`; an impossible id is a `StoreError`."""
        self.id = _checked(id, "A session's id")
        self.root = root
        self.folder = root / "sessions" / id
        self._place = str(self.folder)
        self._events = LineFile(self.folder / "events.jsonl", "session")
        self._ledger = LineFile(self.folder / "ledger.jsonl", "ledger")
        self._whole = _Whole()
        self._told: tuple[Any, dict[str, Mapping[str, Any]]] = (None, {})

    @property
    def exists(self) -> bool:
        """Whether anything was recorded."""
        try:
            return self._events.path.stat().st_size > 0
        except OSError:
            return False

    def events(self) -> Events:
        """Every event, oldest first, and what could not be read.

        Messages that stand in a file of originals come as if they stood in the log.
        """
        lines = self._read(self._events)
        known = self._whole if self._whole.begins(lines.items) else _Whole()
        items, warnings = list(known.events), list(lines.warnings)
        hashes = _hashes(lines.items)

        @lru_cache(1)
        def read(name: str) -> list[Any]:
            return self._unchanged(name, hashes.get(name))

        for item in lines.items[known.number :]:
            try:
                items += messages_in(item, read) if item.get("type") == "messages" else [item]
            except StoreError as error:
                warnings.append(str(error))
        items = [item for item in items if item.get("type") != "originals"]
        if len(warnings) == len(lines.warnings):
            last = lines.items[-1] if lines.items else None
            self._whole = _Whole(items, len(lines.items), last)
        return Events(list(items), warnings)

    @property
    def stamp(self) -> tuple[int, int] | None:
        """Size and time of the log: while they are the same, nothing was added."""
        return files.stamp(self._events.path)

    def stamp_of(self, originals: str) -> tuple[int, int] | None:
        """Size and time of a file of originals, `None` where it is gone."""
        return files.stamp(self.folder / _checked(originals, "An archive's name"))

    def has(self, mark: Mark) -> bool:
        """Whether the log still is what it was up to the mark."""
        return self._events.has(mark)

    def holds(self, text: str) -> bool:
        """Whether a text stands in any event or original: a look at the bytes, nothing else."""
        originals = (LineFile(path, "") for path in self.folder.glob("compact-*.json"))
        return any(file.holds(text) for file in (self._events, *originals))

    def onward(self, mark: Mark, at_least: int) -> tuple[list[Line], Mark]:
        """The events behind a mark, `at_least` bytes of them where there are, and the next mark."""
        lines, mark = self._events.onward(mark, at_least)
        return [line for line in lines if line.item.get("type") != "originals"], mark

    def part(self, file: str, start: int = 0, length: int = -1) -> bytes:
        """So many bytes of a file of originals, or of the log where `file` is empty."""
        return self.parts(file, [(start, length)])[0]

    def parts(self, file: str, spans: Iterable[tuple[int, int]]) -> list[bytes]:
        """The same for several: where each begins, and how long it is."""
        name = _checked(file, "An archive's name") if file else self._events.path.name
        path = f"{self._place}/{name}"  # as a Path it takes longer than to read a text
        try:
            if stat.S_ISREG(os.stat(path).st_mode):
                with open(path, "rb", buffering=0) as opened:
                    return [_read(opened, *span) for span in spans]
        except OSError as error:
            raise files.damaged(Path(path), f"cannot be read: {error.strerror or error}") from error
        raise files.damaged(Path(path), "is no ordinary file")

    def append(self, *events: Mapping[str, Any]) -> None:
        """Adds events, stamped by the caller; they are on disk when this returns.

        The header of a new file takes over the first event's `created_at`.
        """
        for event in events:
            if event.get("type") in (None, "session", "originals"):
                raise StoreError('An event has a "type"; "session" and "originals" are ours.')
        if events:
            self._append(self._events, events, events[0].get("created_at"))

    def locked(self, timeout: float = files.LOCK_SECONDS) -> AbstractContextManager[None]:
        """Keeps other threads and processes from compressing this conversation; appends go on.

        After waiting `timeout` seconds it is a `StoreError`; so it is for who holds it already.
        """
        busy = "another process is compressing this conversation"
        return files.holding(self.root, f"{self.id}.compression", busy, timeout)

    def write_originals(self, n: int, created_at: str, messages: Sequence[Any]) -> str:
        """Archives the messages of the `n`-th compression (from 1); returns the file's name.

        `created_at` is ISO 8601, UTC where it names no offset. The file's hash goes into the log,
        for `problems`. All comes back as it was, but for two surrogates in a row that make a pair:
        JSON knows only the one character they stand for.
        """
        data = files.to_json(list(messages), indent=2)
        name = f"compact-{_file_time(created_at)}-{n}.json"
        path = files.make_folder(self.root, "sessions", self.id) / name
        if os.path.lexists(path):
            raise StoreError(f"{path} exists, and an archive is never overwritten. Take another n.")
        digest = hashlib.sha256(data).hexdigest()
        record = {"type": "originals", "created_at": created_at, "file": name, "sha256": digest}
        files.replace_file(path, data)
        try:
            self._append(self._events, [record], created_at)
        except StoreNotDurable:
            raise  # the log tells of it
        except BaseException:
            with suppress(OSError):
                path.unlink()
            raise
        return name

    def read_originals(self, name: str) -> list[Any]:
        """The messages in a file of `write_originals`; `StoreDamaged` when missing or damaged."""
        path = self.folder / _checked(name, "An archive's name")
        value = files.read_json(path, default=None)
        if not isinstance(value, list):
            what = "is missing" if value is None else "is not a list of messages"
            raise files.damaged(path, what)
        return cast("list[Any]", value)

    def _unchanged(self, name: str, digest: str | None) -> list[Any]:
        """The messages in a file of originals; `StoreDamaged` where its hash is another."""
        messages = self.read_originals(name)
        path = self.folder / name
        with files.reading(path):
            if digest not in (None, hashlib.sha256(path.read_bytes()).hexdigest()):
                raise StoreDamaged(
                    f"{path} was changed: its hash does not match the log's. Put back a copy of "
                    "it; what is whole in it comes back as it is. Nothing was written."
                )
        return messages

    def offloaded_path(self, ref: str) -> Path:
        """Where the text of `ref` is, or would be."""
        return self.folder / "offloaded" / f"{_checked(ref, 'A ref')}.txt"

    def write_offloaded(self, ref: str, text: str) -> Path:
        """Writes a text as it is: UTF-8, line ends untouched, lone surrogates let through."""
        path = self.offloaded_path(ref)
        files.make_folder(self.root, "sessions", self.id, "offloaded")
        files.replace_file(path, text.encode("utf-8", "surrogatepass"))
        return path

    def remove_offloaded(self, refs: Iterable[str]) -> tuple[list[str], list[str]]:
        """The refs whose files were removed, and a warning for every file that could not be.

        A file that is already gone is neither.
        """
        removed: list[str] = []
        warnings: list[str] = []
        for ref in refs:
            path = self.offloaded_path(ref)
            try:
                path.unlink()
                removed.append(ref)
            except FileNotFoundError:
                pass
            except OSError as error:
                warnings.append(f"{path} could not be removed: {error.strerror or error}")
        return removed, warnings

    def append_ledger(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Adds ledger entries; they are on disk when this returns."""
        if added := list(entries):
            self._append(self._ledger, added, None)

    def ledger(self) -> list[dict[str, Any]]:
        """Every ledger entry, oldest first."""
        return list(self._read(self._ledger).items)

    def read_original(self, name: str, position: int) -> Any:
        """One message in a file of `write_originals`, without reading all of them where possible.

        Raises:
            StoreDamaged: the file is missing or damaged, or has no such message.
        """
        path = self.folder / _checked(name, "An archive's name")
        with files.reading(path):
            found = message_at(files.ordinary(path).read_bytes(), position)
        if found is not None:
            return found
        messages = self.read_originals(name)
        if not 0 <= position < len(messages):
            raise files.damaged(path, f"has no message {position}")
        return messages[position]

    def about(self, ref: str) -> dict[str, Mapping[str, Any]]:
        """What the events say of the refs that begin so, with the `file` of their originals."""
        if not re.fullmatch(r"[0-9a-fA-F]{4,64}", ref):
            return {}
        asked = (ref.lower(), self.stamp)  # to restore one, it is asked several times
        if self._told[0] != asked:
            log, digits = self._events.data(), asked[0]
            last = latest(log, digits) if len(digits) >= DIGITS else None
            self._told = (asked, dict([last] if last else entries(log, digits)))
        return self._told[1]

    def original(self, ref: str, places: Iterable[Mapping[str, Any]] = ()) -> Any:
        """What was archived under a ref in full: a text, or a message as it came.

        Every place where the log says it is is tried, the newest first, then other `places`.

        Raises:
            UnknownRef: the log names none.
            StoreDamaged: in none of them is what the ref stands for.
        """
        told = [about for full, about in entries(self._events.data(), ref) if full == ref]
        problem: StoreError = UnknownRef(f"Nothing is archived under {ref!r}.")
        for about in (*reversed(told), *places):
            try:
                original = original_of(about, self.read_original)
            except StoreError as error:
                problem = error
                continue
            if is_proven(ref, about, original):
                return original
            problem = StoreDamaged(
                f"{self.folder} does not hold what ref {ref} stands for; the file was changed."
            )
        raise problem

    def digest(self, ref: str) -> str:
        """The SHA-256 of what is archived under a ref in full.

        Raises:
            StoreError: nothing is, or it cannot be read and its hash was not written down.
        """
        told = self.about(ref).get(ref, {}).get("sha256")
        return told if isinstance(told, str) else digest_of(self.original(ref))

    def archiving(self) -> AbstractContextManager[None]:
        """Keeps other threads and processes from giving refs in this conversation."""
        busy = "another process is archiving in this conversation"
        return files.holding(self.root, f"{self.id}.refs", busy)

    def following(self, ref: str) -> str | None:
        """The ref of the message archived right behind the one of `ref`; of a text, nothing."""
        is_message = self.about(ref).get(ref, {}).get("block", 0) is None
        return following(self._events.data(), ref) if is_message else None

    def refs(self) -> dict[str, Any]:
        """All that is archived here: by ref, what the events' `refs` say of it, the latest last."""
        found: dict[str, Any] = {}
        for event in self._events.having("refs"):
            found |= {ref: about for ref, about in _refs_in(event).items() if is_ref(ref)}
        return found

    def full_ref(self, ref: str) -> str | None:
        """The ref archived here that `ref` names, in full or by four or more first characters."""
        return the_one(ref, self.about(ref) or self.refs())

    def problems(self) -> list[str]:
        """What is wrong with these files, in plain words; `[]` when they are sound."""
        found: list[str] = []
        recorded: dict[str, str] = {}
        here = f"sessions/{self.id}"
        if not self.exists:
            found.append(f"{here}/events.jsonl is missing")
        for file in (self._events, self._ledger):
            with files.noting(found):
                lines = self._read(file)
                found += [f"{here}/{warning}" for warning in lines.warnings]
                recorded |= _hashes(lines.items)
        for name in sorted(
            {*recorded, *(path.name for path in self.folder.glob("compact-*.json"))}
        ):
            with files.noting(found):
                self._unchanged(name, recorded.get(name))
        if lost := self._not_coming_back():
            what = f"{how_many(len(lost), 'ref')} of {here} cannot be brought back"
            found.append(f"{what}: {', '.join(map(one_line, lost))}")
        return found

    def _not_coming_back(self) -> list[str]:
        """The refs archived here whose original is in none of the places that the log tells."""
        read = lru_cache(2)(self.read_originals)  # the refs of a compression follow each other
        whole: dict[str, bool] = {}
        for event in self._events.having("refs"):
            for ref, about in _refs_in(event).items():
                if not whole.get(ref):
                    place = {"file": event.get("originals"), **about}
                    whole[ref] = False
                    with suppress(ContextCompressionError):
                        original = original_of(place, lambda file, at: read(file)[at])
                        whole[ref] = is_proven(ref, about, original)
        return [ref for ref, comes_back in whole.items() if not comes_back]

    def remove(
        self,
        timeout: float = files.LOCK_SECONDS,
        before: Callable[[], object] = lambda: None,
    ) -> None:
        """Deletes everything here, once nobody is at work in it.

        Args:
            timeout: seconds to wait for those who are; then it is a `StoreError`.
            before: is called when nobody is; what it raises leaves all as it was.
        """
        gone = self.folder.with_name(f".deleted-{self.id}")
        with files.writing(self.folder):
            if not self.folder.exists() and not gone.exists():
                return
            with self.locked(timeout), self._writing():
                before()
                if gone.exists():  # an earlier deletion was killed
                    shutil.rmtree(gone)
                if self.folder.exists():
                    self.folder.rename(gone)
                    shutil.rmtree(gone)

    def _read(self, file: LineFile) -> Events:
        lines = file.read()
        if file.torn:  # perhaps somebody is just writing: look again when nobody is
            with suppress(StoreError), self._writing():
                lines = file.read()
        return lines

    def _append(
        self, file: LineFile, values: Iterable[Mapping[str, Any]], created_at: str | None
    ) -> None:
        with self._writing():
            files.make_folder(self.root, "sessions", self.id)
            file.append(values, {"id": self.id, "created_at": created_at})

    def _writing(self) -> AbstractContextManager[None]:
        busy = "another process is writing to this conversation"
        return files.holding(self.root, f"{self.id}.log", busy)


def _read(file: FileIO, start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(length) or b""


def the_one(ref: str, known: Iterable[str]) -> str | None:
    """`the_one("c3f9", ["c3f91a20", "77aa0b12"])` -> `"c3f91a20"`; `None` when nothing begins so.

    Raises:
        UnknownRef: several begin so; the message lists them.
    """
    among = set(known)
    if ref in among:
        return ref
    if not re.fullmatch(r"[0-9a-fA-F]{4,}", ref):
        return None
    found = sorted(full for full in among if full.startswith(ref.lower()))
    if len(found) > 1:
        raise UnknownRef(
            f"{ref} is the beginning of several refs; take one: {', '.join(found[:MOST_NAMED])}."
        )
    return found[0] if found else None


def _hashes(items: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The SHA-256 of each file of originals that a log names."""
    named = (item for item in items if item.get("type") == "originals")
    return {str(item.get("file")): str(item.get("sha256")) for item in named}


def _refs_in(event: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What an event says of the refs it gave; what makes no sense is left out."""
    refs = event.get("refs")
    if event.get("type") not in ("compression", "offload") or not isinstance(refs, dict):
        return {}
    told = cast("dict[str, Any]", refs)
    return {ref: about for ref, about in told.items() if isinstance(about, dict)}


def _checked(name: str, what: str) -> str:
    if FILE_NAME.fullmatch(name):
        return name
    raise StoreError(
        f"{what} has 1 to 128 of A-Z a-z 0-9 . _ - and begins with no dot; {name[:60]!r} is none."
    )


def _file_time(created_at: str) -> str:
    """`"2026-11-21T09:18:02.4Z"` -> `"2026-11-21T09-18-02Z"`: Windows allows no colons."""
    try:
        time = datetime.fromisoformat(created_at)
    except ValueError as error:
        raise StoreError(f"{created_at!r} is not an ISO 8601 time.") from error
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return time.strftime("%Y-%m-%dT%H-%M-%SZ")
