"""The short text of a report, and its chart."""

from dataclasses import replace
from typing import Any

import pytest
from sample_reports import sample_report

from context_compression.report.model import CompactionMark, Cost, Point
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

    assert "204K weighted tokens if nothing had left" in " ".join(shown.split())


def told(**changed: Any) -> str:
    return " ".join(text(replace(sample_report(), **changed)).split())


def test_a_cost_is_told_in_dollars_with_the_day_of_their_prices():
    cost = replace(
        sample_report().cost,
        dollars=4.2, dollars_without=6.6, output_dollars=0.6, prices="2026-11-30", impossible=0,
    )  # fmt: skip

    shown = told(cost=cost)

    assert "cost input $4.20, as charged; $6.60 if nothing had left; output $0.60" in shown
    assert "at the providers' list prices of 2026-11-30" in shown


def test_without_a_price_the_unit_of_the_tokens_and_the_model_are_named():
    shown = told(cost=Cost(60, 2_100_000, 2_100_000, 41_000, True, unpriced=["a-model-1"]))

    assert "input 2.10M weighted tokens, as charged; the same if nothing had left" in shown
    assert "a token read from the cache counts 0.1, one written into it 1.25" in shown
    assert "the price of a-model-1 is not known (--input-price)" in shown
    assert "plain input" not in shown


def test_what_a_host_cleared_is_named():
    clearing = Compaction(None, "auto", "claude-code", 158_000, 101_000, cleared=True)

    shown = told(compactions=[CompactionMark(50, clearing)], cleared=3, cleared_tokens=57_000)

    assert "158K → 101K (Claude Code cleared old tool results, auto)" in shown
    assert "cleared Claude Code cleared 3 old tool results, 57,000 tokens; its own file" in shown
