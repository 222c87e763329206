"""The names under which the server may be addressed: the Host and Origin of a request.

A web page of another origin, or one that points its own name at this machine, is refused. Headers
that a proxy adds (`X-Forwarded-…`) decide nothing.
"""

import logging
import re
import socket
from collections.abc import Iterator, Sequence
from ipaddress import ip_address

from mcp.server.transport_security import TransportSecuritySettings

from context_compression.display.strings import one_line
from context_compression.errors import InvalidSettings

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
    own = [f"[{name}]:*" if ":" in name else f"{name}:*" for name in sorted(names)]
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
