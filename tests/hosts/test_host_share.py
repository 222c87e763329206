"""What a host adds to each request is counted from a compaction to the next answer, too."""

import json
from pathlib import Path

import pytest
from transcripts import FIXTURES

from context_compression.hosts import Conversations
from context_compression.workspace import Opened, Workspace


def opened(path: Path) -> Opened:
    home = path.parent
    workspace = Workspace.here(environ={}, cwd=home, home=home, allow=[str(home)])
    return Conversations(workspace).open(str(path))


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("claude_code/compacted.jsonl", 7, 9),
        ("claude_code/compacted-kept-behind-tail.jsonl", 6, 9),
        ("claude_code/microcompacted.jsonl", 7, 8),
        ("pi/compacted.jsonl", 19, 20),
        ("codex/compacted.jsonl", 35, 36),
        ("codex/compacted-without-history.jsonl", 13, 14),
        ("gemini_cli/compressed.jsonl", 20, 21),
        ("copilot_cli/compacted.jsonl", 25, 26),
    ],
)
def test_the_hosts_share_is_the_same_before_and_after_its_compaction(
    file: str, before: int, after: int, tmp_path: Path
) -> None:
    rows = (FIXTURES / file).read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "session.jsonl"

    path.write_text("".join(rows[:before]), encoding="utf-8")
    was = opened(path)
    path.write_text("".join(rows[:after]), encoding="utf-8")
    now = opened(path)

    assert now.transcript and now.shown is not None
    assert now.tokens_beside == was.tokens_beside
    used = now.session.status(now.shown, now.anchor).usage.used_tokens
    assert used == now.session.usage(now.shown).used_tokens + was.tokens_beside


def test_a_share_that_was_measured_two_compactions_ago_still_counts(tmp_path: Path) -> None:
    rows = (FIXTURES / "claude_code/compacted.jsonl").read_text(encoding="utf-8").splitlines()
    again = [json.loads(row) for row in rows[6:8]]
    again[0].update(uuid="b2", logicalParentUuid=json.loads(rows[8])["uuid"])
    again[1].update(uuid="c2", parentUuid="b2")
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(rows[:9]) + "\n", encoding="utf-8")
    once = opened(path)
    path.write_text("\n".join([*rows[:9], *map(json.dumps, again)]) + "\n", encoding="utf-8")

    twice = opened(path)

    assert twice.transcript and len(twice.transcript.compactions) == 2
    assert twice.tokens_beside == once.tokens_beside > 0
