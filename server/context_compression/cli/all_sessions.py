"""`report --all`: the totals of all sessions, by project and by week."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_compression.cli.page import Fact, Page, Table
from context_compression.cli.terminal import say, working
from context_compression.errors import ContextCompressionError, StoreDamaged
from context_compression.hosts.conversations import Conversations
from context_compression.listening import LISTING
from context_compression.plurals import how_many, short_number
from context_compression.store.files import read_text, replace_file, to_json
from context_compression.strings import in_words

if TYPE_CHECKING:
    from context_compression.report.totals import AllSessions, Known, Total

WEEKS, PROJECTS = 12, 15
"""How many of each the text lists."""
HEAD = ("cost", "input", "output", "compacted", "sessions", "requests")


def totals(conversations: Conversations, limit: int) -> "AllSessions":
    """The totals of the newest sessions; those that were read before are remembered."""
    from context_compression.report.totals import all_sessions

    known = _remembered()
    before = dict(known)
    with working(LISTING, LISTING):
        totals = all_sessions(conversations, limit, known)
    if known != before:
        _remember(known)
    return totals


def _file() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("context-compression", appauthor=False) / "totals.json"


def _basis() -> list[str]:
    """What totals depend on besides their sessions: another one makes them be read again."""
    from context_compression.tokens.prices import prices_of

    return [version("context-compression"), prices_of().isoformat()]


def _remembered() -> "Known":
    """The totals of sessions that were read before; none if the file is missing or damaged."""
    from pydantic import TypeAdapter

    from context_compression.report.totals import SessionTotal

    try:
        document: Any = json.loads(read_text(_file()) or "")
        if document["basis"] != _basis():
            return {}
        shape = TypeAdapter(dict[str, tuple[float, SessionTotal]])
        kept = shape.validate_python(document["sessions"])
        return kept if all(total.week for _, total in kept.values()) else {}
    except (StoreDamaged, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return {}


def _remember(known: "Known") -> None:
    """Keep totals for the next time; it is no loss if they cannot be kept."""
    path = _file()
    sessions = {key: (at, asdict(total)) for key, (at, total) in known.items()}
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, to_json({"basis": _basis(), "sessions": sessions}) + b"\n")
    except (OSError, ContextCompressionError) as error:
        say(f"note: what was read cannot be kept for the next time: {error}")


def as_text(totals: "AllSessions", home: Path) -> Page:
    """The totals for people."""
    from context_compression.report.text import basis_of_all, compacted, cost_in_words

    all = totals.all
    if not all.sessions:
        return ["No session was found.", *_notes(totals)]
    tokens = f"{short_number(all.input)} of input, {short_number(all.output)} of output"
    estimated = f"; {how_many(all.estimated, 'session')} estimated" * bool(all.estimated)
    return [
        Fact(
            "sessions",
            f"{all.sessions:,} in {how_many(len(totals.projects), 'project')}, "
            f"{how_many(all.requests, 'request')}",
            10,
        ),
        Fact("tokens", f"{tokens}{estimated}", 10),
        Fact("cost", f"{cost_in_words(all)}, {basis_of_all(totals)}", 10),
        Fact("compacted", compacted(all), 10),
        "",
        *_table("week (UTC)", totals.weeks, WEEKS, home),
        "",
        *_table("project", totals.projects, PROJECTS, home),
        "",
        *_table("host", totals.hosts, PROJECTS, home),
        *_notes(totals),
    ]


def _table(first: str, several: "Sequence[Total]", most: int, home: Path) -> Page:
    from context_compression.report.text import cost_in_words, project_in_words

    rows = [
        (
            in_words(project_in_words(one.name, home), 60),
            cost_in_words(one),
            short_number(one.input),
            short_number(one.output),
            f"{one.compactions:,} ×" if one.compactions else "",
            f"{one.sessions:,}",
            f"{one.requests:,}",
        )
        for one in several[:most]
    ]
    more = [f"and {len(several) - most:,} more; --json lists all"] if several[most:] else []
    return [Table([(first, *HEAD), *rows]), *more]


def _notes(totals: "AllSessions") -> list[str]:
    older = how_many(totals.older, "older session")
    return [
        *([f"not counted: {older} (--limit)"] if totals.older else []),
        *(f"warning: {problem}" for problem in totals.problems),
    ]
