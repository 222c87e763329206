"""The sessions that Copilot CLI keeps: `~/.copilot/session-state/<session>/events.jsonl`."""

from collections.abc import Mapping
from pathlib import Path

from context_compression.conversation.messages import as_object
from context_compression.hosts.copilot_cli.about import NAME, TITLE, home_folder
from context_compression.transcripts.candidates import CandidateConversation, files
from context_compression.transcripts.damaged_lines import first_row
from context_compression.transcripts.host_sessions import HostSessions
from context_compression.transcripts.lines import string
from context_compression.transcripts.same_folder import is_same_folder


def sessions(environ: Mapping[str, str], home: Path) -> list[CandidateConversation]:
    """The sessions of all projects; the one written last comes first."""
    paths = (home_folder(environ, home) / "session-state").glob("*/events.jsonl")
    return files(paths, lambda path: path.parent.name)


def is_of(session: CandidateConversation, project: Path) -> bool:
    """Whether a session was started in a folder."""
    context = as_object(as_object(first_row(session.path).get("data")).get("context"))
    return is_same_folder(string(context, "cwd"), str(project))


SESSIONS = HostSessions(name=NAME, title=TITLE, sessions=sessions, is_of=is_of)
