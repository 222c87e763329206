"""`sessions`, `status` and `report` show the conversations that go through the proxy."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hidden_exchanges import by_user, results, said

from context_compression.cli import main
from context_compression.integrations.apis import MESSAGES, Json
from context_compression.proxy.sessions import ProxySessions
from context_compression.workspace import Workspace

Run = Callable[..., Result]
MODEL = "claude-sonnet-5"
TOOLS = [{"name": "Read", "description": "Reads. " * 400, "input_schema": {"type": "object"}}]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command of a user who has only this project, in whose store the proxy records."""
    project = tmp_path / "home" / "shop"
    project.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(project.parent))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "CONTEXT_COMPRESSION_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(project)

    def run(*arguments: str) -> Result:
        ended = CliRunner().invoke(main, arguments)
        assert ended.exit_code == 0, ended.output
        return ended

    return run


def requests(*, steps: int, window: int = 30_000) -> str:
    """A conversation and the call for its title; the id of its session."""
    home = Path.cwd().parent
    workspace = Workspace.here(environ={}, home=home, token_budget=window)
    sessions, id = ProxySessions(workspace), ""

    def send(history: list[Json], model: str) -> str:
        body: Json = {"model": model, "messages": history, "system": "Help.", "tools": TOOLS}
        session = sessions.of(MESSAGES, {"x-claude-code-session-id": "1"}, body)
        assert session
        history = sessions.unfolded(session, history, MESSAGES)
        session.fit(history, system="Help.", tools=TOOLS)
        return session.id

    note = "<system-reminder>\nBe brief.\n</system-reminder>\n"
    history = [by_user(MESSAGES, f"{note}Why is the build red?")]
    send([by_user(MESSAGES, "Write a title for: Why is the build red?")], "claude-haiku-4-5")
    for step in range(steps):
        id = send(history, MODEL)
        history += said(MESSAGES, [("call", f"x_{step}", "Read")])
        history += results(
            MESSAGES, [f"x_{step}"], lambda id: f"{id}.py\n" + "a line of it\n" * 400
        )
    return id


def test_a_conversation_is_listed_with_its_host_title_model_and_size(run: Run) -> None:
    id = requests(steps=30)

    [listed] = json.loads(run("sessions", "--host", "proxy", "--json").stdout)["sessions"]

    assert (listed["host"], listed["id"]) == ("proxy", id)
    assert listed["title"] == "Why is the build red?"
    assert listed["window"] == 30_000
    assert listed["compactions"] > 0 and listed["originals"] > 0
    status = json.loads(run("status", id, "--json").stdout)
    assert listed["tokens"] == status["used_tokens"]
    assert status["host_tokens"] > 500  # of system prompt and tools
    assert "system prompt and tools" in status["next_request"]


def test_a_report_names_the_proxy_and_the_model(run: Run) -> None:
    id = requests(steps=30)

    text, page = run("report", id).stdout, run("report", "--all").stdout

    assert f"the proxy, {MODEL}" in text
    assert "compacted" in text and "context-compression" in text
    assert "proxy" in page


def test_the_model_and_the_window_are_known_before_the_first_compaction(run: Run) -> None:
    id = requests(steps=3, window=500_000)

    [listed] = json.loads(run("sessions", "--json").stdout)["sessions"]

    assert (listed["id"], listed["window"], listed["compactions"]) == (id, 500_000, 0)
    assert MODEL in run("report", id).stdout


def test_calls_for_a_title_are_not_listed(run: Run) -> None:
    requests(steps=1)

    assert json.loads(run("sessions", "--json").stdout)["sessions"] == []
    assert json.loads(run("status", "--json").stdout)["sessions"] == []


def test_a_number_of_the_listing_names_the_session(run: Run) -> None:
    id = requests(steps=3)
    run("sessions")

    shown = run("status", "1")

    assert f"1 is the session {id} of the proxy: Why is the build red?" in shown.output


def test_sessions_of_programs_and_of_the_proxy_are_told_apart(run: Run) -> None:
    requests(steps=3)

    assert json.loads(run("sessions", "--host", "recorded", "--json").stdout)["sessions"] == []
