"""What is damaged in the tables of a tenant: told, and never used."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from context_compression.errors import StoreDamaged
from context_compression.plurals import how_many
from context_compression.store.files import collecting
from context_compression.store.json_lines import has_checksum
from context_compression.store.postgres.coding import SEALED, Coding
from context_compression.store.postgres.database import Database
from context_compression.store.postgres.rows import NUMBERS, Archives, TenantRows
from context_compression.store.session_files import damaged_originals, hashes_of_originals, refs_in

_NUMBERS = """
SELECT s.last, s.event_bytes, count(DISTINCT r.n), min(r.n), max(r.n) FROM sessions s
LEFT JOIN rows r ON r.session = s.no WHERE s.tenant = %s AND s.id = %s
GROUP BY s.last, s.event_bytes
"""
_REFS = """
SELECT r.n, r.ref, r.entry FROM sessions s JOIN refs r ON r.session = s.no
WHERE s.tenant = %s AND s.id = %s
"""
_WITHOUT_SESSION = """
SELECT 'summaries', body FROM summaries WHERE tenant = %(tenant)s
UNION ALL SELECT 'documents/' || name, body FROM documents
WHERE tenant = %(tenant)s AND name <> %(mark)s
"""
_LOST_SUMMARIES = """
SELECT s.id, s.summaries, count(x.no) FROM sessions s
LEFT JOIN summaries x ON x.tenant = s.tenant AND x.session = s.id WHERE s.tenant = %s
GROUP BY s.no, s.id, s.summaries HAVING count(x.no) < s.summaries
"""
_LOST_DOCUMENTS = """
SELECT w.document FROM written w WHERE w.tenant = %s AND NOT EXISTS
(SELECT 1 FROM documents d WHERE d.tenant = w.tenant AND d.name = w.document)
"""
_OWNERLESS = """
SELECT count(*) FROM rows r WHERE r.tenant = %s
AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.no = r.session AND s.tenant = r.tenant)
"""


Ref: TypeAlias = tuple[int, str, Mapping[str, Any]]
"""The number of an event, a ref that it created, and its entry."""


def damage_beside_sessions(database: Database, tenant: str, coding: Coding) -> Iterator[str]:
    """A sentence for each summary and document that cannot be read, and for rows of no session."""
    problems: list[str] = []
    parameters = {"tenant": tenant, "mark": SEALED}
    found: list[tuple[str, bytes]] = []
    with collecting(problems):
        found = database.read(tenant, _WITHOUT_SESSION, parameters)
    with collecting(problems):
        if coding.mark() is None and coding.seals and found:
            yield f"documents/{SEALED}: the values that prove the keys are missing"
    unreadable = Counter[str]()
    for about, body in found:
        try:
            coding.object_of(body, about)
            if not coding.seals and not has_checksum(body):
                unreadable[about] += 1
        except StoreDamaged:
            unreadable[about] += 1
    for about, number in unreadable.items():
        yield f"{about}: {how_many(number, 'row')} changed, or cannot be read"
    with collecting(problems):
        [[number]] = database.read(tenant, _OWNERLESS, [tenant])
        if number:
            yield f"{how_many(number, 'row')} of sessions that are missing"
    with collecting(problems):
        yield from _lost(database, tenant)
    yield from problems


def _lost(database: Database, tenant: str) -> Iterator[str]:
    """A sentence for each session of which summaries are gone, and for each document that is."""
    for session, number, there in database.read(tenant, _LOST_SUMMARIES, [tenant]):
        yield f"{session}: of {how_many(number, 'summary')}, {there} are there"
    for [name] in database.read(tenant, _LOST_DOCUMENTS, [tenant]):
        yield f"documents/{name} is missing"


def damage_of_session(
    database: Database,
    tenant: str,
    coding: Coding,
    rows: TenantRows,
    archives: Archives,
    session: str,
) -> Iterator[str]:
    """A sentence for each problem with the rows, originals and refs of a session."""
    problems: list[str] = []
    hashes: dict[str, str] = {}
    created: list[Ref] = []
    for kind in NUMBERS:
        with collecting(problems):
            events = rows.read(session, kind)
            yield from (f"{session}: {warning}" for warning in events.warnings)
            hashes |= hashes_of_originals(events.items)
    with collecting(problems):
        created = [
            (n, ref, {**entry, "file": event.get("originals")})
            for n, event in rows.numbered(session)[1]
            for ref, entry in refs_in(event).items()
        ]
    asked = [tenant, session]
    with collecting(problems):
        for last, size, number, oldest, newest in database.read(tenant, _NUMBERS, asked):
            if size <= 0:
                yield f"{session} has no events"
            if (number, oldest, newest) != (last, 1, last):
                yield f"{session}: of {how_many(last, 'row')}, {number} are there"
    with collecting(problems):
        yield from _damage_of_refs(coding, session, created, database.read(tenant, _REFS, asked))

    def read(name: str, digest: str | None) -> object:
        return archives.read(session, name, digest)

    with collecting(problems):
        problems += damaged_originals(hashes, archives.names(session), read)
    yield from problems


def _damage_of_refs(
    coding: Coding, session: str, created: list[Ref], found: list[tuple[Any, ...]]
) -> Iterator[str]:
    """What differs between the refs that events created and the rows that find them."""
    kept: list[Ref] = []
    for n, ref, entry in found:
        try:
            kept.append((n, ref, coding.object_of(entry, f"refs/{ref}")))
        except StoreDamaged:
            yield f"{session}: the row of the ref {ref} was changed, or cannot be read"
    if lost := sum(ref not in kept for ref in created) or len(kept) - len(created):
        yield f"{session}: of {how_many(len(created), 'ref')}, {lost} cannot be found as archived"
