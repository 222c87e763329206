"""Claude Code's sessions: those on this machine, the live one, and new ones.

Finds the transcript of the Claude Code conversation that calls us. An environment variable names
the session that the host started with. After `/clear` the host continues under a new id, so the
variable is stale; `sessions/<pid of the host>.json` is rewritten. The proof is the tool call being
answered. The host writes it to disk about 100 ms after it began (seen in version 2.1.329).

The sessions that Claude Code keeps: `~/.claude/projects/<project>/<session>.jsonl`. The transcripts
of a session's subagents are in a folder of its name beside it; those of a workflow are in folders
below that: `subagents/workflows/<workflow>/agent-<id>.jsonl`. A session that moved to another
folder (`cd`, a worktree) says so in rows that are written again at the end of its file.

New sessions for Claude Code: `claude --resume <id>` reads them from the project's folder. Each row
needs its parent, its session and a message. The next request then holds exactly these messages
(seen in version 2.1.329). Usage is zero, because no request was made with this context.
"""

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from context_compression.conversation.formats import anthropic
from context_compression.conversation.messages import (
    COMPRESSED,
    Block,
    Message,
    ToolCall,
    as_object,
)
from context_compression.errors import TranscriptError
from context_compression.hosts.claude_code.about import (
    SESSION_VARIABLE,
    config_folder,
    project_folder_name,
    projects_folder,
)
from context_compression.hosts.claude_code.transcript.rows import blocks, folders_moved_to
from context_compression.hosts.host import LiveSession
from context_compression.transcripts.exporter import Exporter, NewSession, Row, arguments, as_user
from context_compression.transcripts.limits import largest_use
from context_compression.transcripts.lines import (
    LONGEST_FIRST,
    parsed_json,
    row_in,
    rows_of,
    string,
)
from context_compression.transcripts.opening import opened_once
from context_compression.transcripts.sessions import (
    NEWEST,
    PATIENCE,
    STEP,
    Caller,
    CandidateConversation,
    StoredSessions,
    files,
    uncertain,
)

LATELY = 64 * 1024
"""Bytes at the end of a file in which a session says where it moved."""
FIRST_ROWS = 20
"""Rows at the beginning of a file, one of which names the session's folder: some rows do not."""
MOVED = re.compile(rb'"type":\s?"(?:relocated|worktree-state)"')


def sessions(environ: Mapping[str, str], home: Path) -> list[CandidateConversation]:
    """The sessions of all projects; the one written last comes first."""
    paths = projects_folder(environ, home).glob("*/*.jsonl")
    # until 2.0.28 the transcripts of subagents were beside those of sessions
    return files((p for p in paths if not p.name.startswith("agent-")), lambda path: path.stem)


def subagents(path: Path) -> list[Path]:
    """The transcripts of the subagents of a session; a workflow keeps a journal beside them."""
    return list(path.with_suffix("").glob("subagents/**/agent-*.jsonl"))


def subagent(path: Path, agent: str) -> Path:
    """The transcript of a subagent of a session, in any folder below; it may not be there yet.

    Args:
        path: the transcript of the session.
        agent: the id of the subagent, with or without `agent-` before it.
    """
    name = f"agent-{agent.removeprefix('agent-')}.jsonl"
    found = [each for each in subagents(path) if each.name == name]
    return found[0] if found else path.with_suffix("") / "subagents" / Path(name).name


def beside(session: CandidateConversation) -> list[Path]:
    """The transcripts of the subagents of a session, and the results saved as files."""
    return sorted(path for path in session.path.with_suffix("").rglob("*") if path.is_file())


def folders(session: CandidateConversation, likely: Iterable[str] = ()) -> Iterator[str]:
    """The folders that a session worked in: where it began, and where it says that it moved.

    The name of its file's folder does not tell: `/a/b` and `/a-b` have the same. If it is the name
    of another folder than the first, the session went on there, and its newest rows name it. It
    only counts if no row names a folder.
    """
    try:
        with opened_once(session.path) as (file, size):
            first = (row_in(file.readline(LONGEST_FIRST)) for _ in range(FIRST_ROWS))
            began = next(filter(None, (string(row, "cwd") for row in first)), "")
            yield from filter(None, [began])
            file.seek(max(0, size - LATELY))
            end = file.read(LATELY)
    except (OSError, TranscriptError):
        return
    name = session.path.parent.name.lower()
    rows: list[dict[str, Any]] = []
    if (elsewhere := project_folder_name(began).lower() != name) or MOVED.search(end):
        rows = [row for line in end.split(b"\n") for row in rows_of(line)]
    for row in rows:
        yield from folders_moved_to(row)
        if elsewhere and (cwd := string(row, "cwd")):
            began = cwd
            yield cwd
    if not began:
        yield from (each for each in likely if project_folder_name(each).lower() == name)


STORED = StoredSessions(
    sessions=sessions,
    folders=folders,
    compaction_marks=(b'"subtype":"compact_boundary"', b'"subtype":"microcompact_boundary"'),
    subagents=lambda session: len(subagents(session.path)),
    beside=beside,
    largest_use=largest_use,
)

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
        about = as_object(parsed_json(_tail(sessions / f"{pid}.json")))
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


LIVE = LiveSession(SESSION_VARIABLE, transcripts_here, find_current, meta_key=CALL)

USAGE = {
    "input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
}


def place(session: NewSession, home: Path, environ: Mapping[str, str]) -> Path:
    """`~/.claude/projects/-home-me-app/<session>.jsonl`."""
    folder = projects_folder(environ, home) / project_folder_name(str(session.project))
    return folder / f"{session.session_id}.jsonl"


def command(session: NewSession, path: Path) -> Sequence[str]:
    """The command that resumes the session."""
    return "claude", "--resume", session.session_id


def rows(messages: Sequence[Message], session: NewSession) -> Iterator[Row]:
    """A row for each message; each row is the parent of the next."""
    for number, message in enumerate(messages):
        answer = _of_assistant(message, session, number) if message.role == "assistant" else None
        yield {
            "parentUuid": session.id(number - 1) if number else None,
            "isSidechain": False,
            "userType": "external",
            "cwd": str(session.project),
            "sessionId": session.session_id,
            "type": "assistant" if answer else "user",
            "message": answer or anthropic.FORMAT.write(Message("user", as_user(message))),
            **_marks(message),
            "uuid": session.id(number),
            "timestamp": session.time(number),
        }


def _marks(message: Message) -> Mapping[str, Any]:
    """The marks of a summary: it is shown folded, and is not taken for the first prompt."""
    if message.role == "assistant" or not message.text.startswith(COMPRESSED):
        return {}
    return {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}


def _of_assistant(message: Message, session: NewSession, number: int) -> Mapping[str, Any]:
    return {
        "id": f"msg_{session.id(number).replace('-', '')}",
        "type": "message",
        "role": "assistant",
        "model": session.model or "unknown",
        "content": list(map(_written, message.blocks)),
        "stop_reason": "tool_use" if message.calls else "end_turn",
        "stop_sequence": None,
        "usage": USAGE,
    }


def _written(block: Block) -> Any:
    if isinstance(block, ToolCall):
        block = replace(block, arguments=arguments(block))
    return anthropic.write_block(block)


EXPORTER = Exporter(place, rows, command, documents=True, thinking=True)
