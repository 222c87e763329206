"""Edits are checked once, for every strategy: overlap, pairing, thinking, shrinking, provenance."""

from collections.abc import Sequence
from typing import Any

import pytest

from context_compression.conversation import Message, Text, Thinking, assistant, parse, user
from context_compression.errors import IllegalEdit
from context_compression.planning import Edit, View, apply
from context_compression.testing import Run, conversation, tool_step
from context_compression.tokens import Counter

LS = Run("a", "Bash", {"command": "ls"}, "main.py\n" * 40)
COUNT = Counter().message
LOOP_RULES = parse(conversation(1)).format.rules


def read(*messages: dict[str, Any]) -> tuple[Message, ...]:
    return parse(messages).messages


def made(messages: Sequence[Message], *edits: Edit) -> View:
    return apply(messages, edits, COUNT, LOOP_RULES)


TALK = (user("first question"), assistant("first answer"), user("second"), assistant("last"))
LOOP = read(
    {"role": "user", "content": "go"},
    *tool_step([LS], "anthropic", thought="I look first."),
    *tool_step([Run("b", "Read", {}, "print(1)")], "anthropic", thought="Now I read."),
    {"role": "assistant", "content": "done"},
)


def without_thinking(message: Message) -> Message:
    blocks = tuple(block for block in message.blocks if not isinstance(block, Thinking))
    return message.with_blocks(blocks)


def drop(start: int, stop: int) -> Edit:
    return Edit(start, stop, (), "drop")


def test_edits_are_made_whatever_their_order_and_the_rest_stays_the_same_objects() -> None:
    short = user("second")
    long = (*TALK[:2], user("second, " + "at length " * 50), TALK[3])

    view = made(long, Edit(2, 3, (short,), "shorten"), drop(0, 2))

    assert view.messages == (short, TALK[3])
    assert view.messages[1] is long[3]
    assert view.origins == (2, 3)


def test_a_note_of_the_users_role_does_not_stand_for_what_the_model_thought() -> None:
    thoughts = [{"type": "thinking", "thinking": "I look. " * 40, "signature": "s"}]
    messages = read(
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [*thoughts, {"type": "text", "text": "A moment."}]},
        *tool_step([LS], "anthropic", thought="Now I look."),
        {"role": "assistant", "content": "done"},
    )

    view = made(messages, Edit(1, 2, (user("[Compressed History] a note"),), "drop"))

    assert view.origins == (0, None, 2, 3, 4)


def test_what_went_in_is_not_changed() -> None:
    messages = list(TALK)

    made(messages, drop(0, 2))

    assert messages == list(TALK)


def test_without_edits_the_view_is_the_conversation() -> None:
    view = made(TALK)

    assert view == View(TALK, (0, 1, 2, 3), ())


@pytest.mark.parametrize(
    "edits",
    [
        [drop(0, 2), drop(1, 3)],
        [drop(0, 4), drop(0, 4)],
        [drop(0, 5)],
        [drop(-1, 2)],
        [drop(1, 1)],
        [drop(3, 2)],
    ],
)
def test_edits_that_overlap_or_lie_outside_are_illegal(edits: list[Edit]) -> None:
    with pytest.raises(IllegalEdit, match=r"drop: .* overlaps or lies outside"):
        made(TALK, *edits)


def test_an_edit_that_would_not_shrink_its_span_is_left_out() -> None:
    same, longer = user("first question"), user("first question, and a good deal more")

    view = made(TALK, Edit(0, 1, (same,), "equal"), Edit(2, 3, (longer,), "longer"))

    assert view.edits == ()
    assert all(a is b for a, b in zip(view.messages, TALK, strict=True))


def test_one_edit_that_shrinks_is_made_though_another_is_left_out() -> None:
    view = made(TALK, Edit(2, 3, (user("second, but longer"),), "longer"), drop(0, 2))

    assert view.messages == TALK[2:]
    assert [edit.reason for edit in view.edits] == ["drop"]


@pytest.mark.parametrize("edit", [drop(1, 2), drop(2, 3), drop(4, 5)])
def test_a_call_and_its_result_cannot_be_parted(edit: Edit) -> None:
    with pytest.raises(IllegalEdit, match="drop: would leave an invalid conversation"):
        made(LOOP, edit)


def test_a_whole_tool_step_may_go() -> None:
    view = made(LOOP, drop(1, 3))

    assert view.messages == (LOOP[0], *LOOP[3:])


def test_anthropics_first_message_must_stay_the_users_and_openais_need_not() -> None:
    with pytest.raises(IllegalEdit, match="did not begin with the user"):
        made(TALK, drop(0, 1))

    view = apply(TALK, [drop(0, 1)], COUNT, parse(conversation(1, dialect="openai")).format.rules)

    assert view.messages == TALK[1:]


def test_thinking_cannot_be_changed() -> None:
    altered = LOOP[1].with_blocks((Thinking("look", bound=True), *LOOP[1].blocks[1:]))

    with pytest.raises(IllegalEdit, match="byte-identical"):
        made(LOOP, Edit(1, 2, (altered,), "rewrite"))


def test_thinking_cannot_go_for_a_part_of_a_tool_loop() -> None:
    with pytest.raises(IllegalEdit, match="whole tool loop"):
        made(LOOP, Edit(1, 2, (without_thinking(LOOP[1]),), "part"))


def test_thinking_may_go_for_a_whole_tool_loop() -> None:
    edits = [Edit(i, i + 1, (without_thinking(LOOP[i]),), "whole") for i in (1, 3)]

    view = made(LOOP, *edits)

    assert not any(message.has_thinking for message in view.messages)
    assert view.origins == tuple(range(6))


def test_each_tool_loop_may_keep_or_lose_its_thinking_by_itself() -> None:
    other = read(
        {"role": "user", "content": "and again"},
        *tool_step([Run("c", "Read", {}, "x")], "anthropic", thought="Hm."),
    )
    edits = [Edit(i, i + 1, (without_thinking(LOOP[i]),), "whole") for i in (1, 3)]

    view = made((*LOOP, *other), *edits)

    assert [message.has_thinking for message in view.messages].count(True) == 1


def test_of_two_equal_messages_the_view_knows_which_one_is_left() -> None:
    messages = (user("go on"), assistant("ok"), user("go on"), assistant("ok"), user("stop"))

    view = made(messages, drop(0, 2))

    assert view.messages == messages[2:]
    assert view.origins == (2, 3, 4)
    assert view.messages[0] is messages[2]


def test_a_message_for_several_stands_for_none_of_them_unless_the_edit_says_so() -> None:
    note = user("first, in short")
    long = (user("first " * 50), assistant("answer " * 50), user("now"))

    plain = made(long, Edit(0, 2, (note,), "note"))
    named = made(long, Edit(0, 2, (note,), "note", origins=(0,)))

    assert plain.origins == (None, 2)
    assert named.origins == (0, 2)


def test_an_edited_message_keeps_what_it_was_read_from_as_its_pattern() -> None:
    came = {"role": "user", "content": "long " * 50, "name": "ann"}
    (message,) = read(came)

    edited = message.with_blocks((Text("short"),))

    assert edited != message
    assert edited.source is came
    assert parse([came]).render([edited]) == [{"role": "user", "content": "short", "name": "ann"}]
