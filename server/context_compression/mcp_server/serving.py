"""Runs the server over HTTP, for several clients."""

import secrets
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from context_compression.errors import InvalidSettings
from context_compression.mcp_server.rest.endpoint import PlainHttp
from context_compression.mcp_server.server import create_server
from context_compression.mcp_server.tools import OFFERS
from context_compression.mcp_server.web.gate import (
    Admission,
    Answering,
    Gate,
    RequestLimits,
    allowed_names,
    is_loopback,
    token_owners,
)
from context_compression.mcp_server.web.running import (
    DRAIN_SECONDS,
    DrainingServer,
    Health,
    http_config,
    listening_on,
    named_in_log,
)
from context_compression.mcp_server.web.tenants import (
    WHOLE_STORE,
    SingleToken,
    TenantServers,
    TenantTokens,
    TokenOwners,
)
from context_compression.store.store import probe
from context_compression.workspace import Workspace

if TYPE_CHECKING:
    from context_compression.mcp_server.web.workers import Workers

NO_TLS = """\
Warning: other machines can reach {host}, and this server has no TLS: anybody on the network path \
can read the token and the conversations. Keep it on 127.0.0.1 and put a reverse proxy in front:
  context-compression serve --http --port {port}
  caddy reverse-proxy --from YOUR.DOMAIN --to 127.0.0.1:{port} --change-host-header
"""
NO_TLS_FOR_TENANTS = """\
Warning: other machines can reach {host}, and this server has no TLS: anybody on the network path \
can read the tokens and the conversations. Let nobody but a reverse proxy reach it, which has TLS \
and keeps the Host that clients send; --allow-host names that Host.
"""


@dataclass(frozen=True)
class HttpOptions:
    """How HTTP is served.

    Attributes:
        host: the name or address under which clients reach this machine.
        port: the port; 0 takes a free one.
        token: the bearer token of every request. If neither this nor `CONTEXT_COMPRESSION_TOKEN` is
            set, and there are no tenants, a loopback address gets a random token.
        tokens: a file of tenants and their tokens, see `web.tenants`; by default the value of
            `CONTEXT_COMPRESSION_TOKENS`. Each tenant works in a store of its own.
        allow_hosts: further names under which the server may be addressed.
        limits: how much tenants may ask; `None` for the defaults.
        drain_seconds: how long the server goes on after SIGTERM; `None` for 5 with tenants, else 0.
        access_log: whether each request is logged to stderr.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    tokens: str | None = None
    allow_hosts: Sequence[str] = ()
    limits: RequestLimits | None = None
    drain_seconds: float | None = None
    access_log: bool = False


def serve_http(
    workspace: Workspace,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str | None = None,
    options: HttpOptions | None = None,
) -> None:
    """Serves Streamable HTTP at `/mcp`, until interrupted; prints address and token to stderr.

    Args:
        workspace: the workspace to work in.
        host: as in `HttpOptions`, as are `port` and `token`.
        port: the port.
        token: the bearer token.
        options: all options at once, instead of these three.

    Raises:
        InvalidSettings: a token is too weak or cannot be sent; or an address that other machines
            can reach has no token; or the address cannot be used; or options contradict each other.
    """
    options = options or HttpOptions(host, port, token)
    tokens = token_owners(workspace, options.host, options.token, options.tokens)
    made_up = "" if tokens else secrets.token_urlsafe(32)
    tokens = tokens or SingleToken(made_up)
    health = Health(lambda: probe(workspace.store.backend))
    servers = _workers(workspace, options, tokens)
    gate = gate_of(options, tokens, health, servers)
    listening = listening_on(options.host, options.port)
    tenants = isinstance(tokens, TenantTokens)
    no_tls = NO_TLS_FOR_TENANTS if tenants else NO_TLS
    _announce(options.host, listening.getsockname()[1], made_up, no_tls)
    drain = options.drain_seconds
    if drain is None:
        drain = DRAIN_SECONDS if tenants else 0.0
    DrainingServer(http_config(gate), health, drain, servers.end_streams).run(sockets=[listening])


def gate_of(options: HttpOptions, tokens: TokenOwners, health: Health, servers: Answering) -> Gate:
    """The ASGI application in front of servers: of tenants, if the tokens are theirs.

    Raises:
        InvalidSettings: the options contradict each other, or name no host.
    """
    tenants = isinstance(tokens, TenantTokens)
    if options.limits and not tenants:
        raise InvalidSettings(
            "--at-once, --per-minute and --in-all are limits of tenants. Pass --tokens, or leave "
            "them out."
        )
    limits = options.limits or RequestLimits()
    return Gate(
        tokens,
        servers,
        health,
        admission=Admission(limits) if tenants else None,
        most_bytes=limits.most_bytes,
        stateless=tenants,
        access_log=options.access_log,
    )


def servers_of(
    opened: Callable[[], Workspace],
    names: TransportSecuritySettings,
    most_bytes: int,
    *,
    tenants: bool,
) -> TenantServers:
    """The servers of tenants, which share nothing but their process; or one for the whole store.

    With tenants, no request belongs to a session with a process: any replica can answer it.
    """
    workspace = opened()

    def make(tenant: str) -> Starlette:
        own = workspace if tenant == WHOLE_STORE else workspace.of_tenant(tenant)
        server = create_server(own)
        server.middleware.insert(0, named_in_log([offer.name for offer in OFFERS]))
        app = server.streamable_http_app(
            transport_security=names, max_request_body_size=most_bytes, stateless_http=tenants
        )
        app.router.routes += PlainHttp(own, names, most_bytes).routes()
        return app

    return TenantServers(make, lasting=not tenants)


def _workers(workspace: Workspace, options: HttpOptions, tokens: TokenOwners) -> "Workers":
    from context_compression.mcp_server.web.workers import Workers  # a host needs none

    limits, tenants = options.limits or RequestLimits(), isinstance(tokens, TenantTokens)
    names = allowed_names(options.host, options.allow_hosts)
    make = partial(servers_of, workspace.opened_again(), names, limits.most_bytes, tenants=tenants)
    if tenants:
        return Workers(make, most=limits.workers, seconds=limits.seconds)
    return Workers(make)


def _announce(host: str, port: int, token: str, no_tls: str) -> None:
    """Prints the address, a token that was made up, and a warning if there is no TLS."""
    address = f"[{host}]" if ":" in host else host
    header = f"Authorization: Bearer {token}\n" if token else ""
    warning = "" if is_loopback(host) else no_tls.format(host=host, port=port)
    sys.stderr.write(f"Serving http://{address}:{port}/mcp\n{header}{warning}")
    sys.stderr.flush()
