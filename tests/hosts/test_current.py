"""`current` in hosts other than Claude Code: which conversation a call comes from."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from codex_rollouts import CodexFolder, id_of, said
from opencode_database import Host
from transcripts import FIXTURES, Row, rows_of, written

from context_compression.errors import ConversationNotFound
from context_compression.hosts import Readings
from context_compression.hosts.conversations import find_current, is_of_this_project
from context_compression.transcripts import Caller, ToolRequest

CWD = Path("/work/app")
TOOL, ARGUMENTS = "context_status", {"response_format": "detailed"}
BEGAN = 1_000_000.0
THREAD = "019f0000-0000-7000-8000-00000000cafe"


@dataclass
class Place:
    """A home folder with hosts' sessions in it; we are called from `CWD`."""

    home: Path
    environ: dict[str, str] = field(default_factory=dict[str, str])
    minute: int = 0

    def file(self, path: str, rows: list[Row], *, minutes: int | None = None) -> Path:
        """A transcript, written a minute after the one before, and after we were started."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        written(file, rows)
        self.minute += 1
        at = BEGAN + 60 * (self.minute if minutes is None else minutes)
        os.utime(file, (at, at))
        return file

    def caller(
        self, client: str, wait: Callable[[float], object] = lambda _: None, **asking: Any
    ) -> Caller:
        call: dict[str, Any] = {"tool": TOOL, "arguments": ARGUMENTS} if client else {}
        asked = ToolRequest(client, **{**call, **asking})
        return Caller(self.environ, self.home, CWD, 1, BEGAN, Readings(), asked, wait)

    def find(self, client: str, **how: Any) -> Path:
        return find_current(self.caller(client, **how))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def rollout(place: Place, thread: str, *, cwd: Path = CWD, home: str = ".codex") -> Path:
    rows = rows_of(FIXTURES / "codex" / "session.jsonl")
    rows[0]["payload"] |= {"id": thread, "cwd": str(cwd)}
    name = f"rollout-2026-11-01T10-00-00-{thread}.jsonl"
    return place.file(f"{home}/sessions/2026/11/01/{name}", rows)


def test_codex_tells_its_thread(place: Place):
    ours = rollout(place, THREAD)
    rollout(place, "019f0000-0000-7000-8000-00000000beef")

    assert place.find("codex-mcp-client", meta={"threadId": THREAD}) == ours


def test_codex_may_keep_its_threads_elsewhere(place: Place):
    place.environ["CODEX_HOME"] = str(place.home / "elsewhere")
    ours = rollout(place, THREAD, home="elsewhere")

    assert place.find("codex-mcp-client", meta={"threadId": THREAD}) == ours


def test_a_thread_that_is_not_there_says_what_to_configure_and_lists_those_of_the_project(
    place: Place,
):
    other = rollout(place, "019f0000-0000-7000-8000-00000000beef")
    rollout(place, "019f0000-0000-7000-8000-00000000dead", cwd=Path("/work/other"))

    with pytest.raises(ConversationNotFound, match='env_vars = \\["CODEX_HOME"\\]') as raised:
        place.find("codex-mcp-client", meta={"threadId": THREAD})

    (candidate,) = raised.value.candidates
    assert candidate.startswith(f"{other} (written ")
    assert candidate.endswith(": List the two folders.")


def test_of_a_thread_of_three_files_the_one_begun_last_is_live(place: Place):
    codex = CodexFolder(place.home / ".codex", CWD)
    first = codex.write(id_of(1), [said("user", "A"), said("user", "B"), said("user", "C")])
    second = codex.write(id_of(2), [said("user", "D")], base=first.base(2), thread=first.id)
    third = codex.write(id_of(3), [said("user", "E")], base=first.base(3), thread=first.id)
    codex.write(id_of(4), [said("user", "F")], base=third.base())  # a fork, of another thread
    os.utime(second.path)

    assert place.find("codex-mcp-client", meta={"threadId": first.thread}) == third.path
    assert place.find("codex-mcp-client", meta={"threadId": second.id}) == second.path


@pytest.mark.parametrize("thread", ["../../secret", "*", "", 7, None])
def test_a_thread_id_cannot_lead_elsewhere(thread: object, place: Place):
    rollout(place, THREAD)

    with pytest.raises(ConversationNotFound):
        place.find("codex-mcp-client", meta={"threadId": thread})


def test_on_the_command_line_codex_names_its_thread_in_a_variable(place: Place):
    place.environ["CODEX_THREAD_ID"] = THREAD
    ours = rollout(place, THREAD)

    assert place.find("") == ours


def pi_session(
    place: Place, name: str, *, arguments: Row = ARGUMENTS, answered: bool = False, **how: Any
) -> Path:
    """A session whose newest entry calls us."""
    rows = rows_of(FIXTURES / "pi" / "session.jsonl")
    call = {"type": "toolCall", "id": "c9", "name": f"mcp__cc__{TOOL}", "arguments": arguments}
    message = {"role": "assistant", "content": [call], "stopReason": "toolUse"}
    last = rows[-1]["id"]
    rows.append({"type": "message", "id": "x1", "parentId": last, "message": message})
    if answered:
        result: Row = {"role": "toolResult", "toolCallId": "c9", "content": []}
        rows.append({"type": "message", "id": "x2", "parentId": "x1", "message": result})
    return place.file(f".pi/agent/sessions/--work-app--/{name}.jsonl", rows, **how)


def test_the_session_that_makes_the_call_is_the_one(place: Place):
    ours = pi_session(place, "ours")
    pi_session(place, "answered", answered=True)
    pi_session(place, "another", arguments={"response_format": "concise"})

    assert place.find("pi-mcp-bridge") == ours


def test_a_call_left_open_by_a_crash_is_not_mistaken_for_ours(place: Place):
    pi_session(place, "crashed")
    ours = pi_session(place, "ours")
    now = time.time()
    os.utime(ours, (now, now))

    assert place.find("pi-mcp-bridge") == ours


def test_two_sessions_making_the_same_call_now_are_not_told_apart(place: Place):
    paths = [pi_session(place, name) for name in ("one", "two")]
    for path in paths:
        os.utime(path, (time.time(), time.time()))

    with pytest.raises(ConversationNotFound, match="several conversations") as raised:
        place.find("pi-mcp-bridge")

    assert len(raised.value.candidates) == 2


def test_a_call_written_down_a_moment_later_is_waited_for(place: Place):
    waited: list[float] = []

    def host_writes(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            pi_session(place, "ours")

    assert place.find("pi-mcp-bridge", wait=host_writes).name == "ours.jsonl"


def test_a_call_that_stands_nowhere_gives_no_session_at_all(place: Place):
    waited: list[float] = []
    other = pi_session(place, "other", answered=True)

    with pytest.raises(ConversationNotFound, match="stands in no transcript") as raised:
        place.find("pi-mcp-bridge", wait=waited.append)

    assert raised.value.candidates[0].startswith(str(other))
    assert sum(waited) == pytest.approx(0.33)


def test_pi_may_keep_the_sessions_of_all_projects_in_one_folder(place: Place):
    folder = place.home / "all"
    place.environ["PI_CODING_AGENT_SESSION_DIR"] = str(folder)
    ours = pi_session(place, "ours")
    other = rows_of(ours)
    other[0]["cwd"] = "/work/other"
    written(ours, other)
    folder.mkdir()
    moved = ours.rename(folder / "other.jsonl")
    kept = pi_session(place, "ours").rename(folder / "ours.jsonl")

    assert place.find("pi-mcp-bridge") == kept
    assert not is_of_this_project(place.caller("pi"), moved)


def test_on_the_command_line_the_only_session_of_the_project_is_the_current_one(place: Place):
    place.environ["PI_CODING_AGENT"] = "true"
    ours = pi_session(place, "ours", answered=True)

    assert place.find("") == ours

    pi_session(place, "another", answered=True)
    with pytest.raises(ConversationNotFound, match="not certain"):
        place.find("")


@pytest.fixture
def opencode(place: Place) -> Iterator[Host]:
    folder = place.home / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    host = Host(folder / "opencode.db")
    with closing(host.db):
        yield host


def calls_us(host: Host, session: str, *, status: str = "running") -> None:
    state = {"status": status, "input": ARGUMENTS, "output": "done"}
    part = {"id": f"prt_{session}", "type": "tool", "tool": f"cc_{TOOL}", "callID": "c9"}
    info = {"id": f"msg_z{session}", "role": "assistant", "time": {"created": 10_000}}
    host.write({"info": info, "parts": [{**part, "state": state}]}, session)


def begun(host: Host, session: str, *, at: int, parent: str | None = None) -> None:
    row = (session, parent, str(CWD), f"About {session}", None, at, at)
    host.db.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    host.db.commit()


def test_the_session_with_the_running_call_is_the_one(place: Place, opencode: Host):
    ours = opencode.keep("session")
    begun(opencode, "ses_newer", at=99_000)
    calls_us(opencode, "ses_newer", status="completed")
    calls_us(opencode, "ses_cafe")

    assert place.find("opencode") == ours


def test_a_subagents_call_leads_to_the_subagents_session(place: Place, opencode: Host):
    opencode.keep("session")
    begun(opencode, "ses_sub", at=99_000, parent="ses_cafe")
    calls_us(opencode, "ses_sub")

    assert place.find("opencode") == opencode.path / "ses_sub"


def test_sessions_are_listed_with_their_titles_newest_first(place: Place, opencode: Host):
    opencode.keep("session")
    begun(opencode, "ses_newer", at=99_000)

    with pytest.raises(ConversationNotFound, match="stands in no transcript") as raised:
        place.find("opencode")

    newest, older = raised.value.candidates
    assert newest.startswith(f"{opencode.path / 'ses_newer'} (written ")
    assert newest.endswith(": About ses_newer")
    assert older.endswith(": Two folders")


def test_without_a_database_there_is_no_session(place: Place):
    with pytest.raises(ConversationNotFound) as raised:
        place.find("opencode")

    assert raised.value.candidates == []


def gemini_session(place: Place, name: str, *, folder: str = "app", **how: Any) -> Path:
    rows = rows_of(FIXTURES / "gemini_cli" / "session.jsonl")
    projects = place.home / ".gemini" / "projects.json"
    projects.parent.mkdir(exist_ok=True)
    projects.write_text(json.dumps({"projects": {str(CWD): "app", "/work/b": "b"}}))
    return place.file(f".gemini/tmp/{folder}/chats/{name}.jsonl", rows, **how)


def test_the_only_session_written_since_we_were_started_is_ours(place: Place):
    ours = gemini_session(place, "session-1")
    gemini_session(place, "session-0", minutes=-5)
    gemini_session(place, "session-2", folder="b")

    assert place.find("gemini-cli-mcp-client") == ours


def test_two_sessions_written_since_are_not_told_apart(place: Place):
    older, newer = gemini_session(place, "session-1"), gemini_session(place, "session-2")

    with pytest.raises(ConversationNotFound, match="not certain which") as raised:
        place.find("gemini-cli-mcp-client")

    assert [c.partition(" (")[0] for c in raised.value.candidates] == [str(newer), str(older)]


def test_a_subagent_at_work_makes_it_uncertain_who_called(place: Place):
    gemini_session(place, "session-1")
    gemini_session(place, "53ba0000/sub")

    with pytest.raises(ConversationNotFound, match="whether a subagent called"):
        place.find("gemini-cli-mcp-client")


def test_until_2026_a_projects_folder_was_the_hash_of_its_path(place: Place):
    ours = gemini_session(place, "session-1", folder=sha256(str(CWD).encode()).hexdigest())

    assert place.find("gemini-cli-mcp-client") == ours


def test_the_client_is_believed_over_variables_of_a_host_around_it(place: Place):
    place.environ |= {"GEMINI_CLI": "1", "PI_CODING_AGENT": "true"}
    gemini_session(place, "session-1")
    ours = rollout(place, THREAD)

    assert place.find("codex-mcp-client", meta={"threadId": THREAD}) == ours


def test_a_client_of_another_name_is_believed_where_the_call_itself_proves_it(place: Place):
    place.environ["PI_CODING_AGENT"] = "true"
    ours = pi_session(place, "ours")

    assert place.find("my-own-bridge") == ours


@pytest.mark.parametrize("variable", ["GEMINI_CLI", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"])
def test_a_client_of_another_name_inside_a_host_is_not_taken_for_it(variable: str, place: Place):
    place.environ[variable] = THREAD
    gemini_session(place, "session-1")
    rollout(place, THREAD)
    place.file(f".claude/projects/-work-app/{THREAD}.jsonl", [{"type": "user", "uuid": "u"}])

    with pytest.raises(ConversationNotFound, match="not started by a host"):
        place.find("my-own-agent")


def test_hosts_inside_each_other_are_not_told_apart_without_a_client(place: Place):
    place.environ |= {"GEMINI_CLI": "1", "PI_CODING_AGENT": "true"}
    paths = {str(gemini_session(place, "session-1")), str(pi_session(place, "ours"))}

    with pytest.raises(ConversationNotFound, match="Gemini CLI and Pi") as raised:
        place.find("")

    assert {c.partition(" (")[0] for c in raised.value.candidates} == paths


def test_only_transcripts_of_the_host_that_started_us_are_of_this_project(place: Place):
    place.environ["GEMINI_CLI"] = "1"
    ours, other = gemini_session(place, "session-1"), gemini_session(place, "x", folder="b")
    caller = place.caller("gemini-cli-mcp-client")
    link = place.home / "link.jsonl"
    link.symlink_to(ours)

    assert is_of_this_project(caller, ours)
    assert is_of_this_project(caller, link)
    assert not is_of_this_project(caller, other)
    assert not is_of_this_project(caller, pi_session(place, "ours"))
    assert not is_of_this_project(replace(caller, request=ToolRequest("claude-ai")), ours)
