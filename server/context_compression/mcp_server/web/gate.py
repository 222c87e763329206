"""The gate of `serve --http`: who may ask, and how much. Behind it are the tenants' servers."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Protocol

from anyio import move_on_after
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from context_compression.errors import StoreError
from context_compression.mcp_server.invalid_messages import repaired_body
from context_compression.mcp_server.web.access_log import Entry, logged
from context_compression.mcp_server.web.health import LIVES, READY, UNREACHABLE, Health
from context_compression.mcp_server.web.limits import Admission, Exceeded, Limits
from context_compression.mcp_server.web.tenant_tokens import Tokens

BODY_SECONDS = 60.0
"""The time in which the body of a request must have arrived."""
CHALLENGE = {"WWW-Authenticate": "Bearer"}
AGAIN = {"Retry-After": "1"}


class Answering(Protocol):
    """The servers of tenants: in worker processes, or in this one."""

    @property
    def running(self) -> Callable[[Any], AbstractAsyncContextManager[None]]:
        """The time in which requests can be answered."""
        ...

    async def answer(self, tenant: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets the server of a tenant answer a request."""


class Gate:
    """An ASGI application that accepts only requests with a token.

    Args:
        tokens: whose a token is. Nothing else that a client sends decides on its tenant.
        servers: of the tenants.
        health: whether this process can answer.
        most_bytes: how large the body of a request may be.
        admission: how much tenants may ask; `None` for no limits.
        stateless: whether only POST is answered, because no client has a session with a server.
        access_log: whether each request is logged.
    """

    def __init__(
        self,
        tokens: Tokens,
        servers: Answering,
        health: Health,
        *,
        most_bytes: int = Limits().most_bytes,
        admission: Admission | None = None,
        stateless: bool = False,
        access_log: bool = False,
    ) -> None:
        self._tokens, self._servers, self._health = tokens, servers, health
        self._most_bytes = most_bytes
        self._admission, self._stateless, self._access_log = admission, stateless, access_log
        self._lifespan: ASGIApp = Starlette(lifespan=servers.running)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] != "http":
            return await self._lifespan(scope, receive, send)
        send = self._last_of_its_connection(send)
        if scope["path"] in (LIVES, READY):
            response = await self._health.response(scope["path"])
            return await response(scope, receive, send)
        written = self._access_log
        async with logged(scope, receive, send, written=written) as (entry, receive, send):
            await self._answer(entry, scope, receive, send)
        return None

    async def _answer(self, entry: Entry, scope: Scope, receive: Receive, send: Send) -> None:
        tenant = self._tenant_of(scope["headers"])
        entry.tenant = tenant or None
        if tenant is None:
            refusal = JSONResponse({"error": "unauthorized"}, 401, headers=CHALLENGE)
            return await refusal(scope, receive, send)
        if self._stateless and scope["method"] != "POST":
            # a stream that waits would be bound to this process, and nothing is ever sent in it
            refusal = JSONResponse({"error": "only POST"}, 405, headers={"Allow": "POST"})
            return await refusal(scope, receive, send)
        try:
            with self._admission.admitted(tenant) if self._admission else nullcontext():
                return await self._pass_on(tenant, scope, receive, send)
        except Exceeded as exceeded:
            return await exceeded.response(scope, receive, send)

    async def _pass_on(self, tenant: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets the tenant's server answer a request that has come to its end."""
        rest = repaired_body(receive, self._most_bytes)
        messages: list[Message] = []
        with move_on_after(BODY_SECONDS):
            messages.append(await rest())
        if not messages:  # it would keep its place among all requests for ever
            refusal = JSONResponse({"error": "the body did not arrive in time"}, 408)
            await refusal(scope, receive, send)
            return
        if messages[0]["type"] != "http.request":
            return  # the client went away while it was sending

        async def receive_again() -> Message:
            return messages.pop() if messages else await rest()

        try:
            await self._servers.answer(tenant, scope, receive_again, send)
        except StoreError as error:  # of a server that could not be made; others have answered
            self._health.tell(error)
            away = JSONResponse({"error": UNREACHABLE, "retry_after": 1}, 503, AGAIN)
            await away(scope, receive, send)

    def _tenant_of(self, headers: Sequence[tuple[bytes, bytes]]) -> str | None:
        sent = [value for name, value in headers if name == b"authorization"]
        scheme, _, token = (sent[0] if len(sent) == 1 else b"").partition(b" ")
        tenant = self._tokens.tenant_of(token.strip(b" "))
        return tenant if scheme.lower() == b"bearer" else None

    def _last_of_its_connection(self, send: Send) -> Send:
        """While the process drains, an answer also ends its connection."""

        async def send_last(message: Message) -> None:
            if self._health.draining and message["type"] == "http.response.start":
                others = [each for each in message["headers"] if each[0] != b"connection"]
                message = {**message, "headers": [*others, (b"connection", b"close")]}
            await send(message)

        return send_last
