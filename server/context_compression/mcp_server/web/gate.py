"""The gate of `serve --http` and of the proxy: under which names, who may ask, and how much.

The names under which the server may be addressed: the Host and Origin of a request. A web page of
another origin, or one that points its own name at this machine, is refused. Headers that a proxy
adds (`X-Forwarded-…`) decide nothing.

How much one tenant, and all together, may ask of this process. The numbers are of one process:
three replicas let three times as much in.
"""

import logging
import re
import socket
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from ipaddress import ip_address
from math import ceil
from typing import Any, ClassVar, Protocol

from anyio import move_on_after
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from context_compression.errors import InvalidSettings, StoreError
from context_compression.mcp_server.invalid_messages import repaired_body
from context_compression.mcp_server.web.refusals import is_plain_http, refusal
from context_compression.mcp_server.web.running import (
    LIVES,
    READY,
    UNREACHABLE,
    Health,
    LogEntry,
    logged,
)
from context_compression.mcp_server.web.tenants import (
    SHORTEST_TOKEN,
    SingleToken,
    TenantTokens,
    TokenOwners,
    is_good,
)
from context_compression.store.location import TENANT
from context_compression.strings import one_line
from context_compression.workspace import Workspace

LOOPBACK = ("127.0.0.1", "localhost", "::1")
ANY = ("0.0.0.0", "::")
NAME = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def allowed_names(host: str, others: Sequence[str] = ()) -> TransportSecuritySettings:
    """The names that requests may use.

    Args:
        host: the address at which the server listens.
        others: further names, for a proxy in front; each with or without a port.

    Raises:
        InvalidSettings: one of them is no name.
    """
    names = {host, *LOOPBACK} if is_loopback(host) else {host}
    if host in ANY:  # all interfaces; a proxy or container maps an address to them
        names = {*LOOPBACK, socket.gethostname()}
    shown = [f"[{name}]" if ":" in name else name for name in sorted(names)]
    own = [form for name in shown for form in (name, f"{name}:*")]  # without a port, it is 80
    added = [*_of_proxies(others)]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*own, *added],
        allowed_origins=[
            *(f"http://{name}" for name in (*own, *added)),
            *(f"https://{name}" for name in added),
        ],
    )


def _of_proxies(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        match = NAME.fullmatch(name)
        if match is None:
            raise InvalidSettings(
                f"{one_line(name, 60)!r} is no name of a host. --allow-host takes a name as "
                "archive.example.org, without https:// and path."
            )
        yield name
        if not match[2]:
            yield f"{name}:*"


def _without_what_a_client_wrote(record: logging.LogRecord) -> bool:
    """Lets the words of a refusal through: "Invalid Host header", but not that header."""
    words, found, _ = record.getMessage().partition(" header: ")
    if found:
        record.msg, record.args = f"{words} header. --allow-host NAME allows a name.", ()
    return True


logging.getLogger("mcp.server.transport_security").addFilter(_without_what_a_client_wrote)

TOKEN, TOKENS = "CONTEXT_COMPRESSION_TOKEN", "CONTEXT_COMPRESSION_TOKENS"
TOKEN_COMMAND = 'python -c "import secrets; print(secrets.token_urlsafe(32))"'


def token_owners(
    workspace: Workspace, host: str, token: str | None, tokens: str | None
) -> TokenOwners | None:
    """Who may ask; `None` if nobody has chosen a token, and only this machine can reach the host.

    Args:
        workspace: has the variables that count where no option is given.
        host: the address at which the server listens.
        token: the option `--token`.
        tokens: the option `--tokens`.

    Raises:
        InvalidSettings: a token is too weak or cannot be sent; or an address that other machines
            can reach has no token; or options contradict each other.
    """
    tenants = tokens or workspace.environ.get(TOKENS)
    given = token or workspace.environ.get(TOKEN)
    if tenants and given:
        raise InvalidSettings(
            f"There is one token for all (--token, {TOKEN}) and there are tokens of tenants "
            f"(--tokens, {TOKENS}). Leave out one of them."
        )
    if tenants and workspace.part:
        raise InvalidSettings(
            f"There are tokens of tenants (--tokens, {TOKENS}), and a token decides whose a "
            f"request is. Leave out the tenant {workspace.part} (--tenant, {TENANT})."
        )
    if tenants:
        return TenantTokens(tenants, is_file=bool(tokens))
    if given and not is_good(given):
        raise InvalidSettings(
            f"A token needs at least {SHORTEST_TOKEN} characters, only A-Z a-z 0-9 - . _ ~ + / and "
            f"=. This one has too few, or others. This command makes a good one: {TOKEN_COMMAND}"
        )
    if not given and not is_loopback(host):
        raise InvalidSettings(
            f"Other machines can reach {host}, so you have to choose a token: set {TOKEN} "
            "or pass --token. 127.0.0.1 needs no token."
        )
    return SingleToken(given) if given else None


MEGABYTE = 1024 * 1024
TENANTS_FULL, ALL_FULL = 429, 503
"""Status codes: a tenant asks too much, and all together do."""


@dataclass(frozen=True)
class RequestLimits:
    """How much may be asked.

    Attributes:
        at_once: requests of one tenant at the same time.
        per_minute: requests of one tenant in a minute; as many may come in a burst.
        in_all: requests of all tenants at the same time; `None` for four times `at_once`.
        workers: processes that answer; one tenant gets half of them, further requests wait.
        seconds: how long a request may take, from the time a worker has it.
        megabytes: how large a request may be, in MiB; an argument may be a full conversation.

    Raises:
        InvalidSettings: one tenant could take all of the process.
    """

    at_once: int = 16
    per_minute: int = 1_200
    in_all: int | None = None
    workers: int = 8
    seconds: float = 300.0
    megabytes: int = 64

    def __post_init__(self) -> None:
        if self.in_all is not None and self.in_all <= self.at_once:
            raise InvalidSettings(
                f"One tenant may have {self.at_once:,} requests at once, and all together "
                f"{self.in_all:,}, so one could shut out all others. Make --in-all larger than "
                "--at-once."
            )

    @property
    def most_bytes(self) -> int:
        """How large a request may be."""
        return self.megabytes * MEGABYTE

    @property
    def most(self) -> int:
        """Requests of all tenants at the same time."""
        return 4 * self.at_once if self.in_all is None else self.in_all


class Exceeded(Exception):
    """A request is one too many."""

    def __init__(self, status: int, seconds: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.seconds = status, seconds

    def response(self, scope: Scope) -> Response:
        """The answer: when to ask again."""
        kind = "TooManyRequests" if self.status == TENANTS_FULL else "Busy"
        again = {"Retry-After": str(self.seconds)}
        return refusal(scope, self.status, kind, str(self), again, retry_after=self.seconds)


@dataclass
class _Use:
    """What a tenant uses: requests being answered, and a bucket that fills with the time."""

    tokens: float
    filled_at: float
    running: int = 0


@dataclass
class Admission:
    """Lets requests in as long as the limits allow it."""

    limits: RequestLimits
    clock: Callable[[], float] = time.monotonic
    _uses: dict[str, _Use] = field(default_factory=dict[str, _Use])
    _running: int = 0

    @contextmanager
    def admitted(self, tenant: str) -> Generator[None]:
        """Counts a request of a tenant while it is answered.

        Raises:
            Exceeded: it is one too many.
        """
        use = self._refilled(tenant)
        if use.running >= self.limits.at_once:
            raise Exceeded(
                TENANTS_FULL,
                1,
                f"{use.running} requests of yours are being answered. Wait for one.",
            )
        if use.tokens < 1:
            wait = ceil((1 - use.tokens) * 60 / self.limits.per_minute)
            most = self.limits.per_minute
            raise Exceeded(TENANTS_FULL, wait, f"More than {most:,} requests of yours in a minute.")
        if self._running >= self.limits.most:
            raise Exceeded(ALL_FULL, 1, "This server is busy. Ask again in a second.")
        use.tokens -= 1
        use.running += 1
        self._running += 1
        try:
            yield
        finally:
            use.running -= 1
            self._running -= 1

    def _refilled(self, tenant: str) -> _Use:
        now, most = self.clock(), self.limits.per_minute
        use = self._uses.setdefault(tenant, _Use(most, now))
        use.tokens = min(most, use.tokens + (now - use.filled_at) * most / 60)
        use.filled_at = now
        return use


BODY_SECONDS = 60.0
"""The time in which the body of a request must have arrived."""
CHALLENGE = {"WWW-Authenticate": "Bearer"}
NO_TOKEN = "unauthorized: pass a token of this server in the header `Authorization: Bearer TOKEN`"
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

    header: ClassVar = b"authorization"
    """Has the token."""

    def __init__(
        self,
        tokens: TokenOwners,
        servers: Answering,
        health: Health,
        *,
        most_bytes: int = RequestLimits().most_bytes,
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

    async def _answer(self, entry: LogEntry, scope: Scope, receive: Receive, send: Send) -> None:
        tenant = self._tenant_of(scope["headers"])
        entry.tenant = tenant or None
        if tenant is None:
            refused = refusal(scope, 401, "Unauthorized", NO_TOKEN, CHALLENGE)
            return await refused(scope, receive, send)
        if self._stateless and scope["method"] != "POST" and not is_plain_http(scope):
            # a stream that waits would be bound to this process, and nothing is ever sent in it
            refused = refusal(scope, 405, "", "only POST", {"Allow": "POST"})
            return await refused(scope, receive, send)
        try:
            with self._admission.admitted(tenant) if self._admission else nullcontext():
                return await self._pass_on(tenant, scope, receive, send)
        except Exceeded as exceeded:
            return await exceeded.response(scope)(scope, receive, send)

    async def _pass_on(self, tenant: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets the tenant's server answer a request that has come to its end."""
        rest = repaired_body(receive, self._most_bytes, repairs=not is_plain_http(scope))
        messages: list[Message] = []
        with move_on_after(BODY_SECONDS):
            messages.append(await rest())
        if not messages:  # it would keep its place among all requests for ever
            refused = refusal(scope, 408, "BodyTooSlow", "the body did not arrive in time")
            await refused(scope, receive, send)
            return
        if messages[0]["type"] != "http.request":
            return  # the client went away while it was sending

        async def receive_again() -> Message:
            return messages.pop() if messages else await rest()

        try:
            await self._servers.answer(tenant, scope, receive_again, send)
        except StoreError as error:  # of a server that could not be made; others have answered
            self._health.tell(error)
            away = refusal(scope, 503, "StoreUnreachable", UNREACHABLE, AGAIN, retry_after=1)
            await away(scope, receive, send)

    def _tenant_of(self, headers: Sequence[tuple[bytes, bytes]]) -> str | None:
        sent = [value for name, value in headers if name == self.header]
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
