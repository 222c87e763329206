"""The location of the store for a working folder: in the project, or where the user sets it.

A linked git worktree uses the store of the main worktree, because it is removed when its branch is
done.
"""

import os
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from context_compression.errors import StoreError
from context_compression.opening import opened

NAME = ".compression"
"""The name of the store folder."""
INDEX = "search.sqlite"
"""The name of the search index in the store folder."""
JOURNAL_ENDINGS = ("-journal", "-wal", "-shm")
"""Endings of the files that SQLite may leave next to the index."""
PLACE, FOLDER = "CONTEXT_COMPRESSION_STORE", "CONTEXT_COMPRESSION_DIR"
"""The variables that name the store; the first also a database."""
TENANT = "CONTEXT_COMPRESSION_TENANT"
"""The variable that names the team whose part of the store is used."""
USER = "user"
"""Value of `CONTEXT_COMPRESSION_DIR`: one folder per project in the user's data folder."""
LONGEST_POINTER = 10_000
"""How many bytes are read of a file in which git names a folder."""
BACK = ("gitdir", "commondir")
"""Files in git's folder for a linked worktree. They name the worktree's `.git` and the repository.
"""

DATABASE = re.compile(r"postgres(?:ql)?://", re.I)
"""Matches the beginning of a database's address."""
FORM = "postgresql://USER:PASSWORD@HOST:5432/DATABASE"
_AROUND = " \t\r\n\"'"
"""What a file of secrets or a shell leaves around an address."""
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
"""Matches the beginning of a URL, also of one that a `Path` took for a path: `postgresql:/host`.
A scheme has two letters at least, so a drive such as `C:/` is none."""
_POSTGRES = re.compile(r"postgres(?:ql)?(\+\w+)?:", re.I)
_SCHEME = (
    r"(?:jdbc|odbc|postgres|postgresql|mysql|mariadb|sqlite|rediss?|mongodb|mssql|oracle|"
    r"cockroachdb|https?|file)(?:\+\w+)?"
)
_ANY_ADDRESS = re.compile(rf"://|[/\\]{_SCHEME}:[/\\]", re.I)
"""Matches what no path holds, unless an address was made absolute as if it were one."""
_ABSOLUTE = re.compile(r"[/\\](?![/\\])|[A-Za-z]:[/\\]")
_ADDRESS = re.compile(
    rf"{_SCHEME}(?::|//|\\\\|%3A)"
    r"|[^\s/\\:@]*:(?![\s/\\])[^@]*@[^\s/\\@]"  # user:password@host
    r"|.*[/\\][^\s/\\:@]*:[^\s/\\@]+@[^\s/\\@]"  # the same, behind what was a scheme
    r"|.*(?<![\w-])(?:ssl)?(?:password|passwd|pwd)\s*="  # of libpq, of ODBC, of a URL's query
    r"|(?:host|hostaddr|port|user|dbname|service)\s*=.*\s(?:host|hostaddr|port|user|dbname)\s*=",
    re.I | re.S,
)
"""Matches a relative path that is an address rather. `notes: today`, `a:b` and `day=1` are none."""


def is_database(place: str | Path) -> bool:
    """Whether a place is the address of a database, `postgresql://…`."""
    return database_address(place) is not None


def database_address(place: str | Path) -> str | None:
    """The address of a database that is named as a store; `None` if the place is another one.

    White space and quotes around it are left out, and its scheme is in lower case.
    """
    bare = place.strip(_AROUND) if isinstance(place, str) else ""
    scheme = DATABASE.match(bare)
    return scheme[0].lower() + bare[scheme.end() :] if scheme else None


def folder_named(place: str | Path) -> Path:
    """The folder that a program or a user names as a store.

    Raises:
        StoreError: the name is empty, has a NUL character, or looks like an address. That may hold
            a password, so the error does not repeat it.
    """
    if isinstance(place, str) and not place.strip():
        raise StoreError(
            "The name of a store's folder is empty, as of a variable that is not set. Pass a "
            'path; "." is the working folder itself.'
        )
    if why := _why_no_folder(place):
        raise StoreError(why)
    if "\0" in str(place):
        raise StoreError(f"{str(place)!r} holds a NUL character, which no folder's name may hold.")
    return Path(place)


def _why_no_folder(place: str | Path) -> str:
    """Why a place is rather an address; "" if it may be a folder."""
    bare = str(place).strip(f"{_AROUND}<>")
    looks = _ANY_ADDRESS.search(bare) or _URL.match(bare)
    if not looks and (_ABSOLUTE.match(bare) or not _ADDRESS.match(bare)):
        return ""
    if database_address(str(place)):
        return (
            "This is the address of a database, and here only a folder can be named. Give the "
            f"address in {PLACE}, with --store or to Store(…)."
        )
    url, postgres = _URL.match(bare), _POSTGRES.match(bare)
    if url and not postgres:
        return (
            f"A store is a folder or postgresql://…, and this is a URL: {url[1]}://… Pass the path "
            f"of a folder. {_about_such_a_folder(bare)}"
        )
    if postgres and postgres[1]:
        mend = f"without {postgres[1]}"
    elif url and "://" not in bare:
        mend = "with two slashes; pass it as a str, because a Path keeps one of them"
    else:
        mend = "with nothing before or after it"
    return (
        f"This looks like an address. Write that of a database in the form {FORM}, {mend}. It is "
        f"not repeated here, because it may hold a password. {_about_such_a_folder(bare)}"
    )


def _about_such_a_folder(name: str) -> str:
    """What to do if a name that looks like an address is that of a folder."""
    absolute = "/" + re.sub(r"[/\\]+", "/", name)
    if _ABSOLUTE.match(name) or _ANY_ADDRESS.search(absolute):
        return "A folder of such a name cannot be used."
    return "For a folder of such a name, pass the absolute path."


def store_folder_for(start: Path, *, home: Path, environ: Mapping[str, str]) -> Path:
    """The folder of the store for work done in `start`; it may not exist yet.

    1. The value of `CONTEXT_COMPRESSION_STORE`, otherwise of `CONTEXT_COMPRESSION_DIR`: a path,
       relative to `start`, or `user`.
    2. The nearest `.compression` from `start` up to the root of its repository.
    3. In a linked worktree without one, the nearest in the main worktree.
    4. `.compression` in the root of the (main) repository.

    Without a repository, and in `home`, only `start` itself counts: the folders above may belong to
    other users. If rules 2 to 4 lead to `/`, or to a folder that the user cannot write to, the
    store is in `home` instead. A link is never used as a store: with it, the author of the
    repository could choose where we write.

    Raises:
        StoreError: the value is an address.
    """
    start, home = start.resolve(), home.resolve()
    if named := environ.get(PLACE) or environ.get(FOLDER):
        if named == USER:
            return user_data(home) / name_of_project(_root(start, home))
        first, *rest = folder_named(named).parts
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
    """The main worktree of a linked worktree at `root`; `None` if `root` is not a linked worktree.

    A bare repository has no main worktree.
    """
    repository = linked_repository(root)
    main = repository and repository.parent
    if not repository or not main or repository.name != ".git" or not _is_folder(main / ".git"):
        return None
    return main if main != root else None


def linked_repository(root: Path) -> Path | None:
    """The folder of the repository that a linked worktree at `root` is of; `None` for others.

    The `.git` of a linked worktree is a file that names a folder in the repository. That folder
    must name the file in turn; otherwise the author of the file could choose where we write, and
    whose sessions are seen.
    """
    own = root / ".git"
    pointed = pointer(own, "gitdir: ")
    back, common = (pointer(pointed / name) if pointed else None for name in BACK)
    if pointed is None or back is None or common is None or not own.is_file():
        return None
    repository = Path(os.path.realpath(common))
    inside = os.path.realpath(pointed.parent) == os.path.realpath(repository / "worktrees")
    same = inside and os.path.realpath(back) == os.path.realpath(own)
    return repository if same else None


def pointer(file: Path, prefix: str = "") -> Path | None:
    """The path in one of git's files, relative to the file's folder; `None` if there is none."""
    try:
        with opened(file) as pointed:
            text = os.fsdecode(pointed.read(LONGEST_POINTER)).rstrip("\r\n")
    except OSError:
        return None
    named = text.removeprefix(prefix)
    if "\0" in text or not named or not text.startswith(prefix):
        return None
    return file.parent / named


def _root(start: Path, home: Path) -> Path:
    """The root of the repository that contains `start`; `start` if no repository does."""
    upward = [start, *start.parents] if start != home else [start]
    return next((folder for folder in upward if os.path.exists(folder / ".git")), start)


def _nearest(start: Path, root: Path) -> Path | None:
    """The nearest folder with a store, from `start` up to `root`."""
    upward = [start, *start.parents]
    within = upward[: upward.index(root) + 1]
    return next((folder for folder in within if _is_folder(folder / NAME)), None)


def user_data(home: Path) -> Path:
    """The folder of this package among the user's data; below `home`, if that is another's.

    The system's rules and `XDG_DATA_HOME` say where it is.
    """
    from platformdirs import user_data_path

    folder, own = user_data_path("context-compression", False), Path.home()
    return home / folder.relative_to(own) if folder.is_relative_to(own) else folder


def name_of_project(root: Path) -> str:
    """The name of a project's folder among the user's data: `<its name>-<8 digits of a hash>`.

    All worktrees of a repository have one.
    """
    project = main_worktree(root) or root
    digest = sha256(os.fsencode(project)).hexdigest()[:8]
    return f"{project.name or 'root'}-{digest}"


def _leads_away(start: Path, named: str) -> bool:
    """Whether a relative path goes through a link: the author of the project may have made it."""
    if Path(named).is_absolute():
        return False
    return any(map(os.path.islink, (start / named, *(start / named).parents)))


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)
