"""What compression saved, and what it cost, over the requests of a conversation."""

from pathlib import Path
from typing import Any

import pytest

from context_compression import Session, count_tokens
from context_compression.session import SCHEMAS, SummaryAssignment
from context_compression.summaries import SummaryReply
from context_compression.testing import ScriptedSummarizer, conversation

OF_PARSER = (
    "## Goal\nFind the bug that the tests of src/session, src/login and the other modules report, "
    "and repair the token index.\n\n## Progress\nThe connect, cache, worker, handler and buffer "
    "modules were read, and pytest ran with errors.\n\n## Next Steps\nRun pytest again."
)
SAID = {"role": "assistant", "content": "Done."}
ASKED = {"role": "user", "content": "Go on."}
TALK = [ASKED, SAID] * 3
CALLED: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "mcp__ctx__context_status", "input": {}}],
}
ANSWERED = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "half full"}],
}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session(tmp_path / ".compression", "s")
    session.record(*conversation(8))
    return session


def answered_in(messages: list[dict[str, Any]]) -> int:
    return sum(message["role"] == "assistant" for message in messages)


def test_before_a_compression_nothing_is_saved_and_nothing_spent(session: Session) -> None:
    savings = session.status().savings

    assert savings.requests == answered_in(conversation(8))
    assert savings.as_answer() == {"net": 0}


def test_what_was_freed_is_saved_once_in_every_later_request(session: Session) -> None:
    freed = session.compress(target_tokens=9_000).tokens_freed
    before = session.status().savings

    session.record(*TALK)

    assert (before.per_request, before.net, before.unsent) == (freed, 0, True)
    assert not session.status().savings.unsent
    assert session.status().savings.kept_out == 3 * freed == session.status().savings.net


def test_what_was_restored_is_paid_again_in_every_later_request(session: Session) -> None:
    result = session.compress(target_tokens=9_000)
    ref = next(ref for ref, about in result.refs.items() if about.block is not None)
    session.record(*TALK)

    text = session.restore(ref)
    session.record(*TALK)

    savings = session.status().savings
    assert savings.brought_back == 3 * count_tokens(text)
    assert savings.per_request == result.tokens_freed - count_tokens(text)
    assert savings.net == 6 * result.tokens_freed - savings.brought_back


def test_an_undone_compression_saves_no_more_but_keeps_what_it_saved(session: Session) -> None:
    freed = session.compress(target_tokens=9_000).tokens_freed
    session.record(*TALK)

    session.undo()
    session.record(*TALK)

    assert session.status().savings.per_request == 0
    assert session.status().savings.net == 3 * freed


def test_the_calls_for_a_summary_are_paid_even_when_it_is_undone(tmp_path: Path) -> None:
    reply = SummaryReply(OF_PARSER, input_tokens=5_000, output_tokens=300, cost=0.02)
    summarizer = ScriptedSummarizer(reply)
    session = Session(tmp_path, "s", summarizer=summarizer)
    session.record(*conversation(12))
    result = session.compress(strategy="summarize", target_tokens=9_000)
    assert result.summary

    session.undo()

    calls = len(summarizer.requests)
    assert session.status().savings.summaries == 5_300 * calls == -session.status().savings.net
    assert session.status().savings.cost == pytest.approx(0.02 * calls)  # pyright: ignore[reportUnknownMemberType]  # pytest leaves it open


def test_a_summary_that_an_agent_wrote_costs_at_least_its_own_tokens(session: Session) -> None:
    done = session.ask(strategy="summarize", target_tokens=9_000)
    while isinstance(done, SummaryAssignment):
        done = session.answer(done.plan_id, OF_PARSER)

    assert done.summary
    assert session.status().savings.summaries == count_tokens(done.summary.text)


def test_an_agent_that_called_our_tools_pays_for_them_in_every_request(session: Session) -> None:
    session.record(CALLED, ANSWERED, SAID)

    savings = session.status().savings

    assert SCHEMAS < savings.schemas < 2 * SCHEMAS
    assert savings.net == -savings.schemas * savings.requests


def test_what_a_host_did_not_take_over_saved_nothing(session: Session) -> None:
    talk = conversation(8)
    session.compress(messages=talk, target_tokens=9_000)

    status = session.status([*talk, *TALK])

    assert status.tokens_saved == 0
    assert status.not_taken_over > 0
    assert status.savings.kept_out == status.savings.per_request == 0


def test_what_a_host_took_over_is_saved_in_its_requests(session: Session) -> None:
    result = session.compress(messages=conversation(8), target_tokens=9_000)

    status = session.status([*result.messages, *TALK])

    assert status.savings.kept_out == 3 * result.tokens_freed


def test_a_damaged_line_of_the_log_does_not_stop_the_sums(session: Session) -> None:
    session.compress(target_tokens=9_000)
    log = session.store.folder / "sessions/s/events.jsonl"
    text = log.read_text(encoding="utf-8")

    log.write_text(text.replace('"type":"compression"', '"type":"compression","cost":"?"'), "utf-8")

    assert session.status().savings.cost == 0
