"""Finds the transcript of the Claude Code conversation that calls us.

An environment variable names the session that the host started with. After `/clear` the host
continues under a new id, so the variable is stale; `sessions/<pid of the host>.json` is rewritten.
The proof is the tool call being answered. The host writes it to disk about 100 ms after it began
(seen in version 2.1.329).
"""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from context_compression.conversation.messages import as_object
from context_compression.errors import TranscriptError
from context_compression.hosts.claude_code.about import (
    NAME,
    SESSION_VARIABLE,
    TITLE,
    config_folder,
    project_folder_name,
)
from context_compression.hosts.claude_code.stored_sessions import subagents
from context_compression.hosts.claude_code.transcript.row import blocks
from context_compression.transcripts.access import opened_once
from context_compression.transcripts.caller import Caller
from context_compression.transcripts.candidates import CandidateConversation, files
from context_compression.transcripts.damaged_lines import rows_of
from context_compression.transcripts.lines import parse, string
from context_compression.transcripts.live_host import NEWEST, PATIENCE, STEP, LiveHost, uncertain

SEARCHED = 4 * 1024 * 1024  # bytes at a transcript's end; a running call is among the newest rows
GENERATIONS = 40  # parent processes that are checked
CALL = "claudecode/toolUseId"  # in the call's `_meta`


def transcripts_here(caller: Caller) -> list[CandidateConversation]:
    """The sessions of this project; the one written last comes first."""
    return _near(caller, _session_of_ancestor(_config(caller), caller.pid)).newest


def find_current(caller: Caller) -> Path:
    """The transcript of the conversation we are called from; a subagent's own if it called.

    Blocks for about 0.3 s at most, plus the time of reading: call it in a worker thread.

    Raises:
        ConversationNotFound: it is not certain which transcript is ours.
    """
    session = _session_of_ancestor(_config(caller), caller.pid)
    near = _near(caller, session)
    call = caller.request.meta.get(CALL)
    if isinstance(call, str):
        looked: dict[Path, int] = {}
        for _ in range(round(PATIENCE / STEP) + 1):
            if path := _where_called(call, near, looked):
                return path
            caller.wait(STEP)
            near = _near(caller, session)  # the file is created in the first turn
        raise uncertain(caller, "The tool call being answered stands in no transcript", near.newest)
    if session and near.running:
        return near.running[0].path
    if not session and near.started and near.newest[0] == near.started[0]:
        return near.started[0].path  # a newer one might be ours since a `/clear`
    raise uncertain(caller, "It is not certain which transcript is the current one", near.newest)


@dataclass(frozen=True)
class Near:
    """Transcripts that may be ours, newest first."""

    running: list[CandidateConversation]
    """Transcripts of the session that is now open in the process above us."""
    started: list[CandidateConversation]
    """Transcripts of the session that the environment names."""
    newest: list[CandidateConversation]
    """All transcripts of the same projects."""


def _config(caller: Caller) -> Path:
    return config_folder(caller.environ, caller.home)


def _near(caller: Caller, session: str | None) -> Near:
    config = _config(caller)
    running = _transcripts(config, session)
    started = _transcripts(config, caller.environ.get(SESSION_VARIABLE))
    projects = {config / "projects" / project_folder_name(str(caller.cwd))}
    projects.update(candidate.path.parent for candidate in running + started)
    newest = files(path for folder in projects for path in folder.glob("*.jsonl"))
    return Near(running, started, newest)


def _session_of_ancestor(config: Path, pid: int) -> str | None:
    """The session that is open in the nearest Claude Code process above us.

    In a container that process may be process 1.
    """
    sessions = config / "sessions"
    if not sessions.is_dir():
        return None
    for _ in range(GENERATIONS):
        if pid < 1:
            return None
        parent, began = _process(pid)
        about = as_object(parse(_tail(sessions / f"{pid}.json")))
        # a host that crashed leaves its file, and another process may have its id by now;
        # process 1 is above every process, and each container has its own
        if about and (about.get("procStart", began) == began if began else pid > 1):
            return string(about, "sessionId") or None
        pid = parent
    return None


def _process(pid: int) -> tuple[int, str]:
    """A process's parent (0: unknown) and, on Linux, its start time as the host records it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return int(fields[1]), fields[19]  # `man proc_pid_stat`: ppid is 4th, starttime 22nd
    except OSError:
        pass
    try:
        command = ["ps", "-o", "ppid=", "-p", str(pid)]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=2, check=False)
        return int(shown.stdout), ""
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0, ""


def _transcripts(config: Path, session: str | None) -> list[CandidateConversation]:
    """The transcripts of a session in all projects; more than one if the session moved."""
    if not session or not re.fullmatch(r"[A-Za-z0-9_-]+", session):
        return []
    return files(config.glob(f"projects/*/{session}.jsonl"))


def _where_called(tool_use_id: str, near: Near, looked: dict[Path, int]) -> Path | None:
    """The transcript that holds the call: a session's, or one of its subagents'.

    Args:
        tool_use_id: the id of the call.
        near: the transcripts to search.
        looked: by path, the size at which a transcript was searched in vain; it is updated.
    """
    mains = [*near.running, *near.started, *near.newest[:NEWEST]]
    for main in dict.fromkeys(candidate.path for candidate in mains):
        for path in (main, *subagents(main)):
            size = path.stat().st_size
            if looked.get(path) != size and _calls(path, tool_use_id, path is not main):
                return path
            looked[path] = size
    return None


def _calls(path: Path, tool_use_id: str, subagent: bool) -> bool:
    """Whether the call is made in this conversation; other conversations may quote it."""
    lines = (line for line in _tail(path).split(b"\n") if tool_use_id.encode() in line)
    for row in (row for line in lines for row in rows_of(line)):
        if row.get("type") == "assistant":
            made = any(block.get("id") == tool_use_id for block in blocks(row, "tool_use"))
            if made and bool(row.get("isSidechain")) == subagent:
                return True
    return False


def _tail(path: Path) -> bytes:
    try:
        with opened_once(path) as (file, size):
            file.seek(max(0, size - SEARCHED))
            return file.read(SEARCHED)
    except (OSError, TranscriptError):
        return b""


HOST = LiveHost(
    name=TITLE,
    client=NAME,
    meta_key=CALL,
    variable=SESSION_VARIABLE,
    is_proved=False,
    find=find_current,
    here=transcripts_here,
)
