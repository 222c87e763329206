"""opencode's database, opened to read: nothing is written, and no link is followed."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from context_compression.errors import TranscriptError
from context_compression.hosts.opencode.cells import text_of
from context_compression.opening import is_open_twice
from context_compression.transcripts.access import opened_once
from context_compression.transcripts.lines import LONGEST

if TYPE_CHECKING:
    import sqlite3  # loaded when it is used: few sessions need it

T = TypeVar("T")


def looking(database: Path, look: Callable[["sqlite3.Connection"], T]) -> T:
    """The result of `look`, which gets a read-only connection to the database.

    Nothing is written, even if the host writes meanwhile.

    Raises:
        TranscriptError: the database cannot be read.
    """
    import sqlite3

    # SQLite creates files next to a database in WAL mode that no process has open, even if it is
    # opened read-only. Such a database does not change, so `immutable` avoids these files.
    unused = not database.with_name(f"{database.name}-wal").exists()
    problem: sqlite3.Error | OSError | None = None
    for options in ["mode=ro&immutable=1"] * unused + ["mode=ro"]:
        try:
            address = f"{database.resolve().as_uri()}?{options}"
            with (
                opened_once(database) as (checked, _),
                closing(sqlite3.connect(address, uri=True)) as db,
            ):
                db.row_factory = sqlite3.Row
                db.text_factory = text_of  # which replaces what is not UTF-8
                db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
                db.execute("BEGIN")  # all reads see the same state
                _refuse_views(database, db)
                if not is_open_twice(checked.fileno()):
                    raise TranscriptError(f"{database} was replaced meanwhile. Try again.")
                return look(db)
        except (sqlite3.Error, OSError) as error:
            problem = error  # `immutable` also fails if the host has just opened it
    raise TranscriptError(
        f"{database} cannot be read as a database of opencode: {problem}. Pass another file."
    )


def _refuse_views(database: Path, db: "sqlite3.Connection") -> None:
    """Refuse a database with SQL views, which may produce endless rows; the host's has none."""
    views = db.execute("SELECT name FROM sqlite_master WHERE type = 'view' LIMIT 1").fetchone()
    if views is not None:
        raise TranscriptError(
            f"{database} is no database of opencode: {views['name']!r} in it is a view, and those "
            "are not read. Pass another file."
        )
