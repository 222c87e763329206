"""What goes out is within what was asked for, or is useful, and somebody is told that it is not."""

import re

from every_door import Ask, Door, every_door, holds
from hypothesis import strategies as st
from spoken_texts import text_of
from talks import SMALL, Talk, shares, talks
from tasks import Task, tasks

from context_compression import count_tokens

WINDOW = 8_000
CROWDED = "Policy 17 applies to every answer of this assistant. " * 720
"""A system prompt that leaves no room in the window."""


@every_door
def test_what_goes_out_is_within_what_was_asked_for_or_it_is_told(door: Door) -> None:
    def law(door: Door, talk: Talk, data: st.DataObject) -> None:
        is_within(door, talk, Ask(data.draw(shares), SMALL))

    holds(door, talks, law)


@every_door
def test_what_goes_out_for_a_recorded_conversation_is_within_it_or_it_is_told(
    door: Door, recorded: Talk
) -> None:
    is_within(door, recorded, Ask(0.3, {"token_budget": WINDOW // 2}))


def is_within(door: Door, talk: Talk, asked: Ask) -> None:
    for request in door.requests(talk, asked):
        assert request.view or not request.history, "an empty list is no answer"
        limit = request.about.limit
        if limit is not None and count_tokens(request.view) > limit:
            assert request.about.told, "nobody hears that it is too large"
        if not door.replaces:
            size = count_tokens(request.history)
            assert count_tokens(request.view) <= size or request.about.told


REFUSAL = re.compile(
    r"The minimum size is ([\d,]+) tokens; the target is 1\. What must stay: \S[^.]*\. "
    r"Set a target of \1 or more, or remove pins, tools or system text\. Nothing was changed\."
)
TAKE_A_TARGET = {
    "compress", "compress with a store", "undo", "context_compress",
    "context_compress on a transcript", "command", "compress over HTTP",
}  # fmt: skip
"""The doors whose caller names a target, and can take a refusal."""


@every_door
def test_a_target_below_the_minimum_size_is_refused_in_the_same_words(
    door: Door, recorded: Talk
) -> None:
    first, *_ = door.requests(recorded, Ask(tokens=1))

    assert bool(first.about.refusal) == (door.name in TAKE_A_TARGET)
    if first.about.refusal:
        assert REFUSAL.search(" ".join(first.about.refusal.split()))
        assert not first.about.written


@every_door
def test_a_request_without_room_is_useful_and_what_it_gave_up_comes_back(door: Door) -> None:
    if not door.takes_system:
        return

    def law(door: Door, task: Task, data: st.DataObject) -> None:
        asked = Ask(1.0, SMALL | {"token_budget": WINDOW}, crowded=CROWDED)

        *_, before, crowded, after = door.requests(task.talk, asked)

        shown = text_of(crowded.view)
        for said in (task.goal[:20], task.rule, task.last):
            assert said in shown
        assert task.newest in shown or door.is_refused  # refused again and again, it gets smaller
        assert crowded.about.told, "nobody hears that it is too large"
        if before.view == before.history:
            assert after.view == before.view
        assert task.goal in text_of(after.view)
        assert task.rule in text_of(after.view)

    holds(door, tasks, law)
