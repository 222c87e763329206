"""The MCP server of each tenant, made at its first request.

Each has its own store, settings, conversations and caches, so nothing in memory is reachable from
another. What a server keeps in memory is for speed alone: it may be dropped at any time, and is, so
that a process that runs for months does not grow.
"""

import gc
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import TaskGroup, TaskStatus
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

MOST = 200
"""Servers that are kept; of more, the one that was idle longest is dropped."""
RENEWED_AFTER = 200
"""Requests after which a tenant's server is dropped, with the sessions that it remembers."""


@dataclass
class _Server:
    """The server of a tenant, while it is kept or still answers."""

    app: Starlette
    requests: int = 0
    running: int = 0
    dropped: bool = False
    ended: anyio.Event = field(default_factory=anyio.Event)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Runs until it is dropped and has answered."""
        async with self.app.router.lifespan_context(self.app):
            task_status.started()
            await self.ended.wait()

    def drop(self) -> None:
        """No further request comes."""
        self.dropped = True
        if not self.running:
            self.ended.set()


class TenantServers:
    """The running servers.

    Args:
        make: makes the application of a tenant's server.
        lasting: whether a server is kept as long as the process runs, because clients have sessions
            with it.
    """

    def __init__(self, make: Callable[[str], Starlette], *, lasting: bool = False) -> None:
        self._make, self._lasting = make, lasting
        self._servers: dict[str, _Server] = {}
        self._making = anyio.Lock()
        self._some_dropped = False
        self._group: TaskGroup | None = None

    @asynccontextmanager
    async def running(self, _: Any) -> AsyncGenerator[None]:
        """The time in which requests can be answered."""
        async with anyio.create_task_group() as self._group:
            yield
            self._group.cancel_scope.cancel()

    async def answer(self, tenant: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets the server of a tenant answer a request."""
        server = self._servers.get(tenant) or await self._made(tenant)
        self._servers[tenant] = self._servers.pop(tenant, server)  # the last is the latest used
        server.requests += 1
        server.running += 1
        try:
            self._drop_what_is_old(tenant, server)
            await server.app(scope, receive, send)
        finally:
            server.running -= 1
            if server.dropped:
                server.drop()

    async def _made(self, tenant: str) -> _Server:
        async with self._making:
            if server := self._servers.get(tenant):  # another request of the tenant was first
                return server
            if self._some_dropped:  # servers hold cycles, and those are looked for seldom
                self._some_dropped = False
                await run_sync(gc.collect)
            server = _Server(await run_sync(self._make, tenant))
            assert self._group is not None, "the application's lifespan has not begun"
            await self._group.start(server.run)
            self._servers[tenant] = server
            return server

    def _drop_what_is_old(self, tenant: str, server: _Server) -> None:
        if self._lasting:
            return
        if server.requests >= RENEWED_AFTER and not server.dropped:
            self._drop(tenant)
        if len(self._servers) > MOST:
            self._drop(next(iter(self._servers)))

    def _drop(self, tenant: str) -> None:
        self._some_dropped = True
        self._servers.pop(tenant).drop()
