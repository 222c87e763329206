"""The window of a conversation, and where its host compacts: one rule for all who ask."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.hosts import Conversations, list_sessions, status_line
from context_compression.report import report_of
from context_compression.transcripts import of_claude_code
from context_compression.transcripts.limits import LargestUse, holding
from context_compression.workspace import Workspace

SESSION = "11111111-2222-4333-8444-555555555555"


@given(st.integers(1, 3_000_000), st.integers(0, 30_000_000))
def test_a_window_holds_every_request_that_was_answered(window: int, used: int) -> None:
    held = holding(window, used)

    assert held >= max(window, used)
    assert held == window or used > window


def test_variables_that_the_user_set_in_the_hosts_settings_count_everywhere(tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    chosen = {"env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "150000", "OTHER": 1}}
    settings.write_text(json.dumps(chosen), encoding="utf-8")

    assert of_claude_code(1_000_000, {}, tmp_path) == (150_000, 117_000)
    shell = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "400000"}
    assert of_claude_code(1_000_000, shell, tmp_path).window == 400_000


@pytest.mark.parametrize(
    ("told", "window"),
    [
        ("150k", 150_000), (" 0.3M ", 300_000), ("120500", 120_500), ("5", 100_000), ("0", None),
        ("2m", None), ("-5", None), ("lots", None), ("1e6", None), ("9" * 5_000, None), ("", None),
    ],
)  # fmt: skip
def test_a_window_for_compactions_is_read_as_claude_code_reads_it(
    told: str, window: int | None, tmp_path: Path
) -> None:
    environ = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": told}

    assert of_claude_code(1_000_000, environ, tmp_path).window == (window or 1_000_000)


@pytest.mark.parametrize(
    ("environ", "model", "window", "compacts_at"),
    [
        ({"CLAUDE_CODE_DISABLE_1M_CONTEXT": "1"}, "claude-opus-5-5", 200_000, 167_000),
        ({"CLAUDE_CODE_DISABLE_1M_CONTEXT": "0"}, "claude-opus-5-5", 1_000_000, 967_000),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "62.5"}, None, 1_000_000, 612_500),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "many"}, None, 1_000_000, 967_000),
        ({"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "300000"}, "claude-opus-5-5", 1_000_000, 967_000),
        ({"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "300000"}, "qwen-4-coder", 300_000, 267_000),
        ({"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "300000", "DISABLE_COMPACT": "1"}, None, 300_000, 0),
        ({"DISABLE_AUTO_COMPACT": "false"}, None, 1_000_000, 967_000),
        ({"DISABLE_AUTO_COMPACT": "true"}, None, 1_000_000, 0),
    ],
)
def test_variables_of_claude_code_count_as_it_reads_them(
    environ: dict[str, str], model: str | None, window: int, compacts_at: int, tmp_path: Path
) -> None:
    assert of_claude_code(1_000_000, environ, tmp_path, model) == (window, compacts_at)


@pytest.mark.parametrize(
    ("of_user", "of_project", "window"),
    [
        ({"autoCompactWindow": 300_000}, {}, 300_000),
        ({"autoCompactWindow": 300_000}, {"autoCompactWindow": 400_000}, 400_000),
        ({"modelSettings": {"claude-opus-5-5": {"autoCompactWindow": 150_000}},
          "autoCompactWindow": 300_000}, {}, 150_000),
        ({"modelSettings": {"claude-sonnet-5-5": {"autoCompactWindow": 150_000}}}, {}, 1_000_000),
        ({"autoCompactWindow": "auto"}, {}, 1_000_000),
        ({"env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200k"}},
         {"env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "250k"}}, 250_000),
        ({"env": [], "modelSettings": "?", "autoCompactWindow": True}, {}, 1_000_000),
    ],
)  # fmt: skip
def test_what_the_user_saved_with_autocompact_counts_too(
    of_user: dict[str, Any], of_project: dict[str, Any], window: int, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    for folder, settings in ((tmp_path, of_user), (project, of_project)):
        (folder / ".claude").mkdir(parents=True)
        (folder / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    model = "claude-opus-5-5-20261001"

    assert of_claude_code(1_000_000, {}, tmp_path, model, project).window == window


@pytest.mark.parametrize(
    ("settings", "window"),
    [
        ({"model": "sonnet[1m]"}, 1_000_000),
        ({"model": "claude-sonnet-4-5[1m]"}, 1_000_000),
        ({"model": "sonnet"}, 200_000),
        ({"model": "opus[1m]"}, 200_000),
        ({"model": "sonnet[1m]", "env": {"CLAUDE_CODE_DISABLE_1M_CONTEXT": "1"}}, 200_000),
    ],
)
def test_a_window_of_a_million_that_the_user_chose_counts_for_that_model(
    settings: dict[str, Any], window: int, tmp_path: Path
) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")

    model = "claude-sonnet-4-5-20250929"
    assert of_claude_code(200_000, {}, tmp_path, model).window == window


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
        ("claude-opus-4-5", 61_000, {}, 200_000, 167_000),
        ("claude-opus-4-5", 350_000, {}, 1_000_000, 967_000),
        ("claude-opus-5-5", 61_000, {}, 1_000_000, 967_000),
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


def compacted(path: Path, model: str, told: int, *, answered: bool) -> None:
    """Goes on with a compaction by the host, and an answer after it."""
    text = "This session is being continued. Summary: greetings."
    about = {"trigger": "auto", "preTokens": told, "postTokens": 3_000}
    base = {"sessionId": SESSION, "version": "2.1.332", "timestamp": "2026-11-20T11:01:00.000Z"}
    rows: list[dict[str, Any]] = [
        {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None,
         "content": "Conversation compacted", "compactMetadata": about},
        {"type": "user", "uuid": "s", "parentUuid": "b", "isCompactSummary": True,
         "message": {"role": "user", "content": text}},
    ]  # fmt: skip
    if answered:
        usage = {"input_tokens": 30_000, "output_tokens": 5}
        content = [{"type": "text", "text": "Ok."}]
        said = {
            "role": "assistant", "id": "m2", "model": model, "usage": usage, "content": content
        }  # fmt: skip
        rows.append({"type": "assistant", "uuid": "a", "parentUuid": "s", "message": said})
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(base | row) + "\n" for row in rows)


@pytest.mark.parametrize("large", [False, True], ids=["whole", "read by its ends"])
@pytest.mark.parametrize(
    ("used", "told", "now", "answered", "window"),
    [
        (350_000, 160_000, "claude-sonnet-4-6", True, 1_000_000),
        (350_000, 350_000, "claude-sonnet-4-6", False, 1_000_000),
        (160_000, 640_000, "claude-sonnet-4-6", True, 1_000_000),
        (160_000, 205_000, "claude-sonnet-4-6", True, 200_000),  # an estimate, of which much is new
        (1_300_000, 160_000, "claude-sonnet-4-6", True, 2_000_000),
        (350_000, 160_000, "claude-haiku-4-5", True, 200_000),  # of another model
    ],
)
def test_a_use_above_the_window_is_remembered_after_a_compaction_by_all_who_ask(
    used: int, told: int, now: str, answered: bool, window: int, large: bool, tmp_path: Path
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    path = transcript(home, project, "claude-sonnet-4-6", used)
    if large:
        with path.open("a", encoding="utf-8") as file:
            filler = {"type": "progress", "uuid": "p", "sessionId": SESSION, "data": "x" * 100_000}
            file.writelines(json.dumps(filler) + "\n" for _ in range(12))
    compacted(path, now, told, answered=answered)
    environ = {"NO_COLOR": "1"}
    workspace = Workspace.here(environ=environ, cwd=project, home=home, allow=[str(home)])
    conversations = Conversations(workspace)

    opened = conversations.open(str(path))
    [session] = list_sessions(conversations).sessions
    report = report_of(opened)
    event = {
        "context_window": {"context_window_size": 200_000}, "session_id": SESSION,
        "model": {"id": now}, "transcript_path": str(path), "cwd": str(project),
    }  # fmt: skip
    line = status_line(event, environ, home)

    limit = window - 33_000
    settings = opened.session.settings
    assert (settings.token_budget, settings.threshold_tokens) == (window, limit)
    assert (opened.compacts_at, session.window, report.window) == (limit, window, window)
    assert report.threshold == limit
    shown = f"{limit / 1e6:.2f}M" if limit > 1e6 else f"{limit // 1_000}K"
    told_used = f"30K of {window // 1000}K" if window < 1e6 else f"30K of {window // 10**6}M"
    assert line == " · ".join(
        [
            f"context {3_000_000 / window:.0f} %, {told_used}"
            if answered
            else "context just compacted",
            f"compacts at {shown}",
        ]
    )


def test_before_a_first_answer_the_line_says_that_and_no_zero(tmp_path: Path) -> None:
    event = {"context_window": {"context_window_size": 1_000_000}, "session_id": SESSION}

    assert status_line(event, {"NO_COLOR": "1"}, tmp_path) == (
        "context not measured yet · compacts at 967K"
    )


@given(
    st.lists(st.tuples(st.integers(0, 10**7), st.sampled_from(["", "m", "m-20260101", "k[1m]"])))
)
def test_the_largest_use_is_that_of_the_model_or_of_an_unknown_one(
    requests: list[tuple[int, str]],
) -> None:
    largest = LargestUse()
    for tokens, model in requests:
        largest.add(tokens, model)

    of_m = [tokens for tokens, model in requests if not model.startswith("k")]
    assert largest.of("M[1m]") == max(of_m, default=0)
    assert largest.of(None) == max((tokens for tokens, _ in requests), default=0)


def test_just_after_a_compaction_the_model_is_the_one_before_it(tmp_path: Path) -> None:
    path = transcript(tmp_path, tmp_path, "claude-opus-5-5", 61_000)
    compacted(path, "", 160_000, answered=False)
    workspace = Workspace.here(environ={}, cwd=tmp_path, home=tmp_path, allow=[str(tmp_path)])

    opened = Conversations(workspace).open(str(path))

    assert opened.session.model == "claude-opus-5-5"
    assert opened.session.settings.token_budget == 1_000_000
