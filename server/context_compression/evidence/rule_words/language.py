"""`Language`: the words with which one language states standing rules."""

from typing import NamedTuple


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
