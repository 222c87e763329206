"""Words that are evidence by themselves (paths, URLs, symbols, numbers, ids, flags), and numbered.

One simple expression finds candidate words, and each distinct word is classified once. This is ten
times faster than one large expression with a group for each kind. `Numbering` numbers the words of
a conversation for the choice of cuts; in prose, where hardly any word is evidence by itself, names
and plain words have numbers too, because they show the subject of a sentence.
"""

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from string import hexdigits
from typing import Literal, TypeAlias, get_args

from context_compression.evidence.names import (
    ASCII_WORD,
    COMMON_MARKS,
    EXTENSION,
    NO_NAMES,
    ONE,
    Names,
    candidates,
    skeleton,
)
from context_compression.strings import english_length

Kind: TypeAlias = Literal["path", "url", "symbol", "number", "id", "flag"]
KINDS: tuple[Kind, ...] = get_args(Kind)
STEM = re.compile(r"[\w@+-][\w.@+-]*")
ENDING = re.compile(
    r"go|pyi?|[cm]?[jt]sx?|rs|java|kt|[ch](?:c|pp)?|cs|rb|php|swift|sh|ps1|sql|s?css|x?html?|mdx?|txt"
    r"|jsonl?|ya?ml|toml|lock|mod|sum|cfg|ini|env|xml|svg|png|jpe?g|pdf|proto|tf|lua|vue|svelte|snap"
    r"|log|csv|ipynb|gz|zip|db|docx?|xlsx?|pptx?"
)
"""The name of a file before its last dot, and the extension after it."""
NUMBER = re.compile(r"[$#]?v?\d+(?:[.,:_T+-]\d+)*Z?(?:%|ms|[smhkKMGT]?[bB]?)?")
HEXADECIMAL = re.compile(
    r"(?=[a-f-]*\d)[0-9a-f]{7,40}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
)
TICKET = re.compile(r"[A-Z][A-Z0-9]+-\d+")
SYMBOL = re.compile(
    r"[a-z0-9][A-Z]|[A-Za-z]_[A-Za-z0-9]|[A-Za-z]\d|^[A-Z][A-Z0-9_]{3,}$|\w(?:\.|::|->)\w"
)
CASELESS_SYMBOL = re.compile(rf"{ONE}(?:_|::|->)\w|\w_{ONE}")
"""The same in the `skeleton` of a word with caseless letters, where a dot ends a sentence."""
AT_END = re.compile(rf"{EXTENSION}\Z")
WEAK: Mapping[Kind | None, re.Pattern[str]] = {
    "number": re.compile(r"\d{1,3}(?:-\d{1,3})?"),
    "path": re.compile(r"/[^/\\.]*|[A-Za-z]\.[A-Za-z]"),
    "symbol": re.compile(
        r"(?!v?\d+\.\d+\.\d|0x)(?=[\d.-]|[^.]*\.)(?=\D*\d)[A-Za-z]?+(?:[\d.-]++[A-Za-z]?+)++"
    ),
}
"""Words that are too weak to be evidence in a text. A number of up to three digits or a range of
such numbers is mostly a line number. A bare name at the root (`/help`) is mostly a host's command,
and a letter before an extension of one letter (`d.h`) an abbreviation. Numbers with single letters
between them that are no version (`12c0.87`) are mostly a drawing."""
ESCAPES = re.compile(r"^(?:\\+[nrt])+|(?<!\\)(?<!\\[nrt])(?:\\+[nrt])+$")
"""Escaped line breaks and tabs around a word in a text that is quoted in JSON."""
ISSUE = re.compile(r"#\d+")
PLACE = re.compile(r"(?::\d{1,9}){1,3}$")
LONGEST_NAME = 400
"""The most characters of a word that is trimmed; no name is longer."""


def kind_of(word: str) -> Kind | None:
    """The kind of a word: `kind_of("src/app.py")` -> `"path"`; `None` for a plain word."""
    if word.isdecimal():
        return "number" if len(word) >= 3 else None
    symbol = SYMBOL
    if not word.isascii():
        word = skeleton(unicodedata.normalize("NFC", word))
        symbol = CASELESS_SYMBOL if ONE in word else SYMBOL
    if word.isalpha():
        named = len(word) >= 4 and not (word.islower() or word.istitle()) and symbol.search(word)
        return "symbol" if named else None
    if "/" in word or "\\" in word:
        if "://" in word:
            return "url"
        if word.startswith("//"):  # a comment
            return None
        if len(word) < 5 or not any(map(str.isalpha, word)):
            return None
        # in a sentence of a caseless script, `/` between words mostly means "or"
        return None if word[0] == ONE and not AT_END.search(word) else "path"
    if word.startswith("--"):
        return "flag" if len(word) >= 5 and word[2].isalpha() else None
    # for most words the first character already rules an expression out
    if (word[:1] in "$#v" or word[0].isdecimal()) and NUMBER.fullmatch(word):
        return "number" if len(word) >= 3 else None
    stem, _, ending = word.rpartition(".")
    if stem and ENDING.fullmatch(ending) and STEM.fullmatch(stem):
        return "path"
    if len(word) >= 7 and word[0] in hexdigits and HEXADECIMAL.fullmatch(word):
        return "id"
    if "-" in word and TICKET.fullmatch(word):
        return "id"
    if len(word) >= 4 and symbol.search(word):
        return "symbol"
    return None


def evidence_kind(word: str) -> Kind | None:
    """The kind of a word that is evidence in a text: `kind_of`, but `None` for `WEAK` words too."""
    if word.isdecimal():
        return "number" if len(word) > 3 else None
    kind = kind_of(word)
    weak = WEAK.get(kind)
    return None if weak and weak.fullmatch(word) else kind


def occurrences(word: str, text: str) -> Iterator[tuple[int, int]]:
    """`(start, stop)` of each place where a word occurs in a text, within other words too."""
    at = text.find(word)
    while at >= 0:
        yield at, at + len(word)
        at = text.find(word, at + 1)


def trimmed(word: str) -> str:
    """A word without surrounding punctuation, escaped line breaks and the `:line` after a path.

    `trimmed("./src/app.py:12,")` -> `"src/app.py"`. This is repeated until nothing is left to
    remove, so that a word is the same in any surroundings. A word longer than `LONGEST_NAME` is
    returned unchanged. The number of an issue keeps its sign (`#412`).
    """
    before = word if word.isalnum() else ""
    while word != before and len(word) <= LONGEST_NAME:
        before = word
        word = word.rstrip(".:,-+@~$#\\/")
        if word[:1] != "#" or not ISSUE.fullmatch(word):
            word = word.lstrip(":,+@#").removeprefix("./")
        word = PLACE.sub("", word) if ":" in word else word
        word = ESCAPES.sub("", word) if "\\" in word else word
    return word


PLAIN_WORDS = 500
"""How many plain words are remembered, in addition to the number of evidence words. Remembering all
plain words would fill the memory."""
PROSE_WORDS = 6.0
"""A text with fewer evidence words per 1,000 English characters is prose. Measured: recordings of
agents have 7 and more (9 in their beginnings), those of meetings and chats at most 4."""
SAMPLE_CHARS = 200
"""How many characters at the beginning of each text `is_prose` looks at."""


class Lexicon:
    """The evidence words of some texts, each classified once."""

    def __init__(
        self, classify: Callable[[str], Kind | None] = evidence_kind, known: Names = NO_NAMES
    ) -> None:
        """A lexicon of evidence words; with `classify=kind_of` it includes weak words too.

        `known` are paths with caseless letters, which are found whole in any sentence.
        """
        self._classify, self._paths = classify, known
        self._known: dict[str, tuple[str, Kind] | None] = {}
        self._evidence_count = 0

    def words(self, text: str) -> set[tuple[str, Kind]]:
        """The evidence words of a text, trimmed, with their kinds."""
        raws = set(candidates(text, known=self._paths))
        return {entry for raw in raws if (entry := self._look_up(raw))}

    def _look_up(self, raw: str) -> tuple[str, Kind] | None:
        if raw in self._known:
            return self._known[raw]
        word = trimmed(raw)
        kind = "path" if word in self._paths.all else self._classify(word)
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
        chars += english_length(sample)
    return 1_000 * words < PROSE_WORDS * chars


ProseKind: TypeAlias = Literal["name", "term", "pair"]
PROSE_KINDS: tuple[ProseKind, ...] = get_args(ProseKind)
"""`name`: a name or a title. `term`: a plain word or a small number. `pair`: two neighbouring
characters of a script without blanks between words."""
JOINED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u9fff"
"""Scripts without blanks between words: Thai, Lao, Burmese, Khmer, Chinese and Japanese."""
TERM = re.compile(rf"[^\W\d_{JOINED}]{{4,}}|[\uac00-\ud7af]{{2,}}")
"""A plain word, searched in lower-case text; most shorter words are function words."""
RUN = re.compile(rf"[{JOINED}]{{2,}}")
SMALL_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
TITLE = re.compile(r"[\"“„«《「『]([^\"“”„«»《》「」『』\n]{2,50})[\"”“»》」』]")
PROPER_NAME = re.compile(r"(?<=[a-zß-ÿа-ё0-9,;] )[A-ZÀ-ÞЀ-Я][a-zß-ÿа-ё]+")
"""A capitalised word that does not begin a sentence."""


@cache
def term_with_marks() -> re.Pattern[str]:
    """`TERM` for a text beyond ASCII, where marks belong to letters."""
    return re.compile(rf"(?:[^\W\d_{JOINED}][{COMMON_MARKS}]*+){{4,}}|[\uac00-\ud7af]{{2,}}")


class Numbering:
    """Numbers for the evidence words of one conversation, from 1.

    Words are kept as hashes, because the words of a long conversation would take as much memory as
    the view.

    Attributes:
        prose: whether names and plain words have numbers, too.
        known: paths with caseless letters, which are found whole in any sentence.
        kinds: for each number the kind of its word, as an index into `KINDS` followed by
            `PROSE_KINDS`; no word has the number 0.
    """

    def __init__(self, *, prose: bool = False, known: Names = NO_NAMES) -> None:
        self.prose, self.known = prose, known
        self.kinds = bytearray(1)
        self._numbers: dict[int, int] = {}
        self._hashes, self._packed = array("q"), array("I")
        self._find: Callable[[int], int | None] = self._numbers.get

    def __len__(self) -> int:
        return len(self.kinds)

    def pack(self) -> None:
        """Reduce the memory to a tenth; look-ups take longer afterwards. Works only once."""
        if not self._hashes:
            self._hashes.extend(sorted(h for h, number in self._numbers.items() if number))
            self._packed.extend(map(self._numbers.__getitem__, self._hashes))
            self._numbers = {}
            self._find = self._find_packed

    def numbers(self, text: str) -> Iterable[int]:
        """The numbers of the evidence words of a text, each once."""
        return next(self.numbers_of(text, [(0, len(text))]))

    def numbers_of(self, text: str, parts: Iterable[tuple[int, int]]) -> Iterator[Iterable[int]]:
        """The numbers of the evidence words of each part of a text, each once.

        Their order depends only on the texts that were numbered before.
        """
        words, find, learn = ASCII_WORD.findall, self._find, self._learn
        is_ascii = text.isascii()
        for start, stop in parts:
            if is_ascii or text[start:stop].isascii():
                raws = words(text, start, stop)
            else:
                raws = candidates(text, start, stop, self.known)
            if not raws and not self.prose:
                yield ()
                continue
            numbers = {*map(find, map(hash, raws))}
            if None in numbers:
                numbers = {learn(r) if (n := find(hash(r))) is None else n for r in raws}
            numbers.discard(0)
            if self.prose:
                numbers |= self._plain(text[start:stop])
            yield numbers  # pyright: ignore[reportReturnType]  # `learn` replaced each None

    def _plain(self, text: str) -> set[int | None]:
        """The numbers of the names and plain words of a text."""
        text = unicodedata.normalize("NFC", text)
        term = TERM if text.isascii() else term_with_marks()
        lower, find, result = text.lower(), self._find, set[int | None]()
        names = (*PROPER_NAME.findall(text), *TITLE.findall(text))
        terms = (*term.findall(lower), *SMALL_NUMBER.findall(lower))
        pairs = [run[at : at + 2] for run in RUN.findall(lower) for at in range(len(run) - 1)]
        for kind, words in enumerate((names, terms, pairs), len(KINDS)):
            # one spelling of two kinds counts as two words
            keys = [hash((kind, word)) for word in words]
            numbers = {*map(find, keys)}
            if None in numbers:
                numbers = {self._add(k, kind) if (n := find(k)) is None else n for k in keys}
            result |= numbers
        return result

    def _add(self, key: int, kind: int) -> int:
        number = self._numbers[key] = len(self.kinds)
        self.kinds.append(kind)
        return number

    def _find_packed(self, word: int) -> int | None:
        at = bisect_left(self._hashes, word)
        if at < len(self._hashes) and self._hashes[at] == word:
            return self._packed[at]
        return self._numbers.get(word)

    def _learn(self, raw: str) -> int:
        """The number of a word in its spelling in a text; 0 if it is not evidence."""
        word = unicodedata.normalize("NFC", trimmed(raw))
        number = None if word == raw else self._find(hash(word))
        if number is None:
            kind = "path" if word in self.known.all else evidence_kind(word)
            number = len(self.kinds) if kind else 0
            if kind:
                self.kinds.append(KINDS.index(kind))
                self._numbers[hash(word)] = number
        if number or len(self._numbers) < 2 * len(self.kinds) + PLAIN_WORDS:
            self._numbers[hash(raw)] = number
        return number
