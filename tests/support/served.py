"""Our server over HTTP in this process, for clients that cannot send a token."""

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import uvicorn
from mcp.server import MCPServer
from starlette.types import ASGIApp, Receive, Scope, Send

from context_compression.mcp_server.serving import http_config
from context_compression.mcp_server.web.gate import MEGABYTE, Gate, allowed_names
from context_compression.mcp_server.web.running import Health
from context_compression.mcp_server.web.tenants import SingleToken, TenantServers

TOKEN = "a-token-for-tests"


@asynccontextmanager
async def served(server: MCPServer) -> AsyncGenerator[str]:
    """The address at which a server answers, as with `serve --http` but for the token."""
    app = server.streamable_http_app(
        transport_security=allowed_names("127.0.0.1"), max_request_body_size=MEGABYTE
    )
    gate = Gate(SingleToken(TOKEN), TenantServers(lambda _: app, lasting=True), Health())
    listening = socket.create_server(("127.0.0.1", 0))
    web = uvicorn.Server(http_config(_with_token(gate)))
    async with anyio.create_task_group() as running:
        running.start_soon(web.serve, [listening])
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        web.should_exit = True


def _with_token(app: ASGIApp) -> ASGIApp:
    async def bearing(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            header = (b"authorization", f"Bearer {TOKEN}".encode())
            scope = {**scope, "headers": [*scope["headers"], header]}
        await app(scope, receive, send)

    return bearing
