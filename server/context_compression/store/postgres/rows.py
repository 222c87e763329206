"""The rows of sessions: events and ledgers. They are added, read after a mark, never changed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import time_ns
from typing import Any

from context_compression.conversation.refs import digest_of
from context_compression.store.backend import Events, Kind, Stamp
from context_compression.store.checksums import object_in_row, with_checksum
from context_compression.store.events import refs_in
from context_compression.store.files import to_json
from context_compression.store.postgres.coding import Coding, about_row
from context_compression.store.postgres.connections import Connection
from context_compression.store.postgres.database import Database

NUMBERS: Mapping[Kind, int] = {"events": 0, "ledger": 1}
"""How the tables name the kinds."""

_ADD = """
INSERT INTO sessions AS s (tenant, id, created_at, last, event_bytes, other_bytes, written)
VALUES (%(tenant)s, %(id)s, %(created)s, %(count)s, %(events)s, %(others)s, %(now)s)
ON CONFLICT (tenant, id) DO UPDATE SET
    last = s.last + excluded.last,
    event_bytes = s.event_bytes + excluded.event_bytes,
    other_bytes = s.other_bytes + excluded.other_bytes,
    written = CASE WHEN excluded.written > 0
        THEN greatest(excluded.written, s.written + 1) ELSE s.written END
RETURNING no, last
"""
_ROWS = """
INSERT INTO rows (tenant, session, kind, n, body)
SELECT %s, %s, %s, * FROM unnest(%s::bigint[], %s::bytea[])
"""
_REFS = """
INSERT INTO refs (tenant, session, n, place, ref, is_message, sha256, entry)
SELECT %s, %s, * FROM
    unnest(%s::bigint[], %s::int[], %s::text[], %s::bool[], %s::text[], %s::bytea[])
"""
_AFTER = """
SELECT s.no, r.n, r.body FROM sessions s
LEFT JOIN rows r ON r.session = s.no AND r.kind = %s AND r.n > %s
WHERE s.tenant = %s AND s.id = %s ORDER BY r.n
"""


NOTHING = Events([])


@dataclass(frozen=True)
class Added:
    """Rows that were added to a session: its number, and the number of the row before them."""

    session: int
    before: int


@dataclass(frozen=True)
class _Read:
    """What was read of the rows of one kind; the number changes when a session is made again."""

    session: int = 0
    last: int = 0
    events: Events = NOTHING
    numbers: Sequence[int] = ()


class Rows:
    """The rows of all sessions of a tenant, each read once by this process."""

    def __init__(self, database: Database, tenant: str, coding: Coding) -> None:
        """Nothing is read yet."""
        self._database, self._tenant, self._coding = database, tenant, coding
        self._known: dict[tuple[str, Kind], _Read] = {}

    def read(self, session: str, kind: Kind) -> Events:
        """All rows of a kind, oldest first; see `Backend.rows`."""
        return self._read(session, kind).events

    def numbered(self, session: str) -> tuple[int, Iterator[tuple[int, dict[str, Any]]]]:
        """The number of a session, and its events with theirs."""
        known = self._read(session, "events")
        return known.session, zip(known.numbers, known.events.items, strict=True)

    def _read(self, session: str, kind: Kind) -> "_Read":
        known = self._known.get((session, kind), _Read())
        found = self._after(session, kind, known.last)
        if found and found[0][0] != known.session and known.last:
            found = self._after(session, kind, 0)  # it was deleted and made again
        if not found:
            known = _Read()
        elif found[0][0] != known.session:
            known = _Read(found[0][0])
        about = about_rows(session, kind)
        added = [(n, self._coding.row(body, about, n)) for _, n, body in found if n is not None]
        self._known[session, kind] = known = _with(known, added, kind, about)
        return known

    def stamp(self, session: str) -> Stamp | None:
        """Bytes and time of the events; `None` if there are none."""
        query = "SELECT event_bytes, written FROM sessions WHERE tenant = %s AND id = %s"
        for size, written in self._database.read(self._tenant, query, [self._tenant, session]):
            return (size, written) if size else None
        return None

    def append(
        self,
        connection: Connection,
        session: str,
        kind: Kind,
        rows: Sequence[Mapping[str, Any]],
        lines: Sequence[bytes],
        created_at: str | None,
        beside: int = 0,
    ) -> Added:
        """Add rows within a transaction, and the refs that they created.

        Args:
            connection: of the transaction. It holds up other writers of the session until it ends.
            session: its id.
            kind: of the rows.
            rows: JSON objects.
            lines: the same as `lines_of` returns them.
            created_at: ISO 8601; when the session began, if this creates it.
            beside: bytes of originals that are added with them.
        """
        size, is_event = sum(map(len, lines)), kind == "events"
        about = about_rows(session, kind)
        [[number, last]] = connection.execute(
            _ADD,
            {
                "tenant": self._tenant, "id": session, "created": created_at, "count": len(lines),
                "events": size if is_event else 0, "others": beside + (0 if is_event else size),
                "now": time_ns() if is_event else 0,
            },
        )  # fmt: skip
        numbers = [*range(last - len(lines) + 1, last + 1)]
        bodies = [
            self._coding.kept(line, about_row(about, n))
            for n, line in zip(numbers, lines, strict=True)
        ]
        connection.execute(_ROWS, [self._tenant, number, NUMBERS[kind], numbers, bodies])
        added = Added(number, last - len(lines))
        if is_event and (refs := [*self._refs(rows, added.before)]):
            connection.execute(_REFS, [self._tenant, number, *map(list, zip(*refs, strict=True))])
        return added

    def bodies(self, session: str) -> Iterator[bytes]:
        """The JSON of all rows, of both kinds."""
        for kind in NUMBERS:
            for _, n, body in self._after(session, kind, 0):
                if n is not None:
                    yield self._coding.row(body, about_rows(session, kind), n)

    def forget(self, session: str) -> None:
        """Free what is remembered of a session."""
        for kind in NUMBERS:
            self._known.pop((session, kind), None)

    def _refs(self, rows: Sequence[Mapping[str, Any]], before: int) -> Iterator[tuple[Any, ...]]:
        """The rows of the table `refs` for events whose numbers follow `before`."""
        for n, event in enumerate(rows, before + 1):
            for place, (ref, entry) in enumerate(refs_in(event).items()):
                body = to_json({**entry, "file": event.get("originals")})
                is_message = "text" not in entry and entry.get("block") is None
                coded = self._coding.kept(body, f"refs/{ref}")
                digest = hash_in(entry)
                kept = self._coding.word(digest) if digest else None
                yield n, place, ref, is_message, kept, coded

    def _after(self, session: str, kind: Kind, last: int) -> list[tuple[Any, ...]]:
        parameters = [NUMBERS[kind], last, self._tenant, session]
        return self._database.read(self._tenant, _AFTER, parameters)


def lines_of(rows: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """The JSON of each row, with its checksum.

    Raises:
        StoreError: a row is not a JSON object.
    """
    return [with_checksum(to_json(dict(row))) for row in rows]


def about_rows(session: str, kind: Kind) -> str:
    """What `Coding` takes for the rows of a session."""
    return f"rows/{session}/{kind}"


def _with(known: _Read, added: Sequence[tuple[int, bytes]], kind: Kind, about: str) -> _Read:
    """What is known after more rows were read, given by their numbers."""
    if not added:
        return known
    items, warnings = list(known.events.items), list(known.events.warnings)
    numbers = list(known.numbers)
    for n, body in added:
        if not (item := object_in_row(body, about_row(about, n))):
            warnings.append(f"{kind}: row {n} was changed, or cannot be read")
        else:
            items.append(item)
            numbers.append(n)
    return replace(known, last=added[-1][0], events=Events(items, warnings), numbers=numbers)


def hash_in(entry: Mapping[str, Any]) -> str | None:
    """The hash of the original of a ref, if its entry tells it."""
    match entry:
        case {"sha256": str(recorded)}:
            return recorded
        case {"text": str(text)}:
            return digest_of(text)
        case _:
            return None
