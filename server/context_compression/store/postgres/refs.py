"""Which session archived a ref, and where its original is."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from context_compression.errors import UnknownRef
from context_compression.store.owners import several_originals
from context_compression.store.postgres.coding import Coding
from context_compression.store.postgres.database import Database
from context_compression.store.postgres.rows import hash_in
from context_compression.store.short_refs import complete_ref

_ENTRIES = """
SELECT r.ref, r.entry FROM sessions s JOIN refs r ON r.session = s.no
WHERE s.tenant = %s AND s.id = %s AND r.ref >= %s AND r.ref < %s ORDER BY r.n, r.place
"""
_NEXT = """
SELECT r.ref FROM sessions s JOIN LATERAL (
    SELECT n, place FROM refs WHERE session = s.no AND ref = %s AND is_message
    ORDER BY n DESC, place DESC LIMIT 1
) AS this ON true
JOIN refs r ON r.session = s.no AND r.n = this.n AND r.place > this.place AND r.is_message
WHERE s.tenant = %s AND s.id = %s ORDER BY r.place LIMIT 1
"""
_KNOWN = """
SELECT ref, min(coalesce(sha256, '')) <> max(coalesce(sha256, '')) FROM refs
WHERE tenant = %s AND ref >= %s AND ref < %s GROUP BY ref LIMIT 40
"""
_ORIGINALS = """
SELECT DISTINCT ON (sha256) session, entry FROM refs WHERE tenant = %s AND ref = %s
ORDER BY sha256, session LIMIT 40
"""
"""Under each key a hash is another one, so that of a sealed original is in its entry."""
_NEWEST = """
SELECT s.id FROM refs r JOIN sessions s ON s.no = r.session
WHERE r.tenant = %s AND r.ref = %s ORDER BY s.written DESC, s.id LIMIT 1
"""
_END = "g"
"""Greater than any hex digit."""


class Refs:
    """The refs of all sessions of a tenant."""

    def __init__(self, database: Database, tenant: str, coding: Coding) -> None:
        """Nothing is read yet."""
        self._database, self._tenant, self._coding = database, tenant, coding

    def entries(self, session: str, digits: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """The refs of a session that begin with some digits; see `Backend.entries`."""
        parameters = [self._tenant, session, digits, digits + _END]
        return [*self._sound(self._ask(_ENTRIES, parameters))]

    def following(self, session: str, ref: str) -> str | None:
        """The ref of the next message of the same compression; see `Backend.following`."""
        return next((r for [r] in self._ask(_NEXT, [ref, self._tenant, session])), None)

    def owner(self, ref: str) -> str | None:
        """The id of the newest session that archived a ref; see `Backend.owner`."""
        digits = ref.lower()
        known = self._ask(_KNOWN, [self._tenant, digits, digits + _END])
        full = complete_ref(digits, (each for each, _ in known))
        if full is None:
            return None
        if dict(known)[full] and len(sessions := self._by_original(full)) > 1:
            ids = self._ask("SELECT id FROM sessions WHERE no = ANY(%s)", [[*sessions]])
            raise UnknownRef(several_originals(full, [id for [id] in ids]))
        return next((id for [id] in self._ask(_NEWEST, [self._tenant, full])), None)

    def _by_original(self, ref: str) -> Collection[int]:
        """The number of one session for each original that is archived under a ref."""
        found = self._ask(_ORIGINALS, [self._tenant, ref])
        originals: dict[str | None, int] = {}
        for number, body in found:
            if (entry := self._coding.sound(body, f"refs/{ref}", dict)) is not None:
                originals[hash_in(entry)] = number
        return originals.values()

    def _sound(self, found: Sequence[tuple[Any, ...]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Refs with their entries, without those that are damaged."""
        for ref, body in found:
            if (entry := self._coding.sound(body, f"refs/{ref}", dict)) is not None:
                yield ref, entry

    def _ask(self, query: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self._database.read(self._tenant, query, parameters)
