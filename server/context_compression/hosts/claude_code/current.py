"""Which transcript is the conversation of the Claude Code that started this process.

The environment names the session of the start; after `/clear` the host goes on under a new id and
the variable is stale. `sessions/<pid of the host>.json` is rewritten then. The proof is the tool
call being answered: the host has it on disk about 100 ms after it began (seen in version 2.1.329).
"""

import re
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from context_compression.errors import ConversationNotFound
from context_compression.hosts.claude_code.branch import blocks
from context_compression.hosts.lines import as_object, parse, string

PATIENCE = 0.3  # seconds to wait for the host to write the call down
STEP = 0.03  # seconds between two looks
SEARCHED = 4 * 1024 * 1024  # bytes at a transcript's end; a running call is among the newest rows
LISTED = 5  # transcripts offered when unsure
GENERATIONS = 40  # parents looked at
INSTEAD = "Pass the path of a transcript, or the id of a recorded session, as `conversation`."


def find_current(
    environ: Mapping[str, str],
    home: Path,
    cwd: Path,
    tool_use_id: str | None,
    *,
    pid: int,
    wait: Callable[[float], object] = time.sleep,
) -> Path:
    """The transcript of the conversation we are called from; a subagent's own, if it called.

    Blocks for at most 0.3 s: call it in a worker thread.

    Args:
        environ: variables this process was started with.
        home: the user's home folder.
        cwd: working directory of this process: the project's folder.
        tool_use_id: id of the tool call being answered (`_meta["claudecode/toolUseId"]`).
        pid: our own process id: the host is looked for among it and its parents.
        wait: sleeps for some seconds.

    Raises:
        ConversationNotFound: not in Claude Code, or not certain which transcript is ours.
    """
    config = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    session = _session_of_ancestor(config, pid)
    started_with = environ.get("CLAUDE_CODE_SESSION_ID")
    if not (session or started_with or tool_use_id):
        raise ConversationNotFound(
            f"This process was not started by Claude Code, so there is no current one. {INSTEAD}"
        )
    near = _near(config, cwd, session, started_with)
    if tool_use_id:
        looked: dict[Path, int] = {}
        for _ in range(round(PATIENCE / STEP) + 1):
            if found := _where_called(tool_use_id, near, looked):
                return found
            wait(STEP)
            near = _near(config, cwd, session, started_with)  # the first turn makes the file
        raise _unsure("The tool call being answered stands in no transcript", near)
    if session and near.running:
        return near.running[0]
    if not session and near.started and near.newest[0] == near.started[0]:
        return near.started[0]  # were there a newer one, that may be ours since a `/clear`
    raise _unsure("It is not certain which transcript is the current one", near)


@dataclass(frozen=True)
class Near:
    """Transcripts that may be ours, newest first."""

    running: list[Path]
    """Of the session now open in the process above us."""
    started: list[Path]
    """Of the session that the environment names."""
    newest: list[Path]
    """All of the same projects."""


def _near(config: Path, cwd: Path, session: str | None, started_with: str | None) -> Near:
    running, started = _transcripts(config, session), _transcripts(config, started_with)
    # `/home/me/my_app` is kept under projects/-home-me-my-app
    projects = {config / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd))}
    projects.update(path.parent for path in running + started)
    newest = _newest_first(path for folder in projects for path in folder.glob("*.jsonl"))
    return Near(running, started, newest)


def _session_of_ancestor(config: Path, pid: int) -> str | None:
    """The session now open in the nearest process above us that is a Claude Code."""
    sessions = config / "sessions"
    if not sessions.is_dir():
        return None
    for _ in range(GENERATIONS):
        if pid <= 1:
            return None
        parent, began = _process(pid)
        about = as_object(parse(_tail(sessions / f"{pid}.json")))
        # a host that crashed leaves its file, and its number may be another process's by now
        if about and (not began or about.get("procStart", began) == began):
            return string(about, "sessionId") or None
        pid = parent
    return None


def _process(pid: int) -> tuple[int, str]:
    """A process's parent (0: unknown) and, on Linux, when it began, as the host notes it."""
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


def _transcripts(config: Path, session: str | None) -> list[Path]:
    """The session's transcript, wherever the session was started; more than one if it moved."""
    if not session or not re.fullmatch(r"[A-Za-z0-9_-]+", session):
        return []
    return _newest_first(config.glob(f"projects/*/{session}.jsonl"))


def _newest_first(paths: Iterable[Path]) -> list[Path]:
    dated = [(path.stat().st_mtime, path) for path in paths if path.is_file()]
    return [path for _, path in sorted(dated, reverse=True)]


def _where_called(tool_use_id: str, near: Near, looked: dict[Path, int]) -> Path | None:
    """The transcript that holds the call: a session's, or one of its subagents'.

    Args:
        tool_use_id: id of the call.
        near: where to look.
        looked: sizes at which transcripts were searched in vain; filled.
    """
    for main in dict.fromkeys([*near.running, *near.started, *near.newest[:LISTED]]):
        for path in (main, *main.with_suffix("").glob("subagents/**/*.jsonl")):
            size = path.stat().st_size
            if looked.get(path) != size and _calls(path, tool_use_id, path is not main):
                return path
            looked[path] = size
    return None


def _calls(path: Path, tool_use_id: str, subagent: bool) -> bool:
    """Whether the call is made in this very conversation; others may quote it."""
    for line in _tail(path).split(b"\n"):
        row = as_object(parse(line) if tool_use_id.encode() in line else None)
        if row.get("type") == "assistant":
            made = any(block.get("id") == tool_use_id for block in blocks(row, "tool_use"))
            if made and bool(row.get("isSidechain")) == subagent:
                return True
    return False


def _tail(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - SEARCHED))
            return file.read(SEARCHED)
    except OSError:
        return b""


def _unsure(why: str, near: Near) -> ConversationNotFound:
    now = time.time()
    candidates = [
        f"{path} (written {_age(now - about.st_mtime)} ago, {about.st_size / 1000:,.0f} kB)"
        for path, about in ((path, path.stat()) for path in near.newest[:LISTED])
    ]
    return ConversationNotFound(f"{why}. {INSTEAD}", candidates)


def _age(seconds: float) -> str:
    """`90.0` -> `"2 minutes"`."""
    for unit, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{max(seconds, 0):.0f} seconds"
