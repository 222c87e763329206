"""A preview replaces a result of Gemini CLI's tools without looking like an error."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from context_compression.hosts import answer
from context_compression.session import Session
from context_compression.workspace import Workspace

LONG = "".join(f"line {n} of what was printed\n" for n in range(900))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "project").mkdir()
    return Workspace.here(environ={}, cwd=tmp_path / "project", home=tmp_path, store=None)


def told(workspace: Workspace, **more: Any) -> dict[str, Any]:
    """The answer to a call that printed `LONG`."""
    event = {
        "hook_event_name": "AfterTool", "session_id": "s1", "tool_name": "run_shell_command",
        "tool_input": {"command": "make"}, "tool_response": {"llmContent": LONG},
        "cwd": str(workspace.home / "project"),
        "transcript_path": str(workspace.home / ".gemini/tmp/project/chats/session-1.jsonl"),
    }  # fmt: skip
    return json.loads(anyio.run(answer, "gemini-cli", workspace, event | more))


def test_the_host_reads_the_preview_in_place_of_the_result(workspace: Workspace):
    said = told(workspace)

    call = said["hookSpecificOutput"]["tailToolCallRequest"]
    path = Path(call["args"]["file_path"])
    [ref] = Session(workspace.store, "s1").state().refs
    assert call["name"] == "read_file" and "decision" not in said
    assert path.is_relative_to(workspace.home / ".gemini/tmp/project/tool-outputs/session-s1")
    assert f"; ref {ref}; " in path.read_text(encoding="utf-8")
    assert said["systemMessage"] == (
        "Archived run_shell_command: 8,301 tokens, 901 lines. The model sees a preview."
    )


def test_the_preview_that_was_just_read_is_left_alone(workspace: Workspace):
    assert told(workspace, original_request_name="run_shell_command") == {}


def without_reader(home: Path) -> None:
    settings = {"tools": {"exclude": ["read_file"]}}
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")


def with_few_tools(home: Path) -> None:
    folder = home / "project" / ".gemini"
    folder.mkdir()
    settings = {"tools": {"core": ["run_shell_command"]}}
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")


def with_an_agent(home: Path) -> None:
    (home / ".gemini" / "agents").mkdir()
    (home / ".gemini" / "agents" / "runner.md").write_text("---", encoding="utf-8")


def with_a_policy(home: Path) -> None:
    (home / ".gemini" / "policies").mkdir()
    (home / ".gemini" / "policies" / "mine.toml").write_text("", encoding="utf-8")


def unwritable(home: Path) -> None:
    (home / ".gemini" / "tmp" / "project").mkdir(parents=True)
    (home / ".gemini" / "tmp" / "project" / "tool-outputs").write_text("", encoding="utf-8")


@pytest.mark.parametrize(
    "make", [without_reader, with_few_tools, with_an_agent, with_a_policy, unwritable]
)
def test_where_reading_might_fail_the_preview_comes_as_a_denial(
    make: Callable[[Path], None], workspace: Workspace
):
    (workspace.home / ".gemini").mkdir()
    make(workspace.home)

    said = told(workspace)

    assert said["decision"] == "deny" and "; ref " in said["reason"]


@pytest.mark.parametrize(
    "more",
    [
        {"tool_name": "run_internal_checks"},
        {"transcript_path": ""},
        {"transcript_path": "/"},
        {"transcript_path": "/x"},
        {"transcript_path": "/x/y.json"},
    ],
)
def test_a_tool_of_another_agent_and_an_unknown_transcript_are_denied_too(
    more: dict[str, Any], workspace: Workspace
):
    said = told(workspace, **more)

    assert said["decision"] == "deny" and "; ref " in said["reason"]


def test_a_preview_that_reading_would_cut_comes_as_a_denial(workspace: Workspace):
    workspace.store.update_config(lambda config: config | {"offload_preview_tokens": 3_000})
    words = " ".join(f"word{n}" for n in range(600))

    said = told(workspace, tool_response={"llmContent": f"{words}\n{LONG}{LONG}"})

    assert words in said["reason"]
