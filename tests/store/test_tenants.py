"""Tenants of one store never meet, whatever they do; in a database its own policies see to it."""

import json
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres import Server

from context_compression import Session, Store
from context_compression.errors import StoreError, UnknownRef
from context_compression.store import PostgresBackend
from context_compression.store.postgres.database import SCHEMA

TENANTS = ("acorn", "birch", "cedar")
WITHOUT_TENANT = {"schema_version", "writes"}
"""Tables in which nothing of a tenant stands."""
Operation: TypeAlias = tuple[str, str, str, int]

operations = st.lists(
    st.tuples(
        st.sampled_from(TENANTS),
        st.sampled_from(
            ("record", "offload", "compress", "restore", "config", "summary", "delete", "search")
        ),
        st.sampled_from(("shared", "own")),
        st.integers(0, 3),
    ),
    min_size=6,
    max_size=24,
)


@dataclass
class Tenant:
    """A tenant, and all that its store must hold."""

    name: str
    store: Store
    recorded: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    refs: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    summaries: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def text(self, n: int) -> str:
        """A text of its own, or one that others have, too."""
        return f"words of {self.name if n % 2 else 'everybody'} {n} " + "and so on " * 9

    def does(self, what: str, session: str, n: int, known: Sequence[str]) -> None:
        """Do something, in the store and here."""
        id = session if session == "shared" else f"{self.name}-{n}"
        talk = Session(self.store, id, settings={"token_budget": 1_000, "strategy": "window"})
        match what:
            case "record":
                talk.record({"role": "assistant", "content": self.text(n)})
                self.recorded.setdefault(id, []).append(self.text(n))
            case "offload":
                self.refs.setdefault(id, {})[talk.offload(self.text(n))] = self.text(n)
            case "compress":
                with suppress(StoreError):
                    talk.compress(force=True, target_tokens=100)
            case "restore":
                for ref in known:
                    self.restores(ref)
            case "config":
                self.config |= {"max_turns": n + 2}
                self.store.update_config(lambda values: {**values, "max_turns": n + 2})
            case "summary":
                text = f"{self.text(n)}{len(self.summaries)}"
                self.store.add_summary({"session": id, "content": text})
                self.summaries.insert(0, (id, text))
            case "delete":
                self.store.delete(id)
                self.recorded.pop(id, None)
                self.refs.pop(id, None)
                self.summaries = [each for each in self.summaries if each[0] != id]
            case _:
                self.finds()

    def restores(self, ref: str) -> None:
        """A ref gives the tenant's own original, or nothing."""
        mine = {ref: text for refs in self.refs.values() for ref, text in refs.items()}
        owner = self.store.locate(ref)
        if owner is None:
            assert ref not in mine
            with pytest.raises(UnknownRef):
                Session(self.store, "shared").restore(ref)
        elif ref in mine:
            assert Session(self.store, owner.id).restore(ref, note=False) == mine[ref]

    def finds(self) -> None:
        """A search finds nothing of another tenant."""
        for tenant in TENANTS:
            if tenant != self.name:
                assert not self.store.search(tenant).hits
                assert not self.store.search(pattern=tenant).hits

    def holds_its_own_and_no_more(self) -> None:
        """Whether all that the store shows is what the tenant put there."""
        ids = {*self.recorded, *self.refs}
        assert {*self.store.sessions()} == ids
        for id in ids:
            talk = Session(self.store, id)
            shown = [message["content"] for message in talk.state().recorded]
            assert shown == self.recorded.get(id, [])
            for ref, text in self.refs.get(id, {}).items():
                assert talk.restore(ref, note=False) == text
        assert self.store.read_config() == self.config
        kept = [(each["session"], each["content"]) for each in self.store.summaries()]
        assert [each for each in kept if "words" in each[1]] == self.summaries
        everything = json.dumps([self.store.session(id).events().items for id in ids])
        assert not any(tenant in everything for tenant in TENANTS if tenant != self.name)
        assert self.store.verify() == []


def live(store_of: Callable[[str], Store], steps: Sequence[Operation]) -> None:
    """Let three tenants do these operations."""
    tenants = {name: Tenant(name, store_of(name)) for name in TENANTS}
    for name, what, session, n in steps:
        known = [ref for each in tenants.values() for refs in each.refs.values() for ref in refs]
        tenants[name].does(what, session, n, known)
    for tenant in tenants.values():
        tenant.holds_its_own_and_no_more()


@settings(max_examples=20)
@given(operations)
def test_tenants_of_a_folder_never_meet(steps: Sequence[Operation]) -> None:
    with TemporaryDirectory() as folder:
        live(Store(Path(folder) / "store").of_tenant, steps)


@pytest.mark.slow
def test_tenants_of_a_database_never_meet(postgres_server: Server) -> None:
    @settings(max_examples=25)
    @given(operations)
    def law(steps: Sequence[Operation]) -> None:
        run = secrets.token_hex(4)
        store = Store(postgres_server.url)
        live(lambda name: store.of_tenant(f"{name}.{run}"), steps)

    law()


def test_the_policies_of_the_database_hide_other_tenants_from_any_statement(
    postgres_server: Server,
) -> None:
    run = secrets.token_hex(4)
    mine, other = f"mine-{run}", f"other-{run}"
    for name in (mine, other):
        tenant = Tenant(name, Store(PostgresBackend(postgres_server.url, name)))
        for what in ("record", "offload", "config", "summary"):
            tenant.does(what, "shared", 1, ())
        log = tenant.store.session("shared")
        log.write_originals(1, "2026-11-21T12:00:00Z", [{"role": "user", "content": name}])
        log.append_ledger([{"text": name}])
        with psycopg.connect(postgres_server.admin, autocommit=True) as admin:
            admin.execute(f"INSERT INTO {SCHEMA}.pending VALUES ('{name}', '1')".encode())

    with psycopg.connect(postgres_server.guest(), autocommit=True) as worker:
        found = worker.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [SCHEMA])
        tables = {f"{SCHEMA}.{name}" for [name] in found if name not in WITHOUT_TENANT}
        assert len(tables) >= 7

        def rows(table: str, condition: str = "true") -> int:
            query = f"SELECT count(*) FROM {table} WHERE {condition}"
            return worker.execute(query.encode()).fetchall()[0][0]

        assert {rows(table) for table in tables} == {0}
        worker.execute("SELECT set_config('context_compression.tenant', %s, false)", [mine])
        for table in tables:
            assert rows(table) > 0
            assert rows(table, f"tenant <> '{mine}'") == 0
            for statement in (
                f"INSERT INTO {table} (tenant) VALUES ('{other}')",
                f"UPDATE {table} SET tenant = '{other}'",
            ):
                refusal = r"row-level security|only added|permission denied"
                with pytest.raises(psycopg.DatabaseError, match=refusal):
                    worker.execute(statement.encode())
            with suppress(psycopg.errors.ForeignKeyViolation):
                worker.execute(f"DELETE FROM {table} WHERE tenant <> '{mine}'".encode())
    assert Tenant(other, Store(PostgresBackend(postgres_server.url, other))).store.verify() == []
    with psycopg.connect(postgres_server.admin) as admin:
        for table in tables:
            query = f"SELECT count(*) FROM {table} WHERE tenant = '{other}'"
            assert admin.execute(query.encode()).fetchall()[0][0] > 0
