"""`Numbering`, which gives numbers to the evidence words of a conversation for the choice of cuts.

In prose, where hardly any word is evidence by itself, names and plain words have numbers too,
because they show the subject of a sentence.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias, get_args

from context_compression.evidence.lexicon import PLAIN_WORDS
from context_compression.evidence.words import KINDS, WORD, evidence_kind, trimmed

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
NAME = re.compile(r"(?<=[a-zß-ÿ0-9,;] )[A-ZÀ-Þ][a-zß-ÿ]+")
"""A capitalised word that does not begin a sentence."""


class Numbering:
    """Numbers for the evidence words of one conversation, from 1.

    Words are kept as hashes, because the words of a long conversation would take as much memory as
    the view.

    Attributes:
        prose: whether names and plain words have numbers, too.
        kinds: for each number the kind of its word, as an index into `KINDS` followed by
            `PROSE_KINDS`; no word has the number 0.
    """

    def __init__(self, *, prose: bool = False) -> None:
        self.prose = prose
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
        words, find, learn = WORD.findall, self._find, self._learn
        for start, stop in parts:
            raws = words(text, start, stop)
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
        lower, find, result = text.lower(), self._find, set[int | None]()
        names = (*NAME.findall(text), *TITLE.findall(text))
        terms = (*TERM.findall(lower), *SMALL_NUMBER.findall(lower))
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
        word = trimmed(raw)
        number = None if word == raw else self._find(hash(word))
        if number is None:
            kind = evidence_kind(word)
            number = len(self.kinds) if kind else 0
            if kind:
                self.kinds.append(KINDS.index(kind))
                self._numbers[hash(word)] = number
        if number or len(self._numbers) < 2 * len(self.kinds) + PLAIN_WORDS:
            self._numbers[hash(raw)] = number
        return number
