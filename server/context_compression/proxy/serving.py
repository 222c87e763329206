"""Runs the proxy: its gate, its start and its end.

It is no open proxy: whatever a request line says, requests go to our upstream alone, under names
that are ours, and not for a web page. The key of a client belongs to its provider, so the proxy's
own token comes in `Proxy-Authorization`, and goes no further.
"""

import logging
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar, cast

import httpx2
import uvicorn
from mcp.server.transport_security import TransportSecurityMiddleware
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from context_compression.compression.result import SHOWN_REFS, Result
from context_compression.listening import Ending, RunningCompaction, Work, listen
from context_compression.mcp_server.web.gate import (
    ANY,
    Gate,
    allowed_names,
    is_loopback,
    token_owners,
)
from context_compression.mcp_server.web.running import (
    DRAIN_SECONDS,
    OTHER,
    DrainingServer,
    Health,
    LogEntry,
    RequestTimeout,
    http_config,
    listening_on,
)
from context_compression.mcp_server.web.tenants import (
    WHOLE_STORE,
    SingleToken,
    TenantServers,
    TenantTokens,
    TokenOwners,
)
from context_compression.proxy.passing import (
    FAULT,
    not_answered,
    provider_client,
    refuse,
    tell,
    tell_fault,
    until_client_leaves,
)
from context_compression.proxy.sessions import ProxySessions
from context_compression.proxy.turn import Turns
from context_compression.proxy.upstream import CODING, LENGTH, Upstreams, api_of
from context_compression.report.facts import headline
from context_compression.workspace import Workspace

PORT = 8788
IDLE_SECONDS = 75
"""How long a client's connection is kept for its next request."""
NOT_OURS = (
    "This proxy passes requests on to its own upstream alone, so a request names only a path. Set "
    "ANTHROPIC_BASE_URL or OPENAI_BASE_URL to the proxy's address, and not HTTP_PROXY."
)
TWO_LENGTHS = "The request has both Content-Length and Transfer-Encoding. Send one of them."
NO_SOCKETS = "This proxy answers over HTTP, and not over a WebSocket."
OTHER_HOST = (
    "The request's Host is no name of this proxy. Ask for 127.0.0.1 or localhost, or start the "
    "proxy with --allow-host and that name."
)
OTHER_ORIGIN = (
    "The request comes from a web page of another origin, which may not use this proxy. If the "
    "page is yours, start the proxy with --allow-host and its host."
)
NO_TOKEN = (
    "This proxy needs its own token, beside the key for the provider. Send the header "
    "Proxy-Authorization: Bearer TOKEN."
)
NO_TLS = (
    "Warning: other machines can reach {host}, and this proxy has no TLS: anybody on the network "
    "path can read keys and conversations. Let nobody but a reverse proxy with TLS reach it."
)
TOLD = ("ASGI callable returned", "Unsupported upgrade", "No supported WebSocket")
"""How messages of uvicorn begin that say what the proxy answers or tells itself."""


@dataclass(frozen=True)
class ProxyOptions:
    """How the proxy is served.

    Attributes:
        host: the name or address under which clients reach this machine.
        port: the port; 0 takes a free one.
        upstream: where all requests go; by default to the providers, or where the variables
            `ANTHROPIC_BASE_URL` and `OPENAI_BASE_URL` say.
        token: the proxy's own token, which every client has to send; by default the value of
            `CONTEXT_COMPRESSION_TOKEN`. A loopback address needs none.
        tokens: a file of tenants and their tokens; by default `CONTEXT_COMPRESSION_TOKENS`. The
            sessions of each tenant are in a store of its own.
        allow_hosts: further names under which the proxy may be addressed.
        drain_seconds: how long the proxy goes on after SIGTERM; `None` for 5 with tenants, else 0.
        access_log: whether each request is logged to stderr.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    upstream: str | None = None
    token: str | None = None
    tokens: str | None = None
    allow_hosts: Sequence[str] = ()
    drain_seconds: float | None = None
    access_log: bool = False


def serve_proxy(workspace: Workspace, options: ProxyOptions) -> None:
    """Serves the proxy until it is interrupted; prints to stderr what clients have to set.

    Raises:
        InvalidSettings: an upstream, a token or an address cannot be used, or an address that other
            machines can reach has no token; or the upstream is the proxy itself.
    """
    tokens = token_owners(workspace, options.host, options.token, options.tokens)
    upstreams = Upstreams.read(options.upstream, workspace.environ)
    listening = listening_on(options.host, options.port)
    port = listening.getsockname()[1]
    upstreams.refuse_ourselves([options.host, *options.allow_hosts], port)
    health = Health()  # without a store, requests go out as they came
    gate = proxy_gate(workspace, options, tokens, upstreams, health)
    drain = options.drain_seconds
    if drain is None:
        drain = DRAIN_SECONDS if isinstance(tokens, TenantTokens) else 0.0
    _announce(options, port, with_token=tokens is not None)
    stop = listen(compaction_told)
    try:
        server = DrainingServer(proxy_config(gate), health, drain, lambda: None)
        server.run(sockets=[listening])
    finally:
        stop()


def proxy_gate(
    workspace: Workspace,
    options: ProxyOptions,
    tokens: TokenOwners | None,
    upstreams: Upstreams,
    health: Health,
) -> "ProxyGate":
    """The ASGI application of the proxy.

    Raises:
        InvalidSettings: a name of a host is none, or a variable of the HTTP client is wrong.
    """
    client = provider_client()

    def make(tenant: str) -> Starlette:
        own = workspace if tenant == WHOLE_STORE else workspace.of_tenant(tenant)
        sessions = cache(partial(ProxySessions, own))  # not kept if it fails
        app = Starlette(exception_handlers={Exception: not_answered})
        app.router.default = Turns(sessions, upstreams, client)  # no route has all paths
        return app

    servers = TenantServers(make, lasting=not isinstance(tokens, TenantTokens))
    return ProxyGate(tokens, ProviderServers(servers, client), health, options)


def proxy_config(app: ASGIApp) -> uvicorn.Config:
    """The configuration of the web server: `Server` and `Date` of an answer are the provider's."""
    return http_config(
        app,
        http=PatientProtocol,
        ws="none",
        server_header=False,
        date_header=False,
        timeout_keep_alive=IDLE_SECONDS,
    )


class PatientProtocol(RequestTimeout):
    """The protocol of the web server; an agent may take its time between two requests.

    Clients drop a connection after some seconds, and take a new one. If the server was first, a
    request could meet the end of its connection.
    """

    seconds: ClassVar[float] = IDLE_SECONDS


@dataclass(frozen=True)
class ProviderServers:
    """Answers requests with what the provider says, each until its client leaves."""

    servers: TenantServers
    client: httpx2.AsyncClient

    @asynccontextmanager
    async def running(self, app: Any) -> AsyncGenerator[None]:
        """The time in which requests can be answered."""
        async with self.client, self.servers.running(app):
            yield

    async def answer(self, tenant: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets the server of a tenant answer a request."""
        await until_client_leaves(partial(self.servers.answer, tenant))(scope, receive, send)


class ProxyGate(Gate):
    """An ASGI application that passes on what is meant for the proxy, and nothing else.

    Args:
        tokens: whose a token is; `None` if none is needed.
        servers: of the tenants.
        health: whether the proxy takes requests.
        options: of the proxy.
    """

    header: ClassVar = b"proxy-authorization"

    def __init__(
        self,
        tokens: TokenOwners | None,
        servers: ProviderServers,
        health: Health,
        options: ProxyOptions,
    ) -> None:
        unused = SingleToken("")
        super().__init__(tokens or unused, servers, health, access_log=options.access_log)
        self._needs_token = tokens is not None
        self._names = allowed_names(options.host, options.allow_hosts)

    async def _answer(self, entry: LogEntry, scope: Scope, receive: Receive, send: Send) -> None:
        entry.api = api_of(scope["path"]) or OTHER
        tenant = self._tenant_of(scope["headers"]) if self._needs_token else WHOLE_STORE
        entry.tenant = tenant or None
        if refusal := await self._refusal(scope):
            return await refuse(scope, send, *refusal, {"Connection": "close"})
        if tenant is None:
            return await refuse(scope, send, 407, NO_TOKEN, {"Proxy-Authenticate": "Bearer"})
        try:
            await self._servers.answer(tenant, scope, receive, send)
        except ClientDisconnect:  # nobody is there to be told
            return None
        except httpx2.HTTPError as error:
            tell(f"An answer of the provider broke off: {type(error).__name__}")
        except Exception as error:
            tell_fault("A request was not answered", error)
        if entry.status is None:
            await refuse(scope, send, 500, FAULT)
        return None

    async def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is none for the proxy, with the status of HTTP; `None` if it is one."""
        headers = Headers(scope=scope)
        if not scope["path"].startswith("/") or scope["method"] == "CONNECT":
            return 421, NOT_OURS
        if LENGTH.decode() in headers and CODING.decode() in headers:
            return 400, TWO_LENGTHS
        wrong = await TransportSecurityMiddleware(self._names).validate_request(Request(scope))
        if wrong is not None:
            return wrong.status_code, OTHER_HOST if wrong.status_code == 421 else OTHER_ORIGIN
        if headers.get("sec-fetch-site") == "cross-site":
            return 403, OTHER_ORIGIN
        if headers.get("upgrade", "").lower() == "websocket":
            return 426, NO_SOCKETS
        return None


def _announce(options: ProxyOptions, port: int, *, with_token: bool) -> None:
    """Tells what clients have to set, and warns if there is no TLS."""
    host = socket.gethostname() if options.host in ANY else options.host
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    tell(f"Set for your client: ANTHROPIC_BASE_URL={address} OPENAI_BASE_URL={address}/v1")
    if with_token:
        tell("Each client also sends the header Proxy-Authorization: Bearer TOKEN")
    if not is_loopback(options.host):
        tell(NO_TLS.format(host=options.host))


def compaction_told(work: Work) -> AbstractContextManager[Ending]:
    """Listens to compactions, and prints a line for each that changed a conversation."""
    if not isinstance(work, RunningCompaction):
        return nullcontext(lambda _: None)
    session = getattr(work.session, "id", "")

    def end(outcome: Any) -> None:
        if isinstance(outcome, Result) and outcome.changed and not outcome.repeated:
            result = cast("Result[Any]", outcome)
            tell(f"{session}: {headline(result)}{_refs(result)}")

    return nullcontext(end)


def _refs(result: Result[Any]) -> str:
    refs = [*result.refs]
    more = f" and {len(refs) - SHOWN_REFS:,} more" * (len(refs) > SHOWN_REFS)
    return f", refs {', '.join(refs[:SHOWN_REFS])}{more}" if refs else ""


def _without_what_we_tell(record: logging.LogRecord) -> bool:
    """Lets through what uvicorn says, but for what is told here in better words."""
    return not record.getMessage().startswith(TOLD)


logging.getLogger("uvicorn.error").addFilter(_without_what_we_tell)
