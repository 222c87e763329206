"""Words that are evidence by themselves: paths, URLs, symbols, numbers, ids, flags.

One simple expression finds candidate words, and each distinct word is classified once. This is ten
times faster than one large expression with a group for each kind.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from string import hexdigits
from typing import Literal, TypeAlias, get_args

Kind: TypeAlias = Literal["path", "url", "symbol", "number", "id", "flag"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SIGNS = r"A-Z0-9_$#@~.+:/\\-"
WORD = re.compile(rf"(?<![a-z{SIGNS}])[a-z]*+[{SIGNS}](?<!</)[a-z{SIGNS}]*(?<=\w)")
"""A candidate: a word with a capital, a digit or a sign, not counting punctuation at its end. Most
words have only lower-case letters and are not evidence. Nor are end tags (`</span>`)."""
STEM = re.compile(r"[\w@+-][\w.@+-]*")
ENDING = re.compile(
    r"go|pyi?|[cm]?[jt]sx?|rs|java|kt|[ch](?:c|pp)?|cs|rb|php|swift|sh|ps1|sql|s?css|x?html?|mdx?|txt"
    r"|jsonl?|ya?ml|toml|lock|mod|sum|cfg|ini|env|xml|svg|png|jpe?g|pdf|proto|tf|lua|vue|svelte|snap"
    r"|log|csv|ipynb|gz|zip|db"
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
WEAK: Mapping[Kind | None, re.Pattern[str]] = {
    "number": re.compile(r"\d{1,3}(?:-\d{1,3})?"),
    "path": re.compile(r"/[^/\\.]*"),
    "symbol": re.compile(
        r"(?!v?\d+\.\d+\.\d|0x)(?=[\d.-]|[^.]*\.)(?=\D*\d)[A-Za-z]?+(?:[\d.-]++[A-Za-z]?+)++"
    ),
}
"""Words that are too weak to be evidence in a text. A number of up to three digits or a range of
such numbers is mostly a line number. A bare name at the root (`/help`) is mostly a host's command.
Numbers with single letters between them that are no version (`12c0.87`) are mostly a drawing."""
ESCAPES = re.compile(r"^(?:\\+[nrt])+|(?<!\\)(?<!\\[nrt])(?:\\+[nrt])+$")
"""Escaped line breaks and tabs around a word in a text that is quoted in JSON."""
ISSUE = re.compile(r"#\d+")
PLACE = re.compile(r"(?::\d{1,9}){1,3}$")
NAME = r"[\w.-]"
"""A character of a file's name."""
HEAD = 6
"""How many characters of words tell which of them may begin at a place."""
LONGEST_NAME = 400
"""The most characters of a word that is trimmed; no name is longer."""


def kind_of(word: str) -> Kind | None:
    """The kind of a word: `kind_of("src/app.py")` -> `"path"`; `None` for a plain word."""
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
    if len(word) >= 4 and SYMBOL.search(word):
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


def places_of(words: Iterable[str], text: str) -> Iterator[tuple[str, int, int]]:
    """`(word, start, stop)` of each place where one of many words occurs, in the order of the text.

    The text is read once for all words, not once for each: at a place only as many slices are
    looked up as there are lengths of words that begin like it. Only places where no name goes on
    (`NAME`) count.
    """
    wanted = frozenset(filter(None, words))
    lengths: dict[str, set[int]] = {}
    for word in wanted:
        lengths.setdefault(word[:HEAD], set()).add(len(word))
    if not wanted:
        return
    first = "".join({re.escape(word[0]) for word in wanted})
    for place in re.finditer(rf"(?<!{NAME})[{first}]", text):
        start = place.start()
        for head in range(1, HEAD + 1):
            for length in lengths.get(text[start : start + head], ()):
                word = text[start : start + length]
                if (head == HEAD or length == head) and word in wanted:
                    yield word, start, start + length


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
