"""The window of a conversation, and where its host compacts: one rule for all who ask."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.doors.conversations import Conversations
from context_compression.doors.listing import list_sessions
from context_compression.hosts.claude_code.status_line import status_line
from context_compression.transcripts.limits import holding, limits_of, of_claude_code
from context_compression.workspace import Workspace

SESSION = "11111111-2222-4333-8444-555555555555"


@given(st.integers(1, 3_000_000), st.integers(0, 30_000_000))
def test_a_window_holds_every_request_that_was_answered(window: int, used: int) -> None:
    held = holding(window, used)

    assert held >= max(window, used)
    assert held == window or used > window


@pytest.mark.parametrize("host", ["codex", "pi", "messages"])
def test_a_variable_of_one_host_says_nothing_about_another(host: str, tmp_path: Path) -> None:
    environ = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}

    assert limits_of(host, 272_000, environ, tmp_path) == (272_000, 0)


def test_variables_that_the_user_set_in_the_hosts_settings_count_everywhere(tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    chosen = {"env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "150000", "OTHER": 1}}
    settings.write_text(json.dumps(chosen), encoding="utf-8")

    assert of_claude_code(1_000_000, {}, tmp_path) == (150_000, 117_000)
    shell = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "400000"}
    assert of_claude_code(1_000_000, shell, tmp_path).window == 400_000


def transcript(home: Path, project: Path, model: str, used: int) -> Path:
    """A session of Claude Code with one answer, for which `used` tokens were charged."""
    folder = home / ".claude" / "projects" / "-project"
    folder.mkdir(parents=True)
    usage = {"input_tokens": used, "output_tokens": 1}
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "id": "m1", "model": model, "usage": usage,
         "content": [{"type": "text", "text": "Hi."}]},
    ]  # fmt: skip
    rows = [
        {
            "type": message["role"], "message": message, "uuid": f"u{n}", "sessionId": SESSION,
            "parentUuid": f"u{n - 1}" if n else None, "cwd": str(project), "version": "2.1.332",
            "timestamp": f"2026-11-20T11:00:0{n}.000Z",
        }
        for n, message in enumerate(said)
    ]  # fmt: skip
    path = folder / f"{SESSION}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("model", "used", "environ", "window", "due"),
    [
        ("claude-opus-4-5", 61_000, {}, 200_000, 160_000),
        ("claude-opus-4-5", 350_000, {}, 1_000_000, 800_000),
        ("claude-opus-5-5", 61_000, {}, 1_000_000, 800_000),
        ("claude-opus-5-5", 61_000, {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}, 100_000, 67_000),
        ("claude-opus-4-5", 61_000, {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}, 200_000, 90_000),
        ("claude-opus-4-5", 61_000, {"DISABLE_AUTO_COMPACT": "1"}, 200_000, 160_000),
    ],
)
def test_all_who_ask_are_told_the_same_window(
    model: str, used: int, environ: dict[str, str], window: int, due: int, tmp_path: Path
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    path = transcript(home, project, model, used)
    environ |= {"NO_COLOR": "1"}
    workspace = Workspace.here(environ=environ, cwd=project, home=home, allow=[str(home)])
    conversations = Conversations(workspace)

    opened = conversations.open(str(path))
    [session] = list_sessions(conversations).sessions
    shown = {"context_window_size": window, "current_usage": {"input_tokens": used}}
    line = status_line({"context_window": shown, "session_id": SESSION}, environ, home)

    usage = opened.session.status(opened.shown, opened.anchor).usage
    assert (usage.total_budget, usage.threshold_tokens) == (window, due)
    assert session.window == window
    assert f"of {window // 1_000_000}M" in line or f"of {window // 1_000}K" in line


def test_settings_of_the_user_count_before_those_of_the_host(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    path = transcript(home, project, "claude-opus-5-5", 61_000)
    environ = {
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000",
        "CONTEXT_COMPRESSION_TOKEN_BUDGET": "300000",
        "CONTEXT_COMPRESSION_TRIGGER_THRESHOLD": "0.5",
    }
    workspace = Workspace.here(environ=environ, cwd=project, home=home, allow=[str(home)])

    opened = Conversations(workspace).open(str(path))

    settings = opened.session.settings
    assert (settings.token_budget, settings.threshold_tokens) == (300_000, 150_000)
