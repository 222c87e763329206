"""The sessions that hosts keep of one project: of its repository, and all worktrees of that.

Whoever asks for the sessions of a folder must not be shown those of another project. So nothing
counts that only a file in a folder claims: a worktree and its repository have to name each other.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import takewhile
from pathlib import Path

from context_compression.errors import ContextCompressionError
from context_compression.guard import in_our_words
from context_compression.hosts.host import Host
from context_compression.hosts.table import KEEPING
from context_compression.opening import opened
from context_compression.store.kept import KeptSession
from context_compression.store.location import linked_repository, main_worktree, pointer
from context_compression.transcripts.opening import PACKED_NAMES
from context_compression.transcripts.sessions import OF_NAME, CandidateConversation, is_same_folder
from context_compression.transcripts.sessions import is_below as is_inside
from context_compression.workspace import Workspace
from context_compression.workspace.kept import kept_in, may_keep

BY_HOST = {host.name: host for host in KEEPING}
"""The hosts whose sessions we find, by their names."""


@dataclass(frozen=True)
class FoundSession:
    """A session that was found but not read.

    Attributes:
        written_at: when it was last written, in seconds since 1970.
        candidate: what is known without reading it.
        host: `None` for one in our store.
        kept: the version that is kept of it, if its host has it no longer.
        is_older: whether that is not the newest version, or the host has a newer one that does not
            begin with it.
    """

    written_at: float
    candidate: CandidateConversation
    host: Host | None = None
    kept: KeptSession | None = None
    is_older: bool = False

    @property
    def place(self) -> str:
        """The path of its transcript; for an older version, with the beginning of its name."""
        path = str(self.candidate.path)
        return f"{path} {self.kept.name[:12]}" if self.kept and self.is_older else path

    @property
    def is_subagent(self) -> bool:
        """Whether it is a subagent's; reads at most one line."""
        if self.kept:
            return self.kept.is_subagent
        return bool(self.host and self.host.stored.is_subagent(self.candidate))


def sessions_of(
    workspace: Workspace,
    folders: Sequence[Path] | None = None,
    among: Sequence[FoundSession] | None = None,
) -> list[FoundSession]:
    """The sessions of a project, the one written last first; no subagents', none of our store.

    A session that also worked elsewhere is none of the project's: it holds what was seen there.
    Empty if hosts' transcripts may not be read.

    Args:
        workspace: whose working directory, home folder and environment count.
        folders: those of the project, see `is_below`; by default `folders_of` the working
            directory.
        among: all sessions, if they are known already.
    """
    access, cwd, home = workspace.access, workspace.cwd, workspace.home.resolve()
    if access.no_files or not access.read_host_transcripts:
        return []
    roots = folders_of(cwd, home) if folders is None else folders
    likely = [*dict.fromkeys(map(str, (*roots, cwd)))]

    @cache
    def is_of_it(folder: str) -> bool:
        return is_below(folder, roots, home)

    return [
        each
        for each in (sessions_of_hosts(workspace)[0] if among is None else among)
        if _all(map(is_of_it, worked_in(each, likely))) and each.host and not each.is_subagent
    ]


def sessions_of_hosts(workspace: Workspace) -> tuple[list[FoundSession], list[str]]:
    """All sessions of all hosts, the one written last first, and why some hosts have none."""
    found: list[FoundSession] = []
    problems: list[str] = []
    for host in KEEPING:
        try:
            with in_our_words():
                candidates = host.stored.sessions(workspace.environ, workspace.home)
        except ContextCompressionError as error:
            problems.append(f"The sessions of {host.title} cannot be listed: {error}")
            continue
        found += [FoundSession(each.written_at, each, host) for each in candidates]
    return sorted(found, key=lambda each: each.written_at, reverse=True), problems


def kept_beside(workspace: Workspace, found: Sequence[FoundSession]) -> Iterator[FoundSession]:
    """What is kept of sessions and their hosts have no longer; the newest version first.

    Args:
        workspace: of the user who keeps them.
        found: the sessions that hosts have.
    """
    if not may_keep(workspace):
        return
    there = {str(each.candidate.path): each for each in found}
    there |= {f"{each.host.name} {each.candidate.id}": each for each in found if each.host}
    newest: set[str] = set()
    for each in kept_in(workspace).sessions():
        id = f"{each.host} {each.id}"
        names = (each.path, id, f"{each.host} {each.id[:OF_NAME]}")
        now = next((there[name] for name in names if name in there), None)
        if each.host not in BY_HOST or (now and begins_with(now.candidate.path, each)):
            continue
        candidate = CandidateConversation(
            Path(each.path), each.written_at, each.title, each.id, each.project
        )
        is_older = now is not None or id in newest
        newest.add(id)
        yield FoundSession(each.written_at, candidate, BY_HOST[each.host], each, is_older)


def begins_with(path: Path, kept: KeptSession) -> bool:
    """Whether a transcript is as it was kept, or only grew since."""
    first = kept.files[0]
    try:
        about = os.stat(path)
        if (about.st_size, about.st_mtime_ns) == first.stamp or path.suffix in PACKED_NAMES:
            return True
        with opened(path) as file:
            return sha256(file.read(first.size)).hexdigest() == first.sha256
    except NotADirectoryError:  # a database, in which a host compacts without a loss
        return True
    except OSError:
        return False


def _all(answers: Iterator[bool]) -> bool:
    """Whether there are answers, and all are yes; asks no further after a no."""
    return next(answers, False) and all(answers)


def worked_in(session: FoundSession, likely: Iterable[str] = ()) -> Iterable[str]:
    """The folders that the agent worked in, the first one first; none if that is not known.

    Reads one line of the session, and of Claude Code's also the end, for those after the first.

    Args:
        session: of a host.
        likely: folders that it may be: Gemini CLI kept only the hash of a folder until 2026.
    """
    if session.kept:
        return session.kept.folders
    return session.host.stored.folders(session.candidate, likely) if session.host else ()


def folder_of(session: FoundSession) -> str:
    """The folder that the agent began in; empty if that is not known."""
    return next(iter(worked_in(session)), "")


def is_below(folder: str, folders: Iterable[Path], home: Path) -> bool:
    """Whether a folder is one of these, or below one, and not in another repository there.

    A submodule, whose `.git` is a file, is seen from above.

    The home folder (given without links), and one above it, stands for itself alone: all of the
    user's projects are below it.
    """
    roots = [*folders]
    if any(is_same_folder(folder, str(root)) for root in roots):
        return True
    above = [
        each for each in roots if is_inside(folder, str(each)) and not home.is_relative_to(each)
    ]
    between = takewhile(lambda each: each not in above, (Path(folder), *Path(folder).parents))
    own = (each for each in between if each.is_absolute())  # a path of Windows elsewhere is none
    return bool(above) and not any((each / ".git").is_dir() for each in own)


def folders_of(cwd: Path, home: Path) -> tuple[Path, ...]:
    """The root of the repository that holds `cwd`, and of each of its worktrees; `cwd` without one.

    What is below them is of the project, too; see `is_below`. Git is not run. In the home folder
    and above it, and where a repository is there, only `cwd` counts.
    """
    start, home = cwd.resolve(), home.resolve()
    own = takewhile(lambda folder: not home.is_relative_to(folder), (start, *start.parents))
    root = next((folder for folder in own if os.path.lexists(folder / ".git")), None)
    if root is None or not _is_repository(root):
        return (start,)
    main = main_worktree(root) or root
    repository = linked_repository(root) or main / ".git"
    return tuple(dict.fromkeys((root, main, *_worktrees(repository))))


def _is_repository(root: Path) -> bool:
    """Whether `.git` is a folder, or a file that names one."""
    own = root / ".git"
    pointed = own if own.is_dir() else pointer(own, "gitdir: ")
    return pointed is not None and pointed.is_dir()


def _worktrees(repository: Path) -> Iterator[Path]:
    """The linked worktrees of a repository that name it in turn."""
    if os.path.islink(repository):
        return
    for file in sorted(repository.glob("worktrees/*/gitdir")):
        own = pointer(file)
        root = Path(os.path.realpath(own.parent)) if own and own.name == ".git" else None
        if root and linked_repository(root) == repository:
            yield root
