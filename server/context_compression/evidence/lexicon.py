"""`Lexicon`, which finds the evidence words of texts, and `is_prose`."""

from collections.abc import Callable, Iterable

from context_compression.evidence.words import WORD, Kind, evidence_kind, trimmed

PLAIN_WORDS = 500
"""How many plain words are remembered, in addition to the number of evidence words. Remembering all
plain words would fill the memory."""
PROSE_WORDS = 6.0
"""A text with fewer evidence words per 1,000 characters is prose. Measured: recordings of agents
have 7 and more (9 in their beginnings), those of meetings and chats at most 4."""
SAMPLE_CHARS = 200
"""How many characters at the beginning of each text `is_prose` looks at."""


class Lexicon:
    """The evidence words of some texts, each classified once."""

    def __init__(self, classify: Callable[[str], Kind | None] = evidence_kind) -> None:
        """A lexicon of evidence words; with `classify=kind_of` it includes weak words too."""
        self._classify = classify
        self._known: dict[str, tuple[str, Kind] | None] = {}
        self._evidence_count = 0

    def words(self, text: str) -> set[tuple[str, Kind]]:
        """The evidence words of a text, trimmed, with their kinds."""
        return {entry for raw in set(WORD.findall(text)) if (entry := self._look_up(raw))}

    def _look_up(self, raw: str) -> tuple[str, Kind] | None:
        if raw in self._known:
            return self._known[raw]
        word = trimmed(raw)
        kind = self._classify(word)
        entry = (word, kind) if kind else None
        self._evidence_count += entry is not None
        if entry or len(self._known) < 2 * self._evidence_count + PLAIN_WORDS:
            self._known[raw] = entry
        return entry


def is_prose(texts: Iterable[str]) -> bool:
    """Whether the beginnings of some texts hold hardly any evidence words."""
    lexicon, words, chars = Lexicon(), 0, 0
    for text in texts:
        sample = text[:SAMPLE_CHARS]
        words += len(lexicon.words(sample))
        chars += len(sample)
    return 1_000 * words < PROSE_WORDS * chars
