"""`restore`: prints an archived original, or searches the archive."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import chain
from typing import Any

import click
from click.core import ParameterSource

from context_compression.cli import completion
from context_compression.cli.app import Options, as_json, examples
from context_compression.cli.arguments import line_range
from context_compression.cli.page import Block, Fact, Page, StyledLine
from context_compression.cli.terminal import (
    has_screen,
    is_terminal,
    say,
    show,
    size,
    working,
    write,
    write_json,
)
from context_compression.errors import UnknownRef
from context_compression.plurals import how_many, out_of
from context_compression.session import NO_LINE, Session, part_of
from context_compression.session.restoring import origin_in_words
from context_compression.store import Hit, SearchResult, Store
from context_compression.store.hits import Neighbour
from context_compression.store.refs import bare_ref, too_short_note
from context_compression.store.search.query import Query
from context_compression.strings import one_line, without_end

NO_MATCH = 1
"""The exit code if no line of the original matches the pattern, as in grep."""
RESERVED = 4
"""Rows of the screen that an original leaves for the prompt and the note under it."""
HITS = 5
"""How many hits a search shows."""
MORE_BY_WORDS = "To find more, use fewer or shorter words, or other wordings after |."
MORE_BY_PATTERN = "A pattern is case-sensitive unless it begins with (?i)."
NO_SESSION = "no recorded session can be searched here"
FILLED = "`context-compression compress FILE` archives what it removes from a conversation."
ELSEWHERE = "--all-projects searches the recorded sessions of all projects. "
NOT_READ = "CONTEXT_COMPRESSION_READ_HOST_TRANSCRIPTS is off, so recorded sessions are not read. "
LABEL = 12
"""Cells of a role or a number before a line of a hit."""
NO_NUMBER = "…"
"""Shown before a line without a number, which `--lines` cannot select."""


@click.command(
    short_help="Print an archived original, or search the archive.",
    epilog=examples(
        ("restore 3f9a", "an original, by the start of its ref"),
        ("restore 3f9a --lines 10-40", "some of its lines"),
        ("restore 3f9a --pattern ERROR --count", "how many lines match"),
        ("restore 3f9a --fields 'items[*].id'", "fields of JSON, columns of a table"),
        ("restore --query timeout", "search all originals"),
    ),
)
@click.argument("ref", required=False, shell_complete=completion.refs)
@click.option(
    "--query",
    metavar="WORDS",
    help="Search for words or names, other wordings after |; limit by path:… tool:… error:",
)
@click.option(
    "--lines",
    metavar="10-40",
    help="Print only these lines, counted from 1, the last one included.",
)
@click.option("--pattern", metavar="RE", help="Only lines that match this regular expression.")
@click.option(
    "--fields",
    metavar="PATHS",
    help="Print fields of JSON by JMESPath, or columns of a table by name: items[*].id, STATUS",
)
@click.option("--count", is_flag=True, help="Print only how many lines match, or how many values.")
@click.option(
    "--session",
    metavar="ID",
    shell_complete=completion.recorded,
    help="Search only this session. Default: all sessions.",
)
@click.option(
    "--all-projects",
    is_flag=True,
    help="Search what agents' programs recorded in other projects, too, and not only in this one.",
)
@click.option(
    "--limit",
    default=HITS,
    show_default=True,
    type=click.IntRange(1, 60),
    metavar="N",
    help="Hits to show.",
)
@as_json
@click.pass_obj
def restore(
    options: Options,
    ref: str | None,
    query: str | None,
    lines: str | None,
    pattern: str | None,
    fields: str | None,
    count: bool,
    session: str | None,
    all_projects: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Print the original archived under REF (its first four digits are enough), byte for byte.

    A pipe or a file gets its bytes and nothing else; on a terminal, and if only a part was asked
    for, a line break follows a text that ends without one.

    --fields takes paths and columns with commas between them: "items[?status=='failed'].id".
    It reads JSON, also in other text, lines of JSON, CSV, Markdown tables and aligned columns.

    Without REF, search the archive, and the sessions that agents' programs recorded in this
    project, with --query, --pattern or both.
    """
    conversations = options.conversations()
    store = conversations.workspace.store
    if all_projects:
        store.search_everywhere()
    if session is not None:
        session = conversations.session_to_search(session)
    if ref is not None:
        if query is not None:
            raise click.UsageError("Pass either a REF or --query, not both.")
        if click.get_current_context().get_parameter_source("limit") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--limit goes only with a search. Leave it out.")
        wanted = {"lines": line_range(lines), "pattern": pattern, "fields": fields, "count": count}
        _print(store, bare_ref(ref), wanted, session, as_json)
        return
    if query is None and pattern is None:
        raise click.UsageError("Pass a REF, or search for one with --query or --pattern.")
    for name, given in (("lines", lines), ("fields", fields), ("count", count)):
        if given:
            raise click.UsageError(f"--{name} goes only with a REF. Pass one, or leave it out.")
    if pattern is None and Query.read(query or "").empty:
        raise click.UsageError(
            'The --query has no words to search for. Pass words, names, "a phrase", path:…, tool:… '
            "or error:; or pass a regular expression with --pattern."
        )
    with working("searching"):
        result = store.search(query or "", pattern=pattern, session=session, limit=limit)
    if as_json:
        write_json(_as_record(result))
    else:
        reads = conversations.workspace.access.read_host_transcripts
        elsewhere = "" if all_projects else ELSEWHERE if reads else NOT_READ
        command = "restore --all-projects" if all_projects else "restore"
        show(*_as_page(result, pattern is not None, elsewhere, command))
    if result.note:
        say(f"note: {result.note}")


def _print(
    store: Store, ref: str, wanted: Mapping[str, Any], session: str | None, as_json: bool
) -> None:
    """Prints an original, or the part of it that `part_of` takes by these arguments."""
    log = None if session else store.locate(ref)
    if session in store.sessions():
        log = store.session(session)
    beside = None if log else store.original_beside(ref)
    id = log.id if log else beside.session if beside else None
    if id is None:
        raise UnknownRef(
            f"Nothing is archived under {one_line(repr(ref))}{too_short_note(ref)} in "
            f"{store.name}. `context-compression status` lists the sessions, and "
            "`context-compression status ID` lists the refs of one."
        )
    # the log notes only originals that a model has read again
    owner = Session(store, id)
    original = beside.original if beside else owner.original(owner.known_ref(ref))
    part = part_of(original, **wanted)
    is_part = any(wanted.values())
    none = wanted["pattern"] is not None and (  # matching lines begin with their numbers
        part.counts["lines"] == 0 if part.counts else part.text == NO_LINE
    )
    text = "" if none and not part.counts else part.text
    if as_json:
        facts = {"values": part.values, "counts": part.counts}
        given = {name: fact for name, fact in facts.items() if fact is not None}
        write_json({"ref": ref, "session": id, "text": text, **given})
    elif text and is_terminal(sys.stdout):
        _show_on_screen(text, ref, whole=wanted["lines"] is not None)
    elif text or not none:
        end = "\n" * (is_part and not text.endswith("\n"))  # whole lines, and no file of its own
        write(f"{text}{end}".encode("utf-8", "surrogatepass"))
    if none:
        if not text:
            say(NO_LINE)
        raise SystemExit(NO_MATCH)


def _show_on_screen(text: str, ref: str, *, whole: bool) -> None:
    """Prints a text on a terminal: all lines that were asked for, else at most a screen of them."""
    columns, height = size(sys.stdout)
    shown = text if whole else beginning(text, columns, height - RESERVED)
    write(shown.encode("utf-8", "surrogatepass"))
    if not shown.endswith("\n"):
        show("")
    if len(shown) < len(text):
        lines, first = text.count("\n") + 1, shown.count("\n") + 1
        say(
            f"… of {how_many(lines, 'line')}, {how_many(len(text), 'character')}. For more: "
            f"--lines {first}-{first + height}; `| less` or `> FILE` takes all."
        )


def beginning(text: str, columns: int, rows: int) -> str:
    """As many lines of a text as fit on a screen of so many columns and rows.

    If the first line alone does not fit, it is cut.
    """
    end = 0
    left = rows
    while end < len(text):
        stop = text.find("\n", end) + 1 or len(text)
        left -= max(1, -(-(stop - end) // columns))
        if left < 0:
            break
        end = stop
    return text[:end] or text[: columns * rows]


def _as_record(result: SearchResult) -> dict[str, Any]:
    """The result of a search, for programs."""
    hits = [
        {**asdict(hit), "lines": [{"number": n, "text": text} for n, text in hit.lines]}
        for hit in result.hits
    ]
    return {**asdict(result), "hits": hits}


def _as_page(result: SearchResult, by_pattern: bool, elsewhere: str, command: str) -> Page:
    """The result of a search, for people; with what to do for more, and what prints a hit."""
    if not result.hits and not result.searched:
        if result.note:
            return ["Nothing was searched."]
        return [f"Nothing is archived yet, and {NO_SESSION}. {elsewhere}{FILLED}"]
    if not result.hits:
        more = MORE_BY_PATTERN if by_pattern else MORE_BY_WORDS
        return [f"No hits in the archive or in the sessions recorded here. {elsewhere}{more}"]
    total = out_of(result.total, exact=result.exact)
    alone = len(result.hits) == 1 and result.total in (None, 1)
    count = f"{len(result.hits)}{total} {'original' if alone else 'originals'}"
    first = f"{count}; `context-compression {command} REF` prints one"
    columns = size(sys.stdout).columns if has_screen(sys.stdout) else None
    return [first, *chain.from_iterable(_of_hit(hit, columns) for hit in result.hits)]


def _of_hit(hit: Hit, columns: int | None) -> Iterator[Block]:
    """A hit with its best lines; on a screen, the messages beside it take one line each."""
    words = f", {hit.held} of {how_many(hit.words, 'word')}" if hit.held else ""
    yield ""
    yield StyledLine(f"{hit.ref}  {one_line(hit.what)}, {hit.session}{words}", "strong")
    if hit.origin:
        yield f"{'':>{LABEL}}{origin_in_words(hit.origin)}"
    rows = [(f"{number}" if hit.numbered else NO_NUMBER, line) for number, line in hit.lines]
    rows = [*_beside(hit.before, columns), *rows, *_beside(hit.after, columns)]
    yield from (Fact(f"{one_line(left):>9}", text, width=LABEL - 1) for left, text in rows)


def _beside(message: Neighbour | None, columns: int | None) -> list[tuple[str, str]]:
    """The row of a message beside a hit."""
    if message is None:
        return []
    text = message.glimpse
    return [(message.role, text if columns is None else without_end(text, columns - LABEL))]
