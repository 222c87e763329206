"""Connections to a database: its address, pools, time limits, and transactions made once.

A transaction that is made exactly once, also if the connection is lost at its COMMIT. Each leaves a
mark of its own in the table `writes`. One that is run again does nothing if its mark is there
already: it was committed, and only the answer was lost. The number that PostgreSQL gives a
transaction would not tell that, because after a crash another transaction may get the same number.
"""

import logging
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from threading import RLock
from time import monotonic
from typing import Any, Generic, LiteralString, Self, TypeAlias, TypeVar
from urllib.parse import quote
from uuid import UUID, uuid4

import psycopg
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool

from context_compression.errors import StoreError
from context_compression.store.location import FORM

DEFAULTS: Mapping[str, str] = {
    "application_name": "context-compression",
    "connect_timeout": "5",
    "keepalives_idle": "30",
    "tcp_user_timeout": "15000",
}
"""Parameters of libpq that an address may set otherwise; times in s, but the last in ms."""
ENCODING = {"client_encoding": "UTF8"}
"""What no address and no variable of libpq may set otherwise."""
SECRETS = ("password", "sslpassword", "passfile", "sslkey")
"""Parameters whose values are never shown."""
NO_ADDRESS = (
    f"The address of the database is not one that PostgreSQL knows. It has the form {FORM}; in "
    "user and password write other characters than letters and digits as %XX. It is not repeated "
    "here, because it may hold a password."
)


@dataclass(frozen=True)
class Address:
    """Where a database is.

    Attributes:
        parameters: of libpq, by name.
        shown: the address without user, password and parameters.
    """

    parameters: Mapping[str, str] = field(repr=False)
    shown: str

    @classmethod
    def read(cls, url: str) -> "Address":
        """The address in a URL.

        Raises:
            StoreError: libpq does not understand it. The error does not quote it.
        """
        if "\0" in url:  # libpq would read no further
            raise StoreError(NO_ADDRESS)
        try:
            given = conninfo_to_dict(url)
        except (ProgrammingError, UnicodeError):
            raise StoreError(NO_ADDRESS) from None
        parameters = {name: str(value) for name, value in given.items() if value is not None}
        if not _is_complete(parameters):
            raise StoreError(NO_ADDRESS)
        return cls({**DEFAULTS, **parameters, **ENCODING}, _shown(parameters))

    def without_secrets(self, text: str) -> str:
        """A text in which no secret of this address stands."""
        for secret in filter(None, map(self.parameters.get, SECRETS)):
            for form in (secret, quote(secret), quote(secret, safe="")):
                text = text.replace(form, "***")
        return text


def _is_complete(parameters: Mapping[str, str]) -> bool:
    """Whether no part of a password stands elsewhere, as after `@`, `/` or `:` in one."""
    ports = parameters.get("port", "").replace(",", "")
    elsewhere = (parameters.get(name, "") for name in ("host", "dbname"))
    return (ports.isdecimal() or not ports) and not any("@" in part for part in elsewhere)


def _shown(parameters: Mapping[str, str]) -> str:
    """`postgresql://[::1]:5432,db.example.com/archive`, without user, password and parameters."""
    hosts = parameters.get("host") or parameters.get("hostaddr") or "localhost"
    ports = parameters.get("port", "").split(",")
    names = hosts.split(",")
    if len(ports) == 1:  # it is that of all hosts
        ports *= len(names)
    where = ",".join(_host(*each) for each in zip_longest(names, ports, fillvalue=""))
    return f"postgresql://{where}/{quote(parameters.get('dbname', ''))}"


def _host(name: str, port: str) -> str:
    shown = "localhost" if name.startswith("/") else quote(name, safe=":")
    shown = f"[{shown}]" if ":" in shown else shown
    return f"{shown}:{port}" if port else shown


Result = TypeVar("Result")

LOST = (psycopg.OperationalError, psycopg.InterfaceError)
"""Errors of a connection, or of a server that is away."""
STATEMENT_SECONDS = 30
"""How long the server works on one statement."""
ANSWER_SECONDS = STATEMENT_SECONDS + 5.0
"""How long an answer is waited for; then the server, or the way to it, is taken for stuck."""
AT_ONCE_SECONDS = 3.0
"""How long an answer is waited for that needs no work."""
SETTINGS = """SELECT set_config('context_compression.tenant', %s, false),
set_config('search_path', 'context_compression, public', false),
set_config('statement_timeout', %s, false),
set_config('idle_in_transaction_session_timeout', '60s', false),
set_config('tcp_keepalives_idle', '30', false),
set_config('tcp_keepalives_interval', '10', false),
set_config('tcp_keepalives_count', '3', false),
set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false)"""
"""What each connection begins with. The locks of a machine that vanished are free in a minute. No
statement needs to read a whole table, or to be compiled; what the planner knows of words would
mislead it to that.
"""


class TenantConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that remembers for which tenant it works.

    Attributes:
        patience: seconds to wait for an answer; `None` for ever.
        written: the mark of the last write, which nobody needs any more.
    """

    tenant: str | None = None
    patience: float | None = ANSWER_SECONDS
    written: UUID | None = None

    def work_for(self, tenant: str) -> None:
        """Let the policies of the database show this tenant's rows only."""
        if self.tenant != tenant:
            self.tenant = None
            self.execute(SETTINGS, [tenant, f"{STATEMENT_SECONDS}s"])
            self.tenant = tenant

    def at_once(self, query: LiteralString, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The rows of a statement that never takes long; an event loop may be waiting for it."""
        patience, self.patience = self.patience, AT_ONCE_SECONDS
        try:
            return self.execute(query, parameters).fetchall()
        finally:
            self.patience = patience

    def wait(self, gen: Any, *arguments: Any, **more: Any) -> Any:
        """What a statement returns.

        Raises:
            OperationalError: the server gave no answer; the connection is closed.
        """
        if self.patience is not None:
            gen = self._limited(gen, self.patience)
        return super().wait(gen, *arguments, **more)

    def _limited(self, gen: Any, seconds: float) -> Generator[Any, Any, Any]:
        until, ready = monotonic() + seconds, None
        try:
            while True:
                ready = yield gen.send(ready)
                if not ready and monotonic() > until:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(f"there was no answer for {seconds:g} s")
        except StopIteration as end:
            return end.value


Connection: TypeAlias = TenantConnection


class Holder:
    """A connection, and the names of the locks that are held on it. They end with it.

    The work that took a lock writes over this connection, so nothing is written under a lock that
    somebody else may have by now.
    """

    def __init__(
        self, owner: object, connection: Connection, give_back: Callable[[Connection], object]
    ) -> None:
        """A connection of `owner`, that is given back when its last lock is released."""
        self.owner, self.connection = owner, connection
        self.names: set[str] = set()
        self._give_back: Callable[[Connection], object] | None = give_back
        self._process, self._guard = os.getpid(), RLock()

    def holds_for(self, owner: object) -> bool:
        """Whether it holds a lock of `owner` in this process, not in the parent of a fork."""
        return bool(self.names) and self.owner is owner and self._process == os.getpid()

    @property
    def is_lost(self) -> bool:
        """Whether the connection was lost or given back, and all its locks with it."""
        return self._give_back is None or self.connection.closed

    def take(self, name: str) -> bool:
        """Whether the lock `name` was free, and is held now."""
        query = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"
        with self._guard:
            if name in self.names:
                return False  # the server would give it to the same connection again
            try:
                [[taken]] = self.use(lambda used: used.at_once(query, [name]))
            except BaseException:
                self._end_if_unused(broken=True)
                raise
            if taken:
                self.names.add(name)
            else:
                self._end_if_unused()
            return taken

    def release(self, name: str) -> None:
        """Let go of a lock, and of the connection with its last one."""
        query = "SELECT pg_advisory_unlock(hashtextextended(%s, 0))"
        with self._guard:
            self.names.discard(name)
            broken = True
            try:
                self.use(lambda connection: connection.execute(query, [name]))
                broken = False
            except LOST:
                pass  # it is free, then
            finally:
                self._end_if_unused(broken)

    def use(self, work: Callable[[Connection], Result]) -> Result:
        """The result of statements over the connection; others wait meanwhile."""
        with self._guard:
            if self._give_back is None:  # somebody else has the connection by now
                raise psycopg.InterfaceError("the locks of this connection ended")
            return work(self.connection)

    def _end_if_unused(self, broken: bool = False) -> None:
        give_back = None if self.names else self._give_back
        if give_back is not None:
            self._give_back = None
            if broken:
                self.connection.close()
            give_back(self.connection)


_MARK = """
WITH reported AS (DELETE FROM writes WHERE mark = %s)
INSERT INTO writes (mark) VALUES (%s) ON CONFLICT DO NOTHING
"""


class OneTransaction(Generic[Result]):
    """A transaction that is made once, however often it is run.

    Attributes:
        result: of the last run.
        may_be_committed: whether a run came to its end, so that only the answer may be missing.
    """

    result: Result

    def __init__(self, work: Callable[[Connection], Result]) -> None:
        self.may_be_committed = False
        self._work, self._mark = work, uuid4()

    def run(self, connection: Connection) -> Result:
        """Run it, unless an earlier run was committed.

        A run that the server has not given up yet is waited for, by the key of the mark.
        """
        with connection.transaction():
            if self._is_new(connection):
                self.may_be_committed = False
                self.result = self._work(connection)
                self.may_be_committed = True
        connection.written = self._mark
        return self.result

    def was_committed(self, connection: Connection) -> bool:
        """Whether an earlier run was committed; if not, none will be."""
        return not self._is_new(connection)

    def _is_new(self, connection: Connection) -> bool:
        return bool(connection.execute(_MARK, [connection.written, self._mark]).rowcount)


POOLED, POOLED_LOCKS = 16, 32
"""The most connections of one process for statements, and for locks."""
WAIT_SECONDS = 2.0
"""How long a statement waits for a free connection, before it is asked whether the server is."""
IDLE_SECONDS = 300.0
"""How long an unused connection stays open."""
NAME = "context-compression"
"""The name of our pools."""


@dataclass(frozen=True)
class Pools:
    """The pools of one process: a child of a fork must not use those of its parent."""

    process: int
    statements: "ConnectionPool[Connection]"
    locks: "ConnectionPool[Connection]"

    @classmethod
    def of(cls, address: Address) -> Self:
        """The pools of this process. They open a connection when one is asked for."""
        return cls(os.getpid(), _pool(address, POOLED), _pool(address, POOLED_LOCKS))

    @property
    def has_no_more_locks(self) -> bool:
        """Whether all connections for locks are in use."""
        stats = self.locks.get_stats()
        return stats["pool_size"] >= POOLED_LOCKS and not stats["pool_available"]

    def check(self) -> None:
        """Drop connections that were lost."""
        self.statements.check()
        self.locks.check()

    def close(self) -> None:
        """Close all connections."""
        self.statements.close()
        self.locks.close()


def _pool(address: Address, most: int) -> "ConnectionPool[Connection]":
    return ConnectionPool(
        connection_class=Connection,
        kwargs={**address.parameters, "autocommit": True},
        name=NAME,
        min_size=0,
        max_size=most,
        max_idle=IDLE_SECONDS,
        timeout=WAIT_SECONDS,
        reconnect_timeout=0,  # who asks for a connection waits for the server
        open=True,
    )


def _is_of_others(record: logging.LogRecord) -> bool:
    """Whether a record is not about our pools: of those we tell in our words."""
    told = record.args if isinstance(record.args, tuple) else ()
    return not any(each == NAME or isinstance(each, Connection) for each in told)


logging.getLogger("psycopg.pool").addFilter(_is_of_others)
