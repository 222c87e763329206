"""What providers refuse: never a generated conversation; and what a view must not do to its input.

The rules that look at one conversation alone are in `test_provider_rules.py`.
"""

from typing import Any

import pytest
from generated import DIALECTS, EVERY_DIALECT, Messages, broken, conversations
from hypothesis import given
from hypothesis import strategies as st
from provider import (
    alternates,
    misplaced_system,
    refused,
    separated,
    signatures,
    unbound,
    undeclared,
)

from context_compression.testing import (
    Dialect,
    Run,
    conversation,
    said_by_model,
    said_by_user,
    tool_step,
)

LS = Run("a", "ls", {"path": "."}, "main.py")
CAT = Run("b", "cat", {"path": "main.py"}, "print(1)")
ENDINGS: Any = ["closed", "unseen", "partial", "open"]

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
thoughtful = pytest.mark.parametrize("dialect", ["anthropic", "bedrock", "vercel"])
redacted = pytest.mark.parametrize("redacted", [False, True], ids=["signed", "redacted"])


@pytest.mark.slow
@every_dialect
@given(data=st.data())
def test_generated_conversations_are_never_refused(dialect: Dialect, data: st.DataObject) -> None:
    messages = data.draw(conversations(st.just(dialect), spread=True))

    assert refused(messages, dialect) == []


@given(messages=conversations(EVERY_DIALECT, spread=True))
def test_what_was_not_touched_is_bound_declared_and_together(messages: Messages) -> None:
    assert unbound(messages, messages) == []
    assert undeclared(messages, messages) == []
    assert separated(messages, messages) == []
    assert signatures(messages, messages) == []


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
@every_dialect
def test_conversations_of_the_fakes_are_never_refused(dialect: Dialect, ending: Any) -> None:
    for seed in range(30):
        messages = conversation(5, seed, dialect, ending=ending)

        assert refused(messages, dialect) == []


@pytest.mark.slow
@every_dialect
@given(data=st.data())
def test_whatever_is_damaged_can_still_be_judged(dialect: Dialect, data: st.DataObject) -> None:
    messages = data.draw(broken(st.just(dialect), spread=True, halves=True))

    faults = refused(messages, dialect)

    assert all(isinstance(fault, str) for fault in faults)
    unbound(messages, messages)


@every_dialect
def test_what_is_dropped_or_repeated_is_seen(dialect: Dialect) -> None:
    messages = asked(dialect) + tool_step([LS], dialect) + said_by_model("One file.", dialect)

    for number in range(1, len(messages) - 1):
        assert refused(messages[:number] + messages[number + 1 :], dialect) != []
        assert refused(messages[: number + 1] + messages[number:], dialect) != []


def asked(dialect: Dialect) -> Messages:
    return [said_by_user("Have a look.", dialect)]


def worked(dialect: Dialect, redacted: bool = False) -> Messages:
    """A loop of two steps and an answer, with a thought in each; then a second question."""
    return [
        *asked(dialect),
        *tool_step([LS], dialect, thought="Look first.", redacted=redacted),
        *tool_step([CAT], dialect, thought="Then read.", redacted=redacted),
        *said_by_model("One file.", dialect, thought="Easy.", redacted=redacted, id="end"),
        said_by_user("Go on.", dialect),
    ]


def thoughtless(message: dict[str, Any]) -> dict[str, Any]:
    """The message without what stands first in it, which is its thinking."""
    return message | {"content": message["content"][1:]}


@redacted
@thoughtful
def test_thinking_behind_a_changed_message_is_unbound(dialect: Dialect, redacted: bool) -> None:
    given_messages = worked(dialect, redacted)
    changed = [said_by_user("Have another look.", dialect), *given_messages[1:]]

    assert unbound(given_messages, changed) == [
        f"message {number}: its thinking stands behind a change" for number in (1, 3, 5)
    ]


@redacted
@thoughtful
def test_thinking_before_a_change_stays_bound(dialect: Dialect, redacted: bool) -> None:
    given_messages = worked(dialect, redacted)

    assert unbound(given_messages, given_messages[:-1] + asked(dialect)) == []


@thoughtful
def test_a_step_that_left_unbinds_what_follows(dialect: Dialect) -> None:
    given_messages = worked(dialect)

    left = given_messages[:1] + given_messages[3:]

    assert unbound(given_messages, left) == [
        f"message {number}: its thinking stands behind a change" for number in (1, 3)
    ]


@thoughtful
def test_a_changed_thought_is_not_what_it_was(dialect: Dialect) -> None:
    given_messages, others = worked(dialect), worked(dialect, redacted=True)

    view = [*given_messages[:5], others[5], *given_messages[6:]]

    assert unbound(given_messages, view) == ["message 5: its thinking is not what it was"]


@thoughtful
def test_what_changed_behind_a_thought_in_its_own_message_does_not_unbind_it(
    dialect: Dialect,
) -> None:
    given_messages = worked(dialect)
    last = given_messages[5]
    shorter = last | {"content": [last["content"][0], tool_text(dialect, "One.")]}

    view = [*given_messages[:5], shorter]

    assert unbound(given_messages, view) == []


def tool_text(dialect: Dialect, text: str) -> dict[str, Any]:
    return {"text": text} if dialect == "bedrock" else {"type": "text", "text": text}


@thoughtful
def test_a_loop_shows_all_of_its_thinking_or_none(dialect: Dialect) -> None:
    given_messages = worked(dialect)
    bare = [thoughtless(m) if m["role"] == "assistant" else m for m in given_messages]

    partly = [*given_messages[:3], *bare[3:]]

    assert unbound(given_messages, bare) == []
    assert unbound(given_messages, partly) == ["the loop with b shows a part of its thinking"]


def test_thinking_that_nobody_signed_is_bound_to_nothing() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": ""}
    messages = [*asked("anthropic"), {"role": "assistant", "content": [thought]}]

    assert unbound(messages, messages[1:]) == []


def test_blocks_of_one_answer_may_stand_in_several_messages() -> None:
    messages = worked("anthropic")
    spread = [
        message | {"content": [block]} if message["role"] == "assistant" else message
        for message in messages
        for block in (message["content"] if message["role"] == "assistant" else [None])
    ]

    assert refused(spread, "anthropic") == []
    assert unbound(messages, spread) == unbound(spread, messages) == []


def test_a_call_of_a_tool_that_was_searched_for_needs_the_reference() -> None:
    found = {"type": "tool_reference", "tool_name": "calendar"}
    search, answer = tool_step([Run("s", "ToolSearch", {}, "")], "anthropic")
    answer["content"][0]["content"] = [found]
    call = tool_step([Run("c", "calendar", {}, "Monday"), LS], "anthropic")
    messages = [*asked("anthropic"), search, answer, *call]

    assert undeclared(messages, messages) == []
    assert undeclared([*asked("anthropic"), *call], messages) == ["nothing declares calendar"]
    assert undeclared(asked("anthropic"), messages) == []


def test_a_reference_that_anthropic_found_declares_too() -> None:
    found = {"type": "tool_reference", "tool_name": "calendar"}
    result = {"type": "tool_search_tool_search_result", "tool_references": [found]}
    search = {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": result}
    call = tool_step([Run("c", "calendar", {}, "Monday")], "anthropic")
    messages = [*asked("anthropic"), {"role": "assistant", "content": [search]}, *call]

    assert undeclared(messages, messages) == []
    assert undeclared(call, messages) == ["nothing declares calendar"]


def test_an_item_needs_the_reasoning_it_came_of_as_long_as_it_bears_its_id() -> None:
    items = worked("responses")
    question, reasoning, call, output = items[:4]

    assert separated(items, items) == []
    assert separated(items, [question, call, output]) == ["fc_a without its reasoning rs_a"]
    assert separated(items, [question, reasoning, output, call]) != []
    nameless = {key: call[key] for key in call if key != "id"}
    assert separated(items, [question, nameless, output]) == []


@pytest.mark.parametrize(
    ("kind", "may_follow"),
    [
        ("item_reference", True),  # an item that only OpenAI has
        ("hologram", True),  # a type that is not known here
        ("compaction", False),
        ("mcp_approval_response", False),
    ],
)
def test_reasoning_leads_to_an_item_that_may_be_of_the_model(kind: str, may_follow: bool) -> None:
    question, reasoning, *_ = worked("responses")
    faults = refused([question, reasoning, {"type": kind, "id": "x_1"}], "responses")

    assert ("reasoning rs_a without its following item" not in faults) == may_follow


def test_calls_of_the_current_turn_bear_their_signatures() -> None:
    contents = worked("gemini")
    turn = contents[:5]
    bare = [content | {"parts": list(map(unsigned, content["parts"]))} for content in turn]

    assert signatures(contents, turn) == []
    assert signatures(turn, [*turn[:3], *bare[3:]]) == [
        "content 3: its calls do not bear their signatures"
    ]
    assert signatures(bare, bare) == []
    assert signatures(contents, [*bare, *contents[5:]]) == []  # not the current turn any more


def unsigned(part: dict[str, Any]) -> dict[str, Any]:
    return {key: part[key] for key in part if key != "thoughtSignature"}


def test_strict_templates_want_user_and_assistant_in_turns() -> None:
    rules = {"role": "system", "content": "Be brief."}
    turns = asked("openai") + tool_step([LS], "openai") + said_by_model("One file.", "openai")

    assert alternates([rules, *turns, *turns]) == []
    assert alternates(asked("openai") * 2) == [
        "message 1 of role user where assistant takes a turn"
    ]
    assert alternates([*turns, rules]) == ["message 4 of role system where user takes a turn"]
    assert alternates(turns[-1:]) == ["message 0 of role assistant where user takes a turn"]


def test_a_system_message_stands_behind_the_users_and_before_the_assistants() -> None:
    rules = {"role": "system", "content": "Be brief."}
    ask, tell = asked("anthropic")[0], said_by_model("One file.", "anthropic")[0]
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search"}

    assert misplaced_system([ask, rules, tell]) == misplaced_system([ask, rules]) == []
    assert misplaced_system([ask, {"role": "assistant", "content": [search]}, rules]) == []
    assert misplaced_system([rules, ask]) == [
        "system message 0 does not follow the user's",
        "system message 0 does not precede the assistant's",
    ]
    assert misplaced_system([ask, tell, rules]) == ["system message 2 does not follow the user's"]
