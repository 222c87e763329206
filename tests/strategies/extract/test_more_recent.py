"""`min_recent_messages`: a larger number never leaves fewer of the newest messages whole."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_compression import compress, count_tokens
from context_compression.testing import conversation

SHARES = st.sampled_from((0.6, 0.4, 0.25, 0.15, 0.1))


def whole(messages: list[dict[str, Any]], share: float, number: int) -> list[bool]:
    """Whether each message, the newest first, is whole in a view that asks for `number` of them."""
    view = compress(
        messages,
        target_tokens=int(count_tokens(messages) * share),
        strategy="extract",
        settings={"min_recent_messages": number},
    ).messages
    shown = {*map(id, view)}
    return [id(message) in shown for message in reversed(messages)]


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 200), SHARES, st.tuples(st.integers(1, 80), st.integers(1, 80)).map(sorted))
def test_a_larger_number_never_leaves_fewer_of_the_newest_messages_whole(
    seed: int, share: float, numbers: list[int]
) -> None:
    messages = conversation(40, seed=seed)

    few, more = (whole(messages, share, number) for number in numbers)

    assert all(sum(few[:k]) <= sum(more[:k]) for k in range(1, numbers[0] + 1))


@pytest.mark.parametrize("share", [0.4, 0.25, 0.15])
@pytest.mark.parametrize(
    ("number", "larger"), [(1, 3), (2, 6), (5, 9), (8, 10), (10, 20), (10, 40)]
)
def test_asking_for_more_keeps_as_many_of_the_last_messages_whole(
    share: float, number: int, larger: int
) -> None:
    messages = conversation(40, seed=7)

    few, more = whole(messages, share, number), whole(messages, share, larger)

    assert all(sum(few[:k]) <= sum(more[:k]) for k in range(1, number + 1))


def test_a_chat_that_has_no_room_for_more_keeps_as_many_of_the_last_messages_whole() -> None:
    messages: list[dict[str, Any]] = []
    for i in range(40):
        answer = f"Clause {i} binds the supplier; " + " ".join(f"item {i}-{k}" for k in range(60))
        messages.append({"role": "user", "content": f"And what of clause {i}?"})
        messages.append({"role": "assistant", "content": answer})

    ten, twenty = whole(messages, 0.4, 10), whole(messages, 0.4, 20)

    assert sum(twenty[:10]) >= sum(ten[:10]) == 10
