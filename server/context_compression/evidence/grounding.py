"""Grounding: quotes, paths, numbers and ids in a summary must occur in its source.

Models invent words of the user, files and counts when they summarise. White space, case, thousands
separators and the slashes of a path may differ. The end of a path is enough, as is the beginning of
a hash.
"""

import re
import string
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from context_compression.evidence.names import COMMON_MARKS, SIGNS, apart, caseless
from context_compression.evidence.words import kind_of, occurrences, trimmed

Kind: TypeAlias = Literal["quote", "path", "number", "id"]
MARK = "[unverified]"
SHORTEST_QUOTE = 12
"""The fewest characters of a quote; a shorter one is a name or a word in quotation marks."""
FEWEST_DIGITS = 3
"""The fewest digits of a number that is looked up; smaller numbers are everywhere."""
LONGEST_WORD = 300
"""The most characters of a word that is looked up; a longer one is no path that a reader uses."""
QUOTE = re.compile(
    r'"([^"\n]{0,2000})"|“([^“”\n]{0,2000})”|「([^「」\n]{0,2000})」|『([^『』\n]{0,2000})』'
    r"|«([^«»\n]{0,2000})»"
)
WORD = re.compile(rf"(?<![\w.,])\d{{1,3}}(?:,\d{{3}})+(?![\d])|[\w{COMMON_MARKS}{SIGNS}]{{3,}}")
"""A number with separators, or a word, even directly after a number."""
ELLIPSIS = re.compile(r"\.\.\.|…|\[[^\[\]]*\]")
SEPARATOR = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")
PLACE = re.compile(r"(?::\d++(?:-\d++)?){1,4}$|#L\d+(?:-L?\d+)?$")
"""Line numbers after a path, which are ignored because the source may write them differently."""
PUNCTUATION = ".:,-+@~$#\\/"
PATH = re.compile(r"\.\w{1,8}$|^(?:~|[A-Za-z]:|\.{2,3})?[/\\][^/\\]+[/\\]|\A[^/]*+/[^\d_.]*+[\d_.]")
"""A path has an extension, a root, or a digit, `_` or dot after its first `/`, unlike `and/or`."""
ROUNDED = re.compile(r"[kKMGT][bB]?$")
"""The end of a rounded number such as `120k`, which the source need not have."""
NAMED = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)+")
"""An id with a word before it: `task_df77533d`."""
RANGE = re.compile(r"(?<!\d)\d{3,}+-\d{3,}+")
NUMBER_SIGNS = re.compile(r"^[$#v]+|(?:%|(?<![a-zA-Z])[a-zA-Z]++)$")
DIGITS = frozenset(string.digits)
WORDS = DIGITS | frozenset(string.ascii_lowercase + "_")


class SummaryItem(NamedTuple):
    """An item of a summary that can be looked up; `summary[start:stop]` holds it."""

    kind: Kind
    text: str
    start: int
    stop: int


def ungrounded(summary: str, source_texts: Iterable[str]) -> list[str]:
    """The items of a summary that do not occur in its source, in order, each once.

    Args:
        summary: the text that a model wrote.
        source_texts: the texts that were summarised: messages, arguments and results of tools,
            earlier summaries.
    """
    source = _Source("\n".join(source_texts))
    items = {(item.kind, item.text): item for item in _items(summary)}.values()
    return list(dict.fromkeys(item.text for item in items if not source.has(item)))


def struck(summary: str, ungrounded_items: Iterable[str]) -> str:
    """The summary with `[unverified]` in place of each ungrounded item; its sentences are kept."""
    gone = set(ungrounded_items)
    parts: list[str] = []
    position = 0
    for item in _items(summary):
        if item.text in gone:
            parts += [summary[position : item.start], MARK]
            position = item.stop
    return "".join([*parts, summary[position:]])


def _items(summary: str) -> Iterator[SummaryItem]:
    """Quotes with their marks, and the paths, numbers and ids outside of quotes, in order."""
    position = 0
    for quote in QUOTE.finditer(summary):
        text = quote[quote.lastindex or 0].strip()
        if len(text) >= SHORTEST_QUOTE and MARK not in text:
            yield from _words(summary, position, quote.start())
            yield SummaryItem("quote", text, quote.start(), quote.end())
            position = quote.end()
    yield from _words(summary, position, len(summary))


def _words(summary: str, start: int, stop: int) -> Iterator[SummaryItem]:
    for found, begin in _runs(summary, start, stop):
        word = found.rstrip(PUNCTUATION).lstrip(":,+@#")
        at = summary.find(word, begin)
        end = at + len(word)
        word = word if "," in word else trimmed(PLACE.sub("", word))
        if len(word) > LONGEST_WORD:
            continue
        digits = sum(map(str.isdigit, word))
        match "number" if "," in word else kind_of(word):
            case "path" | "url" if PATH.search(word):
                yield SummaryItem("path", word, at, end)
            case "number" if digits >= FEWEST_DIGITS and not ROUNDED.search(word):
                yield SummaryItem("number", word, at, end)
            case "id":
                yield SummaryItem("id", word, at, end)
            case "symbol" if digits >= FEWEST_DIGITS and NAMED.fullmatch(word):
                yield SummaryItem("id", word, at, end)
            case _:
                pass


def _runs(summary: str, start: int, stop: int) -> Iterator[tuple[str, int]]:
    """The words of a summary with their places; without the sentence around a name."""
    for match in WORD.finditer(summary, start, stop):
        if caseless().search(match[0]):
            for a, b in apart(match[0]):
                yield match[0][a:b], match.start() + a
        else:
            yield match[0], match.start()


class _Source:
    """A source, which is prepared for each kind of look-up when the first one is made."""

    def __init__(self, text: str) -> None:
        self._text = unicodedata.normalize("NFC", text).casefold()

    def has(self, item: SummaryItem) -> bool:
        text = unicodedata.normalize("NFC", item.text).casefold()
        match item.kind:
            case "quote":
                return self._has_quote(text)
            case "path":
                return self._has_path(_slashed(text))
            case "number":
                number = SEPARATOR.sub("", NUMBER_SIGNS.sub("", text))
                return self._has_number(number) or (
                    RANGE.fullmatch(number) is not None
                    and all(map(self._has_number, number.split("-")))
                )
            case "id":
                return _occurs(text, self._text, before=WORDS, after=frozenset())

    def _has_number(self, number: str) -> bool:
        return _occurs(number, self._numbers, before=DIGITS, after=DIGITS)

    def _has_quote(self, text: str) -> bool:
        position = 0
        for part in ELLIPSIS.split(_plain(text)):
            part = part.strip(" .,;:!?")
            position = self._plain.find(part, position)
            if position < 0:
                return False
            position += len(part)
        return True

    def _has_path(self, path: str) -> bool:
        """Whether a path occurs in the source.

        The folder and the rest of an absolute path may occur in different places.
        """
        path = re.sub(r"^(?:~|\.{2,3}(?=/))", "", path)
        if self._names(path):
            return True
        if not re.match(r"/|[a-z]:", path):
            return False
        cuts = [cut.start() for cut in re.finditer("/", path)][2:]
        return any(self._names(path[:cut]) and self._names(path[cut + 1 :]) for cut in cuts)

    def _names(self, path: str) -> bool:
        return _occurs(path, self._paths, before=WORDS | {".", "-"}, after=WORDS | {"-"})

    @cached_property
    def _plain(self) -> str:
        return _plain(self._text)

    @cached_property
    def _paths(self) -> str:
        return _slashed(self._text)

    @cached_property
    def _numbers(self) -> str:
        return SEPARATOR.sub("", self._text)


def _plain(text: str) -> str:
    """A text without Markdown's `*` and backticks, with plain quotation marks and single blanks."""
    for mark, plain in (("*", ""), ("`", ""), ("“", '"'), ("”", '"'), ("‘", "'"), ("’", "'")):
        text = text.replace(mark, plain)
    return " ".join(text.split())


def _slashed(text: str) -> str:
    r"""A text with `/` for each backslash, and for each `\\`, which is a backslash in JSON."""
    return text.replace("\\\\", "/").replace("\\", "/")


def _occurs(needle: str, text: str, *, before: frozenset[str], after: frozenset[str]) -> bool:
    """Whether a needle occurs in a text, not next to these characters."""
    return any(
        text[start - 1 : start] not in before and text[stop : stop + 1] not in after
        for start, stop in occurrences(needle, text)
    )
