"""Checkpoints: summaries that an agent wrote itself, from which a new chat continues.

In a client that does not share its conversation, they are the way from one chat to the next. So a
person has to recognize them: each has a title and a time.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context_compression.conversation.refs import SHORTEST, ref_of
from context_compression.evidence.redaction import title_line
from context_compression.plurals import how_many
from context_compression.session import pages
from context_compression.store import Store
from context_compression.strings import fenced, one_line

WORDS = 1_000  # of a checkpoint; so that `context_summary` shows it in full
LONGEST = 40_000  # characters of a checkpoint or archived text in a prompt or resource
WHAT_TO_WRITE = (
    "a summary of our work for a reader who knows nothing of this conversation: the goal; the "
    "user's rules and wishes, in their words; what is done, with the files and commands that "
    "matter; what is open, and what comes next; decisions with their reasons; errors and what "
    f"solved them. At most {WORDS:,} words, and only what was said or seen here"
)
TITLE = 60
"""The most characters of a title."""
LONGEST_LINE = 2_000
"""So many characters of a line are looked at for a title."""
LINES = 20
"""A title is looked for in so many lines."""
MARKS = re.compile(
    r"(?:(?:[#*_=+>•~-]{1,99}|\d{1,3}[.)])(?:\s{1,9}|$)){0,9}(?:#{1,6}(?=[^\W\d]))?"
    r"(?:\[[ xX]\]\s{1,9})?"
)
"""What stands before the words of a line in Markdown: signs and numbers before a space."""
LABEL = re.compile(r"\w{1,12} ?[:：]\s*(?=\S)")
"""The name of a section before its text: `Goal: `."""
SENTENCE = re.compile(r".{4,59}?(?:[。！!？?；;]|\.(?=\s|$))")
"""A first sentence that is neither too short for a title nor too long."""
SECTION_WORDS = 3
"""A heading of at most so many words names a section; the text below it is the title."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that is kept."""

    text: str
    title: str
    created_at: str
    tokens: int

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> "Checkpoint":
        """The checkpoint of an entry in the summaries of a store."""
        text, title = entry.get("content", ""), entry.get("title")
        named = title_of(text, title if isinstance(title, str) else None)
        return cls(text, named, entry.get("created_at", ""), entry.get("tokens", 0))

    @property
    def ref(self) -> str:
        """The ref under which it can be restored."""
        return ref_of(self.text)

    @property
    def header(self) -> str:
        """`checkpoint "A parser" · ref 1a2b3c4d5e6f · 2026-11-26T09:00:00Z · 310 tokens`."""
        made = [one_line(self.created_at)] if self.created_at else []
        size = how_many(self.tokens, "token")
        return " · ".join([f'checkpoint "{self.title}"', f"ref {self.ref}", *made, size])

    def quoted(self) -> str:
        """Its header and its text, quoted; a text longer than `LONGEST` is cut at a line."""
        shown, cut = beginning(self.text, LONGEST)
        return f"{self.header}{cut}\n{fenced(shown)}"


def beginning(text: str, most: int) -> tuple[str, str]:
    """The beginning of a summary, of whole lines, and a note on how it goes on; "" if it is all."""
    shown = pages.beginning(text, most)
    if shown.cursor is None:
        return text, ""
    goes_on = f'context_restore(ref="{ref_of(text)}", start={shown.stop}) goes on'
    return shown.text, f" · cut after {how_many(shown.stop, 'character')}; {goes_on}"


def title_of(text: str, given: str | None = None) -> str:
    r"""The title of a checkpoint: the one that was given, or its first words that tell something.

    `title_of("## Goal\nA parser for TOML. It …")` -> `"A parser for TOML"`
    """
    if given and given.strip():
        return _clipped(given)
    title = ""
    for line in text.lstrip().split("\n", LINES)[:LINES]:
        words = MARKS.sub(
            "", line[:LONGEST_LINE].replace("**", "").replace("`", "").strip(), count=1
        ).rstrip("#*=- \t")
        if not words:
            continue
        title = title or words
        heading = line.lstrip().startswith(("#", "**")) or words.endswith((":", "："))
        if not (heading and len(words.split()) <= SECTION_WORDS and len(words) <= TITLE // 2):
            title = words
            break
    title = LABEL.sub("", title, count=1) if LABEL.match(title) else title
    sentence = SENTENCE.match(title)
    return _clipped((sentence[0] if sentence else title).rstrip(".。；;")) or "checkpoint"


def _clipped(title: str) -> str:
    """A title on a line; without secrets, because lists and completions show it to everyone."""
    return title_line(title, TITLE)


def checkpoints(store: Store, limit: int | None = None) -> list[Checkpoint]:
    """The checkpoints of a store, newest first; at most `limit`."""
    from context_compression.workspace.opened import CHECKPOINT

    return [*map(Checkpoint.of, store.summaries(session=CHECKPOINT, limit=limit))]


def fitting(kept: Sequence[Checkpoint], wanted: str) -> list[Checkpoint]:
    """The checkpoints that a person may mean, the best first; all of them for "".

    Args:
        kept: all checkpoints, newest first.
        wanted: a number, counted from 1 for the newest; the beginning of a ref; a title; or words
            of a title, else of the text.
    """
    words = wanted.casefold().strip(" \"'“”「」").split()
    if words in ([], ["latest"]):
        return [*kept]
    one = words[0] if len(words) == 1 else ""
    if re.fullmatch("-?[0-9]{1,3}", one):
        titled = [each for each in kept if each.title == one]
        return [*kept[int(one) - 1 : int(one)]] if 0 < int(one) <= len(kept) else titled
    refs = [each for each in kept if len(one) >= SHORTEST and each.ref.startswith(one)]
    named = [each for each in kept if each.title.casefold().split() == words]
    in_title = [each for each in kept if all(word in each.title.casefold() for word in words)]
    in_text = [each for each in kept if all(word in each.text.casefold() for word in words)]
    return refs or named or in_title or in_text


def titles(store: Store, begun: str) -> list[str]:
    """What completes the name of a checkpoint: titles, and the ref of one whose title is taken."""
    kept, taken = checkpoints(store), set[str]()
    wanted = begun.casefold().split()
    values: list[str] = []
    for each in kept:
        value = each.ref if each.title in taken else each.title
        taken.add(each.title)
        if each.ref.startswith(begun) or all(word in each.title.casefold() for word in wanted):
            values.append(value)
    return values
