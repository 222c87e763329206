"""Files whose content is no dialect of ours are refused by name; bodies of requests are read."""

import json
from pathlib import Path
from typing import Any

import pytest
from foreign_samples import CHAT, DUMP, FOREIGN, GEMINI, UI

from context_compression import hosts
from context_compression.conversation import refusal
from context_compression.errors import TranscriptError

READ = ("Pass its messages", "Pass its contents", "Pass its input")
"""What a program has to unpack is unpacked where it stands in a file of its own."""
ITEMS: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "call_id": "c1", "name": "sh", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "ok"},
]
"""Of OpenAI Responses."""


def written(folder: Path, *values: Any, indent: int | None = None) -> Path:
    path = folder / "chat.jsonl"
    path.write_text("\n".join(json.dumps(value, indent=indent) for value in values) + "\n", "utf-8")
    return path


def told(path: Path) -> str:
    with pytest.raises(TranscriptError) as raised:
        hosts.read(path)
    return str(raised.value)


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(("name", "value"), [s for s in FOREIGN if s[0] not in READ])
def test_a_file_of_a_foreign_format_is_refused_with_the_words_of_the_library(
    name: str, value: Any, indent: int | None, tmp_path: Path
) -> None:
    path = written(tmp_path, value, indent=indent)

    said = told(path)

    assert said.startswith(f"{path} cannot be read. ")
    assert name in said
    assert "Pass a transcript of" not in said


@pytest.mark.parametrize(
    "row",
    [
        DUMP,
        UI,
        {"custom_id": "r1", "body": {"messages": [CHAT]}},
        {"custom_id": "r1", "params": {"messages": [CHAT]}},
        {"messages": [CHAT]},
        {"conversations": [{"from": "human", "value": "hi"}]},
        {"kind": "MessageEvent", "source": "user"},
    ],
)
def test_rows_of_a_foreign_format_are_refused_by_the_first_of_them(
    row: dict[str, Any], tmp_path: Path
) -> None:
    said = told(written(tmp_path, {"version": 1} if "role" in row else row, row, row))

    assert str(refusal(row)) in said


@pytest.mark.parametrize("spelling", ["systemInstruction", "system_instruction"])
def test_the_body_of_a_request_of_gemini_is_a_conversation(spelling: str, tmp_path: Path) -> None:
    contents = [GEMINI, {"role": "model", "parts": [{"text": "hello"}]}]
    tools = [{"functionDeclarations": [{"name": "sh"}]}]
    body = {"contents": contents, spelling: {"parts": [{"text": "be brief"}]}, "tools": tools}

    transcript = hosts.read(written(tmp_path, body))

    assert transcript.messages == contents
    assert (transcript.system, transcript.tools) == ([{"text": "be brief"}], tools)


def test_the_body_of_a_request_of_responses_is_a_conversation(tmp_path: Path) -> None:
    messages = [CHAT, {"role": "assistant", "content": "hello"}]
    body = {"input": messages, "instructions": "be brief", "tools": [{"type": "function"}]}

    transcript = hosts.read(written(tmp_path, body))

    assert transcript.messages == messages
    assert (transcript.system, transcript.tools) == ("be brief", [{"type": "function"}])


def test_the_body_of_a_request_of_converse_is_a_conversation(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": [{"text": "hi"}]}]
    tools = [{"toolSpec": {"name": "sh"}}]
    body = {
        "modelId": "anthropic.claude",
        "messages": messages,
        "system": [{"text": "be brief"}],
        "toolConfig": {"tools": tools},
    }

    transcript = hosts.read(written(tmp_path, body))

    assert transcript.messages == messages
    assert transcript.system == [{"text": "be brief"}]
    assert (transcript.model, transcript.tools) == ("anthropic.claude", tools)


@pytest.mark.parametrize("rows", [ITEMS, [GEMINI, {"role": "model", "parts": [{"text": "hello"}]}]])
def test_items_and_contents_may_stand_one_per_line_or_in_a_list(
    rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    assert hosts.read(written(tmp_path, *rows)).messages == rows
    assert hosts.read(written(tmp_path, rows)).messages == rows


def test_one_item_alone_is_a_conversation_and_no_body_of_a_request(tmp_path: Path) -> None:
    item = {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": ["x"]}

    assert hosts.read(written(tmp_path, item)).messages == [item]


def test_a_foreign_message_far_down_a_file_is_named_with_its_place(tmp_path: Path) -> None:
    said = told(written(tmp_path, *[CHAT] * 30, UI))

    assert "cannot be read. Message 30 cannot be read. These are UIMessages of the AI SDK" in said


def test_a_message_without_content_is_told_by_its_keys(tmp_path: Path) -> None:
    said = told(written(tmp_path, CHAT, {"role": "user", "text": "hi"}))

    assert 'Message 1 has no content that we can read; its keys are "role", "text".' in said


@pytest.mark.parametrize("kind", [[], {}, 7, None])
def test_a_row_whose_type_is_no_name_is_skipped(kind: Any, tmp_path: Path) -> None:
    transcript = hosts.read(written(tmp_path, {"type": kind}, CHAT, CHAT))

    assert transcript.messages == [CHAT, CHAT]
