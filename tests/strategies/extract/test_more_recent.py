"""`min_recent_messages`: more than ten of the newest messages never leave fewer of them whole."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_compression import compress, count_tokens
from context_compression.testing import conversation

SHARES = st.sampled_from((0.6, 0.4, 0.25, 0.15, 0.1))


def whole(messages: list[dict[str, Any]], share: float, number: int) -> list[int]:
    """How many of the last 1, 4, 10 and 20 messages are whole in a view of `number` messages."""
    view = compress(
        messages,
        target_tokens=int(count_tokens(messages) * share),
        strategy="extract",
        settings={"min_recent_messages": number},
    ).messages
    shown = {*map(id, view)}
    return [sum(id(message) in shown for message in messages[-k:]) for k in (1, 4, 10, 20)]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 200), SHARES, st.integers(11, 80))
def test_more_than_ten_of_the_newest_messages_never_leave_fewer_whole_than_ten_do(
    seed: int, share: float, number: int
) -> None:
    messages = conversation(40, seed=seed)

    ten, more = whole(messages, share, 10), whole(messages, share, number)

    assert all(a <= b for a, b in zip(ten, more, strict=True))


@pytest.mark.parametrize("share", [0.4, 0.25, 0.15])
@pytest.mark.parametrize("number", [13, 20, 40])
def test_asking_for_more_keeps_as_many_of_the_last_messages_whole_as_ten_do(
    share: float, number: int
) -> None:
    messages = conversation(40, seed=7)

    ten, more = whole(messages, share, 10), whole(messages, share, number)

    assert all(a <= b for a, b in zip(ten, more, strict=True))
