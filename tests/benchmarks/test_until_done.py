"""An agent that must see the text is done as soon, and for as much, as if nothing were cut."""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.slow

WINDOW, STEPS = 20_000, 16
"""Tokens of the window, and how many results an agent asks for."""


@pytest.fixture
def until_done(script: Callable[[str], ModuleType]) -> Any:
    return script("until_done")


@pytest.mark.parametrize("door", ["fit", "run_tools"])
def test_reading_costs_no_more_than_if_nothing_were_shortened_and_logs_cost_less(
    until_done: Any, door: str
) -> None:
    works = until_done.works_of([WINDOW], (0.0, 1.0), STEPS, [door])

    found = {work: until_done.done(work) for work in works}

    assert [*until_done.missed(found)] == []
    assert all(done.compressions for work, done in found.items() if work.kind == "reading sources")


def test_an_agent_that_must_restore_what_it_read_is_found_out(until_done: Any) -> None:
    work = until_done.Work("reading sources", WINDOW, 1.0, STEPS)
    never = replace(work, never=True)

    found = {
        work: until_done.done(work, {"offload_at_source": "*=300"}),
        never: until_done.done(never),
    }

    assert len([*until_done.missed(found)]) == 2  # the requests and the bill


def test_both_versions_of_a_loop_take_the_same(until_done: Any) -> None:
    work = until_done.Work("all three", WINDOW, 1.0, STEPS, door="run_tools")

    done = until_done.done(work)

    assert done == until_done.done(replace(work, door="arun_tools"))
    assert done.requests > STEPS + 1  # what came as a preview was restored
    assert done.previews


def test_the_texts_are_the_same_everywhere(until_done: Any) -> None:
    [first], [again] = (until_done.steps_of("reading sources", 1) for _ in range(2))

    assert first == again
    assert first.text.startswith('"""The cache cache 0 of the service."""')
