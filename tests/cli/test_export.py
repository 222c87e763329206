"""What `export` writes, says and leaves alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from context_compression import Session, count_tokens, hosts
from context_compression.hosts import EXPORTERS
from context_compression.testing import ScriptedSummarizer

from .conftest import Desk

TARGET = 6_000


def sessions(desk: Desk) -> list[Path]:
    """Of Claude Code, in the home of this desk."""
    return list((desk.folder / "home/.claude/projects").rglob("*.jsonl"))


def test_export_prints_the_command_that_resumes_and_the_account_beside_it(desk: Desk):
    before = (desk.folder / "chat.json").read_bytes()

    done = desk.does("export", "chat.json", "--host", "claude-code", "--target-tokens", str(TARGET))

    [session] = sessions(desk)
    assert done.stdout.decode() == f"cd {desk.folder} && claude --resume {session.stem}\n"
    assert "tokens, " in done.stderr.decode().splitlines()[0]
    assert str(session) in done.stderr.decode()
    assert count_tokens(hosts.read(session).messages) <= TARGET
    assert (desk.folder / "chat.json").read_bytes() == before


def test_what_left_can_be_restored_in_the_folder_of_the_new_session(desk: Desk):
    told = desk.json("export", "chat.json", "--host", "codex", "--target-tokens", str(TARGET))

    ref = next(ref for ref, about in told["account"]["refs"].items() if "result" in about)
    assert ref in Path(told["path"]).read_text(encoding="utf-8")
    assert desk.does("restore", ref).stdout


def test_a_recorded_session_is_written_as_it_stands(desk: Desk):
    done = desk.does("compress", "chat.json", "--target-tokens", str(TARGET))
    view: list[dict[str, Any]] = json.loads(done.stdout)

    told = desk.json("export", "chat", "--host", "claude-code")

    assert len(hosts.read(Path(told["path"])).messages) == len(view)
    assert told["account"] == {}


def test_a_summary_in_the_system_prompt_goes_along(desk: Desk, messages: list[dict[str, Any]]):
    session = Session(
        desk.store, "s", settings={"summary_role": "system"}, summarizer=ScriptedSummarizer()
    )
    session.record(*messages)
    session.compress(strategy="summarize", target_tokens=TARGET)
    assert "<summary>" in session.system

    told = desk.json("export", "s", "--host", "claude-code")

    written = hosts.read(Path(told["path"])).messages
    assert "<summary>" in str(written[0])
    assert len(written) == len(session.view()) + 1


@pytest.mark.slow
def test_every_host_is_offered_and_another_is_refused(desk: Desk):
    for host in EXPORTERS:
        assert desk.json("export", "chat.json", "--host", host)["host"] == host

    refused = desk.run("export", "chat.json", "--host", "notepad")

    assert refused.returncode == 2
    assert all(host in refused.stderr.decode() for host in EXPORTERS)


def test_a_conversation_of_nothing_is_refused_and_nothing_is_written(desk: Desk):
    desk.write("empty.json", {"messages": []})

    refused = desk.run("export", "empty.json", "--host", "claude-code")

    assert refused.returncode == 2
    assert "nothing to export" in refused.stderr.decode()
    assert not sessions(desk)


def test_hosts_that_keep_their_files_elsewhere_get_theirs_there(desk: Desk):
    told = json.loads(
        desk.does(
            "export", "chat.json", "--host", "codex", "--json",
            env={"CODEX_HOME": str(desk.folder / "elsewhere")},
        ).stdout
    )  # fmt: skip

    assert Path(told["path"]).is_relative_to(desk.folder / "elsewhere" / "sessions")
