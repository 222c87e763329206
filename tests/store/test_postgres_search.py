"""A search over PostgreSQL: shelves, bounds, tenants, and writes that break off."""

import secrets
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from postgres import Server
from written import squeeze

from context_compression import Session, Store
from context_compression.errors import StoreError
from context_compression.store import PostgresBackend
from context_compression.store.postgres import lookup, texts
from context_compression.store.sealing import Seal

pytestmark = pytest.mark.slow

PADDING = " So it is." * 99
TABLES = ("texts", "lexemes")


@pytest.fixture
def tenant() -> str:
    return f"t-{secrets.token_hex(8)}"


@pytest.fixture
def make(postgres_server: Server, tenant: str) -> Callable[[], Store]:
    """Stores of one tenant, as several workers have them."""
    return lambda: Store(PostgresBackend(postgres_server.url, tenant))


@pytest.fixture
def store(make: Callable[[], Store]) -> Store:
    return make()


@pytest.fixture
def rows(postgres_server: Server, tenant: str) -> Callable[[str], int]:
    """How many rows of the tenant a table has."""

    def number(table: str) -> int:
        with psycopg.connect(postgres_server.admin) as connection:
            query = f"SELECT count(*) FROM context_compression.{table} WHERE tenant = %s"
            [[found]] = connection.execute(query.encode(), [tenant]).fetchall()
            return found

    return number


def offloaded(store: Store, *texts: str, session: str = "texts") -> list[str]:
    return [Session(store, session).offload(text) for text in texts]


def archived(store: Store, id: str, *said: str) -> Session:
    session = Session(store, id)
    messages = [{"role": "user", "content": text + PADDING} for text in said]
    session.record(*messages, {"role": "user", "content": "Go on."})
    squeeze(session)
    return session


def test_what_another_worker_archived_is_found_at_once(make: Callable[[], Store]) -> None:
    one, other = make(), make()
    archived(one, "talk", "An okapi.", "A zebra.")
    assert len(other.search("okapi").hits) == 1

    archived(one, "more", "An okapi of more.")
    [ref] = offloaded(other, "okapi text")

    assert {hit.session for hit in other.search("okapi").hits} == {"talk", "more", "texts"}
    assert ref in {hit.ref for hit in one.search("okapi").hits}


def test_texts_on_many_shelves_are_found_andcounted(
    store: Store, monkeypatch: pytest.MonkeyPatch, rows: Callable[[str], int]
) -> None:
    monkeypatch.setattr(texts, "SHELF_TEXTS", 2)
    refs = offloaded(store, *(f"okapi number{n} of a zebra" for n in range(9)))

    found = store.search("okapi", limit=20)

    assert rows("shelves") == 5
    assert {hit.ref for hit in found.hits} == {*refs}
    assert (found.total, found.searched) == (9, 9)
    assert [hit.ref for hit in store.search("number3").hits] == [refs[3]]
    assert store.search("number3 zebra", session="texts").hits[0].ref == refs[3]
    assert [hit.ref for hit in store.search(pattern=r"number[7]").hits] == [refs[7]]


def test_of_a_word_that_very_many_texts_hold_some_are_shown_and_nonecounted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "SHELF_TEXTS", 5)
    monkeypatch.setattr(lookup, "FEW_TEXTS", 5)
    monkeypatch.setattr(lookup, "MOST_FOUND", 5)
    offloaded(store, *(f"okapi {n}" for n in range(20)), *(f"zebra {n}" for n in range(20)))
    [both] = offloaded(store, "the okapi of the zebra")
    offloaded(store, *(f"okapi or not {n}" for n in range(20)))
    offloaded(store, *(f"zebra or not {n}" for n in range(20)))

    common, together, rare = map(store.search, ("okapi", "okapi zebra", "okapi not19"))

    assert len(common.hits) == 5
    assert (common.total, common.exact) == (None, False)
    assert common.note is not None
    assert together.hits[0].ref == both
    assert rare.hits


def test_no_tenant_sees_orcounts_what_another_archived(
    store: Store, postgres_server: Server
) -> None:
    other = Store(store.backend.of_tenant(f"t-{secrets.token_hex(8)}"))
    archived(store, "talk", "A secret okapi of ours.", "A zebra.")
    offloaded(store, "okapi okapi okapi")
    [own] = offloaded(other, "An okapi of theirs, tool or not.")

    for query in ("okapi", '"secret okapi"', "secre", "ecre", "okapi error: path:x tool:bash", ""):
        assert {hit.ref for hit in other.search(query).hits} <= {own}
    for pattern in ("okapi", "ok.pi", "secret"):
        assert {hit.ref for hit in other.search(pattern=pattern).hits} <= {own}
    found = other.search("okapi")

    assert (found.total, found.searched) == (1, 1)
    assert other.search("okapi", session="talk").searched == 0


def test_the_words_of_another_tenant_can_be_neither_seen_nor_changed_nor_deleted(
    store: Store, rows: Callable[[str], int], postgres_server: Server
) -> None:
    offloaded(store, "okapi")
    other = Store(PostgresBackend(postgres_server.guest(), f"t-{secrets.token_hex(8)}"))
    offloaded(other, "zebra")
    assert len(other.search("zebra").hits) == 1
    assert isinstance(other.backend, PostgresBackend)
    database, tenant = other.backend.database, other.backend.tenant

    assert len(database.read(tenant, "SELECT * FROM lexemes")) == 1
    database.write(tenant, lambda connection: connection.execute("DELETE FROM lexemes"))
    database.write(tenant, lambda connection: connection.execute("DELETE FROM texts"))

    assert [rows(table) for table in TABLES] == [1, 1]
    with pytest.raises(StoreError, match="row-level security"):
        database.write(
            tenant,
            lambda connection: connection.execute(
                "INSERT INTO lexemes VALUES ('another', 1000000000, 1, 1, '')"
            ),
        )


def test_a_write_that_breaks_off_leaves_no_text_without_its_event(
    store: Store, monkeypatch: pytest.MonkeyPatch, rows: Callable[[str], int]
) -> None:
    offloaded(store, "okapi")
    before = [rows(table) for table in (*TABLES, "rows", "refs")]

    def broken(*_: Any) -> None:
        raise StoreError("broken off")

    with monkeypatch.context() as patched:
        patched.setattr(texts.Texts, "count", broken)
        with pytest.raises(StoreError, match="broken off"):
            offloaded(store, "zebra")

    assert [rows(table) for table in (*TABLES, "rows", "refs")] == before
    assert store.search("zebra").hits == ()
    assert [hit.ref for hit in store.search("zebra").hits] == offloaded(store, "zebra")[1:]
    assert len(store.search("zebra").hits) == 1


def test_a_connection_lost_among_texts_doubles_none(
    store: Store, monkeypatch: pytest.MonkeyPatch, postgres_server: Server,
    rows: Callable[[str], int],
) -> None:  # fmt: skip
    count, lost = texts.Texts.count, list[int]()

    def losing(self: texts.Texts, connection: Any, *rest: Any) -> None:
        if not lost:
            lost.append(connection.info.backend_pid)
            with psycopg.connect(postgres_server.admin, autocommit=True) as admin:
                admin.execute("SELECT pg_terminate_backend(%s, 5000)", lost)
        count(self, connection, *rest)

    monkeypatch.setattr(texts.Texts, "count", losing)
    with pytest.raises(StoreError, match="with it the lock"):
        archived(store, "talk", "An okapi.", "A zebra.")
    assert rows("texts") == rows("lexemes") == 0
    squeeze(Session(store, "talk"))

    assert lost
    assert rows("texts") == rows("lexemes") == store.search("zebra").searched
    assert len(store.search("okapi").hits) == 1


def test_a_deleted_session_leaves_no_words(store: Store, rows: Callable[[str], int]) -> None:
    archived(store, "talk", "An okapi.", "A zebra.")
    offloaded(store, "okapi text")

    store.delete("talk")

    assert [rows(table) for table in TABLES] == [1, 1]
    assert {hit.session for hit in store.search("okapi").hits} == {"texts"}
    assert store.search("okapi").searched == 1


def test_words_at_the_end_of_a_very_long_text_are_shown_where_its_beginning_is_found(
    store: Store,
) -> None:
    long = "okapi " + " ".join(f"word{n}" for n in range(60_000)) + " giraffe"
    [ref] = offloaded(store, long)

    found = store.search("okapi word59000")

    assert [hit.ref for hit in found.hits] == [ref]
    assert found.hits[0].held == 2
    assert "giraffe" in Session(store, "texts").restore(ref)


@pytest.mark.parametrize("name", ["nul\0inside", "half \ud83d of one"])
def test_a_tool_may_have_any_name(store: Store, name: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": "{}"}}
    session = Session(store, "talk")
    session.record(
        {"role": "user", "content": "Look at the animals. " * 100},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "an okapi and others " * 800},
        {"role": "user", "content": "Go on."},
    )
    squeeze(session)

    assert store.search("okapi").hits
    assert store.verify() == []


KEY = b"k" * 32


@pytest.fixture
def sealed(postgres_server: Server, tenant: str) -> Store:
    return Store(PostgresBackend(postgres_server.url, tenant, seal=Seal([KEY])))


def test_a_sealed_store_is_searched_in_a_session_that_is_named_and_over_all_says_so(
    sealed: Store, rows: Callable[[str], int]
) -> None:
    archived(sealed, "talk", "An okapi migrated at night.", "A zebra.")
    [ref] = offloaded(sealed, "okapi text")

    everywhere = sealed.search("okapi")
    by_pattern = sealed.search(pattern="okapi")

    assert [found.hits for found in (everywhere, by_pattern)] == [(), ()]
    assert everywhere.note and "name a session" in everywhere.note
    assert by_pattern.note == everywhere.note
    for query in ("okapi", "migrations", "When did the okapi migrate?", "kapi", "path:x okapi"):
        hits = sealed.search(query, session="talk").hits
        assert len(hits) == (0 if "path" in query else 1)
        assert all(hit.session == "talk" and hit.after for hit in hits)
    assert [hit.ref for hit in sealed.search(pattern="ok.pi", session="texts").hits] == [ref]
    assert sealed.search("okapi", session="texts").hits[0].lines == ((1, "okapi text"),)
    assert rows("lexemes") == 0


def test_what_was_archived_before_there_was_a_key_is_found_in_its_session_after_it(
    store: Store, sealed: Store
) -> None:
    [before] = offloaded(store, "the okapi of before")
    [after] = offloaded(sealed, "the okapi of after")

    found = sealed.search("okapi", session="texts")

    assert {hit.ref for hit in found.hits} == {before, after}
    assert (found.total, found.searched) == (2, 2)


def test_texts_with_the_lexemes_of_an_earlier_version_are_found(
    store: Store, postgres_server: Server, tenant: str
) -> None:
    [ref] = offloaded(store, "the worker calls max_retries of migrations")
    with psycopg.connect(postgres_server.admin) as admin:
        admin.execute("SET search_path = context_compression")
        old = "the:1 worker:2 calls:3 max:4 retries:5 of:6 migrations:7 ~migr:7 max+retries"
        [[shelf]] = admin.execute("SELECT shelf FROM texts WHERE tenant = %s", [tenant]).fetchall()
        parts = [each.partition(":") for each in old.split()]
        words = " ".join(f"'{shelf}:{word}'{colon}{at}" for word, colon, at in parts)
        admin.execute("UPDATE lexemes SET words = %s::tsvector WHERE tenant = %s", [words, tenant])

    for query in ("max_retries", "maxRetries", "migrated", "worker", "retrie", '"worker calls"'):
        assert [hit.ref for hit in store.search(query).hits] == [ref]
    assert store.search('"calls worker"').note


def test_the_ranking_of_many_candidates_counts_what_all_texts_hold(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "RANKED_AT_ONCE", 10)
    offloaded(store, *(f"zebra {n} in the herd" for n in range(70)))
    [both] = offloaded(store, "a zebra beside an okapi")
    refs = offloaded(store, *(f"zebra {n} in the park" for n in range(70)))

    found = store.search("zebra okapi")
    pages = [hit.ref for n in range(29) for hit in store.search("zebra", skip=5 * n).hits]

    assert found.hits[0].ref == both
    assert found.total == 141
    assert len({*pages}) == len(pages) == 141
    assert refs[-1] in pages
