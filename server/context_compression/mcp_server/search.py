"""The answer to a search of the archive: hits, each with its best lines and its neighbours."""

import re
from collections.abc import Iterator

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult

from context_compression.display.fences import fenced
from context_compression.display.plurals import how_many, out_of, texts_and_messages
from context_compression.display.strings import one_line
from context_compression.mcp_server.answers import text_answer
from context_compression.store import Hit, Neighbour, SearchResult

PAGE = 5  # hits
MOST_PAGES = 100
MORE_BY_WORDS = "To find more, pass fewer or shorter words, or leave out path:, tool: and error:."
MORE_BY_PATTERN = (
    "A pattern is case-sensitive unless it begins with (?i). To find more, shorten the pattern, or "
    "pass words in query instead."
)
WITHIN = "Without conversation, all sessions are searched."
FILLED_BY = (
    "context_compress archives what it removes from a conversation; context_offload archives a "
    "text, a file or large tool results."
)
SHOWN = 80  # characters of a query or pattern


def skipped(cursor: str | None) -> int:
    """The number of hits on the pages before.

    Raises:
        ToolError: the cursor does not belong to a search.
    """
    if cursor is None:
        return 0
    if not (re.fullmatch(r"[0-9]{1,9}", cursor) and 0 < int(cursor) <= PAGE * MOST_PAGES):
        raise ToolError(
            f"The cursor {cursor[:40]!r} does not belong to a search. Pass the cursor from the "
            "first line of the page before, with the same query; or pass no cursor, to begin with "
            "the first page."
        )
    return int(cursor)


def search_answer(
    result: SearchResult,
    query: str | None,
    pattern: str | None,
    skip: int,
    *,
    session: str | None = None,
    note: str = "",
) -> CallToolResult:
    """The hits, quoted.

    Args:
        result: of the search.
        query: the words that were searched for.
        pattern: the regular expression that was searched for.
        skip: how many hits the pages before had.
        session: the only session that was searched; `None` if all were.
        note: a line about the scope.
    """
    terms = " and ".join(map(_shown, filter(None, (query, pattern))))
    if result.hits:
        headline = _headline(result, terms, pattern, skip)
    elif skip:
        headline = f"No further hits for {terms}."
    elif not result.searched:
        headline = f"Nothing {f'of {session} ' if session else ''}is archived yet. {FILLED_BY}"
    else:
        hint = MORE_BY_PATTERN if pattern else MORE_BY_WORDS
        hint = f"{WITHIN} {hint}" if session else hint
        where = f"the archive of session {session}" if session else "the archive"
        searched = texts_and_messages(result.searched)
        headline = f"No hits for {terms} in {where} ({searched} searched). {hint}"
    notes = [*filter(None, [note]), *([f"note: {one_line(result.note)}"] if result.note else [])]
    hits = [_quoted(hit, result) for hit in result.hits]
    return text_answer("\n\n".join([headline, *notes, *hits]))


def _headline(result: SearchResult, terms: str, pattern: str | None, skip: int) -> str:
    count = len(result.hits)
    numbers = f"{skip + 1}-{skip + count}" if skip else f"{count}"
    alone = count == 1 and result.total in (None, 1) and not skip
    things = "text or message" if alone else "texts and messages"
    matching = f"for {terms}, the best first"
    if pattern:
        order = "the best" if result.words else "the newest"
        matching = f"that match {terms}, {order} first"
        if alone:
            matching = f"that matches {terms}, {order} first"
    following = ""
    if result.more and skip + count <= PAGE * MOST_PAGES:
        following = f" · next page: cursor {skip + count}"
    elif result.more:
        following = " · this is the last page; to find later hits, pass more words"
    total = out_of(result.total, exact=result.exact)
    return (
        f"{numbers}{total} archived {things} {matching}; context_restore(ref=…) brings one "
        f"back{following}"
    )


def _quoted(hit: Hit, result: SearchResult) -> str:
    words = f" · {hit.held} of {how_many(len(result.words), 'word')}" if hit.held else ""
    header = f"ref {hit.ref} · {one_line(hit.what)} · session {hit.session}{words}"
    return f"{header}\n{fenced(chr(10).join(_lines(hit)))}"


def _lines(hit: Hit) -> Iterator[str]:
    if hit.before:
        yield _neighbour_line("before", hit.before)
    for number, line in hit.lines:
        yield f"{number}: {line}" if hit.numbered else line
    if hit.after:
        yield _neighbour_line("after", hit.after)


def _neighbour_line(where: str, message: Neighbour) -> str:
    """A line like `[before · assistant · ref 1a2b3c4d5e6f] I run the tests again`."""
    ref = f" · ref {message.ref}" if message.ref else ""
    return f"[{where} · {message.role}{ref}] {message.glimpse}"


def _shown(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")
