"""Sessions written for hosts: read back by our readers, they hold the view that was given."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from generated import conversations
from hypothesis import given, settings
from transcripts import recordings, rows_of

from context_compression import compress, hosts
from context_compression.conversation import Image, Message, Opaque, Text, ToolResult, parse
from context_compression.errors import ExportError
from context_compression.hosts import EXPORTERS
from context_compression.hosts.exporting import Exported, NewSession, export
from context_compression.transcripts import as_user, portable

Messages = list[dict[str, Any]]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
MADE = datetime(2026, 11, 21, 12, 33, 33, 345678, tzinfo=UTC)
ID = "3a5b7ba4-4347-4174-8c51-42fd285e6267"
every_host = pytest.mark.parametrize("host", EXPORTERS)

VIEW: Messages = [
    {"role": "user", "content": "[Compressed History] You read all of src/."},
    {"role": "user", "content": "Fix the crash. 不要改动 tests/."},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
            {"type": "tool_use", "id": "toolu_2", "name": "Read", "input": {"path": "a.png"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.png\n\u2028b"},
            {
                "type": "tool_result",
                "tool_use_id": "toolu_2",
                "content": [
                    {"type": "text", "text": "a picture"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
                    },
                ],
                "is_error": True,
            },
        ],
    },
    {"role": "assistant", "content": "It is a pixel."},
]


def written(
    folder: Path, view: Messages, host: str, *, by: str | None = None, id: str = ID
) -> Exported:
    copy = NewSession(id, Path("/home/me/my_app"), MADE, "claude-opus-5-5")
    return export(view, host, copy, written_by=by, home=folder, environ={})


def shown(messages: Sequence[Message]) -> list[tuple[str, list[Any]]]:
    """What a provider is sent: neighbours of one role are one message to it."""
    found: list[tuple[str, list[Any]]] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [_plain(block) for block in message.blocks]
        if found and found[-1][0] == role:
            found[-1][1].extend(blocks)
        else:
            found.append((role, blocks))
    return found


def _plain(block: Any) -> Any:
    match block:
        case ToolResult():  # not every host writes down that a tool failed
            parts = [_plain(part) for part in block.content]
            return block.call_id, [part for part in parts if part != Text("")]
        case Image() | Opaque():
            return json.dumps(block.source, sort_keys=True)
        case _:
            return block


def carried(view: Messages, host: str, by: str | None = None) -> list[tuple[str, list[Any]]]:
    """What of a view a host is given."""
    exporter = EXPORTERS[host]
    taken = portable(
        view,
        thinking=by == host and exporter.thinking,
        opaque=by == host,
        documents=exporter.documents,
    )
    if host == "codex":  # which knows a developer's messages, where the others need a label
        return shown(taken.messages)
    labelled = (
        message if message.role == "assistant" else replace(message, blocks=as_user(message))
        for message in taken.messages
    )
    return shown([*labelled])


def read_back(exported: Exported) -> list[tuple[str, list[Any]]]:
    transcript = hosts.read(exported.path)
    assert transcript.host == exported.host
    assert transcript.session_id == exported.session_id
    assert not transcript.warnings
    return shown(parse(transcript.messages).messages)


@every_host
def test_what_was_written_reads_back_as_the_same_view(host: str, tmp_path: Path):
    exported = written(tmp_path, VIEW, host)

    assert read_back(exported) == carried(VIEW, host)


def test_a_hosts_own_view_comes_back_whole_with_its_reasoning(tmp_path: Path):
    exported = written(tmp_path, VIEW, "claude-code", by="claude-code")

    assert read_back(exported) == shown(parse(VIEW).messages)
    assert exported.notes == ()


@pytest.mark.slow
@every_host
@settings(max_examples=25)
@given(view=conversations())
def test_any_conversation_reads_back_as_it_was_written(
    host: str, tmp_path_factory: pytest.TempPathFactory, view: Messages
):
    folder = tmp_path_factory.mktemp("home")
    if not carried(view, host):
        with pytest.raises(ExportError, match="nothing to export"):
            written(folder, view, host)
        return

    exported = written(folder, view, host)

    assert read_back(exported) == carried(view, host)


@every_host
def test_a_recorded_session_compressed_reads_back_in_every_host(
    host: str, tmp_path: Path, data_folder: Path
):
    ours = [path for path in recordings() if path.parent.name in EXPORTERS]
    for number, path in enumerate(ours[::6]):
        transcript = hosts.read(path)
        view = compress(transcript.messages, target_tokens=30_000).messages

        exported = written(tmp_path / str(number), view, host, by=transcript.host)

        assert read_back(exported) == carried(view, host, transcript.host)


def test_another_hosts_reasoning_is_left_out_and_said_to_be(tmp_path: Path):
    exported = written(tmp_path, VIEW, "claude-code", by="codex")

    assert "thinking" not in exported.path.read_text()
    assert exported.notes == ("Left out, because the host has no use for it: thinking blocks 1.",)


@every_host
def test_a_call_that_was_still_running_is_answered(host: str, tmp_path: Path):
    exported = written(tmp_path, VIEW[:3], host)

    last = hosts.read(exported.path).messages[-1]
    assert [block["tool_use_id"] for block in last["content"]] == ["toolu_1", "toolu_2"]
    assert "No result" in str(last)


def test_what_the_system_said_is_a_prompt_at_the_start_and_labelled_later(tmp_path: Path):
    view: Messages = [
        {"role": "system", "content": "You are a helper."},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hi"},
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "bye"},
    ]

    claude, codex = (written(tmp_path, view, host).path for host in ("claude-code", "codex"))

    said = [row["message"]["content"] for row in rows_of(claude)]
    assert said[0] == "hello"
    assert [part["text"] for part in said[2]] == ["[System message]", "Be brief."]
    items = [row["payload"] for row in rows_of(codex) if row["type"] == "response_item"]
    assert [item["role"] for item in items] == ["user", "assistant", "developer", "user"]


def test_ids_and_names_that_a_provider_would_refuse_are_changed_alike(tmp_path: Path):
    call = {"id": "call 1|fc", "type": "function", "function": {"name": "a.b", "arguments": "{}"}}
    view: Messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call 1|fc", "content": "gone"},
    ]

    exported = written(tmp_path, view, "claude-code")

    _, called, answered = hosts.read(exported.path).messages
    assert called["content"][0]["name"] == "a_b"
    assert called["content"][0]["id"] == answered["content"][0]["tool_use_id"]
    assert called["content"][0]["id"].startswith("call_")


def test_the_same_copy_gives_the_same_bytes_and_never_writes_over_another(tmp_path: Path):
    first, second = (written(tmp_path / home, VIEW, "pi") for home in ("a", "b"))

    assert first.path.read_bytes() == second.path.read_bytes()
    with pytest.raises(ExportError, match=r"it exists already\. Nothing was changed"):
        written(tmp_path / "a", VIEW, "pi")
    assert first.path.read_bytes() == second.path.read_bytes()


def test_a_session_lies_where_its_host_looks_and_is_resumed_from_its_folder(tmp_path: Path):
    claude, codex, pi = (written(tmp_path, VIEW, host) for host in ("claude-code", "codex", "pi"))

    name = f"{ID}.jsonl"
    assert claude.path == tmp_path / ".claude/projects/-home-me-my-app" / name
    assert claude.command == f"cd /home/me/my_app && claude --resume {ID}"
    rollout = f"rollout-2026-11-21T12-33-33-{name}"
    assert codex.path == tmp_path / ".codex/sessions/2026/11/21" / rollout
    assert codex.command == f"cd /home/me/my_app && codex resume {ID}"
    sessions = tmp_path / ".pi/agent/sessions/--home-me-my_app--"
    assert pi.path == sessions / f"2026-11-21T12-33-33-345Z_{name}"
    assert pi.command == f"cd /home/me/my_app && pi --session {pi.path}"
    assert {path.stat().st_mode & 0o777 for path in (claude.path, codex.path, pi.path)} == {0o600}
