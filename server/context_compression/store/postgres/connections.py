"""A connection that works for one tenant, waits for no answer for ever, and may hold locks."""

import os
from collections.abc import Callable, Generator, Sequence
from threading import RLock
from time import monotonic
from typing import Any, LiteralString, TypeAlias, TypeVar
from uuid import UUID

import psycopg

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
        self,
        owner: object,
        connection: Connection,
        give_back: Callable[[Connection], object],
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
