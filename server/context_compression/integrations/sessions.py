"""The sessions of one adapter: one for each agent or thread, by the framework's own id."""

import re
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from context_compression.session import Session
from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.store.names import FILE_NAME
from context_compression.summaries.choice import BY_SETTINGS, Writer
from context_compression.tokens import TextCounter

MOST_OPEN = 64
"""How many sessions stay in memory; one used again later is read from the store."""


class Sessions:
    """Opens the sessions of one adapter in one store.

    `Sessions("langchain", store=".compression")["thread-7"]` is the session
    `langchain-thread-7`.

    Args:
        framework: begins the ids of the sessions, so that two frameworks can share a store.
        store: a `Store`, or the path of its folder.
        settings: a `Settings`, or some of its values.
        model: the model whose tokens and window count.
        counter: counts tokens instead of our counter.
        summarizer: writes summaries; by default the model that the settings name.
    """

    def __init__(
        self,
        framework: str,
        *,
        store: Store | str | Path = ".compression",
        settings: Settings | Mapping[str, Any] | None = None,
        model: str | None = None,
        counter: TextCounter | None = None,
        summarizer: Writer = BY_SETTINGS,
    ) -> None:
        self.store = store if isinstance(store, Store) else Store(store)
        self._framework = framework
        self._options: dict[str, Any] = {
            "settings": settings, "model": model, "counter": counter, "summarizer": summarizer
        }  # fmt: skip
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._lock = Lock()

    def __getitem__(self, id: object) -> Session:
        """The session of an id of the framework; the same object as long as it is in use."""
        name = session_name(self._framework, str(id))
        with self._lock:
            session = self._open.pop(name, None) or Session(self.store, name, **self._options)
            self._open[name] = session
            if len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
            return session


def session_name(framework: str, id: str) -> str:
    """The session id for an id of a framework, which may have any characters and any length.

    An id that cannot be part of a file's name gets a hash, so that no two ids have one session.
    """
    name = f"{framework}-{id}"
    if id and FILE_NAME.fullmatch(name):
        return name
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", id)[:40].strip(".-")
    digest = sha256(id.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{framework}.{readable}-{digest}"  # the dot: no other id can spell this name
