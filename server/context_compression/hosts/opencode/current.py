"""Finds the session of the opencode conversation that calls us.

The database holds a running call with its input (seen in version 1.18). So the session that makes
the call being answered is ours; a subagent's own if it called.
"""

from pathlib import Path

from context_compression.errors import TranscriptError
from context_compression.hosts.opencode.about import MARK_VARIABLE, NAME, TITLE, database_file
from context_compression.hosts.opencode.database import ALL, sessions_where
from context_compression.hosts.opencode.opened import looking
from context_compression.transcripts.caller import Caller
from context_compression.transcripts.candidates import LISTED, CandidateConversation
from context_compression.transcripts.live_host import LiveHost, transcript_of_call
from context_compression.transcripts.same_folder import WINDOWS, is_same_folder


def sessions_here(caller: Caller) -> list[CandidateConversation]:
    """The sessions of this working directory; the one written last comes first."""
    path = database_file(caller.environ, caller.home)
    if not path.is_file():
        return []
    here = str(caller.cwd)
    try:
        if WINDOWS.match(here):
            found = looking(path, lambda db: sessions_where(path, db, "true", (), most=ALL))
            return [each for each in found if is_same_folder(each.project, here)][:LISTED]
        return looking(path, lambda db: sessions_where(path, db, "directory = ?", (here,)))
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
