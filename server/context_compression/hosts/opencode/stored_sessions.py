"""The sessions that opencode keeps, in its database. A session with a parent is a subagent's."""

from collections.abc import Mapping
from pathlib import Path

from context_compression.errors import TranscriptError
from context_compression.hosts.opencode.about import NAME, TITLE, database_file
from context_compression.hosts.opencode.database import ALL, sessions_where
from context_compression.hosts.opencode.opened import looking
from context_compression.transcripts.candidates import CandidateConversation
from context_compression.transcripts.host_sessions import HostSessions
from context_compression.transcripts.same_folder import is_same_folder


def sessions(environ: Mapping[str, str], home: Path) -> list[CandidateConversation]:
    """The sessions of all projects; the one written last comes first."""
    path = database_file(environ, home)
    if not path.is_file():
        return []
    return looking(path, lambda db: sessions_where(path, db, "parent_id IS NULL", (), most=ALL))


def _subagents(session: CandidateConversation) -> int:
    database, id = session.path.parent, session.path.name
    try:
        return len(
            looking(
                database, lambda db: sessions_where(database, db, "parent_id = ?", (id,), most=ALL)
            )
        )
    except TranscriptError:
        return 0


SESSIONS = HostSessions(
    name=NAME,
    title=TITLE,
    sessions=sessions,
    is_of=lambda session, project: is_same_folder(session.project, str(project)),
    subagents=_subagents,
)
