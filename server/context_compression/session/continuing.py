"""`compress` with a store, called before each request: it continues what the last call returned.

The session of the conversation stays open in this process, so that the next call reads only what is
new. Another process reads it from the store.
"""

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

from context_compression.compression.outcome import as_given, continued
from context_compression.compression.prepared import CompressionRequest, PreparedConversation
from context_compression.compression.result import Ref, Result
from context_compression.conversation.formats import plain
from context_compression.conversation.refs import REF, canonical
from context_compression.session import Session, session_id_for
from context_compression.session.archive import archive_of
from context_compression.session.compressing import settings_for
from context_compression.session.fit import Fitted
from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.summaries.summarizer import Summarizer
from context_compression.tokens.usage import for_model

Place: TypeAlias = Store | Session | str | Path
Written: TypeAlias = Callable[[], Summarizer | None]
"""Says who writes the summaries of a call."""
OF_A_CALL = ("messages", "target_tokens", "strategy", "pins", "focus", "force", "settings")
"""Arguments of `Session.compress`; a session gets the other arguments when it is made."""
MOST_OPEN = 8
"""How many sessions stay open, the last ones used."""
OF_ITS_COMPRESSION = (
    "strategy", "steps", "target_tokens", "target_met", "floor_tokens", "floor", "files_removed",
    "first_kept_index", "notes", "summary",
)  # fmt: skip
"""What a result says about the compression that ran for it."""

_open: OrderedDict[tuple[Any, ...], Session] = OrderedDict()
_opening = Lock()


def open_session(store: Store | str | Path, id: str, request: CompressionRequest) -> Session:
    """The session of a conversation, which stays open for the next call.

    Args:
        store: of the session. Each `Store` has sessions of its own: it may be trusted or not.
        id: of the session.
        request: with the settings, the model and what goes beside the messages.
    """
    place = store if isinstance(store, Store) else Path(store).absolute()
    settings = for_model(request.settings, request.model)
    key = (place, id, settings.model_dump_json(), request.model, request.counter)
    with _opening:
        session = _open.pop(key, None)
        if session is None:
            session = Session(
                store, id, settings=settings, model=request.model, counter=request.counter
            )
        _open[key] = session
        while len(_open) > MOST_OPEN:
            _open.popitem(last=False)
    session.given_system, session.tools = request.system, request.tools
    return session


class ContinuedCall:
    """One call that continues a session.

    Attributes:
        history: the messages after their repair, which the session follows.
    """

    def __init__(self, request: CompressionRequest, settings: Settings) -> None:
        self._request = request
        self._prepared = prepared = PreparedConversation(request, settings, "continued")
        repaired = prepared.conversation.render(prepared.repaired.messages)
        self.history = as_given(repaired, prepared.conversation.raw, request.messages)

    @property
    def possible(self) -> bool:
        """Whether a session can go on; not if the system prompt brings its summary along."""
        return self._prepared.prompt.at is None

    def result(self, session: Session, fitted: Fitted, number: int) -> Result:
        """The result of what the session made.

        Args:
            session: the session.
            fitted: what it made.
            number: how many events it had before.
        """
        state, prepared = session.state(), self._prepared
        archive = archive_of(session.store, session.log, state)
        prepared.plan = replace(prepared.plan, archive=archive)
        strategy = state.compressions[-1]["strategy"] if state.compressions else "none"
        result = continued(prepared, self.history, fitted.messages, fitted.origins, strategy)
        ran, system = fitted.result, session.system
        if ran is not None:
            result = replace(result, **{name: getattr(ran, name) for name in OF_ITS_COMPRESSION})
        elif result.changed:
            result = replace(result, repeated=state.number == number)
        if system is not self._request.system:
            count = prepared.counter.system
            more = count(system) - count(self._request.system)
            result = replace(result, system=system, tokens_after=result.tokens_after + more)
        refs, originals = self._archived(session, result, fitted)
        return replace(result, messages=fitted.messages, refs=refs, originals=originals)

    def _archived(
        self, session: Session, result: Result, fitted: Fitted
    ) -> tuple[dict[str, Ref], dict[str, Any]]:
        """The refs that the session has, of messages that are gone and of the notes in the view."""
        state = session.state()
        refs = {ref: about for ref, about in result.refs.items() if ref in state.refs}
        originals = {ref: result.originals[ref] for ref in refs}
        given = {*map(id, self.history)}
        new = [message for message in fitted.messages if id(message) not in given]
        for ref in dict.fromkeys(re.findall(REF, canonical(plain(new)))):
            if ref in state.refs and ref not in refs:
                about = state.refs[ref]
                refs[ref] = Ref(about["what"], (), None, about.get("sha256", ""))
                originals[ref] = session.original(ref)
        return refs, originals


def compress_in_session(store: Place, request: CompressionRequest, writer: Written) -> Result:
    """`compress` with a store."""
    if (call := _continuing(store, request, writer)) is None:
        return _session(store, request, writer).compress(**_of_a_call(request))
    continuing, session = call
    number = session.state().number
    fitted = session.fitting.fitted(
        continuing.history, system=request.system, tools=request.tools, focus=request.focus
    )
    return continuing.result(session, fitted, number)


def _continuing(
    store: Place, request: CompressionRequest, writer: Written
) -> tuple[ContinuedCall, Session] | None:
    """The call and its session, if the call continues what the last one returned.

    It does if it leaves to the settings when to compress, and how.
    """
    request.check()
    if request.target_tokens or request.strategy or request.pins or request.force:
        return None
    if isinstance(store, Session):
        session = store
        if request.settings is not None:
            settings = settings_for(session, request.settings)
            about = replace(
                request, settings=settings, model=session.model, counter=session.counter,
                system=session.given_system, tools=session.tools,
            )  # fmt: skip
            session = open_session(session.store, session.id, about)
            session.summarizer, session.on_event = store.summarizer, store.on_event
    else:
        opened = store if isinstance(store, Store) else Store(store)
        session = open_session(store, session_id_for(request.messages, opened), request)
        session.summarizer = writer()
    continuing = ContinuedCall(request, session.settings)
    return (continuing, session) if continuing.possible else None


def _session(store: Place, request: CompressionRequest, writer: Written) -> Session:
    if isinstance(store, Session):
        return store
    store = store if isinstance(store, Store) else Store(store)
    return Session(
        store, session_id_for(request.messages, store), system=request.system, tools=request.tools,
        model=request.model, counter=request.counter,
        summarizer=writer(),
    )  # fmt: skip


def _of_a_call(request: CompressionRequest) -> dict[str, Any]:
    return {name: getattr(request, name) for name in OF_A_CALL}
