"""What stands between tenants, and between what is sealed and who could read it."""

from collections.abc import Callable
from typing import TypeVar

from context_compression.errors import StoreUnwritable
from context_compression.store.postgres.coding import Coding
from context_compression.store.postgres.connections import Connection
from context_compression.store.postgres.database import Database
from context_compression.store.sealing import VARIABLE

Result = TypeVar("Result")

SEALED = "encryption"
"""The name of the document that a tenant has whose rows are sealed."""
_IS_SEALED = "SELECT 1 FROM documents WHERE tenant = %s AND name = %s"
_SEAL = (
    "INSERT INTO documents (tenant, name, body) VALUES (%s, %s, convert_to('{}', 'UTF8')) "
    "ON CONFLICT DO NOTHING"
)
_UNGUARDED = """
SELECT CASE WHEN rolsuper THEN 'is a superuser, so the policies of the database do not keep'
    WHEN rolbypassrls THEN 'has BYPASSRLS, so the policies of the database do not keep'
    ELSE 'owns the tables, so the policies of the database do not keep the words of' END
FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls OR EXISTS (
    SELECT 1 FROM pg_class WHERE oid = 'lexemes'::regclass AND pg_has_role(relowner, 'USAGE')
))
"""


def unguarded(database: Database, tenant: str) -> str:
    """Why the policies of the database do not hold for our role; "" if they do."""
    found = database.read(tenant, _UNGUARDED)
    return next((f"the role {why} tenants apart" for [why] in found), "")


class SealedOrNot:
    """Whether the rows of a tenant are sealed: a worker without the key adds no readable ones."""

    def __init__(self, database: Database, tenant: str, coding: Coding) -> None:
        """Nothing is asked yet."""
        self._database, self._tenant, self._coding = database, tenant, coding
        self._is_marked = False

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """The result of a transaction that writes, see `Database.write`.

        The first that seals marks the tenant before it. One that does not seal looks for the mark
        each time, because another worker may have set it since.

        Raises:
            StoreUnwritable: the tenant's rows are sealed, and there is no key.
        """
        about = [self._tenant, SEALED]

        def unsealed(connection: Connection) -> Result:
            if connection.execute(_IS_SEALED, about).fetchall():
                raise StoreUnwritable(
                    f"What the tenant {self._tenant} keeps in {self._database.address.shown} is "
                    f"encrypted, and {VARIABLE} is not set, so this would be kept readable. Set it "
                    "to the key; nothing was changed."
                )
            return work(connection)

        if not self._coding.seals:
            return self._database.write(self._tenant, unsealed)
        if not self._is_marked:
            if not self._database.read(self._tenant, _IS_SEALED, about):
                self._database.write(self._tenant, lambda c: c.execute(_SEAL, about))
            self._is_marked = True
        return self._database.write(self._tenant, work)
