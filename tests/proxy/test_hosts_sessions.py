"""The requests of real hosts find the sessions of their conversations.

Claude Code 2.1.329 and Codex 0.169.0, as they are: their requests are recorded, and then sent
through the sessions of the proxy in the same order.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from other_hosts import CODEX, Codex
from real_hosts import CLAUDE_CODE, ClaudeCode, Desk, calling
from scripted_model import ScriptedModel

from context_compression.integrations.apis import MESSAGES, RESPONSES, Api
from context_compression.proxy.sessions import ProxySessions
from context_compression.testing.messages_api import MessagesAPI
from context_compression.workspace import Workspace

pytestmark = pytest.mark.slow


def ids_of(
    folder: Path, api: Api, requests: Iterable[tuple[Mapping[str, str], Mapping[str, Any]]]
) -> list[str]:
    """The id of the session of each request; each is recorded before the next one."""
    sessions, ids = ProxySessions(Workspace.here(environ={}, cwd=folder, home=folder)), list[str]()
    for headers, body in requests:
        session = sessions.of(api, headers, body)
        assert session
        session.fit(sessions.unfolded(session, body[api.messages], api))
        ids.append(session.id)
    return ids


def test_claude_code_has_a_session_for_each_agent_and_one_after_its_compaction(
    tmp_path: Path,
) -> None:
    claude = ClaudeCode(CLAUDE_CODE.installed(), Desk(tmp_path / "desk"))
    agent = calling(
        "Agent", description="count", prompt="Count.", subagent_type="general-purpose",
    )  # fmt: skip
    ends = [0]
    with MessagesAPI([calling("Bash", command="seq 3"), agent, "done"]) as api:
        started = claude.ask(api, "Count to three.", "--allowedTools", "Bash,Agent")
        id = started.events[0]["session_id"]
        for prompt in ("And again.", "/compact", "Go on."):
            ends.append(len(api.requests))
            claude.ask(api, prompt, "--resume", id)
    requests = [(request.headers, request.body) for request in api.requests]

    ids = ids_of(tmp_path, MESSAGES, requests)

    of_agents = {
        id for id, (headers, _) in zip(ids, requests, strict=True)
        if "x-claude-code-agent-id" in {name.lower() for name in headers}
    }  # fmt: skip
    main, compacted = {*ids[: ends[3]]} - of_agents, {*ids[ends[3] :]}
    assert len(main) == len(of_agents) == len(compacted) == 1
    assert len(main | of_agents | compacted) == 3


def test_codex_has_one_session_also_after_it_was_resumed(tmp_path: Path) -> None:
    codex = Codex(CODEX.installed(), Desk(tmp_path / "desk"))
    with ScriptedModel([calling("exec_command", cmd="seq 3"), "done", "again"]) as model:
        started = codex.ask(model, "Count to three.")
        [id] = [event["thread_id"] for event in started.events if "thread_id" in event]
        codex.ask(model, "And again.", session=id)

    ids = ids_of(tmp_path, RESPONSES, [({}, turn.body) for turn in model.turns])

    assert len(ids) == 3 and len({*ids}) == 1
