"""The sessions that Codex keeps, each thread once: see `rollouts` for its files.

A subagent's rollout is beside the others; its first line says that it is one.
"""

from collections.abc import Mapping
from pathlib import Path

from context_compression.conversation.messages import as_object
from context_compression.hosts.codex.about import NAME, TITLE, home_folder
from context_compression.hosts.codex.rollouts import by_thread, meta, newest, rollouts
from context_compression.transcripts.candidates import CandidateConversation, files
from context_compression.transcripts.host_sessions import HostSessions
from context_compression.transcripts.lines import string
from context_compression.transcripts.same_folder import is_same_folder


def sessions(environ: Mapping[str, str], home: Path) -> list[CandidateConversation]:
    """The threads of all projects; the one written last comes first."""
    threads = by_thread(rollouts(home_folder(environ, home)))
    ids = {newest(found).path: thread for thread, found in threads.items()}
    return files(ids, ids.__getitem__)


def is_of(session: CandidateConversation, project: Path) -> bool:
    """Whether a thread works in a folder; also if its file cannot be unpacked to see it."""
    about = meta(session.path)
    if not about and session.path.suffix == ".zst":
        return True
    return is_same_folder(string(about, "cwd"), str(project))


def is_subagent(session: CandidateConversation) -> bool:
    """Whether a thread is a subagent's."""
    about = meta(session.path)
    return about.get("thread_source") == "subagent" or "subagent" in as_object(about.get("source"))


SESSIONS = HostSessions(
    name=NAME,
    title=TITLE,
    sessions=sessions,
    is_of=is_of,
    compaction_marks=(b'"type":"compacted"',),
    is_subagent=is_subagent,
)
