"""`restore`: prints what was archived, or finds it."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from context_compression.cli.app import Options, as_json
from context_compression.cli.arguments import line_range
from context_compression.cli.terminal import say, show, working, write, write_json
from context_compression.display.plurals import how_many, out_of, texts_and_messages
from context_compression.display.strings import one_line
from context_compression.errors import UnknownRef
from context_compression.session import NO_LINE, Session
from context_compression.store import Hit, SearchResult, Store
from context_compression.store.search.query import Query
from context_compression.store.short_refs import too_short_note

NOT_FOUND = 1
"""What it ends with where no line of what is restored has the pattern, as grep does."""
NO_NUMBER = "…"
"""Before a line that cannot be asked for by its number: it does not begin one of ours."""


@click.command()
@click.argument("ref", required=False)
@click.option("--query", metavar="WORDS", help="Search: words, names, path:… tool:… error:")
@click.option("--lines", metavar="10-40", help="Only these lines, from 1, both included.")
@click.option("--pattern", metavar="RE", help="Only lines in which this is found, numbered.")
@click.option("--session", metavar="ID", help="Where to look; without it, everywhere.")
@click.option("--limit", default=5, show_default=True, type=click.IntRange(1, 60), help="Hits.")
@as_json
@click.pass_obj
def restore(
    options: Options,
    ref: str | None,
    query: str | None,
    lines: str | None,
    pattern: str | None,
    session: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """Print what was archived under REF (its first four digits are enough), byte for byte.

    Without REF, find what is archived with --query, --pattern or both.
    """
    conversations = options.conversations()
    store = conversations.workspace.store
    if session is not None:
        session = conversations.session_named(session)
    if ref is not None:
        if query is not None:
            raise click.UsageError("Name a REF, or look for one with --query, but not both.")
        _print(store, ref, lines, pattern, session, as_json)
        return
    if query is None and pattern is None:
        raise click.UsageError("Name a REF, or look for one with --query or --pattern.")
    if lines is not None:
        raise click.UsageError("--lines goes with a REF.")
    if pattern is None and Query.read(query or "").empty:
        raise click.UsageError(
            'Nothing in that --query can be looked for. Name words, names, "a phrase", path:…, '
            "tool:… or error:; or look for a --pattern."
        )
    with working("searching"):
        found = store.search(query or "", pattern=pattern, session=session, limit=limit)
    if as_json:
        write_json(record(found))
    else:
        show(page(found))
    if found.note:
        say(f"note: {found.note}")


def _print(
    store: Store,
    ref: str,
    lines: str | None,
    pattern: str | None,
    session: str | None,
    as_json: bool,
) -> None:
    log = store.session(session) if session else store.locate(ref)
    if log is None:
        raise UnknownRef(
            f"Nothing is archived under {one_line(repr(ref))}{too_short_note(ref)} in "
            f"{store.folder}. The refs of a conversation: `context-compression status ID`; the "
            "conversations: `context-compression status`."
        )
    # To look at something is not to bring it back into a view: no note of it.
    text = Session(store, log.id).restore(ref, lines=line_range(lines), pattern=pattern, note=False)
    none = pattern is not None and text == NO_LINE  # lines that are found begin with their numbers
    if as_json:
        write_json({"ref": ref, "session": log.id, "text": "" if none else text})
    elif not none:
        write(text.encode("utf-8", "surrogatepass"))
        if sys.stdout.isatty() and not text.endswith("\n"):
            show()
    if none:
        say(NO_LINE)
        raise SystemExit(NOT_FOUND)


def record(found: SearchResult) -> dict[str, Any]:
    """What a search found, for programs."""
    hits = [
        {**asdict(hit), "lines": [{"number": n, "text": text} for n, text in hit.lines]}
        for hit in found.hits
    ]
    return {**asdict(found), "hits": hits}


def page(found: SearchResult) -> str:
    """What a search found, for people."""
    if not found.hits and not found.searched:
        return (
            "Nothing is archived yet. `context-compression compress FILE` archives what it takes "
            "out of a conversation."
        )
    if not found.hits:
        were = "was" if found.searched == 1 else "were"
        return f"Nothing of that is archived; {texts_and_messages(found.searched)} {were} searched."
    total = out_of(found.total, exact=found.exact)
    alone = len(found.hits) == 1 and found.total in (None, 1)
    things = "text or message" if alone else "texts and messages"
    count = f"{len(found.hits)}{total} archived {things}"
    first = f"{count}; `context-compression restore REF` prints one"
    return "\n\n".join([first, *("\n".join(_lines(hit, found)) for hit in found.hits)])


def _lines(hit: Hit, found: SearchResult) -> Iterator[str]:
    words = f", {hit.held} of {how_many(len(found.words), 'word')}" if hit.held else ""
    yield f"{hit.ref}  {one_line(hit.what)}, {hit.session}{words}"
    rows = [(f"{number}" if hit.numbered else NO_NUMBER, line) for number, line in hit.lines]
    if hit.before:
        rows.insert(0, (hit.before.role, hit.before.glimpse))
    if hit.after:
        rows.append((hit.after.role, hit.after.glimpse))
    yield from (f"  {one_line(left):>9}  {one_line(text)}" for left, text in rows)
