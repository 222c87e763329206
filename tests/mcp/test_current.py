"""`current`: the live transcript of the Claude Code that started the server."""

import json
import re
from pathlib import Path

import pytest
from mcp import Client
from mcp_door import answer_of, ask, connected, refusal, workspace_in, write_transcript

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

    answer = await ask(client, "context_compress", target_tokens=9_000)

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

    async with connected(workspace) as client:
        said = await refusal(client, "context_status")

    assert "switched off" in said
