"""Finds the session of the Gemini CLI conversation that calls us.

Gemini CLI writes a call only when the call has ended (seen in version 0.61), so nothing proves that
a session is ours. But the turn that calls us has written to our session since this process began.
"""

from pathlib import Path

from context_compression.hosts.gemini_cli.about import (
    MARK_VARIABLE,
    NAME,
    TITLE,
    settings_folder,
)
from context_compression.hosts.gemini_cli.stored_sessions import PATTERN, project_folders
from context_compression.transcripts.caller import Caller
from context_compression.transcripts.candidates import CandidateConversation, files
from context_compression.transcripts.live_host import LiveHost, uncertain


def sessions_here(caller: Caller) -> list[CandidateConversation]:
    """The sessions of this working directory; the one written last comes first."""
    gemini = settings_folder(caller.environ, caller.home)
    folders = project_folders(gemini, caller.cwd)
    return files(path for folder in folders for path in folder.glob(PATTERN))


def find_current(caller: Caller) -> Path:
    """The transcript of the session we are called from.

    Raises:
        ConversationNotFound: it is not certain which session is ours.
    """
    near = sessions_here(caller)
    recent = [session for session in near if session.written_at >= caller.began]
    if not caller.request.tool and len(near) == 1:
        return near[0].path
    if not caller.request.tool or len(recent) != 1:
        raise uncertain(caller, "It is not certain which transcript is the current one", near)
    subagents = files(recent[0].path.parent.glob("*/*.jsonl"))
    if subagents and subagents[0].written_at >= caller.began:
        raise uncertain(
            caller, "It is not certain whether a subagent called", [*recent, *subagents]
        )
    return recent[0].path


HOST = LiveHost(
    name=TITLE,
    client=NAME,
    meta_key="",
    variable=MARK_VARIABLE,
    is_proved=False,
    find=find_current,
    here=sessions_here,
)
