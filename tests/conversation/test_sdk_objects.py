"""Objects of the packages `anthropic` and `openai` are taken wherever dicts are."""

from pathlib import Path
from typing import Any

from anthropic.types import Message, TextBlock, ThinkingBlock, ToolUseBlock
from anthropic.types import Usage as AnthropicUsage
from openai.types.chat import ChatCompletionMessage
from openai.types.chat.chat_completion_message_function_tool_call import (
    ChatCompletionMessageFunctionToolCall,
    Function,
)
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)

from context_compression import Session, compress, count_tokens, should_compress, usage
from context_compression.conversation import parse
from context_compression.conversation.formats.parts import plain

LOG = "\n".join(f"src/part_{n % 7}.c:{n}: warning: unused variable v{n}" for n in range(700))
ASK = {"role": "user", "content": "Fix the build. Never touch src/vendor."}
GO_ON = {"role": "user", "content": "Go on."}


def of_anthropic() -> list[Any]:
    messages: list[Any] = [ASK]
    for n in range(4):
        thought = ThinkingBlock(type="thinking", thinking="A header is missing.", signature="c2ln")
        call = ToolUseBlock(type="tool_use", id=f"toolu_{n}", name="make", input={"n": n})
        messages.append({"role": "assistant", "content": [thought, call]})
        result = {"type": "tool_result", "tool_use_id": call.id, "content": LOG}
        messages.append({"role": "user", "content": [result]})
    text = TextBlock(type="text", text="The header is src/head.h.")
    spent = AnthropicUsage(input_tokens=40_000, output_tokens=9)
    messages.append(
        Message(
            id="msg",
            type="message",
            role="assistant",
            model="claude-x",
            content=[text],
            stop_reason="end_turn",
            stop_sequence=None,
            usage=spent,
        )
    )
    return [*messages, GO_ON]


def of_openai_chat() -> list[Any]:
    messages: list[Any] = [ASK]
    for n in range(4):
        function = Function(name="make", arguments='{"n": 1}')
        call = ChatCompletionMessageFunctionToolCall(id=f"c{n}", type="function", function=function)
        messages.append(ChatCompletionMessage(role="assistant", content=None, tool_calls=[call]))
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": LOG})
    return [*messages, ChatCompletionMessage(role="assistant", content="Done."), GO_ON]


def of_openai_responses() -> list[Any]:
    items: list[Any] = [ASK]
    for n in range(4):
        items.append(
            ResponseReasoningItem(
                id=f"rs_{n}", type="reasoning", summary=[], encrypted_content="Z" * 400
            )
        )
        items.append(
            ResponseFunctionToolCall(
                id=f"fc_{n}", type="function_call", call_id=f"c{n}", name="make", arguments="{}"
            )
        )
        items.append({"type": "function_call_output", "call_id": f"c{n}", "output": LOG})
    text = ResponseOutputText(type="output_text", text="Done.", annotations=[])
    items.append(
        ResponseOutputMessage(
            id="msg", type="message", role="assistant", status="completed", content=[text]
        )
    )
    return [*items, GO_ON]


def test_each_package_is_read_as_its_own_dialect() -> None:
    names = [parse(each()).format.name for each in (of_anthropic, of_openai_chat)]

    assert names == ["anthropic", "openai"]
    assert parse(of_openai_responses()).format.name == "responses"


def test_what_nobody_edited_comes_out_as_the_very_object() -> None:
    for given in (of_anthropic(), of_openai_chat(), of_openai_responses()):
        result = compress(given, target_tokens=15_000)

        assert result.changed
        assert result.target_met
        assert result.messages[-1] is given[-1]
        assert result.messages[-2] is given[-2]
        same = {id(message) for message in given}
        kept = [message for message in result.messages if id(message) in same]
        assert len(kept) == result.messages_kept


def test_what_was_edited_comes_out_as_a_dict_and_what_left_is_among_the_originals() -> None:
    given = of_openai_chat()

    result = compress(given, target_tokens=3_000)

    changed = [message for message in result.messages if not any(message is g for g in given)]
    assert changed
    assert all(isinstance(message, dict) for message in changed)
    assert LOG in result.originals.values()


def test_they_are_counted_as_the_dicts_that_they_say_they_are() -> None:
    for given in (of_anthropic(), of_openai_chat(), of_openai_responses()):
        assert count_tokens(given) == count_tokens(plain(given))
        assert usage(given).used_tokens == usage(plain(given)).used_tokens
        assert not should_compress(given)


def test_usage_stands_on_what_an_answer_says_it_cost() -> None:
    assert usage(of_anthropic()).used_tokens.method.startswith("usage + ")


def test_a_session_records_follows_and_restores_them(tmp_path: Path) -> None:
    for number, given in enumerate((of_anthropic(), of_openai_chat(), of_openai_responses())):
        session = Session(tmp_path, f"s{number}")
        session.record(*given[:3])
        session.follow(given)

        result = session.compress(target_tokens=8_000)

        assert result.target_met
        reopened = Session(tmp_path, f"s{number}")
        assert LOG in [original for _, _, original in reopened.archived()]
        assert reopened.undo() == plain(given)


def test_messages_without_such_objects_are_the_very_list() -> None:
    messages = [ASK, GO_ON]

    assert plain(messages) is messages
