"""Marks for a provider's cache are no part of what is said."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.conversation import said, without_marks
from context_compression.conversation.labels import marked_as, same_but_marks

MARK = {"type": "ephemeral"}
PLAIN: list[Any] = [
    {"role": "user", "content": "hello"},
    {"role": "user", "content": [{"type": "text", "text": "hello"}, {"type": "text", "text": ""}]},
    {"role": "user", "content": []},
    {"role": "user", "content": [{}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
    "no message",
    None,
    7,
]
SAID: list[Any] = [
    {"type": "tool_use", "id": "1", "name": "fetch", "input": {"cache_control": "no-cache"}},
    {"functionResponse": {"name": "fetch", "response": {"cacheControl": "max-age=0"}}},
    {"toolResult": {"toolUseId": "1", "content": [{"json": {"cachePoint": 1}}]}},
    {"type": "tool-call", "toolCallId": "1", "toolName": "f", "args": {"cacheControl": 1}},
]


@pytest.mark.parametrize("message", PLAIN)
def test_a_message_without_marks_is_the_same_object(message: Any):
    assert without_marks(message) is message


@pytest.mark.parametrize("block", SAID)
def test_what_a_model_or_a_tool_said_is_no_mark(block: Any):
    message = {"role": "user", "content": [block]}

    assert without_marks(message) is message


@pytest.mark.parametrize(
    "marked",
    [
        {"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": MARK}]},
        {"role": "user", "content": [{"type": "text", "text": "hello"}], "cache_control": MARK},
        {"role": "user", "content": [{"type": "text", "text": "hello"}, {"cachePoint": MARK}]},
        {
            "role": "user", "content": "hello",
            "providerOptions": {"anthropic": {"cacheControl": MARK}},
        },
    ],
)  # fmt: skip
def test_a_marked_text_is_what_it_says(marked: Any):
    before = deepcopy(marked)

    assert said(marked) == {"role": "user", "content": "hello"}
    assert marked == before


def test_marks_leave_nested_results_and_the_other_options_of_a_provider():
    result: Any = {
        "type": "tool_result",
        "tool_use_id": "1",
        "content": [{"type": "text", "text": "a"}],
    }
    marked: Any = deepcopy(result)
    marked["content"][0]["cache_control"] = MARK
    options = {"anthropic": {"cacheControl": MARK, "effort": "low"}, "openai": {"store": False}}
    message = {"role": "user", "content": [{**marked, "cache_control": MARK}]}

    assert without_marks({**message, "providerOptions": options}) == {
        "role": "user",
        "content": [result],
        "providerOptions": {"anthropic": {"effort": "low"}, "openai": {"store": False}},
    }


def test_a_shortened_message_is_marked_only_while_its_original_is():
    shortened = {"role": "user", "content": [{"type": "text", "text": "h…", "cache_control": MARK}]}
    bare = {"role": "user", "content": [{"type": "text", "text": "h…"}]}

    assert marked_as(shortened, {**shortened, "id": "the original"}) is shortened
    assert marked_as(shortened, {"role": "user", "content": "hello"}) == bare
    assert marked_as(shortened, None) == bare
    assert marked_as(bare, None) is bare


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["a", "content", "cache_control", "cachePoint"]), inner
            )
        ),
    )
)
def test_what_has_no_marks_any_more_stays_as_it_is(value: Any):
    bare = without_marks(value)

    assert without_marks(bare) is bare
    assert "cache_control" not in str(bare)


@given(st.sampled_from([*PLAIN[:5], *SAID]), st.sampled_from(["cache_control", "cacheControl"]))
def test_messages_that_differ_in_marks_alone_are_the_same(message: Any, name: str):
    block = {"type": "text", "text": "hello"}
    plain: Any = {"role": "user", "content": [message, block]}
    marked: Any = {"role": "user", "content": [message, {**block, name: MARK}], name: MARK}

    assert same_but_marks(plain, marked) and same_but_marks(marked, plain)
    assert not same_but_marks(plain, {**marked, "role": "assistant"})
    assert not same_but_marks(plain, {"role": "user", "content": [message]})


@pytest.mark.parametrize("block", SAID)
def test_what_a_model_or_a_tool_said_makes_messages_differ(block: Any):
    other: Any = json.loads(json.dumps(block).replace("cache", "Cache"))

    assert not same_but_marks(block, other) and not same_but_marks(other, block)
