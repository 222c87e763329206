"""The keys of a sealed tenant: who may write with which, what is believed, and a new key."""

import secrets
from collections.abc import Callable

import psycopg
import pytest
from postgres import Server

from context_compression import Session, Store
from context_compression.errors import StoreDamaged, StoreUnwritable
from context_compression.store import PostgresBackend
from context_compression.store.sealing import Seal

OLD, NEW, OTHER = b"o" * 32, b"n" * 32, b"x" * 32
NOON = "2026-11-21T12:00:00Z"

Worker = Callable[..., PostgresBackend]


@pytest.fixture
def tenant() -> str:
    return f"t-{secrets.token_hex(8)}"


@pytest.fixture
def worker(postgres_server: Server, tenant: str) -> Worker:
    def started(*keys: bytes) -> PostgresBackend:
        seal = Seal(keys) if keys else None
        return PostgresBackend(postgres_server.url, tenant, seal=seal)

    return started


def says(text: str) -> dict[str, object]:
    return {"type": "message", "message": {"role": "user", "content": text}}


def texts_in(backend: PostgresBackend) -> list[str]:
    return [event["message"]["content"] for event in backend.session("s").rows("events").items]


def change(server: Server, statement: str, *values: object) -> None:
    with psycopg.connect(server.admin, autocommit=True) as admin:
        admin.execute(
            "SET search_path = context_compression; SET session_replication_role = replica"
        )
        admin.execute(statement.encode(), values)


def test_a_worker_with_another_key_writes_nothing_and_is_told_which_is_missing(
    worker: Worker,
) -> None:
    mine, foreign = worker(OLD), worker(OTHER)
    mine.session("s").append("events", [says("one")], NOON)
    mine.write_document("config", {"keep_recent": 3})
    [missing] = Seal([OLD]).ids

    for write in (
        lambda: foreign.session("s").append("events", [says("two")], NOON),
        lambda: foreign.session("other").append("events", [says("two")], NOON),
        lambda: foreign.session("s").write_originals(
            "compact-2026-11-21T12-00-00Z-1.json", [{}], NOON
        ),
        lambda: foreign.add_summary({"session": "s", "content": "two"}),
        lambda: foreign.write_document("config", {}),
    ):
        with pytest.raises(StoreUnwritable, match=f"the key {missing}.*Nothing was changed"):
            write()
    with pytest.raises(StoreDamaged, match=f"the key {missing}"):
        foreign.session("s").rows("events")

    assert texts_in(worker(OLD)) == ["one"]
    assert worker(OLD).read_document("config") == {"keep_recent": 3}
    assert [*worker(OLD).summaries()] == []


def test_what_is_not_sealed_is_not_believed_where_all_was_sealed(
    postgres_server: Server, tenant: str, worker: Worker
) -> None:
    mine = worker(OLD)
    mine.session("s").append("events", [says("one"), says("two")], NOON)
    mine.add_summary({"session": "s", "content": "true"})
    mine.write_document("config", {"keep_recent": 3})
    forged = b'{"session": "s", "content": "forged", "type": "message"}'
    change(
        postgres_server,
        "INSERT INTO summaries (tenant, session, body) VALUES (%s, 's', %s)", tenant, forged,
    )  # fmt: skip
    change(postgres_server, "UPDATE rows SET body = %s WHERE tenant = %s AND n = 1", forged, tenant)
    change(
        postgres_server,
        "UPDATE documents SET body = %s WHERE tenant = %s AND name = 'config'", forged, tenant,
    )  # fmt: skip

    assert texts_in(worker(OLD)) == ["two"]
    assert worker(OLD).session("s").rows("events").warnings == [
        "events: row 1 was changed, or cannot be read"
    ]
    assert [each["content"] for each in worker(OLD).summaries()] == ["true"]
    with pytest.raises(StoreDamaged, match="is not sealed"):
        worker(OLD).read_document("config")


def test_rows_that_changed_places_are_damaged_and_the_others_are_read(
    postgres_server: Server, tenant: str, worker: Worker
) -> None:
    worker(OLD).session("s").append(
        "events", [says(each) for each in ("one", "two", "three")], NOON
    )
    change(
        postgres_server,
        "UPDATE rows a SET body = b.body FROM rows b WHERE a.tenant = %s AND b.tenant = a.tenant "
        "AND a.n + b.n = 3 AND a.kind = b.kind", tenant,
    )  # fmt: skip

    assert texts_in(worker(OLD)) == ["three"]
    assert len(worker(OLD).session("s").rows("events").warnings) == 2


def test_a_new_key_comes_in_two_steps_and_no_worker_ever_stops(worker: Worker) -> None:
    def both_go_on(one: PostgresBackend, two: PostgresBackend, text: str) -> None:
        one.session("s").append("events", [says(f"{text} 1")], NOON)
        two.session("s").append("events", [says(f"{text} 2")], NOON)
        assert texts_in(one) == texts_in(two)

    before, reads_both, writes_new = (OLD,), (OLD, NEW), (NEW, OLD)
    both_go_on(worker(*before), worker(*before), "before")
    both_go_on(worker(*reads_both), worker(*before), "half of the first step")
    both_go_on(worker(*reads_both), worker(*reads_both), "first step")
    both_go_on(worker(*writes_new), worker(*reads_both), "half of the second step")
    both_go_on(worker(*writes_new), worker(*writes_new), "second step")

    assert len(texts_in(worker(*writes_new))) == 10
    for late in (worker(OLD), worker(NEW)):
        with pytest.raises(StoreUnwritable, match="has no such key"):
            late.session("s").append("events", [says("late")], NOON)


def test_a_session_with_an_unreadable_row_goes_on(
    postgres_server: Server, tenant: str, worker: Worker
) -> None:
    session = Session(Store(worker(OLD)), "s")
    session.record({"role": "user", "content": "one"}, {"role": "assistant", "content": "two"})
    session.record({"role": "user", "content": "three"})
    sealed = Seal([OTHER]).seal(b"{}", b"elsewhere")
    change(postgres_server, "UPDATE rows SET body = %s WHERE tenant = %s AND n = 2", sealed, tenant)

    again = Session(Store(worker(OLD)), "s")
    again.record({"role": "assistant", "content": "four"})

    assert [each["content"] for each in again.state().recorded] == ["one", "three", "four"]
    assert any("row 2" in warning for warning in again.state().warnings)
    assert any("row 2" in problem for problem in Store(worker(OLD)).verify())
