"""Runs the server: over stdin and stdout for one host, or over HTTP for several clients."""

import hmac
import re
import secrets
import signal
import socket
import sys
from ipaddress import ip_address
from typing import Literal

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.runner import serve_dual_era_loop, serve_loop
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from context_compression.errors import InvalidSettings
from context_compression.mcp_server.invalid_messages import ValidMessages, repaired_body
from context_compression.mcp_server.server import create_server
from context_compression.workspace import Workspace

TOKEN = "CONTEXT_COMPRESSION_TOKEN"
MAX_BODY = 64 * 1024 * 1024  # bytes; an argument may be a full conversation
LOOPBACK = ("127.0.0.1", "localhost", "::1")
SHORTEST_TOKEN = 16  # characters
TOKEN68 = re.compile(r"[A-Za-z0-9._~+/-]+=*")
TOKEN_COMMAND = 'python -c "import secrets; print(secrets.token_urlsafe(32))"'
NO_TLS = """\
Warning: other machines can reach {host}, and this server has no TLS: anybody on the network path \
can read the token and the conversations. Keep it on 127.0.0.1 and put a reverse proxy in front:
  context-compression serve --http --port {port}
  caddy reverse-proxy --from YOUR.DOMAIN --to 127.0.0.1:{port} --change-host-header
"""

Protocol = Literal["auto", "legacy"]


def serve_stdio(
    workspace: Workspace, *, protocol: Protocol = "auto", hooks: str | None = None
) -> None:
    """Serves the host that started this process, until it closes stdin.

    Args:
        workspace: the workspace to work in.
        protocol: `legacy` answers only the handshake of 2025, for a client that probes for the
            newer protocol and then cannot go back.
        hooks: the host whose hooks a seventh tool answers; `None` for six tools.
    """
    server = create_server(workspace, hooks)
    # Hosts and people end the server with SIGINT. The thread that waits for stdin cannot be
    # interrupted, so an orderly end would wait for the next line. A kill never harms the store.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(_serve, server, protocol)


async def _serve(server: MCPServer, protocol: Protocol) -> None:
    """Like `MCPServer.run_stdio_async`, but every line gets an answer.

    With the legacy protocol, the answer to `server/discover` is "not found".
    """
    low = server._lowlevel_server  # pyright: ignore[reportPrivateUsage]  # no public way, mcp 2.3
    options = low.create_initialization_options()
    serve = serve_loop if protocol == "legacy" else serve_dual_era_loop
    async with low.lifespan(low) as state, stdio_server() as (read, write):
        messages = ValidMessages(read, write)
        await serve(low, messages, write, lifespan_state=state, init_options=options)


def serve_http(
    workspace: Workspace, *, host: str = "127.0.0.1", port: int = 8765, token: str | None = None
) -> None:
    """Serves Streamable HTTP at `/mcp`, until interrupted; prints address and token to stderr.

    Args:
        workspace: the workspace to work in.
        host: the name or address under which clients reach this machine.
        port: the port; 0 takes a free one.
        token: the bearer token of every request. If neither this nor `CONTEXT_COMPRESSION_TOKEN` is
            set, a loopback address gets a random token.

    Raises:
        InvalidSettings: the token is too weak or cannot be sent; or an address that other machines
            can reach has no token; or the address cannot be used.
    """
    given = token or workspace.environ.get(TOKEN)
    if given and not is_good(given):
        raise InvalidSettings(
            f"A token needs at least {SHORTEST_TOKEN} characters, only A-Z a-z 0-9 - . _ ~ + / and "
            f"=. This one has too few, or others. This command makes a good one: {TOKEN_COMMAND}"
        )
    if not given and not is_loopback(host):
        raise InvalidSettings(
            f"Other machines can reach {host}, so you have to choose a token: set {TOKEN} or pass "
            "--token. 127.0.0.1 needs no token."
        )
    token = given or secrets.token_urlsafe(32)
    listening = _listening(host, port)
    port = listening.getsockname()[1]
    app = http_app(create_server(workspace), host, token)
    address = f"[{host}]" if ":" in host else host
    header = "" if given else f"Authorization: Bearer {token}\n"
    warning = "" if is_loopback(host) else NO_TLS.format(host=host, port=port)
    sys.stderr.write(f"Serving http://{address}:{port}/mcp\n{header}{warning}")
    sys.stderr.flush()
    uvicorn.Server(http_config(app)).run(sockets=[listening])


def http_config(app: ASGIApp) -> uvicorn.Config:
    """The configuration of the web server."""
    from context_compression.mcp_server.request_timeout import RequestTimeout

    return uvicorn.Config(app, http=RequestTimeout, log_level="warning")


def http_app(server: MCPServer, host: str, token: str) -> ASGIApp:
    """The ASGI application: requires the token, and refuses web pages of other origins."""
    names = {host, *LOOPBACK} if is_loopback(host) else {host}
    if host in ("0.0.0.0", "::"):  # all interfaces; a proxy or container maps an address to them
        names = {*LOOPBACK, socket.gethostname()}
    addresses = [f"[{name}]:*" if ":" in name else f"{name}:*" for name in sorted(names)]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=addresses,
        allowed_origins=[f"http://{address}" for address in addresses],
    )
    app = server.streamable_http_app(
        host=host, transport_security=security, max_request_body_size=MAX_BODY
    )
    return BearerGate(app, token)


class BearerGate:
    """Accepts only requests with the bearer token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._expected = app, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] == "http":
            sent = dict(scope["headers"]).get(b"authorization", b"")
            scheme, _, token = sent.partition(b" ")
            same = hmac.compare_digest(token.strip(b" "), self._expected)
            if scheme.lower() != b"bearer" or not same:
                challenge = {"WWW-Authenticate": "Bearer"}
                refusal = JSONResponse({"error": "unauthorized"}, 401, headers=challenge)
                return await refusal(scope, receive, send)
            receive = repaired_body(receive, MAX_BODY)
        return await self._app(scope, receive, send)


def is_good(token: str) -> bool:
    """Whether a token is long enough, and a header can carry it (RFC 6750)."""
    return len(token) >= SHORTEST_TOKEN and TOKEN68.fullmatch(token) is not None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        raise InvalidSettings(
            f"Cannot listen on {host}, port {port}: {error}. Choose another with --port or --host."
        ) from error
