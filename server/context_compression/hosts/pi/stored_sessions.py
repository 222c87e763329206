"""The sessions that Pi keeps: `~/.pi/agent/sessions/--<project>--/<time>_<id>.jsonl`.

If PI_CODING_AGENT_SESSION_DIR is set, the sessions of all projects are in that folder.
"""

from collections.abc import Mapping
from pathlib import Path

from context_compression.hosts.pi.about import (
    NAME,
    SESSIONS_VARIABLE,
    TITLE,
    agent_folder,
)
from context_compression.transcripts.candidates import CandidateConversation, files
from context_compression.transcripts.damaged_lines import first_row
from context_compression.transcripts.host_sessions import HostSessions
from context_compression.transcripts.lines import string
from context_compression.transcripts.same_folder import is_same_folder


def sessions(environ: Mapping[str, str], home: Path) -> list[CandidateConversation]:
    """The sessions of all projects; the one written last comes first."""
    paths = list((agent_folder(environ, home) / "sessions").glob("*/*.jsonl"))
    if shared := environ.get(SESSIONS_VARIABLE):
        paths += Path(shared).glob("*.jsonl")
    return files(paths, lambda path: path.stem.rpartition("_")[2])


def cwd(path: Path) -> str:
    """The folder that a session was started in."""
    return string(first_row(path), "cwd")


SESSIONS = HostSessions(
    name=NAME,
    title=TITLE,
    sessions=sessions,
    is_of=lambda session, project: is_same_folder(cwd(session.path), str(project)),
    compaction_marks=(b'"type":"compaction"',),
)
