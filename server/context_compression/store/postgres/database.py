"""One database: pools of connections, transactions that are retried where that is safe, locks.

A transaction whose connection is lost is run again, unless it may have been committed. Then the
server is asked what became of it, so nothing is written twice. A server that is away is told within
seconds, and for a moment after that at once, because an agent waits for the answer.
"""

import logging
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock
from time import monotonic, sleep
from typing import Any, TypeAlias, TypeVar
from weakref import WeakValueDictionary

import psycopg
from psycopg import errors
from psycopg_pool import ConnectionPool, PoolTimeout

from context_compression.errors import StoreError, StoreUnreachable, StoreUnwritable
from context_compression.store.backend import LOCK_SECONDS
from context_compression.store.postgres import schema
from context_compression.store.postgres.address import Address

Result = TypeVar("Result")
Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any]
Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

POOLED = 16
"""The most connections of one process for statements, and as many for locks."""
WAIT_SECONDS = 5.0
"""How long a statement waits for a free connection."""
RETRY_SECONDS = 5.0
"""How long lost connections are made again before the error is raised."""
AWAY_SECONDS = 2.0
"""How long after a failure to connect no other attempt is made."""
IDLE_SECONDS = 300.0
"""How long an unused connection stays open."""
SETTINGS = """SELECT set_config('context_compression.tenant', %s, false),
set_config('search_path', 'context_compression, public', false),
set_config('statement_timeout', '60s', false), set_config('enable_seqscan', 'off', false)"""
"""What each connection begins with. No statement of ours needs to read a whole table, and what the
planner knows of words would mislead it to that.
"""
LOST = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout)
"""Errors of a connection, or of a server that is away."""
AGAIN = (errors.SerializationFailure, errors.DeadlockDetected)
"""Errors after which the same transaction may succeed."""
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # we tell it in our words


class TenantConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that remembers for which tenant it works."""

    tenant: str | None = None

    def work_for(self, tenant: str) -> None:
        """Let the policies of the database show this tenant's rows only."""
        if self.tenant != tenant:
            self.tenant = None
            self.execute(SETTINGS, [tenant])
            self.tenant = tenant


@dataclass(frozen=True)
class _Pools:
    """The pools of one process: a child of a fork must not use those of its parent."""

    process: int
    statements: "ConnectionPool[TenantConnection]"
    locks: "ConnectionPool[TenantConnection]"


class Database:
    """The database at an address. Several threads may use it."""

    def __init__(self, address: Address) -> None:
        """The database; no connection is opened yet."""
        self.address = address
        self._pools: _Pools | None = None
        self._making = Lock()
        self._away: tuple[float, str] = (0.0, "")

    @classmethod
    def at(cls, url: str) -> "Database":
        """The database at a URL; the same object as long as any store uses it."""
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
        attempt = _Attempt(work)

        def run() -> Result:
            if attempt.number and self._became(tenant, attempt.number):
                return attempt.result()
            return self._with(tenant, attempt.run)

        try:
            return self._retried(run)
        except StoreUnreachable as error:
            if not attempt.number:
                raise
            raise StoreUnreachable(
                f"The database {self.address.shown} went away in the middle of a write, so whether "
                "that was made is not known; all of it was, or nothing. Try again when it is back."
            ) from error

    @contextmanager
    def lock(self, name: str, busy: str, timeout: float = LOCK_SECONDS) -> Generator[None]:
        """Holds an advisory lock; see `Backend.lock`. It ends with its connection."""
        connection = self._retried(lambda: self._taken(name, busy, timeout))
        try:
            yield
        finally:
            with suppress(*LOST):
                connection.execute("SELECT pg_advisory_unlock_all()")
            self._open().locks.putconn(connection)

    def close(self) -> None:
        """Close all connections; the next statement opens others."""
        with self._making:
            pools, self._pools = self._pools, None
        if pools and pools.process == os.getpid():
            pools.statements.close()
            pools.locks.close()

    def _taken(self, name: str, busy: str, timeout: float) -> TenantConnection:
        pool = self._open().locks
        connection = pool.getconn(WAIT_SECONDS)
        try:
            if self._locks(connection, name, timeout):
                return connection
        except BaseException:
            pool.putconn(connection)
            raise
        pool.putconn(connection)
        raise StoreError(f"{busy}; waited {timeout:g} s. Try again later.")

    def _locks(self, connection: TenantConnection, name: str, timeout: float) -> bool:
        """Whether the lock is ours now."""
        key = "hashtextextended(%s, 0)"
        if timeout <= 0:
            [[held]] = connection.execute(f"SELECT pg_try_advisory_lock({key})", [name])
            return bool(held)
        try:
            connection.execute(
                "SELECT set_config('lock_timeout', %s, false)", [f"{int(timeout * 1000) + 1}ms"]
            )
            connection.execute(f"SELECT pg_advisory_lock({key})", [name])
        except errors.LockNotAvailable:
            return False
        return True

    def _with(self, tenant: str, work: Callable[[Connection], Result]) -> Result:
        pools = self._open()
        with pools.statements.connection(WAIT_SECONDS) as connection:
            connection.work_for(tenant)
            return work(connection)

    def _became(self, tenant: str, number: str) -> bool:
        """Whether a transaction whose end is unknown was committed."""

        def ask(connection: Connection) -> list[tuple[Any, ...]]:
            return connection.execute("SELECT pg_xact_status(%s::xid8)", [number]).fetchall()

        while True:
            [[status]] = self._with(tenant, ask)
            if status != "in progress":
                return status == "committed"
            sleep(0.02)  # the server has not noticed yet that the connection is gone

    def _retried(self, run: Callable[[], Result]) -> Result:
        """The result of `run`, which is called again after a lost connection or a deadlock.

        Raises:
            StoreUnreachable: there was no connection all the time, or just now for another call.
            StoreUnwritable: the server refused.
        """
        quiet, reason = self._away
        if monotonic() < quiet:
            raise self._unreachable(reason)
        until = monotonic() + (0 if reason else RETRY_SECONDS)
        pause = 0.02
        while True:
            try:
                result = run()
            except AGAIN as error:
                if monotonic() > until:
                    raise self._refused(_words_of(error)) from None
            except LOST as error:
                reason = self._reason(error)
                if _is_refusal(error, reason):
                    raise self._refused(reason) from None
                if monotonic() > until:
                    self._away = monotonic() + AWAY_SECONDS, reason
                    raise self._unreachable(reason) from None
            except psycopg.Error as error:
                raise self._refused(_words_of(error)) from None
            else:
                self._away = (0.0, "")
                return result
            sleep(pause)
            pause = min(2 * pause, 0.5)

    def _reason(self, error: Exception) -> str:
        """Why there is no connection; lost ones are taken out of the pools."""
        if pools := self._pools:
            pools.statements.check()
            pools.locks.check()
        if isinstance(error, PoolTimeout):  # it does not say why
            try:
                self._connect().close()
            except LOST as cause:
                return _words_of(cause)
            return f"all {POOLED} connections of this process are busy"
        return _words_of(error)

    def _open(self) -> _Pools:
        """The pools of this process; the first call makes the tables."""
        pools = self._pools
        if pools and pools.process == os.getpid():
            return pools
        with self._making:
            if self._pools is None or self._pools.process != os.getpid():
                with self._connect() as connection:
                    schema.prepare(connection, self.address.shown)
                self._pools = _Pools(os.getpid(), self._pool(), self._pool())
            return self._pools

    def _connect(self) -> TenantConnection:
        """A connection beside the pools, whose error says why there is none."""
        return TenantConnection.connect(**self.address.parameters, autocommit=True)  # pyright: ignore[reportArgumentType]  # parameters of libpq are texts

    def _pool(self) -> "ConnectionPool[TenantConnection]":
        return ConnectionPool(
            connection_class=TenantConnection,
            kwargs={**self.address.parameters, "autocommit": True},
            min_size=0,
            max_size=POOLED,
            max_idle=IDLE_SECONDS,
            timeout=WAIT_SECONDS,
            reconnect_timeout=WAIT_SECONDS,
            open=True,
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
            "Nothing was changed."
        )


_KNOWN: "WeakValueDictionary[str, Database]" = WeakValueDictionary()
_GUARD = Lock()


class _Attempt:
    """A transaction, its number once it has begun, and its result once it may be committed."""

    def __init__(self, work: Callable[[Connection], Any]) -> None:
        self.number = ""
        self._work, self._result = work, None

    def run(self, connection: Connection) -> Any:
        """Run it in a transaction of its own."""
        self.number = ""
        with connection.transaction():
            [[number]] = connection.execute("SELECT pg_current_xact_id()::text")
            self._result = self._work(connection)
            self.number = number  # from here on it may be committed
        return self._result

    def result(self) -> Any:
        """The result of the run that was committed."""
        return self._result


def _is_refusal(error: Exception, reason: str) -> bool:
    """Whether the server answered so that waiting does not help: a full disk, a wrong password."""
    code = getattr(error, "sqlstate", None)
    if code is None:  # of an attempt to connect there are only words
        return "authentication failed" in reason or "does not exist" in reason
    return code == "57014" or (code[:2] not in {"08", "57"} and code != "53300")


def _words_of(error: Exception) -> str:
    """The server's first sentence, without what libpq says before it: where it tried to connect."""
    diagnostic = getattr(error, "diag", None)
    words = getattr(diagnostic, "message_primary", None) or str(error)
    first = (words.strip().splitlines() or [type(error).__name__])[0]
    return first.rpartition(" failed: ")[2].removeprefix("FATAL:").strip().rstrip(".")
