"""A text that the model asked for comes whole while the context has room, behind every door."""

from dataclasses import replace
from pathlib import Path

import pytest
from every_door import DOORS, Ask, Door, every_door, holds
from hypothesis import event
from hypothesis import strategies as st
from spoken_texts import text_of
from tasks import QUESTIONS, Reading, Task, readings, tasks

from context_compression import Session, count_tokens
from context_compression.conversation import ToolCall, parse
from context_compression.session import AnsweredCall, offload_result
from context_compression.testing import Run, tool_step

ROOM = {"token_budget": 40_000}
BESIDE = 900
"""The tokens of our tool, of what a door adds to a request, and of a note."""


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


@every_door
def test_the_newest_result_is_whole_while_the_request_is_below_the_threshold(door: Door) -> None:
    if not door.grows or door.is_refused:
        return  # it compresses because it was told to

    def law(door: Door, reading: Reading, data: st.DataObject) -> None:
        first, *_, call, result = reading.talk[1]
        below = count_tokens([first, call, result]) + BESIDE
        room = {"token_budget": int(below / 0.8)}

        *_, last = door.requests(reading.talk, Ask(1.0, room, restores=data.draw(st.booleans())))

        assert text_of(last.history).count(reading.text) == 2
        assert text_of(last.view).count(reading.text) == 1
        shown = parse(last.view).messages[-1].results[-1].text
        assert shown.endswith(reading.text)

    holds(door, readings, law)


@every_door
def test_a_text_that_was_asked_for_with_others_is_whole_when_it_is_asked_for_alone(
    door: Door,
) -> None:
    if not door.grows or door.is_refused:
        return

    def law(door: Door, reading: Reading, data: st.DataObject) -> None:
        dialect, (first, *_, call, result) = reading.talk
        room = {"token_budget": int((count_tokens([first, call, result]) + BESIDE) / 0.8)}
        tool, arguments = data.draw(st.sampled_from(QUESTIONS))
        texts = [reading.text, reading.text.replace("part", "unit"), reading.text[::-1]]
        runs = [Run(f"p{n}", tool, {**arguments, "n": n}, text) for n, text in enumerate(texts)]
        talk = [first, *tool_step(runs, dialect), *tool_step([replace(runs[0], id="a")], dialect)]

        views = [each.view for each in door.requests((dialect, talk), Ask(1.0, room))]

        shown = [[r.text for m in parse(view).messages for r in m.results] for view in views]
        assert not any(all(text in each for text in texts) for each in shown)
        assert shown[-1][-1].endswith(reading.text)

    parallel = [dialect for dialect in door.dialects if dialect != "openai-legacy"]
    holds(replace(door, dialects=parallel), readings, law)


@pytest.mark.parametrize("name", ["fit", "afit", "fit, reopened", "prepare", "aprepare"])
def test_a_model_without_our_tool_is_not_told_to_call_it(name: str) -> None:
    def law(door: Door, task: Task, data: st.DataObject) -> None:
        tight = {"token_budget": data.draw(st.integers(2_000, 6_000))}
        restores = data.draw(st.booleans())

        requests = door.requests(task.talk, Ask(1.0, tight, restores=restores))

        named = [text_of(each.view).count("context_restore") for each in requests]
        event("a view names the tool" if any(named) else "no view names it")
        assert restores or not any(named)

    holds(DOORS[name], lambda dialects: tasks(dialects, 12), law)


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
