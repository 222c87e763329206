"""The access log: one JSON line per request, without anything that a client wrote.

Names that a client chooses are logged only if they are ours or the protocol's, else as `other`.
"""

import json
import sys
import time
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp_types.methods import SPEC_CLIENT_METHODS
from starlette.types import Message, Receive, Scope, Send

KEY = "context_compression.access"
"""Where the entry of a request is in its ASGI scope."""
HTTP_METHODS = ("GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH")
OTHER = "other"


@dataclass
class Entry:
    """What is logged of a request."""

    http_method: str
    tenant: str | None = None
    mcp_method: str | None = None
    tool: str | None = None
    status: int | None = None
    bytes_in: int = 0
    bytes_out: int = 0
    _began: float = field(default_factory=time.monotonic)

    def take_names_of(self, other: "Entry") -> None:
        """Takes over what the server of the tenant has named, which may be another process."""
        self.mcp_method, self.tool = other.mcp_method, other.tool

    def line(self) -> str:
        """The entry as a line of JSON."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        facts = {
            "time": now,
            "tenant": self.tenant,
            "http_method": self.http_method,
            "mcp_method": self.mcp_method,
            "tool": self.tool,
            "status": self.status,
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
            "milliseconds": round((time.monotonic() - self._began) * 1_000),
        }
        return json.dumps(facts) + "\n"


@asynccontextmanager
async def logged(
    scope: Scope, receive: Receive, send: Send, *, written: bool
) -> AsyncGenerator[tuple[Entry, Receive, Send]]:
    """The entry of a request, and a `receive` and `send` that fill it; written at the end."""
    entry = Entry(_one_of(HTTP_METHODS, scope["method"]))
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
        if isinstance(entry, Entry):
            entry.mcp_method = _one_of(SPEC_CLIENT_METHODS, ctx.method)
            if ctx.method == "tools/call":
                entry.tool = _one_of(tools, (ctx.params or {}).get("name"))
        return await call_next(ctx)

    return name


def _one_of(known: Collection[str], name: object) -> str:
    return name if isinstance(name, str) and name in known else OTHER
