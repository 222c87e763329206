"""What other programs see of an answer: the tools, the keys of their facts, and those of `--json`.

The snapshots lie in `fixtures/faces`; `pytest tests/test_faces.py --inline-snapshot=fix` writes
them anew. Whoever does that has changed a promise, and says so in `CHANGELOG.md`.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from inline_snapshot import external_file
from mcp import Client
from mcp_door import (
    agrees,
    all_in,
    ask,
    connected,
    tells_a_part,
    workspace_in,
    write_messages,
    write_transcript,
)

from context_compression.cli import main
from context_compression.conversation import is_array, is_object
from context_compression.testing import conversation

REF = re.compile(r"[0-9a-f]{12}")


def keys(value: Any, before: str = "") -> Iterator[str]:
    """The paths of all keys in a JSON value: `refs.<ref>.what`, `steps[].name`."""
    if is_object(value):
        for key, inner in value.items():
            path = f"{before}.{'<ref>' if REF.fullmatch(key) else key}".removeprefix(".")
            yield path
            yield from keys(inner, path)
    elif is_array(value):
        for inner in value:
            yield from keys(inner, f"{before}[]")


def all_keys(value: Any) -> list[str]:
    return sorted(set(keys(value)))


@pytest.fixture
async def client(tmp_path: Path) -> Any:
    async with connected(workspace_in(tmp_path)) as client:
        yield client


@pytest.mark.anyio
async def test_the_tools_are_listed_as_before(client: Client) -> None:
    tools = (await client.list_tools()).tools

    listed = [tool.model_dump(mode="json", exclude_none=True) for tool in tools]

    assert listed == external_file("fixtures/faces/tools.json")


@pytest.mark.anyio
async def test_the_facts_of_the_tools_have_the_keys_that_they_had(
    client: Client, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    talk = conversation(10)
    transcript = str(write_transcript(project / "t.jsonl", talk, session="s-1"))
    file = str(write_messages(project / "talk.json", talk))
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "status of messages": ("context_status", {"messages": talk}),
        "compress messages": ("context_compress", {"messages": talk, "target_tokens": 9_000}),
        "preview": ("context_compress", {"conversation": transcript, "dry_run": True}),
        "ask for a summary": (
            "context_compress", {"conversation": transcript, "strategy": "summarize"},
        ),
        "compress": ("context_compress", {"conversation": transcript, "target_tokens": 9_000}),
        "status": ("context_status", {"conversation": transcript}),
        "status in detail": (
            "context_status", {"conversation": transcript, "response_format": "detailed"},
        ),
        "undo": ("context_compress", {"conversation": transcript, "undo": True}),
        "offload results": ("context_offload", {"conversation": file, "min_tokens": 300}),
        "offload a text": ("context_offload", {"content": "a text\n" * 50}),
        "offload a file": ("context_offload", {"path": "talk.json"}),
        "settings": ("context_config", {}),
        "change a setting": ("context_config", {"keep_recent": 5}),
        "summaries": ("context_summary", {}),
    }  # fmt: skip
    found: dict[str, list[str]] = {}

    for name, (tool, arguments) in calls.items():
        found[name] = all_keys((await ask(client, tool, **arguments)).facts)
    search = await ask(client, "context_restore", query="the")
    found["search"] = all_keys(search.facts)
    ref = REF.search(search.text)
    assert ref
    found["restore"] = all_keys((await ask(client, "context_restore", ref=ref[0])).facts)

    assert found == external_file("fixtures/faces/facts.json")


@pytest.mark.slow
def test_the_json_of_the_commands_has_the_keys_that_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one process: the commands share nothing but the store."""
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    talk = conversation(10)
    write_messages(tmp_path / "chat.json", talk)
    write_transcript(tmp_path / "t.jsonl", talk, session="s-1", charged=30_000)
    commands = {
        "status": "status chat.json",
        "status of a transcript": "status t.jsonl",
        "compress": "compress chat.json --target-tokens 9000",
        "compress a transcript": "compress t.jsonl --target-tokens 9000",
        "preview": "compress t.jsonl --target-tokens 5000 --dry-run",
        "report": "report t.jsonl",
        "report of all": "report --all",
        "sessions": "sessions",
        "summaries": "summaries",
        "archive": "archive",
        "config": "config",
        "search": "restore --query the",
        "doctor": "doctor",
        "archive prune": "archive prune --older-than 1d --yes",
        "archive delete": "archive delete s-1 --yes",
    }
    found: dict[str, list[str]] = {}

    for name, words in commands.items():
        done = CliRunner().invoke(main, [*words.split(), "--json"])
        assert done.exit_code in (0, 1), (name, done.output)
        found[name] = all_keys(json.loads(done.stdout))
        if name == "search":
            ref = REF.search(done.stdout)
            assert ref
            one = CliRunner().invoke(main, ["restore", ref[0], "--json"])
            found["restore"] = all_keys(json.loads(one.stdout))

    assert found == external_file("fixtures/faces/json.json")


ARGUMENTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "status": ("context_status", {}, "status"),
    "status in detail": ("context_status", {"response_format": "detailed"}, "status --detailed"),
    "preview": (
        "context_compress",
        {"target_tokens": 9_000, "dry_run": True},
        "compress --target-tokens 9000 --dry-run",
    ),
    "preview to nowhere": (
        "context_compress",
        {"target_tokens": 900_000, "dry_run": True},
        "compress --target-tokens 900k --dry-run",
    ),
    "compress": ("context_compress", {"target_tokens": 9_000}, "compress --target-tokens 9000"),
    "fall short": (
        "context_compress",
        {"target_tokens": 2_000, "strategy": "truncate"},
        "compress --target-tokens 2000 --strategy truncate",
    ),
    "undo": ("context_compress", {"undo": True}, "compress --undo"),
}
OF_ONE_DOOR = {"files_may_be_read_in", "next_call"}
"""Where the server of the tools may read files; and the next call, which is a command or a tool."""
OF_A_PAGE = {"note", "target_met", "other_refs"}
"""What `compress` tells people in words of its own, before the facts."""


@pytest.mark.anyio
@pytest.mark.parametrize("source", ["t.jsonl", "talk.json"])
@pytest.mark.parametrize("name", ARGUMENTS)
async def test_tools_and_commands_tell_the_same_facts_in_the_same_words(
    name: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Structured content, `--json` and both texts; each door finds the same store."""
    workspace = workspace_in(tmp_path)
    monkeypatch.chdir(workspace.cwd)
    monkeypatch.setenv("HOME", str(workspace.home))
    talk = conversation(12)
    write_transcript(workspace.cwd / "t.jsonl", talk, session="s-1", charged=30_000)
    path = str(workspace.cwd / source)
    write_messages(workspace.cwd / "talk.json", talk)
    if name == "undo":
        done = CliRunner().invoke(main, ["compress", path, "--target-tokens", "9000", "--json"])
        assert done.exit_code == 0, done.output
    before = tmp_path / "before"
    if workspace.store.folder.exists():
        shutil.copytree(workspace.store.folder, before)

    def as_before() -> None:
        shutil.rmtree(workspace.store.folder, ignore_errors=True)
        if before.exists():
            shutil.copytree(before, workspace.store.folder)

    tool, arguments, words = ARGUMENTS[name]
    async with connected(workspace) as client:
        answer = await ask(client, tool, conversation=path, **arguments)
    as_before()
    command, *options = words.split()
    as_json = CliRunner().invoke(main, [command, path, *options, "--json"])
    as_before()
    as_text = CliRunner().invoke(main, [command, path, *options])

    record = json.loads(as_json.stdout)
    if command == "compress":
        record.pop("messages", None)  # the command delivers them
    told = {fact: value for fact, value in answer.facts.items() if fact not in OF_ONE_DOOR}
    assert told == {fact: value for fact, value in record.items() if fact not in OF_ONE_DOOR}
    if name == "status":  # a text that is not detailed tells a part
        assert tells_a_part(answer)
    else:
        assert agrees(answer)
        own = OF_A_PAGE if command == "compress" and told.get("changed") else ()
        assert all_in(as_text.output, {n: fact for n, fact in told.items() if n not in own})
