"""Where each host compacts by itself: its own rule, moved by its own settings."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.hooks import session_of
from context_compression.hosts import Conversations, list_sessions
from context_compression.report import report_of
from context_compression.transcripts import of_claude_code
from context_compression.transcripts.compaction_points import limits_of
from context_compression.workspace import Workspace

FIXTURES = Path(__file__).parents[1] / "fixtures"
CODEX, GEMINI, PI = ".codex/config.toml", ".gemini/settings.json", ".pi/agent/settings.json"
OPENCODE = ".config/opencode/opencode.json"
GPT = {"context": 400_000, "input": 272_000, "output": 128_000}


@pytest.mark.parametrize(
    ("host", "window", "compacts_at"),
    [
        ("claude-code", 200_000, 167_000),
        ("codex", 258_400, 244_800),  # 90 % of 272,000
        ("gemini-cli", 1_048_576, 524_288),
        ("opencode", 200_000, 168_000),
        ("pi", 200_000, 183_616),
        ("copilot-cli", 128_000, 102_400),
        ("messages", 200_000, 0),
        ("of tomorrow", 200_000, 0),
    ],
)
def test_each_host_has_a_point_of_its_own(
    host: str, window: int, compacts_at: int, tmp_path: Path
) -> None:
    assert limits_of(host, window, {}, tmp_path, "some-model") == (window, compacts_at)


@pytest.mark.parametrize(
    ("host", "file", "written", "compacts_at"),
    [
        ("codex", CODEX, "model_auto_compact_token_limit = 150_000\n", 150_000),
        ("codex", CODEX, "model_auto_compact_token_limit = 900_000\n", 189_473),
        ("codex", CODEX, "model_auto_compact_token_limit = 0\n", 189_473),
        ("codex", CODEX, 'model_auto_compact_token_limit = "much"\n', 189_473),
        ("codex", CODEX, "model = [", 189_473),
        ("codex", CODEX, "\ufeff", 189_473),
        ("gemini-cli", GEMINI, '{"model": {"compressionThreshold": 0.2}}', 40_000),
        ("gemini-cli", GEMINI, '{"model": {"compressionThreshold": 1}}', 200_000),
        ("gemini-cli", GEMINI, '{"model": {"compressionThreshold": 0}}', 100_000),
        ("gemini-cli", GEMINI, '{"model": {"compressionThreshold": "half"}}', 100_000),
        ("gemini-cli", GEMINI, '{"model": {"compressionThreshold": true}}', 100_000),
        ("gemini-cli", GEMINI, '{"model": "gemini"}', 100_000),
        ("gemini-cli", GEMINI, '{"model": {"compressionThr', 100_000),
        ("gemini-cli", GEMINI,
         '\ufeff{ // mine\n "model": { /* "a": */ "compressionThreshold": 0.3, }, }', 60_000),
        ("pi", PI, '{"compaction": {"reserveTokens": 50000}}', 150_000),
        ("pi", PI, '{"compaction": {"reserveTokens": 0}}', 200_000),
        ("pi", PI, '{"compaction": {"reserveTokens": -1}}', 183_616),
        ("pi", PI, '{"compaction": {"enabled": false}}', 0),
        ("pi", PI, '{"compaction": {"reserveTokens": 9000, "modelOverrides": {'
                   '"local/org/m": {"reserveTokens": 70000}, "x/n": {"reserveTokens": 1}}}}',
         130_000),
        ("pi", ".pi/agent/models.json",
         '{"providers": {"local": {"models": [{"id": "org/m", "contextWindow": 60000}]}}}', 43_616),
        ("opencode", OPENCODE, '{"compaction": {"auto": false}}', 0),
        ("opencode", OPENCODE, '{"provider": {"p": {"models": {"org/m": {"limit": '
                               '{"context": 90000, "output": 8000}}}}}}', 82_000),
        ("opencode", OPENCODE, '{"compaction": {"reserved": 60000}, "provider": {"p": {"models": '
                               '{"org/m": {"limit": ' + json.dumps(GPT) + "}}}}}", 212_000),
        ("opencode", ".config/opencode/opencode.jsonc", '{"compaction": /* no */ {"auto": false}}',
         0),
        ("opencode", ".cache/opencode/models.json", json.dumps(
            {"p": {"models": {"org/m": {"limit": GPT | {"context": 200_000}}}},
             "q": {"models": {"org/m": {"limit": {"context": 80_000, "output": 1}}}}}), 252_000),
        ("opencode", ".cache/opencode/models.json", '{"p": 1, "q": {"models": []}}', 168_000),
    ],
)  # fmt: skip
def test_a_hosts_own_settings_move_its_point(
    host: str, file: str, written: str, compacts_at: int, tmp_path: Path
) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(written, encoding="utf-8")

    assert limits_of(host, 200_000, {}, tmp_path, "org/m").compacts_at == compacts_at


@pytest.mark.parametrize(
    ("host", "file", "before", "after"),
    [
        ("gemini-cli", "settings.json", '{"model": {"compressionThreshold": 0.7}}', 140_000),
        ("pi", "settings.json", '{"compaction": {"reserveTokens": 1000}}', 199_000),
        ("opencode", "opencode.json", '{"compaction": {"auto": false}}', 0),
    ],
)
def test_settings_of_the_project_count_before_those_of_the_user(
    host: str, file: str, before: str, after: int, tmp_path: Path
) -> None:
    folder = {"gemini-cli": ".gemini", "pi": ".pi", "opencode": ".opencode"}[host]
    project = tmp_path / "project"
    user = {"gemini-cli": GEMINI, "pi": PI, "opencode": OPENCODE}[host]
    of_user = '{"model": {"compressionThreshold": 0.1}, "compaction": {"reserveTokens": 7}}'
    for path, written in ((project / folder / file, before), (tmp_path / user, of_user)):
        path.parent.mkdir(parents=True)
        path.write_text(written, encoding="utf-8")

    assert limits_of(host, 200_000, {}, tmp_path, "m", project).compacts_at == after


@pytest.mark.parametrize("host", ["codex", "pi", "gemini-cli", "opencode", "messages"])
def test_a_variable_of_one_host_says_nothing_about_another(host: str, tmp_path: Path) -> None:
    environ = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000", "DISABLE_COMPACT": "1"}

    assert limits_of(host, 272_000, environ, tmp_path) == limits_of(host, 272_000, {}, tmp_path)
    other = {"OPENCODE_DISABLE_AUTOCOMPACT": "1"}
    assert of_claude_code(200_000, other, tmp_path).compacts_at == 167_000


@given(written=st.text(alphabet='{}[]",:/*\\ \na1', max_size=60))
def test_no_settings_stop_us(written: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("home")
    for host, file in (("gemini-cli", GEMINI), ("pi", PI), ("opencode", OPENCODE)):
        (home / file).parent.mkdir(parents=True)
        (home / file).write_text(written, encoding="utf-8")

        limits_of(host, 200_000, {}, home, "a")


@pytest.mark.parametrize(
    ("file", "window", "threshold", "compacts_at"),
    [
        ("gemini_cli/session.jsonl", 1_048_576, 524_288, 524_288),
        ("codex/session.jsonl", 258_400, 244_800, 244_800),
        ("pi/session.jsonl", 200_000, 160_000, 183_616),  # ours shortens its requests before
        ("opencode/session.json", 200_000, 160_000, 168_000),
        ("copilot_cli/session.jsonl", 200_000, 160_000, 160_000),
    ],
)
def test_all_who_ask_are_told_the_point_of_the_host(
    file: str, window: int, threshold: int, compacts_at: int, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    workspace = Workspace.here(environ={}, cwd=tmp_path, home=home, allow=[str(FIXTURES)])

    opened = Conversations(workspace).open(str(FIXTURES / file))

    report, settings = report_of(opened), opened.session.settings
    assert (settings.token_budget, settings.threshold_tokens) == (window, threshold)
    assert (opened.compacts_at, report.window, report.threshold) == (compacts_at, window, threshold)
    event = {"session_id": "s", "model": opened.session.model, "window": window}
    for_hooks = session_of(workspace, event, opened.host).settings
    assert (for_hooks.token_budget, for_hooks.threshold_tokens) == (window, threshold)
    assert for_hooks.target_tokens == settings.target_tokens
    assert not workspace.doubts(settings)


def test_a_smaller_budget_of_the_user_is_not_the_hosts_window(tmp_path: Path) -> None:
    environ = {"CONTEXT_COMPRESSION_TOKEN_BUDGET": "150000"}
    workspace = Workspace.here(environ=environ, cwd=tmp_path, home=tmp_path, allow=[str(FIXTURES)])

    opened = Conversations(workspace).open(str(FIXTURES / "pi" / "session.jsonl"))

    assert opened.session.settings.threshold_tokens == 120_000
    assert opened.compacts_at == 183_616


def test_a_point_that_leaves_no_room_for_a_conversation_is_told_and_not_taken(
    tmp_path: Path,
) -> None:
    workspace = Workspace.here(environ={}, cwd=tmp_path, home=tmp_path)
    origin = {"host": "pi", "window": 18_000, "model": "m"}

    settings, compacts_at = workspace.settings_in(origin, workspace.settings())

    assert (settings.threshold_tokens, compacts_at) == (14_400, 1_616)


def test_the_listing_has_the_window_that_a_host_is_set_to(tmp_path: Path) -> None:
    project = tmp_path / "project"
    folder = tmp_path / ".pi" / "agent"
    sessions = folder / "sessions" / "--project--"
    sessions.mkdir(parents=True)
    project.mkdir()
    rows = [json.loads(row) for row in (FIXTURES / "pi/session.jsonl").read_text().splitlines()]
    rows[0]["cwd"] = str(project)
    path = sessions / "2026_s.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    workspace = Workspace.here(environ={}, cwd=project, home=tmp_path, allow=[str(tmp_path)])
    conversations = Conversations(workspace)
    model = conversations.open(str(path)).session.model
    own = {"providers": {"mine": {"models": [{"id": model, "contextWindow": 77_000}]}}}
    (folder / "models.json").write_text(json.dumps(own), encoding="utf-8")

    [session] = list_sessions(Conversations(workspace)).sessions

    assert session.window == 77_000
    assert Conversations(workspace).open(str(path)).compacts_at == 77_000 - 16_384
