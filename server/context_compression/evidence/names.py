r"""Where names of files and symbols begin and end in a text, in any script.

A candidate is a run of letters, marks and signs with a capital, a digit or a sign in it. In a
script with case (Latin, Greek, Cyrillic) a name stands between blanks, so that the run is the name.
In a script without case (Chinese, Japanese, Korean, Thai, Arabic, …) the words of a sentence may
stand directly before and after a name, so that a run is a part of the sentence:

    请修改src/支付/退款.py的第三行    src/支付/退款.py
    放在orders表的amount_cents列      orders, amount_cents

A name begins with its first Latin letter, or with caseless letters that a sign joins to the rest;
it ends at an extension, or before caseless letters that no sign joins to it. Where only the writer
knows how many letters before a sign are a part of the name (`打开测试/a.py`), the names that tool
calls give tell (`Names`).
"""

import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from itertools import groupby

SIGNS = r"A-Z0-9_$#@~.+:/\\-"
COMMON_MARKS = (
    r"\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0e7f\u200c\u200d"
)
"""Marks that belong to the letter before them, and the letters between them; `\\w` lacks marks."""
MARKS = COMMON_MARKS + (
    r"\u0483-\u0487\u0610-\u061a\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a"
    r"\u07a6-\u07b0\u0816-\u082d\u0859-\u085b\u08d3-\u08ff\u0e80-\u0f00\u0f18-\u0f39\u0f3e-\u0f84"
    r"\u0f86-\u0fbc\u1000-\u1049\u1050-\u109f\u135d-\u135f\u1712-\u1734\u1780-\u17d3\u17d7"
    r"\u17dc-\u17e9\u18a9\u1920-\u193b\u1a17-\u1a1b\u1a55-\u1a7f\u1ab0-\u1b59\u1b6b-\u1bf3"
    r"\u1c24-\u1c37\u1dc0-\u1dff\u302a-\u302f\u3099\u309a\ua674-\ua67d\ua802-\ua827\ua880-\ua8cd"
    r"\ua8e0-\ua8f7\ua926-\ua953\ua980-\ua9c0\uaa29-\uaa4d\uaa7b-\uaadd\uaaeb-\uaaef\uabe3-\uabed"
    r"\ufb1e\ufe20-\ufe2f"
)
"""The same for the scripts of which no rules are known, too."""
ACCENTS = frozenset(map(chr, range(0x300, 0x370)))
"""Marks on letters of scripts with case."""
CASELESS = (
    r"[^\x00-\u058f\u10a0-\u10ff\u13a0-\u13ff\u1c80-\u2d2f\ua640-\ua7ff\uab30-\uabbf\ufb00-\ufb1c"
    r"\uff00-\uff65\U00010400-\U000104ff\U0001d400-\U0001d7ff\U0001f000-\U0001faff]"
)
"""A character of a script without capitals; punctuation too, which is no part of a candidate."""
ONE = "文"
"""Stands for each caseless character in a `shape`: a class of them takes long to compile."""
BEYOND = re.compile(r"[^\x00-\xa9\u2000-\u2bff\ufe0f]")
"""A character that may be a letter beyond ASCII. Dashes, arrows and drawings are not, so that most
texts of programs are read by the cheaper pattern."""
ASCII_WORD = re.compile(rf"(?<![a-z{SIGNS}])[a-z]*+[{SIGNS}](?<!</)[a-z{SIGNS}]*(?<=\w)")
"""A candidate: a word with a capital, a digit or a sign, not counting punctuation at its end. Most
words have only lower-case letters and are not evidence. Nor are end tags (`</span>`)."""
EXTENSION = r"\.[A-Za-z][A-Za-z0-9]{0,7}"
WITHIN = rf"[^.:$#@~+]{{0,80}}{EXTENSION}"
OF_FILE = rf"[{ONE}\d_-]{{0,40}}(?:{EXTENSION}(?<=\w\w)|[/\\]{WITHIN})"
"""The rest of the name of a file behind a caseless letter and a digit (`图1.png`), not of a version
(`约3.x`), which has one letter."""
ROOT = (
    r"/(?:Users|Volumes|app|bin|data|dev|etc|home|lib|mnt|opt|private|proc|root|run|srv|sys|tmp|usr"
    r"|var|work|workspaces?)/"
)
"""The first folder of an absolute path, before which the words of a sentence may stand."""
JOINED = rf"(?!{ROOT})[/\\_-]|::|{EXTENSION}"
"""What joins caseless letters to the rest of a name behind them."""


@cache
def caseless() -> re.Pattern[str]:
    """A character of a script without capitals. A large pattern is compiled when it is needed."""
    return re.compile(CASELESS)


@cache
def name_in_shape() -> re.Pattern[str]:
    """A name in the `shape` of a candidate; its other letters are words of the sentence."""
    return re.compile(
        rf"""
        (?: (?<!{ONE}) {ONE}++ (?= {JOINED} | \d{OF_FILE} ) | (?!{ONE}) )
        (?:
            [^{ONE}.]
          | \. (?! {EXTENSION[2:]} {ONE} )
          | (?<= [/\\_:-] ) {ONE}++ (?= {JOINED} | \d | [A-Za-z] [\w-]{{0,40}} {EXTENSION} )
          | (?<= \d ) {ONE}++ (?= {OF_FILE} )
          | (?<! [/\\_:-] ) {ONE}++ (?= _ | [/\\-] {WITHIN} )
        )++
        (?: {EXTENSION} (?= {ONE} ) | (?<= [/\\_:-] ) {ONE}++ )?
        """,
        re.VERBOSE,
    )


@cache
def capitals() -> str:
    """The capitals of Latin, Greek, Cyrillic and Armenian beyond ASCII."""
    return "".join(filter(str.isupper, map(chr, (*range(0xC0, 0x590), *range(0x1E00, 0x2000)))))


@cache
def word_beyond_ascii() -> re.Pattern[str]:
    """`ASCII_WORD` for a text with letters beyond ASCII, in any script."""
    return re.compile(
        rf"(?<![\w{MARKS}{SIGNS}])(?:[^\W\d_A-Z{capitals()}]++[{MARKS}]*+)*+"
        rf"[\d{capitals()}{SIGNS}](?<!</)[\w{MARKS}{SIGNS}]*(?<=[\w{MARKS}])"
    )


def is_cased(letter: str) -> bool:
    """Whether a character is a letter or digit beside which a name is only a part of a word."""
    return letter.isalnum() and (letter.isascii() or not caseless().match(letter))


def goes_on(text: str, at: int) -> bool:
    """Whether the name that ends at a place is only the beginning of another name."""
    dot = text[at : at + 1] == "."
    behind = text[at + dot : at + dot + 1]
    return is_cased(behind) or behind == "_" or (not dot and (behind == "-" or behind in ACCENTS))


def shape(word: str) -> str:
    """A word of the same length with one and the same character for all caseless ones."""
    return caseless().sub(ONE, word)


def skeleton(word: str) -> str:
    """A word with an ASCII letter or digit for each one of a script with case, without marks.

    `skeleton("größeBerechnen")` -> `"graaeBerechnen"`; caseless letters become `ONE`.
    """
    return "".join(
        c if c.isascii() or c == ONE else "A" if c.isupper() else "0" if c.isdecimal() else "a"
        for c in shape(word)
        if c.isalnum() or c.isascii()
    )


SLASHES = frozenset("/\\")
PART = SLASHES | frozenset("_.-~")
LONG = 400
"""Of a text with more characters, each line is read by the cheapest pattern that fits it."""
HEAD = 6
"""How many characters of words tell which of them may begin at a place."""


class Names:
    """Some names, which are found in a text in one reading, not in one for each name."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.all = frozenset(filter(None, names))
        self._lengths: dict[str, set[int]] = {}
        for name in self.all:
            self._lengths.setdefault(name[:HEAD], set()).add(len(name))

    @cached_property
    def _in_ascii(self) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w.-])[{self._first}]")

    @cached_property
    def _beyond(self) -> re.Pattern[str]:
        before = rf"(?:(?<![\w{MARKS}.-])|(?<={CASELESS}))"
        return re.compile(rf"{before}[{self._first}]")

    @property
    def _first(self) -> str:
        return "".join(sorted({re.escape(name[0]) for name in self.all}))

    def places(self, text: str) -> Iterator[tuple[str, int, int]]:
        """`(name, start, stop)` of each place where a name occurs and no other name goes on before.

        The places are in the order of the text. At a place only as many slices are looked up as
        there are lengths of names that begin like it.
        """
        if not self.all:
            return
        begin = self._in_ascii if text.isascii() else self._beyond
        for place in begin.finditer(text):
            start = place.start()
            for head in range(1, HEAD + 1):
                for length in self._lengths.get(text[start : start + head], ()):
                    name = text[start : start + length]
                    if (head == HEAD or length == head) and name in self.all:
                        yield name, start, start + length

    def whole(self, run: str) -> Iterator[tuple[int, int]]:
        """`(start, stop)` of the names in a run that are no part of a longer one; the longest."""
        end = 0
        for start, less in sorted((start, -stop) for _, start, stop in self.places(run)):
            before, behind, stop = run[start - 1 : start], run[-less : 1 - less], -less
            is_part = is_cased(before) or before in PART or behind in SLASHES or goes_on(run, stop)
            if start >= end and not is_part:
                yield start, stop
                end = stop


NO_NAMES = Names()


def candidates(
    text: str, start: int = 0, stop: int = sys.maxsize, known: Names = NO_NAMES
) -> list[str]:
    """The words in a part of a text that may be evidence, as they are written.

    Args:
        text: the text.
        start: where the part begins.
        stop: where it ends.
        known: names with caseless letters, which are found whole.
    """
    if text.isascii() or not BEYOND.search(text, start, stop):
        return ASCII_WORD.findall(text, start, stop)
    if stop - start <= LONG:
        return _candidates(text, start, stop, known)
    found: list[str] = []
    for beyond, lines in groupby(text[start:stop].split("\n"), _is_beyond):
        part = "\n".join(lines)
        found += _candidates(part, 0, len(part), known) if beyond else ASCII_WORD.findall(part)
    return found


def _is_beyond(line: str) -> bool:
    return not line.isascii() and BEYOND.search(line) is not None


def _candidates(text: str, start: int, stop: int, known: Names) -> list[str]:
    """The candidates in a part of a text with letters beyond ASCII."""
    found: list[str] = []
    for run in word_beyond_ascii().findall(text, start, stop):
        if caseless().search(run):
            found += (run[a:b] for a, b in apart(run, known))
        else:
            found.append(run)
    return found


def apart(run: str, known: Names = NO_NAMES) -> Iterator[tuple[int, int]]:
    """`(start, stop)` of each name in a run of letters, marks and signs."""
    at, shaped = 0, shape(run)
    for start, stop in (*known.whole(run), (len(run), len(run))):
        yield from (name.span() for name in name_in_shape().finditer(shaped, at, start))
        if start < stop:
            yield start, stop
        at = stop
