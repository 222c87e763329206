"""A framework's own messages go through `Session.fit` and come back as the very objects."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from context_compression import Session
from context_compression.integrations.translation import Translation, afit, fit

WINDOW = {"token_budget": 3_000, "keep_recent_tokens": 500}


@dataclass
class Theirs:
    """A message of some framework."""

    role: str
    text: str
    usage: int = 7


def read(message: Theirs) -> dict[str, Any] | None:
    return None if message.role == "event" else {"role": message.role, "content": message.text}


def write(message: Mapping[str, Any]) -> Theirs:
    return Theirs(message["role"], str(message["content"]), usage=0)


THEIRS = Translation(read, write)
HISTORY = [
    Theirs("user" if n % 2 == 0 else "assistant", f"{n} " + "words of a talk " * 60)
    for n in range(41)
]


@pytest.mark.anyio
async def test_messages_that_did_not_change_are_the_very_objects(tmp_path: Path) -> None:
    short = [Theirs("user", "Fix it."), Theirs("assistant", "Done.")]

    for view in (
        fit(Session(tmp_path, "a"), short, THEIRS),
        await afit(Session(tmp_path, "b"), short, THEIRS),
    ):
        assert [*map(id, view)] == [*map(id, short)]


def test_a_long_history_gets_smaller_and_its_last_message_is_the_very_object(
    tmp_path: Path,
) -> None:
    view = fit(Session(tmp_path, "a", settings=WINDOW), HISTORY, THEIRS)

    assert sum(len(each.text) for each in view) < sum(len(each.text) for each in HISTORY) / 2
    assert view[-1] is HISTORY[-1]


def test_an_unknown_message_is_passed_through_and_told_once(tmp_path: Path) -> None:
    session = Session(tmp_path, "a", settings=WINDOW)
    events = [Theirs("event", "started"), Theirs("event", "stopped")]
    history = [*HISTORY[:10], events[0], *HISTORY[10:30], events[1], *HISTORY[30:]]

    view = fit(session, history, THEIRS)

    assert [each for each in view if each.role == "event"] == events
    assert sum("passed through" in warning for warning in session.status().warnings) == 1
