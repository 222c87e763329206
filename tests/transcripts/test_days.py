"""Times of files, which may be any number, as days for people."""

import pytest

from context_compression.transcripts.sessions import day_of


@pytest.mark.parametrize(
    ("seconds", "day"),
    [
        (0.0, "1970-01-01"),
        (1_795_000_000.5, "2026-11-18"),
        (-1e9, "1970-01-01"),
        (1e12, "9998-12-31"),
        (9e18, "9998-12-31"),
    ],
)
def test_every_time_has_a_day_also_one_that_no_calendar_has(seconds: float, day: str) -> None:
    assert day_of(seconds) == day
