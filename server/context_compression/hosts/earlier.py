"""The earlier sessions of a project: their titles, and what a new session is told of them.

A title comes from a file that a host wrote, so it is data: on one line, without secrets. A new
session is told how many there are, the newest titles, and the call that searches them. That is all:
whoever needs more asks, and pays for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from context_compression.conversation.labels import SEARCH
from context_compression.errors import ContextCompressionError
from context_compression.evidence.redaction import LONGEST_TITLE, title_line
from context_compression.guard import in_our_words
from context_compression.hosts.projects import FoundSession, sessions_of, sessions_of_hosts
from context_compression.hosts.reading import Readings, glance, read
from context_compression.plurals import how_many
from context_compression.strings import unhidden
from context_compression.tokens import base_count
from context_compression.transcripts.sessions import OF_NAME, day_of
from context_compression.workspace import Workspace

MOST_TOKENS = 60
"""Of what a new session is told, counted by o200k."""
LOOKED_AT = 500
"""How many of the newest sessions a start looks at: it takes some 30 ms to tell their projects."""
TRIED = 6
"""How many of the project's newest sessions are read for a title: some hold no word of a user."""
SHAPES = (
    (3, 48), (3, 36), (2, 60), (2, 44), (2, 32), (2, 24), (2, 16), (2, 10), (1, 16), (1, 8),
)  # fmt: skip
"""How many titles are told, and the most characters of each; the first that fits is taken."""
LONGEST_READ = 8 * 1024 * 1024
"""Bytes of a transcript that is read as a whole for its title; of others, only the ends are."""


@dataclass(frozen=True)
class TitledSession:
    """An earlier session of a project.

    Attributes:
        session: where it is.
        title: its title or the user's first words, for one line; without secrets.
    """

    session: FoundSession
    title: str

    @property
    def day(self) -> str:
        """When it was written last, in UTC: `2026-11-28`."""
        return day_of(self.session.written_at)

    @property
    def id(self) -> str:
        """The id that its host gave it, or its beginning."""
        return self.session.candidate.id


def titled(sessions: Sequence[FoundSession], most: int = 60) -> Iterator[TitledSession]:
    """The sessions with their titles, of at most `most` characters; those without one are left out.

    A session is read when it is asked for.
    """
    readings = Readings()
    for each in sessions:
        if title := title_line(unhidden(_title(each, readings)[:LONGEST_TITLE]), most):
            yield TitledSession(each, title)


def _title(session: FoundSession, readings: Readings) -> str:
    path = session.candidate.path
    if session.candidate.about:
        return session.candidate.about
    try:
        with in_our_words():
            ends = glance(path)
            transcript = ends.transcript if ends else read(path, max_bytes=LONGEST_READ)
            return readings.title(path, transcript, is_whole=ends is None)
    except ContextCompressionError:
        return ""


def answer_at_start(workspace: Workspace, event: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a `SessionStart` event of a new session; `{}` if no earlier one is known.

    Claude Code, Codex and Gemini CLI take the same answer.
    """
    if not workspace.settings().recall_at_start:
        return {}
    told = note_on_earlier(workspace, str(event.get("session_id") or ""))
    if not told:
        return {}
    output = {"hookEventName": "SessionStart", "additionalContext": told}
    return {"hookSpecificOutput": output}


def note_on_earlier(workspace: Workspace, new: str) -> str:
    """What a new session is told of the earlier ones of its project; "" if there are none.

    Args:
        workspace: the workspace of the project.
        new: the host's id of the new session, which does not count.
    """
    newest = sessions_of_hosts(workspace)[0]
    own = (new, new[:OF_NAME]) if new else ()
    sessions = sessions_of(workspace, among=newest[:LOOKED_AT])
    sessions = [each for each in sessions if each.candidate.id not in own]
    if not sessions:
        return ""
    least = "at least " * (len(newest) > LOOKED_AT)
    count = f"{least}{how_many(len(sessions), 'earlier session')} of this project"
    named = [*islice(titled(sessions[:TRIED]), SHAPES[0][0])]
    notes = (_note(count, named[:number], most) for number, most in SHAPES)
    return next((note for note in notes if base_count(note) <= MOST_TOKENS), _note(count, [], 0))


def _note(count: str, named: Sequence[TitledSession], most: int) -> str:
    """`3 earlier sessions of this project, the newest: "A parser" (2026-11-28). … searches them`.

    Args:
        count: the first words.
        named: the sessions that are named.
        most: characters of a title.
    """
    titles = ", ".join(f'"{title_line(each.title, most)}" ({each.day})' for each in named)
    newest = f", the newest: {titles}" if titles else ""
    return f"{count}{newest}. {SEARCH} searches them."


ANSWERS = {"SessionStart": answer_at_start}
