"""Broken conversations go in, valid ones come out, and every repair is reported."""

from typing import Any

import pytest
from generated import Messages, broken, conversations
from hypothesis import example, given
from provider import refused

from context_compression import compress
from context_compression.conversation import NO_START, parse, repair
from context_compression.conversation.validity import NO_RESULT, ORPHAN
from context_compression.testing import Run, conversation, said_by_user, tool_step

LS = Run("a", "Bash", {"command": "ls"}, "main.py")
CAT = Run("b", "Read", {"path": "main.py"}, "print(1)")
HELLO = {"role": "user", "content": "Have a look."}
DONE = {"role": "assistant", "content": "One file."}

anthropic_and_openai = pytest.mark.parametrize("dialect", ["anthropic", "openai"])


def step(dialect: Any, *runs: Run, answered: int | None = None) -> Messages:
    return tool_step(runs, dialect, answered=answered)


def mended(messages: Messages, dialect: str) -> tuple[Messages, tuple[str, ...]]:
    """What `compress` makes of a broken conversation when there is nothing to compress."""
    result = compress(messages)

    assert refused(result.messages, dialect) == []
    assert result.changed == bool(result.repairs)
    return result.messages, result.repairs


@given(conversations())
def test_a_valid_conversation_needs_no_repair_and_keeps_its_objects(messages: Messages) -> None:
    parsed = parse(messages)

    done = repair(parsed.messages, parsed.format.rules)

    assert done.repairs == ()
    assert done.origins == tuple(range(len(messages)))
    assert all(a is b for a, b in zip(done.messages, parsed.messages, strict=True))


EMPTY_RESULT: Messages = [
    {"role": "user", "content": "ok"},
    *tool_step([Run("id0", "Bash", {"command": "ls"}, "")], "openai"),
    {"role": "assistant", "content": "ok"},
]
EMPTY_RESULT[2]["content"] = [{"type": "text", "text": ""}]


@pytest.mark.slow
@example(EMPTY_RESULT)
@given(broken())
def test_after_repair_the_provider_accepts_it_and_a_repair_is_always_reported(
    messages: Messages,
) -> None:
    parsed = parse(messages)

    done = repair(parsed.messages, parsed.format.rules)

    view = parsed.render(done.messages)
    assert refused(view, parsed.format.name) == []
    assert bool(done.repairs) == bool(refused(messages, parsed.format.name))
    if not done.repairs:
        assert all(a is b for a, b in zip(view, messages, strict=True))


@given(broken())
def test_what_is_mended_needs_no_second_mending(messages: Messages) -> None:
    parsed = parse(messages)
    rules = parsed.format.rules
    done = repair(parsed.messages, rules)

    again = repair(parse(parsed.render(done.messages)).messages, rules)

    assert again.repairs == ()


@anthropic_and_openai
def test_a_result_that_nobody_asked_for_becomes_a_text_that_says_so(dialect: Any) -> None:
    orphan = step(dialect, CAT)[1:]

    view, repairs = mended([HELLO, *step(dialect, LS), *orphan, DONE], dialect)

    assert repairs == ("message 3 answers b, which nobody called: made a text",)
    said = parse(view).messages[3]
    assert said.role == "user"
    assert said.text == ORPHAN + "print(1)"


@anthropic_and_openai
def test_a_second_result_for_the_same_call_is_left_out(dialect: Any) -> None:
    call, result = step(dialect, LS)

    view, repairs = mended([HELLO, call, result, dict(result), DONE], dialect)

    assert repairs == ("message 3 answers a again: left out",)
    assert view == [HELLO, call, result, DONE]


@anthropic_and_openai
def test_a_result_that_came_late_is_moved_to_its_call(dialect: Any) -> None:
    call, result = step(dialect, LS)

    view, repairs = mended([HELLO, call, HELLO, result, DONE], dialect)

    assert repairs == ("results in message 3 came late: moved to their calls",)
    assert view == [HELLO, call, result, HELLO, DONE]
    assert all(message in (HELLO, call, result, DONE) for message in view)


def test_results_that_are_paired_by_order_are_put_in_order_and_it_is_told() -> None:
    def of(id: str, kind: str, more: Any) -> Any:
        return {kind: {"id": id, "name": "look", **more}}

    calls = [of(id, "functionCall", {"args": {}}) for id in "ab"]
    results = [of(id, "functionResponse", {"response": {"output": id}}) for id in "ba"]
    contents = [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": results},
        {"role": "model", "parts": [{"text": "Seen."}]},
    ]

    view, repairs = mended(contents, "gemini")

    assert repairs == ("results in message 2 are now in their calls' order",)
    assert view[2]["parts"] == results[::-1]


def test_results_behind_the_users_words_in_one_message_are_put_first() -> None:
    call, result = step("anthropic", LS)
    words = {"type": "text", "text": "and then?"}

    view, repairs = mended(
        [HELLO, call, {"role": "user", "content": [words, *result["content"]]}, DONE], "anthropic"
    )

    assert repairs == ("results in message 2 came late: moved to their calls",)
    assert view[2] == {"role": "user", "content": [*result["content"], words]}


@anthropic_and_openai
def test_a_note_stands_for_a_missing_result(dialect: Any) -> None:
    view, repairs = mended([HELLO, *step(dialect, LS, CAT, answered=1), DONE], dialect)

    assert repairs == ("1 tool call had no result: a note stands for it",)
    results = [result for message in parse(view).messages for result in message.results]
    assert {result.call_id: result.text for result in results} == {"a": "main.py", "b": NO_RESULT}


@anthropic_and_openai
@pytest.mark.parametrize("answered", [0, 1, 2])
def test_a_step_still_open_at_the_end_is_no_damage(dialect: Any, answered: int) -> None:
    messages = [HELLO, *step(dialect, LS, CAT, answered=answered)]

    assert mended(messages, dialect) == (messages, ())


@anthropic_and_openai
def test_once_the_user_has_spoken_an_open_step_is_damage(dialect: Any) -> None:
    _, repairs = mended([HELLO, *step(dialect, LS, answered=0), HELLO], dialect)

    assert repairs == ("1 tool call had no result: a note stands for it",)


@anthropic_and_openai
def test_a_call_id_used_again_is_renamed_together_with_its_result(dialect: Any) -> None:
    again = Run("a", "Bash", {"command": "ls -a"}, ".git main.py")

    view, repairs = mended([HELLO, *step(dialect, LS), DONE, *step(dialect, again), DONE], dialect)

    assert repairs == ("call ids used before were renamed: a to a-2",)
    results = [result for message in parse(view).messages for result in message.results]
    assert {r.call_id: r.text for r in results} == {"a": "main.py", "a-2": ".git main.py"}


@anthropic_and_openai
def test_an_id_used_twice_in_one_message_is_answered_in_order(dialect: Any) -> None:
    twin = Run("a", "Read", {"path": "main.py"}, "print(1)")

    view, repairs = mended([HELLO, *step(dialect, LS, twin), DONE], dialect)

    assert repairs == ("call ids used before were renamed: a to a-2",)
    results = [result for message in parse(view).messages for result in message.results]
    assert {r.call_id: r.text for r in results} == {"a": "main.py", "a-2": "print(1)"}


@anthropic_and_openai
@pytest.mark.parametrize("content", ["", [], None, [{"type": "text", "text": ""}]])
def test_a_message_without_content_is_left_out(dialect: Any, content: Any) -> None:
    messages = [HELLO, *step(dialect, LS), {"role": "assistant", "content": content}, HELLO]

    view, repairs = mended(messages, dialect)

    assert repairs == ("message 3 was empty: left out",)
    assert view == [*messages[:3], HELLO]


@anthropic_and_openai
def test_an_empty_text_among_others_is_left_out(dialect: Any) -> None:
    texts = [{"type": "text", "text": ""}, {"type": "text", "text": "hello"}]

    view, repairs = mended(
        [*step(dialect, LS)[:0], {"role": "user", "content": texts}], "anthropic"
    )

    assert repairs == ("message 0 held an empty text: left out",)
    assert view == [{"role": "user", "content": texts[1:]}]


def test_anthropics_first_message_is_made_the_users() -> None:
    view, repairs = mended([DONE, *step("anthropic", LS)], "anthropic")

    assert repairs == ("the conversation did not begin with the user: a note was put first",)
    assert view == [{"role": "user", "content": NO_START}, DONE, *step("anthropic", LS)]


def test_openai_may_begin_with_the_assistant() -> None:
    messages = [DONE, *step("openai", LS)]

    assert mended(messages, "openai") == (messages, ())


@anthropic_and_openai
def test_an_unknown_block_is_no_damage(dialect: Any) -> None:
    unknown = {"role": "user", "content": [{"type": "hologram", "waves": [1, 2]}]}
    messages = [HELLO, *step(dialect, LS), unknown, DONE]

    assert mended(messages, dialect) == (messages, ())


def test_behind_an_unknown_block_no_result_is_waited_for() -> None:
    call, result = step("anthropic", LS, CAT)
    [first, _] = result["content"]
    messages = [HELLO, call, {**result, "content": [first, {"type": "hologram"}]}]

    view, repairs = mended(messages, "anthropic")

    assert repairs == ("1 tool call had no result: a note stands for it",)
    assert NO_RESULT in str(view)


def test_consecutive_messages_of_the_user_are_no_damage() -> None:
    messages = [HELLO, HELLO, DONE, HELLO]

    assert mended(messages, "anthropic") == (messages, ())


def test_a_call_in_the_users_message_becomes_a_text() -> None:
    call, result = step("anthropic", LS)

    view, repairs = mended(
        [HELLO, {**call, "role": "user"}, DONE, *step("anthropic", CAT)], "anthropic"
    )

    assert repairs == ("message 1 of role user held a ToolCall: made a text",)
    assert "Bash\nls" in parse(view).messages[1].text
    assert result not in view


def test_a_result_in_the_assistants_message_becomes_a_text() -> None:
    call, result = step("anthropic", LS)

    view, repairs = mended([HELLO, call, result, {**result, "role": "assistant"}], "anthropic")

    assert repairs == ("message 3 of role assistant held a ToolResult: made a text",)
    assert "main.py" in parse(view).messages[3].text


def test_a_text_in_a_tool_message_does_not_pass_for_the_users_last_words() -> None:
    call = {"type": "tool-call", "toolCallId": "a", "toolName": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool-result", "toolCallId": "a", "toolName": "Bash"}
    answered = {**result, "output": {"type": "text", "value": "x.py\n" * 400}}
    messages = [
        {"role": "user", "content": "Count the files below src."},
        {"role": "assistant", "content": [call]},
        {"role": "tool", "content": [answered, {"type": "text", "text": "The shell has closed."}]},
        {"role": "assistant", "content": "There is one."},
    ]

    for strategy in ("window", "truncate", "extract"):
        view = compress(messages, target_tokens=5, strategy=strategy).messages
        assert "Count the files below src." in str(view), strategy


def test_thinking_in_the_users_message_becomes_a_text() -> None:
    call, result = step("anthropic", LS)
    thought = {"type": "thinking", "thinking": "The cache is stale.", "signature": "s"}
    strange = {**result, "content": [*result["content"], thought, *call["content"]]}

    view, repairs = mended([HELLO, call, strange, DONE], "anthropic")

    assert repairs[0] == "message 2 of role user held a Thinking and a ToolCall: made a text"
    assert "The cache is stale." in parse(view).messages[2].text
    assert not parse(view).messages[2].has_thinking


@anthropic_and_openai
def test_what_a_repair_takes_out_can_be_brought_back(dialect: Any) -> None:
    call, result = step(dialect, LS)
    twice = {**result, "note": "the same once more"}

    result_of_mending = compress([HELLO, call, result, twice, DONE])

    assert result_of_mending.compressed == (3,)
    assert result_of_mending.dropped == (3,)
    assert result_of_mending.reasons == {3: "repaired"}
    assert twice in result_of_mending.originals.values()
    assert all(loss.lost == 0 for loss in result_of_mending.loss.values())


@anthropic_and_openai
def test_a_broken_conversation_is_mended_and_compressed_in_one_go(dialect: Any) -> None:
    messages = conversation(8, seed=3, dialect=dialect)
    del messages[next(i for i, m in enumerate(messages) if m["role"] == "user") + 1]

    result = compress(messages, target_tokens=1_500, strategy="window")

    assert refused(messages, dialect)
    assert refused(result.messages, dialect) == []
    assert result.repairs
    assert result.target_met


def test_a_result_that_comes_when_the_model_has_gone_on_is_moved_to_its_call() -> None:
    call, result = step("openai", LS)
    note = {**result, "content": NO_RESULT}

    for before in ([], [note]):
        view, repairs = mended([HELLO, call, *before, HELLO, DONE, result, DONE], "openai")

        assert view == [HELLO, call, result, HELLO, DONE, DONE]
        assert repairs[0].endswith("came late: moved to their calls")


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_an_answer_of_nothing_but_reasoning_is_left_out(key: str) -> None:
    stopped = {"role": "assistant", "content": "", key: "Let me see."}
    messages = [HELLO, *step("openai", LS), stopped, HELLO]

    view, repairs = mended(messages, "openai")

    assert view == [*messages[:3], HELLO]
    assert repairs == ("message 3 held nothing but reasoning: left out",)


@pytest.mark.parametrize("thought", ["Let me see.", [{"type": "text", "text": "Let me see."}]])
def test_an_answer_whose_only_part_is_reasoning_is_left_out(thought: Any) -> None:
    stopped = {"role": "assistant", "content": [{"type": "thinking", "thinking": thought}]}
    messages = [HELLO, *step("openai", LS), stopped, HELLO]

    view, repairs = mended(messages, "openai")

    assert view == [*messages[:3], HELLO]
    assert repairs == ("message 3 held nothing but reasoning: left out",)


def test_reasoning_in_a_message_of_its_own_goes_with_the_call_that_follows() -> None:
    call, result = step("openai", LS)
    stopped = {"role": "assistant", "content": "", "reasoning_content": "Let me see."}

    view, _ = mended([HELLO, stopped, call, result], "openai")

    assert [message["role"] for message in view] == ["user", "assistant", "tool"]
    assert view[1]["reasoning_content"] == "Let me see."
    assert view[1]["tool_calls"] == call["tool_calls"]


def test_what_the_provider_compacted_is_not_what_reasoning_led_to() -> None:
    thought: dict[str, Any] = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "encrypted_content": "c2ln",
    }
    compacted = {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2ln"}

    view, repairs = mended([HELLO, thought, compacted, HELLO], "responses")

    assert view == [HELLO, compacted, HELLO]
    assert repairs == ("message 1 is reasoning without what it led to: left out",)


def test_a_turn_of_claude_does_not_end_with_thinking() -> None:
    thinks = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    spoken = {"role": "assistant", "content": [{"type": "text", "text": "So."}, thinks]}

    view, repairs = mended([HELLO, spoken, HELLO], "anthropic")

    assert view[1]["content"] == [{"type": "text", "text": "So."}]
    assert repairs == ("message 1 ended with reasoning: that is left out",)


ASKS = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "f", "name": "remove",
        "arguments": "{}"}  # fmt: skip
SAYS = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}


@pytest.mark.parametrize("left", [[SAYS], [ASKS]])
def test_half_of_an_approval_is_left_out(left: Messages) -> None:
    hello = {"type": "message", **HELLO}

    view, repairs = mended([hello, *left, hello], "responses")

    assert view == [hello, hello]
    assert repairs[0].startswith("message 1 held half of")


def test_a_text_among_results_comes_after_the_answer_to_an_approval() -> None:
    asks = {"type": "tool-approval-request", "approvalId": "ask", "toolCallId": "a"}
    says = {"type": "tool-approval-response", "approvalId": "ask", "approved": False}
    call = {"type": "tool-call", "toolCallId": "a", "toolName": "Bash", "input": {"command": "ls"}}
    denied = {"type": "tool-result", "toolCallId": "a", "toolName": "Bash",
              "output": {"type": "execution-denied", "reason": "too risky"}}  # fmt: skip
    text = {"type": "text", "text": "Look first."}
    begin = [HELLO, {"role": "assistant", "content": [call, asks]}]
    messages = [
        *begin,
        {"role": "tool", "content": [denied, text]},
        {"role": "tool", "content": [says]},
    ]

    view, repairs = mended(messages, "vercel")

    assert view == [
        *begin,
        {"role": "tool", "content": [denied]},
        {"role": "tool", "content": [says]},
        {"role": "user", "content": [text]},
    ]
    assert repairs == ("tool message 2 held a text: made a message of its own",)


def test_an_approval_that_is_asked_for_at_the_end_is_no_damage() -> None:
    hello = {"type": "message", **HELLO}

    assert mended([hello, ASKS], "responses") == ([hello, ASKS], ())
    assert mended([hello, ASKS, SAYS], "responses") == ([hello, ASKS, SAYS], ())


def test_a_compaction_that_a_tool_message_holds_is_a_text_out_of_place() -> None:
    sealed = {"anthropic": {"type": "compaction"}}
    earlier = {"type": "text", "text": "Earlier: the parser is done.", "providerOptions": sealed}
    messages = [
        said_by_user("Have a look.", "vercel"),
        *tool_step([Run("a", "ls", {"path": "."}, "main.py")], "vercel"),
    ]
    messages[-1]["content"].append(earlier)

    mended = repair(parse(messages).messages, parse(messages).format.rules)

    written = [parse(messages).format.write(message) for message in mended.messages]
    assert refused(written, "vercel") == []
    assert earlier in written[-1]["content"]
