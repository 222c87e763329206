"""A transaction that is made exactly once, also if the connection is lost at its COMMIT.

Each leaves a mark of its own in the table `writes`. One that is run again does nothing if its mark
is there already: it was committed, and only the answer was lost. The number that PostgreSQL gives a
transaction would not tell that, because after a crash another transaction may get the same number.
"""

from collections.abc import Callable
from typing import Generic, TypeVar
from uuid import uuid4

from context_compression.store.postgres.connections import Connection

Result = TypeVar("Result")
_MARK = """
WITH reported AS (DELETE FROM writes WHERE mark = %s)
INSERT INTO writes (mark) VALUES (%s) ON CONFLICT DO NOTHING
"""


class Attempt(Generic[Result]):
    """A transaction that is made once, however often it is run.

    Attributes:
        result: of the last run.
        may_be_committed: whether a run came to its end, so that only the answer may be missing.
    """

    result: Result

    def __init__(self, work: Callable[[Connection], Result]) -> None:
        self.may_be_committed = False
        self._work, self._mark = work, uuid4()

    def run(self, connection: Connection) -> Result:
        """Run it, unless an earlier run was committed.

        A run that the server has not given up yet is waited for, by the key of the mark.
        """
        with connection.transaction():
            if self._is_new(connection):
                self.may_be_committed = False
                self.result = self._work(connection)
                self.may_be_committed = True
        connection.written = self._mark
        return self.result

    def was_committed(self, connection: Connection) -> bool:
        """Whether an earlier run was committed; if not, none will be."""
        return not self._is_new(connection)

    def _is_new(self, connection: Connection) -> bool:
        return bool(connection.execute(_MARK, [connection.written, self._mark]).rowcount)
