"""What a search of the archive answers: hits, each with its best lines and what stood beside it."""

import re
from collections.abc import Iterator

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult

from context_compression.display.fences import fenced
from context_compression.display.plurals import how_many, out_of, texts_and_messages
from context_compression.display.strings import one_line
from context_compression.mcp_server.answers import quotation
from context_compression.store import Hit, Neighbour, SearchResult

PAGE = 5  # hits
MOST_PAGES = 100
MORE_BY_WORDS = "Fewer or shorter words, or none of path:, tool:, error:, find more."
MORE_BY_PATTERN = (
    "A pattern tells upper from lower case unless (?i) stands in front of it. A shorter one finds "
    "more, and so do words in query, without pattern."
)
WITHIN = "Without conversation, all sessions are searched."
FILLED_BY = (
    "context_compress archives what it takes out of a conversation, context_offload a text, a file "
    "or large tool results."
)
SHOWN = 80  # characters of what was looked for


def skipped(cursor: str | None) -> int:
    """How many hits the pages before had.

    Raises:
        ToolError: no cursor of a search.
    """
    if cursor is None:
        return 0
    if not (re.fullmatch(r"[0-9]{1,9}", cursor) and 0 < int(cursor) <= PAGE * MOST_PAGES):
        raise ToolError(
            f"{cursor[:40]!r} is no cursor of a search. Pass the cursor from the first line of the "
            "page before, with the same query; or none, to begin anew."
        )
    return int(cursor)


def answer(
    found: SearchResult,
    query: str | None,
    pattern: str | None,
    skip: int,
    *,
    within: str | None = None,
) -> CallToolResult:
    """Quoted hits, `skip` of which came before; `within` is the session that was searched alone."""
    sought = " and ".join(map(_shown, filter(None, (query, pattern))))
    if found.hits:
        first = _headline(found, sought, pattern, skip)
    elif skip:
        first = f"No further hits for {sought}."
    elif not found.searched:
        first = f"Nothing {f'of {within} ' if within else ''}is archived yet. {FILLED_BY}"
    else:
        hint = MORE_BY_PATTERN if pattern else MORE_BY_WORDS
        where = f"what session {within} archived" if within else "the archive"
        hint = f"{WITHIN} {hint}" if within else hint
        first = f"Nothing of {sought} is in {where} ({texts_and_messages(found.searched)}). {hint}"
    note = [f"note: {one_line(found.note)}"] if found.note else []
    return quotation("\n\n".join([first, *note, *(_quoted(hit, found) for hit in found.hits)]))


def _headline(found: SearchResult, sought: str, pattern: str | None, skip: int) -> str:
    count = len(found.hits)
    numbers = f"{skip + 1}-{skip + count}" if skip else f"{count}"
    alone = count == 1 and found.total in (None, 1) and not skip
    things = "text or message" if alone else "texts and messages"
    held = f"for {sought}, the best first"
    if pattern:
        held = f"in which {sought} is found, {'the best' if found.words else 'the newest'} first"
    following = ""
    if found.more and skip + count <= PAGE * MOST_PAGES:
        following = f" · next page: cursor {skip + count}"
    elif found.more:
        following = " · this is the last page; more words find what comes after it"
    total = out_of(found.total, exact=found.exact)
    return (
        f"{numbers}{total} archived {things} {held}; context_restore(ref=…) brings one "
        f"back{following}"
    )


def _quoted(hit: Hit, found: SearchResult) -> str:
    words = f" · {hit.held} of {how_many(len(found.words), 'word')}" if hit.held else ""
    header = f"ref {hit.ref} · {one_line(hit.what)} · session {hit.session}{words}"
    return f"{header}\n{fenced(chr(10).join(_lines(hit)))}"


def _lines(hit: Hit) -> Iterator[str]:
    if hit.before:
        yield _beside("before", hit.before)
    for number, line in hit.lines:
        yield f"{number}: {line}" if hit.numbered else line
    if hit.after:
        yield _beside("after", hit.after)


def _beside(where: str, said: Neighbour) -> str:
    """A line as `[before · assistant · ref 1a2b3c4d5e6f] I run the tests again`."""
    ref = f" · ref {said.ref}" if said.ref else ""
    return f"[{where} · {said.role}{ref}] {said.glimpse}"


def _shown(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")
