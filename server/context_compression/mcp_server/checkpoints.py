"""Checkpoints: what an agent writes into one, and those that are kept.

A checkpoint is a summary that an agent wrote itself. In a client that does not share its
conversation, it is the way from one chat to the next.
"""

from dataclasses import dataclass

from context_compression.conversation.refs import ref_of
from context_compression.display.fences import fenced
from context_compression.display.plurals import how_many
from context_compression.display.strings import in_words, one_line
from context_compression.store import Store
from context_compression.workspace.own_sessions import CHECKPOINT

WORDS = 1_000  # of a checkpoint; so that `context_summary` shows it in full
GLIMPSE = 80  # characters
LONGEST = 40_000  # characters of a checkpoint or archived text in a prompt or resource
WHAT_TO_WRITE = (
    "a summary of our work for a reader who knows nothing of this conversation: the goal; the "
    "user's rules and wishes, in their words; what is done, with the files and commands that "
    "matter; what is open, and what comes next; decisions with their reasons; errors and what "
    f"solved them. At most {WORDS:,} words, and only what was said or seen here"
)


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that is kept."""

    text: str
    created_at: str
    tokens: int

    @property
    def ref(self) -> str:
        """The ref under which it can be restored."""
        return ref_of(self.text)

    @property
    def header(self) -> str:
        """`"checkpoint · ref 1a2b3c4d5e6f · 2026-11-26T09:00:00Z · 310 tokens"`."""
        made = [one_line(self.created_at)] if self.created_at else []
        return " · ".join(["checkpoint", f"ref {self.ref}", *made, how_many(self.tokens, "token")])

    @property
    def glimpse(self) -> str:
        """Its first words."""
        return in_words(self.text, GLIMPSE)

    def quoted(self) -> str:
        """Its header and its text, quoted; a text longer than `LONGEST` is cut."""
        cut = f" · cut after {LONGEST:,} characters; context_restore(ref=…) has all"
        return f"{self.header}{cut * (len(self.text) > LONGEST)}\n{fenced(self.text[:LONGEST])}"


def checkpoints(store: Store, limit: int | None = None) -> list[Checkpoint]:
    """The checkpoints of a store, newest first; at most `limit`."""
    entries = store.summaries(session=CHECKPOINT, limit=limit)
    return [
        Checkpoint(entry.get("content", ""), entry.get("created_at", ""), entry.get("tokens", 0))
        for entry in entries
    ]
