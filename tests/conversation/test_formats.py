"""Dicts in, dicts out, in both dialects; what nobody edited goes through as the same object."""

from dataclasses import replace
from typing import Any

import pytest
from generated import Messages, conversations
from hypothesis import given

from context_compression import compress
from context_compression.conversation import (
    Document,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    assistant,
    parse,
    system,
    user,
)
from context_compression.conversation.formats import anthropic, openai_chat
from context_compression.errors import InvalidConversation
from context_compression.testing import PIXEL, Dialect, Run, tool_step

CACHED = {"cache_control": {"type": "ephemeral"}}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": PIXEL}}
BASH = {"id": "c1", "type": "function", "function": {"name": "Bash", "arguments": '{"a":  1}'}}
CUSTOM = {"id": "c2", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}


def nested(levels: int) -> Any:
    value: Any = {"type": "hologram"}
    for _ in range(levels):
        value = {"inside": value}
    return value


def name_of(*messages: Any) -> str:
    return parse(messages).format.name


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": "a", "name": "Bash", "input": {}},
        {"type": "tool_result", "tool_use_id": "a", "content": "x"},
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "s"},
        PICTURE,
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
    ],
)
def test_anthropic_is_known_by_its_blocks(block: dict[str, Any]) -> None:
    first = {"role": "user", "content": "hi"}

    assert name_of(first, {"role": "user", "content": [block]}) == "anthropic"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "developer", "content": "be brief"},
        {"role": "tool", "tool_call_id": "a", "content": "x"},
        {"role": "function", "name": "f", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [BASH]},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}},
        {"role": "assistant", "content": None, "refusal": "no"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a/b"}}]},
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": ""}}]},
        {"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        {"role": "system", "content": "be brief"},
    ],
)
def test_openai_is_known_by_its_roles_keys_and_parts(message: dict[str, Any]) -> None:
    assert name_of({"role": "user", "content": "hi"}, message) == "openai"


def test_plain_texts_are_read_as_anthropics() -> None:
    texts = [{"type": "text", "text": "hi", **CACHED}]

    assert name_of() == "anthropic"
    assert name_of({"role": "user", "content": "hi"}) == "anthropic"
    assert name_of({"role": "user", "content": texts}) == "anthropic"


def test_the_options_of_a_message_show_that_it_is_the_ai_sdks() -> None:
    options = {"langchain": {"name": "alice"}}
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]

    for content in ("a", parts):
        message = {"role": "user", "content": content, "providerOptions": options}
        assert parse([message]).format.name == "ai-sdk"


def test_a_system_message_before_anthropics_blocks_does_not_make_them_openais() -> None:
    call = {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}}
    messages: tuple[dict[str, Any], ...] = (
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [call]},
    )

    assert name_of(*messages) == "anthropic"
    assert parse(messages).messages[2].calls == (ToolCall("a", "Bash", {"command": "ls"}),)


def test_cache_marks_in_a_system_message_do_not_make_openais_calls_anthropics() -> None:
    messages = (
        {"role": "system", "content": [{"type": "text", "text": "be brief", **CACHED}]},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [BASH]},
    )

    assert name_of(*messages) == "openai"


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ("hello", "A conversation is a list of messages, not str"),
        ({"role": "user"}, "A conversation is a list of messages, not dict"),
        (None, "A conversation is a list of messages, not NoneType"),
        (["hello"], "Message 0 is str, not an object"),
        ([{"content": "hello"}], "Message 0 has role None; allowed: assistant, developer"),
        ([{"role": "human", "content": "hello"}], "Message 0 has role 'human'; allowed"),
        ([{"role": "user", "content": "a"}, {"role": "user", "content": 7}], "message 1 is int"),
        ([{"role": "user", "content": {"text": "hello"}}], "message 0 is dict; it must be"),
        ([{"role": ["user"], "content": "hello"}], r"Message 0 has role \['user'\]; allowed"),
        ([{"role": "user", "content": [b"hello"]}], "Message 0 holds a bytes, .* as JSON has them"),
        ([{"role": "user", "content": [Text("hello")]}], "Message 0 holds a Text, .*model_dump"),
        ([{"role": "user", "content": [{"x": {1: 2}}]}], "holds a key that is not a string"),
        ([{"role": "user", "content": [{"x": float("nan")}]}], "a number that JSON cannot hold"),
        ([{"role": "user", "content": [{"x": 10**5000}]}], "a number that JSON cannot hold"),
        ([{"role": "user", "content": [nested(200)]}], "nested deeper than 200 levels"),
    ],
)
def test_what_is_no_conversation_is_refused_with_what_is_allowed(
    messages: Any, complaint: str
) -> None:
    with pytest.raises(InvalidConversation, match=complaint):
        compress(messages)


SHAPES: list[tuple[dict[str, Any], Any]] = [
    ({"type": "text", "text": "hi"}, Text("hi")),
    (
        {"type": "tool_use", "id": "a", "name": "Bash", "input": {"x": 1}},
        ToolCall("a", "Bash", {"x": 1}),
    ),
    ({"type": "tool_result", "tool_use_id": "a"}, ToolResult("a", ())),
    ({"type": "tool_result", "tool_use_id": "a", "content": "x"}, ToolResult("a", (Text("x"),))),
    (
        {"type": "tool_result", "tool_use_id": "a", "is_error": True, "content": [PICTURE]},
        ToolResult("a", (Image(PICTURE),), is_error=True),
    ),
    ({"type": "thinking", "thinking": "hm", "signature": "s"}, Thinking("hm", bound=True)),
    ({"type": "redacted_thinking", "data": "s"}, Thinking("", redacted=True, bound=True)),
    (PICTURE, Image(PICTURE)),
]
UNKNOWN: list[dict[str, Any]] = [
    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
    {"type": "hologram", "waves": [1, 2]},
    {"type": "tool_use", "name": "no id"},
    {"type": "text", "text": 7},
    {},
]


@pytest.mark.parametrize(("block", "value"), SHAPES)
def test_each_anthropic_block_has_its_value_and_is_written_as_it_came(
    block: dict[str, Any], value: Any
) -> None:
    for came in (block, {**block, **CACHED, "later": "key"}):
        message = anthropic.FORMAT.read({"role": "user", "content": [came]})
        edited = message.with_blocks(message.blocks)

        assert message.blocks == (value,) or isinstance(value, Image)
        assert type(message.blocks[0]) is type(value)
        assert anthropic.FORMAT.write(edited) == {"role": "user", "content": [came]}


@pytest.mark.parametrize("block", UNKNOWN)
def test_an_unknown_block_is_opaque_and_written_back_unchanged(block: dict[str, Any]) -> None:
    message = anthropic.FORMAT.read({"role": "user", "content": [block, "words"]})

    assert isinstance(message.blocks[0], Opaque)
    assert message.blocks[0].source is block
    assert message.blocks[1:] == (Text("words"),)
    assert anthropic.FORMAT.write(message.with_blocks(message.blocks))["content"][0] is block


def test_a_document_shows_its_text_only_where_it_is_text() -> None:
    plain = {"type": "document", "source": {"type": "text", "data": "chapter one"}}
    pdf = {"type": "document", "source": {"type": "base64", "data": "JVBERi0="}}

    blocks = anthropic.FORMAT.read({"role": "user", "content": [plain, pdf]}).blocks

    assert blocks == (Document("chapter one", plain), Document("", pdf))


MESSAGES: list[tuple[dict[str, Any], Any]] = [
    ({"role": "user", "content": "hi"}, (Text("hi"),)),
    ({"role": "developer", "content": "be brief", "name": "ops"}, (Text("be brief"),)),
    ({"role": "tool", "tool_call_id": "a", "content": "x"}, (ToolResult("a", (Text("x"),)),)),
    (
        {"role": "assistant", "content": "so", "tool_calls": [BASH, CUSTOM], "later": 1},
        (Text("so"), ToolCall("c1", "Bash", {"a": 1}), ToolCall("c2", "patch", "*** Begin")),
    ),
    ({"role": "assistant", "content": None, "tool_calls": [BASH]}, None),
    ({"role": "assistant", "content": "no", "refusal": "I can't."}, None),
    ({"role": "assistant", "content": "x", "function_call": {"name": "f"}}, None),
    ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}, None),
    ({"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}, None),
    ({"role": "user", "content": [{"type": "text", "text": "a", **CACHED}]}, (Text("a"),)),
    ({"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "a"}]}, None),
    ({"role": "assistant", "content": "x", "tool_calls": [{"type": "oddity"}]}, None),
]


@pytest.mark.parametrize(("came", "blocks"), MESSAGES)
def test_each_openai_message_has_its_value_and_is_written_as_it_came(
    came: dict[str, Any], blocks: Any
) -> None:
    message = openai_chat.FORMAT.read(came)

    assert blocks in (None, message.blocks)
    assert openai_chat.FORMAT.write(message.with_blocks(message.blocks)) == came


def test_a_function_message_of_the_legacy_kind_answers_the_call_before_it() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}}
    came = {"role": "function", "name": "f", "content": "x"}

    read = parse([call, came])

    calling, answer = read.messages
    assert [result.call_id for result in answer.results] == [calling.calls[0].id]
    assert answer.results[0].text == "x"
    assert read.format.write(answer.with_blocks((answer.results[0].with_text("y"),))) == {
        **came, "content": "y",
    }  # fmt: skip


@pytest.mark.parametrize("arguments", ["not json", '"a string"', "[1, 2]", ""])
def test_openai_arguments_that_are_no_json_object_stay_a_string(arguments: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}

    message = openai_chat.FORMAT.read({"role": "assistant", "content": None, "tool_calls": [call]})

    assert message.calls[0].arguments == arguments
    assert message.calls[0].arguments_text == arguments


@given(conversations())
def test_a_message_rewritten_from_its_own_blocks_is_the_same_message(messages: Messages) -> None:
    parsed = parse(messages)

    written = [parsed.format.write(m.with_blocks(m.blocks)) for m in parsed.messages]

    assert written == messages


@given(conversations())
def test_messages_nobody_edited_go_out_as_the_objects_that_came_in(messages: Messages) -> None:
    parsed = parse(messages)

    rendered = parsed.render(parsed.messages)

    assert all(a is b for a, b in zip(rendered, messages, strict=True))


def test_an_edited_anthropic_result_keeps_its_other_keys_and_parts() -> None:
    texts = [{"type": "text", "text": "long"}, PICTURE]
    result = {"type": "tool_result", "tool_use_id": "a", "is_error": True, **CACHED}
    came = {"role": "user", "content": [{**result, "content": texts}], "id": "msg_7"}
    message = anthropic.FORMAT.read(came)

    shorter = message.with_blocks((message.results[0].with_text("short"),))

    assert anthropic.FORMAT.write(shorter) == {
        "role": "user",
        "content": [{**result, "content": [{"type": "text", "text": "short"}, PICTURE]}],
        "id": "msg_7",
    }
    assert texts == [{"type": "text", "text": "long"}, PICTURE]


def test_an_edited_result_that_was_a_string_stays_a_string() -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "content": "long"}
    message = anthropic.FORMAT.read({"role": "user", "content": [result]})

    written = anthropic.FORMAT.write(message.with_blocks((message.results[0].with_text("s"),)))

    assert written == {"role": "user", "content": [{**result, "content": "s"}]}


def test_an_edited_openai_result_keeps_its_other_keys() -> None:
    came = {"role": "tool", "tool_call_id": "a", "content": "long", "name": "Bash"}
    message = openai_chat.FORMAT.read(came)

    written = openai_chat.FORMAT.write(message.with_blocks((message.results[0].with_text("s"),)))

    assert written == {**came, "content": "s"}


@pytest.mark.parametrize("call", [BASH, CUSTOM])
def test_an_edited_openai_call_keeps_its_shape(call: dict[str, Any]) -> None:
    message = openai_chat.FORMAT.read({"role": "assistant", "content": None, "tool_calls": [call]})
    old = message.calls[0]
    new = replace(old, arguments={"a": 2} if call is BASH else "*** End", written="")

    (written,) = openai_chat.FORMAT.write(message.with_blocks((new,)))["tool_calls"]

    if call is BASH:
        assert written == {**BASH, "function": {"name": "Bash", "arguments": '{"a":2}'}}
    else:
        assert written == {**CUSTOM, "custom": {"name": "patch", "input": "*** End"}}


def test_an_edited_anthropic_call_keeps_its_other_keys() -> None:
    call = {"type": "tool_use", "id": "a", "name": "Bash", "input": {"x": 1}, **CACHED}
    message = anthropic.FORMAT.read({"role": "assistant", "content": [call]})

    written = anthropic.FORMAT.write(
        message.with_blocks((replace(message.calls[0], arguments={"x": 2}),))
    )

    assert written["content"] == [{**call, "input": {"x": 2}}]


def test_tools_tell_the_dialect_before_a_picture_that_stands_first() -> None:
    of_openai = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    of_anthropic = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}

    cases: list[tuple[Any, Dialect]] = [(of_openai, "anthropic"), (of_anthropic, "openai")]

    for picture, dialect in cases:
        step = tool_step([Run("a", "Read", {"path": "a.py"}, "fine")], dialect)
        found = parse([{"role": "user", "content": [picture]}, *step])

        assert found.format.name == dialect
        assert [call.id for message in found.messages for call in message.calls] == ["a"]
        assert found.render(found.messages)[0]["content"] == [picture]


def test_new_messages_are_written_plainly_in_both_dialects() -> None:
    for dialect in (anthropic, openai_chat):
        for message in (user("hi"), assistant("hello"), system("be brief")):
            written = dialect.FORMAT.write(message)

            assert written == {"role": message.role, "content": message.text}


def test_a_new_step_is_written_in_the_shape_of_each_dialect() -> None:
    call = ToolCall("a", "Bash", {"command": "ls"})
    result = ToolResult("a", (Text("main.py"),), is_error=True)

    assert anthropic.FORMAT.write(Message("assistant", (call,)))["content"] == [
        {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}}
    ]
    assert anthropic.FORMAT.write(Message("user", (result,)))["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "main.py", "is_error": True}
    ]
    assert openai_chat.FORMAT.write(Message("assistant", (call,))) == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "a",
                "type": "function",
                "function": {"name": "Bash", "arguments": '{"command":"ls"}'},
            }
        ],
    }
    assert openai_chat.FORMAT.write(Message("tool", (result,))) == {
        "role": "tool",
        "tool_call_id": "a",
        "content": "main.py",
    }


def test_a_user_message_with_only_results_is_not_the_users() -> None:
    results = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    words = {"type": "text", "text": "and now?"}

    only, mixed, own = (
        anthropic.FORMAT.read({"role": "user", "content": content})
        for content in ([results], [results, words], [words])
    )

    assert (only.is_user, mixed.is_user, own.is_user) == (False, True, True)
    assert (only.starts_turn, mixed.starts_turn, own.starts_turn) == (False, False, True)


@pytest.mark.parametrize("strange", ["[" * 100_000, '{"a":' * 900 + "1" + "}" * 900, '{"a": NaN}'])
def test_arguments_that_nobody_could_read_stay_a_text(strange: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "Bash", "arguments": strange}}
    messages: Messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]

    read = parse(messages).messages

    assert read[1].calls[0].arguments == strange
    assert compress(messages, strategy="extract", force=True).messages == messages


@pytest.mark.parametrize("strange", [7, {"text": "x"}, True])
def test_a_result_of_a_shape_nobody_documented_is_carried_as_it_is(strange: Any) -> None:
    block = {"type": "tool_result", "tool_use_id": "a", "content": strange}

    (read,) = parse([{"role": "user", "content": [block]}]).messages

    assert read.results[0].content == (Opaque(strange),)


@pytest.mark.parametrize("kind", [None, 5, [], {}])
def test_a_block_whose_type_is_no_name_is_carried_as_it_is(kind: Any) -> None:
    block = {"type": kind, "text": "hello"}

    (read,) = parse([{"role": "user", "content": [block]}]).messages

    assert read.blocks == (Opaque(block),)
