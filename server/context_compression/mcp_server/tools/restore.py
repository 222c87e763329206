"""`context_restore`: returns archived text, quoted and in pages, or searches the archive."""

import re
from contextlib import suppress
from itertools import islice
from typing import Any

from mcp.types import CallToolResult

from context_compression.conversation.labels import SEARCH
from context_compression.conversation.refs import REF, SHORTEST, ref_of
from context_compression.errors import ConversationNotFound, UnknownRef
from context_compression.mcp_server.arguments import RestoreArguments
from context_compression.mcp_server.calls import Call, text_answer
from context_compression.mcp_server.compressing import open_named_session
from context_compression.mcp_server.resources import newest_refs
from context_compression.session import Session
from context_compression.session.restoring import PAGE, Asked, found, quoted, restored, search
from context_compression.store import Store
from context_compression.store.refs import bare_ref, too_short_note

NEWEST = 5  # refs named in the error for an unknown ref
REF_QUERY = re.compile(rf"(?:ref\W{{1,3}})?({REF})(?:\.txt)?", re.IGNORECASE)
"""A query that is just a ref."""
FILLED_BY = (
    "context_compress archives what it removes from a conversation; context_offload archives a "
    "text, a file or large tool results."
)

HOW_TO_LIST = 'context_status(response_format="detailed") lists the newest refs.'
WIDER = "Without conversation, all sessions are searched."


async def context_restore(call: Call, arguments: RestoreArguments) -> CallToolResult:
    """What `context_restore` answers."""
    store, asked = call.workspace.store, arguments
    if not asked.ref and (ref := await _as_ref(call, asked.query.strip())):
        asked = asked.model_copy(update={"ref": ref})
    asked = asked.checked(HOW_TO_LIST)
    if asked.ref:
        first = None
        with suppress(ConversationNotFound):  # then all sessions are searched for the ref
            first, _ = await open_named_session(call, arguments.conversation)
        text = await call.in_thread("restoring", lambda: from_any(store, asked, first))
        return text_answer(text)
    session, note = await _to_search(call, arguments.conversation)

    def work() -> str:
        calling = call.conversations.calling(call.request) if store.beside else None
        result = search(store, asked, session, calling=calling)
        return found(store, asked, result, session, note=note, filled_by=FILLED_BY, wider=WIDER)

    return text_answer(await call.in_thread("searching", work))


async def _to_search(call: Call, name: str | None) -> tuple[str | None, str]:
    """The id of the only session to search, `None` for all; and a note."""
    try:
        return await open_named_session(call, name)
    except ConversationNotFound:
        beside = call.workspace.store.beside
        if (
            name
            and beside
            and (id := await call.in_thread("searching", lambda: beside.named(name)))
        ):
            return id, ""
        raise


async def _as_ref(call: Call, query: str) -> str | None:
    """The ref, if the query is just a ref and a text or message is archived under it."""
    match = REF_QUERY.fullmatch(query)
    if match is None:
        return None
    ref = match[1].lower()
    log = await call.in_thread("searching", lambda: call.workspace.store.locate(ref))
    if log is None:
        beside = await call.in_thread(
            "searching", lambda: call.workspace.store.original_beside(ref)
        )
        return beside.ref if beside else None
    return ref


def from_any(store: Store, asked: Asked, first: str | None = None, *, most: int = PAGE) -> str:
    """A page of an original of any session, or of a summary, quoted.

    Args:
        store: where it is archived.
        asked: with a ref.
        first: a session in which the ref is looked up before all others.
        most: characters of the page.
    """
    ref = bare_ref(asked.ref)
    preferred = store.session(first) if first else None
    log = preferred if preferred and preferred.full_ref(ref) else store.locate(ref)
    if log:
        return restored(Session(store, log.id), asked, most)
    full, what, original = outside_sessions(store, ref)
    answer, _ = quoted(asked.part(original), full, what, asked, most)
    return answer


def outside_sessions(store: Store, ref: str) -> tuple[str, str, Any]:
    """The ref, the name and the content of what no session archived: a host's, or a summary.

    Raises:
        UnknownRef: there is no such thing either.
    """
    if beside := store.original_beside(ref):
        return beside.ref, beside.what, beside.original
    for entry in store.summaries() if len(ref) >= SHORTEST else ():
        text = str(entry.get("content", ""))
        if (full := ref_of(text)).startswith(ref.lower()):
            return full, f"summary of {entry.get('session')}", text
    newest = [ref for ref, _ in islice(newest_refs(store, store.sessions()), NEWEST)]
    refs = f"The newest refs: {', '.join(newest)}. {SEARCH} searches the archive."
    hint = refs if newest else f"Nothing is archived yet. {FILLED_BY}"
    raise UnknownRef(f"Nothing is archived under {ref[:40]!r}{too_short_note(ref)}. {hint}")
