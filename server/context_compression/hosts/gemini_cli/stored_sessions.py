"""The sessions that Gemini CLI keeps, and the folders of projects that they are in.

`~/.gemini/tmp/<project>/chats/session-<minute>-<beginning of the id>.jsonl`; transcripts of
subagents are in a folder below `chats`.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from context_compression.conversation.messages import as_object
from context_compression.hosts.gemini_cli.about import NAME, TITLE, settings_folder
from context_compression.opening import opened
from context_compression.transcripts.candidates import CandidateConversation, files
from context_compression.transcripts.host_sessions import HostSessions
from context_compression.transcripts.same_folder import is_same_folder
from context_compression.transcripts.transcript import id_from_name

LONGEST_PATH = 4096  # bytes
PATTERN = "chats/session-*.json*"


def sessions(environ: Mapping[str, str], home: Path) -> list[CandidateConversation]:
    """The sessions of all projects; the one written last comes first."""
    gemini = settings_folder(environ, home)
    found = files(
        gemini.glob(f"tmp/*/{PATTERN}"), lambda path: id_from_name(path).rpartition("-")[2]
    )
    projects = {name: project for project, name in known_projects(gemini).items()}
    names = {each.path: each.path.parents[1].name for each in found}
    return [
        replace(each, project=projects.get(names[each.path]) or _root(each.path.parents[1]))
        for each in found
    ]


def project_folders(gemini: Path, project: Path) -> list[Path]:
    """The folders of a project's sessions: by its short name, or, until 2026, its path's hash.

    Args:
        gemini: the folder `~/.gemini`.
        project: the folder of the project.
    """
    names = [sha256(str(project).encode()).hexdigest()]
    known = known_projects(gemini).items()  # on Windows their paths are in small letters
    names += [name for folder, name in known if is_same_folder(folder, str(project))]
    return [gemini / "tmp" / name for name in names if name]


def _root(folder: Path) -> str:
    """The project that a folder of sessions says it belongs to."""
    with suppress(OSError, ValueError), opened(folder / ".project_root") as file:
        return file.read(LONGEST_PATH).decode().strip()
    return ""


def known_projects(gemini: Path) -> dict[str, str]:
    """The short names of projects by their folders."""
    with suppress(OSError, ValueError), opened(gemini / "projects.json") as file:
        projects = as_object(json.loads(file.read()))
        return {p: str(name) for p, name in as_object(projects.get("projects")).items()}
    return {}


def _is_of(session: CandidateConversation, project: Path) -> bool:
    folder = session.path.parent.parent
    if folder in project_folders(folder.parent.parent, project):
        return True
    return is_same_folder(session.project, str(project))


def _subagents(session: CandidateConversation) -> Iterator[Path]:
    return session.path.parent.glob(f"{session.id}*/*.jsonl")


SESSIONS = HostSessions(
    name=NAME,
    title=TITLE,
    sessions=sessions,
    is_of=_is_of,
    subagents=lambda session: len(list(_subagents(session))),
)
