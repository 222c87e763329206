"""The sessions that Claude Code keeps: `~/.claude/projects/<project>/<session>.jsonl`.

The transcripts of a session's subagents are in a folder of its name beside it.
"""

from collections.abc import Mapping
from pathlib import Path

from context_compression.hosts.claude_code.about import (
    NAME,
    TITLE,
    project_folder_name,
    projects_folder,
)
from context_compression.transcripts.candidates import CandidateConversation, files
from context_compression.transcripts.host_sessions import HostSessions


def sessions(environ: Mapping[str, str], home: Path) -> list[CandidateConversation]:
    """The sessions of all projects; the one written last comes first."""
    paths = projects_folder(environ, home).glob("*/*.jsonl")
    # until 2.0.28 the transcripts of subagents were beside those of sessions
    return files((p for p in paths if not p.name.startswith("agent-")), lambda path: path.stem)


def subagents(path: Path) -> list[Path]:
    """The transcripts of the subagents of a session."""
    return list(path.with_suffix("").glob("subagents/**/*.jsonl"))


SESSIONS = HostSessions(
    name=NAME,
    title=TITLE,
    sessions=sessions,
    is_of=lambda session, project: session.path.parent.name == project_folder_name(str(project)),
    compaction_marks=(b'"subtype":"compact_boundary"', b'"subtype":"microcompact_boundary"'),
    subagents=lambda session: len(subagents(session.path)),
)
