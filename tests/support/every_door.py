"""Every door of the package, in one table: a history goes in, what would be sent comes out.

    @every_door
    def test_a_law(door: Door) -> None:
        holds(door, talks, the_law)

A law that holds behind every door is one test over this table. A door that grows is given the
history request by request, as a program's loop would; the others are given all of it once.
"""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from door import STORE, About, Ask, Door, Request, archived_in, in_store, of_session, session_in
from door_of_proxy import PROXY
from doors_of_frameworks import OF_FRAMEWORKS
from doors_of_hosts import OF_HOSTS
from generated import Messages
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from context_compression import BudgetTooSmall, Result, compress
from context_compression.conversation import canonical
from context_compression.testing import Dialect

__all__ = ["DOORS", "Ask", "Door", "Request", "every_door", "holds"]


def _compress(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    yield _compressed(messages, asked, folder)


def _with_store(
    dialect: Dialect, messages: Messages, asked: Ask, folder: Path
) -> Iterator[Request]:
    yield _compressed(messages, asked, folder, store=folder / STORE)


def _compressed(messages: Messages, asked: Ask, folder: Path, store: Path | None = None) -> Request:
    """`compress` to the target; where that is below the floor, to the floor."""
    refusal, written = "", ()
    target = asked.target(messages)
    options: dict[str, Any] = {"settings": asked.settings, "store": store}
    options |= {} if asked.has_model else {"summarizer": None}
    try:
        result = compress(messages, target_tokens=target, **options)
    except BudgetTooSmall as refused:
        target, refusal, written = refused.floor_tokens, str(refused), archived_in(folder)
        result = compress(messages, target_tokens=target, **options)
    told = [*result.repairs, *result.notes]
    about = in_store(store, told, target) if store else _in_result(result, told, target)
    return Request(messages, result.messages, replace(about, refusal=refusal, written=written))


def _in_result(result: Result, told: Sequence[str], limit: int) -> About:
    """What the result itself brings back."""

    def restore(ref: str) -> str:
        return _as_text(result.originals[ref])

    return About(told, restore, limit=limit)


def _as_text(original: Any) -> str:
    return original if isinstance(original, str) else canonical(original)


def _prepare(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    session, recorded = session_in(folder, asked), 0
    for history, system in asked.growing(messages):
        session.record(*history[recorded:])
        session.system = system
        recorded = len(history)
        yield Request(history, session.prepare(), of_session(session))


def _aprepare(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    session, recorded = session_in(folder, asked), 0
    for history, system in asked.growing(messages):
        session.record(*history[recorded:])
        session.system = system
        recorded = len(history)
        yield Request(history, asyncio.run(session.aprepare()), of_session(session))


def _fit(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    session = session_in(folder, asked)
    for history, system in asked.growing(messages):
        yield Request(history, session.fit(history, system=system), of_session(session))


def _afit(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    session = session_in(folder, asked)
    for history, system in asked.growing(messages):
        view = asyncio.run(session.afit(history, system=system))
        yield Request(history, view, of_session(session))


def _reopened(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    """`fit` in a new process for each request."""
    for history, system in asked.growing(messages):
        session = session_in(folder, asked)
        yield Request(history, session.fit(history, system=system), of_session(session))


def _in_memory(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    (folder / STORE).write_text("no folder can be here")
    session = session_in(folder, asked)
    for history, system in asked.growing(messages):
        view = session.fit(history, system=system)
        yield Request(history, view, of_session(session, history, in_memory=True))


def _recovered(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    session = session_in(folder, asked)
    for history, system in asked.growing(messages):
        view = session.fit(history, system=system)
        again = session.recover("prompt is too long: 300000 tokens > 200000 maximum")
        yield Request(history, view if again is None else again, of_session(session))


def _undone(dialect: Dialect, messages: Messages, asked: Ask, folder: Path) -> Iterator[Request]:
    session = session_in(folder, asked)
    session.record(*messages)
    target, result = asked.target(messages), None
    refusal, written = "", ()
    try:
        result = session.compress(target_tokens=target)
    except BudgetTooSmall as refused:
        target, refusal, written = refused.floor_tokens, str(refused), archived_in(folder)
        result = session.compress(target_tokens=target)
    about = replace(of_session(session), refusal=refusal, written=written)
    told = [*about.told, *result.repairs, *result.notes]
    yield Request(messages, session.view(), replace(about, told=told, limit=target))
    if result.changed:
        yield Request(messages, session.undo(), replace(of_session(session), limit=None))


_OF_LIBRARY = (
    Door("compress", _compress),
    Door("compress with a store", _with_store),
    Door("prepare", _prepare, grows=True, makes_own=True, takes_system=True),
    Door("aprepare", _aprepare, grows=True, makes_own=True, takes_system=True, is_slow=True),
    Door("fit", _fit, grows=True, answers=True, takes_system=True),
    Door("afit", _afit, grows=True, is_slow=True, answers=True, takes_system=True),
    Door("fit, reopened", _reopened, grows=True, answers=True, takes_system=True),
    Door("fit in memory", _in_memory, grows=True, answers=True, takes_system=True),
    Door("recover", _recovered, grows=True, answers=True, takes_system=True, is_refused=True),
    Door("undo", _undone, makes_own=True),
)
DOORS: Mapping[str, Door] = {
    door.name: door for door in (*_OF_LIBRARY, *OF_HOSTS, PROXY, *OF_FRAMEWORKS)
}
"""All doors that can be opened here, by name."""
every_door = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)

Drawn = TypeVar("Drawn")
FEW = max(1, settings().max_examples // 10)
"""How many examples each door gets: there are many doors."""
SLOW = max(1, FEW // 2)


def holds(
    door: Door,
    talks: Callable[[Sequence[Dialect]], SearchStrategy[Drawn]],
    law: Callable[[Door, Drawn, st.DataObject], None],
) -> None:
    """Whether a law holds behind a door for random conversations."""

    def tried(data: st.DataObject) -> None:
        law(door, data.draw(talks(door.dialects)), data)

    name = f"{law.__module__} {law.__qualname__} {door.name}"
    tried.__name__ = re.sub(r"\W", "_", name)  # by it hypothesis knows a test again
    settings(max_examples=SLOW if door.is_slow else FEW)(given(st.data())(tried))()
