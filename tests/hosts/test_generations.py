"""A reader says so when it meets a generation of its host's format that it has not seen."""

from pathlib import Path

import pytest
from opencode_database import Host
from transcripts import FIXTURES, Row, rows_of, written

from context_compression import hosts
from context_compression.errors import TranscriptError
from context_compression.hosts.opencode import sessions


def in_codex(row: Row) -> None:
    if row.get("type") == "session_meta":
        row["payload"]["history_mode"] = "sharded"


def in_pi(row: Row) -> None:
    if row.get("type") == "session":
        row["version"] = 9


def in_copilot_cli(row: Row) -> None:
    if row.get("type") == "session.start":
        row["data"]["version"] = 9


def in_claude_code(row: Row) -> None:
    row["version"] = "9.0.1"


def in_gemini_cli(row: Row) -> None:
    if "projectHash" in row:
        row["version"] = 9


CHANGED = {
    "claude_code": in_claude_code, "codex": in_codex, "copilot_cli": in_copilot_cli,
    "gemini_cli": in_gemini_cli, "pi": in_pi,
}  # fmt: skip


@pytest.mark.parametrize("host", CHANGED)
def test_a_newer_generation_is_said_and_a_known_one_is_not(host: str, tmp_path: Path):
    rows = rows_of(FIXTURES / host / "session.jsonl")
    known = hosts.read(written(tmp_path / "known.jsonl", rows))
    for row in rows:
        CHANGED[host](row)

    newer = hosts.read(written(tmp_path / "newer.jsonl", rows))

    assert not known.missing
    [said] = newer.missing
    assert "is not known here" in said and said in newer.warnings
    assert newer.messages == known.messages


def test_what_opencode_1_kept_of_a_session_is_not_given_as_live(tmp_path: Path):
    path = tmp_path / "opencode.db"
    host = Host(path)
    frozen, own = host.keep("session"), host.keep("session", "ses_own")
    host.db.execute("CREATE TABLE session_v2 (id, parent_id, directory, title, time_updated)")
    host.db.execute("INSERT INTO session_v2 VALUES ('ses_cafe', NULL, '/work/app', 'On', 99000)")
    host.db.execute("INSERT INTO session_v2 VALUES ('ses_new', NULL, '/work/app', 'New', 98000)")
    host.db.commit()

    for session in (frozen, path / "ses_new"):
        with pytest.raises(TranscriptError, match="opencode 2"):
            hosts.read(session)
    assert hosts.read(own).messages
    listed = sessions({"XDG_DATA_HOME": str(tmp_path.parent), "OPENCODE_DB": str(path)}, tmp_path)
    assert [(each.id, each.about) for each in listed] == [
        ("ses_cafe", "On"), ("ses_new", "New"), ("ses_own", "Two folders"),
    ]  # fmt: skip
