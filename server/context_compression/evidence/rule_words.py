"""The words with which people state standing rules, in some eighty languages: `rule_words.txt`.

Recognition works on forms: imperatives and prohibitions, and words such as "always", "never", "from
now on", "must" and "only".

There are thousands of phrases, but a text holds only a few of the words with which they begin. So
the words of a text are looked up, and only the phrases that begin with one of them are compared, as
regular expressions that are made when they are first needed (`PhraseIndex`).
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from context_compression.evidence.names import COMMON_MARKS


class Kind(NamedTuple):
    r"""How a script is written.

    Attributes:
        ranges: the code points of its letters, as `(first, last)`.
        blanks: whether blanks stand between its words.
        joined: letters that may be written before a word without a blank, as `and`.
        marks: whether its words hold marks that `\w` does not match, such as vowel signs.
    """

    ranges: tuple[tuple[int, int], ...]
    blanks: bool = True
    joined: str = ""
    marks: bool = True


class Script(Enum):
    """A script; `HAN` includes Kana."""

    LATIN = Kind(((0x41, 0x24F), (0x1E00, 0x1EFF)), marks=False)
    CYRILLIC = Kind(((0x400, 0x52F),), marks=False)
    GREEK = Kind(((0x370, 0x3FF), (0x1F00, 0x1FFF)), marks=False)
    ARMENIAN = Kind(((0x530, 0x58F),), marks=False)
    HEBREW = Kind(((0x590, 0x5FF),), joined="ושהב")
    ARABIC = Kind(((0x600, 0x77F), (0x8A0, 0x8FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFE)), joined="وف")
    DEVANAGARI = Kind(((0x900, 0x97F),))
    BENGALI = Kind(((0x980, 0x9FF),))
    GURMUKHI = Kind(((0xA00, 0xA7F),))
    GUJARATI = Kind(((0xA80, 0xAFF),))
    ORIYA = Kind(((0xB00, 0xB7F),))
    TAMIL = Kind(((0xB80, 0xBFF),))
    TELUGU = Kind(((0xC00, 0xC7F),))
    KANNADA = Kind(((0xC80, 0xCFF),))
    MALAYALAM = Kind(((0xD00, 0xD7F),))
    SINHALA = Kind(((0xD80, 0xDFF),))
    THAI = Kind(((0xE00, 0xE7F),), blanks=False)
    LAO = Kind(((0xE80, 0xEFF),), blanks=False)
    TIBETAN = Kind(((0xF00, 0xFFF),), blanks=False)
    BURMESE = Kind(((0x1000, 0x109F),), blanks=False)
    GEORGIAN = Kind(((0x10A0, 0x10FF),), marks=False)
    ETHIOPIC = Kind(((0x1200, 0x137F),), marks=False)
    KHMER = Kind(((0x1780, 0x17FF),), blanks=False)
    HAN = Kind(((0x3005, 0x30FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF)), blanks=False)
    HANGUL = Kind(((0x1100, 0x11FF), (0xAC00, 0xD7AF)), marks=False)


Use: TypeAlias = str
USES: Sequence[Use] = ("sure", "first", "maybe", "start", "asks")
"""The lists of a `Language`."""
MARKED = rf"[\w{COMMON_MARKS}]"
"""A letter, or a mark that belongs to one."""
SPELLINGS = {
    "İ": "i", "’": "'", "ʼ": "'", "‘": "'", "\u00a0": " ", "\u202f": " ", "ё": "е", "Ё": "е",
    "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "ہ": "ه",
    "ۃ": "ه", "\u3000": " ",
}  # fmt: skip
"""Characters that are written differently in the same words; each becomes one other character."""
FOLDS = str.maketrans(SPELLINGS)
RANGES = [(first, last, script) for script in Script for first, last in script.value.ranges]


def folded(text: str) -> str:
    """A text in lower case, with one spelling of some letters, and of the same length."""
    if not text.isascii() and not SPELLINGS.keys().isdisjoint(text):
        text = text.translate(FOLDS)
    return text.lower()


@cache
def script_of(letter: str) -> Script | None:
    """The script of a letter; `None` for other characters and for letters of other scripts."""
    if letter.isascii():
        return Script.LATIN if letter.isalpha() else None
    code = ord(letter)
    found = next((script for first, last, script in RANGES if first <= code <= last), None)
    return found if found is not Script.LATIN or letter.isalpha() else None


def scripts_in(text: str) -> set[Script]:
    """The scripts of the letters of a text; ASCII letters are not looked for."""
    if text.isascii():
        return set()
    return {script for c in set(text) if not c.isascii() and (script := script_of(c))}


class Language(NamedTuple):
    """The words of one language that state standing rules; `rule_words.txt` says what for."""

    name: str
    sure: str
    first: str = ""
    maybe: str = ""
    start: str = ""
    asks: str = ""
    common: str = ""
    folds: bool = True


def sections(name: str) -> Sequence[tuple[str, Mapping[str, Sequence[str]]]]:
    """The languages of a table of words beside this module, in its order: name, rows by field."""
    from importlib.resources import files  # here: it costs 20 ms

    found: list[tuple[str, dict[str, list[str]]]] = []
    rows: list[str] = []
    for line in (files("context_compression.evidence") / name).read_text("utf-8").splitlines():
        if line.startswith("["):
            found.append((line[1:-1], {}))
        elif line.startswith(" "):
            rows.append(line.strip())
        elif line and not line.startswith("#"):
            field, _, row = line.partition(":")
            rows = found[-1][1].setdefault(field, [row.strip()] if row else [])
    return found


@cache
def languages() -> Sequence[Language]:
    """All languages of `rule_words.txt`, in its order."""
    return [
        Language(
            name,
            folds="folds" not in fields,
            common=" ".join(fields.get("common", ())),
            **{use: "|".join(fields.get(use, ())) for use in USES},
        )
        for name, fields in sections("rule_words.txt")
    ]


Key: TypeAlias = tuple[str, bool]
"""The first letters of phrases, and whether they are a whole word."""
PREFIX = 3
"""The most letters of a key that is not a whole word."""
END = r"""(?=[\s"'»”)\]]*(?:[.!?;…。！？।؟۔]|\n|\Z))"""
NOTHING_MORE = re.compile("")
"""The phrases of a key that is a phrase itself: its word is there, and nothing need follow."""
FIRST_WORD = re.compile(r"[^\W\d_]+")
COMPOSED = {
    unicodedata.normalize("NFC", letter): letter
    for first, last in ((0x958, 0x960), (0x9DC, 0x9E0), (0xA33, 0xA5F))
    for letter in map(chr, range(first, last))
    if len(unicodedata.normalize("NFC", letter)) == 2
}
"""The letters of Indian scripts that are written as two characters or as one."""
LEAST_PLAIN = 4
"""The fewest letters of a word that is also known without accents; `só` would become `so`."""
PLAIN = str.maketrans("ıøłđæœß", "ioldaos")
"""Letters that have no accent that could be taken away."""


APART = 40
"""The most characters between two letters of a phrase, and those behind it that it looks at."""


@cache
def _letters(script: Script) -> re.Pattern[str]:
    letters = "".join(f"{chr(first)}-{chr(last)}" for first, last in script.value.ranges)
    return re.compile(rf"[{letters}]+(?:[^{letters}]{{1,{APART}}}[{letters}]+)*")


class Phrase(NamedTuple):
    """An expression of a `Language`, and what must not follow it."""

    use: Use
    word: str
    end: str = ""


class PhraseIndex:
    """The words of one script in some languages.

    Attributes:
        phrases: those that begin a word, by their keys.
    """

    def __init__(
        self, languages: Iterable[Any], script: Script, uses: Sequence[Use] = USES
    ) -> None:
        """An index of the words of these languages that are in a script.

        Args:
            languages: a `Language` each, or another value with a list for each use.
            script: the script.
            uses: the names of the lists.
        """
        self._script = script
        self.phrases: dict[Key, list[Phrase]] = {}
        self._anywhere: list[Phrase] = []  # phrases that need not begin a word
        for language in languages:
            for use in uses:
                for word in expressions(getattr(language, use), script, folds=language.folds):
                    self._add(use, word, script)
        self._whole = {first for first, is_whole in self.phrases if is_whole}
        self._begin = {first for first, is_whole in self.phrases if not is_whole}
        self._sizes = sorted({len(first) for first in self._begin})
        self.expression = cache(self._expression)
        self.anywhere = cache(self._any_anywhere)

    def _add(self, use: Use, word: str, script: Script) -> None:
        letter = MARKED if script.value.marks else r"\w"
        end = "" if word.endswith("*") and not word.endswith(r"\w*") else rf"(?!{letter})"
        if not script.value.blanks:
            self._anywhere.append(Phrase(use, word))
        elif word.startswith("*"):
            self._anywhere.append(Phrase(use, word[1:], end))
        else:
            for opened in openings(word):
                self.phrases.setdefault(key_of(opened), []).append(Phrase(use, opened, end))

    def keys(self, words: Iterable[str]) -> Iterator[tuple[str, Key]]:
        """The words of a text with which phrases may begin, each with their keys."""
        for word in words:
            if word in self._whole:
                yield word, (word, True)
            for size in self._sizes:
                if word[:size] in self._begin and len(word) >= size:
                    yield word, (word[:size], False)

    def _expression(self, key: Key, use: Use) -> re.Pattern[str] | None:
        """The phrases of a key with one use, to be matched at a word; `None` if there are none."""
        phrases = [phrase for phrase in self.phrases[key] if phrase.use == use]
        first, is_whole = key
        if is_whole and any(phrase.word == first for phrase in phrases):
            return NOTHING_MORE
        return self._any_of(phrases)

    def _any_anywhere(self, use: Use) -> re.Pattern[str] | None:
        """The phrases with one use that are searched within words, too."""
        return self._any_of(phrase for phrase in self._anywhere if phrase.use == use)

    def parts_of(self, text: str) -> str:
        """What of a text may hold phrases that need not begin a word.

        Letters of a script without blanks are found in a tenth of the time that a search takes.
        """
        if self._script.value.blanks:
            return text
        parts = (found.span() for found in _letters(self._script).finditer(text))
        return "\n".join(text[start : stop + APART] for start, stop in parts)

    def _any_of(self, phrases: Iterable[Phrase]) -> re.Pattern[str] | None:
        expressions = [f"{written(word, self._script)}{end}" for _, word, end in phrases]
        return re.compile("|".join(dict.fromkeys(expressions))) if expressions else None


def expressions(given: str, script: Script, *, folds: bool) -> Iterator[str]:
    """The expressions in a list that are in a script, with spellings without accents."""
    if script not in map(script_of, {*given}):
        return
    for word in split(folded(unicodedata.normalize("NFC", given))):
        if next(filter(None, map(script_of, re.sub(r"\\.", "", word))), None) is script:
            yield word
            plain = _without_accents(word) if folds and not script.value.marks else word
            if plain != word and len(word) >= LEAST_PLAIN and not word.startswith("*"):
                yield plain


def split(words: str) -> Iterator[str]:
    """The parts of an expression between the `|` outside of all brackets."""
    depth = start = 0
    for bracket in re.finditer(r"[(\[)\]|]", words):
        at, sign = bracket.start(), bracket[0]
        depth += (sign in "([") - (sign in ")]")
        if sign == "|" and not depth:
            yield words[start:at]
            start = at + 1
    if words[start:]:
        yield words[start:]


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    parts = unicodedata.normalize("NFD", word)
    return "".join(c for c in parts if not "\u0300" <= c <= "\u036f").translate(PLAIN)


def openings(word: str) -> Iterator[str]:
    """An expression once for each beginning: `(?:a|b)? c` -> `a c`, `b c`, ` c`."""
    if not word.startswith("(?:"):
        yield word.lstrip(" ")
        return
    depth = 0
    for bracket in re.finditer(r"[()]", word):
        depth += 1 if bracket[0] == "(" else -1
        if not depth:
            break
    else:
        return
    inner, rest = word[3 : bracket.start()], word[bracket.end() :]
    optional = rest.startswith("?")
    rest = rest.removeprefix("?")
    some = [f"{each}{rest}" for each in split(inner)]
    yield from chain.from_iterable(map(openings, [*some, rest] if optional else some))


def key_of(word: str) -> Key:
    """The key of an expression, which begins with a letter: `n(?:ot|ever)` -> `("n", False)`."""
    first = FIRST_WORD.match(word)
    if not first:
        raise ValueError(f"An expression must begin with a letter: {word!r}")
    letters, after = first[0], word[first.end() : first.end() + 1]
    if after in ("?", "{"):
        letters = letters[:-1]
    elif after not in ("\\", "(", "[", "*") and not _is_mark(after):
        return letters, True
    return letters[:PREFIX], False


def _is_mark(sign: str) -> bool:
    return bool(sign) and unicodedata.category(sign) in ("Mn", "Mc", "Cf")


def written(word: str, script: Script) -> str:
    """An expression with its short forms written out."""
    letter = MARKED if script.value.marks else r"\w"
    word = re.sub(r"(?<!\\w)\*", r"\\w*", word.removesuffix("*") if _is_open(word) else word)
    word = word.replace(r"\w*", r"\w{0,40}")  # no limit would cost the square of a long word
    for pair, single in COMPOSED.items():
        word = word.replace(pair, f"(?:{pair}|{single})") if pair in word else word
    if script.value.blanks:
        some = r"(?:[^\s.!?]+\s+){%d,5}?"
        word = word.replace(" … ", r" " + some % 0).replace("… ", some % 1)
    word = word.replace("…", r"[^。！？\n]{0,30}?").replace("$", "@")
    word = word.replace(" ?", r"\s*").replace(" ", r"\s+").replace(r"\w", letter)
    return word.replace("@", END)


def _is_open(word: str) -> bool:
    return word.endswith("*") and not word.endswith(r"\w*")


WORD, ASCII_WORD = re.compile(rf"{MARKED}+"), re.compile(r"\w+")
OPENING = r"""[\s"'«“„¿¡(（「『>*•·–—-]*(?:\d{1,3}[.)]\s+)?"""
"""What may stand before the first word of a sentence."""
JOINING = (
    "and|but|also|please|then|just|so|und|aber|bitte|y|pero|e|mas|et|mais|ma|però|ale|en|maar"
    "|og|och|men|ve|ama|dan|tapi|và|nhưng|na|lakini|ja|mutta|és|și|dar|и|но|а|і|але|та|или|و|لكن"
    "|और|लेकिन|আর|এবং|কিন্তু|اور|لیکن|ولی|اما|και|αλλά|आणि|பண|மற்றும்|మరియు|그리고|하지만|por favor"
    "|s'il te plaît|s'il vous plaît|per favore|пожалуйста|будь ласка|proszę|prosím|lütfen|tolong"
    "|कृपया|لطفا|من فضلك"
)
"""Words after which a clause begins."""
BEGINNING = re.compile(OPENING)
CLAUSE = re.compile(
    rf"(?:\A|(?:[^\w\s'-]|(?<!\w)-)\s*|(?<![\w'])(?:{folded(JOINING)})\s+){OPENING}"
)
"""The beginning of a clause in a sentence."""
LEAST_WORDS = 3
"""With fewer words a sentence says too little of its language."""
POSSIBLE: Sequence[Use] = ("sure", "first", "maybe")
PhrasesAt: TypeAlias = tuple[int, re.Pattern[str]]
"""Phrases that begin with a word, and the number of joined letters before them in it."""
Phrases: TypeAlias = Mapping[str, Sequence[PhrasesAt]]
"""Phrases by the word of a text with which they may begin."""


@cache
def index_of(script: Script) -> PhraseIndex:
    """The rule words of one script in all languages."""
    return PhraseIndex(languages(), script)


class PhrasesIn:
    """Searches parts of one text for phrases, in the languages of some scripts."""

    def __init__(
        self, text: str, index_of: Callable[[Script], PhraseIndex], scripts: Iterable[Script]
    ) -> None:
        """A search in a text, of which parts are named by `(start, stop)`.

        Args:
            text: the text.
            index_of: gives the phrases of a script.
            scripts: the scripts.
        """
        self._text = folded(text)
        self._word = ASCII_WORD if text.isascii() else WORD
        self._indexes = [*map(index_of, scripts)]
        self._parts = [index.parts_of(self._text) for index in self._indexes]
        joined = {sign for script in scripts for sign in script.value.joined}
        words = {*self._word.findall(self._text)}
        within = {word[1:]: word for word in words if word[0] in joined} if joined else {}
        self._keys = [
            (word, 0, index, key) for index in self._indexes for word, key in index.keys(words)
        ]
        for index in self._indexes:
            for inner, key in index.keys(within):
                self._keys += [
                    (word, 1, index, key)
                    for word in words
                    if word[1:] == inner and word[0] in joined
                ]
        self._by_use: dict[Use, Mapping[str, list[PhrasesAt]]] = {}
        self._within: dict[Use, list[re.Pattern[str]]] = {}

    def known(self, use: Use) -> Mapping[str, list[PhrasesAt]]:
        """The phrases with a use by the words of the text with which they may begin."""
        if use not in self._by_use:
            found: dict[str, list[PhrasesAt]] = {}
            for word, at, index, key in self._keys:
                if expression := index.expression(key, use):
                    found.setdefault(word, []).append((at, expression))
            self._by_use[use] = found
        return self._by_use[use]

    def anywhere(self, use: Use) -> Sequence[re.Pattern[str]]:
        """The phrases with a use that need not begin a word, if the text holds any of them."""
        if use not in self._within:
            found = zip((each.anywhere(use) for each in self._indexes), self._parts, strict=True)
            self._within[use] = [each for each, parts in found if each and each.search(parts)]
        return self._within[use]

    def spans(self, use: Use, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """`(start, stop)` of the phrases with a use in a part, in no order."""
        for pattern in self.anywhere(use):
            yield from (found.span() for found in pattern.finditer(self._text, start, stop))
        if known := self.known(use):
            for word in self._word.finditer(self._text, start, stop):
                for at, phrase in known.get(word[0], ()):
                    if found := phrase.match(self._text, word.start() + at, stop):
                        yield found.start(), max(found.end(), word.end())

    def search(self, known: Phrases, start: int, stop: int) -> bool:
        """Whether a word of a part begins one of some phrases."""
        if not known or known.keys().isdisjoint(self._word.findall(self._text, start, stop)):
            return False
        return any(
            self._is(known[word[0]], word, stop)
            for word in self._word.finditer(self._text, start, stop)
            if word[0] in known
        )

    def search_within(self, use: Use, start: int, stop: int) -> bool:
        """Whether one of the phrases that need not begin a word stands in a part."""
        return any(each.search(self._text, start, stop) for each in self.anywhere(use))

    def has(self, use: Use, start: int, stop: int) -> bool:
        """Whether a part has a phrase with a use."""
        return self.search_within(use, start, stop) or self.search(self.known(use), start, stop)

    def _begins(self, use: Use, start: int, stop: int) -> bool:
        """Whether one of the phrases with a use begins at a place."""
        word = self._word.match(self._text, start, stop)
        if word and self._is(self.known(use).get(word[0], ()), word, stop):
            return True
        return any(each.match(self._text, start, stop) for each in self.anywhere(use))

    def _is(self, phrases: Iterable[PhrasesAt], word: re.Match[str], stop: int) -> bool:
        begin = word.start()
        return any(phrase.match(self._text, begin + at, stop) for at, phrase in phrases)


class RuleWords(PhrasesIn):
    """Searches sentences of one text for rule words, in the languages of its scripts."""

    def __init__(self, text: str) -> None:
        """A search in a text, of which sentences are named by `(start, stop)`."""
        super().__init__(text, index_of, {Script.LATIN, *scripts_in(text)})
        self._possible: dict[str, list[PhrasesAt]] = {}
        for use in POSSIBLE:
            for word, phrases in self.known(use).items():
                self._possible.setdefault(word, []).extend(phrases)
        self._can_start = bool(self.known("start") or self.anywhere("start"))

    def possible(self, start: int, stop: int) -> bool:
        """Whether a sentence has words that may state a rule."""
        if self.search(self._possible, start, stop):
            return True
        if any(self.search_within(use, start, stop) for use in POSSIBLE):
            return True
        opening = BEGINNING.match(self._text, start, stop) if self._can_start else None
        return opening is not None and self._begins("start", opening.end(), stop)

    def sure(self, start: int, stop: int) -> bool:
        """Whether a sentence has the form of a rule."""
        if self.has("sure", start, stop):
            return True
        clauses = {start + clause.end() for clause in CLAUSE.finditer(self._text[start:stop])}
        return any(self._begins("first", at, stop) for at in clauses)

    def asks(self, start: int, stop: int) -> bool:
        """Whether a sentence has words that address somebody."""
        return self.has("asks", start, stop)


@cache
def common_words(script: Script) -> frozenset[str]:
    """Frequent words of the languages of a script, as `folded`; empty if the script is enough."""
    words = (word for language in languages() for word in folded(language.common).split())
    return frozenset(word for word in words if len(word) > 1 and script_of(word[0]) is script)


def is_known_language(sentence: str) -> bool:
    """Whether a sentence seems to be in a language of which rule words are known.

    A sentence without words is, too. In a script that many languages share, a sentence of three or
    more words needs a frequent word, or a rule word, of one of the known languages.
    """
    words = [word for word in WORD.findall(folded(sentence)) if word[0].isalpha()]
    by_script: dict[Script | None, list[str]] = {}
    for word in words:
        by_script.setdefault(script_of(word[0]), []).append(word)
    if not by_script:
        return True
    script, found = max(by_script.items(), key=lambda item: sum(map(len, item[1])))
    if script is None:
        return False
    common = common_words(script)
    if len(found) < LEAST_WORDS or not common or not common.isdisjoint(found):
        return True
    return RuleWords(sentence).possible(0, len(sentence))
