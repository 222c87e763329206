"""What is said about valid settings that hardly do what their user means."""

from typing import Any

import pytest

from context_compression import Settings
from context_compression.workspace.doubts import doubts


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"token_budget": 200}, "write 200k for 200,000"),
        ({"trigger_threshold": 0.4}, "trigger_threshold = 0.4 is below target_usage = 0.5"),
        ({"target_usage": 0.95, "trigger_threshold": 0.95}, "is a target of 190,000 tokens, but"),
        (
            {"manual_target_usage": 0.95},
            "trigger_threshold = 0.8 is below manual_target_usage = 0.95",
        ),
        ({"manual_target_usage": 0.8}, "manual_target_usage = 0.8 is a target of 160,000 tokens"),
        ({"reserve_tokens": 300_000}, "reserve_tokens = 300,000 is more than a fifth of token_"),
        ({"keep_recent_tokens": 60_000}, "keep_recent_tokens = 60,000 is more than a quarter"),
        ({"keep_recent_tokens": 30_000, "target_usage": 0.2}, "at most half of the target, 20,000"),
        ({"tail_retention_ratio": 0.6}, "tail_retention_ratio is 120,000 tokens, but recent"),
        ({"summary_target_tokens": 50_000}, "20,000 tokens apply"),
        ({"offload_preview_tokens": 1_000}, "offloading frees hardly anything"),
        ({"keep_recent": 60}, "is above max_turns = 50"),
        ({"trigger_threshold": 0.95}, "but compression is due from 183,617 on"),
    ],
)
def test_numbers_that_do_not_go_together_are_told(values: dict[str, Any], said: str) -> None:
    assert any(said in doubt for doubt in doubts(Settings(**values)))


def test_of_two_settings_for_recent_messages_only_the_one_that_applies_is_named() -> None:
    both = Settings(tail_retention_ratio=0.2, keep_recent_tokens=90_000, target_usage=0.3)

    assert doubts(both) == (
        "tail_retention_ratio is 40,000 tokens, but recent messages get at most half of the "
        "target, 30,000",
    )


@pytest.mark.parametrize("budget", [1_000, 8_000, 200_000, 1_000_000])
def test_the_defaults_are_beyond_doubt_in_every_window(budget: int) -> None:
    assert doubts(Settings()) == ()
    assert doubts(Settings(token_budget=budget)) == ()
