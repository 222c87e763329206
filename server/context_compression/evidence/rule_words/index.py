"""`Index`: the rule words of one script by the word with which they begin.

There are thousands of phrases, but a text holds only a few of the words with which they begin. So
the words of a text are looked up, and only the phrases that begin with one of them are compared, as
regular expressions that are made when they are first needed.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias, get_args

from context_compression.evidence.rule_words.language import Language
from context_compression.evidence.rule_words.scripts import MARKED, Script, folded, script_of

Use: TypeAlias = Literal["sure", "first", "maybe", "start", "asks"]
USES: tuple[Use, ...] = get_args(Use)
"""The lists of a `Language`."""
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


class Phrase(NamedTuple):
    """An expression of a `Language`, and what must not follow it."""

    use: Use
    word: str
    end: str = ""


class Index:
    """The rule words of one script in some languages."""

    def __init__(self, languages: Iterable[Language], script: Script) -> None:
        """An index of the words of these languages that are in a script."""
        self._script = script
        self._phrases: dict[Key, list[Phrase]] = {}
        self._anywhere: list[Phrase] = []  # phrases that need not begin a word
        for language in languages:
            for use in USES:
                for word in _expressions(getattr(language, use), script, folds=language.folds):
                    self._add(use, word, script)
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
                self._phrases.setdefault(key_of(opened), []).append(Phrase(use, opened, end))

    def keys(self, word: str) -> Sequence[Key]:
        """The keys of the phrases that may begin with a word of a text."""
        keys = [(word, True), *((word[:n], False) for n in range(1, PREFIX + 1))]
        return [key for key in keys if key in self._phrases]

    def _expression(self, key: Key, use: Use) -> re.Pattern[str] | None:
        """The phrases of a key with one use, to be matched at a word; `None` if there are none."""
        phrases = [phrase for phrase in self._phrases[key] if phrase.use == use]
        first, is_whole = key
        if is_whole and any(phrase.word == first for phrase in phrases):
            return NOTHING_MORE
        return self._any_of(phrases)

    def _any_anywhere(self, use: Use) -> re.Pattern[str] | None:
        """The phrases with one use that are searched within words, too."""
        return self._any_of(phrase for phrase in self._anywhere if phrase.use == use)

    def _any_of(self, phrases: Iterable[Phrase]) -> re.Pattern[str] | None:
        expressions = [f"{written(word, self._script)}{end}" for _, word, end in phrases]
        return re.compile("|".join(dict.fromkeys(expressions))) if expressions else None


def _expressions(given: str, script: Script, *, folds: bool) -> Iterator[str]:
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
