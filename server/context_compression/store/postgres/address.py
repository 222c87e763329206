"""The address of a database, `postgresql://…`: what libpq reads, and what people are shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from context_compression.errors import StoreError

DEFAULTS: Mapping[str, str] = {
    "application_name": "context-compression",
    "connect_timeout": "5",
    "keepalives_idle": "30",
    "tcp_user_timeout": "15000",
}
"""Parameters of libpq that an address may set otherwise; times in s, but the last in ms."""
SECRETS = ("password", "sslpassword", "passfile", "sslkey")
"""Parameters whose values are never shown."""
NO_ADDRESS = (
    "The address of the database is not one that PostgreSQL knows. It has the form "
    "postgresql://USER:PASSWORD@HOST:5432/DATABASE; in user and password write other characters "
    "than letters and digits as %XX. It is not repeated here, because it may hold a password."
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
        try:
            given = conninfo_to_dict(url)
        except ProgrammingError:
            raise StoreError(NO_ADDRESS) from None
        parameters = {name: str(value) for name, value in given.items() if value is not None}
        if not _is_complete(parameters):
            raise StoreError(NO_ADDRESS)
        host = parameters.get("host") or parameters.get("hostaddr") or "localhost"
        port = f":{parameters['port']}" if "port" in parameters else ""
        name = parameters.get("dbname", "")
        where = quote(host, safe=",:") if not host.startswith("/") else "localhost"
        return cls({**DEFAULTS, **parameters}, f"postgresql://{where}{port}/{quote(name)}")

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
