"""Earlier sessions of this project: listed, and taken up by a new chat."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from mcp import Client
from mcp.types import PromptReference, TextContent
from mcp_door import Answer, ask, connected, refusal, workspace_in

from context_compression.tokens import base_count
from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio

SEARCH = "context_restore(query=… | …)"
NOVEMBER_28 = 1_795_867_200.0  # at noon
DAY = 86_400
KEY = f"sk-ant-api03-{'Ab1_' * 22}AA"


def kept(
    workspace: Workspace,
    id: str,
    said: Sequence[str],
    *,
    days: int = 0,
    project: Path | None = None,
) -> Path:
    """A session of Claude Code with words of the user and of the model in turn."""
    folder = str(project or workspace.cwd)
    path = workspace.home / ".claude/projects" / re.sub("[^A-Za-z0-9]", "-", folder) / f"{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for number, text in enumerate(said):
            role = ("user", "assistant")[number % 2]
            message = {"role": role, "content": text, "id": f"m{number}", "model": "claude-opus-5"}
            row = {
                "type": role, "uuid": f"u{number}",
                "parentUuid": f"u{number - 1}" if number else None,
                "sessionId": id, "version": "2.1.22", "cwd": folder, "message": message,
            }  # fmt: skip
            file.write(f"{json.dumps(row)}\n")
    os.utime(path, (NOVEMBER_28 - days * DAY, NOVEMBER_28 - days * DAY))
    return path


@pytest.fixture
def sessions(workspace: Workspace) -> Workspace:
    """Seven sessions of the project, and one of another."""
    talk = [
        "Fix the dates of the parser",
        "I will.",
        f"Use {KEY}; never touch `setup.py`.",
        "Done.",
    ]
    kept(workspace, "aaaa1111-dates", talk)
    kept(workspace, "bbbb2222-queue", ["Decide on the queue", "Postgres, not Redis."], days=1)
    for days in range(2, 7):
        kept(workspace, f"cccc{days}-other", [f"Other work {days}", "Yes."], days=days)
    other = workspace.cwd.with_name("other")
    kept(workspace, "dddd4444-secret", ["The secret of another project", "Yes."], project=other)
    return workspace


async def resumed(client: Client, wanted: str = "") -> str:
    asked = {"checkpoint": wanted} if wanted else {}
    [message] = (await client.get_prompt("resume", asked)).messages
    assert isinstance(message.content, TextContent)
    return message.content.text


def is_the_one_about_dates(text: str) -> bool:
    assert (
        '"Fix the dates of the parser" · Claude Code · 2026-11-28 · id aaaa1111-date\n```' in text
    )
    assert SEARCH in text and "quoted from the archive" in text
    for said in ("First request: Fix the dates", "never touch `setup.py`", "Newest answer: Done."):
        assert said in text
    assert "Ab1_Ab1_" not in text
    return base_count(text) < 2_500


async def test_the_newest_sessions_of_this_project_are_listed_beside_checkpoints(
    client: Client, sessions: Workspace
) -> None:
    alone = await ask(client, "context_summary")
    await ask(client, "context_compress", summary="the plan")
    beside = await ask(client, "context_summary")
    of_checkpoints = await ask(client, "context_summary", conversation="checkpoint")

    listed = listed_in(alone)
    assert listed == listed_in(beside)
    assert listed[:2] == [
        's1 "Fix the dates of the parser" · Claude Code · 2026-11-28 · id aaaa1111-date',
        's2 "Decide on the queue" · Claude Code · 2026-11-27 · id bbbb2222-queu',
    ]
    assert len(listed) == 5
    assert base_count("\n".join(listed)) < 200
    assert beside.pages == ["the plan"]
    assert not listed_in(of_checkpoints)
    assert "secret" not in f"{alone.text}{beside.text}"


def listed_in(answer: Answer) -> list[str]:
    _, found, lines = answer.text.partition("\nEarlier sessions of this project;")
    return lines.splitlines()[1:] if found else []


NAMES = ["s1", "aaaa1111-dates", "aaaa", "Fix the dates of the parser", "parser dates"]


@pytest.mark.parametrize("name", NAMES)
async def test_a_session_is_told_by_its_number_its_id_its_title_and_words_of_it(
    client: Client, sessions: Workspace, name: str
) -> None:
    before = sorted(sessions.store.sessions())

    told = await ask(client, "context_summary", conversation=name)
    prompt = await resumed(client, name)

    assert is_the_one_about_dates(told.text)
    assert is_the_one_about_dates(prompt)
    assert prompt.startswith("Continue the work that this earlier session describes.")
    assert sorted(sessions.store.sessions()) == before  # nothing is kept of it


async def test_a_checkpoint_of_the_same_words_comes_first(
    client: Client, sessions: Workspace
) -> None:
    await ask(client, "context_compress", summary="parser: dates are fixed", title="Dates")

    assert "dates are fixed" in await resumed(client, "dates")
    assert is_the_one_about_dates(await resumed(client, "fix the dates"))


async def test_without_a_checkpoint_resume_lists_the_sessions(
    client: Client, sessions: Workspace
) -> None:
    nothing, wrong = await resumed(client), await resumed(client, "zebra")

    assert nothing.startswith("No checkpoint is kept here")
    assert wrong.startswith("No checkpoint fits 'zebra'.")
    for text in (nothing, wrong):
        assert 's2 "Decide on the queue" · Claude Code' in text


@pytest.mark.parametrize("name", ["dddd4444-secret", "secret of another", "s99", "zebra"])
async def test_a_session_of_another_project_is_not_told(
    client: Client, sessions: Workspace, name: str
) -> None:
    said = await refusal(client, "context_summary", conversation=name)

    assert "secret of another project" not in f"{said}{await resumed(client, name)}"


async def test_the_summary_of_a_session_that_was_compressed_comes_first(
    client: Client, workspace: Workspace
) -> None:
    summary = (
        "This session is being continued from a previous conversation that ran out of context."
    )
    kept(workspace, "eeee5555", [f"{summary} We chose Postgres.", "Yes.", "Go on", "Done."])

    told = await ask(client, "context_summary", conversation="eeee5555")

    assert f"text quoted from the archive\n{summary} We chose Postgres." in told.text


async def test_the_conversation_that_asks_is_no_earlier_one(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path, {"CLAUDE_CODE_SESSION_ID": "aaaa1111"})
    kept(workspace, "aaaa1111", ["What the user types now", "Yes."])
    kept(workspace, "bbbb2222", ["Decide on the queue", "Yes."], days=1)

    async with connected(workspace) as client:
        text = await resumed(client)

    assert 's1 "Decide on the queue"' in text
    assert "types now" not in text


async def test_titles_of_sessions_complete_the_name(client: Client, sessions: Workspace) -> None:
    asked = {"name": "checkpoint", "value": "dec"}
    found = await client.complete(PromptReference(name="resume"), asked)

    assert found.completion.values == ["Decide on the queue"]


async def test_a_tenant_has_no_sessions_of_this_machine(workspace: Workspace) -> None:
    kept(workspace, "aaaa1111", ["Of the operator", "Yes."])

    async with connected(workspace.of_tenant("ana")) as client:
        answer = await ask(client, "context_summary")

    assert "Of the operator" not in answer.text and not listed_in(answer)
