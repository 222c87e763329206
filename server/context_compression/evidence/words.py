"""Words that are evidence by themselves: paths, URLs, symbols, numbers, ids, flags.

One simple scan finds candidate words; each distinct word is classified once. That is ten times
faster than one large expression with a group for each kind. In prose, where hardly any such word
stands, names and plain words tell what a sentence is about.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from string import hexdigits
from typing import Literal, TypeAlias, get_args

Kind: TypeAlias = Literal["path", "url", "symbol", "number", "id", "flag"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ProseKind: TypeAlias = Literal["name", "term", "pair"]
PROSE_KINDS: tuple[ProseKind, ...] = get_args(ProseKind)
"""A name or a title; a plain word or a small number; two neighbouring signs of a script that puts
no blanks between words."""

SIGNS = r"A-Z0-9_$#@~.+:/\\-"
WORD = re.compile(rf"(?<![a-z{SIGNS}])[a-z]*+[{SIGNS}](?<!</)[a-z{SIGNS}]*(?<=\w)")
"""A word that is more than lower-case letters and a stop; those are no evidence, and most words.
What ends an element (`</span>`) is none either."""
STEM = re.compile(r"[\w@+-][\w.@+-]*")
ENDING = re.compile(
    r"go|pyi?|[cm]?[jt]sx?|rs|java|kt|[ch](?:c|pp)?|cs|rb|php|swift|sh|ps1|sql|s?css|x?html?|mdx?|txt"
    r"|jsonl?|ya?ml|toml|lock|mod|sum|cfg|ini|env|xml|svg|png|jpe?g|pdf|proto|tf|lua|vue|svelte|snap"
    r"|log|csv|ipynb|gz|zip|db"
)
"""How the name of a file may begin, up to its last point, and end."""
NUMBER = re.compile(r"[$#]?v?\d+(?:[.,:_T+-]\d+)*Z?(?:%|ms|[smhkKMGT]?[bB]?)?")
HEXADECIMAL = re.compile(
    r"(?=[a-f-]*\d)[0-9a-f]{7,40}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
)
TICKET = re.compile(r"[A-Z][A-Z0-9]+-\d+")
SYMBOL = re.compile(
    r"[a-z0-9][A-Z]|[A-Za-z]_[A-Za-z0-9]|[A-Za-z]\d|^[A-Z][A-Z0-9_]{3,}$|\w(?:\.|::|->)\w"
)
WEAK: Mapping[Kind | None, re.Pattern[str]] = {
    "number": re.compile(r"\d{1,3}(?:-\d{1,3})?"),
    "path": re.compile(r"/[^/\\.]*"),
    "symbol": re.compile(
        r"(?!v?\d+\.\d+\.\d|0x)(?=[\d.-]|[^.]*\.)(?=\D*\d)[A-Za-z]?+(?:[\d.-]++[A-Za-z]?+)++"
    ),
}
"""What tells too little by itself to be evidence in a text: a number of up to three digits or a
range of them, mostly of lines; a bare name at the root, mostly a command of a host (`/help`);
numbers with single letters between them that are no version, mostly a drawing (`12c0.87`)."""
ESCAPES = re.compile(r"^(?:\\+[nrt])+|(?:\\+[nrt])+$")
"""Line breaks and the like in a text that is quoted in JSON."""
ISSUE = re.compile(r"#\d+")
PLACE = re.compile(r"(?::\d{1,9}){1,3}$")
JOINED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u9fff"
"""The scripts without blanks between words: Thai, Lao, Burmese, Khmer, Chinese and Japanese."""
TERM = re.compile(rf"[^\W\d_{JOINED}]{{4,}}|[\uac00-\ud7af]{{2,}}")
"""A plain word, looked for in lower-case text; the short ones are mostly grammar."""
RUN = re.compile(rf"[{JOINED}]{{2,}}")
SMALL_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
TITLE = re.compile(r"[\"“„«《「『]([^\"“”„«»《》「」『』\n]{2,50})[\"”“»》」』]")
NAME = re.compile(r"(?<=[a-zß-ÿ0-9,;] )[A-ZÀ-Þ][a-zß-ÿ]+")
"""A word with a capital that begins no sentence."""
PROSE = 6.0
"""Evidence words in 1,000 characters below which a text is prose: those recorded of agents hold 7
(in their beginnings 9) and more, those of meetings and chats 4 at most."""
SAMPLE = 200
"""Characters of each text that are looked at for that."""
LONGEST_NAME = 400
"""Characters beyond which a word is nobody's name for anything."""
PLAIN_WORDS = 500
"""Words that are no evidence and are remembered all the same, beside as many as are: all of them
would fill the memory."""


def kind_of(word: str) -> Kind | None:
    """What a word is evidence of: `kind_of("src/app.py")` -> `"path"`, `None` for plain words."""
    if word.isdecimal():
        return "number" if len(word) >= 3 else None
    if word.isalpha():
        named = len(word) >= 4 and not (word.islower() or word.istitle()) and SYMBOL.search(word)
        return "symbol" if named else None
    if "/" in word or "\\" in word:
        if "://" in word:
            return "url"
        if word.startswith("//"):  # a comment
            return None
        return "path" if len(word) >= 5 and any(map(str.isalpha, word)) else None
    if word.startswith("--"):
        return "flag" if len(word) >= 5 and word[2].isalpha() else None
    # the first sign tells where an expression is in vain: with most words
    if (word[:1] in "$#v" or word[0].isdecimal()) and NUMBER.fullmatch(word):
        return "number" if len(word) >= 3 else None
    stem, _, ending = word.rpartition(".")
    if stem and ENDING.fullmatch(ending) and STEM.fullmatch(stem):
        return "path"
    if len(word) >= 7 and word[0] in hexdigits and HEXADECIMAL.fullmatch(word):
        return "id"
    if "-" in word and TICKET.fullmatch(word):
        return "id"
    if len(word) >= 4 and SYMBOL.search(word):
        return "symbol"
    return None


def evidence_kind(word: str) -> Kind | None:
    """What a word found in a text is evidence of: as `kind_of`, but nothing for a weak one."""
    if word.isdecimal():
        return "number" if len(word) > 3 else None
    kind = kind_of(word)
    weak = WEAK.get(kind)
    return None if weak and weak.fullmatch(word) else kind


def trimmed(word: str) -> str:
    """A word without punctuation and line breaks in JSON around it and the `:line` behind a path.

    Until there is no more of that, so that a word is the same whatever stood around it; one longer
    than `LONGEST_NAME` stays as it is. The number of an issue keeps its sign (`#412`).
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


def is_prose(texts: Iterable[str]) -> bool:
    """Whether some texts hold hardly any evidence by the look of their beginnings."""
    lexicon, found, chars = Lexicon(), 0, 0
    for text in texts:
        beginning = text[:SAMPLE]
        found += len(lexicon.words(beginning))
        chars += len(beginning)
    return 1_000 * found < PROSE * chars


class Lexicon:
    """The words of some texts that tell something, each classified once."""

    def __init__(self, classify: Callable[[str], Kind | None] = evidence_kind) -> None:
        """With the evidence among them; by `kind_of` also with the weak ones."""
        self._classify = classify
        self._known: dict[str, tuple[str, Kind] | None] = {}
        self._found = 0

    def words(self, text: str) -> set[tuple[str, Kind]]:
        """The words of a text that tell something, trimmed, with their kinds."""
        return {found for raw in set(WORD.findall(text)) if (found := self._look_up(raw))}

    def _look_up(self, raw: str) -> tuple[str, Kind] | None:
        if raw in self._known:
            return self._known[raw]
        word = trimmed(raw)
        kind = self._classify(word)
        found = (word, kind) if kind else None
        self._found += found is not None
        if found or len(self._known) < 2 * self._found + PLAIN_WORDS:
            self._known[raw] = found
        return found


class Numbering:
    """Numbers for the evidence words of one conversation, from 1.

    Their spelling is not kept, a hash stands for it: in a long conversation the words weigh as much
    as the view.

    Attributes:
        prose: whether names and plain words have numbers, too.
        kinds: which of `KINDS` and `PROSE_KINDS` the word behind each number is; behind 0 there is
            none.
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
        """Take a tenth of the memory from now on; to find a word takes longer then. Works once."""
        if not self._hashes:
            self._hashes.extend(sorted(h for h, number in self._numbers.items() if number))
            self._packed.extend(map(self._numbers.__getitem__, self._hashes))
            self._numbers = {}
            self._find = self._find_packed

    def numbers(self, text: str) -> Iterable[int]:
        """The evidence words of a text, by number, each once."""
        return next(self.numbers_of(text, [(0, len(text))]))

    def numbers_of(self, text: str, parts: Iterable[tuple[int, int]]) -> Iterator[Iterable[int]]:
        """The evidence words of each part of a text, by number, each once.

        Their order hangs only on the texts that were there before.
        """
        words, find, learn = WORD.findall, self._find, self._learn
        for start, stop in parts:
            raws = words(text, start, stop)
            if not raws and not self.prose:
                yield ()
                continue
            found = {*map(find, map(hash, raws))}
            if None in found:
                found = {learn(r) if (n := find(hash(r))) is None else n for r in raws}
            found.discard(0)
            if self.prose:
                found |= self._plain(text[start:stop])
            yield found  # pyright: ignore[reportReturnType]  # no None is left

    def _plain(self, text: str) -> set[int | None]:
        """The names and plain words of a text, by number."""
        lower, find, found = text.lower(), self._find, set[int | None]()
        names = (*NAME.findall(text), *TITLE.findall(text))
        terms = (*TERM.findall(lower), *SMALL_NUMBER.findall(lower))
        pairs = [run[at : at + 2] for run in RUN.findall(lower) for at in range(len(run) - 1)]
        for kind, words in enumerate((names, terms, pairs), len(KINDS)):
            # what is spelled alike and of another kind is another word, whichever came first
            keys = [hash((kind, word)) for word in words]
            here = {*map(find, keys)}
            if None in here:
                here = {self._add(k, kind) if (n := find(k)) is None else n for k in keys}
            found |= here
        return found

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
        """The number of a word as it stands in a text; 0 when it is no evidence."""
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
