"""`SessionFiles`: what one session has in a folder of files, for `FileBackend` and the search."""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

from context_compression.errors import StoreError, StoreNotDurable
from context_compression.store import files, originals, ref_entries
from context_compression.store.backend import Kind, Stamp
from context_compression.store.events import hashes_of_originals, refs_in
from context_compression.store.json_lines import Events, JsonLine, LineFile, Mark
from context_compression.store.names import checked_name
from context_compression.store.quoting import digits_in
from context_compression.store.session_folder import EVENTS, SessionFolder
from context_compression.store.verification import damaged_originals


class SessionFiles(SessionFolder):
    """The files of one session. Nothing is on disk until something is written."""

    def __init__(self, root: Path, id: str, refusal: str = "") -> None:
        """See `SessionFolder`."""
        super().__init__(root, id, refusal)
        self._folder_path = str(self.folder)
        self._events = LineFile(self.folder / "events.jsonl", EVENTS)
        self._files: dict[Kind, LineFile] = {
            "events": self._events,
            "ledger": LineFile(self.folder / "ledger.jsonl", "ledger"),
        }
        self._entries: tuple[Any, list[tuple[str, Mapping[str, Any]]]] = (None, [])

    @property
    def exists(self) -> bool:
        """Whether anything was recorded."""
        try:
            return self._events.path.stat().st_size > 0
        except OSError:
            return False

    @property
    def stamp(self) -> Stamp | None:
        """Size in bytes and modification time in ns of the log; `None` if it does not exist."""
        return files.stamp(self._events.path)

    def rows(self, kind: Kind) -> Events:
        """All rows of a kind, oldest first; the same objects at each call."""
        return self._read(self._files[kind])

    def append(self, kind: Kind, rows: Sequence[Mapping[str, Any]], created_at: str | None) -> None:
        """Add rows; the header of a new file gets `created_at`. See `Backend.append`."""
        self._append(self._files[kind], rows, created_at)

    def has(self, mark: Mark) -> bool:
        """Whether the log is unchanged up to the mark."""
        return self._events.has(mark)

    def lines_after(self, mark: Mark, at_least: int) -> tuple[list[JsonLine], Mark]:
        """The events in about `at_least` bytes after a mark, and the mark after them."""
        lines, mark = self._events.lines_after(mark, at_least)
        return [line for line in lines if line.item.get("type") != "originals"], mark

    def holds(self, text: str) -> bool:
        """Whether any event or original contains a text. Only bytes are compared."""
        archives = (LineFile(path, "") for path in self._archives())
        return any(file.holds(text) for file in (self._events, *archives))

    def write_originals(self, name: str, messages: Sequence[Any], created_at: str) -> None:
        """Archive messages in a file, and its hash in the log; see `Backend.write_originals`."""
        data = files.to_json(list(messages), indent=2)
        path = self.make() / self._checked_originals(name)
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

    def originals(self) -> list[str]:
        """The names of all files of originals that are there."""
        return [path.name for path in self._archives()]

    def read_originals(self, name: str, digest: str | None = None) -> list[Any]:
        """The messages in a file of originals; see `Backend.read_originals`."""
        return originals.read_unchanged(self._originals_path(name), digest)

    def read_original(self, name: str, position: int) -> Any:
        """One message in a file of originals; see `Backend.read_original`."""
        return originals.read_message(self._originals_path(name), position)

    def stamp_of(self, name: str) -> Stamp | None:
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
        path = Path(self._folder_path, file_name)
        with files.reading(path), files.opened(path) as opened:
            return [_read_span(opened, *span) for span in spans]

    def entries(self, digits: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """The refs that begin with some hex digits, and their entries; see `Backend.entries`."""
        if not digits:
            return [found for event in self.events_with_refs() for found in refs_in(event).items()]
        key = (digits, self.stamp)  # a restore needs the same entries several times
        if self._entries[0] != key:
            self._entries = (key, [*ref_entries.entries(self._events.data(), digits)])
        return self._entries[1]

    def following(self, ref: str) -> str | None:
        """The ref of the message that was archived right after the message `ref`."""
        return ref_entries.following(self._events.data(), ref)

    def events_with_refs(self) -> Iterable[Mapping[str, Any]]:
        """The events that have refs. Nothing is kept in memory."""
        return self._events.lines_with("refs")

    def quoted(self) -> set[str]:
        """All digits in the log and its originals that could be a ref; see `Backend.quoted`."""
        quoted: set[str] = set()
        for path in (self._events.path, *self._archives()):
            with suppress(OSError, StoreError):
                quoted |= digits_in(files.bytes_of(path))
        return quoted

    def problems(self) -> list[str]:
        """One sentence for each problem with the files; see `Backend.problems`."""
        problems: list[str] = []
        hashes: dict[str, str] = {}
        here = f"sessions/{self.id}"
        if not self.exists:
            problems.append(f"{here}/events.jsonl is missing")
        for file in self._files.values():
            with files.collecting(problems):
                lines = self._read(file)
                problems += [f"{here}/{warning}" for warning in lines.warnings]
                hashes |= hashes_of_originals(lines.items)
        return problems + damaged_originals(hashes, self.originals(), self.read_originals)

    def _archives(self) -> Iterable[Path]:
        return self.folder.glob(originals.PATTERN)

    def _checked_originals(self, name: str) -> str:
        return checked_name(name, "An archive's name")

    def _originals_path(self, name: str) -> Path:
        return self.folder / self._checked_originals(name)


def _read_span(file: BufferedReader, start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(length)
