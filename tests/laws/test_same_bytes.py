"""The same input gives the same bytes behind every door, and is never changed itself."""

from copy import deepcopy

import pytest
from every_door import Ask, Door, every_door, holds
from hypothesis import strategies as st
from talks import SMALL, Talk, broken_talks, shares, talks

from context_compression.conversation import canonical


def same_bytes(door: Door, talk: Talk, asked: Ask, *, is_damaged: bool = False) -> None:
    """A repair may write what stands elsewhere, so damaged talks are compared by bytes only."""
    dialect, messages = talk
    given = deepcopy(messages)

    first = door.requests(talk, asked)
    again = door.requests((dialect, deepcopy(messages)), asked)

    assert canonical(messages) == canonical(given), "the input was changed"
    views = [[canonical(each.view) for each in requests] for requests in (first, again)]
    assert views[0] == views[1]
    if door.makes_own or is_damaged:
        return
    for request in first:
        history, view = request.objects or (request.history, request.view)
        known = {id(message) for message in history}
        equal = {canonical(message) for message in request.history}
        for message, read in zip(view, request.view, strict=True):
            assert id(message) in known or canonical(read) not in equal, "no longer the very object"


@pytest.mark.slow
@every_door
def test_the_same_conversation_gives_the_same_bytes(door: Door) -> None:
    def law(door: Door, talk: Talk, data: st.DataObject) -> None:
        same_bytes(door, talk, Ask(data.draw(shares), SMALL))

    holds(door, talks, law)


@pytest.mark.slow
@every_door
def test_the_same_damaged_conversation_gives_the_same_bytes(door: Door) -> None:
    def law(door: Door, talk: Talk, data: st.DataObject) -> None:
        same_bytes(door, talk, Ask(data.draw(shares), SMALL), is_damaged=True)

    holds(door, broken_talks, law)


@every_door
def test_a_recorded_conversation_gives_the_same_bytes(door: Door, recorded: Talk) -> None:
    same_bytes(door, recorded, Ask(0.3, {"token_budget": 4_000}))
