"""The sessions that Gemini CLI keeps, and the folders of projects that they are in.

`~/.gemini/tmp/<project>/chats/session-<minute>-<beginning of the id>.jsonl`; transcripts of
subagents are in a folder below `chats`.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from context_compression.conversation.messages import as_object
from context_compression.hosts.gemini_cli.about import NAME, TITLE, settings_folder
from context_compression.transcripts.candidates import CandidateConversation, files
from context_compression.transcripts.host_sessions import HostSessions
from context_compression.transcripts.transcript import id_from_name

PATTERN = "chats/session-*.json*"


def sessions(environ: Mapping[str, str], home: Path) -> list[CandidateConversation]:
    """The sessions of all projects; the one written last comes first."""
    paths = settings_folder(environ, home).glob(f"tmp/*/{PATTERN}")
    return files(paths, lambda path: id_from_name(path).rpartition("-")[2])


def project_folders(gemini: Path, project: Path) -> list[Path]:
    """The folders of a project's sessions: by its short name, or, until 2026, its path's hash.

    Args:
        gemini: the folder `~/.gemini`.
        project: the folder of the project.
    """
    names = [sha256(str(project).encode()).hexdigest()]
    names.append(known_projects(gemini).get(str(project), ""))
    return [gemini / "tmp" / name for name in names if name]


def known_projects(gemini: Path) -> dict[str, str]:
    """The short names of projects by their folders."""
    with suppress(OSError, ValueError):
        projects = as_object(json.loads((gemini / "projects.json").read_bytes()))
        return {p: str(name) for p, name in as_object(projects.get("projects")).items()}
    return {}


def _is_of(session: CandidateConversation, project: Path) -> bool:
    folder = session.path.parent.parent
    return folder in project_folders(folder.parent.parent, project)


def _subagents(session: CandidateConversation) -> Iterator[Path]:
    return session.path.parent.glob(f"{session.id}*/*.jsonl")


SESSIONS = HostSessions(
    name=NAME,
    title=TITLE,
    sessions=sessions,
    is_of=_is_of,
    subagents=lambda session: len(list(_subagents(session))),
)
