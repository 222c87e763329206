"""The history of a conversation as a file in the folder of our session, as the SDK writes it."""

# The framework is an extra, and not installed where this is checked:
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUntypedBaseClass=false

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

from context_compression.errors import NotOurs, StoreError
from context_compression.extras import extra
from context_compression.session.events import timestamp
from context_compression.store import Store
from context_compression.threads import in_thread

with extra("openai-agents"):
    from agents import SQLiteSession
    from agents.memory import SessionABC, SessionSettings

HISTORY = "history.sqlite3"
"""The name of the file."""
T = TypeVar("T")


class HistoryFile(SessionABC):
    """A session of the SDK whose items are deleted together with a session of ours.

    The file is open only while it is used, and under the lock of appends. So a deletion, also by
    another process, takes all of it along, and what is added later begins a new file.

    Args:
        id: the id of the conversation, as the SDK has it.
        store: of our session.
        session: the id of our session.

    Raises:
        StoreError: the store is no folder.
    """

    session_settings: SessionSettings | None = None

    def __init__(self, id: str, store: Store, session: str) -> None:
        if store.backend.folder is None:
            raise StoreError(
                f"{store.name} is no folder, so it cannot keep the SDK's history of {id!r}. Pass a "
                f"session of the SDK that keeps it: session({id!r}, SQLAlchemySession(…))."
            )
        self.session_id = id
        self._store, self._session = store, session

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The items, or the last ones."""
        return await self._using(lambda history: history.get_items(limit), [])

    async def add_items(self, items: list[Any]) -> None:
        """Add items."""
        await self._using(lambda history: history.add_items(items))

    async def pop_item(self) -> Any:
        """Remove the last item, and return it."""
        return await self._using(lambda history: history.pop_item(), None)

    async def clear_session(self) -> None:
        """Remove all items."""
        await self._using(lambda history: history.clear_session(), None)

    async def _using(self, work: Callable[[Any], Coroutine[Any, Any, T]], *if_none: T) -> T:
        return await in_thread(partial(self._in_file, work, *if_none))

    def _in_file(self, work: Callable[[Any], Coroutine[Any, Any, T]], *if_none: T) -> T:
        """What some work with the history returns; `if_none` if there is no file."""
        log, store = self._store.session(self._session), self._store
        if if_none and not os.path.lexists(log.folder / HISTORY):
            return if_none[0]
        if store.exists and not store.is_ours:
            raise NotOurs(
                f"{store.name} may come from someone else, and SQLite follows what lies beside a "
                "database, so no history is opened there. Run `context-compression trust`, pass "
                "the store to ContextCompression, or pass a session of the SDK as `history`."
            )
        if not log.exists:  # a deletion looks for sessions that have a log
            log.append({"type": "history", "created_at": timestamp(), "file": HISTORY})
        with (
            store.files.session(log.id).database(HISTORY) as path,
            closing(SQLiteSession(self.session_id, path)) as history,
        ):
            return asyncio.run(work(history))
