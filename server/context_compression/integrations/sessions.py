"""The sessions of one adapter: one for each agent or thread, by the framework's own id."""

import difflib
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from inspect import signature
from pathlib import Path
from threading import Lock
from typing import Any, TypedDict

from context_compression.conversation.refs import ref_of
from context_compression.errors import StoreError
from context_compression.session import Session
from context_compression.session.following import begin_alike, first_messages, shared_messages
from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.store.files import FILE_NAME
from context_compression.summaries.summarizer import BY_SETTINGS, Writer, summarizer_for
from context_compression.tokens import TextCounter
from context_compression.tokens.usage import for_model
from context_compression.workspace import Workspace

MOST_OPEN = 64
"""How many sessions stay in memory; one used again later is read from the store."""


class SessionOptions(TypedDict, total=False):
    """What every adapter takes about its sessions.

    Attributes:
        store: a `Store`, the path of its folder, or the address of a database; by default the
            store that the command would use here, with the tenant that the environment names.
        settings: a `Settings`, or some of its values.
        model: the model whose tokens and window count; by default the one that is asked.
        counter: counts tokens instead of our counter.
        summarizer: writes summaries; by default the model that the settings name.
    """

    store: Store | str | Path | None
    settings: Settings | Mapping[str, Any] | None
    model: str | None
    counter: TextCounter | None
    summarizer: Writer


class Sessions:
    """Opens the sessions of one adapter in one store.

    `Sessions("langchain", store=".compression")["thread-7"]` is the session
    `langchain-thread-7`.

    Args:
        framework: begins the ids of the sessions, so that two frameworks can share a store.
        store, settings, model, counter, summarizer: as `SessionOptions` has them.

    Raises:
        InvalidSettings: an unknown name or an impossible value; no summarizer.
        StoreError: the store's place is impossible.
    """

    def __init__(
        self,
        framework: str,
        *,
        store: Store | str | Path | None = None,
        settings: Settings | Mapping[str, Any] | None = None,
        model: str | None = None,
        counter: TextCounter | None = None,
        summarizer: Writer = BY_SETTINGS,
    ) -> None:
        if store is None:
            store = Workspace.here().store
        self.store = store if isinstance(store, Store) else Store(store)
        self._framework = framework
        settings = for_model(settings, None)  # an error is raised here, not in a request
        summarizer_for(summarizer, settings)
        self._options: dict[str, Any] = {
            "settings": settings, "model": model, "counter": counter, "summarizer": summarizer
        }  # fmt: skip
        self._open: OrderedDict[str, tuple[Any, Session]] = OrderedDict()
        self._lock = Lock()

    @classmethod
    def of(cls, adapter: object, framework: str, options: SessionOptions) -> "Sessions":
        """The sessions of an adapter, with the options that its caller passed beside its own.

        Raises:
            TypeError: there is no such option; the message names the adapter's class.
        """
        own = signature(type(adapter).__init__).parameters.values()
        known = [each.name for each in own if each.kind is not each.VAR_KEYWORD][1:]  # not `self`
        known += SessionOptions.__annotations__
        for name in options.keys() - known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else "."
            raise TypeError(
                f"{type(adapter).__name__} has no option {name!r}{hint} "
                f"Options: {', '.join(known)}."
            )
        return cls(framework, **options)

    def __getitem__(self, id: object) -> Session:
        """The session of an id of the framework; the same object as long as it is in use."""
        return self.open(id)

    def open(self, id: object, *, model: str | None = None, window: int | None = None) -> Session:
        """The session of an id, with what the framework knows of the model of its next request.

        Args:
            id: of the framework.
            model: its name; counts if the program named none.
            window: tokens that it takes; they count if the settings have no `token_budget`.
        """
        return self.named(session_name(self._framework, str(id)), model=model, window=window)

    def named(self, name: str, *, model: str | None = None, window: int | None = None) -> Session:
        """`open`, for the id of a session that was opened here before."""
        of = (model, window)
        with self._lock:
            known, session = self._open.pop(name, (None, None))
            if session is None or (any(of) and of != known):
                known, session = of, Session(self.store, name, **self._for_model(*of))
            self._open[name] = known, session
            if len(self._open) > MOST_OPEN:
                self.store.forget(self._open.popitem(last=False)[0])
            return session

    def _for_model(self, model: str | None, window: int | None) -> dict[str, Any]:
        """The options of a session whose requests go to a model."""
        settings: Settings = self._options["settings"]
        if window and "token_budget" not in settings.model_fields_set:
            settings = settings.changed({"token_budget": window})
        model = self._options["model"] or model
        return {**self._options, "settings": settings, "model": model}

    def of_history(self, id: object, history: Sequence[Any], model: str | None = None) -> Session:
        """The session for a history that goes by an id.

        Frameworks give an agent's helpers the id of its conversation. A history that begins
        otherwise than the one that the id's session has, gets a session of its own.
        """
        session = self.open(id, model=model)
        try:
            state, begins = session.state(), first_messages(history)
        except StoreError:  # its request is made in memory
            return session
        if not (begins and state.recorded) or begin_alike(state.recorded, begins):
            return session
        if shared_messages(state.view, history).known == len(state.view):
            return session
        return self.open(f"{id}/{ref_of(begins)}", model=model)


def session_name(framework: str, id: str) -> str:
    """The session id for an id of a framework, which may have any characters and any length.

    An id that cannot be part of a file's name gets a hash, so that no two ids have one session. So
    does one with capitals or a dot at its end: macOS and Windows do not tell such names apart.
    """
    name = f"{framework}-{id}"
    if id and FILE_NAME.fullmatch(name) and id == id.lower().rstrip("."):
        return name
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", id)[:40].strip(".-")
    digest = sha256(id.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{framework}.{readable}-{digest}"  # the dot: no other id can spell this name
