"""The rows that a rollout goes on from, in other files.

A fork's file holds only its own rows, and so does the file in which a thread goes on after an
edited prompt. The first row's `history_base {thread_id, end_ordinal_exclusive, end_byte_offset}`
names the file with the rows before them, and where it was left; that file may have a base, too.
`thread_id` is the id of a rollout, as in the file's name. Seen in version 0.169.0.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object
from context_compression.errors import TranscriptError
from context_compression.hosts.codex.rollouts import (
    SAFE,
    home_of,
    meta,
    rollout,
    rollout_named,
)
from context_compression.transcripts.lines import At, Lines, opened, string
from context_compression.transcripts.rows import Rows
from context_compression.transcripts.transcript import Row
from context_compression.transcripts.unpacking import check_packed, is_packed

SPAN = 1 << 42
"""The places of one file's rows in a conversation: more than any file has bytes."""
META = "session_meta"


@dataclass(frozen=True)
class Part:
    """The first rows of a file, up to where another file goes on from it.

    Attributes:
        path: the file.
        ordinal: the number of the first row that is no longer of it; `None` if that is not known.
        offset: the same row's first byte; `None` if that is not known.
    """

    path: Path
    ordinal: int | None
    offset: int | None

    def holds(self, row: Row, at: At) -> bool:
        """Whether a row is before the end of the part."""
        number = row.get("ordinal")
        if isinstance(number, int) and self.ordinal is not None:
            return number < self.ordinal
        return self.offset is None or at.offset < self.offset

    def is_cut_off(self) -> bool:
        """Whether a file that is not packed ends before the rows of this part do."""
        try:
            size = self.path.stat().st_size
        except OSError:
            return True
        return self.path.suffix == ".jsonl" and self.offset is not None and size < self.offset


@dataclass
class Earlier:
    """The rows of other files before those of a rollout; `rows` gives them once.

    Attributes:
        parts: the files, the oldest first.
        missing: rows that are in no file, in sentences for the user; complete after `rows`.
        warnings: what of the files could not be read; complete after `rows`.
    """

    parts: list[Part]
    missing: list[str]
    warnings: list[str] = field(default_factory=list[str])

    @property
    def ends(self) -> list[tuple[Path, int | None]]:
        """The files, and where the rows of each end."""
        return [(part.path, part.offset) for part in self.parts]

    def missing_at_a_glance(self) -> list[str]:
        """What is missing, as far as the sizes of the files tell it; no row is read."""
        return [*self.missing, *(_shorter(part) for part in self.parts if part.is_cut_off())]

    def rows(self, max_bytes: int) -> Iterator[tuple[Row, At]]:
        """The rows, with places before those of the rollout itself: below zero."""
        for number, part in enumerate(self.parts):
            first = (number - len(self.parts)) * SPAN
            for row, at in self._of(part, max_bytes):
                max_bytes -= at.length
                if string(row, "type") != META:
                    yield row, At(first + at.offset, at.length)

    def _of(self, part: Part, max_bytes: int) -> Iterator[tuple[Row, At]]:
        newest, end = None, 0
        try:
            with opened(part.path, max(max_bytes, 0)) as stream:
                if is_packed(stream):
                    check_packed(stream, part.path, max_bytes)
                rows = Rows(Lines(stream, part.path, max_bytes))
                for row, at in rows:
                    if not part.holds(row, at):
                        break
                    if newest is None and part is self.parts[0]:
                        self._check_beginning(row, part)
                    newest, end = row.get("ordinal", newest), at.offset + at.length
                    yield row, at
        except TranscriptError as error:
            self.missing.append(f"The conversation begins in a file that cannot be read: {error}")
            return
        self.warnings += [f"In {part.path.name}: {warning}" for warning in rows.warnings]
        if isinstance(newest, int) and part.ordinal is not None:
            if newest < part.ordinal - 1:
                self.missing.append(
                    f"The conversation goes on from row {part.ordinal} of {part.path.name}, which "
                    f"now ends at row {newest}; what was between them is missing."
                )
        elif not end or (part.offset is not None and end < part.offset):
            self.missing.append(_shorter(part))

    def _check_beginning(self, row: Row, part: Part) -> None:
        """Whether the oldest file that was found begins a conversation."""
        number = row.get("ordinal")
        if isinstance(number, int) and number > 0 and not self.missing:
            self.missing.append(
                f"{part.path.name} begins with row {number}, and does not say with what."
            )


def earlier(rows: Iterable[Row], path: Path) -> Earlier | None:
    """The rows before those of a rollout; `None` if it has its own beginning.

    Args:
        rows: the first rows of the file.
        path: of the file.
    """
    rows = [*rows]
    metas = (as_object(row.get("payload")) for row in rows if string(row, "type") == META)
    about = next(metas, as_object(None))
    if "history_base" not in about:
        begins = rows[0].get("ordinal") if rows else 0
        if isinstance(begins, int) and begins > 0 and not about:
            return Earlier([], [f"The file begins with row {begins}, and does not say with what."])
        return None
    return _lineage(about, path)


def _lineage(about: Mapping[str, Any], path: Path) -> Earlier:
    """The files that lead to one whose first row is `about`."""
    own = rollout(path)
    seen = {own.id if own else string(about, "id")}
    parts: list[Part] = []
    missing: list[str] = []
    ordinal: int | None = None
    while (base := about.get("history_base")) is not None:
        id = string(as_object(base), "thread_id")
        if not SAFE.fullmatch(id):
            missing.append(
                "It goes on from another conversation, and says which in a way not known."
            )
            break
        if id in seen:
            missing.append(f"The rollout {id} goes on from itself; where it begins is not known.")
            break
        found = rollout_named(id, path)
        if found is None:
            missing.append(_not_found(id, path))
            break
        seen.add(id)
        end, offset = (
            _number(as_object(base), key) for key in ("end_ordinal_exclusive", "end_byte_offset")
        )
        if end is None and offset is None:
            missing.append(
                f"It goes on from a row of the rollout {id}, and says which in a way not known; "
                "all rows of that rollout are given."
            )
        ordinal = end if ordinal is None or end is None else min(end, ordinal)
        parts.append(Part(found.path, ordinal, offset))
        about, path = meta(found.path), found.path
    return Earlier(parts[::-1], missing)


def _shorter(part: Part) -> str:
    whole = "another row" if part.offset is None else f"byte {part.offset:,}"
    return (
        f"The conversation goes on from {whole} of {part.path.name}, which is damaged or cut off "
        "before; what was between them is missing."
    )


def _not_found(id: str, path: Path) -> str:
    folder = home_of(path) or path.parent
    return (
        f"The conversation begins in the rollout {id}, which is not in {folder}; all that was said "
        "there is missing. Put that file beside this one, if there is a copy."
    )


def _number(about: Mapping[str, Any], key: str) -> int | None:
    value = about.get(key)
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if whole else None
