"""The answers of the commands for people, as pages, from the same facts as those for programs."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from context_compression.cli.page import Block, Fact, Gauge, Page, Style, StyledLine, Table
from context_compression.conversation.messages import is_array, is_object
from context_compression.plurals import how_many
from context_compression.report.facts import (
    LONGEST_FACT,
    Facts,
    Record,
    inline,
    label,
    status_facts,
)
from context_compression.session import Session, Status
from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.strings import fenced, one_line
from context_compression.tokens import Counter
from context_compression.workspace import Opened, Workspace
from context_compression.workspace.opened import KEPT_IN

LISTED = 8  # refs
MAKES_ROOM = "`context-compression compress` makes room; the archive keeps the originals"
RESTORES = "`context-compression restore REF` prints an original, byte for byte"
UNSENT = "not sent yet"
SHOWN = 2_000  # characters of a summary
SHORT = 100  # characters of a table that is shown in one line
TABLES = {"evidence", "tokens_by_kind"}
"""Facts that are tables however short they are."""


def page_of(facts: Facts, said: Container[str] = ()) -> Page:
    """The facts of an answer, under the labels that the tools use.

    Args:
        facts: of the answer.
        said: warnings that were printed already.
    """
    return [StyledLine(facts.headline, "strong"), "", *_blocks(facts.shown, said)]


def _blocks(facts: Mapping[str, Any], said: Container[str]) -> Iterator[Block]:
    for name, value in facts.items():
        if name == "warnings":
            new = (each for each in value if each not in said)
            yield from (f"warning: {one_line(each, LONGEST_FACT)}" for each in new)
        elif name == "note":
            yield value
        elif is_object(value) and value and (name in TABLES or len(inline(value)) > SHORT):
            yield from ("", _table(label(name), value), "")
        elif is_array(value) and len(value) > 1:
            yield from (f"{label(name)}:", *(f"- {inline(part)}" for part in value))
        else:
            yield Fact(f"{label(name)}:", inline(value), width=0)


def _table(name: str, rows: Mapping[str, Any]) -> Table:
    """`{"paths": {"in context": 3, "lost": 0}}` as a table with heads; texts and numbers too."""
    parts = [part for part in rows.values() if is_object(part)]
    if parts:
        heads = [*parts[0]]
        body = [(row, *(inline(part[head]) for head in heads)) for row, part in rows.items()]
        return Table([(name, *heads), *body])
    texts = any(isinstance(value, str) for value in rows.values())
    body = [(row, inline(value)) for row, value in rows.items()]
    return Table([(name, ""), *body], left=2 if texts else 1)


def status(workspace: Workspace, opened: Opened, status: Status, *, detailed: bool) -> Page:
    """How full the context of a conversation is, and what fills it."""
    head, _, *rest = page_of(status_facts(workspace, opened, status, detailed=detailed))
    room = [MAKES_ROOM] if status.due.now else []
    return [head, Gauge(status.usage.usage_percent, _fullness(status)), *room, *rest]


def _fullness(status: Status) -> Style:
    """The colour of the gauge: red if a compression is due, yellow if half of the way is gone."""
    usage = status.usage
    if status.due.now:
        return "bad"
    return "warning" if usage.used_tokens * 2 > usage.threshold_tokens else "good"


def own_session(id: str, refs: Mapping[str, str]) -> Page:
    """What is kept in a session of this package, which is no conversation."""
    return [f"{id} is no conversation: {KEPT_IN[id]} are kept in it", "", _newest(refs)]


def _newest(refs: Mapping[str, str]) -> Table:
    head = ("newest refs", f"of {len(refs)}")
    return Table([head, *list(refs.items())[-LISTED:]], left=2)


def recorded(store: Store, ids: Sequence[str]) -> list[Record]:
    """An overview of each session."""
    records: list[Record] = []
    for id in ids:
        events = store.session(id).events().items
        state = Session(store, id).state()
        savings = state.tally.savings(state.freed, Counter().text)
        records.append(
            {
                "session": id,
                "last_written": events[-1].get("created_at") if events else None,
                "messages": len(state.view),
                "messages_recorded": len(state.recorded),
                "compressions": len(state.compressions),
                "tokens_saved_net": savings.net,
                "unsent": savings.unsent,
            }
        )
    return records


def sessions(store: str, records: Sequence[Record]) -> Page:
    """The recorded sessions, as a table."""
    if not records:
        return [
            f"Nothing is recorded in {store} yet.",
            "`context-compression status FILE` shows how full a transcript is; "
            "`context-compression compress FILE` compacts it.",
        ]
    rows = [
        (
            str(about["session"]),
            when(about["last_written"]),
            f"{about['messages']:,} of {about['messages_recorded']:,}",
            f"{about['compressions']:,}",
            UNSENT if about["unsent"] else f"{about['tokens_saved_net']:,}",
        )
        for about in records
    ]
    head = ("session", "last written", "messages", "compressions", "tokens saved")
    return [store, "", Table([head, *rows], left=2, flexible=(0,), long=True)]


def when(time: str | None) -> str:
    """A time in UTC, as a log has it, in the time of this machine: `2026-11-26 10:20`."""
    try:
        return f"{datetime.fromisoformat(str(time)).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return "?"


def summaries(entries: Iterable[Mapping[str, Any]], most: int = SHOWN) -> Page:
    """Past summaries, each quoted under its time, session and strategy; long ones are cut."""
    parts: list[Block] = []
    for entry in entries:
        text = str(entry.get("content", ""))
        more = len(text) - most
        rest = f"\n… {how_many(more, 'more character')}; --json shows them" if more > 0 else ""
        about = (("created_at", "?"), ("session", "?"), ("strategy", "summary"))
        heading = "  ".join(one_line(entry.get(name, unknown)) for name, unknown in about)
        tokens = entry.get("tokens")
        size = how_many(tokens if isinstance(tokens, int) else 0, "token")
        parts += [*([""] if parts else []), StyledLine(f"── {heading}  {size}", "strong")]
        parts.append(f"{fenced(text[:most])}{rest}")
    return parts or ["There are no summaries yet."]


def config(settings: Settings, origins: Mapping[str, str], shown: Container[str]) -> Page:
    """Settings as a table, and for those of the budget the threshold that they amount to."""
    rows = [
        (name, _value(getattr(settings, name)), origins.get(name, ""), field.description or "")
        for name, field in Settings.model_fields.items()
        if name in shown
    ]
    tokens, reason = settings.threshold
    due = f"compression is due from {tokens:,} tokens on: {reason}"
    table = Table([("setting", "value", "from", "meaning"), *rows], left=4, prose=True)
    return [table, *(["", due] if "token_budget" in shown else [])]


def _value(value: Any) -> str:
    if value is None:
        return "unset"
    if isinstance(value, tuple):
        words = ", ".join(map(str, cast(tuple[object, ...], value)))
        return words if len(words) <= 24 else f"{words[:23]}…"
    return str(value).lower() if isinstance(value, bool) else str(value)
