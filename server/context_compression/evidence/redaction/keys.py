"""Keys that are recognised by their form; most begin with a prefix of their issuer.

One expression finds all prefixes at the starts of words. The forms of an issuer's keys are tried
only there.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby

from context_compression.evidence.redaction.key_forms import ALONE, FORMS, INSIDE
from context_compression.evidence.redaction.looks import is_key
from context_compression.evidence.redaction.secret import Secret, compiled

SHORTEST = 15
"""The characters of the shortest key; shorter words are skipped."""
BOUNDARY = "(?<![A-Za-z0-9_-])"
LEAST_GLUED = 4
"""The characters of the shortest prefix that is recognised behind a letter."""


def keys(text: str) -> Iterator[Secret]:
    """The keys in a text, in no particular order."""
    forms = _by_prefix()
    stop = 0
    beginnings_in = _beginnings().finditer
    for beginning in (b for span in _long_words(text) for b in beginnings_in(text, *span)):
        start = beginning.start()
        if start < stop:
            continue
        if beginning.lastgroup:
            stop = beginning.end()
            yield Secret(start, stop, beginning.lastgroup.replace("_", " "))
            continue
        for kind, length, rest, sure in forms[beginning[0]]:
            match = compiled(rest).match(text, start + length)
            if match and (sure or is_key(text[start : match.end()])):
                stop = match.end()
                yield Secret(start, stop, kind)
                break
    yield from _glued(text)
    for kind, part, before, shape in INSIDE:
        at = text.find(part)
        while at >= 0:
            match = compiled(BOUNDARY + shape).match(text, max(0, at - before))
            if match:
                yield Secret(*match.span(), kind)
            at = text.find(part, at + 1)


def _glued(text: str) -> Iterator[Secret]:
    """Keys behind a letter or digit, as in `tokenghp_…`: only sure forms that look random, too."""
    for span in _long_words(text):
        for beginning in _glued_beginnings().finditer(text, *span):
            start = beginning.start()
            for kind, length, rest, sure in _by_prefix()[beginning[0]]:
                match = compiled(rest).match(text, start + length) if sure else None
                if match and is_key(text[start : match.end()]):
                    yield Secret(start, match.end(), kind)
                    break


def _long_words(text: str) -> Iterator[tuple[int, int]]:
    """`(start, stop)` of the words that are long enough for a key."""
    stop = 0
    for word in text.split():
        if len(word) >= SHORTEST:
            start = text.find(word, stop)
            stop = start + len(word)
            yield start, stop


@cache
def _by_prefix() -> dict[str, list[tuple[str, int, str, bool]]]:
    """For each prefix: kind, prefix length, rest and `sure` of all forms that fit it."""
    rows = [(prefix, form) for form in FORMS for prefix in form.prefixes.split()]
    return {
        beginning: sorted(
            (
                (form.kind, len(prefix), form.rest, form.sure)
                for prefix, form in rows
                if beginning.startswith(prefix)
            ),
            key=lambda row: -row[1],
        )
        for beginning, _ in rows
    }


@cache
def _beginnings() -> re.Pattern[str]:
    """A pattern for the longest prefix at the start of a word, or for a key without a prefix."""
    alone = "|".join(f"(?P<{kind}>{shape})" for kind, shape in ALONE)
    return re.compile(f"{BOUNDARY}(?:{_either(sorted(_by_prefix()))}|{alone})")


@cache
def _glued_beginnings() -> re.Pattern[str]:
    """A pattern for the prefixes that no ordinary word holds, behind a letter or a digit."""
    prefixes = {
        prefix
        for form in FORMS
        for prefix in form.prefixes.split()
        if form.sure and (len(prefix) >= LEAST_GLUED or form.kind == "jwt")
    }
    return re.compile(f"(?<=[A-Za-z0-9]){_either(sorted(prefixes))}")


def _either(words: list[str]) -> str:
    """A regular expression for any of some sorted words that reads each character once."""
    branches: list[str] = []
    for first, group in groupby(filter(None, words), lambda word: word[0]):
        branches.append(re.escape(first) + _either([word[1:] for word in group]))
    if not branches:
        return ""
    joined = branches[0] if len(branches) == 1 and "" not in words else f"(?:{'|'.join(branches)})"
    return joined + ("?" if "" in words else "")
