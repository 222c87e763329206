"""Real transcripts of six hosts, read as another reader read them.

`EXPECTED.json` is that reader's account, checked against what providers charged. Where ours says
otherwise, the difference is a question; `DECIDED` holds the answers.
"""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from transcripts import data_folder as folder
from transcripts import recordings, rows_of

from context_compression import compress, hosts
from context_compression.conversation import parse, problems
from context_compression.hosts.claude_code.transcript.context import CLEARED, Outline
from context_compression.hosts.claude_code.transcript.rows import live_branch
from context_compression.hosts.codex.transcript import CodexReader
from context_compression.transcripts import At

RECORDED = [pytest.param(path, id=path.name.split(".")[0]) for path in recordings()]
ABSENT = [pytest.param(None, id="none")]  # the fixture `data_folder` then says why it skips

DECIDED: dict[str, dict[str, tuple[Any, Any]]] = {
    # The fourteen results that the microcompaction cleared lie before the recorded piece begins:
    # its row names their ids, none of them stands in the file.
    "claude-code-cli-e3f40e1f": {"cleared_tool_results": (14, 0)},
    # Pi does not send again what was aborted or failed (22 answers; eight say something, with 18
    # calls that nobody answered). EXPECTED.json has the whole history.
    "pi-pi-mono-1e312af0": {"messages": (876, 860), "tool_uses": (391, 373)},
}
"""By file and fact: what is expected, and what we found instead."""


@pytest.mark.slow
@pytest.mark.parametrize("path", RECORDED or ABSENT)
def test_a_recorded_transcript_gives_what_another_reader_found(path: Path, data_folder: Path):
    expected = _expected(path)

    found = FOUND[path.relative_to(folder() / "conversations/native").parts[0]](path, expected)

    differing = {key: (expected[key], found[key]) for key in found if expected[key] != found[key]}
    assert found
    assert differing == DECIDED.get(path.name.split(".")[0], {})


def _expected(path: Path) -> dict[str, Any]:
    """What EXPECTED.json says of a file, in one level."""
    native = folder() / "conversations" / "native"
    everything = json.loads((native / "EXPECTED.json").read_text(encoding="utf-8"))
    about: dict[str, Any] = everything[f"native/{path.relative_to(native)}"]
    return about | about.get("live", {})


def _found_in_claude_code(path: Path, expected: dict[str, Any]) -> dict[str, Any]:
    transcript = hosts.read(path)
    if expected.get("all_sidechain"):  # EXPECTED.json reads it as a main one and leaves it empty
        assert (len(transcript.messages), expected["live"]["records"]) == (4, 0)
        assert transcript.usage
        return {"all_sidechain": True}
    rows = [row for row in rows_of(path) if "uuid" in row]
    branch = live_branch({row["uuid"]: row for row in rows}).rows
    return {
        "compact_boundaries": sum(row.get("subtype") == "compact_boundary" for row in rows),
        "records": len(branch),
        "user_assistant": sum(row["type"] in ("user", "assistant") for row in branch),
        "first_uuid": branch[0]["uuid"],
        "last_uuid": branch[-1]["uuid"],
        "has_summary": any(row.get("isCompactSummary") for row in branch),
        "cleared_tool_results": json.dumps(transcript.messages).count(json.dumps(CLEARED)),
        "last_prompt_tokens": transcript.usage and transcript.usage[0],
    }


def _found_in_codex(path: Path, expected: dict[str, Any]) -> dict[str, Any]:
    reader = CodexReader()
    for row in rows_of(path):
        reader.add(row, At(0, 0))
    transcript = hosts.read(path)
    assert transcript.usage
    charged = expected["last_token_usage"] | {"total_tokens": transcript.usage[0]}
    return {"live_response_items": len(reader.items), "last_token_usage": charged}


def _found_elsewhere(path: Path, expected: dict[str, Any]) -> dict[str, Any]:
    messages = parse(hosts.read(path).messages).messages
    return {
        # EXPECTED.json joins messages of one role that follow each other.
        "messages": 1 + sum(a.role != b.role for a, b in pairwise(messages)),
        "tool_uses": sum(len(message.calls) for message in messages),
        "compactions": 0,
    }


FOUND: dict[str, Callable[[Path, dict[str, Any]], dict[str, Any]]] = {
    "claude-code": _found_in_claude_code,
    "claude-code-subagents": _found_in_claude_code,
    "codex": _found_in_codex,
    "pi": _found_elsewhere,
    "opencode": _found_elsewhere,
    "gemini-cli": _found_elsewhere,
    "copilot-cli": _found_elsewhere,
}


CLAUDE_CODE = [param for param in RECORDED if "claude-code" in str(param.values[0])]


@pytest.mark.parametrize("path", CLAUDE_CODE or ABSENT)
def test_the_live_branch_is_the_same_looked_for_behind_the_last_compaction_or_everywhere(
    path: Path, data_folder: Path
):
    rows = [row for row in rows_of(path) if "uuid" in row and not row.get("isSidechain")]
    outline = Outline()

    for count, row in enumerate(rows, 1):
        outline.add(row["type"], row, At(0, 0))
        if count % 60 == 0 or count == len(rows):
            everywhere = live_branch({row["uuid"]: row for row in rows[:count]})
            near = outline.branch()

            assert [r["uuid"] for r in near.rows] == [r["uuid"] for r in everywhere.rows]
            assert near.kept == everywhere.kept


@pytest.mark.parametrize("path", RECORDED or ABSENT)
def test_calls_and_results_of_a_recorded_transcript_stand_together(path: Path, data_folder: Path):
    messages = parse(hosts.read(path).messages).messages

    for message, following in pairwise(messages):
        if message.calls:
            answered = {result.call_id for result in following.results}
            assert answered == {call.id for call in message.calls}


@pytest.mark.slow
@pytest.mark.parametrize("path", RECORDED or ABSENT)
def test_a_recorded_transcript_compresses_to_a_valid_view(path: Path, data_folder: Path):
    transcript = hosts.read(path)
    before = json.dumps(transcript.messages)

    result = compress(
        transcript.messages, system=transcript.system, model=transcript.model, force=True
    )

    view = parse(result.messages)
    assert problems(view.messages, view.format.rules) == ()
    assert result.tokens_after <= result.tokens_before
    assert json.dumps(transcript.messages) == before
