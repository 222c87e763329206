"""`context_restore`: brings archived text back, quoted and in pages; or finds it."""

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
from context_compression.mcp_server.answers import quotation
from context_compression.mcp_server.arguments import Arguments
from context_compression.mcp_server.call import Call
from context_compression.mcp_server.opening import opened
from context_compression.mcp_server.paging import page, sendable
from context_compression.mcp_server.search import FILLED_BY, PAGE, SHOWN, answer, skipped
from context_compression.session import NO_LINE, Session, select
from context_compression.store import Store
from context_compression.store.search.query import Query
from context_compression.store.short_refs import too_short_note
from context_compression.tokens import Counter

NEWEST = 5  # refs named where one is unknown
NAMED_REF = re.compile(r"\bref\W{1,3}([0-9a-f]{4,64})\b", re.IGNORECASE)
"""A ref that was copied with its mark: `[… 9 lines; ref c3f91a20b77d]`."""
REF_FILE = re.compile(rf"(?:^|[/\\])({REF})\.txt\s*$")
"""The file of what was offloaded, named by its ref."""
REF_QUERY = re.compile(rf"(?:ref\W{{1,3}})?({REF})(?:\.txt)?", re.IGNORECASE)
"""A query that is nothing but a ref."""
LONGEST_MARK = 600
"""Characters in which a ref is looked for."""


class RestoreArguments(Arguments):
    """Of `context_restore`."""

    ref: str | None = None
    """whole, or its first digits, at least 4"""
    lines: str | None = None
    """only these lines: 10-40"""
    pattern: str | None = None
    """only lines with this regular expression; without ref, what in the archive has such lines"""
    query: str | None = None
    """in place of ref: words, names, "a phrase"; limited by path:src/app, tool:bash, error:"""
    conversation: str | None = None
    """search this one only, for ref this first; as in context_status"""
    cursor: str | None = None
    """next page, from the last one's header"""


async def context_restore(call: Call, asked: RestoreArguments) -> CallToolResult:
    """Brings back what was archived, byte for byte and quoted; or searches the archive.

    Returns pages of up to 8,000 characters. Does not put it back into the view; undo in
    context_compress does.
    """
    store = call.workspace.store
    query = (asked.query or "").strip()
    if not asked.ref and (ref := await _as_ref(call, query)):
        asked, query = asked.model_copy(update={"ref": ref}), ""
    if bool(asked.ref) == bool(query or (asked.pattern and not asked.ref)):
        raise ToolError(
            "Pass either ref, to bring back what is archived under it, or query, words to look "
            "for in the archive; pattern goes with both, or alone. context_status names refs."
        )
    if asked.ref:
        first = None
        with suppress(ConversationNotFound):  # a ref is found wherever it is
            first = await _session(call, asked.conversation)
        return await call.working(
            "restoring", lambda: _restored(store, asked.ref or "", asked, first)
        )
    if asked.lines is not None:
        raise ToolError("lines goes with ref, not with query.")
    if asked.pattern is None and Query.read(query).empty:
        raise ToolError(
            f"Nothing in query {query[:SHOWN]!r} can be looked for. Pass words or names in it, "
            '"a phrase", path:src/app, tool:bash or error:; or what you look for as pattern.'
        )
    skip = skipped(asked.cursor)
    session = await _session(call, asked.conversation)

    def search() -> CallToolResult:
        found = store.search(query, pattern=asked.pattern, session=session, limit=PAGE, skip=skip)
        return answer(found, query, asked.pattern, skip, within=session)

    return await call.working("searching", search)


async def _as_ref(call: Call, query: str) -> str | None:
    """The ref that a query is, if something is archived under it."""
    named = REF_QUERY.fullmatch(query)
    if named is None:
        return None
    log = await call.working("searching", lambda: call.workspace.store.locate(named[1].lower()))
    return named[1].lower() if log else None


async def _session(call: Call, conversation: str | None) -> str | None:
    """The session meant, whether it is a transcript's or our own."""
    if not conversation or conversation in call.workspace.store.sessions():
        return conversation or None
    return (await opened(call, conversation, None)).session.id


def _restored(store: Store, ref: str, asked: RestoreArguments, first: str | None) -> CallToolResult:
    marked = NAMED_REF.search(ref[:LONGEST_MARK]) or REF_FILE.search(ref)
    ref = marked[1] if marked else ref.strip()
    lines = _span(asked.lines)
    named = store.session(first) if first else None
    log = named if named and named.full_ref(ref) else store.locate(ref)
    session = following = None
    if log is None:
        full, what, text = _summary(store, ref)
        text = select(text, lines, asked.pattern)
    else:
        session = Session(store, log.id)
        full = log.full_ref(ref) or ref
        what = (log.about(full) or session.state().refs)[full]["what"]
        text = session.restore(full, lines=lines, pattern=asked.pattern, note=False)
        if lines is None and asked.pattern is None:
            following = log.following(full)
    header = [f"ref {full}", one_line(what)]
    if lines:
        header.append(in_range("line", *lines))
    if asked.pattern is not None:
        header.append(f"lines with {asked.pattern!r}")
        if text == NO_LINE:  # found lines begin with their numbers
            return quotation(" · ".join([*header, NO_LINE]))
    shown = page(text, f"{full} {lines} {asked.pattern}", asked.cursor)
    if session is not None:
        with suppress(StoreUnwritable):  # it can be read all the same
            session.note_restored(full, shown.text)
    header += [shown.range, how_many(Counter().text(shown.text), "token")]
    if sendable(shown.text) != shown.text:
        header.append(r"halves of characters are spelled out, as \ud83d")
    if shown.cursor:
        header.append(f"next page: cursor {shown.cursor}")
    elif following:
        header.append(f"next archived message: ref {following}")
    return quotation(f"{' · '.join(header)}\n{fenced(shown.text)}")


def _span(lines: str | None) -> tuple[int, int] | None:
    """`"10-40"` -> `(10, 40)`, `"7"` -> `(7, 7)`."""
    if lines is None:
        return None
    found = re.fullmatch(r"\s*(\d{1,9})(?:\s*[-–:]\s*(\d{1,9}))?\s*", lines)
    if found is None:
        raise ToolError(f"lines must be as 10-40 or 7, from 1 on, not {lines[:40]!r}.")
    return int(found[1]), int(found[2] or found[1])


def _summary(store: Store, ref: str) -> tuple[str, str, str]:
    """The ref, the name and the text of a summary that is meant by `ref`.

    Raises:
        UnknownRef: there is none, and nothing else either.
    """
    for entry in store.summaries() if len(ref) >= SHORTEST else ():
        text = str(entry.get("content", ""))
        if (full := ref_of(text)).startswith(ref.lower()):
            return full, f"summary of {entry.get('session')}", text
    archived = (Session(store, id).state().refs for id in store.sessions()[:NEWEST])
    newest = [*islice((ref for refs in archived for ref in reversed([*refs])), NEWEST)]
    searches = "context_restore(query=…) searches all that is archived."
    newer = f"The newest refs: {', '.join(newest)}. {searches}"
    known = newer if newest else f"Nothing is archived yet. {FILLED_BY}"
    raise UnknownRef(f"Nothing is archived under {ref[:40]!r}{too_short_note(ref)}. {known}")
