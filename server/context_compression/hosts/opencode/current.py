"""Finds the session of the opencode conversation that calls us.

The database holds a running call with its input (seen in version 1.18). So the session that makes
the call being answered is ours; a subagent's own if it called.
"""

from pathlib import Path

from context_compression.errors import TranscriptError
from context_compression.hosts.opencode.about import MARK_VARIABLE, NAME, TITLE, database_file
from context_compression.hosts.opencode.database import sessions_where
from context_compression.hosts.opencode.opened import looking
from context_compression.transcripts.caller import Caller
from context_compression.transcripts.candidates import CandidateConversation
from context_compression.transcripts.live_host import LiveHost, transcript_of_call


def sessions_here(caller: Caller) -> list[CandidateConversation]:
    """The sessions of this working directory; the one written last comes first."""
    path = database_file(caller.environ, caller.home)
    if not path.is_file():
        return []
    try:
        return looking(
            path, lambda db: sessions_where(path, db, "directory = ?", (str(caller.cwd),))
        )
    except TranscriptError:
        return []


def find_current(caller: Caller) -> Path:
    """The path of the session we are called from: the database, followed by the session's id.

    Raises:
        ConversationNotFound: it is not certain which session is ours.
    """
    return transcript_of_call(caller, sessions_here)


HOST = LiveHost(
    name=TITLE,
    client=NAME,
    meta_key="",
    variable=MARK_VARIABLE,
    is_proved=True,
    find=find_current,
    here=sessions_here,
)
