"""A whole session of a client that does not share its conversation, such as Claude Desktop.

The server runs as such a client starts it: over stdio, in an empty home folder.
"""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import Implementation, ResourceTemplateReference, TextContent, TextResourceContents
from mcp_door import agrees, ask, everything_in, refusal, tells_a_part

from context_compression.tokens import base_count

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

FIRST = "## Goal\nA parser for TOML.\n## Rules\n`no regex`\n## Next\nDates."
SECOND = "## Goal\nA parser for TOML.\n## Next\nDates work; write the docs."
LOG = "".join(f"line {n} is ok\n" for n in range(2_000))
NOT_SHARED = "this client does not share its conversation with this server"
KEEP = 'context_compress(summary="<text>")'


def started_in(home: Path, allowed: Path) -> StdioServerParameters:
    source = str(Path(__file__).parents[2] / "server")
    environ = {"HOME": str(home), "USERPROFILE": str(home), "PATH": os.environ["PATH"]}
    allowing = {"CONTEXT_COMPRESSION_ALLOWED_PATHS": str(allowed), "PYTHONPATH": source}
    command = ["-m", "context_compression", "serve"]
    return StdioServerParameters(
        command=sys.executable, args=command, cwd=str(home), env=environ | allowing
    )


async def prompt(client: Client, name: str, **arguments: str) -> str:
    [message] = (await client.get_prompt(name, arguments)).messages
    assert isinstance(message.content, TextContent)
    return message.content.text


async def resource(client: Client, uri: str) -> str:
    [contents] = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    return contents.text


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_every_call_is_answered_with_what_helps_in_such_a_client(
    tmp_path: Path, mode: Any
) -> None:
    home, documents = tmp_path / "home", tmp_path / "documents"
    for folder in (home, documents):
        folder.mkdir()
    (documents / "log.txt").write_text(f"{LOG}ERROR: refused at db.py:44\n{LOG}", "utf-8")
    (home / "private.txt").write_text("private", "utf-8")
    desktop = Implementation(name="claude-ai", version="0.1.0")

    async with Client(started_in(home, documents), mode=mode, client_info=desktop) as client:
        await nothing_is_known_and_nothing_fails(client)
        assert everything_in(home).keys() == {"private.txt"}
        await a_checkpoint_goes_from_chat_to_chat(client)
        await a_file_and_a_text_are_kept_and_found(client, documents)
        await wrong_calls_say_what_is_right(client)
        told = await refusal(client, "context_restore")
        detailed = await ask(client, "context_status", response_format="detailed")
        status = await ask(client, "context_status")

    assert told.endswith('context_status(response_format="detailed") lists the newest refs.')
    assert "newest_refs" not in status.facts
    whats = [*detailed.facts["newest_refs"].values()]
    assert whats[0] == "text that begins 'The customer wants dates in ISO form.'"
    assert len(whats) == 4
    assert (
        f"{NOT_SHARED}, so its size is not known here; archived here: 2 sessions, " in status.text
    )
    assert any(line.startswith("offloaded: 2 originals, ") for line in status.facts["sessions"])
    assert base_count(status.text) <= 250
    assert status.facts["newest_checkpoints"][0].endswith("Z: A parser for TOML")
    assert "context_summary() brings the newest checkpoints into this chat" in status.text
    assert 'context_status(response_format="detailed") lists the newest refs' in status.text
    assert tells_a_part(status) and agrees(detailed)


async def nothing_is_known_and_nothing_fails(client: Client) -> None:
    for arguments in ({}, {"conversation": "current"}, {"conversation": "", "messages": None}):
        status = await ask(client, "context_status", **arguments)
        assert f"{NOT_SHARED}, so its size is not known here; nothing is archived" in status.text
        assert "but by 'claude-ai', so there is no current one" in status.facts["reason"]
        assert base_count(status.text) <= 120
        assert status.facts["settings"]["strategy"] == "auto"
        assert any(KEEP in call for call in status.facts["calls_that_help"])
    for arguments in ({}, {"focus": "the parser"}, {"target_tokens": 9_000, "dry_run": True}):
        compressed = await ask(client, "context_compress", **arguments)
        assert not compressed.failed
        assert compressed.text.startswith(f"nothing was compressed: {NOT_SHARED}. A checkpoint")
        assert compressed.facts["changed"] is False
        assert "Write a summary of our work" in compressed.facts["instructions"]
        assert ("Its focus: the parser" in compressed.text) == ("focus" in arguments)
        assert compressed.facts["next_call"] == KEEP
        assert agrees(compressed)
    assert (await ask(client, "context_summary")).text.startswith("No summaries yet.")
    assert "Nothing is archived yet." in (await ask(client, "context_restore", query="x")).text
    assert "there is nothing to resume" in await prompt(client, "resume")
    assert NOT_SHARED[:42] in await prompt(client, "compact", focus="the parser")
    assert (await client.list_resources()).resources == []
    with pytest.raises(MCPError, match="No checkpoint 'latest' is kept"):
        await resource(client, "context://checkpoint/latest")


async def a_checkpoint_goes_from_chat_to_chat(client: Client) -> None:
    asked = await prompt(client, "handoff")
    first = await ask(client, "context_compress", summary=FIRST)
    second = await ask(client, "context_compress", summary=SECOND, conversation="current")
    past = await ask(client, "context_summary", conversation="current")

    assert "context_compress(summary=<the text>, title=" in asked
    assert f"kept as {first.facts['ref']}; context_summary brings it into any chat" in first.text
    assert past.pages == [SECOND, FIRST]
    assert "note: no conversation is known as current, so this is of all sessions" in past.text
    assert f"quoted from the archive\n{SECOND}\n```" in await prompt(client, "resume")
    assert SECOND in await resource(client, "context://checkpoint/latest")
    assert FIRST in await resource(client, f"context://checkpoint/{first.facts['ref']}")
    listed = [each.uri.rpartition("/")[2] for each in (await client.list_resources()).resources]
    assert listed == ["latest", second.facts["ref"], first.facts["ref"]]


async def a_file_and_a_text_are_kept_and_found(client: Client, documents: Path) -> None:
    file = await ask(client, "context_offload", path=str(documents / "log.txt"))
    text = await ask(client, "context_offload", content="The customer wants dates in ISO form.")
    ref = file.facts["ref"]
    line = await ask(client, "context_restore", ref=ref, lines="2001")
    words = await ask(client, "context_restore", ref=ref, query="refused")
    found = await ask(client, "context_restore", query="customer dates", conversation="current")
    of_refs = ResourceTemplateReference(type="ref/resource", uri="context://ref/{ref}")
    completed = await client.complete(of_refs, {"name": "ref", "value": ref[:3]})

    assert "ERROR: refused at db.py:44" in file.pages[0]
    assert f'context_restore(ref="{ref}") brings it back; with lines="10-40"' in file.text
    assert line.pages == ["ERROR: refused at db.py:44"]
    assert words.pages == ["2001: ERROR: refused at db.py:44"]
    assert f"ref {text.facts['ref']}" in found.text
    assert completed.completion.values == [ref]
    assert "line 1999 is ok\nERROR" in await resource(client, f"context://ref/{ref}")


async def wrong_calls_say_what_is_right(client: Client) -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("context_status", {"conversation": "/nowhere/x.jsonl"}, "outside the folders that may be"),
        ("context_status", {"conversation": "none-such"}, "Pass the id of a recorded session"),
        ("context_offload", {"path": "private.txt"}, "A text that you have can be passed as"),
        ("context_offload", {"conversation": "current"}, "context_offload with content archives"),
        ("context_offload", {"content": ""}, "Pass one of content, path and conversation"),
        ("context_restore", {"ref": "ffff0000"}, "The newest refs: "),
        ("context_restore", {}, "or query, to search the archive."),
        ("context_compress", {"undo": True}, "Without a conversation, context_compress(summary=…)"),
        ("context_compress", {"plan_id": "abc", "summary": "x"}, "There is no plan 'abc'"),
        ("context_compress", {"strategy": "summarise"}, "(nearest: summarize)"),
        ("context_config", {"token_budgt": 5}, "did you mean token_budget?"),
    ]
    for tool, arguments, wanted in cases:
        assert wanted in await refusal(client, tool, **arguments), (tool, arguments)
