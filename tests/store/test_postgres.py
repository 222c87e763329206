"""What only a store in PostgreSQL has: one copy for a tenant, objects, encryption, policies."""

import re
import secrets
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from backend_samples import archived
from click.testing import CliRunner
from postgres import Server
from pytest import MonkeyPatch

from context_compression import Session, Store, compress, restore_tool
from context_compression.cli import main
from context_compression.conversation import digest_of
from context_compression.errors import (
    InvalidSettings,
    ObjectsLeft,
    StoreDamaged,
    StoreError,
    StoreUnwritable,
    UnknownRef,
)
from context_compression.store import PostgresBackend, file_name
from context_compression.store.objects import objects_at
from context_compression.store.postgres import rows as contents
from context_compression.store.postgres.rows import TenantRows
from context_compression.store.sealing import Seal
from context_compression.testing import conversation

pytestmark = pytest.mark.slow

SMALL = {"token_budget": 6_000, "keep_recent_tokens": 500, "offload_min_tokens": 100}
NOON = "2026-11-21T12:00:00Z"
NAME = file_name(NOON, 1)
EVENT = {"type": "message", "message": {"role": "user", "content": "hello"}}
LONG = {"role": "user", "content": "a word of a secret " * 5_000}


@pytest.fixture
def tenant() -> str:
    return f"t-{secrets.token_hex(8)}"


def rows_of(server: Server, tenant: str, table: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(server.admin) as connection:
        query = f"SELECT * FROM context_compression.{table} WHERE tenant = %s".encode()
        return connection.execute(query, [tenant]).fetchall()


def test_equal_messages_of_a_tenant_are_kept_once_and_go_with_their_last_session(
    postgres_server: Server, tenant: str
) -> None:
    backend = PostgresBackend(postgres_server.url, tenant)
    for session in ("a", "b"):
        backend.session(session).write_originals(NAME, [LONG, LONG, {"only": session}], NOON)
    assert len(rows_of(postgres_server, tenant, "contents")) == 3

    backend.remove("a", 0, lambda: None)

    assert backend.session("b").read_originals(NAME) == [LONG, LONG, {"only": "b"}]
    assert len(rows_of(postgres_server, tenant, "contents")) == 2
    backend.remove("b", 0, lambda: None)
    for table in ("sessions", "rows", "contents", "archives", "refs"):
        assert rows_of(postgres_server, tenant, table) == []


def test_large_messages_are_objects_and_small_ones_are_not(
    postgres_server: Server, tenant: str, tmp_path: Path
) -> None:
    objects = objects_at(str(tmp_path / "objects"))
    backend = PostgresBackend(postgres_server.url, tenant, objects=objects)
    backend.session("a").write_originals(NAME, [LONG, {"role": "user", "content": "short"}], NOON)
    backend.session("b").write_originals(NAME, [LONG], NOON)

    [name] = objects.names()

    assert name.startswith(f"{tenant}/")
    assert (
        backend.session("a").read_originals(NAME)[0]
        == backend.session("b").read_original(NAME, 0)
        == LONG
    )
    without = PostgresBackend(postgres_server.url, tenant)
    with pytest.raises(StoreDamaged, match="CONTEXT_COMPRESSION_OBJECTS is not set"):
        without.session("b").read_original(NAME, 0)
    backend.remove("a", 0, lambda: None)
    assert [*objects.names()] == [name]
    backend.remove("b", 0, lambda: None)
    assert [*objects.names()] == []


def test_a_missing_object_is_told_and_all_else_can_be_restored(
    postgres_server: Server, tenant: str, tmp_path: Path
) -> None:
    objects = objects_at(str(tmp_path / "objects"))
    backend = PostgresBackend(postgres_server.url, tenant, objects=objects)
    backend.session("a").write_originals(NAME, [LONG, "short"], NOON)
    [name] = objects.names()
    objects.delete([name])

    with pytest.raises(StoreDamaged, match=f"The object {name} is missing"):
        backend.session("a").read_original(NAME, 0)

    assert backend.session("a").read_original(NAME, 1) == "short"
    assert Store(backend).search("anything").hits == ()
    assert any(name in problem for problem in Store(backend).verify())
    backend.session("b").write_originals(NAME, [LONG], NOON)
    assert backend.session("a").read_original(NAME, 0) == LONG


class Killed(BaseException):
    """Ends a writer in the middle."""


def test_objects_that_a_killed_writer_left_are_swept_when_they_are_old(
    postgres_server: Server, tenant: str, tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    objects = objects_at(str(tmp_path / "objects"))
    backend = PostgresBackend(postgres_server.url, tenant, objects=objects)
    backend.session("a").write_originals(NAME, [LONG], NOON)
    [kept] = objects.names()
    of_another = f"{tenant}/ab/ab{'0' * 62}"
    objects.put(of_another, b"what another database names")
    for message in (LONG, {**LONG, "role": "assistant"}):
        with monkeypatch.context() as patched, pytest.raises(Killed):
            patched.setattr(TenantRows, "append", killed)
            backend.session("b").write_originals(NAME, [message], NOON)
    assert len([*objects.names()]) == 3

    assert backend.sweep() == 0
    monkeypatch.setattr(contents, "SETTLED", timedelta(hours=-1))
    with pytest.raises(ObjectsLeft, match="1 object could not be deleted: CONTEXT_COMPRESSION_OBJ"):
        PostgresBackend(postgres_server.url, tenant).sweep()
    assert backend.sweep() == 1

    assert {*objects.names()} == {kept, of_another}
    assert backend.session("a").read_original(NAME, 0) == LONG
    assert backend.sweep() == 0
    assert len(rows_of(postgres_server, tenant, "contents")) == 1


def killed(*_: object, **__: object) -> None:
    raise Killed


def test_objects_that_cannot_be_written_leave_no_row(
    postgres_server: Server, tenant: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    objects = objects_at(str(tmp_path / "file"))
    backend = PostgresBackend(postgres_server.url, tenant, objects=objects)

    with pytest.raises(StoreError):
        backend.session("a").write_originals(NAME, [LONG], NOON)

    assert backend.session("a").rows("events").items == []
    assert rows_of(postgres_server, tenant, "contents") == []


def test_with_a_key_nothing_that_was_said_can_be_read_in_the_tables(
    postgres_server: Server, tenant: str, monkeypatch: MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(contents, "LARGE", 500)
    seal, objects = Seal([b"k" * 32]), objects_at(str(tmp_path / "objects"))
    backend = PostgresBackend(postgres_server.url, tenant, seal=seal, objects=objects)
    store, messages = Store(backend), conversation(12)
    messages[0]["content"] += " The zebracorn is the secret."
    session = Session(store, "talk", settings=SMALL)
    session.fit(messages)
    compress(messages, settings=SMALL, store=store)
    store.add_summary({"session": "talk", "content": "about the zebracorn"})
    store.update_config(lambda values: {**values, "focus": "zebracorn"})

    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    with psycopg.connect(postgres_server.admin) as connection:
        tables = connection.execute(
            "SELECT table_name FROM information_schema.columns "
            "WHERE table_schema = 'context_compression' AND column_name = 'tenant'"
        ).fetchall()
    for [table] in tables:
        for row in rows_of(postgres_server, tenant, table):
            kept += b" ".join(
                each if isinstance(each, bytes) else str(each).encode() for each in row
            )
    assert len(kept) > 50_000
    assert b"zebracorn" not in kept

    ref = next(iter(session.state().refs))
    again = PostgresBackend(postgres_server.url, tenant, seal=seal, objects=objects)
    assert ref in restore_tool(Session(Store(again), "talk")).answer({"ref": ref})
    assert Store(again).verify() == []
    assert [each["content"] for each in Store(again).summaries()] == ["about the zebracorn"]
    without = PostgresBackend(postgres_server.url, tenant)
    with pytest.raises(StoreDamaged, match="CONTEXT_COMPRESSION_KEY is not set"):
        without.session("talk").rows("events")


def test_what_was_written_before_there_was_a_key_and_under_an_older_one_is_read(
    postgres_server: Server, tenant: str
) -> None:
    old, new = b"o" * 32, b"n" * 32
    for number, keys in enumerate(([], [old], [new, old])):
        seal = Seal(keys) if keys else None
        backend = PostgresBackend(postgres_server.url, tenant, seal=seal)
        backend.session("s").write_originals(file_name(NOON, number), [LONG], NOON)
        for before in range(number + 1):
            assert backend.session("s").read_originals(file_name(NOON, before)) == [LONG]


def test_who_has_no_key_adds_nothing_readable_to_what_is_sealed(
    postgres_server: Server, tenant: str
) -> None:
    seal = Seal([b"k" * 32])
    without = PostgresBackend(postgres_server.url, tenant)
    without.session("s").append("events", [EVENT], NOON)
    PostgresBackend(postgres_server.url, tenant, seal=seal).write_document("config", {"a": 1})

    for write in (
        lambda: without.session("s").append("events", [EVENT], NOON),
        lambda: without.session("s").write_originals(NAME, [LONG], NOON),
        lambda: without.add_summary({"session": "s", "content": "secret"}),
        lambda: without.write_document("prompts", {"summary": "secret"}),
    ):
        with pytest.raises(StoreUnwritable, match="encrypted, and CONTEXT_COMPRESSION_KEY is not"):
            write()
    assert without.session("s").rows("events").items == [EVENT]
    assert [*without.summaries()] == [*without.session("s").originals()] == []
    without.remove("s", 0, lambda: None)
    another = without.of_tenant(f"{tenant}-other")
    another.session("s").append("events", [EVENT], NOON)
    PostgresBackend(postgres_server.url, tenant, seal=seal).session("s").append(
        "events", [EVENT], NOON
    )


def test_two_originals_under_one_ref_are_told_and_one_under_two_keys_is_not(
    postgres_server: Server, tenant: str
) -> None:
    old, new = b"o" * 32, b"n" * 32
    message = {"role": "user", "content": "one"}
    [ref], event = archived("one")["refs"], archived("one")
    for session, seal in (("a", None), ("b", Seal([old])), ("c", Seal([new, old]))):
        backend = PostgresBackend(postgres_server.url, tenant, seal=seal)
        backend.session(session).write_originals(NAME, [message], NOON)
        backend.session(session).append("events", [event], NOON)
    store = Store(PostgresBackend(postgres_server.url, tenant, seal=Seal([new, old])))

    hashes = [row[6] for row in rows_of(postgres_server, tenant, "refs")]
    assert len({*hashes}) == 3
    assert [each for each in hashes if each.startswith(ref)] == [digest_of(message)]
    located = store.locate(ref)
    assert located is not None
    assert located.id == "c"

    event["refs"][ref]["sha256"] = "0" * 64
    store.backend.session("d").append("events", [event], NOON)
    with pytest.raises(UnknownRef, match="stands for different things"):
        store.locate(ref)


def test_a_bad_key_or_place_for_objects_is_told_when_the_store_is_opened(
    postgres_server: Server, monkeypatch: MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXT_COMPRESSION_KEY", "too-short")
    with pytest.raises(InvalidSettings, match="CONTEXT_COMPRESSION_KEY is not 32 bytes") as told:
        Store(postgres_server.url)
    assert "too-short" not in str(told.value)
    monkeypatch.delenv("CONTEXT_COMPRESSION_KEY")
    monkeypatch.setenv("CONTEXT_COMPRESSION_OBJECTS", "ftp://somewhere")
    with pytest.raises(InvalidSettings, match="no place for objects"):
        Store(postgres_server.url)


def test_the_address_that_people_see_has_no_user_and_no_password(postgres_server: Server) -> None:
    store = Store(postgres_server.url)
    session = Session(store.of_tenant("acme"), "build")

    for shown in (store.name, repr(store), repr(session), store.place_of_settings):
        assert postgres_server.password not in shown
        assert "worker" not in shown
    assert repr(store) == f"<Store {store.name}>"
    assert repr(session).startswith(f"<Session build in {store.name}, tenant acme, ")


def test_the_command_says_whose_store_in_a_database_it_looked_at(
    postgres_server: Server, tenant: str, tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CONTEXT_COMPRESSION_STORE", postgres_server.url)
    monkeypatch.setenv("CONTEXT_COMPRESSION_TENANT", tenant)
    Session(Store(postgres_server.url).of_tenant(tenant), "build").record(LONG)

    archive, config = (
        CliRunner().invoke(main, words).output for words in (["archive"], ["config", "max_turns=7"])
    )

    assert archive.splitlines()[0].endswith(f"/archive, tenant {tenant}")
    assert re.search(r"(?m)^max_turns +7 +the store +", config)
