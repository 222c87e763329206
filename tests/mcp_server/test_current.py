"""`current`: the live transcript of the host that started the server."""

import json
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import Client
from mcp_door import answer_of, ask, connected, refusal, workspace_in, write_transcript
from transcripts import FIXTURES

from context_compression.session import Session
from context_compression.testing import conversation
from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio

STARTED_WITH = {"CLAUDE_CODE_SESSION_ID": "s-old"}


def transcript_of(workspace: Workspace, session: str, call: str | None = None) -> Path:
    """A transcript where Claude Code keeps those of our project; the last row makes the call."""
    project = re.sub(r"[^A-Za-z0-9]", "-", str(workspace.cwd))
    path = workspace.home / ".claude" / "projects" / project / f"{session}.jsonl"
    write_transcript(path, conversation(8), session=session, charged=99_000)
    if call:
        used = {"type": "tool_use", "id": call, "name": "mcp__cc__context_status", "input": None}
        message = {"role": "assistant", "id": "m-last", "content": [used]}
        row = {"type": "assistant", "uuid": "last", "sessionId": session, "message": message}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**row, "parentUuid": None}) + "\n")
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_in(tmp_path, STARTED_WITH)


@pytest.fixture(params=["auto", "legacy"])
async def client(request: pytest.FixtureRequest, workspace: Workspace) -> AsyncIterator[Client]:
    async with connected(workspace, request.param, "claude-code") as client:
        yield client


async def test_the_call_itself_tells_which_transcript_is_ours(
    client: Client, workspace: Workspace
) -> None:
    transcript_of(workspace, "s-old")
    path = transcript_of(workspace, "s-new", call="toolu_1")

    result = await client.call_tool(
        "context_status",
        {},
        meta={"claudecode/toolUseId": "toolu_1"},  # pyright: ignore[reportArgumentType]  # an open map
    )

    assert answer_of(result).facts["transcript"] == f"{path} (claude-code)"


async def test_without_the_call_the_session_of_the_start_is_taken_if_it_is_the_newest(
    client: Client, workspace: Workspace
) -> None:
    path = transcript_of(workspace, "s-old")

    for conversation_ in (None, "current", ""):
        answer = await ask(client, "context_status", conversation=conversation_)
        assert answer.facts["transcript"].startswith(str(path))


async def test_compressing_it_leaves_it_alone(client: Client, workspace: Workspace) -> None:
    path = transcript_of(workspace, "s-old")
    before = path.read_bytes()

    answer = await ask(client, "context_compress", target_tokens=10_000)

    assert answer.facts["session"] == "s-old"
    assert "The host's own history is unchanged" in answer.text
    assert path.read_bytes() == before


async def test_unsure_is_an_error_that_lists_the_candidates(
    client: Client, workspace: Workspace
) -> None:
    path = transcript_of(workspace, "s-other")

    said = await refusal(client, "context_status")

    assert "It is not certain" in said
    assert str(path) in said


async def test_reading_it_can_be_switched_off(tmp_path: Path) -> None:
    workspace = workspace_in(
        tmp_path, {**STARTED_WITH, "CONTEXT_COMPRESSION_READ_HOST_TRANSCRIPTS": "false"}
    )
    transcript_of(workspace, "s-old")

    async with connected(workspace, name="claude-code") as client:
        answers = [await ask(client, tool) for tool in ("context_status", "context_compress")]

    for answer in answers:
        assert "reading this host's conversation is switched off" in answer.text.splitlines()[0]
        assert "READ_HOST_TRANSCRIPTS" in answer.facts["reason"]


async def test_the_candidates_may_be_read_by_their_paths(
    client: Client, workspace: Workspace
) -> None:
    other = transcript_of(workspace, "s-other")
    elsewhere = workspace.home / ".claude" / "projects" / "-elsewhere" / "s-x.jsonl"
    elsewhere.parent.mkdir(parents=True)
    shutil.copy(other, elsewhere)

    answer = await ask(client, "context_status", conversation=str(other))
    said = await refusal(client, "context_status", conversation=str(elsewhere))

    assert answer.facts["session"] == "s-other"
    assert "lies outside the folders that may be read" in said


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_codex_tells_its_thread_and_its_own_numbers_are_the_answer(
    mode: str, tmp_path: Path
) -> None:
    workspace = workspace_in(tmp_path)
    folder = workspace.home / ".codex" / "sessions" / "2026" / "11" / "01"
    folder.mkdir(parents=True)
    thread = "019f0000-0000-7000-8000-00000000cafe"
    rollout = folder / f"rollout-2026-11-01T10-00-00-{thread}.jsonl"
    shutil.copy(FIXTURES / "codex" / "session.jsonl", rollout)

    async with connected(workspace, mode, "codex-mcp-client") as client:
        result = await client.call_tool(
            "context_status",
            {},
            meta={"threadId": thread},  # pyright: ignore[reportArgumentType]  # an open map
        )

    facts = answer_of(result).facts
    assert facts["transcript"] == f"{rollout} (codex)"
    assert (facts["used_tokens"], facts["total_budget"]) == (1_710, 258_400)


async def test_a_client_we_do_not_know_is_told_which_hosts_we_do(workspace: Workspace) -> None:
    transcript_of(workspace, "s-old")

    async with connected(workspace, name="somebody-else") as client:
        answer = await ask(client, "context_status")

    assert "somebody-else" in answer.facts["reason"]
    assert "Claude Code, Codex, Gemini CLI, opencode, Pi" in answer.facts["reason"]


async def test_our_own_log_may_be_named_by_its_path(workspace: Workspace) -> None:
    session = Session(workspace.store, "mine")
    session.record(*conversation(3))
    log = workspace.store.folder / "sessions" / "mine" / "events.jsonl"

    async with connected(workspace) as client:
        answer = await ask(client, "context_status", conversation=str(log))

    assert answer.facts["session"] == "mine"
    assert answer.facts["messages"] == len(session.view())
