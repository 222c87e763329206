"""What programs are told of the answers. The client of the SDK checks each answer against it."""

from typing import Any

import pytest
from mcp import Client
from mcp_door import ask, write_messages, write_transcript
from transcripts import FIXTURES

from context_compression.testing import conversation
from context_compression.workspace import Workspace

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_every_listed_fact_is_in_a_real_answer(client: Client, workspace: Workspace) -> None:
    talk = conversation(10)
    transcript = str(write_transcript(workspace.cwd / "t.jsonl", talk, session="s-1"))
    file = str(write_messages(workspace.cwd / "talk.json", talk))
    compacted = workspace.cwd / "c.jsonl"
    compacted.write_bytes((FIXTURES / "claude_code" / "compacted.jsonl").read_bytes())
    calls: list[tuple[str, dict[str, Any]]] = [
        ("context_status", {}),
        ("context_status", {"messages": talk}),
        ("context_compress", {}),
        ("context_compress", {"messages": talk, "target_tokens": 9_000}),
        ("context_compress", {"conversation": transcript, "dry_run": True}),
        ("context_compress", {"conversation": transcript, "strategy": "summarize"}),
        ("context_compress", {"conversation": transcript, "target_tokens": 9_000}),
        ("context_compress", {"conversation": transcript, "undo": True}),
        ("context_compress", {"summary": "so far so good"}),
        ("context_offload", {"conversation": file, "min_tokens": 300}),
        ("context_offload", {"content": "a text"}),
        ("context_offload", {"path": "talk.json"}),
        ("context_status", {"conversation": transcript, "response_format": "detailed"}),
        ("context_status", {"conversation": str(compacted)}),
        ("context_config", {}),
        ("context_config", {"keep_recent": 5}),
    ]
    seen: dict[str, set[str]] = {}

    for tool, arguments in calls:  # the client raises for an answer that does not fit
        facts = (await ask(client, tool, **arguments)).facts
        seen.setdefault(tool, set()).update(facts)

    for tool in (await client.list_tools()).tools:
        if schema := tool.output_schema:
            assert schema["required"] == ["headline"]
            assert "additionalProperties" not in schema
            assert schema["properties"].keys() <= seen[tool.name], tool.name
