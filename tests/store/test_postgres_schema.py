"""The tables of a database are made once, whoever begins, and are never half made."""

import secrets
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Barrier
from typing import Any

import psycopg
import pytest
from postgres import DATABASE, ROLE, Server

from context_compression import Store
from context_compression.errors import StoreDamaged, StoreError, StoreTooNew, StoreUnwritable
from context_compression.hosts import check_database
from context_compression.store import PostgresBackend
from context_compression.store.postgres import database as in_database
from context_compression.store.postgres.connections import TenantConnection

pytestmark = pytest.mark.slow

MESSAGE = {"type": "message", "message": {"role": "user", "content": "hello"}}
KILL = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{ROLE}'"


@contextmanager
def database(server: Server, options: str = "") -> Generator[str]:
    """The address of a new database, which is dropped in the end."""
    name = f"d{secrets.token_hex(6)}"
    with psycopg.connect(server.admin, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} OWNER {ROLE} {options}".encode())
        try:
            yield server.url.replace(f"/{DATABASE}", f"/{name}")
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def as_admin(server: Server, url: str, *statements: str) -> None:
    """Run statements in the database of an address."""
    address = server.admin.replace(f"/{DATABASE}", url[url.rindex("/") :])
    with psycopg.connect(address, autocommit=True) as admin:
        for statement in statements:
            admin.execute(statement.encode())


def tables(server: Server, url: str) -> int:
    address = server.admin.replace(f"/{DATABASE}", url[url.rindex("/") :])
    with psycopg.connect(address) as admin:
        query = "SELECT count(*) FROM pg_tables WHERE schemaname = %s"
        [[number]] = admin.execute(query, [in_database.SCHEMA])
        return number


def test_programs_that_begin_at_once_make_the_tables_once(postgres_server: Server) -> None:
    together = Barrier(6)

    def begin(url: str) -> int:
        with TenantConnection.connect(url, autocommit=True) as connection:
            assert in_database.version(connection) == 0
            together.wait()
            in_database.prepare(connection, "here")
            return in_database.version(connection)

    for _ in range(3):
        with database(postgres_server) as url, ThreadPoolExecutor(6) as pool:
            assert [*pool.map(begin, [url] * 6)] == [in_database.VERSION] * 6


def test_a_migration_that_is_killed_leaves_nothing(
    postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database(postgres_server) as url:
        execute = TenantConnection.execute

        def killed(self: TenantConnection, query: Any, *arguments: Any) -> Any:
            if str(query).startswith("UPDATE"):
                as_admin(postgres_server, url, KILL)
            return execute(self, query, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(TenantConnection, "execute", killed)
            with (
                suppress(psycopg.OperationalError),
                TenantConnection.connect(url, autocommit=True) as connection,
            ):
                in_database.prepare(connection, "here")
        assert tables(postgres_server, url) == 0

        Store(url).session("s").append(MESSAGE)
        assert tables(postgres_server, url) > 0


def test_tables_of_a_newer_version_are_left_alone(postgres_server: Server) -> None:
    with database(postgres_server) as url:
        Store(url).session("s").append(MESSAGE)
        as_admin(
            postgres_server, url, f"UPDATE {in_database.SCHEMA}.schema_version SET version = 999"
        )

        store = fresh(url)
        with pytest.raises(StoreTooNew, match="made by a newer context-compression"):
            store.session("s").append(MESSAGE)
        assert any("newer context-compression" in problem for problem in store.verify())

        as_admin(
            postgres_server, url,
            f"UPDATE {in_database.SCHEMA}.schema_version SET version = {in_database.VERSION}",
        )  # fmt: skip
        assert len(store.session("s").events().items) == 1


def fresh(url: str) -> Store:
    """A store as another process opens it."""
    backend = PostgresBackend(url)
    backend.database.close()
    return Store(backend)


def test_a_role_that_may_create_nothing_works_where_the_tables_are(postgres_server: Server) -> None:
    with database(postgres_server) as url:
        guest = f"g{secrets.token_hex(4)}"
        theirs = url.replace(f"{ROLE}:{postgres_server.password}", f"{guest}:gu3st-pass")
        as_admin(postgres_server, url, f"CREATE ROLE {guest} LOGIN PASSWORD 'gu3st-pass'")

        with pytest.raises(StoreUnwritable, match=r"may not make the tables .* grant CREATE"):
            Store(theirs).session("s").append(MESSAGE)
        Store(url).session("s").append(MESSAGE)
        with pytest.raises(StoreError, match="permission denied"):
            Store(theirs).session("s").append(MESSAGE)
        as_admin(
            postgres_server, url,
            f"GRANT USAGE ON SCHEMA {in_database.SCHEMA} TO {guest}",
            f"GRANT ALL ON ALL TABLES IN SCHEMA {in_database.SCHEMA} TO {guest}",
        )  # fmt: skip
        store = Store(theirs)
        store.session("s").append(MESSAGE)

        assert len(store.session("s").events().items) == 2
        assert store.verify() == []
        as_admin(postgres_server, url, f"DROP OWNED BY {guest}", f"DROP ROLE {guest}")


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_of_another_encoding_is_refused(postgres_server: Server, encoding: str) -> None:
    options = f"TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'"
    with database(postgres_server, options) as url:
        [found] = check_database(url)

        with pytest.raises(
            StoreUnwritable, match=f"has the encoding {encoding}, .* ENCODING 'UTF8"
        ):
            fresh(url).session("s").append(MESSAGE)
        assert (found.ok, encoding in found.says) == (False, True)
        assert tables(postgres_server, url) == 0
        PostgresBackend(url).database.close()


def test_an_address_cannot_set_another_encoding_for_what_is_sent(postgres_server: Server) -> None:
    with database(postgres_server) as url:
        store = Store(f"{url}?client_encoding=latin1")
        store.session("s").append({"type": "note", "text": "我们"})

        assert store.search("anything").hits == ()
        assert store.session("s").events().items == [{"type": "note", "text": "我们"}]
        assert isinstance(store.backend, PostgresBackend)
        store.backend.database.close()


def test_tables_without_a_version_are_told(postgres_server: Server) -> None:
    with database(postgres_server) as url:
        Store(url).session("s").append(MESSAGE)
        as_admin(postgres_server, url, f"DELETE FROM {in_database.SCHEMA}.schema_version")

        with pytest.raises(StoreDamaged, match="schema_version has 0 rows instead of one"):
            fresh(url).session("s").append(MESSAGE)
        PostgresBackend(url).database.close()


def test_only_the_owner_of_the_tables_changes_their_version(postgres_server: Server) -> None:
    Store(postgres_server.url).sessions()
    table = f"{in_database.SCHEMA}.schema_version"
    change = f"UPDATE {table} SET version = 0".encode()
    guest = postgres_server.guest()
    as_admin(postgres_server, postgres_server.url, f"GRANT TRUNCATE ON {table} TO PUBLIC")
    shadow = (
        "CREATE TEMPORARY TABLE pg_class AS SELECT oid, "
        "(SELECT oid FROM pg_catalog.pg_roles WHERE rolname = current_user) AS relowner "
        "FROM pg_catalog.pg_class"
    )

    for statement in (change, f"TRUNCATE {table}".encode()):
        with (
            psycopg.connect(guest) as worker,
            pytest.raises(psycopg.errors.InsufficientPrivilege, match="only the owner of schema_v"),
        ):
            worker.execute(shadow)
            worker.execute("SET search_path = pg_temp, pg_catalog")
            worker.execute(statement)
    with psycopg.connect(postgres_server.url) as owner:
        owner.execute(change)
        owner.rollback()
