"""`HostSessions`: the sessions that a host keeps on this machine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from context_compression.transcripts.candidates import CandidateConversation


@dataclass(frozen=True)
class HostSessions:
    """The sessions of one host. Each `hosts/<host>/stored_sessions.py` has one, called `SESSIONS`.

    Attributes:
        name: the name of the host, as in `Transcript`.
        title: the name of the host for people.
        sessions: gives all sessions, the one written last first, for an environment and a home
            folder. No transcript is read. Sessions of subagents are left out where their paths show
            it.
        is_of: whether a session belongs to a project's folder; reads at most one line.
        subagents: how many transcripts of subagents belong to a session; reads none of them.
        compaction_marks: bytes that are in the row of each compaction, and in no other row; empty
            if there are none.
        is_subagent: whether a session is a subagent's; reads at most one line.
        largest_use: tokens of the largest request in the whole transcript of a session, if a model
            answered one that is larger than a window, else 0; few of its rows are parsed.
    """

    name: str
    title: str
    sessions: Callable[[Mapping[str, str], Path], list[CandidateConversation]]
    is_of: Callable[[CandidateConversation, Path], bool]
    compaction_marks: Sequence[bytes] = ()
    subagents: Callable[[CandidateConversation], int] = lambda session: 0
    is_subagent: Callable[[CandidateConversation], bool] = lambda session: False
    largest_use: Callable[[Path, str | None, int], int] = lambda path, model, window: 0
