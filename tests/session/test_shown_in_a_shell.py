"""What a person sees of a value in a shell: one short line with the numbers that tell."""

from pathlib import Path
from typing import Any

import pytest

from context_compression import Session, compress, count_tokens, restore_tool, usage
from context_compression.session import SummaryAssignment
from context_compression.testing import conversation


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session(tmp_path / ("a-long-name" * 20), "build")
    session.record(*conversation(turns=12))
    return session


def test_a_status_tells_how_full_it_is_and_what_was_saved(session: Session) -> None:
    count = count_tokens(conversation(turns=12))

    assert repr(session.status()) == (
        f"<Status: {count:,} of 200,000 tokens ({100 * count / 200_000:.1f} %), not due, "
        "66 messages>"
    )
    session.compress(target_tokens=4_000)
    status = session.status()
    assert repr(status) == (
        f"<Status: {status.usage.in_words}, not due, {status.messages} messages, "
        f"1 compression saved {status.tokens_saved:,}, {len(status.refs)} refs>"
    )


def test_a_usage_tells_from_where_on_a_compression_is_due() -> None:
    assert repr(usage([])) == "<Usage: 0 of 200,000 tokens (0.0 %), due from 160,000>"


def test_every_value_that_a_program_meets_is_one_short_line(session: Session) -> None:
    messages: Any = conversation(turns=12)
    assigned = session.ask(strategy="summarize", target_tokens=3_000)
    assert isinstance(assigned, SummaryAssignment)
    values = [
        session, session.status(), session.usage(), session.settings, session.store,
        compress(messages, target_tokens=2_000), restore_tool(session), assigned,
    ]  # fmt: skip

    for value in values:
        assert len(repr(value)) <= 120, repr(value)
        assert "\n" not in repr(value)
    assert repr(session).startswith("<Session build in ")
    assert repr(session).endswith(", a window of 200,000>")
