"""What a report says of the strategies that ran one after the other."""

from types import SimpleNamespace
from typing import Any

import pytest

from context_compression import Result
from context_compression.report.facts import steps_in_words


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([("offload", 9_000)], None),
        (
            [("offload", 100_000), ("extract", 9_000)],
            "offload freed nothing; extract left 9,000 tokens",
        ),
        (
            [("offload", 60_000), ("truncate", 60_000), ("extract", 9_900)],
            "offload left 60,000 tokens; truncate freed nothing; extract left 9,900 tokens",
        ),
        (
            [("offload", 9_007), ("extract", 9_988)],
            "offload left 9,007 tokens, 993 below the target; extract filled 981 with evidence",
        ),
    ],
)
def test_a_later_step_that_leaves_more_says_what_it_won(
    steps: list[tuple[str, int]], said: str | None
):
    ran: Any = [SimpleNamespace(strategy=name, tokens_after=tokens) for name, tokens in steps]
    result = Result(
        messages=[],
        tokens_before=100_000,
        tokens_after=steps[-1][1],
        messages_in=3,
        target_tokens=10_000,
        steps=tuple(ran),
    )

    assert steps_in_words(result) == said
