"""The address of a database, `postgresql://…`: what libpq reads, and what people are shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from urllib.parse import quote

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from context_compression.errors import StoreError
from context_compression.store.location import FORM

DEFAULTS: Mapping[str, str] = {
    "application_name": "context-compression",
    "connect_timeout": "5",
    "keepalives_idle": "30",
    "tcp_user_timeout": "15000",
}
"""Parameters of libpq that an address may set otherwise; times in s, but the last in ms."""
ENCODING = {"client_encoding": "UTF8"}
"""What no address and no variable of libpq may set otherwise."""
SECRETS = ("password", "sslpassword", "passfile", "sslkey")
"""Parameters whose values are never shown."""
NO_ADDRESS = (
    f"The address of the database is not one that PostgreSQL knows. It has the form {FORM}; in "
    "user and password write other characters than letters and digits as %XX. It is not repeated "
    "here, because it may hold a password."
)


@dataclass(frozen=True)
class Address:
    """Where a database is.

    Attributes:
        parameters: of libpq, by name.
        shown: the address without user, password and parameters.
    """

    parameters: Mapping[str, str] = field(repr=False)
    shown: str

    @classmethod
    def read(cls, url: str) -> "Address":
        """The address in a URL.

        Raises:
            StoreError: libpq does not understand it. The error does not quote it.
        """
        if "\0" in url:  # libpq would read no further
            raise StoreError(NO_ADDRESS)
        try:
            given = conninfo_to_dict(url)
        except (ProgrammingError, UnicodeError):
            raise StoreError(NO_ADDRESS) from None
        parameters = {name: str(value) for name, value in given.items() if value is not None}
        if not _is_complete(parameters):
            raise StoreError(NO_ADDRESS)
        return cls({**DEFAULTS, **parameters, **ENCODING}, _shown(parameters))

    def without_secrets(self, text: str) -> str:
        """A text in which no secret of this address stands."""
        for secret in filter(None, map(self.parameters.get, SECRETS)):
            for form in (secret, quote(secret), quote(secret, safe="")):
                text = text.replace(form, "***")
        return text


def _is_complete(parameters: Mapping[str, str]) -> bool:
    """Whether no part of a password stands elsewhere, as after `@`, `/` or `:` in one."""
    ports = parameters.get("port", "").replace(",", "")
    elsewhere = (parameters.get(name, "") for name in ("host", "dbname"))
    return (ports.isdecimal() or not ports) and not any("@" in part for part in elsewhere)


def _shown(parameters: Mapping[str, str]) -> str:
    """`postgresql://[::1]:5432,db.example.com/archive`, without user, password and parameters."""
    hosts = parameters.get("host") or parameters.get("hostaddr") or "localhost"
    ports = parameters.get("port", "").split(",")
    names = hosts.split(",")
    if len(ports) == 1:  # it is that of all hosts
        ports *= len(names)
    where = ",".join(_host(*each) for each in zip_longest(names, ports, fillvalue=""))
    return f"postgresql://{where}/{quote(parameters.get('dbname', ''))}"


def _host(name: str, port: str) -> str:
    shown = "localhost" if name.startswith("/") else quote(name, safe=":")
    shown = f"[{shown}]" if ":" in shown else shown
    return f"{shown}:{port}" if port else shown
