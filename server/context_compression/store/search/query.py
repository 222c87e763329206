"""The query language: words, limits by path, tool and failure, and regular expressions.

Function words: "what", "the", "did". They say how a question is asked, not what it is about. In a
conversation a question's "when" or "did" is often rarer than its nouns, so that the number of texts
with a word does not tell that it says little. Hence the table. Words of time and order, such as
"before" and "during", are not in it: they may stand in the answer.

    the build broke              words
    "connection refused"         consecutive words
    path:src/app                 only texts that name this path; path:app is enough; of
                                 path:src/*.py:12 the parts count: src and .py
    tool:bash                    only calls of a tool, and their results; tool:bash,read: of either
    error:                       only reports of a failure; error:timeout searches a word, too
    rain barrel | water butt     other wordings of the same, each searched by itself

Everything else is words: no query is invalid. A query is folded like the texts, see `letters`.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from time import monotonic
from typing import TypeAlias

import regex

from context_compression.errors import StoreError
from context_compression.evidence.words import kind_of, trimmed
from context_compression.plurals import SIGNS
from context_compression.store.search.letters import any_form_of, folded

TABLE = {
    "English": """
        a about all also am an and any are as at be been but by can could d
        did didn do does doesn don each for from had has have he her him his how i if in
        into is isn it its ll long m many me more most much my no not of old on or our out re s she
        should so some t than that the their them then there these they this those to us ve was
        wasn we were what when where which who whom whose why will with would you your
        """,
    "German": """
        aber alle als am an auch auf aus bei bin bis da das dass dem den der des die dies diese
        dieser doch du durch ein eine einem einen einer er es für habe haben hat hatte ich ihr im in
        ist kann man mein mit nach nicht noch nur ob oder schon sehr sein sich sie sind so und uns
        unser von vor wann war waren warum was wegen welche welchem welchen welcher welches wem wen
        wenn wer werden weshalb wie wieso wir wird wo wofür wohin womit worden wurde wurden zu zum
        zur über
        """,
    "French": """
        a au aux avec ce ces cette combien comment dans de des donc du elle en est et eu il ils j je
        l la le les leur lequel laquelle ma mais me mes moi mon n ne nos notre nous on ont ou où par
        pas pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa se ses son sont sur t
        tu un une vos votre vous y à était été
        """,
    "Spanish": """
        a al como con cual cuando cuanto cuál cuáles cuándo cuánto cuántos cómo de del donde dónde e
        el ella ellos en era es esa ese esta este está fue ha han hay la las le lo los me mi más no
        nos o para pero por porque qué que quien quién se sin sobre son su sus también te tu un una
        y ya yo
        """,
    "Portuguese": """
        a ao aos as com como da das de do dos e ela ele em era essa esse esta este está eu foi há
        isso mais mas me meu minha na nas no nos não o onde os ou para pela pelo por porque quais
        qual quando quanto quantos que quem se sem seu sua são também um uma você é
        """,
    "Italian": """
        a al alla anche che chi ci come con cosa da dal dalla dei del della delle di dove e era gli
        ha hanno ho i il in io l la le lo ma mi nel nella non o per perché più quale quali quando
        quanto quanti questa questo se si sono su sua suo tra un una uno è
        """,
    "Dutch": """
        aan als bij dat de deze die dit door een en er had hebben heb heeft het hij hoe hoeveel ik
        in is je kan maar met mijn na naar niet nog of om ook op over te tot uit van voor waar
        waarom wanneer waren was wat we welk welke werd wie wij ze zijn zo zou
        """,
    "Russian": """
        а был была были было в вы где да для до его ее если есть же за зачем и из или их к как какая
        какие какой какую когда кто куда ли мне мы на не него но о он она они от по почему при с
        сколько так то у чего чем что чтобы это я
        """,
}
"""The function words of each language, in lower case."""
LITTLE = {
    "Chinese": "[的了吗么什怎哪谁是我你您他她它们这那]|[呢吧]$|多少|几个|如何|为何|时候|没有|请问",
    "Japanese": "[はがをの何誰]|^[ぁ-ゟ]{2}$",
    "Korean": "무엇|무슨|어떤|어디|언제|누구|누가|얼마|어떻|떻게|인가|가요|나요|니까|까요|입니",
}
"""The same as patterns of pairs of letters, in which scripts without spaces are searched."""
FEWEST = 2
"""A query with this many function words of one language is a question or a sentence in it; one of
them is enough if a question mark ends the query. A single "in" or "die" may be meant.
"""

_LANGUAGES = tuple(frozenset(words.split()) for words in TABLE.values())
_PAIRS = tuple(map(re.compile, LITTLE.values()))


def function_words(words: Iterable[str], *, asked: bool) -> frozenset[str]:
    """The function words among the words of a query, in lower case; of one language only.

    `function_words(["what", "is", "zebra"], asked=True)` -> `{"what", "is"}`. It is empty if the
    query seems to be no question or sentence.

    Args:
        words: of the query, in lower case.
        asked: whether a question mark ends the query.
    """
    given = frozenset(words)
    spaced = (given & language for language in _LANGUAGES)
    others = [word for word in given if len(word) <= 2 and not word.isascii()]
    pairs = (frozenset(filter(pattern.search, others)) for pattern in _PAIRS if others)
    found = max((*spaced, *pairs), key=len)
    return found if len(found) >= (1 if asked else FEWEST) else frozenset()


LONGEST, MOST_REPEATS = 1_000, 10_000
"""The most characters of a pattern, and the largest product of its repeats."""
SECONDS = 2.0
"""Time limit for all searches with one pattern together."""
REPEAT = re.compile(r"(?:\{|,)\s*(\d+)")
RECURSION = re.compile(r"\(\?(?:R|[+-]?\d+|&|P>)")
"""A group that repeats a part of the pattern; its use of memory has no limit."""
FUZZY = re.compile(r"\{(?:[\d<=\s]|#[^\n]*+\n)*+[deis]")
"""The beginning of `{e}` or `{1<=e<=3}`, which allows errors in a match. Such a search tries so
many ways that it does not stop at its time limit, and a search in an archive does not need it.
"""
LITERALLY = re.compile(
    r"\(\?#[^)]*+\)?|\\[pP]\{\^?\w+\}|\\.|\[\^?\]?(?:[^\]\\]|\\.)*+\]?", re.DOTALL
)
"""Comments, properties, escapes and character classes, whose characters have no special meaning; of
a part without an end all that follows, and the pattern is refused for it."""
VERBOSE = re.compile(r"\(\?[a-zA-Z0-9]*x")
"""The flag that allows comments of another kind."""
LITERAL = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[^\w\s]|\\ )+")
"""A pattern that is plain text: each character, escaped or not, stands for itself."""


class Pattern:
    r"""A regular expression whose searches are limited in time.

    In plain text, `/` also matches one backslash, or two, as JSON writes a backslash. Such a
    pattern is usually a path, and Windows writes paths with backslashes.
    """

    def __init__(self, pattern: str) -> None:
        """Compile a pattern. Its time limit starts with the first search.

        Raises:
            StoreError: the pattern is not a regular expression, or is too long, or could use too
                much time or memory.
        """
        self.pattern = pattern
        _check(pattern)
        text = self.literal or ""
        slashes = ("/", "\\", "\\\\") if "/" in text else ("/",)
        self._spellings = [text.replace("/", slash) for slash in slashes if text]
        full = "|".join(map(regex.escape, self._spellings)) or pattern
        try:
            self._compiled = regex.compile(full, regex.MULTILINE)
        except RecursionError:
            raise StoreError("The pattern is nested too deep; use a simpler one.") from None
        except regex.error as problem:
            raise StoreError(f"{pattern!r} is not a regular expression: {problem}.") from None
        self._until: float | None = None

    @property
    def literal(self) -> str | None:
        """The text that the pattern matches if it is plain text; else `None`."""
        return re.sub(r"\\(.)", r"\1", self.pattern) if LITERAL.fullmatch(self.pattern) else None

    def is_in(self, text: str) -> bool:
        """Whether the pattern matches anywhere in a text; raises the same errors as `place_in`.

        Plain text is found without the expression, which takes no time worth a limit.
        """
        if self._spellings:
            return any(spelling in text for spelling in self._spellings)
        return self.place_in(text) is not None

    def place_in(self, text: str) -> int | None:
        """The offset of the first match in a text; `None` if there is no match.

        Raises:
            StoreError: the search took too long, or too much memory.
        """
        if self._until is None:
            self._until = monotonic() + SECONDS
        try:
            left = self._until - monotonic()
            if left <= 0:
                raise TimeoutError
            match = self._compiled.search(text, timeout=left)
        except TimeoutError:
            raise StoreError(f"{self.pattern!r} takes too long; use a simpler pattern.") from None
        except MemoryError:
            raise StoreError(
                f"{self.pattern!r} takes too much memory; use a simpler pattern."
            ) from None
        return match.start() if match else None


def _check(pattern: str) -> None:
    repeats = 1
    for count in REPEAT.findall(pattern[:LONGEST]):
        repeats *= max(1, int(count[:9]))
    if len(pattern) > LONGEST or repeats > MOST_REPEATS:
        raise StoreError(
            f"The pattern is too large: at most {LONGEST:,} characters, and repeats like "
            f"{{9}} of {MOST_REPEATS:,} in all. Use a simpler one."
        )
    plain = LITERALLY.sub("x", pattern)
    checked = pattern if VERBOSE.search(plain) else plain
    if RECURSION.search(checked):
        raise StoreError("The pattern calls itself; use one without (?R), (?1) or (?&name).")
    if match := FUZZY.search(checked):
        raise StoreError(
            f"The pattern is a fuzzy one, by {match[0]!r}: its search cannot be stopped in time. "
            "Use one without; for the brace itself write \\{."
        )


MOST_WORDS = 32
"""How many words of a query are searched."""
MOST_WORDINGS = 8
"""How many wordings of a query are searched each by itself."""
MANY, COMMON = 120, 0.15
"""A word is too common if more texts contain it than both limits: a number, and a share of all
texts.
"""
FEW = 3
"""This many of the rarest words of a query are always searched, even if they are common."""
LONGEST_WORD = 200
"""Characters; only the beginning of a longer word is searched."""

_PART = re.compile(
    r"(?:(path|tool|error):(?:(?<!error:)\s+(?!(?:path|tool|error):))?)?"
    r'(?:"([^"]+)"|(\S+))',
    re.IGNORECASE,
)
_PATTERN_SIGNS = re.compile(r"[*?]+")
_TOOL_NAMES = re.compile(f"[{SIGNS}|]")
_UNSENDABLE = re.compile("[\0\ud800-\udfff]")
_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003fffd]"
)
_RUN = re.compile(f"({_CJK.pattern}+)")
_HUMPED = re.compile(
    r"(?<![A-Za-z0-9])(?:(?=[A-Z]*+[a-z0-9]++[A-Z])[A-Za-z0-9]++|[A-Z]{2,}+[a-z][A-Za-z0-9]*+)"
)
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_BETWEEN = re.compile(r"[\s'\"`()\[\]{}<>,;=|，。、；：？！（）《》「」“”‘’…]+")
_PIECE = re.compile(r'\btool:\s*+[^\s"]\S*+|"[^"]*"|\|++|[^|"t]++|.', re.DOTALL | re.IGNORECASE)
_ENDING = re.compile(
    r"([a-z]{4,}?)(?:ations?|ates?|ated|ating|ings?|ers?|ed|ly|ies|ied|ily|es|e|s|y|ions?)", re.I
)
_SENTENCE_SIGNS = "?!¿¡؟"
_QUESTION_MARKS = ("?", "？", "؟")
_AROUND = "'\"`()[]{}<>,;:!?*"

Parts: TypeAlias = defaultdict[str, list[str]]
"""Parts of a query by kind: `name`, `word`, `sign`, `path`, `tool`."""


@dataclass(frozen=True)
class Query:
    """A parsed query.

    Attributes:
        names: identifiers, and phrases in quotation marks.
        words: the other words; punctuation if the query has nothing else.
        paths: parts of paths; a document must name all of them.
        tools: parts of tool names; a document must belong to one of these tools.
        failed: whether a document must report a failure.
        function_words: those of its words that say how a question is asked; if it has any, the
            query is a question or a sentence.
        asked: as it was asked, folded.
    """

    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    failed: bool = False
    function_words: frozenset[str] = frozenset()
    asked: str = field(default="", compare=False)

    @classmethod
    def read(cls, text: str) -> "Query":
        """`Query.read("timeout in src/app.py tool:bash")`: a name, two words, a tool."""
        parts: Parts = defaultdict(list)
        failed = False
        text = folded(_UNSENDABLE.sub(" ", text))
        for prefix, quoted, plain in _PART.findall(text):
            limit = prefix.lower()
            value = quoted.strip() or plain.strip(_AROUND)
            failed = failed or limit == "error" or plain.lower() == "error:"
            if limit in ("path", "tool") and any(map(str.isalnum, value)):
                parts[limit] += _limits(limit, value)
            elif quoted.strip():
                parts["name"].append(value)
            elif plain.lower() != "error:":
                _sort(plain, parts)
        names, words = _kept(parts)
        paths, tools = (tuple(_clipped(parts[limit]))[:MOST_WORDS] for limit in ("path", "tool"))
        asked = text.rstrip().endswith(_QUESTION_MARKS)
        if asked or not any(map(_is_exact, names)):  # "the parse_header of it" is about a name
            known = function_words(map(str.lower, words), asked=asked)
            little = frozenset(word for word in words if word.lower() in known)
        else:
            little = frozenset[str]()
        return cls(names, words, paths, tools, failed, little, text)

    @classmethod
    def wordings(cls, text: str) -> "tuple[Query, ...]":
        """The wordings of a query, which `|` separates outside quotation marks; at least one.

        `'rain barrel | "a|b" || water'` has three. If only one of them has limits, they hold for
        all. What follows the seventh `|` is one wording.
        """
        parts, blank = [list[str]()], True
        for piece in _PIECE.findall(folded(_UNSENDABLE.sub(" ", text))):
            if piece[0] != "|":
                parts[-1].append(piece)
                blank = blank and piece.isspace()
            elif blank or len(parts) == MOST_WORDINGS:
                parts[-1].append(" ")
            else:
                parts.append([])
                blank = True
        given = dict.fromkeys(map(cls.read, map("".join, parts)))
        read = [query for query in given if not query.empty]
        limits = {one.limits for one in read} - {cls().limits}
        if len(limits) == 1 and (worded := [one for one in read if one.terms]):
            [(paths, tools, failed)] = limits
            read = [replace(one, paths=paths, tools=tools, failed=failed) for one in worded]
        return tuple(dict.fromkeys(read)) or (cls.read(text),)

    @property
    def limits(self) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
        """Its paths, its tools, and whether it is limited to failures."""
        return self.paths, self.tools, self.failed

    @property
    def empty(self) -> bool:
        """Whether the query has no words and no limits, so that every document fits."""
        return self == Query()

    @property
    def terms(self) -> tuple[str, ...]:
        """Names and words."""
        return self.names + self.words

    @property
    def any_term(self) -> str | None:
        """A pattern for the lines that have any name or word; `None` if there is none."""
        return f"(?i){'|'.join(map(any_form_of, self.terms))}" if self.terms else None

    @property
    def exact_names(self) -> tuple[str, ...]:
        """The names that a hit should contain exactly as written.

        In a question these are phrases and identifiers. A year or an abbreviation is a word there.
        """
        if not self.function_words:
            return self.names
        return tuple(filter(_is_exact, self.names))

    @property
    def apart(self) -> "Query | None":
        """The query with its phrases split into words; `None` if it has no phrase."""
        if not any(len(name.split()) > 1 for name in self.names):
            return None
        parts: Parts = defaultdict(list)
        for word in " ".join(self.terms).split():
            _sort(word.strip(_AROUND), parts)
        names, words = _kept(parts)
        return replace(self, names=names, words=words)

    @property
    def without_function_words(self) -> "Query":
        """The query without its function words; unchanged if it has no other terms."""
        words = tuple(word for word in self.words if word not in self.function_words)
        return replace(self, words=words) if words or self.names else self

    def without_common_words(self, holding: Callable[[str], int], among: int) -> "Query":
        """The query without words that are too common to help, such as "is" and "the".

        The rarest words stay, even if they are common. All words stay if no text contains a
        remaining term.

        Args:
            holding: returns how many texts contain a term.
            among: how many texts there are.
        """
        if len(self.words) <= FEW:
            return self
        numbers = {term: holding(term) for term in self.terms}
        rarest = sorted(self.words, key=numbers.__getitem__)[:FEW]
        most = max(MANY, COMMON * among)
        words = tuple(word for word in self.words if numbers[word] <= most or word in rarest)
        return replace(self, words=words) if any(map(numbers.get, self.names + words)) else self


def _limits(limit: str, value: str) -> list[str]:
    """The parts of a path, without a line number; or the names of tools."""
    if limit == "path":
        parts = map(trimmed, _PATTERN_SIGNS.split(value))
    else:
        parts = map(str.strip, _TOOL_NAMES.split(value))
    return [part for part in parts if any(map(str.isalnum, part))]


def _apart(word: str) -> Iterator[str]:
    """The words in a piece of code; in a script without spaces, each pair of adjacent letters."""
    for part in filter(None, _BETWEEN.split(word)):
        for run in filter(None, _RUN.split(part)):
            if not _CJK.match(run):
                yield trimmed(run[:LONGEST_WORD].strip(_SENTENCE_SIGNS)) or run
            elif len(run) == 1:
                yield run
            else:
                yield from (a + b for a, b in pairwise(run))


def _sort(text: str, parts: Parts) -> None:
    """Add the names, words and punctuation in a piece of code to `parts`."""
    for part in _apart(text):
        if kind_of(part) or is_humped(part):
            parts["name"].append(part)
        else:
            parts["word" if any(map(str.isalnum, part)) else "sign"].append(part)


def _kept(parts: Parts) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names and words to search, at most `MOST_WORDS`; punctuation if there are none."""
    names = tuple(_clipped(parts["name"]))[:MOST_WORDS]
    words = tuple(_clipped(parts["word"] or (() if names else parts["sign"])))
    longest = set(sorted(words, key=len, reverse=True)[: MOST_WORDS - len(names)])
    return names, tuple(word for word in words if word in longest)


def _is_exact(name: str) -> bool:
    """Whether a name is a phrase or an identifier; not a year or an abbreviation."""
    return " " in name or not (name.isalnum() or kind_of(name) in (None, "number"))


def _clipped(words: Iterable[str]) -> dict[str, None]:
    return dict.fromkeys(word[:LONGEST_WORD] for word in words)


def weight_of(holding: int, among: int) -> float:
    """How much a term in a text counts: a term in fewer texts counts more.

    With the third power, two rare words outweigh all the others of a question.

    Args:
        holding: how many texts contain the term.
        among: how many texts there are.
    """
    return math.log((among + 1) / (holding + 1)) ** 3


def indexable(text: str) -> str:
    """A text as it goes into the index: in scripts without spaces, each letter is a word.

    So a sequence of such letters is found anywhere in a text, as consecutive words. Letters are
    folded.
    """
    if text.isascii():
        return text.replace("\0", " ")
    return _CJK.sub(r" \g<0> ", _UNSENDABLE.sub(" ", folded(text)))


def shortened(word: str) -> str:
    """A word without its English ending, as its other forms contain it; "" if that is too short.

    `shortened("migrations")` -> `"migrat"`, which is in "migrated", too. It is only for showing
    where a form of the word is; the index has its own stems.
    """
    match = _ENDING.fullmatch(word)
    return match[1] if match else ""


def is_humped(word: str) -> bool:
    """Whether a word is one name in camel case."""
    return _HUMPED.fullmatch(word) is not None


def humps(words: Iterable[str]) -> str:
    """The parts of names in camel case: `humps(["src/parseURL.ts", "x_y"])` -> `"parse URL"`."""
    names = {name for word in words for name in _HUMPED.findall(word[:LONGEST_WORD])}
    return " ".join(" ".join(_HUMP.findall(name)) for name in sorted(names))
