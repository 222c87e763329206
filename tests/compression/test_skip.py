"""`on_summary_failure = skip`: after a failed summary, the messages come back as they came."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from context_compression import Result, Session, acompress, compress
from context_compression.errors import SummaryError
from context_compression.testing import ScriptedSummarizer, conversation

pytestmark = pytest.mark.slow

Messages = list[dict[str, Any]]
SKIP: dict[str, Any] = {"on_summary_failure": "skip", "token_budget": 8_000}
WHOLE = conversation(30)
BROKEN = [message for index, message in enumerate(WHOLE) if index != 3]  # a result without call


def failing() -> ScriptedSummarizer:
    return ScriptedSummarizer(SummaryError("down", retryable=False))


def in_memory(messages: Messages, folder: Path, **options: Any) -> Result:
    return compress(messages, settings=SKIP, summarizer=failing(), **options)


def in_an_event_loop(messages: Messages, folder: Path, **options: Any) -> Result:
    return asyncio.run(acompress(messages, settings=SKIP, summarizer=failing(), **options))


def on_disk(messages: Messages, folder: Path, **options: Any) -> Result:
    return compress(messages, settings=SKIP, summarizer=failing(), store=folder, **options)


def session_with(messages: Messages, folder: Path) -> Session:
    session = Session(folder, "any", settings=SKIP, summarizer=failing())
    session.record(*messages)
    return session


def in_a_session(messages: Messages, folder: Path, **options: Any) -> Result:
    return session_with(messages, folder).compress(**options)


def in_an_asynchronous_session(messages: Messages, folder: Path, **options: Any) -> Result:
    return asyncio.run(session_with(messages, folder).acompress(**options))


@pytest.mark.parametrize("messages", [WHOLE, BROKEN], ids=["whole", "broken"])
@pytest.mark.parametrize("strategy", ["auto", "summarize"])
@pytest.mark.parametrize(
    "door",
    [in_memory, in_an_event_loop, on_disk, in_a_session, in_an_asynchronous_session],
    ids=lambda door: door.__name__,
)
def test_after_a_failed_summary_the_messages_come_back_as_they_came(
    door: Any, strategy: str, messages: Messages, tmp_path: Path
) -> None:
    result = door(messages, tmp_path / "store", target_tokens=2_000, strategy=strategy)

    assert (result.changed, result.target_met, result.strategy) == (False, False, "none")
    assert result.tokens_after == result.tokens_before
    assert result.notes == ("no summary: down",)
    assert result.messages == messages
    if door is not on_disk and "session" not in door.__name__:  # these come from the disk
        assert all(map(lambda a, b: a is b, result.messages, messages))


def test_a_loop_sends_the_conversation_as_it_is(tmp_path: Path) -> None:
    session = session_with([], tmp_path / "store")

    assert session.fit(WHOLE) == WHOLE
    assert session.is_due()
    assert session.recover("prompt is too long: 300000 tokens > 200000 maximum") is None
