"""The conversations that may be meant, for cases where it is not certain which one is."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from context_compression.display.plurals import how_many

LISTED = 5  # candidates in an error
WORDS = 60  # characters of the first words shown


@dataclass(frozen=True)
class CandidateConversation:
    """A conversation that may be meant."""

    path: Path
    written_at: float
    """Seconds since 1970."""
    about: str = ""
    """The title of the session, or the user's first words."""
    id: str = ""
    """The host's id of the session, or its beginning, as far as the path says it."""
    project: str = ""
    """The folder that the agent worked in, if it is known without reading the conversation."""

    def __str__(self) -> str:
        title = " ".join(self.about.split())
        shown = f": {title[:WORDS]}{'…' * (len(title) > WORDS)}" if title else ""
        return f"{self.path} (written {age(time.time() - self.written_at)} ago){shown}"


def files(
    paths: Iterable[Path], id_of: Callable[[Path], str] = lambda path: ""
) -> list[CandidateConversation]:
    """The paths that are files, as candidates; the file written last comes first.

    Args:
        paths: of files, or of anything else, which is left out.
        id_of: gives the id of a session from the path of its transcript.
    """
    times: dict[Path, float] = {}
    for path in paths:
        with suppress(OSError):  # it may have been deleted since it was found
            about = path.stat()
            if S_ISREG(about.st_mode):
                times[path] = about.st_mtime
    return newest_first(
        CandidateConversation(path, written_at, id=id_of(path))
        for path, written_at in times.items()
    )


def newest_first(candidates: Iterable[CandidateConversation]) -> list[CandidateConversation]:
    """The candidates, sorted so that the one written last comes first."""
    return sorted(candidates, key=lambda c: (c.written_at, c.path), reverse=True)


def age(seconds: float) -> str:
    """`90.0` -> `"2 minutes"`."""
    for unit, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= unit:
            return how_many(round(seconds / unit), name)
    return how_many(round(max(seconds, 0)), "second")
