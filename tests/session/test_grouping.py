"""The same blocks with other borders between messages are the same history."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from generated import Messages
from hypothesis import given, settings
from hypothesis import strategies as st
from provider import blocks
from talks import talks

from context_compression import Session
from context_compression.conversation import is_array, without_marks
from context_compression.session.following import shared_messages
from context_compression.testing import Run, tool_step

ASK = {"role": "user", "content": "Fix the build. Never touch src/vendor."}


def apart(messages: Messages) -> Messages:
    """The messages with each block of the user's in a message of its own."""
    made: Messages = []
    for message in messages:
        content: Any = message.get("content")
        if message.get("role") == "user" and is_array(content):
            made += ({**message, "content": [block]} for block in content)
        else:
            made.append(message)
    return made


def flat(messages: Messages) -> list[Any]:
    return [(message.get("role"), block) for message in messages for block in blocks(message)]


def log(number: int) -> str:
    return "\n".join(f"src/part_{n}.c: warning: unused v{number}_{n}" for n in range(40))


def step(number: int) -> Messages:
    runs = [Run(f"{name}{number}", "logs", {"n": number}, log(number)) for name in ("a", "b")]
    return tool_step(runs, "anthropic")


def growing(steps: int) -> Iterator[Messages]:
    """The history of each request, in which the newest results stand apart."""
    history: Messages = [ASK]
    for number in range(steps):
        yield [*history, *apart(step(number))]
        history += step(number)


def test_results_that_are_joined_later_change_nothing_of_what_was_sent(tmp_path: Path) -> None:
    session, breaks, last = Session(tmp_path, "s", settings={"token_budget": 12_000}), 0, []
    for history in growing(30):
        view = flat(session.fit(history))
        breaks += view[: len(last)] != last
        last = view

    assert breaks == len(session.state().compressions) > 0


@pytest.mark.parametrize("between", ["\n", "\n\n", " "])
def test_texts_that_are_joined_later_are_the_same_history(tmp_path: Path, between: str) -> None:
    session = Session(tmp_path, "s")
    session.fit([ASK, {"role": "user", "content": "And be quick."}])
    joined = {"role": "user", "content": f"{ASK['content']}{between}And be quick."}
    answer = {"role": "assistant", "content": "Done."}

    view = session.fit([joined, answer])

    assert view == [ASK, {"role": "user", "content": "And be quick."}, answer]
    assert view[-1] is answer
    assert not any(event["type"] == "rewind" for event in session.log.events().items)


def test_a_text_that_became_longer_is_another_text(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    session.fit([ASK])
    longer = {"role": "user", "content": f"{ASK['content']}\nAnd be quick."}

    assert session.fit([longer]) == [longer]


def test_what_joined_a_known_message_is_sent_behind_it(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    call, result = step(1)
    first, second = apart([result])
    words = {"type": "text", "text": "Go on."}
    session.fit([ASK, call, first])

    view = session.fit([ASK, call, {**result, "content": [*result["content"], words]}])

    assert view == [ASK, call, first, {**second, "content": [*second["content"], words]}]


def test_a_history_of_an_older_request_in_another_grouping_comes_from_memory(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("no folder")
    session = Session(tmp_path / "file", "s", settings={"token_budget": 12_000})
    last: list[Any] = []
    breaks = 0
    for history in growing(20):
        view = flat(session.fit(history))
        breaks += view[: len(last)] != last
        last = view

    assert 0 < breaks < 12, "that many compressions; of 19 requests with regrouped results"


def test_a_call_follows_the_record_in_another_grouping(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    [*_, history] = growing(6)
    session.follow(history)
    session.compress(target_tokens=1_500)
    joined = [ASK, *(message for number in range(6) for message in step(number))]

    view = session.view(joined)

    assert flat(view) == flat(session.view())


@settings(max_examples=25)
@given(talk=talks(("anthropic", "bedrock", "vercel")), law=st.data())
def test_any_grouping_of_a_history_is_followed_without_a_rewind(
    talk: tuple[Any, Messages], law: st.DataObject
) -> None:
    messages = without_marks(talk[1])
    other = deepcopy(apart(messages))
    end = law.draw(st.integers(0, len(other)))

    shared = shared_messages(other[:end], messages)

    assert shared.known == end
    assert flat([*other[:end], *shared.new(messages)]) == flat(messages)
