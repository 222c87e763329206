"""`context_restore`: brings archived text back, quoted and in pages; or finds it."""

import re
from contextlib import suppress

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult

from context_compression.errors import StoreUnwritable, UnknownRef
from context_compression.mcp_server.answers import quotation
from context_compression.mcp_server.arguments import Arguments
from context_compression.mcp_server.call import Call
from context_compression.mcp_server.quoting import fenced, page
from context_compression.mcp_server.search import Found, search
from context_compression.plan import ref_of
from context_compression.session import NO_LINE, Session, select
from context_compression.store import Store
from context_compression.tokens import Counter

NEWEST = 5  # refs named where one is unknown
SHORTEST_REF = 4


class RestoreArguments(Arguments):
    """Of `context_restore`."""

    ref: str | None = None
    """whole, or its first digits, at least 4"""
    lines: str | None = None
    """only these lines: 10-40"""
    pattern: str | None = None
    """only lines with this regular expression"""
    query: str | None = None
    """words to search the archive for, in place of ref"""
    cursor: str | None = None
    """next page, from the last one's header"""


async def context_restore(call: Call, asked: RestoreArguments) -> CallToolResult:
    """Brings back what was archived, byte for byte and quoted; or searches the archive.

    Returns pages of up to 8,000 characters. Does not put it back into the view; undo in
    context_compress does.
    """
    if bool(asked.ref) == bool(asked.query and asked.query.strip()):
        raise ToolError(
            "Pass either ref, to bring back what is archived under it, or query, words to look "
            "for in the archive. context_status names refs."
        )
    if asked.ref is None:
        for name in ("lines", "pattern", "cursor"):
            if getattr(asked, name) is not None:
                raise ToolError(f"{name} goes with ref, not with query.")
    store = call.workspace.store
    if asked.ref is None:
        query = asked.query or ""
        return await call.working("searching", lambda: _hits(query, search(store, query)))
    return await call.working("restoring", lambda: _restored(store, asked.ref or "", asked))


def _restored(store: Store, ref: str, asked: RestoreArguments) -> CallToolResult:
    ref = ref.strip()
    lines = _span(asked.lines)
    log = store.locate(ref)
    session = full = None
    if log is None:
        full, what, text = _summary(store, ref)
        text = select(text, lines, asked.pattern)
    else:
        session = Session(store, log.id)
        full = log.full_ref(ref) or ref
        what = session.state().refs[full]["what"]
        text = session.restore(full, lines=lines, pattern=asked.pattern, note=False)
    header = [f"ref {full}", what]
    if lines:
        header.append(f"lines {lines[0]:,}-{lines[1]:,}")
    if asked.pattern is not None:
        header.append(f"lines with {asked.pattern!r}")
        if text == NO_LINE:  # found lines begin with their numbers
            return quotation(" · ".join([*header, NO_LINE]))
    shown = page(text, f"{full} {lines} {asked.pattern}", asked.cursor)
    if session is not None:
        with suppress(StoreUnwritable):  # it can be read all the same
            session.note_restored(full, shown.text)
    header += [shown.range, f"{Counter().text(shown.text):,} tokens"]
    if shown.cursor:
        header.append(f"next page: cursor {shown.cursor}")
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
    for entry in store.summaries() if len(ref) >= SHORTEST_REF else ():
        text = str(entry.get("content", ""))
        if (full := ref_of(text)).startswith(ref.lower()):
            return full, f"summary of {entry.get('session')}", text
    newest = [r for id in store.sessions()[:1] for r in Session(store, id).state().refs][-NEWEST:]
    known = f"The newest refs: {', '.join(newest)}." if newest else "Nothing is archived yet."
    raise UnknownRef(
        f"Nothing is archived under {ref[:40]!r}. {known} context_restore(query=…) searches all "
        "that is archived."
    )


def _hits(query: str, found: Found) -> CallToolResult:
    shown = query if len(query) <= 80 else f"{query[:80]}…"
    if not found.hits:
        return quotation(
            f"Nothing of {shown!r} is in the archive ({found.searched:,} texts and messages). "
            "Fewer or shorter words find more."
        )
    parts = [
        f"{len(found.hits)} of {found.total:,} archived texts and messages that hold words of "
        f"{shown!r}, the best first; context_restore(ref=…) brings one back"
    ]
    for hit in found.hits:
        words = f"{hit.words} of {found.words} words"
        header = f"ref {hit.ref} · {hit.what} · session {hit.session} · {words}"
        parts.append(f"{header}\n{fenced(chr(10).join(hit.lines))}")
    return quotation("\n\n".join(parts))
