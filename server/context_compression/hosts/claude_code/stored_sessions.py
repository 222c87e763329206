"""The sessions that Claude Code keeps: `~/.claude/projects/<project>/<session>.jsonl`.

The transcripts of a session's subagents are in a folder of its name beside it; those of a workflow
are in folders below that: `subagents/workflows/<workflow>/agent-<id>.jsonl`. A session that moved
to another folder (`cd`, a worktree) says so in rows that are written again at the end of its file.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from context_compression.errors import TranscriptError
from context_compression.hosts.claude_code.about import (
    NAME,
    TITLE,
    project_folder_name,
    projects_folder,
)
from context_compression.hosts.claude_code.transcript.row import folders_moved_to
from context_compression.transcripts.access import opened_once
from context_compression.transcripts.candidates import CandidateConversation, files
from context_compression.transcripts.damaged_lines import rows_of
from context_compression.transcripts.host_sessions import HostSessions
from context_compression.transcripts.limits import largest_use
from context_compression.transcripts.same_folder import WINDOWS, is_same_folder

LATELY = 64 * 1024
"""Bytes at the end of a file in which a session says where it moved."""
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


def is_of(session: CandidateConversation, project: Path) -> bool:
    """Whether a session works in a folder: by the folder of its file, or because it moved there."""
    here, name = str(project), session.path.parent.name
    if name == project_folder_name(here) or (
        WINDOWS.match(here) and name.lower() == project_folder_name(here).lower()
    ):
        return True
    try:
        with opened_once(session.path) as (file, size):
            file.seek(max(0, size - LATELY))
            lines = [line for line in file.read(LATELY).split(b"\n") if MOVED.search(line)]
    except (OSError, TranscriptError):
        return False
    moves = [row for line in lines for row in rows_of(line)]
    return any(is_same_folder(to, here) for row in moves for to in folders_moved_to(row))


SESSIONS = HostSessions(
    name=NAME,
    title=TITLE,
    sessions=sessions,
    is_of=is_of,
    compaction_marks=(b'"subtype":"compact_boundary"', b'"subtype":"microcompact_boundary"'),
    subagents=lambda session: len(subagents(session.path)),
    largest_use=largest_use,
)
