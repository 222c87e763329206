"""The tenants of `serve --http`: which bearer token is whose, and the server of each.

Which bearer token is whose: one token for the whole store, or a file of tenants' tokens. A line of
the file is a tenant and a token, or the token's SHA-256, so that the file holds no secret:

    # the build agents
    builds   sha256:<64 hex digits>
    support  <token>

The MCP server of each tenant, made at its first request. Each has its own store, settings,
conversations and caches, so nothing in memory is reachable from another. What a server keeps in
memory is for speed alone: it may be dropped at any time, and is, so that a process that runs for
months does not grow.
"""

import gc
import hmac
import os
import re
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol

import anyio
from anyio.abc import TaskGroup, TaskStatus
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from context_compression.errors import InvalidSettings
from context_compression.store.files import FILE_NAME, RULE
from context_compression.strings import one_line

SHORTEST_TOKEN = 16  # characters
TOKEN68 = re.compile(r"[A-Za-z0-9._~+/-]+=*")
LONGEST_PATH = 1_000  # characters shown of it
HASHED = re.compile(r"sha256:([0-9A-Fa-f]{64})")
PUBLIC = frozenset(
    bytes.fromhex(each)
    for each in (
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",  # of "test"
        "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",  # of "foo"
        "ed5460fb79ffd3966015491d2cd21506eae973d0a370c6b2286aee1251b38b18",  # of one that is long
    )
)
"""Hashes of tokens that everybody knows: they stood in examples."""
WHOLE_STORE = ""
"""The tenant of a server that has a single token: it has no tenants."""

Pairs = Sequence[tuple[str, bytes]]
"""Tenants, each with the SHA-256 of one of their tokens."""
Stamp = tuple[int, ...] | None
"""Changes when the file does; `None` while there is none."""


class TokenOwners(Protocol):
    """Knows whose a token is."""

    def tenant_of(self, token: bytes) -> str | None:
        """The tenant of a token; `None` for a token that is nobody's."""
        ...


@dataclass(frozen=True)
class SingleToken:
    """One token, for the whole store."""

    token: str

    def tenant_of(self, token: bytes) -> str | None:
        """`WHOLE_STORE` for the token."""
        return WHOLE_STORE if hmac.compare_digest(token, self.token.encode()) else None


class TenantTokens:
    """The tokens of tenants, from a file or from lines; a changed file is read again.

    A file that is damaged or missing meanwhile changes nothing, and stderr says so once.
    """

    def __init__(self, given: str, *, is_file: bool = False) -> None:
        """The tokens.

        Args:
            given: the path of the file, or the lines themselves.
            is_file: whether it can only be a path, so that an error may name it if it looks it.

        Raises:
            InvalidSettings: the file cannot be read, or a line is wrong. No token is named.
        """
        lines = not is_file and len(given.split()) > 1 and not os.path.exists(given)
        self._file = None if lines else given
        self._named = is_file and _is_path(given)
        self._stamp: Stamp = None
        self._pairs = pairs_in(given) if lines else self._read(given)

    def tenant_of(self, token: bytes) -> str | None:
        """The tenant of a token; each comparison takes the same time, and all are made."""
        self._read_again()
        sent, found = sha256(token).digest(), None
        for tenant, digest in self._pairs:
            if hmac.compare_digest(sent, digest):
                found = tenant
        return found

    def _read_again(self) -> None:
        """Reads the file if it has changed."""
        if self._file is None or (stamp := _stamp(self._file)) == self._stamp:
            return
        self._stamp = stamp  # so that a problem is told once
        try:
            self._pairs = self._read(self._file)
        except InvalidSettings as error:
            sys.stderr.write(f"{error} The tokens of before stay valid.\n")
            sys.stderr.flush()

    def _read(self, file: str) -> Pairs:
        try:
            with open(file, "rb") as opened:
                self._stamp = _stamp_of(os.fstat(opened.fileno()))
                text = opened.read().decode()
        except (OSError, ValueError) as error:  # also: not UTF-8, a NUL in the path
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            named = "of tenants"  # what is no file may be a token
            if self._named or self._stamp:
                named = f"in {one_line(file, LONGEST_PATH)}"
            raise InvalidSettings(
                f"The tokens {named} cannot be read: {why}. Pass the path of a file with a tenant "
                "and a token in each line."
            ) from None
        return pairs_in(text, file)


def pairs_in(text: str, file: str = "the value given") -> Pairs:
    """The tenants and hashes in lines of tokens.

    Raises:
        InvalidSettings: a line is wrong, or has a token of an example or of another tenant; or no
            line has any.
    """
    pairs: list[tuple[str, bytes]] = []
    owners: dict[bytes, str] = {}
    spelled: dict[str, str] = {}
    for number, tenant, token in _lines(text):
        where = f"Line {number:,} of the tokens in {file}"
        if not FILE_NAME.fullmatch(tenant):
            raise InvalidSettings(
                f"{where} names no tenant: a name has {RULE}. A line is a tenant, a space and a "
                "token."
            )
        if not HASHED.fullmatch(token) and not is_good(token):
            raise InvalidSettings(
                f"{where} has no token: it needs at least {SHORTEST_TOKEN} characters, only "
                "A-Z a-z 0-9 - . _ ~ + / and =; or `sha256:` and the 64 hex digits of its SHA-256."
            )
        hashed = HASHED.fullmatch(token)
        digest = bytes.fromhex(hashed[1]) if hashed else sha256(token.encode()).digest()
        if digest in PUBLIC:
            raise InvalidSettings(
                f"{where} has a token of an example, which everybody knows. Make one of your own."
            )
        if (other := spelled.setdefault(tenant.lower().rstrip("."), tenant)) != tenant:
            raise InvalidSettings(
                f"{where} names {tenant}, and another line {other}. Some disks take both for one "
                "name, so spell it the same everywhere, or take another."
            )
        if owners.setdefault(digest, tenant) != tenant:
            raise InvalidSettings(
                f"{where} gives {tenant} a token of {owners[digest]}. Make another for one of them."
            )
        pairs.append((tenant, digest))
    if not pairs:
        raise InvalidSettings(f"There are no tokens in {file}, so nobody could ask this server.")
    return pairs


def is_good(token: str) -> bool:
    """Whether a token is long enough, and a header can carry it (RFC 6750)."""
    return len(token) >= SHORTEST_TOKEN and TOKEN68.fullmatch(token) is not None


def _is_path(given: str) -> bool:
    """Whether a value is surely a path; a line of tokens, or a token, must not be shown."""
    if os.path.exists(given):
        return True
    folder = os.path.dirname(given)  # a token may hold a slash, too
    known = folder.strip("/") and os.path.isdir(folder)
    return len(given.split()) == 1 and folder != "" and bool(known or not is_good(given))


def _lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Each line with its number, as a tenant and the rest; without comments and empty lines."""
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if line := line.partition("#")[0].strip():
            tenant, *rest = line.split(maxsplit=1)
            yield number, tenant, "".join(rest)


def _stamp(file: str) -> Stamp:
    try:
        return _stamp_of(os.stat(file))
    except OSError:
        return None


def _stamp_of(about: os.stat_result) -> Stamp:
    return about.st_mtime_ns, about.st_size, about.st_ino


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
