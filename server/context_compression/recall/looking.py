"""A look at the sessions that hosts keep, which serves several searches.

To look at thousands of files takes longer than to search what they hold. So a search takes the last
look of this process, and looks again at the newest sessions only: one that is written is among
them. It looks at all of them again if a folder has changed, in which a session is then new or gone,
and otherwise after some time.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

from context_compression.hosts.projects import (
    FoundSession,
    folder_of,
    folders_of,
    kept_beside,
    sessions_of,
    sessions_of_hosts,
)
from context_compression.recall.logs import stamp_of
from context_compression.store.backend import Stamp
from context_compression.store.files import collecting
from context_compression.store.kept import SESSIONS
from context_compression.store.location import INDEX, name_of_project, user_data
from context_compression.workspace import Workspace
from context_compression.workspace.kept import kept_in

NEWEST = 64
"""How many sessions each search looks at again."""
AGAIN = 20
"""After so many times the time that a look took, it is taken again."""


@dataclass
class Project:
    """The sessions of one project, as they were at a look.

    Attributes:
        roots: its folders.
        folder: of its index.
        by_path: the sessions, the newest first.
        stamps: of those that are there.
        indexed: the state of the index that has all of them; `None` if there is none.
        unreadable: the paths of those that could not be read when they were indexed.
    """

    roots: Sequence[Path]
    folder: Path
    by_path: Mapping[str, FoundSession]
    stamps: Mapping[str, Stamp] = field(default_factory=dict[str, Stamp])
    indexed: object = None
    unreadable: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Look at the files."""
        stamps = ((path, stamp_of(each)) for path, each in self.by_path.items())
        self.stamps = {path: stamp for path, stamp in stamps if stamp}

    @property
    def index(self) -> object:
        """Which file the index is; `None` if there is none."""
        return _state_of(str(self.folder / INDEX), of_file=True)

    def renewed(self, workspace: Workspace, grown: Sequence[FoundSession]) -> "Project":
        """The project after some sessions have changed."""
        of_it = sessions_of(workspace, self.roots, grown)
        now = {each.place: each for each in of_it}
        were = {each.place for each in grown}
        rest = {path: each for path, each in self.by_path.items() if path not in were}
        if not now and len(rest) == len(self.by_path):
            return self
        return Project(self.roots, self.folder, now | rest)


@dataclass(frozen=True)
class LastLook:
    """What was there at a look.

    Attributes:
        projects: those that may be searched.
        problems: why some sessions could not be listed, in sentences.
        newest: the sessions written last, of all projects.
        folders: the state of each folder in which sessions or worktrees are, and of those above.
        until: when to look again, as `monotonic` tells it.
    """

    projects: Sequence[Project]
    problems: Sequence[str]
    newest: Sequence[FoundSession]
    folders: Mapping[str, object]
    until: float

    @classmethod
    def taken(cls, workspace: Workspace, *, everywhere: bool) -> "LastLook":
        """A look at all sessions; `everywhere` if those of all projects may be searched."""
        began = monotonic()
        every, problems = sessions_of_hosts(workspace)
        with collecting(problems):
            every += kept_beside(workspace, every)
        projects = [*_projects(workspace, every, everywhere)]
        folders = {folder: _state_of(folder) for folder in _folders(every, workspace.home)}
        kept = str(kept_in(workspace).folder / SESSIONS)
        folders[kept] = _state_of(kept)
        for root in (root for project in projects for root in project.roots):
            worktrees = str(root / ".git" / "worktrees")
            folders[worktrees] = _state_of(worktrees)
        until = monotonic() + AGAIN * (monotonic() - began)
        return cls(projects, problems, every[:NEWEST], folders, until)

    def renewed(self, workspace: Workspace) -> "LastLook | None":
        """The look with what has changed in the newest sessions; `None` if it is too old."""
        if monotonic() > self.until:
            return None
        if any(_state_of(folder) != state for folder, state in self.folders.items()):
            return None
        now = [*map(_again, self.newest)]
        grown = [new for new, old in zip(now, self.newest, strict=True) if new is not old]
        if not grown:
            return self
        projects = [project.renewed(workspace, grown) for project in self.projects]
        return replace(self, projects=projects, newest=now)


def look(workspace: Workspace, *, everywhere: bool) -> LastLook:
    """The sessions that may be searched, as they are now, or were shortly before."""
    key = (
        workspace.home, workspace.cwd, everywhere, workspace.recall_projects,
        workspace.access.read_host_transcripts, frozenset(workspace.environ.items()),
    )  # fmt: skip
    last = _last.get(key)
    found = last.renewed(workspace) if last else None
    if not found:
        found = LastLook.taken(workspace, everywhere=everywhere)
        _last.clear()
    _last[key] = found
    return found


_last: dict[tuple[Any, ...], LastLook] = {}
"""The last look of this process."""


def _projects(
    workspace: Workspace, every: Sequence[FoundSession], everywhere: bool
) -> Iterator[Project]:
    """This project, then those that the user allowed; without those that never had sessions."""
    home, allowed = workspace.home, workspace.recall_projects
    roots = dict.fromkeys([folders_of(workspace.cwd, home)])
    if everywhere:
        folders = filter(None, dict.fromkeys(map(folder_of, every)))
        roots |= dict.fromkeys(folders_of(Path(folder), home) for folder in folders)
    else:
        roots |= dict.fromkeys(folders_of(workspace.place(p), home) for p in allowed)
    for own in roots:
        by_path = {each.place: each for each in sessions_of(workspace, own, every)}
        place = user_data(home) / "recall" / name_of_project(own[0])
        if by_path or os.path.lexists(place / INDEX):  # then what is gone has to leave it
            yield Project(own, place, by_path)


def _folders(sessions: Sequence[FoundSession], home: Path) -> set[str]:
    """The folders that hold sessions, and those between them and the home folder.

    Where a host keeps its sessions in a database, that is among them, with its newest changes.
    """
    found: set[str] = set()
    for folder in {os.path.dirname(each.candidate.path) for each in sessions}:
        found |= {folder, f"{folder}-wal"} if os.path.isfile(folder) else {folder}
        above = os.path.dirname(folder)
        while above not in found and above.startswith(f"{home}{os.sep}"):
            found.add(above)
            above = os.path.dirname(above)
    return found


def _state_of(path: str, *, of_file: bool = False) -> object:
    """What changes if a folder does, or of a file if it is another one; `None` if it is gone."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_dev, about.st_ino, 0 if of_file else about.st_mtime_ns


def _again(session: FoundSession) -> FoundSession:
    """The same session if it is as it was, else as it is now."""
    try:
        written_at = os.stat(session.candidate.path).st_mtime
    except OSError:  # it is gone, which its folder tells, or it is in a database
        return session
    if written_at == session.written_at:
        return session
    candidate = replace(session.candidate, written_at=written_at)
    return replace(session, written_at=written_at, candidate=candidate)
