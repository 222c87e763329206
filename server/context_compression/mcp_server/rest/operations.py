"""What plain HTTP answers: compress, fit, restore and status, with the words of the tools.

Each runs in a worker thread. All that is compressed here has a session in the store, so every ref
can be restored; where the store is away, a request is refused, and the program has its history.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from context_compression.compression.result import Result
from context_compression.conversation.formats import parse
from context_compression.errors import ConversationNotFound, StoreUnwritable
from context_compression.hosts.conversations import CURRENT, Conversations
from context_compression.mcp_server.arguments import Arguments
from context_compression.mcp_server.calls import settings_for
from context_compression.mcp_server.rest import bodies
from context_compression.mcp_server.tools.restore import FILLED_BY, outside_sessions
from context_compression.report.facts import ReportedCompression, status_facts
from context_compression.session import OriginalPart, Session, session_id_for
from context_compression.session.following import readable
from context_compression.session.outgoing import told
from context_compression.session.restoring import (
    described,
    found,
    next_cursor,
    note_restored,
    search,
)
from context_compression.settings import GUARDED
from context_compression.workspace import Opened

NEWEST = 100
"""How many sessions the status of the store names."""
AT_THE_TOP = ("changed", "session", "tokens_before", "tokens_after", "target_met", "refs", "note",
              "warnings", "other_refs", "refs_of_this_call")  # fmt: skip
"""Facts of a report that stand beside it, or tell the model of a host how to go on."""


class SessionTaken(Exception):
    """A session of this name is kept for something else."""


def compress(conversations: Conversations, body: bodies.CompressBody) -> Mapping[str, Any]:
    """`POST /v1/compress`."""
    workspace = conversations.workspace
    settings = settings_for(workspace, body.settings)
    conversation = parse(body.messages)
    id = body.session or session_id_for(conversation, workspace.store)
    session = Session(
        workspace.store,
        _free(conversations, id),
        settings=settings,
        model=body.model,
        system=body.system,
        tools=body.tools,
        summarizer=workspace.summarizer(settings),
    )
    options: dict[str, Any] = {
        "target_tokens": body.target_tokens,
        "strategy": body.strategy,
        "force": body.target_tokens is None,
    }
    result = session.compress(messages=conversation, **options)
    may_ask = (body.strategy or settings.strategy) in ("auto", "summarize")
    report = _report(
        result, session, options, workspace.why_no_model(settings) if may_ask else None
    )
    return {
        **_compacted(result.messages, result.system),
        "tokens_before": result.tokens_before,
        "tokens_after": result.tokens_after,
        "target_met": result.target_met,
        "changed": result.changed,
        "session": id if body.session or result.changed else None,
        **report,
    }


def fit(conversations: Conversations, body: bodies.FitBody) -> Mapping[str, Any]:
    """`POST /v1/fit`."""
    workspace = conversations.workspace
    settings = workspace.settings()
    session = Session(
        workspace.store,
        _free(conversations, body.session),
        settings=settings,
        model=body.model,
        summarizer=workspace.summarizer(settings),
    )
    fitted = session.fitting.fitted(body.messages, system=body.system, tools=body.tools)
    state = session.state()
    tokens = int(session.usage(state=state).used_tokens)
    changed = fitted.messages != body.messages
    before = int(session.usage(readable(body.messages)[1]).used_tokens) if changed else tokens
    warnings = [*told(session.sendable(state.view).repairs), *session.fitting.warnings]
    report = _report(fitted.result, session, {})
    return {
        **_compacted(fitted.messages, session.system),
        "tokens_before": before,
        "tokens_after": tokens,
        "target_met": tokens <= session.settings.token_budget,
        "changed": changed,
        "session": session.id,
        **report,
        "warnings": [*dict.fromkeys((*warnings, *report["warnings"]))],
    }


def restore(conversations: Conversations, body: bodies.RestoreBody) -> Mapping[str, Any]:
    """`POST /v1/restore`."""
    store, asked = conversations.workspace.store, body.checked()
    session = _recorded(conversations, body.session) if body.session else None
    if not asked.ref:
        result = search(store, asked, body.session)
        hits = [
            {"ref": hit.ref, "what": hit.what, "session": hit.session,
             "lines": [line for _, line in hit.lines]}
            for hit in result.hits
        ]  # fmt: skip
        text = found(store, asked, result, body.session, filled_by=FILLED_BY)
        total, cursor = result.total, next_cursor(asked, result)
        return {"text": text, "hits": hits, "total": total, "cursor": cursor}
    if session is None and (log := store.locate(asked.ref)):
        session = Session(store, log.id)
    if session is None:
        ref, what, original = outside_sessions(store, asked.ref)
        return _restored(asked.part(original), ref, what, None)
    ref, what, original = described(session, asked.ref)
    part = asked.part(original)
    if not part.is_number:
        with suppress(StoreUnwritable):  # a store that cannot be written can still be read
            note_restored(session, ref, part.text)
    return _restored(part, ref, what, session.id)


def status(conversations: Conversations, query: bodies.StatusQuery) -> Mapping[str, Any]:
    """`GET /v1/status`."""
    workspace = conversations.workspace
    if query.session is None:
        ids, settings = workspace.store.sessions(), workspace.settings()
        return {
            "store": workspace.store.name,
            "sessions_total": len(ids),
            "bytes": workspace.store.size_of(),
            "newest_sessions": ids[:NEWEST],
            "settings": settings.model_dump(
                mode="json", include=settings.model_fields_set.difference(GUARDED)
            ),
            "warnings": [*workspace.doubts()],
        }
    session = _recorded(conversations, query.session)
    opened = conversations.open(session.id)
    now = opened.session.status(opened.shown, opened.anchor)
    facts = status_facts(
        workspace, opened, now, detailed=True, next_call=None, offered=False, readable=[]
    )
    return {**facts.record, "warnings": [*facts.more["warnings"]]}


def _compacted(messages: Sequence[Any], system: Any) -> Mapping[str, Any]:
    return {"messages": messages} | ({} if system is None else {"system": system})


def _report(
    result: Result | None, session: Session, options: Mapping[str, Any], warning: str | None = None
) -> dict[str, Any]:
    """The refs, report and warnings of a compression; of none if there was none."""
    if result is None:
        return {"refs": {}, "warnings": []}
    told = ReportedCompression(result, Opened(session), options, True, warning=warning)
    facts = told.facts.record
    refs = {
        ref: {"what": about.what, "messages": [*about.indices], "sha256": about.sha256}
        for ref, about in result.refs.items()
    }
    report = {name: fact for name, fact in facts.items() if name not in AT_THE_TOP}
    return {"refs": refs, "report": report, "warnings": facts.get("warnings", [])}


def _restored(part: OriginalPart, ref: str, what: str, session: str | None) -> Mapping[str, Any]:
    return {
        "text": part.text, "ref": ref, "what": what, "session": session, "values": part.values,
        "counts": part.counts,
    }  # fmt: skip


def _free(conversations: Conversations, id: str) -> str:
    """The id of a session for a conversation.

    Raises:
        SessionTaken: it names something else here.
    """
    try:
        conversations.refuse_own_session(id)
        conversations.refuse_file_name(id)
    except ConversationNotFound as error:
        raise SessionTaken(str(error)) from error
    if id == CURRENT:
        raise SessionTaken(f"{CURRENT!r} means another thing to the tools. Take another name.")
    return id


def _recorded(conversations: Conversations, id: str) -> Session:
    """A session that is in the store.

    Raises:
        ConversationNotFound: there is none of this id.
    """
    session = Session(conversations.workspace.store, id)
    if id == CURRENT or not session.log.exists():
        newest = conversations.recorded()[:5]
        raise ConversationNotFound(f"No session {id!r} is recorded.", newest)
    return session


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


@dataclass(frozen=True)
class Operation:
    """One of the paths.

    Attributes:
        path: of it.
        method: how it is asked; arguments of GET are in the query, all others in the body.
        arguments: what it takes.
        answer: it, made in a worker thread.
        answers: the names of its answers among the schemas.
    """

    path: str
    method: str
    arguments: type[Arguments]
    answer: Callable[[Conversations, Any], Mapping[str, Any]]
    answers: Sequence[str]


OPERATIONS = (
    Operation("/v1/compress", "POST", bodies.CompressBody, compress, ["Compacted"]),
    Operation("/v1/fit", "POST", bodies.FitBody, fit, ["Compacted"]),
    Operation("/v1/restore", "POST", bodies.RestoreBody, restore, ["Restored"]),
    Operation("/v1/status", "GET", bodies.StatusQuery, status, ["SessionStatus", "StoreStatus"]),
)
