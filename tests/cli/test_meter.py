"""The bar: real percent of the work, which never goes back."""

import json
import re
from itertools import count
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from context_compression import Session
from context_compression.cli.terminal import Meter
from context_compression.hosts import read
from context_compression.listening import (
    READING,
    SELECTING,
    STAGES,
    SUMMARIZING,
    is_reported,
    reported_to,
)
from context_compression.strings import cells

from .conftest import Desk, conversation

reports = st.tuples(st.sampled_from([*STAGES, "other"]), st.integers(0, 50), st.integers(0, 40))


class Noted:
    """A listener that notes all that it is told."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int, int]] = []

    def advance(self, stage: str, done: int, total: int) -> None:
        self.stages.append((stage, done, total))


@given(st.lists(reports, max_size=40))
@settings(max_examples=150, deadline=None)
def test_the_percent_never_goes_back_or_beyond_100(told: list[tuple[str, int, int]]):
    meter, before = Meter("working", *STAGES), 0.0

    for report in told:
        meter.advance(*report)
        now = meter.percent or 0.0
        assert before <= now <= 100
        before = now


@given(st.integers(20, 200), st.floats(0, 100))
def test_the_line_is_narrower_than_the_screen(width: int, percent: float):
    meter = Meter("a long piece of work", *STAGES)
    meter.percent = percent

    assert cells(meter.line(width)) < width


def test_stages_that_are_not_asked_for_are_ignored():
    meter = Meter("listing", "sessions")

    meter.advance(READING, 5, 10)
    meter.advance("sessions", 1, 4)

    assert (meter.what, meter.percent) == ("sessions", 25)


def test_a_summary_counts_only_where_one_is_written():
    without, with_one = Meter("working", *STAGES), Meter("working", *STAGES)
    with_one.advance(SUMMARIZING, 0, 1)

    for meter in (without, with_one):
        meter.advance(SELECTING, 0, 1)

    assert without.percent is not None
    assert with_one.percent is not None
    assert with_one.percent > without.percent


def test_a_compression_reports_each_stage_to_its_end(desk: Desk, tmp_path: Path):
    text = json.dumps([conversation() for _ in range(3)])
    long = [message for part in json.loads(numbered(text)) for message in part]
    listener = Noted()

    with reported_to(listener):
        Session(tmp_path / "store", "chat").compress(messages=long, target_tokens=20_000)

    told = [stage for stage, _, _ in listener.stages]
    assert {"counting", "compressing", "selecting", "archiving"} <= {*told}
    assert all(0 <= done <= total for _, done, total in listener.stages)


def numbered(text: str) -> str:
    """A text in which every name is another, so that every text has to be counted."""
    number = count()
    return re.sub("value_", lambda _: f"value_{next(number)}_", text)


def test_reading_reports_bytes_of_the_file(desk: Desk):
    path = desk.write("lines.jsonl", b'{"role": "user", "content": "Hi."}\n' * 2_000)
    listener = Noted()

    with reported_to(listener):
        read(path)

    size = path.stat().st_size
    assert listener.stages[-1] == (READING, size, size)
    shares = [done for _, done, _ in listener.stages]
    assert shares == sorted(shares)


def test_without_a_listener_nothing_is_reported(desk: Desk):
    listener = Noted()
    with reported_to(listener):
        pass

    read(desk.folder / "chat.json")

    assert not is_reported()
    assert listener.stages == []
