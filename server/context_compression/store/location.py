"""Where the store of some work lies: in its project, or where the user says.

A linked git worktree is taken down when its branch is done: its store is that of the main worktree.
"""

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

NAME = ".compression"
INDEX = "search.sqlite"
"""The search index in it."""
BESIDE_INDEX = ("-journal", "-wal", "-shm")
"""Endings of what SQLite may leave next to that."""
USER = "user"
"""As `CONTEXT_COMPRESSION_DIR`: a folder for each project among the user's own data."""
LONGEST_POINTER = 10_000
"""Bytes read of a file in which git names a folder."""


def place_of(start: Path, *, home: Path, environ: Mapping[str, str]) -> Path:
    """The folder of the store for work done in `start`; it need not be there.

    `CONTEXT_COMPRESSION_DIR` (relative to `start`; `user`: among the user's data), else the nearest
    `.compression` upward to the repository's root, else one made there; in a linked worktree where
    none lies, the same of the main worktree. Without a repository only `start` counts: what lies
    above may be anybody's; so from `home`. From `/`, or where one cannot write, the one in `home`.
    A link is not taken for one: who wrote the repository would decide where we write and may read.
    """
    start, home = start.resolve(), home.resolve()
    if named := environ.get("CONTEXT_COMPRESSION_DIR"):
        if named == USER:
            return _among_user_data(_root(start, home))
        first, *rest = Path(named).parts
        place = home.joinpath(*rest) if first == "~" else start / named
        return place if not _leads_away(start, named) else home / NAME
    root = _root(start, home)
    place = _nearest(start, root)
    if place is None and (main := main_worktree(root)):
        inside = main / start.relative_to(root)
        root = main
        place = _nearest(inside, main)
    place = place or root
    written = place / NAME if os.path.lexists(place / NAME) else place
    usable = _is_folder(written) and os.access(written, os.W_OK | os.X_OK)
    return (home if place == Path(place.anchor) or not usable else place) / NAME


def main_worktree(root: Path) -> Path | None:
    """The main worktree of the linked one at `root`; `None` where it is not one.

    Its `.git` is a file that names a folder of the repository, which names this file in turn: else
    whoever wrote the file would decide where we write. A bare repository has no main worktree.
    """
    own = root / ".git"
    pointed = pointer(own, "gitdir: ")
    back, common = (pointer(pointed / name) if pointed else None for name in BACK)
    if pointed is None or back is None or common is None or not own.is_file():
        return None
    repository = Path(os.path.realpath(common))
    inside = os.path.realpath(pointed.parent) == os.path.realpath(repository / "worktrees")
    same = inside and os.path.realpath(back) == os.path.realpath(own)
    main = repository.parent
    if not same or repository.name != ".git" or not _is_folder(main / ".git"):
        return None
    return main if main != root else None


BACK = ("gitdir", "commondir")
"""Files in the folder of a linked worktree: where its `.git` is, and where all share the rest."""


def pointer(file: Path, prefix: str = "") -> Path | None:
    """The path that a file of git's names, from the file's folder on."""
    try:
        if not file.is_file():
            return None
        with open(file, "rb") as opened:
            text = os.fsdecode(opened.read(LONGEST_POINTER)).rstrip("\r\n")
    except OSError:
        return None
    named = text.removeprefix(prefix)
    if "\0" in text or not named or not text.startswith(prefix):
        return None
    return file.parent / named


def _root(start: Path, home: Path) -> Path:
    """The root of the repository that `start` is in; `start` where it is in none."""
    upward = [start, *start.parents] if start != home else [start]
    return next((folder for folder in upward if os.path.exists(folder / ".git")), start)


def _nearest(start: Path, root: Path) -> Path | None:
    """The nearest folder with a store, from `start` up to `root`."""
    upward = [start, *start.parents]
    within = upward[: upward.index(root) + 1]
    return next((folder for folder in within if _is_folder(folder / NAME)), None)


def _among_user_data(root: Path) -> Path:
    from platformdirs import user_data_path

    project = main_worktree(root) or root
    digest = sha256(os.fsencode(project)).hexdigest()[:8]
    return user_data_path("context-compression", False) / f"{project.name or 'root'}-{digest}"


def _leads_away(start: Path, named: str) -> bool:
    """Whether a relative path goes through a link, which whoever wrote the project made."""
    if Path(named).is_absolute():
        return False
    return any(map(os.path.islink, (start / named, *(start / named).parents)))


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)
