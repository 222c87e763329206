"""Sizes in the words that a user types after a host's command to compact."""

import pytest

from context_compression.hooks.host_compaction import NamedSize, named_size

SIZES = {
    "keep 30k": 30_000,
    "to 40,000 tokens": 40_000,
    "compact to 1.5k": 1_500,
    "keep about 12 000 tokens": 12_000,
    "30k": 30_000,
    "max 30k": 30_000,
    "target size 30k": 30_000,
    "please shrink the context down to 30k": 30_000,
    "~30K tokens, please": 30_000,
    "down to 25k please": 25_000,
    "to 1m": 1_000_000,
    "behalte 30k": 30_000,
    "auf 30.000 Tokens kürzen": 30_000,
    "garde 30k": 30_000,
    "сократи до 30к": 30_000,
    "保留30k": 30_000,
    "30K만 남겨": 30_000,
}
NO_SIZES = [
    "", "focus on the 8k limit", "remember the limit is 8k", "keep 3 k8s pods",
    "keep 30k rows of data in mind", "keep 10 messages", "stress the rate limit 8k, and the tests",
    "say why latency went down, from 9k to 4k, and what did it",
    "explain the move to 4k, which pays", "explain why 200,000 tokens were too many",
    "keep what 5% of users said", "keep 0k", "keep 150%", "we use 4k pages, keep it",
]  # fmt: skip


@pytest.mark.parametrize("words", SIZES)
def test_a_size_is_known_and_leaves_no_focus(words: str) -> None:
    assert named_size(words) == NamedSize(SIZES[words])


@pytest.mark.parametrize("words", NO_SIZES)
def test_other_numbers_are_the_focus(words: str) -> None:
    assert named_size(words) == NamedSize(focus=words)


@pytest.mark.parametrize(
    ("words", "tokens", "focus"),
    [
        ("keep 30k, focus on the parser", 30_000, "focus on the parser"),
        ("focus on tests, 30k", 30_000, "focus on tests"),
        ("keep the last 40k tokens and stress the API", 40_000, "stress the API"),
        ("保留 30k, 关注测试", 30_000, "关注测试"),
    ],
)
def test_the_rest_of_the_words_stays_the_focus(words: str, tokens: int, focus: str) -> None:
    assert named_size(words) == NamedSize(tokens, focus=focus)


@pytest.mark.parametrize("words", ["keep 20%", "keep 20 %", "20 percent"])
def test_a_share_is_one_of_the_present_size(words: str) -> None:
    assert named_size(words).of(50_000) == 10_000


@pytest.mark.parametrize("words", ["keep 1,234,567k", "keep 1.234.567m tokens", "keep 1'000'000 k"])
def test_a_number_with_several_separators_and_a_unit_is_read(words: str) -> None:
    tokens = named_size(words).tokens

    assert tokens is not None
    assert 10**9 <= tokens <= 10**12
