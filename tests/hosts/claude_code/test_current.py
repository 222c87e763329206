import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from context_compression import hosts
from context_compression.errors import ConversationNotFound
from context_compression.hosts.conversations import find_current
from context_compression.transcripts import Caller, ToolRequest

ABOVE = os.getppid() or os.getpid()  # 0: tests that are a container's first process have no parent
FIRST = {1} if Path("/proc/1/stat").exists() else set[int]()  # elsewhere its start is not known


@dataclass
class Claude:
    """A home folder as Claude Code leaves it; we are called from `cwd`."""

    home: Path
    cwd: Path = Path("/work/my app_1")
    environ: dict[str, str] = field(default_factory=dict[str, str])
    minute: int = 0
    client: str = "claude-code"

    @property
    def project(self) -> Path:
        return self.home / ".claude" / "projects" / "-work-my-app-1"

    def transcript(self, session: str, *calls: str, folder: Path | None = None, **row: Any) -> Path:
        """A session's transcript with calls in it, written a minute after the one before."""
        path = (folder or self.project) / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            {
                "type": "assistant",
                "uuid": call,
                "message": {"content": [{"type": "tool_use", "id": call}]},
                **row,
            }
            for call in calls
        ]
        path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
        self.minute += 1
        os.utime(path, (self.minute * 60, self.minute * 60))
        return path

    def runs(self, session: str, pid: int, **about: Any) -> None:
        """What the host notes about itself while it runs."""
        sessions = self.home / ".claude" / "sessions"
        sessions.mkdir(parents=True, exist_ok=True)
        noted = json.dumps({"pid": pid, "sessionId": session, **about})
        (sessions / f"{pid}.json").write_text(noted, encoding="utf-8")

    def find(
        self, call: str | None = None, wait: Callable[[float], object] = lambda _: None
    ) -> Path:
        meta = {"claudecode/toolUseId": call} if call else {}
        asking = ToolRequest(self.client, meta)
        environ, transcripts = self.environ, hosts.Readings()
        return find_current(
            Caller(environ, self.home, self.cwd, os.getpid(), 0, transcripts, asking, wait)
        )


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    return Claude(tmp_path)


def test_a_project_whose_path_is_long_is_found_by_its_shortened_name(claude: Claude):
    claude.cwd = Path("/tmp" + "/a_b" * 60)
    folder = f"{'-tmp' + '-a-b' * 60:.200}-yhxurw"  # as Claude Code 2.1.329 names it
    ours = claude.transcript("aaa", "toolu_1", folder=claude.project.with_name(folder))

    assert claude.find("toolu_1") == ours


def test_outside_claude_code_there_is_no_current_conversation(claude: Claude):
    claude.client = ""
    claude.transcript("aaa", "toolu_1")

    with pytest.raises(ConversationNotFound, match="not started by a host") as raised:
        claude.find()

    assert "Pass the path of a transcript" in str(raised.value)


@pytest.mark.parametrize(
    "pid", [os.getpid(), ABOVE, *FIRST], ids=["own", "above", *map(str, FIRST)]
)
def test_the_host_above_us_names_its_session(pid: int, claude: Claude):
    """It may be the first process of a container, too."""
    ours = claude.transcript("aaa")
    claude.transcript("bbb")
    claude.runs("aaa", pid)

    assert claude.find() == ours


def test_after_a_clear_the_environment_is_stale_and_not_believed(claude: Claude):
    claude.environ["CLAUDE_CODE_SESSION_ID"] = "aaa"
    claude.transcript("aaa")
    cleared = claude.transcript("bbb")
    claude.runs("bbb", ABOVE)

    assert claude.find() == cleared


def test_a_call_on_a_damaged_line_is_found(claude: Claude):
    ours = claude.transcript("aaa", "toolu_1")
    claude.transcript("bbb", "toolu_2")
    ours.write_bytes(b'{"type": "assist' + ours.read_bytes())

    assert claude.find("toolu_1") == ours


def test_a_session_without_a_transcript_yet_is_not_mistaken_for_the_one_before(claude: Claude):
    claude.environ["CLAUDE_CODE_SESSION_ID"] = "aaa"
    before = claude.transcript("aaa")
    claude.runs("bbb", ABOVE)

    with pytest.raises(ConversationNotFound) as raised:
        claude.find()

    assert raised.value.candidates[0].startswith(str(before))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")
def test_the_note_of_a_crashed_host_under_a_number_used_again_is_not_believed(claude: Claude):
    claude.transcript("aaa")
    claude.runs("aaa", ABOVE, procStart="1")

    with pytest.raises(ConversationNotFound):
        claude.find()


def test_the_environment_alone_is_believed_while_nothing_newer_is_there(claude: Claude):
    claude.environ["CLAUDE_CODE_SESSION_ID"] = "bbb"
    claude.transcript("aaa")
    ours = claude.transcript("bbb")

    assert claude.find() == ours


def test_unsure_means_an_error_that_lists_the_candidates_newest_first(claude: Claude):
    claude.environ["CLAUDE_CODE_SESSION_ID"] = "aaa"
    older, newer = claude.transcript("aaa"), claude.transcript("bbb", "toolu_1")

    with pytest.raises(ConversationNotFound, match="not certain") as raised:
        claude.find()

    assert [text.partition(" (")[0] for text in raised.value.candidates] == [str(newer), str(older)]
    assert "days ago)" in raised.value.candidates[0]


def test_the_transcript_that_holds_the_call_is_the_one(claude: Claude):
    claude.environ["CLAUDE_CODE_SESSION_ID"] = "aaa"
    claude.transcript("aaa", "toolu_1")
    cleared = claude.transcript("bbb", "toolu_2")

    assert claude.find("toolu_2") == cleared


def test_a_session_begun_in_another_folder_is_found_too(claude: Claude):
    claude.environ["CLAUDE_CODE_SESSION_ID"] = "aaa"
    ours = claude.transcript("aaa", "toolu_1", folder=claude.project.parent / "-elsewhere")

    assert claude.find("toolu_1") == ours


def test_a_call_that_stands_nowhere_gives_no_transcript_at_all(claude: Claude):
    claude.environ["CLAUDE_CODE_SESSION_ID"] = "aaa"
    claude.runs("aaa", ABOVE)
    claude.transcript("aaa", "toolu_1")

    with pytest.raises(ConversationNotFound, match="stands in no transcript"):
        claude.find("toolu_2")


def test_a_call_written_down_a_moment_later_is_waited_for(claude: Claude):
    claude.environ["CLAUDE_CODE_SESSION_ID"] = "aaa"
    waited: list[float] = []

    def host_writes(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 4:
            claude.transcript("aaa", "toolu_1")  # the first turn of a session makes the file

    found = claude.find("toolu_1", host_writes)

    assert found.name == "aaa.jsonl"
    assert sum(waited) < 0.3


def test_waiting_ends(claude: Claude):
    claude.environ["CLAUDE_CODE_SESSION_ID"] = "aaa"
    claude.transcript("aaa")
    waited: list[float] = []

    with pytest.raises(ConversationNotFound):
        claude.find("toolu_1", waited.append)

    assert sum(waited) == pytest.approx(0.33)


def test_a_subagents_call_leads_to_the_subagents_transcript(claude: Claude):
    claude.environ["CLAUDE_CODE_SESSION_ID"] = "aaa"
    claude.transcript("aaa", "toolu_1")
    subagents = claude.project / "aaa" / "subagents"
    subagent = claude.transcript("agent-1", "toolu_2", folder=subagents, isSidechain=True)

    assert claude.find("toolu_2") == subagent


def test_a_subagents_call_noted_in_the_main_transcript_does_not_make_it_ours(claude: Claude):
    claude.environ["CLAUDE_CODE_SESSION_ID"] = "aaa"
    claude.transcript("aaa", "toolu_1", isSidechain=True)

    with pytest.raises(ConversationNotFound):
        claude.find("toolu_1")


def test_a_transcript_that_only_quotes_the_call_is_not_ours(claude: Claude):
    claude.environ["CLAUDE_CODE_SESSION_ID"] = "aaa"
    quoting = claude.transcript("aaa", "toolu_1")
    with quoting.open("a", encoding="utf-8") as file:
        file.write('{"type": "progress", "data": {"type": "tool_use", "id": "toolu_2"}}\n')
        file.write('{"type": "user", "message": {"content": "what did toolu_2 do?"}}\n')

    with pytest.raises(ConversationNotFound):
        claude.find("toolu_2")


def test_another_configuration_folder_is_looked_into(claude: Claude, tmp_path: Path):
    claude.environ |= {"CLAUDE_CODE_SESSION_ID": "aaa", "CLAUDE_CONFIG_DIR": str(tmp_path / "c")}
    ours = claude.transcript("aaa", folder=tmp_path / "c" / "projects" / "-work-my-app-1")

    assert claude.find() == ours


@pytest.mark.parametrize("session", ["../../secret", "*", "", "a/b"])
def test_a_session_id_cannot_lead_elsewhere(session: str, claude: Claude):
    claude.environ["CLAUDE_CODE_SESSION_ID"] = session
    claude.transcript("aaa")

    with pytest.raises(ConversationNotFound):
        claude.find()
