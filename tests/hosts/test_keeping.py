"""When sessions are kept, what belongs to one, who sees it; and real hosts that go on from it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from codex_rollouts import CodexFolder, id_of, said
from other_hosts import CODEX, SERVER, Codex
from real_hosts import ClaudeCode, Desk
from scripted_model import ScriptedModel
from six_hosts import IDS, PLACES, SixHosts

from context_compression import hosts
from context_compression.errors import ConversationNotFound
from context_compression.hosts import Conversations, answer
from context_compression.hosts.keeping import look, put_back
from context_compression.store import KeptSessions
from context_compression.testing.messages_api import MessagesAPI
from context_compression.transcripts import ToolRequest
from context_compression.workspace import Workspace, kept_in

PATIENCE = 600
STEP = 0.1


@pytest.fixture(autouse=True)
def no_other_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)


def workspace_in(home: Path, cwd: Path | None = None) -> Workspace:
    cwd = cwd or home / "work"
    cwd.mkdir(parents=True, exist_ok=True)
    return Workspace.here(environ={}, home=home, cwd=cwd)


@pytest.fixture
def six(tmp_path: Path) -> SixHosts:
    return SixHosts.in_home(tmp_path)


@pytest.fixture
def kept(six: SixHosts) -> KeptSessions:
    kept = kept_in(workspace_in(six.home))
    kept.switch(on=True)
    return kept


def test_a_look_keeps_nothing_before_it_was_asked_for(six: SixHosts) -> None:
    workspace = workspace_in(six.home)

    assert look(workspace).sessions == 0
    assert not kept_in(workspace).folder.exists()


def test_the_results_and_subagents_of_a_session_are_kept_with_it(
    six: SixHosts, kept: KeptSessions
) -> None:
    transcript = six.transcript("claude-code")
    beside = {
        "tool-results/toolu_1.txt": b"a long result\n",
        "subagents/agent-a1.jsonl": b'{"type":"user"}\n',
        "subagents/workflows/w/agent-b2.jsonl": b'{"type":"user"}\n',
    }
    folder = transcript.with_suffix("")
    for name, data in beside.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    workspace = workspace_in(six.home)
    look(workspace)
    [session] = [each for each in kept.sessions() if each.host == "claude-code"]
    for path in [transcript, *(folder / name for name in beside)]:
        path.unlink()

    copy = kept.unpacked(session)
    put_back(workspace, session)

    assert {name: (copy.with_suffix("") / name).read_bytes() for name in beside} == beside
    assert {name: (folder / name).read_bytes() for name in beside} == beside
    assert session.subagents == 2


def test_the_files_that_a_thread_goes_on_from_are_kept_with_it(tmp_path: Path) -> None:
    codex = CodexFolder(tmp_path / ".codex", tmp_path / "work")
    first = codex.write(id_of(1), [said("user", "The first request."), said("assistant", "Done.")])
    fork = codex.write(id_of(2), [said("user", "The second request.")], base=first.base())
    workspace = workspace_in(tmp_path)
    kept = kept_in(workspace)
    kept.switch(on=True)
    look(workspace)
    for each in (first, fork):
        each.path.unlink()

    [session] = [each for each in kept.sessions() if each.id == fork.thread]
    messages = hosts.read(kept.unpacked(session)).messages

    assert "The first request." in str(messages)
    assert "The second request." in str(messages)


def test_a_packed_transcript_is_kept_as_what_it_holds(six: SixHosts, kept: KeptSessions) -> None:
    from context_compression.extras import zstandard

    look(workspace_in(six.home))
    plain = six.transcript("codex")
    data = plain.read_bytes()
    plain.with_name(f"{plain.name}.zst").write_bytes(zstandard().compress(data))
    plain.unlink()

    look(workspace_in(six.home))

    versions = [each for each in kept.sessions() if each.host == "codex"]
    assert {each.sha256 for each in versions} == {versions[0].sha256}
    assert kept.unpacked(versions[0]).read_bytes() == data
    assert kept.unpacked(versions[0]).name == plain.name


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("claude-code", "PreCompact"),
        ("codex", "PreCompact"),
        ("opencode", "session.compacting"),
        ("pi", "session_before_compact"),
    ],
)
async def test_a_session_is_kept_before_its_host_compacts(
    six: SixHosts, kept: KeptSessions, host: str, name: str
) -> None:
    event: dict[str, Any] = {
        "hook_event_name": name, "session_id": IDS[host], "messages": [],
    }  # fmt: skip
    if host in PLACES:
        event["transcript_path"] = str(six.transcript(host))

    await answer(host, workspace_in(six.home), event)

    assert [(each.host, each.id) for each in kept.sessions()] == [(host, IDS[host])]


@pytest.mark.anyio
async def test_no_hook_keeps_a_session_unless_that_is_on(six: SixHosts) -> None:
    workspace = workspace_in(six.home)
    event = {
        "hook_event_name": "PreCompact",
        "session_id": IDS["codex"],
        "transcript_path": str(six.transcript("codex")),
    }

    await answer("codex", workspace, event)

    assert not kept_in(workspace).folder.exists()


def test_an_agent_reads_what_was_kept_of_its_own_project_alone(
    six: SixHosts, kept: KeptSessions
) -> None:
    look(workspace_in(six.home))
    six.forget()
    asked = ToolRequest("an agent", tool="context_status", arguments={})

    elsewhere = Conversations(workspace_in(six.home))
    with pytest.raises(ConversationNotFound):
        elsewhere.open(IDS["codex"], tool_request=asked)
    assert elsewhere.open(IDS["codex"]).host == "codex", "the user may"

    here = Conversations(Workspace.here(environ={}, home=six.home, cwd=Path("/work/app")))
    assert here.open(IDS["codex"], tool_request=asked).host == "codex"


def test_a_tenant_has_nothing_of_what_the_user_keeps(six: SixHosts, kept: KeptSessions) -> None:
    look(workspace_in(six.home))
    tenant = workspace_in(six.home).of_tenant("acme")

    with pytest.raises(ConversationNotFound):
        Conversations(tenant).open(IDS["codex"])
    assert look(tenant).sessions == 0


def until(found: Iterator[bool]) -> None:
    """Wait until something is found, at most a minute."""
    for _ in range(PATIENCE):
        if next(found):
            return
        Event().wait(STEP)
    raise AssertionError("It did not come.")


def seen(kept: KeptSessions, *hosts: str) -> Iterator[bool]:
    """Whether the sessions of these hosts are kept by now."""
    while True:
        yield {*hosts} <= {each.host for each in kept.sessions()}


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no kill -9")
def test_a_server_has_others_look_when_it_begins_and_however_it_ends(
    six: SixHosts, kept: KeptSessions
) -> None:
    late = six.transcript("pi")
    away = late.rename(six.home / "away.jsonl")
    environ = {"HOME": str(six.home), "PATH": os.environ["PATH"]}
    server = subprocess.Popen(
        [sys.executable, "-m", "context_compression", "serve"],
        cwd=six.home, env=environ, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    with server:
        until(seen(kept, "claude-code", "codex", "copilot-cli", "gemini-cli", "opencode"))
        away.rename(late)

        server.send_signal(signal.SIGKILL)

    until(seen(kept, "pi"))


@pytest.mark.slow
def test_claude_code_goes_on_from_a_session_that_was_kept(claude: ClaudeCode) -> None:
    with MessagesAPI(["The answer is 42."]) as api:
        claude.ask(api, "What is the answer to the question?")
    [transcript] = claude.transcripts()
    claude.desk.run(*SERVER, "keep", "on")
    written = transcript.read_bytes()
    transcript.unlink()

    told = claude.desk.run(*SERVER, "export", transcript.stem, "--host", "claude-code")

    assert told.code == 0, told.stderr
    assert transcript.read_bytes() == written
    with MessagesAPI(["Yes."]) as api:
        claude.ask(api, "Are you sure?", "--resume", told.stdout.split()[-1])
    sent = str(api.requests[-1].body["messages"])
    assert "What is the answer to the question?" in sent
    assert "The answer is 42." in sent
    assert "Are you sure?" in sent


@pytest.mark.slow
def test_codex_goes_on_from_a_session_that_was_kept(tmp_path: Path) -> None:
    codex = Codex(CODEX.installed(), Desk(tmp_path))
    with ScriptedModel(["The answer is 42."]) as model:
        codex.ask(model, "What is the answer to the question?")
    [rollout] = codex.rollouts()
    codex.desk.run(*SERVER, "keep", "on")
    written = rollout.read_bytes()
    rollout.unlink()

    told = codex.desk.run(*SERVER, "export", rollout.stem[-36:], "--host", "codex")

    assert told.code == 0, told.stderr
    assert rollout.read_bytes() == written
    with ScriptedModel(["Yes."]) as model:
        codex.ask(model, "Are you sure?", session=told.stdout.split()[-1])
    sent = str(model.turns[-1].body["input"])
    assert "What is the answer to the question?" in sent
    assert "The answer is 42." in sent
