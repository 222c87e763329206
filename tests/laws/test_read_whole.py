"""A text that the model asked for comes whole while the context has room, behind every door."""

from every_door import Ask, Door, every_door, holds
from hypothesis import strategies as st
from tasks import Reading, readings
from texts import text_of

ROOM = {"token_budget": 40_000}


@every_door
def test_what_was_asked_for_is_whole_each_time_it_is_asked_for(door: Door) -> None:
    if door.replaces or door.is_refused:
        return

    def law(door: Door, reading: Reading, data: st.DataObject) -> None:
        for request in door.requests(reading.talk, Ask(1.0, ROOM)):
            asked, whole = (
                text_of(each).count(reading.text) for each in (request.history, request.view)
            )
            assert whole == asked

    holds(door, readings, law)
