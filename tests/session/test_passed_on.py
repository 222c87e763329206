"""How a session tells of messages that it does not know, and of what failed instead."""

from pathlib import Path
from typing import Any

import pytest

from context_compression import Session
from context_compression.session.fit import MOST_TOLD

ASKED = {"role": "user", "content": "Why is the build red?"}


def warnings(folder: Path, history: list[Any]) -> list[str]:
    session = Session(folder, "s")
    assert session.fit(history) == history
    assert session.fit([*history, ASKED]) == [*history, ASKED]
    return [*session.status().warnings]


def test_a_warning_names_the_message_by_its_index_in_the_history(tmp_path: Path) -> None:
    history = [ASKED, {"x": 1}, ASKED, {"role": "narrator", "content": "Meanwhile."}]

    first, second = warnings(tmp_path, history)

    assert "Message 1 has role None" in first
    assert "Message 3 has role 'narrator'" in second


def test_messages_of_one_role_and_type_are_told_once_whatever_their_keys(tmp_path: Path) -> None:
    events = [{"type": "event", f"key_{number}": number} for number in range(50)]

    assert len(warnings(tmp_path, [ASKED, *events])) == 1


def test_the_number_of_warnings_is_bounded(tmp_path: Path) -> None:
    events = [{"type": f"event {number}"} for number in range(50)]

    told = warnings(tmp_path, [ASKED, *events])

    assert len(told) == MOST_TOLD + 1
    assert told[-1] == "messages of more kinds are not known here; they stay as they came, too"


class RemoveMessage:
    """A message of a framework, among messages that its adapter reads."""


RemoveMessage.__module__ = "langchain_core.messages.modifier"


def test_an_object_among_messages_that_can_be_read_is_named_without_advice(tmp_path: Path) -> None:
    [told] = warnings(tmp_path, [ASKED, RemoveMessage()])

    assert told.endswith("Message 1 is RemoveMessage of langchain_core.")


def test_objects_alone_are_told_with_what_to_pass_instead(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")

    session.fit([RemoveMessage()])

    assert "convert_to_openai_messages" in session.status().warnings[0]


@pytest.mark.parametrize("recorded", [True, False])
def test_an_item_of_an_unknown_type_is_told_once(tmp_path: Path, recorded: bool) -> None:
    session = Session(tmp_path, "s")
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": "nothing"}
    history = [ASKED, {"type": "hologram", "waves": [1]}, call, output]
    if recorded:
        session.record(*history)
        session.record({"type": "hologram", "waves": [2]}, call | {"call_id": "c2"})
    else:
        session.fit(history)
        session.fit([*history, {"type": "hologram", "waves": [2]}, ASKED])

    assert session.status().warnings == [
        "items of the type 'hologram' are not known here: they count, and always stay"
    ]


def test_a_request_without_a_compression_says_what_failed(tmp_path: Path) -> None:
    fails = [True]

    def count(text: str) -> int:
        if fails:
            raise ValueError("no counter")
        return len(text) // 4

    session = Session(tmp_path, "s", settings={"token_budget": 2_000}, counter=count)
    talk = [
        {"role": role, "content": f"{number} {role} " * 60}
        for number in range(20)
        for role in ("user", "assistant")
    ]

    session.fit([*talk, ASKED])
    fails.clear()

    assert session.status().warnings[0] == (
        "a request was made in memory, because something else failed: ValueError: no counter"
    )
