"""Texts and queries as lexemes of `tsvector`, all made here: the server sees no other words.

A lexeme begins with the number of the shelf on which its text stands, so a lookup reads what one
tenant archived within a time, and never the words of others. Behind it stand

    word         a word in lower case, without accents
    one+two      two words with nothing but signs between them, as in `one_two` or `oneTwo`
    ~stem        a word in another form than its stem
    /word        a word of a path, or of the call that the text is the result of
    =tool        a tool's name
    !            the text reports a failure
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import TypeAlias

from context_compression.store.search.documents import IndexedDocument
from context_compression.store.search.query import (
    LONGEST_WORD,
    Query,
    humps,
    indexable,
    is_humped,
    shortened,
)
from context_compression.store.search.tables import lexicon, words_of

INDEXED_CHARS = 2**18
"""How much of a text is indexed."""
MOST_BYTES = 900_000
"""The most bytes of all lexemes of a text; PostgreSQL takes a megabyte."""
ROOM = 16
"""Bytes that a lexeme needs beside its letters and positions, with its shelf."""
MOST_POSITIONS, LAST_POSITION = 255, 16_383
"""How many positions PostgreSQL keeps of a lexeme, and the greatest. Later ones begin again."""
SHELF = "\0"
"""Stands for the shelf in a condition."""
_LEXEME = re.compile(rf"'{SHELF}:((?:[^'\\]|''|\\\\)*)'(?::\*)?")
_TOKEN = re.compile(r"[^\W_]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_IDEOGRAPHS = "\u2e80"
"""The first letter of scripts without spaces, in which `indexable` makes each letter a word."""


Positions: TypeAlias = defaultdict[str, list[str]]
"""Where words are, by word, each position with the weight of its column."""


@dataclass(frozen=True)
class Words:
    """The words of a text.

    Attributes:
        lexemes: each with its positions, as `tsvector` writes them; without the shelf.
        length: how many words the text has.
    """

    lexemes: Sequence[tuple[str, str]]
    length: int

    def on(self, shelf: int, kept: Callable[[str], str]) -> str:
        """The `tsvector` of the text on a shelf.

        Args:
            shelf: its number.
            kept: returns what the index keeps for a lexeme.
        """
        return " ".join(f"'{shelf}:{kept(lexeme)}'{at}" for lexeme, at in self.lexemes)


class Splitter:
    """Splits texts into words; what comes again is split once."""

    def __init__(self) -> None:
        self._lexicon = lexicon()
        self._words_in = cache(words_in)

    def words(self, document: IndexedDocument) -> Words:
        """The words of a document: of its text, of its call, and of what it is."""
        if len(document.text) > INDEXED_CHARS:
            document = replace(document, source=document.text[:INDEXED_CHARS])
        text, parts, paths, about = words_of(document, self._lexicon)
        at: Positions = defaultdict(list)
        pairs = dict.fromkeys(f"{a}+{b}" for a, b in pairwise(self._split(parts)))
        length = self._place(text, "", 0, at, pairs)
        for column, weight in ((parts, "C"), (about, "A")):
            length = self._place(column, weight, length + 1, at, pairs)
        marks = [f"/{word}" for word in dict.fromkeys(self._split(f"{paths} {about}"))]
        if document.failed:
            marks.append("!")
        if document.call.tool:
            marks.append(_quoted(f"={document.call.tool[:LONGEST_WORD]}"))
        return Words([*_fitting(at, [*marks, *pairs])], length)

    def _place(
        self, column: str, weight: str, start: int, at: Positions, pairs: dict[str, None]
    ) -> int:
        """Add the words of a column from a position; returns the position behind it."""
        before, seen = "", set[str]()
        for chunk in column.split():
            words = self._words_in(chunk)
            for word in words:
                start += 1
                at[word].append(f"{start % LAST_POSITION + 1}{weight}")
            if len(words) > 1 and chunk not in seen:
                seen.add(chunk)
                for a, b in pairwise(words):
                    pairs[f"{a}+{b}"] = None
            if words and words[-1] >= _IDEOGRAPHS:
                if before:
                    pairs[f"{before}+{words[0]}"] = None
                before = words[-1]
            else:
                before = ""
        return start

    def _split(self, text: str) -> Iterator[str]:
        for chunk in text.split():
            yield from self._words_in(chunk)


def words_in(text: str) -> Sequence[str]:
    """The words of a text: letters and digits, in lower case, without accents."""
    if not text.isascii():
        bare = _ACCENTS.sub("", unicodedata.normalize("NFD", text))
        text = unicodedata.normalize("NFC", bare)
    return [word[:LONGEST_WORD] for word in _TOKEN.findall(text.casefold())]


@lru_cache(2**16)
def stem(word: str) -> str:
    """What the forms of an English word have in common."""
    shorter = shortened(word) if word.isascii() else ""
    return stem(shorter) if shorter else word


def exactly(term: str, *, begins: bool = False) -> str:
    """The condition for a term as it is written; a name in camel case also by its parts.

    Args:
        term: of a query.
        begins: whether longer words than its last count, and parts that stand apart.
    """
    conditions = [_consecutive(indexable(term), begins=begins)]
    if is_humped(term):
        parts = words_in(humps([term]))
        conditions.append(_all(_lexeme(f"{a}+{b}", begins=begins) for a, b in pairwise(parts)))
        if begins:
            conditions.append(" <-> ".join(map(_lexeme, parts)))
    return _any(conditions)


def in_any_form(term: str) -> str:
    """The condition for a word in any of its forms; for other terms `exactly`."""
    words = words_in(indexable(term))
    if len(words) != 1 or is_humped(term):
        return exactly(term)
    base = stem(words[0])
    return _any((_lexeme(f"~{base}"), _lexeme(base)))


def limits(query: Query, tools: Iterable[str]) -> str:
    """The condition for the limits of a query; "" if it has none.

    Args:
        query: with paths, tools, failures.
        tools: the names of all tools that the query means.
    """
    conditions = ["(" + _lexeme("!") + ")"] * query.failed
    if query.tools:
        names = [_lexeme(_quoted(f"={tool[:LONGEST_WORD]}")) for tool in tools]
        conditions.append(_any(names or [_lexeme("=")]))
    for path in query.paths:
        *first, last = words_in(indexable(path)) or ("",)
        conditions += [_lexeme(f"/{word}") for word in first]
        conditions.append(_lexeme(f"/{last}", begins=True))
        conditions += [
            _lexeme(f"{a}+{b}", begins=True) for a, b in pairwise((*first, last)) if a and b
        ]
    return _all(conditions)


def surely_in(literal: str, *, whole: bool = False) -> str:
    """The condition for texts that may contain a text anywhere; "" if it says nothing.

    The first word may be only the end of a word, the last only the beginning.

    Args:
        literal: the text.
        whole: whether the index finds only whole words.
    """
    if not literal.isascii():
        return ""
    _, *words = words_in(literal) or ("",)
    first = re.match(r"[\W_]", literal)
    if first:
        words = list(words_in(literal))
    if not words:
        return ""
    ends = re.search(r"[\W_]$", literal) is not None
    *others, last = words
    if whole and not ends:
        return _all(map(_lexeme, others))
    return _all([*map(_lexeme, others), _lexeme(last, begins=not ends)])


def on_shelves(
    condition: str, shelves: Iterable[int], kept: Callable[[str], Iterable[str]] | None = None
) -> str:
    """A condition as `tsquery`, on any of these shelves.

    Args:
        condition: as the functions of this module make it.
        shelves: their numbers.
        kept: returns what the index keeps for a lexeme, under each key; `None` if it keeps lexemes
            as they are. Words that only begin with a lexeme are not found then.
    """
    if kept:
        condition = _LEXEME.sub(lambda found: _any(map(_lexeme, kept(found[1]))), condition)
    return _any(condition.replace(SHELF, str(shelf)) for shelf in shelves)


def both(*conditions: str) -> str:
    """A condition of which all hold; empty ones do not count."""
    return _all(filter(None, conditions))


def _consecutive(text: str, *, begins: bool) -> str:
    chunks = [words for chunk in text.split() if (words := words_in(chunk))]
    words = [word for chunk in chunks for word in chunk]
    if len(words) < 2:
        return _lexeme(words[0], begins=begins) if words else ""
    pairs = [f"{a}+{b}" for chunk in chunks for a, b in pairwise(chunk)]
    apart = False
    for before, after in pairwise(chunks):
        if before[-1] >= _IDEOGRAPHS and after[0] >= _IDEOGRAPHS:
            pairs.append(f"{before[-1]}+{after[0]}")
        else:
            apart = True
    *others, last = words
    conditions = [_lexeme(pair) for pair in pairs]
    if begins and conditions and len(chunks[-1]) > 1:
        conditions[-1] = _lexeme(pairs[-1], begins=True)
    if apart:
        conditions.append(" <-> ".join([*map(_lexeme, others), _lexeme(last, begins=begins)]))
    return _all(conditions)


def _lexeme(lexeme: str, *, begins: bool = False) -> str:
    return f"'{SHELF}:{lexeme}'{':*' if begins else ''}"


def storable(text: str) -> str:
    """A text without what a `text` of PostgreSQL cannot hold: NUL, and half a surrogate pair."""
    return text.replace("\0", " ").encode(errors="replace").decode()


def _quoted(text: str) -> str:
    return storable(text).replace("\\", "\\\\").replace("'", "''")


def _all(conditions: Iterable[str]) -> str:
    return _joined(" & ", conditions)


def _any(conditions: Iterable[str]) -> str:
    return _joined(" | ", conditions)


def _joined(sign: str, conditions: Iterable[str]) -> str:
    parts = [each for each in conditions if each]
    return parts[0] if len(parts) == 1 else sign.join(f"({each})" for each in parts)


def _fitting(at: Positions, others: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The lexemes that a `tsvector` has room for, the words first."""
    stems: Positions = defaultdict(list)
    for word, positions in at.items():
        if (base := stem(word)) != word:
            stems[f"~{base}"] += positions
    room = MOST_BYTES
    for lexemes in (at, stems):
        for lexeme, positions in lexemes.items():
            some = positions if len(positions) <= MOST_POSITIONS else positions[:MOST_POSITIONS]
            room -= _size(lexeme) + 2 * len(some)
            if room < 0:
                return
            yield lexeme, f":{','.join(some)}"
    for lexeme in others:
        room -= _size(lexeme)
        if room < 0:
            return
        yield lexeme, ""


def _size(lexeme: str) -> int:
    """At most so many bytes a lexeme needs, without its positions."""
    return ROOM + (len(lexeme) if lexeme.isascii() else 4 * len(lexeme))
