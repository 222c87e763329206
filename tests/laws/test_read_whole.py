"""A text that the model asked for comes whole while the context has room, behind every door."""

from pathlib import Path

import pytest
from every_door import Ask, Door, every_door, holds
from hypothesis import strategies as st
from spoken_texts import text_of
from tasks import QUESTIONS, Reading, readings

from context_compression import Session
from context_compression.conversation.messages import ToolCall
from context_compression.session.tool_results import AnsweredCall, offload_result

ROOM = {"token_budget": 40_000}


@every_door
def test_what_was_asked_for_is_whole_each_time_it_is_asked_for(door: Door) -> None:
    if door.replaces or door.is_refused or door.name == "undo":
        return  # it compresses because it was told to

    def law(door: Door, reading: Reading, data: st.DataObject) -> None:
        for request in door.requests(reading.talk, Ask(1.0, ROOM, restores=True)):
            asked, whole = (
                text_of(each).count(reading.text) for each in (request.history, request.view)
            )
            assert whole == asked

    holds(door, readings, law)


@pytest.mark.parametrize("is_final", [False, True])
@pytest.mark.parametrize(("tool", "arguments"), QUESTIONS, ids=[name for name, _ in QUESTIONS])
def test_what_was_asked_for_is_whole_where_each_result_comes_in(
    tmp_path: Path, tool: str, arguments: dict[str, str], is_final: bool
) -> None:
    session = Session(tmp_path, "one", settings=ROOM)
    text = "\n".join(f"static int part_{n}(void) {{ return {n * 7}; }}" for n in range(170))

    for number in range(2):
        call = ToolCall(f"r{number}", tool, dict(arguments))
        answered = AnsweredCall(call, text, is_final=is_final, room=30_000)
        assert offload_result(session, answered) is None
