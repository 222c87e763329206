"""A damaged database: every column of every table is changed, cut, swapped; every row is lost.

What is damaged is told by name, or nothing has changed. Nothing comes back as something else.
"""

import json
import os
import secrets
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres import Server
from psycopg import sql

from context_compression import Session, Store
from context_compression.errors import ContextCompressionError
from context_compression.store import PostgresBackend
from context_compression.store.objects import objects_at
from context_compression.store.postgres.rows import LARGE
from context_compression.store.sealing import Seal
from context_compression.testing import Run, tool_step

pytestmark = pytest.mark.slow

KEYS = Seal([bytes([7]) * 32])
TABLES = (
    "sessions", "rows", "contents", "archives", "refs", "summaries", "documents", "shelves",
    "texts", "lexemes", "pending", "written",
)  # fmt: skip
KEPT = ("rows", "contents", "archives", "refs", "summaries", "documents")
OF_SEARCH = ("shelves", "texts", "lexemes", "pending")
"""They are made from the others, so their damage may lose a hit, untold."""
UNTOLD = {
    ("sessions", "created_at"), ("sessions", "other_bytes"), ("sessions", "written"),
    ("sessions", "event_bytes"), ("contents", "uses"), ("contents", "size"), ("contents", "tenant"),
    ("sessions", "summaries"), ("refs", "is_message"), ("refs", "sha256"), ("refs", "place"),
}  # fmt: skip
"""Numbers for people and order, and what only finds others: nothing that was kept is changed."""
UNKNOWN = {
    ("sessions", "tenant"), ("sessions", "id"), ("summaries", "tenant"), ("summaries", "session"),
    ("documents", "tenant"), ("documents", "name"), ("written", "tenant"),
}  # fmt: skip
"""What says whose a row is: without it the row is as if it had never been."""
SMALL = {"max_tool_output": 200, "offload_min_tokens": 50, "offload_preview_tokens": 10}
TALK = [
    {"role": "user", "content": "Why is the build slow?"},
    *tool_step([Run("a", "Bash", {"command": "make"}, "one part done\n" * 60)], "anthropic"),
    *tool_step(
        [Run("b", "Bash", {"command": "make"}, "another done\n" * (LARGE // 10))], "anthropic"
    ),
    *tool_step(
        [Run("c", "Bash", {"command": "make"}, "a third done\n" * (LARGE // 10))], "anthropic"
    ),
    {"role": "assistant", "content": "It is the linker."},
    {"role": "user", "content": "Go on."},
]
BAD = (b"", b"null", b"[]", b"{}", b"7", b"\x00", b"\x01", b"\xff\xfe", b'{"a":')


class Damaged:
    """A tenant's store whose tables can be damaged and brought back."""

    def __init__(self, server: Server, folder: Path, *, sealed: bool) -> None:
        self.server, self.folder = server, folder
        self.seal = KEYS if sealed else None
        self.tenant = f"t-{secrets.token_hex(8)}"
        session = Session(self.store(), "s", settings=SMALL)
        session.record(*TALK)
        assert session.compress(strategy="offload", target_tokens=300).changed
        session.offload("a text of its own")
        session.store.add_summary(
            {"session": "s", "content": "sum", "created_at": "2026-01-01T00:00:00Z"}
        )
        session.store.update_config(lambda values: {**values, "keep_recent": 5})
        self.admin = psycopg.connect(server.admin, autocommit=True)
        self.admin.execute("SET session_replication_role = replica")
        self.admin.execute("SET search_path = context_compression")
        for table in TABLES:
            self.run("CREATE TEMP TABLE {copy} AS SELECT * FROM {table} WHERE tenant = %s", table)

    def run(self, query: str, table: str, *values: Any, column: str = "tenant") -> list[Any]:
        """Run a statement on the tenant's rows of a table."""
        names = {
            "table": sql.Identifier(table),
            "copy": sql.Identifier(f"copy_of_{table}"),
            "column": sql.Identifier(column),
        }
        composed = sql.SQL(query).format(**names)  # pyright: ignore[reportArgumentType]  # takes only literals
        found = self.admin.execute(composed, [*values, self.tenant])
        return found.fetchall() if found.description else []

    def columns(self, table: str) -> list[tuple[str, str]]:
        """The columns of a table, and their types."""
        return self.admin.execute(
            "SELECT column_name, udt_name FROM information_schema.columns WHERE table_name = %s "
            "AND table_schema = 'context_compression' ORDER BY ordinal_position",
            [table],
        ).fetchall()

    def changed(self, table: str, column: str, kind: str, value: Any, other: Any) -> bool:
        """Put another value in the first row with a value; `False` if the database refuses it."""
        typed = f"%s::{kind}"
        try:
            self.run(
                f"UPDATE {{table}} SET {{column}} = {typed} "
                "WHERE ctid = (SELECT ctid FROM {table} "
                f"WHERE {{column}} IS NOT DISTINCT FROM {typed} AND tenant = '{self.tenant}' "
                "LIMIT 1) AND tenant = %s",
                table, other, value, column=column,
            )  # fmt: skip
        except psycopg.Error:
            return False
        return True

    @contextmanager
    def brought_back(self, table: str) -> Generator[None]:
        """Whatever is done to a table is undone."""
        try:
            yield
        finally:
            for tenant in ("", "elsewhere", f"{self.tenant}x"):
                gone = "DELETE FROM {table} WHERE tenant IN (%s, %s)"
                self.run(gone, table, tenant)
            self.run(
                "INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT * FROM {copy} "
                "WHERE tenant = %s",
                table,
            )

    def store(self) -> Store:
        """As another process would see it."""
        objects = objects_at(str(self.folder))
        return Store(PostgresBackend(self.server.url, self.tenant, seal=self.seal, objects=objects))

    def everything(self) -> dict[str, Any]:
        """All that the store says, read anew; an error of ours in place of what is damaged."""
        store = self.store()
        session = Session(store, "s")
        found: dict[str, Any] = {}

        def look(name: str, reads: Any) -> None:
            try:
                found[name] = json.dumps(reads(), sort_keys=True, default=str)
            except ContextCompressionError as error:
                found[name] = error

        look("view", session.view)
        look("recorded", lambda: session.state().recorded)
        look("summaries", lambda: [*store.summaries()])
        look("config", store.read_config)
        for ref in self.refs if hasattr(self, "refs") else session.state().refs:
            look(ref, lambda ref=ref: session.original(ref))
        return found

    def remember(self) -> None:
        """The refs, and all that is said while nothing is damaged."""
        self.refs = [*Session(self.store(), "s").state().refs]
        assert len(self.refs) > 2
        self.sound = self.everything()
        assert not self.store().verify()

    def check(self, what: str, counts: "Counter[str]", *, tells: bool = True) -> None:
        """Whether damage is told, and nothing is given as something else."""
        now, told = self.everything(), self.store().verify()
        self.store().search("done", session="s")
        for name, value in now.items():
            whole = value == self.sound[name]
            if name in self.refs:
                assert isinstance(value, ContextCompressionError) or whole, (what, name)
            elif not whole:
                assert isinstance(value, ContextCompressionError) or told, (what, name, value)
        differing = {name for name in now if now[name] != self.sound[name]}
        if differing or (tells and now == self.sound):
            assert told, (what, differing)
        counts["told" if told else "nothing changed"] += 1


def others(kind: str, value: Any) -> Iterator[Any]:
    """Other values of a column's type."""
    match kind, value:
        case "bytea", bytes():
            for at in (0, 1, len(value) // 2, len(value) - 1):
                # not the bit of a letter's case, which means nothing in a hexadecimal number
                yield b"%b%c%b" % (value[:at], value[at] ^ 0x01, value[at + 1 :])
            yield value[: len(value) // 2]
            yield from BAD
        case "text", str() | None:
            yield from ("", "elsewhere", f"{value}x")
        case "bool", _:
            yield not value
        case "_int8", list():
            yield from ([], value[:-1], value[::-1], [*value, 2**40], [2**40])
        case "tsvector", _:
            yield "'other':1"
        case (("int8" | "int4"), _):
            yield from {0, -1, (value or 0) + 1, 2**31 - 1} - {value}
        case _:
            pass


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "sealed"])
def damaged(
    request: pytest.FixtureRequest,
    postgres_server: Server,
    tmp_path_factory: pytest.TempPathFactory,
) -> Generator[Damaged]:
    store = Damaged(postgres_server, tmp_path_factory.mktemp("objects"), sealed=request.param)
    with store.admin:
        store.remember()
        yield store


@pytest.mark.parametrize("table", TABLES)
def test_damage_of_every_column_is_told_or_changes_nothing(damaged: Damaged, table: str) -> None:
    counts = Counter[str]()
    for column, kind in damaged.columns(table):
        found = damaged.run(
            "SELECT {column} FROM {table} WHERE tenant = %s ORDER BY 1", table, column=column
        )
        if not found or (table, column) in UNKNOWN:
            continue
        [value] = found[len(found) // 2]
        for other in others(kind, value):
            with damaged.brought_back(table):
                if damaged.changed(table, column, kind, value, other):
                    tells = table not in OF_SEARCH and (table, column) not in UNTOLD
                    damaged.check(f"{table}.{column} = {other!r:.60}", counts, tells=tells)
    print(table, dict(counts))


@pytest.mark.parametrize("table", ("rows", "refs"))
def test_a_row_with_the_body_of_another_is_told(damaged: Damaged, table: str) -> None:
    counts = Counter[str]()
    column = "entry" if table == "refs" else "body"
    query = "SELECT {column} FROM {table} WHERE tenant = %s AND {column} IS NOT NULL ORDER BY 1"
    bodies = [body for [body] in damaged.run(query, table, column=column)]
    for value, other in zip(bodies, [*bodies[1:], bodies[0]], strict=True):
        with damaged.brought_back(table):
            assert damaged.changed(table, column, "bytea", value, other)
            damaged.check(f"{table} with the body of another", counts)
    assert counts == {"told": len(bodies)}


@pytest.mark.parametrize("table", ("rows", "refs", "summaries", "documents"))
def test_fields_that_are_gone_or_of_another_type_are_told(damaged: Damaged, table: str) -> None:
    counts = Counter[str]()
    column = "entry" if table == "refs" else "body"
    query = "SELECT {column} FROM {table} WHERE tenant = %s"
    for [body] in damaged.run(query, table, column=column):
        if body.startswith(b"\x01"):
            continue  # sealed
        fields = {key: value for key, value in json.loads(body).items() if key != "crc32"}
        for name in fields:
            values = [value for value in (None, "x", -1, ["a"]) if value != fields[name]]
            changed = ({**fields, name: value} for value in values)
            without = {key: value for key, value in fields.items() if key != name}
            for damage in map(json.dumps, (without, *changed)):
                with damaged.brought_back(table):
                    assert damaged.changed(table, column, "bytea", body, damage.encode())
                    damaged.check(f"{table} with {damage:.60}", counts)
    assert set(counts) <= {"told"}


@pytest.mark.parametrize(
    "table", ("rows", "contents", "archives", "refs", "summaries", "documents")
)
def test_a_lost_row_is_told(damaged: Damaged, table: str) -> None:
    counts = Counter[str]()
    number = len(damaged.run("SELECT 1 FROM {table} WHERE tenant = %s", table))
    for place in range(number):
        with damaged.brought_back(table):
            damaged.run(
                "DELETE FROM {table} WHERE ctid = (SELECT ctid FROM {table} "
                f"WHERE tenant = '{damaged.tenant}' ORDER BY {{table}}::text "
                f"OFFSET {place} LIMIT 1) AND tenant = %s",
                table,
            )
            damaged.check(f"{table} without row {place}", counts)
    assert counts == {"told": number}


@pytest.mark.parametrize("tables", (*[[table] for table in KEPT], [*KEPT[-2:]]), ids=str)
def test_all_rows_lost_at_once_are_told(damaged: Damaged, tables: list[str]) -> None:
    with ExitStack() as after:
        for table in tables:
            after.enter_context(damaged.brought_back(table))
            damaged.run("DELETE FROM {table} WHERE tenant = %s", table)

        assert damaged.store().verify()


def test_what_is_deleted_with_a_session_is_not_lost(postgres_server: Server) -> None:
    backend = PostgresBackend(postgres_server.url, f"t-{secrets.token_hex(8)}")
    for id in ("s", "other"):
        session = Session(Store(backend), id)
        session.record(*TALK[:2])
        session.store.add_summary({"session": id, "content": "sum"})

    Session(Store(backend), "s").delete()

    assert not Store(backend).verify()
    assert [each["session"] for each in Store(backend).summaries()] == ["other"]


def test_objects_swapped_cut_missing_or_of_another_kind_are_told(damaged: Damaged) -> None:
    counts = Counter[str]()
    one, other, *_ = sorted(path for path in damaged.folder.rglob("*") if path.is_file())
    sound, second = one.read_bytes(), other.read_bytes()

    def swap() -> None:
        one.write_bytes(second)
        other.write_bytes(sound)

    def become(what: Callable[[], object]) -> None:
        one.unlink()
        what()

    for name, damage in (
        ("swapped", swap),
        ("cut", lambda: one.write_bytes(sound[:100])),
        ("empty", lambda: one.write_bytes(b"")),
        ("missing", one.unlink),
        ("a folder", lambda: become(one.mkdir)),
        ("a link", lambda: become(lambda: one.symlink_to("/etc/hostname"))),
        ("a pipe", lambda: become(lambda: os.mkfifo(one))),
    ):
        damage()
        damaged.check(f"an object is {name}", counts)
        if one.is_dir() and not one.is_symlink():
            one.rmdir()
        else:
            one.unlink(missing_ok=True)
        one.write_bytes(sound)
        other.write_bytes(second)
    assert counts == {"told": 7}
