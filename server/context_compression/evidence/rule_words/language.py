"""`Language`: the words with which one language states standing rules, and its script."""

from enum import Enum
from functools import cache
from typing import NamedTuple


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


MARKED = r"[\w\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0e7f\u200c\u200d]"
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
    """The words and phrases of one language that state standing rules.

    Each field but the name is a list of regular expressions in lower case, separated by `|`. Three
    signs are short forms: a blank stands for any blanks, `*` for any letters, and ` … ` for up to
    five words (in a script without blanks: `…`, up to 30 characters). `$` is the end of the
    sentence.

    Attributes:
        name: the English name of the language.
        sure: phrases that state a rule wherever they stand: `do not touch`, `from now on`.
        first: words that state a rule at the beginning of a clause: `never`, `always`. Elsewhere
            they may state one.
        maybe: words that may state a rule: `must`, `should`, `only`.
        start: words that may state a rule at the beginning of a sentence: `every`.
        asks: words that address somebody: `please`, `you`.
        common: some frequent words, by which a sentence in this language is recognised. Empty if
            the script is enough.
        folds: whether people also write its words without accents.
    """

    name: str
    sure: str
    first: str = ""
    maybe: str = ""
    start: str = ""
    asks: str = ""
    common: str = ""
    folds: bool = True
