"""Conversations to choose from, where it is not certain which one is meant."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

LISTED = 5
WORDS = 60  # characters of the first words shown


@dataclass(frozen=True)
class Candidate:
    """A conversation somebody may mean."""

    path: str
    written_at: float
    """Seconds since 1970."""
    about: str = ""
    """Its title, or how the user began."""

    def __str__(self) -> str:
        said = " ".join(self.about.split())
        shown = f": {said[:WORDS]}{'…' * (len(said) > WORDS)}" if said else ""
        return f"{self.path} (written {age(time.time() - self.written_at)} ago){shown}"


def listed(candidates: Iterable[Candidate]) -> list[str]:
    """The newest few, as an error shows them."""
    newest = sorted(candidates, key=lambda candidate: -candidate.written_at)
    return [str(candidate) for candidate in newest[:LISTED]]


def age(seconds: float) -> str:
    """`90.0` -> `"2 minutes"`."""
    for unit, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{max(seconds, 0):.0f} seconds"
