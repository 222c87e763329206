"""A summary that failed is told: in events, in `status().warnings`, and by the next process."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from context_compression import Session
from context_compression.session import Event
from context_compression.summaries import SummaryReply, SummaryRequest
from context_compression.testing import ScriptedSummarizer, conversation

ERROR = "Error: 429 Too Many Requests"
DUE = {"token_budget": 8_000, "strategy": "summarize"}


def session_in(folder: Path, events: list[Event], **settings: Any) -> Session:
    return Session(
        folder, "s", settings=DUE | settings, summarizer=ScriptedSummarizer(ERROR),
        on_event=events.append,
    )  # fmt: skip


def compressed_by(door: str, session: Session) -> None:
    if door == "fit":
        session.fit(conversation(12))
    elif door == "afit":
        anyio.run(session.afit, conversation(12))
    else:
        session.record(*conversation(12))
        session.prepare() if door == "prepare" else session.compress(target_tokens=4_000)


@pytest.mark.parametrize("door", ["fit", "afit", "prepare", "compress"])
def test_a_failed_summary_is_told_at_every_door_of_a_session(tmp_path: Path, door: str) -> None:
    events: list[Event] = []
    session = session_in(tmp_path, events)

    compressed_by(door, session)

    end = events[-1]
    assert (end.kind, end.aborted, end.strategy) == ("end", False, "extract")
    assert ERROR in (end.error or "")
    assert any(ERROR in warning for warning in session.status().warnings)
    again = Session(tmp_path, "s", summarizer=None)
    assert sum(ERROR in warning for warning in again.status().warnings) == 1


def test_a_summary_that_comes_ends_the_warning(tmp_path: Path) -> None:
    session = session_in(tmp_path, [])
    compressed_by("compress", session)
    session.summarizer = ScriptedSummarizer()

    session.compress(target_tokens=3_000)

    assert not any(ERROR in warning for warning in session.status().warnings)


def test_a_summary_that_leaves_all_as_it_was_is_told_as_aborted(tmp_path: Path) -> None:
    events: list[Event] = []
    session = session_in(tmp_path, events, on_summary_failure="skip")

    compressed_by("compress", session)

    assert events[-1].aborted
    assert ERROR in (events[-1].error or "")
    assert any(ERROR in warning for warning in session.status().warnings)


class Late(ScriptedSummarizer):
    """Never answers the first request."""

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary, from the second request on."""
        reply = await super().summarize(request)
        if len(self.requests) == 1:
            await anyio.sleep_forever()
        return reply


def test_a_request_that_takes_too_long_is_an_attempt_and_the_next_may_succeed(
    tmp_path: Path,
) -> None:
    late = Late()
    settings = {**DUE, "summary_seconds": 0.2}
    session = Session(tmp_path, "s", settings=settings, summarizer=late)
    session.record(*conversation(12))

    result = session.compress(target_tokens=4_000)

    assert result.strategy == "summarize"
    assert len(late.requests) >= 2


def test_a_request_that_always_takes_too_long_is_told(tmp_path: Path) -> None:
    late = Late()
    settings = {**DUE, "summary_seconds": 0.2, "summary_attempts": 1}
    session = Session(tmp_path, "s", settings=settings, summarizer=late)
    session.record(*conversation(12))

    result = session.compress(target_tokens=4_000)

    assert result.strategy == "extract"
    assert any("No summary within 0.2 s" in note for note in result.notes)
