"""The history of a recorded session: what the view was before each compression."""

from pathlib import Path
from typing import Any

import pytest

from context_compression.session import Session
from context_compression.session.status import history_of

WORDS = "The quick brown fox jumps over the lazy dog. " * 80


def turn(number: int) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": f"Question {number}: {WORDS}"},
        {"role": "assistant", "content": f"Answer {number}: {WORDS}"},
    ]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session(tmp_path, "s", settings={"keep_recent_tokens": 500})
    for number in range(6):
        session.record(*turn(number))
    return session


def test_a_session_without_compressions_is_one_stage(session: Session):
    history = history_of(session)

    (stage,) = history.stages
    assert stage.messages == session.view()
    assert [request.messages for request in stage.requests] == [1, 3, 5, 7, 9, 11]
    assert (history.session_id, history.title[:11]) == ("s", "Question 0:")
    assert all(stage.times)


def test_each_compression_begins_a_stage_with_what_it_left(session: Session):
    before = session.view()
    result = session.compress(force=True, target_tokens=2_000)
    after = session.view()
    session.record(*turn(6))

    history = history_of(session)

    first, last = history.stages
    assert (first.messages, last.messages) == (before, session.view())
    assert last.messages[: last.carried] == after
    assert [request.messages for request in last.requests] == [last.carried + 1]
    (compaction,) = history.compactions
    assert (compaction.tokens_before, compaction.tokens_after) == (
        result.tokens_before,
        result.tokens_after,
    )
    assert (compaction.by, last.began) == ("context-compression", compaction)


def test_messages_that_came_during_a_compression_are_carried(session: Session):
    for _ in range(2):
        session.compress(force=True, target_tokens=2_000)
        session.record(*turn(7), *turn(8), *turn(9))

    stages = history_of(session).stages

    assert [stage.carried <= len(stage.messages) for stage in stages] == [True] * 3
    assert stages[1].messages[: stages[1].carried] == stages[1].messages[:-6]
    assert stages[2].messages[: stages[2].carried] == stages[2].messages[:-6]


def test_a_compression_that_was_undone_is_not_part_of_the_history(session: Session):
    session.compress(force=True, target_tokens=2_000)
    session.record(*turn(6))
    session.undo()

    history = history_of(session)

    assert history.compactions == []
    assert [stage.messages for stage in history.stages] == [session.view()]
    assert len(session.view()) == 14


def test_a_rewind_into_what_was_compressed_leaves_one_stage(session: Session):
    messages = session.view()
    session.compress(force=True, target_tokens=2_000)

    session.follow(messages[:3])

    (stage,) = history_of(session).stages
    assert stage.messages == messages[:3]
    assert len(stage.times) == 3
