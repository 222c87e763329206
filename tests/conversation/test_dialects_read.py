"""What only one dialect says, or nobody should: it is read, counted, written back, or refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from context_compression import Session, compress, count_tokens
from context_compression.conversation import parse, problems
from context_compression.errors import InvalidConversation
from context_compression.testing import ScriptedSummarizer

Json = dict[str, Any]
LONG = "The reader keeps the old format. " * 200
ASKED: Json = {"role": "user", "content": "hi"}
CALL: Json = {"function": {"name": "f", "arguments": {}}}
TO_BE_APPROVED: list[Json] = [
    ASKED,
    {
        "role": "assistant",
        "content": [
            {"type": "tool-call", "toolCallId": "a", "toolName": "f", "input": {}},
            {"type": "tool-approval-request", "approvalId": "p", "toolCallId": "a"},
        ],
    },
    {
        "role": "tool",
        "content": [{"type": "tool-approval-response", "approvalId": "p", "approved": True}],
    },
]
MODEL: Json = {"role": "model", "content": LONG}
FUNCTION: Json = {"role": "function", "name": "f", "content": LONG}
USED: Json = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}],
}
ANSWERED: Json = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}],
}


def mended(messages: list[Json]) -> tuple[str, ...]:
    """What is repaired in them."""
    read = parse(messages)
    return problems(read.messages, read.format.rules)


def test_the_models_role_is_known_in_every_dialect() -> None:
    messages = [ASKED, USED, ANSWERED, MODEL, ASKED, MODEL, ASKED]

    for strategy in ("auto", "summarize"):
        result = compress(
            messages, target_tokens=600, strategy=strategy, summarizer=ScriptedSummarizer()
        )
        assert result.changed
    assert {m.role for m in parse(messages).messages} <= {"user", "assistant", "tool"}


MIXED: list[tuple[list[Json], str]] = [
    ([ASKED, USED, ANSWERED, {"type": "reasoning", "summary": []}], "Message 3 is an item of"),
    ([ASKED, USED, ANSWERED, {"role": "user", "parts": [{"text": "x"}]}], "Message 3 calls"),
    (
        [ASKED, USED, ANSWERED, FUNCTION],
        "Message 3 calls a tool, answers or speaks as the dialect openai",
    ),
    (
        [ASKED, USED, ANSWERED, {"role": "assistant", "content": None, "tool_calls": [CALL]}],
        "Message 3 calls a tool, answers or speaks as the dialect openai does",
    ),
    (
        [{"role": "user", "parts": [{"text": "x"}]}, {"role": "user", "content": [{"x": 1}]}],
        "Message 1 holds nothing that the dialect gemini knows",
    ),
]


@pytest.mark.parametrize(("messages", "complaint"), MIXED)
def test_what_another_dialect_says_is_not_taken_for_empty(
    messages: list[Json], complaint: str
) -> None:
    with pytest.raises(InvalidConversation, match=complaint):
        compress(messages)


def test_a_spoken_answer_is_no_empty_message() -> None:
    spoken: Json = {"role": "assistant", "content": None, "audio": {"id": "b", "transcript": LONG}}
    messages = [ASKED, spoken, ASKED]

    assert mended(messages) == ()
    assert count_tokens(messages) > count_tokens(LONG)


def test_what_ollama_thinks_is_counted_but_is_no_answer() -> None:
    messages: list[Json] = [ASKED, {"role": "assistant", "content": "", "thinking": LONG}, ASKED]

    assert mended(messages) == ("message 1 held nothing but reasoning: left out",)
    assert count_tokens(messages) > count_tokens(LONG)


def test_bytes_are_refused_with_what_to_write_instead() -> None:
    picture: Json = {"image": {"format": "png", "source": {"bytes": b"png"}}}

    with pytest.raises(InvalidConversation, match=r"a bytes, .* in base64"):
        compress([{"role": "user", "content": [picture]}])


def test_ollamas_pictures_are_counted_and_no_empty_message() -> None:
    shown: Json = {"role": "user", "content": "", "images": ["aaaa", "bbbb"]}
    messages = [shown, {"role": "assistant", "content": "", "tool_calls": [CALL]}]

    assert mended(messages) == ()
    assert count_tokens(messages) > count_tokens([{**shown, "content": "x", "images": []}]) + 1000


def test_pictures_of_ollamas_leave_and_its_content_stays_a_text() -> None:
    shown: Json = {"role": "user", "content": "look", "images": ["aaaa", "bbbb"]}
    spoken: Json = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    done: Json = {"role": "tool", "tool_name": "f", "content": "ok"}
    messages = [shown, spoken, done, MODEL, ASKED, MODEL, {**ASKED, "content": "Go on with it."}]

    result = compress(messages, target_tokens=700)

    assert result.changed
    assert count_tokens(result.messages) == result.tokens_after
    for message in result.messages:
        assert message.get("content") is None or isinstance(message["content"], str)


def test_an_item_nobody_knows_is_recorded_among_items(tmp_path: Path) -> None:
    session = Session(tmp_path, "one")
    new: Json = {"type": "brand_new_call", "id": "n", "action": LONG}
    session.record(ASKED, {"type": "reasoning", "id": "r", "summary": []})

    session.record(new)

    assert session.view()[-1] == new
    with pytest.raises(InvalidConversation, match="Message 0 has role None"):
        Session(tmp_path, "other").record(new)


@pytest.mark.parametrize("parts", [[LONG], LONG, [{"text": LONG}, "x"]])
def test_parts_of_geminis_may_be_texts_alone(parts: Any) -> None:
    messages: list[Json] = [{"role": "user", "parts": parts}, {"role": "model", "parts": ["x"]}]

    assert parse(messages).format.name == "gemini"
    assert count_tokens(messages) > count_tokens(LONG)


def test_a_signature_of_geminis_may_stand_beside_an_empty_text() -> None:
    parts: list[Json] = [{"text": "done"}, {"text": "", "thoughtSignature": "c2ln"}]
    messages: list[Json] = [
        {"role": "user", "parts": [{"text": "x"}]},
        {"role": "model", "parts": parts},
    ]

    assert mended(messages) == ()


def test_a_call_that_is_approved_has_yet_to_run() -> None:
    assert mended(TO_BE_APPROVED) == ()
    assert len(mended([*TO_BE_APPROVED, ASKED])) == 1


OPTIONS: Json = {"google": {"thoughtSignature": "c2ln"}}
SIGNED: list[Json] = [
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "a",
                "type": "function",
                "function": {"name": "f", "arguments": '{"x":1}'},
                "extra_content": {"google": {"thought_signature": "c2ln"}},
            }
        ],
    },
    {
        "role": "assistant",
        "content": [
            {
                "type": "tool-call",
                "toolCallId": "a",
                "toolName": "f",
                "input": {"x": 1},
                "providerOptions": OPTIONS,
            }
        ],
    },
]


@pytest.mark.parametrize("message", SIGNED)
def test_a_call_that_gemini_signed_through_others_goes_back_as_it_is(message: Json) -> None:
    read = parse([ASKED, message])
    [call] = read.messages[1].calls

    assert call.signed
    assert read.render(read.messages)[1] is message
    changed = read.messages[1].with_blocks((replace(call, arguments={"x": 2}, written=""),))
    assert "c2ln" not in json.dumps(read.render([changed]))


def test_results_without_ids_answer_a_turn_that_came_in_pieces() -> None:
    calling: Json = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
    speaking: Json = {"role": "model", "parts": [{"text": "I look."}]}
    response: Json = {"functionResponse": {"name": "f", "response": {"output": "ok"}}}
    gemini = [
        {"role": "user", "parts": [{"text": "hi"}]},
        calling,
        speaking,
        {"role": "user", "parts": [response]},
    ]
    ollama = [
        ASKED,
        {"role": "assistant", "content": "First", "tool_calls": [CALL]},
        {"role": "assistant", "content": "I look."},
        {"role": "tool", "tool_name": "f", "content": "ok"},
    ]

    for messages in (gemini, ollama):
        assert mended(messages) == ("messages 1 to 2 were one turn of the assistant's: joined",)
    assert compress(ollama).messages[1]["content"] == "First\nI look."


def test_a_function_call_nobody_answered_leaves_the_result_to_the_next() -> None:
    function: Json = {"name": "f", "arguments": "{}"}
    call: Json = {"role": "assistant", "content": None, "function_call": function}
    messages = [ASKED, call, call, {"role": "function", "name": "f", "content": "ok"}]

    last, result = parse(messages).messages[-2:]
    assert last.calls[0].id == result.results[0].call_id
