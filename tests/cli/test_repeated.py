"""A command that is repeated gives the same answer, and writes nothing into the store."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from mcp_door import ask, connected, everything_in, workspace_in, write_transcript

from context_compression.cli import main
from context_compression.testing import summary_about

from .conftest import conversation

Run = Callable[..., Result]
REPEATED = "already compressed; nothing was archived again"
SUMMARY = summary_about("Read all parts.")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command in this process, in a project with a transcript, chat.json."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "chat.json").write_text(json.dumps(conversation()), encoding="utf-8")

    def run(*arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(main, arguments, input=stdin)

    return run


def done(result: Result) -> Result:
    assert result.exit_code == 0, result.stderr
    return result


@pytest.mark.parametrize(
    "command",
    [
        ["compress", "chat.json", "--target-tokens", "6000"],
        ["compress", "chat.json", "--strategy", "offload"],
        ["compress", "chat.json", "--target-tokens", "6000", "--output", "smaller.json"],
        ["compress", "chat.json", "--target-tokens", "6000", "--focus", "part 3", "--pin", "2"],
    ],
    ids=" ".join,
)
def test_a_repeated_compression_gives_the_same_messages_and_archives_nothing(
    run: Run, tmp_path: Path, command: list[str]
):
    output = tmp_path / "smaller.json"
    first = done(run(*command))
    written = output.exists() and output.read_bytes()
    before = everything_in(tmp_path / ".compression")

    second = done(run(*command))

    assert second.stdout == first.stdout
    assert everything_in(tmp_path / ".compression") == before
    assert REPEATED in second.stderr and REPEATED not in first.stderr
    assert (output.exists() and output.read_bytes()) == written


def test_what_a_repeated_compression_archived_can_still_be_restored(run: Run, tmp_path: Path):
    command = ("compress", "chat.json", "--target-tokens", "6000", "--json")
    done(run(*command))

    again = json.loads(done(run(*command)).stdout)

    for ref in again["refs"]:
        assert done(run("restore", ref)).stdout_bytes


def test_another_target_is_another_compression(run: Run):
    done(run("compress", "chat.json", "--target-tokens", "6000"))

    assert REPEATED not in done(run("compress", "chat.json", "--target-tokens", "7000")).stderr


def test_where_an_original_was_damaged_it_is_archived_again(run: Run, tmp_path: Path):
    command = ("compress", "chat.json", "--target-tokens", "6000")
    done(run(*command))
    [originals] = (tmp_path / ".compression").glob("sessions/*/compact-*.json")
    originals.write_bytes(b"[]")

    again = done(run(*command, "--json"))

    assert REPEATED not in again.stdout
    for ref in json.loads(again.stdout)["refs"]:
        done(run("restore", ref))


def test_after_an_undo_the_same_compression_counts_again(run: Run):
    command = ("compress", "chat.json", "--target-tokens", "6000")
    first = done(run(*command))
    done(run("compress", "chat.json", "--undo"))

    again = done(run(*command))

    assert again.stdout == first.stdout
    assert REPEATED not in again.stderr


def test_a_repeated_export_writes_another_session_and_archives_nothing(run: Run, tmp_path: Path):
    command = ("export", "chat.json", "--host", "codex", "--target-tokens", "6000", "--json")
    first = json.loads(done(run(*command)).stdout)
    before = everything_in(tmp_path / ".compression")

    second = json.loads(done(run(*command)).stdout)

    assert everything_in(tmp_path / ".compression") == before
    assert second["path"] != first["path"]


def test_a_summary_is_asked_for_once_however_often(run: Run, tmp_path: Path):
    command = ("compress", "chat.json", "--summarizer", "caller", "--target-tokens", "3000")
    first = done(run(*command))
    before = everything_in(tmp_path / ".compression")

    second = done(run(*command))

    assert second.stdout == first.stdout
    assert second.stderr == first.stderr
    assert everything_in(tmp_path / ".compression") == before


def test_a_summary_that_is_given_twice_counts_once(run: Run, tmp_path: Path):
    command = ("compress", "chat.json", "--summarizer", "caller", "--target-tokens", "3000")
    plan = json.loads(done(run(*command, "--json")).stdout)["plan_id"]
    answer = (*command, "--plan-id", plan, "--summary", "-", "--json")
    while "messages" not in json.loads(done(run(*answer, stdin=SUMMARY)).stdout):
        pass  # it is written in several parts
    before = everything_in(tmp_path / ".compression")

    again = run(*answer, stdin=SUMMARY)

    assert again.exit_code == 2
    assert "has changed since it was made" in again.stderr
    assert everything_in(tmp_path / ".compression") == before


@pytest.mark.anyio
async def test_a_repeated_call_of_the_tool_replaces_and_archives_nothing(tmp_path: Path):
    workspace = workspace_in(tmp_path)
    path = write_transcript(workspace.cwd / "chat.jsonl", conversation(), session="a1")
    named: dict[str, Any] = {"conversation": str(path), "target_tokens": 6_000}

    async with connected(workspace) as client:
        first = await ask(client, "context_compress", **named)
        before = everything_in(workspace.store.folder)
        second = await ask(client, "context_compress", **named)

    assert not first.failed and not second.failed
    assert everything_in(workspace.store.folder) == before
    assert REPEATED in second.text and REPEATED not in first.text
    assert "It replaces" not in second.text
