"""`context_restore`: returns archived text, quoted and in pages, or searches the archive."""

import re
from contextlib import suppress
from itertools import islice

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult

from context_compression.conversation.refs import REF, SHORTEST, ref_of
from context_compression.display.fences import fenced
from context_compression.display.plurals import how_many, in_range
from context_compression.display.strings import one_line
from context_compression.errors import ConversationNotFound, StoreUnwritable, UnknownRef
from context_compression.mcp_server.answers import sendable, text_answer
from context_compression.mcp_server.arguments import Arguments
from context_compression.mcp_server.call import Call
from context_compression.mcp_server.conversation import open_named_session
from context_compression.mcp_server.newest_refs import newest_refs
from context_compression.mcp_server.paging import PAGE as PAGE_OF_TEXT
from context_compression.mcp_server.paging import page
from context_compression.mcp_server.search import FILLED_BY, PAGE, SHOWN, search_answer, skipped
from context_compression.session import NO_LINE, Session, select
from context_compression.store import Store
from context_compression.store.search.query import Query
from context_compression.store.short_refs import bare_ref, too_short_note
from context_compression.tokens import Counter

NEWEST = 5  # refs named in the error for an unknown ref
REF_QUERY = re.compile(rf"(?:ref\W{{1,3}})?({REF})(?:\.txt)?", re.IGNORECASE)
"""A query that is just a ref."""


class RestoreArguments(Arguments):
    """The arguments of `context_restore`."""

    ref: str | None = None
    """or its first 4 digits"""
    lines: str | None = None
    """such as 10-40"""
    pattern: str | None = None
    """regular expression for lines"""
    query: str | None = None
    """words, "a phrase", path:src, tool:bash, error:; with ref: its lines"""
    conversation: str | None = None
    """a session to search"""
    cursor: str | None = None
    """from the page before"""


async def context_restore(call: Call, arguments: RestoreArguments) -> CallToolResult:
    """Brings back the original under a ref, quoted, in pages; or searches the archive."""
    store = call.workspace.store
    query = (arguments.query or "").strip()
    if not arguments.ref and (ref := await _as_ref(call, query)):
        arguments, query = arguments.model_copy(update={"ref": ref}), ""
    if arguments.ref and query and arguments.pattern is None:  # words of that original
        same = bare_ref(query).lower() == bare_ref(arguments.ref).lower()
        any_term = None if same else Query.read(query).any_term
        arguments, query = arguments.model_copy(update={"pattern": any_term}), ""
    pattern = arguments.pattern
    if bool(arguments.ref) == bool(query or (pattern and not arguments.ref)):
        raise ToolError(
            "Pass either ref, to get the original archived under it (with query or pattern: only "
            "its lines with these words), or query, to search the archive; pattern goes with "
            'either, or alone. context_status(response_format="detailed") lists the newest refs.'
        )
    if arguments.ref:
        first = None
        with suppress(ConversationNotFound):  # then all sessions are searched for the ref
            first, _ = await open_named_session(call, arguments.conversation)
        ref = arguments.ref
        text = await call.in_thread("restoring", lambda: restored(store, ref, arguments, first))
        return text_answer(text)
    if arguments.lines is not None:
        raise ToolError("lines goes only with ref. Pass a ref, or leave out lines.")
    if pattern is None and Query.read(query).empty:
        raise ToolError(
            f"The query {query[:SHOWN]!r} has no words to search for. Pass words or names, "
            '"a phrase", path:src/app, tool:bash or error:; or pass a regular expression as '
            "pattern."
        )
    skip = skipped(arguments.cursor)
    session, note = await open_named_session(call, arguments.conversation)

    def search() -> CallToolResult:
        result = store.search(query, pattern=pattern, session=session, limit=PAGE, skip=skip)
        return search_answer(result, query, pattern, skip, session=session, note=note)

    return await call.in_thread("searching", search)


async def _as_ref(call: Call, query: str) -> str | None:
    """The ref, if the query is just a ref and a text or message is archived under it."""
    match = REF_QUERY.fullmatch(query)
    if match is None:
        return None
    ref = match[1].lower()
    log = await call.in_thread("searching", lambda: call.workspace.store.locate(ref))
    return ref if log else None


def restored(
    store: Store,
    ref: str,
    arguments: RestoreArguments,
    first: str | None = None,
    *,
    most: int = PAGE_OF_TEXT,
) -> str:
    """A page of an original, quoted.

    Args:
        store: where it is archived.
        ref: as the caller passed it.
        arguments: the part of it, and the page.
        first: a session in which the ref is looked up before all others.
        most: characters of the page.
    """
    ref = bare_ref(ref)
    lines, pattern = _line_range(arguments.lines), arguments.pattern
    preferred = store.session(first) if first else None
    log = preferred if preferred and preferred.full_ref(ref) else store.locate(ref)
    session = following = None
    if log is None:
        full, what, text = _summary(store, ref)
        text = select(text, lines, pattern)
    else:
        session = Session(store, log.id)
        full = log.full_ref(ref) or ref
        about = log.about(full) or session.state().refs
        what = about[full]["what"] if full in about else "of a damaged entry"
        text = session.restore(full, lines=lines, pattern=pattern, note=False)
        if lines is None and pattern is None:
            following = log.following(full)
    header = [f"ref {full}", one_line(what)]
    if lines:
        header.append(in_range("line", *lines))
    if pattern is not None:
        header.append(f"lines that match {pattern!r}")
        if text == NO_LINE:  # matching lines would begin with their numbers
            return " · ".join([*header, NO_LINE])
    shown = page(text, f"{full} {lines} {pattern}", arguments.cursor, most)
    if session is not None:
        with suppress(StoreUnwritable):  # a store that cannot be written can still be read
            session.note_restored(full, shown.text)
    header += [shown.range, how_many(Counter().text(shown.text), "token")]
    if sendable(shown.text) != shown.text:
        header.append(r"half characters are spelled out, as \ud83d")
    if shown.cursor:
        header.append(f"next page: cursor {shown.cursor}")
    elif following:
        header.append(f"next archived message: ref {following}")
    return f"{' · '.join(header)}\n{fenced(shown.text)}"


def _line_range(lines: str | None) -> tuple[int, int] | None:
    """`"10-40"` -> `(10, 40)`, `"7"` -> `(7, 7)`."""
    if lines is None:
        return None
    match = re.fullmatch(r"\s*(\d{1,9})(?:\s*[-–:]\s*(\d{1,9}))?\s*", lines)
    if match is None:
        raise ToolError(
            f"lines must be a range as 10-40, or one number as 7, counted from 1; not "
            f"{lines[:40]!r}."
        )
    return int(match[1]), int(match[2] or match[1])


def _summary(store: Store, ref: str) -> tuple[str, str, str]:
    """The ref, the name and the text of the summary under a ref.

    Raises:
        UnknownRef: nothing is archived under this ref, and no summary has it.
    """
    for entry in store.summaries() if len(ref) >= SHORTEST else ():
        text = str(entry.get("content", ""))
        if (full := ref_of(text)).startswith(ref.lower()):
            return full, f"summary of {entry.get('session')}", text
    newest = [ref for ref, _ in islice(newest_refs(store, store.sessions()), NEWEST)]
    refs = f"The newest refs: {', '.join(newest)}. context_restore(query=…) searches the archive."
    hint = refs if newest else f"Nothing is archived yet. {FILLED_BY}"
    raise UnknownRef(f"Nothing is archived under {ref[:40]!r}{too_short_note(ref)}. {hint}")
