"""One database: its tables, transactions that are retried where that is safe, and locks.

The tables are made and changed by the numbered files in `migrations/`.

A transaction whose connection was lost is run again, and never made twice: see `connections`.
What is written under a lock goes over the connection that holds it. If that is lost, so is the
lock, and the rest is not written. A server that is away is told within seconds, and for a moment
after that at once, because an agent waits for the answer.
"""

import atexit
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.resources import files as package_files
from random import uniform
from threading import Lock
from time import monotonic, sleep
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout

from context_compression.errors import (
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreTooNew,
    StoreUnreachable,
    StoreUnwritable,
)
from context_compression.store.backend import LOCK_SECONDS
from context_compression.store.postgres.connections import (
    LOST,
    POOLED,
    POOLED_LOCKS,
    WAIT_SECONDS,
    Address,
    Connection,
    Holder,
    OneTransaction,
    Pools,
)

Result = TypeVar("Result")
Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any]

RETRY_SECONDS = 5.0
"""How long lost connections are made again before the error is raised."""
AWAY_SECONDS = 5.0
"""How long after a failure to connect no other attempt is made."""
PROBE_SECONDS = 2
"""How long an attempt may take that finds out whether the server is back."""
POLL_SECONDS = 0.1
"""The longest pause before a lock is tried again."""
AGAIN = (errors.SerializationFailure, errors.DeadlockDetected)
"""Errors after which the same transaction may succeed."""
REFUSALS = (
    "authentication failed", "does not exist", "no pg_hba.conf entry", "permission denied",
    "no password supplied", "not permitted to log in", "does not support SSL", "not found",
    "is not read-only", "is not in hot standby mode", "certificate ", "invalid ", "unrecognized ",
    "encryption required", "binding required", "server requested ", "could not parse ",
)  # fmt: skip
"""Words for a server that lets nobody in, and for parameters with which nobody can get in. Each has
a space, because a host may be called `db.invalid`."""
GRANT = " Let the owner of the tables grant it to this role."
HOLDERS: ContextVar[tuple[Holder, ...]] = ContextVar("HOLDERS", default=())
"""The connections of the locks that this thread, or this task, holds."""
_OLD_MARKS = "DELETE FROM context_compression.writes WHERE at < now() - interval '1 day'"


class Database:
    """The database at an address. Several threads may use it."""

    def __init__(self, address: Address) -> None:
        """The database; no connection is opened yet."""
        self.address = address
        self._pools: Pools | None = None
        self._making = Lock()
        self._away: tuple[float, str] = (0.0, "")

    @classmethod
    def at(cls, url: str) -> "Database":
        """The database at a URL; the same object in all of a process, until that ends.

        Its pools must be closed by a thread of the program, never by one of their own.
        """
        with _GUARD:
            if (known := _KNOWN.get(url)) is None:
                known = _KNOWN[url] = cls(Address.read(url))
            return known

    def read(self, tenant: str, query: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """The rows of a query that changes nothing. It is run again if the connection is lost."""

        def ask(connection: Connection) -> list[tuple[Any, ...]]:
            return connection.execute(query, parameters, binary=True).fetchall()  # pyright: ignore[reportArgumentType, reportCallIssue]  # the text is ours

        return self._retried(lambda: self._with(tenant, ask))

    def write(self, tenant: str, work: Callable[[Connection], Result]) -> Result:
        """The result of a transaction, which is run again where nothing can be doubled.

        Args:
            tenant: whose rows it may see and write.
            work: the statements. It may be called several times, and must change nothing else.

        Raises:
            StoreUnreachable: the server is away; its error says if what was written is not known.
            StoreUnwritable: the server refused.
        """
        attempt, holder = OneTransaction(work), self._holder()

        def run() -> Result:
            if holder is None:
                return self._with(tenant, attempt.run)
            if not holder.is_lost:
                return holder.use(lambda connection: _for(tenant, connection, attempt.run))
            if attempt.may_be_committed and self._with(tenant, attempt.was_committed):
                return attempt.result
            attempt.may_be_committed = False
            raise self._lock_lost()

        try:
            return self._retried(run)
        except (StoreUnreachable, StoreUnwritable) as error:
            if not attempt.may_be_committed:
                raise
            raise StoreUnreachable(
                f"The connection to {self.address.shown} was lost in the middle of a write, and "
                "there was no answer since, so whether it was made is not known: all of it was, or "
                "nothing. Look before you write it again."
            ) from error

    @contextmanager
    def lock(self, name: str, busy: str, timeout: float = LOCK_SECONDS) -> Generator[None]:
        """Holds an advisory lock; see `Backend.lock`.

        The locks that one piece of work holds share a connection, and end with it.
        """
        until, pause = monotonic() + timeout, 0.005
        while (holder := self._retried(lambda: self._taken(name))) is None:
            if monotonic() >= until:
                if self._open().has_no_more_locks:
                    busy = f"all {POOLED_LOCKS} connections of this process for locks are in use"
                raise StoreBusy(f"{busy}; waited {timeout:g} s. Try again later.")
            sleep(uniform(pause / 2, pause))
            pause = min(2 * pause, POLL_SECONDS)
        outer = HOLDERS.get()
        HOLDERS.set((*outer, holder))
        try:
            yield
        finally:
            HOLDERS.set(outer)
            holder.release(name)

    def probe(self) -> None:
        """Raises at once why the server does not answer. Calls go on trying for seconds."""
        try:
            with self._open().statements.connection(PROBE_SECONDS / 2) as connection:
                connection.execute("SELECT 1")
        except LOST:
            try:
                self._connect(PROBE_SECONDS).close()
            except LOST as error:
                told = self._refused if _is_refusal(error) else self._unreachable
                raise told(_words_of(error)) from None
            if pools := self._pools:
                pools.check()
        except psycopg.Error as error:
            raise self._refused(_words_of(error)) from None

    def close(self) -> None:
        """Close all connections; the next statement opens others."""
        with self._making:
            pools, self._pools = self._pools, None
        if pools and pools.process == os.getpid():
            pools.close()

    def _holder(self) -> Holder | None:
        """The connection of the locks that the caller's work holds; `None` if it holds none."""
        return next((each for each in HOLDERS.get() if each.holds_for(self)), None)

    def _taken(self, name: str) -> Holder | None:
        """The connection on which a lock is held now; `None` if it is not free."""
        holder = self._holder()
        if holder is None or name in holder.names:
            pools = self._open()
            if pools.has_no_more_locks:
                return None
            holder = Holder(self, pools.locks.getconn(WAIT_SECONDS), pools.locks.putconn)
        elif holder.is_lost:
            raise self._lock_lost()
        return holder if holder.take(name) else None

    def _with(self, tenant: str, work: Callable[[Connection], Result]) -> Result:
        with self._open().statements.connection(WAIT_SECONDS) as connection:
            return _for(tenant, connection, work)

    def _retried(self, run: Callable[[], Result]) -> Result:
        """The result of `run`, which is called again after a lost connection or a deadlock.

        Raises:
            StoreUnreachable: there was no connection all the time, or just now for another call.
            StoreUnwritable: the server refused.
        """
        self._check_away()
        until, pause = monotonic() + RETRY_SECONDS, 0.01
        while True:
            try:
                return run()
            except AGAIN as error:
                if monotonic() > until:
                    raise self._refused(_words_of(error)) from None
            except LOST as error:
                self._reconnect(error, until)
            except psycopg.Error as error:
                raise self._refused(_words_of(error)) from None
            sleep(uniform(pause / 2, pause))
            pause = min(2 * pause, 0.5)

    def _check_away(self) -> None:
        """Raises the error of a call that failed just now; later, if there is still no server."""
        quiet, reason = self._away
        if monotonic() < quiet:
            raise self._unreachable(reason)
        if reason:
            try:
                self._connect(PROBE_SECONDS).close()
            except LOST as error:
                raise self._gone(error) from None
            self._away = (0.0, "")

    def _reconnect(self, error: Exception, until: float) -> None:
        """Return when the server answers again; lost connections are out of the pools then.

        Raises:
            StoreUnreachable: it does not until then.
            StoreUnwritable: it refused.
        """
        pause = 0.01
        until = max(until, monotonic() + PROBE_SECONDS)  # also after a call that took long
        while not _is_refusal(error) and monotonic() < until:
            try:
                self._connect().close()
            except LOST as cause:
                error = cause
            else:
                if pools := self._pools:
                    pools.check()
                return
            sleep(uniform(pause / 2, pause))
            pause = min(2 * pause, 0.5)
        raise self._gone(error) from None

    def _gone(self, error: Exception) -> StoreError:
        """The error to raise for one of a connection; other calls need not try again just now."""
        reason = _words_of(error)
        if _is_refusal(error):
            return self._refused(reason)
        if isinstance(error, PoolTimeout):  # the server answers
            return self._unreachable(f"all {POOLED} connections of this process are busy")
        self._away = (monotonic() + AWAY_SECONDS, reason)
        return self._unreachable(reason)

    def _open(self) -> Pools:
        """The pools of this process; the first call makes the tables."""
        pools = self._pools
        if pools and pools.process == os.getpid():
            return pools
        with self._making:
            if self._pools is None or self._pools.process != os.getpid():
                self._check_away()  # another thread may have waited for it
                with self._connect() as connection:
                    connection.patience = None  # a migration may take long
                    prepare(connection, self.address.shown)
                    with suppress(psycopg.Error):  # such as of a server that only reads
                        connection.execute(_OLD_MARKS)
                self._pools = Pools.of(self.address)
            return self._pools

    def _connect(self, seconds: int | None = None) -> Connection:
        """A connection beside the pools, whose error says why there is none."""
        given: dict[str, Any] = {**self.address.parameters, "autocommit": True}
        if seconds:
            given["connect_timeout"] = seconds
        return Connection.connect(**given)

    def _lock_lost(self) -> StoreUnreachable:
        return StoreUnreachable(
            f"The connection to {self.address.shown} was lost, and with it the lock under which "
            "this was to be written. Nothing was changed. Try again."
        )

    def _unreachable(self, reason: str) -> StoreUnreachable:
        return StoreUnreachable(
            f"The database {self.address.shown} does not answer: "
            f"{self.address.without_secrets(reason)}. Nothing was changed. Try again when it is "
            "back."
        )

    def _refused(self, reason: str) -> StoreUnwritable:
        return StoreUnwritable(
            f"The database {self.address.shown} refused: {self.address.without_secrets(reason)}. "
            f"Nothing was changed.{GRANT if 'permission denied' in reason else ''}"
        )


_KNOWN: dict[str, Database] = {}
_GUARD = Lock()


@atexit.register
def _close_all() -> None:
    for database in [*_KNOWN.values()]:
        database.close()


def _for(tenant: str, connection: Connection, work: Callable[[Connection], Result]) -> Result:
    """The result of work for a tenant."""
    connection.work_for(tenant)
    return work(connection)


def _is_refusal(error: Exception) -> bool:
    """Whether the server answered so that waiting does not help: a full disk, a wrong password."""
    code = getattr(error, "sqlstate", None)
    if code is None:  # of an attempt to connect there are only words
        return any(words in str(error) for words in REFUSALS)
    return code == "57014" or (code[:2] not in {"08", "57"} and code != "53300")


def _words_of(error: Exception) -> str:
    """The server's first sentence, without what libpq says before it: where it tried to connect."""
    diagnostic = getattr(error, "diag", None)
    words = getattr(diagnostic, "message_primary", None) or str(error)
    first = (words.strip().splitlines() or [type(error).__name__])[0]
    return first.rpartition(" failed: ")[2].removeprefix("FATAL:").strip().rstrip(".")


SCHEMA = "context_compression"
"""The schema that holds the tables."""
MIGRATIONS = ("001_store.sql", "002_counts.sql")
"""The files, the oldest first. A file that was released never changes."""
VERSION = len(MIGRATIONS)
ENCODING = "UTF8"
"""The only encoding of a database in which every text is kept as it is."""
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('context_compression.schema', 0))"
_THERE = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'schema_version'"
"""`to_regclass` would answer from a cache that a wait for the lock does not renew."""


def prepare(connection: psycopg.Connection[Any], place: str) -> None:
    """Bring the tables to our version, in one transaction.

    Raises:
        StoreTooNew: a newer version of this package made them.
        StoreUnwritable: the role may not make them, or the database has another encoding.
        StoreDamaged: which version they have is not known.
    """
    encoding = connection.info.parameter_status("server_encoding")
    if encoding not in (None, ENCODING):  # some poolers tell none
        raise StoreUnwritable(
            f"The database {place} has the encoding {encoding}, which cannot keep every text. Make "
            f"one with CREATE DATABASE … ENCODING '{ENCODING}' TEMPLATE template0. Nothing was "
            "changed."
        )
    if version(connection) == VERSION:
        return
    try:
        with connection.transaction():
            connection.execute(_LOCK)
            before = version(connection)
            if before > VERSION:
                raise StoreTooNew(
                    f"The tables in {place} were made by a newer context-compression (version "
                    f"{before}, this one knows {VERSION}): upgrade. Nothing was changed."
                )
            for name in MIGRATIONS[before:]:
                sql = package_files(__package__ or "").joinpath("migrations", name).read_bytes()
                connection.execute(sql)
            connection.execute(f"UPDATE {SCHEMA}.schema_version SET version = %s", [VERSION])
    except errors.InsufficientPrivilege as error:
        raise StoreUnwritable(
            f"The role may not make the tables in {place}: {error.diag.message_primary}. Let the "
            "owner of the database start the program once, or grant CREATE on the database."
        ) from None


def version(connection: psycopg.Connection[Any]) -> int:
    """The version of the tables; 0 if there are none.

    Raises:
        StoreDamaged: it is not told.
    """
    if not connection.execute(_THERE, [SCHEMA]).fetchall():
        return 0
    found = connection.execute(f"SELECT version FROM {SCHEMA}.schema_version").fetchall()
    if len(found) != 1:
        raise StoreDamaged(
            f"The table {SCHEMA}.schema_version has {len(found)} rows instead of one with the "
            "version of the tables. Bring it back from a backup. Nothing was changed."
        )
    return int(found[0][0])
