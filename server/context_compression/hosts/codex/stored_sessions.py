"""The sessions that Codex keeps: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread id>.jsonl`.

A subagent's rollout is beside the others; its first line says that it is one.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object
from context_compression.hosts.codex.about import NAME, TITLE, sessions_folder
from context_compression.transcripts.candidates import CandidateConversation, files
from context_compression.transcripts.damaged_lines import first_row
from context_compression.transcripts.host_sessions import HostSessions
from context_compression.transcripts.lines import string

ID = 36  # characters of a thread's id, at the end of the file's name


def sessions(environ: Mapping[str, str], home: Path) -> list[CandidateConversation]:
    """The threads of all projects; the one written last comes first."""
    paths = sessions_folder(environ, home).glob("*/*/*/rollout-*.jsonl")
    return files(paths, lambda path: path.stem[-ID:])


def is_of(session: CandidateConversation, project: Path) -> bool:
    """Whether a thread works in a folder."""
    return string(meta(session.path), "cwd") == str(project)


def is_subagent(session: CandidateConversation) -> bool:
    """Whether a thread is a subagent's."""
    about = meta(session.path)
    return about.get("thread_source") == "subagent" or "subagent" in as_object(about.get("source"))


def meta(path: Path) -> Mapping[str, Any]:
    """The payload of a rollout's first line, which describes the thread."""
    return as_object(first_row(path).get("payload"))


SESSIONS = HostSessions(
    name=NAME,
    title=TITLE,
    sessions=sessions,
    is_of=is_of,
    compaction_marks=(b'"type":"compacted"',),
    is_subagent=is_subagent,
)
