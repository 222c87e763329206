"""How a server of ours lives and ends: its health, its access log, time limits, and draining.

The access log: one JSON line per request, without anything that a client wrote. Names that a client
chooses are logged only if they are ours or the protocol's, else as `other`.

`/healthz`, whether the process lives, and `/readyz`, whether it can answer; without a token. They
tell a proxy where to send requests. So they say nothing about the store but whether it can be
reached; stderr says more, to the operator.

Ends the server after SIGTERM without a failed request. First `/readyz` says that the end is near,
so a proxy sends nothing more. After some seconds no connection is accepted any more; requests that
are being answered are answered.

A time limit for requests over HTTP: a connection whose request is too slow is closed. Uvicorn
limits only the time between two requests. A client that sends half a header, or continues with a
body after it was refused, would keep its connection open for ever. Thousands of such connections
would keep out every other client.
"""

import asyncio
import json
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import FrameType
from typing import Any, ClassVar

import anyio
import uvicorn
from anyio.to_thread import run_sync
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp_types.methods import SPEC_CLIENT_METHODS
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from context_compression.errors import ContextCompressionError, InvalidSettings
from context_compression.mcp_server.web.refusals import PATHS
from context_compression.strings import one_line

KEY = "context_compression.access"
"""Where the entry of a request is in its ASGI scope."""
HTTP_METHODS = ("GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH")
OTHER = "other"


@dataclass
class LogEntry:
    """What is logged of a request: of one for tools, or of one that the proxy passes on."""

    http_method: str
    path: str = OTHER
    tenant: str | None = None
    mcp_method: str | None = None
    tool: str | None = None
    api: str | None = None
    status: int | None = None
    bytes_in: int = 0
    bytes_out: int = 0
    _began: float = field(default_factory=time.monotonic)

    def take_names_of(self, other: "LogEntry") -> None:
        """Takes over what the server of the tenant has named, which may be another process."""
        self.mcp_method, self.tool = other.mcp_method, other.tool

    def line(self) -> str:
        """The entry as a line of JSON."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        of_tools = {"path": self.path, "mcp_method": self.mcp_method, "tool": self.tool}
        facts = {
            "time": now,
            "tenant": self.tenant,
            "http_method": self.http_method,
            **({"api": self.api} if self.api else of_tools),
            "status": self.status,
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
            "milliseconds": round((time.monotonic() - self._began) * 1_000),
        }
        return json.dumps(facts) + "\n"


@asynccontextmanager
async def logged(
    scope: Scope, receive: Receive, send: Send, *, written: bool
) -> AsyncGenerator[tuple[LogEntry, Receive, Send]]:
    """The entry of a request, and a `receive` and `send` that fill it; written at the end."""
    entry = LogEntry(_one_of(HTTP_METHODS, scope["method"]), _one_of(PATHS, scope["path"]))
    scope[KEY] = entry

    async def receive_counted() -> Message:
        message = await receive()
        entry.bytes_in += len(message.get("body", b""))
        return message

    async def send_counted(message: Message) -> None:
        if message["type"] == "http.response.start":
            entry.status = message["status"]
        entry.bytes_out += len(message.get("body", b""))
        await send(message)

    try:
        yield entry, receive_counted, send_counted
    finally:
        if written:
            with suppress(OSError):  # whoever read it is gone; the request still counts
                sys.stderr.write(entry.line())
                sys.stderr.flush()


def named_in_log(tools: Collection[str]) -> ServerMiddleware[Any]:
    """Tells the access log the MCP method of a request, and the name of the tool that it calls."""

    async def name(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        entry = getattr(ctx.request, "scope", {}).get(KEY)  # no scope over stdio
        if isinstance(entry, LogEntry):
            entry.mcp_method = _one_of(SPEC_CLIENT_METHODS, ctx.method)
            if ctx.method == "tools/call":
                entry.tool = _one_of(tools, (ctx.params or {}).get("name"))
        return await call_next(ctx)

    return name


def _one_of(known: Collection[str], name: object) -> str:
    return name if isinstance(name, str) and name in known else OTHER


LIVES, READY = "/healthz", "/readyz"
SECONDS = 2.0
"""How long the store may take for an answer."""
VALID_SECONDS = 1.0
"""How long its answer counts, so that nobody can load the store with these requests."""
DRAINING = "This server is shutting down."
UNREACHABLE = "The store cannot be reached."
SLOW = f"The store did not answer within {SECONDS:.0f} seconds."


@dataclass
class Health:
    """Whether this process can answer.

    Attributes:
        check: reads something small from the store; raises an exception if that fails.
        draining: whether the process is about to end.
    """

    check: Callable[[], object] = lambda: None
    draining: bool = False
    _reason: str = ""
    _known_until: float = 0.0
    _one_at_a_time: anyio.Lock = field(default_factory=anyio.Lock)
    _asking: bool = False
    _told: str = ""

    async def response(self, path: str) -> JSONResponse:
        """The answer to a request for `LIVES` or `READY`."""
        reason = await self.not_ready() if path == READY else ""
        facts = {"ready" if path == READY else "lives": not reason}
        return JSONResponse(facts | ({"reason": reason} if reason else {}), 503 if reason else 200)

    async def not_ready(self) -> str:
        """Why this process cannot answer; "" if it can."""
        if self.draining:
            return DRAINING
        async with self._one_at_a_time:
            if time.monotonic() >= self._known_until:
                self._reason = await self._ask()
                self._known_until = time.monotonic() + VALID_SECONDS
        return self._reason

    async def _ask(self) -> str:
        if self._asking:  # a thread that was given up; another would hang as well
            return SLOW
        self._asking = True
        try:
            with anyio.fail_after(SECONDS):
                # a limiter of its own, because tools may have taken all other threads
                limiter = anyio.CapacityLimiter(1)
                await run_sync(self._ask_in_thread, abandon_on_cancel=True, limiter=limiter)
        except TimeoutError:
            self._say(self._told or SLOW)
            return SLOW
        except Exception:
            return UNREACHABLE
        self._told = ""
        return ""

    def tell(self, error: Exception) -> None:
        """Tells the operator why the store cannot be reached, once until it can again."""
        ours = isinstance(error, ContextCompressionError)
        self._say(str(error) if ours else type(error).__name__)

    def _say(self, why: str) -> None:
        if why != self._told:
            self._told = why
            sys.stderr.write(f"Not ready: {one_line(why, 1_000)}\n")
            sys.stderr.flush()

    def _ask_in_thread(self) -> None:
        try:
            self.check()
        except Exception as error:
            self.tell(error)  # also if it comes too late for an answer
            raise
        finally:
            self._asking = False


class DrainingServer(uvicorn.Server):
    """The web server; after SIGTERM it goes on for some seconds, and its process ends with 0.

    Args:
        config: of the web server.
        health: learns that the end is near.
        seconds: how long the server goes on.
        end_streams: ends what would never end by itself; calls are answered.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        health: Health,
        seconds: float,
        end_streams: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._health, self._seconds, self._end_streams = health, seconds, end_streams
        self._ends_at: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal has come; the second SIGTERM ends at once, as does SIGINT."""
        if sig != signal.SIGTERM:
            super().handle_exit(sig, frame)
        elif self._ends_at is None:
            self._health.draining = True
            self._ends_at = time.monotonic() + self._seconds
        else:
            self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: whether to end."""
        if self._ends_at is not None and time.monotonic() >= self._ends_at:
            self.should_exit = True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """No connection is accepted any more; what is being answered is answered."""
        self._end_streams()
        await super().shutdown(sockets)


class RequestTimeout(H11Protocol):
    """Uvicorn's protocol with a time limit while no request is being answered.

    Attributes:
        seconds: the time until the last line of the header must have arrived. A request that was
            accepted, and its body, have no time limit.
    """

    seconds: ClassVar[float] = 10.0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client has connected."""
        super().connection_made(transport)
        self._update_deadline()

    def data_received(self, data: bytes) -> None:
        """A part of a request has arrived, or several requests."""
        super().data_received(data)
        self._update_deadline()

    def on_response_complete(self) -> None:
        """The answer is sent; the next request may come."""
        super().on_response_complete()
        self._update_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has disconnected."""
        super().connection_lost(exc)
        self._clear_deadline()

    def _update_deadline(self) -> None:
        """Sets the deadline; while a request is being answered, there is none."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:  # pyright: ignore[reportUnnecessaryComparison]  # None before the first request, which its stub does not say
            self._clear_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.seconds, self.transport.close)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


DRAIN_SECONDS = 5.0
"""How long a server with tenants goes on after SIGTERM, so that a proxy notices."""
LAST_SECONDS = 30
"""How long requests may take that are being answered when the server ends."""


def http_config(app: ASGIApp, **options: Any) -> uvicorn.Config:
    """The configuration of the web server. It believes no header that a proxy may have added.

    Args:
        app: answers requests.
        options: further ones of `uvicorn.Config`, or others than ours.
    """
    ours: dict[str, Any] = {
        "http": RequestTimeout,
        "log_level": "warning",
        "proxy_headers": False,
        "timeout_graceful_shutdown": LAST_SECONDS,
    }
    return uvicorn.Config(app, **{**ours, **options})


def listening_on(host: str, port: int) -> socket.socket:
    """A socket that takes connections; port 0 takes a free one.

    Raises:
        InvalidSettings: the address cannot be used.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        raise InvalidSettings(
            f"Cannot listen on {host}, port {port}: {error}. Choose another with --port or --host."
        ) from error
