"""Finds the session of the Pi conversation that calls us.

Pi writes a call to the session before it runs it (seen in version 0.87). So the session that makes
the call being answered is ours.
"""

from pathlib import Path

from context_compression.hosts.pi.about import (
    MARK_VARIABLE,
    NAME,
    SESSIONS_VARIABLE,
    TITLE,
    sessions_folder,
)
from context_compression.hosts.pi.stored_sessions import cwd
from context_compression.transcripts.caller import Caller
from context_compression.transcripts.candidates import CandidateConversation, files
from context_compression.transcripts.live_host import LiveHost, transcript_of_call
from context_compression.transcripts.same_folder import is_same_folder


def sessions_here(caller: Caller) -> list[CandidateConversation]:
    """The sessions of this working directory; the one written last comes first."""
    paths = list(sessions_folder(caller.environ, caller.home, caller.cwd).glob("*.jsonl"))
    if shared := caller.environ.get(SESSIONS_VARIABLE):
        here = str(caller.cwd)
        paths += [path for path in Path(shared).glob("*.jsonl") if is_same_folder(cwd(path), here)]
    return files(paths)


def find_current(caller: Caller) -> Path:
    """The transcript of the session we are called from.

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
