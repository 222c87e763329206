"""`compress` with a store, called before each request: it continues what the last call returned.

The session of the conversation stays open in this process, so that the next call reads only what is
new. Another process reads it from the store.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
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


def compress_in_session(store: Place, request: CompressionRequest, writer: Written) -> Result:
    """`compress` with a store.

    The call continues what the last one returned if it leaves to the settings when to compress, and
    how, and if the system prompt does not bring its summary along.
    """
    request.check()
    if request.target_tokens or request.strategy or request.pins or request.force:
        return _compressed_anew(store, request, writer)
    session = _session_to_continue(store, request, writer)
    prepared = PreparedConversation(request, session.settings, "continued")
    if prepared.prompt.at is not None:
        return _compressed_anew(store, request, writer)
    repaired = prepared.conversation.render(prepared.repaired.messages)
    history = as_given(repaired, prepared.conversation.raw, request.messages)
    number = session.state().number
    fitted = session.fitting.fitted(
        history, system=request.system, tools=request.tools, focus=request.focus
    )
    prepared.plan = replace(
        prepared.plan, archive=archive_of(session.store, session.log, session.state())
    )
    return _result(session, prepared, history, fitted, number)


def _compressed_anew(store: Place, request: CompressionRequest, writer: Written) -> Result:
    if not isinstance(store, Session):
        store = store if isinstance(store, Store) else Store(store)
        store = Session(
            store, session_id_for(request.messages, store), system=request.system,
            tools=request.tools, model=request.model, counter=request.counter, summarizer=writer(),
        )  # fmt: skip
    return store.compress(**{name: getattr(request, name) for name in OF_A_CALL})


def _session_to_continue(store: Place, request: CompressionRequest, writer: Written) -> Session:
    if not isinstance(store, Session):
        opened = store if isinstance(store, Store) else Store(store)
        session = open_session(store, session_id_for(request.messages, opened), request)
        session.summarizer = writer()
        return session
    if request.settings is None:
        return store
    settings = settings_for(store, request.settings)
    about = replace(
        request, settings=settings, model=store.model, counter=store.counter,
        system=store.given_system, tools=store.tools,
    )  # fmt: skip
    session = open_session(store.store, store.id, about)
    session.summarizer, session.on_event = store.summarizer, store.on_event
    return session


def _result(
    session: Session,
    prepared: PreparedConversation,
    history: Sequence[Any],
    fitted: Fitted,
    number: int,
) -> Result:
    """The result of what the session made.

    Args:
        session: the session.
        prepared: the call.
        history: its messages after their repair, which the session followed.
        fitted: what it made.
        number: how many events it had before.
    """
    state, request = session.state(), prepared.request
    strategy = state.compressions[-1]["strategy"] if state.compressions else "none"
    result = continued(prepared, history, fitted.messages, fitted.origins, strategy)
    ran, system = fitted.result, session.system
    if ran is not None:
        result = replace(result, **{name: getattr(ran, name) for name in OF_ITS_COMPRESSION})
    elif result.changed:
        result = replace(result, repeated=state.number == number)
    if system is not request.system:
        count = prepared.counter.system
        more = count(system) - count(request.system)
        result = replace(result, system=system, tokens_after=result.tokens_after + more)
    # the refs that the session has, of messages that are gone and of the notes in the view
    refs = {ref: about for ref, about in result.refs.items() if ref in state.refs}
    originals = {ref: result.originals[ref] for ref in refs}
    given = {*map(id, history)}
    new = [message for message in fitted.messages if id(message) not in given]
    for ref in dict.fromkeys(re.findall(REF, canonical(plain(new)))):
        if ref in state.refs and ref not in refs:
            about = state.refs[ref]
            refs[ref] = Ref(about["what"], (), None, about.get("sha256", ""))
            originals[ref] = session.original(ref)
    return replace(result, messages=fitted.messages, refs=refs, originals=originals)
