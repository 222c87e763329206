"""`min_recent_messages` and `preserve_messages`: how many of the newest messages stay, and when.

Both yield to the target: the newest messages may take half of it, `min_recent_messages` together
with all else that must stay.
"""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from context_compression import compress, count_tokens
from context_compression.conversation import parse
from context_compression.testing import ScriptedSummarizer, conversation

pytestmark = pytest.mark.slow

LINE = 60
"""More tokens than a receipt of a tool result takes."""
PLAIN = {"thinking": "keep", "keep_recent_tokens": 0}
MESSAGES = st.integers(0, 12).map(lambda seed: conversation(14, seed=seed))
SHARES = st.sampled_from((0.8, 0.6, 0.4, 0.2))


def newest(messages: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """The newest messages, and those of the tool step in which they begin."""
    start, read = len(messages) - number, parse(messages).messages
    while start > 0 and read[start].results:
        start -= 1
    return messages[start:]


def calls_and_words(messages: list[dict[str, Any]]) -> int:
    """At most what the user's messages and all tool steps as skeletons take."""
    read = parse(messages).messages
    kept = [raw for raw, m in zip(messages, read, strict=True) if m.starts_turn or m.calls]
    return count_tokens(kept) + LINE * sum(len(message.results) for message in read)


def stay(kept: list[dict[str, Any]], view: list[dict[str, Any]]) -> bool:
    return all(a is b for a, b in zip(view[len(view) - len(kept) :], kept, strict=True))


@settings(max_examples=10, deadline=None)
@given(MESSAGES, SHARES, st.integers(1, 12))
def test_extract_keeps_the_newest_in_full_if_all_that_must_stay_fits_half_the_target(
    messages: list[dict[str, Any]], share: float, number: int
) -> None:
    target = int(count_tokens(messages) * share)
    last = newest(messages, number)
    assume(count_tokens(last) + calls_and_words(messages) <= target // 2)

    result = compress(
        messages,
        target_tokens=target,
        strategy="extract",
        settings={**PLAIN, "min_recent_messages": number},
    )

    assert stay(last, result.messages)
    assert result.target_met


@settings(max_examples=10, deadline=None)
@given(MESSAGES, SHARES, st.integers(1, 12))
def test_a_summary_leaves_out_the_newest_if_they_fit_half_the_target(
    messages: list[dict[str, Any]], share: float, number: int
) -> None:
    target = int(count_tokens(messages) * share)
    last = newest(messages, number)
    assume(count_tokens(last) <= target // 2 < count_tokens(messages) - 200)

    result = compress(
        messages,
        target_tokens=target,
        strategy="summarize",
        summarizer=ScriptedSummarizer(),
        settings={**PLAIN, "preserve_messages": number},
    )

    assert result.strategy == "summarize"
    assert stay(last, result.messages)


@settings(max_examples=8, deadline=None)
@given(MESSAGES, st.sampled_from((0.3, 0.1, 0.05)), st.sampled_from((10, 40)))
def test_where_the_newest_alone_exceed_the_target_they_yield_to_it(
    messages: list[dict[str, Any]], share: float, number: int
) -> None:
    target = int(count_tokens(messages) * share)
    assume(count_tokens(messages[-number:]) > target)
    both = {**PLAIN, "min_recent_messages": number, "preserve_messages": number}

    extracted = compress(messages, target_tokens=target, strategy="extract", settings=both)
    summarized = compress(
        messages, target_tokens=target, settings=both, summarizer=ScriptedSummarizer()
    )

    for result in (extracted, summarized):
        assert result.tokens_after <= max(target, result.floor_tokens)
        assert result.changed
