"""The short text of a report, and its chart."""

from dataclasses import replace

import pytest
from sample_reports import sample_report

from context_compression.report.model import CompactionMark, Point
from context_compression.report.text import chart, duration, text, times
from context_compression.transcripts import Compaction


def points(*sizes: int) -> list[Point]:
    return [Point(number, None, {"text": size}) for number, size in enumerate(sizes, 1)]


def test_a_chart_shows_the_window_the_threshold_and_compactions():
    grown = points(*range(10, 91, 2), *range(20, 60, 2))

    lines = [*chart(grown, [CompactionMark(41, Compaction())], 100, 80, width=51)]

    assert lines == [
        "       100                         ▂▂▄",
        "      due                   ▁▂▃▅▆▇████",
        "                      ▂▂▄▅▆▇██████████       ▁▂▃▄▆▇",
        "               ▁▂▃▅▆▇█████████████████ ▂▂▄▅▆▇██████",
        "           ▄▆▆█████████████████████████████████████",
        "                                     ▲",
        "           request 1 to 61, ▲ compaction",
    ]


def test_a_context_far_below_its_window_gets_a_scale_of_its_own():
    first, *_ = chart(points(1_000, 2_000, 3_000), [], 1_000_000, 800_000, width=60)

    assert first.startswith("  max 3.0K ")
    assert first.endswith("█")


def test_the_context_after_the_last_compaction_stands_at_the_end():
    mark = CompactionMark(3, Compaction())

    *rows, marks, caption = chart(points(80, 90, 100), [mark], 100, 80, width=60, now=10)

    assert rows[0].endswith("█")
    assert len(rows[-1]) == len(rows[0]) + 1
    assert len(marks) == len(rows[-1])
    assert caption.strip() == "request 1 to 3 and now, ▲ compaction"


def test_one_request_is_no_course():
    assert not [*chart(points(100), [], 200, 160, width=60)]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "1 min"), (3_540, "59 min"), (11_520, "3 h 12 min"), (90_000, "1 day 1 h")],
)
def test_durations_are_told_in_words(seconds: float, words: str):
    assert duration(seconds) == words


def test_numbers_of_times_are_told_in_words():
    assert [times(number) for number in (1, 2, 3, 1_200)] == [
        "once", "twice", "3 times", "1,200 times",
    ]  # fmt: skip


def test_the_text_says_that_a_session_without_compaction_would_have_cost_less():
    report = sample_report()

    shown = text(replace(report, cost=replace(report.cost, with_us=220_000, without=204_000)))

    assert "204K if nothing had left" in " ".join(shown.split())
