"""The answers of the commands for people, as pages, from the same facts as those for programs."""

from collections.abc import Container, Iterator, Mapping
from datetime import datetime
from typing import Any

from context_compression.cli.page import Block, Fact, Page, StyledLine, Table
from context_compression.conversation.messages import is_array, is_object
from context_compression.report.facts import LONGEST_FACT, Facts, inline, label
from context_compression.strings import one_line

SHORT = 100  # characters of a table that is shown in one line
TABLES = {"evidence", "tokens_by_kind"}
"""Facts that are tables however short they are."""


def page_of(
    facts: Facts, said: Container[str] = (), *, first: Page = (), without: Container[str] = ()
) -> Page:
    """The facts of an answer, under the labels of the tools.

    Args:
        facts: the facts.
        said: warnings that were printed before; they are left out.
        first: what stands between the headline and the facts.
        without: the names of facts that `first` tells.
    """
    shown = {name: value for name, value in facts.text.items() if name not in without}
    return [StyledLine(facts.headline, "strong"), *first, "", *_blocks(shown, said)]


def warnings_of(facts: Facts, said: Container[str] = ()) -> Page:
    """The warnings of an answer alone, without those that were `said`."""
    return [*_blocks({"warnings": facts.shown.get("warnings", ())}, said)]


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


def when(time: str | None) -> str:
    """A time in UTC, as a log has it, in the time of this machine: `2026-11-26 10:20`."""
    try:
        return f"{datetime.fromisoformat(str(time)).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return "?"
