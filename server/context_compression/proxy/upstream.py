"""Where requests of the proxy go, and which of their headers go along.

A client decides only on the path behind our upstream, never on its host. Which provider is meant is
told by the path and by the headers of its API, so that the key of one never reaches the other.
"""

import re
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self
from urllib.parse import SplitResult, urlsplit

from context_compression.errors import InvalidSettings

ANTHROPIC, OPENAI = "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"
DEFAULTS = {ANTHROPIC: "https://api.anthropic.com", OPENAI: "https://api.openai.com/v1"}
"""The variables that clients know, and what counts without them: the addresses of both SDKs."""
OPTION = "--upstream"
VERSION = re.compile(r"(/v1)+(?=[/?]|$)")
"""Begins a path; twice if the address that a client knows has it, and the client adds it, too."""
OF_APIS = ("chat", "completions", "embeddings", "messages", "models", "responses")
"""Begin paths of an API, also where a client leaves out the version."""
APIS = ("messages", "chat/completions", "responses")
"""The ends of the paths that send a conversation to a model."""

Header = tuple[bytes, bytes]
"""A name in small letters, and its value."""
OF_CONNECTIONS = frozenset((
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authentication-info",
    b"proxy-authorization", b"proxy-connection", b"te", b"trailer", b"transfer-encoding",
    b"upgrade",
))  # fmt: skip
"""Headers of one connection, which no proxy passes on (RFC 9110, 7.6.1)."""
SET_ANEW = frozenset((b"host", b"expect"))
"""The host is that of the upstream; `Expect` was answered as the body was read."""
LENGTH, CODING, ENCODINGS = b"content-length", b"transfer-encoding", b"accept-encoding"
CODED = b"content-encoding"


@dataclass(frozen=True)
class Upstream:
    """An address behind which an API is found.

    Attributes:
        name: of the option or variable that says it.
        url: the address, without `/v1` and slashes at its end.
        versioned: whether `/v1` was there, or would have to be, as there is no path at all.
    """

    name: str
    url: str
    versioned: bool

    @classmethod
    def read(cls, name: str, url: str) -> Self:
        """The address that an option or variable has.

        Raises:
            InvalidSettings: it is none, or holds what no address of an API has.
        """
        parts = _split(url)
        if parts is None:
            raise InvalidSettings(
                f"{name} is no address of an API. Write one as {DEFAULTS[ANTHROPIC]}, which begins "
                "with https:// or http:// and has no user, password, query or #."
            )
        path = parts.path.rstrip("/")
        root = path
        while root.endswith("/v1"):
            root = root.removesuffix("/v1")
        return cls(name, f"{parts.scheme}://{parts.netloc}{root}", root != path or not path)

    def behind(self, path: str, *, anthropic: bool) -> str:
        """The URL of a path with its query, as `/v1/messages?beta=true`."""
        rest = unversioned(path)
        of_api = rest != path or rest[1:].partition("?")[0].partition("/")[0] in OF_APIS
        if of_api and (anthropic or self.versioned):
            return f"{self.url}/v1{rest}"
        return f"{self.url}{rest}"


@dataclass(frozen=True)
class Upstreams:
    """Where requests go: to one place, or to a provider for each API."""

    anthropic: Upstream
    openai: Upstream

    @classmethod
    def read(cls, given: str | None, environ: Mapping[str, str]) -> Self:
        """What the user has chosen: one address for all requests, or the variables of the SDKs.

        Raises:
            InvalidSettings: an address is wrong.
        """
        if given is not None:
            one = Upstream.read(OPTION, given)
            return cls(one, one)
        return cls(
            *(
                Upstream.read(name, environ.get(name, "").strip() or default)
                for name, default in DEFAULTS.items()
            )
        )

    def refuse_ourselves(self, names: Iterable[str], port: int) -> None:
        """Check that no address is that of the proxy.

        Args:
            names: under which the proxy is reached.
            port: at which it listens.

        Raises:
            InvalidSettings: one is.
        """
        own = {*names, "localhost", "0.0.0.0", "::", "::1", socket.gethostname().lower()}
        for upstream in (self.anthropic, self.openai):
            parts = urlsplit(upstream.url)
            host = (parts.hostname or "").rstrip(".")
            there = parts.port or (443 if parts.scheme == "https" else 80)
            if there == port and (host in own or host.startswith("127.")):
                name = upstream.name
                default = DEFAULTS.get(name, DEFAULTS[ANTHROPIC])
                without = f", or start it without {name}, which only its clients need"
                raise InvalidSettings(
                    f"{name} is {upstream.url}, which is this proxy itself, so a request would go "
                    f"round for ever. Say where requests go with {OPTION}, such as {OPTION} "
                    f"{default}{without if name != OPTION else ''}."
                )

    def of(self, path: str, headers: Mapping[str, str]) -> str:
        """The URL to which a request goes.

        `of("/v1/messages?beta=true", {})` -> `"https://api.anthropic.com/v1/messages?beta=true"`

        Args:
            path: with its query, as the request line has it; it begins with a slash.
            headers: of the request, by names in small letters.
        """
        anthropic = is_for_anthropic(path, headers)
        return (self.anthropic if anthropic else self.openai).behind(path, anthropic=anthropic)


def is_for_anthropic(path: str, headers: Mapping[str, str]) -> bool:
    """Whether a request is one of Anthropic's API: its path, headers or key say so.

    A client sends more than messages, for example for its own features, and always with its key.
    """
    if re.match(r"/messages(?=[/?]|$)", unversioned(path)) or "x-api-key" in headers:
        return True
    key = headers.get("authorization", "").rpartition(" ")[2]
    return key.startswith("sk-ant-") or any(name.startswith("anthropic-") for name in headers)


def api_of(path: str) -> str | None:
    """Which of `APIS` a path ends with: `"/openai/v1/responses"` -> `"responses"`."""
    return next((api for api in APIS if path.endswith(f"/{api}")), None)


def unversioned(path: str) -> str:
    """A path without the version at its beginning: `"/v1/messages"` -> `"/messages"`."""
    match = VERSION.match(path)
    return path[match.end() :] if match else path


def request_headers(headers: Sequence[Header], *, is_read: bool = False) -> list[Header]:
    """The headers of a request that go to the provider.

    Args:
        headers: as the client sent them.
        is_read: whether we read the answer, which must not be compressed then, and write the body
            anew, which has a length of its own.
    """
    chunked = any(name == CODING for name, _ in headers)
    left_out = {LENGTH} if is_read or chunked else set[bytes]()
    kept = [
        each
        for each in end_to_end(headers)
        if each[0] not in SET_ANEW | left_out and not (is_read and each[0] == ENCODINGS)
    ]
    return [*kept, (ENCODINGS, b"identity")] if is_read else kept


def answer_headers(headers: Sequence[Header], *, is_changed: bool = False) -> list[Header]:
    """The headers of an answer that go to the client.

    Args:
        headers: as the provider sent them.
        is_changed: whether the body is another: its length is another, and it is not compressed.
    """
    kept = end_to_end([(name.lower(), value) for name, value in headers])
    return [each for each in kept if not (is_changed and each[0] in (LENGTH, CODED))]


def end_to_end(headers: Sequence[Header]) -> list[Header]:
    """Headers without those of one connection, and without those that `Connection` names."""
    named = b",".join(value for name, value in headers if name == b"connection").lower()
    dropped = OF_CONNECTIONS.union(each.strip() for each in named.split(b","))
    return [each for each in headers if each[0] not in dropped]


def _split(url: str) -> SplitResult | None:
    """The parts of an address; `None` for one that cannot be ours."""
    try:
        parts = urlsplit(url)
        port = parts.port  # a number that is none raises here
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        return None
    if "@" in parts.netloc or not re.fullmatch(r"[!\x24-\x3e\x40-\x7e]+", url):
        return None  # with a user, a query, a fragment, spaces, or letters that are not ASCII
    return parts
