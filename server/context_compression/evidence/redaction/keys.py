"""Keys that are recognised by their form; most begin with a prefix of their issuer.

One expression finds all prefixes at the starts of words. The forms of an issuer's keys are tried
only there.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import NamedTuple

from context_compression.evidence.redaction.looks import Secret, compiled, is_key, is_mixed, rows_of

HEX, WORD, ANY = "[0-9a-f]", "[A-Za-z0-9]", "[A-Za-z0-9_-]"
LABELLED = (
    r"(?<![A-Za-z0-9])(?P<label>sk|pat|oat|uat|sat|key|apikey|secret|token|live|prod|api|rk|ak|auth)"
    rf"[_-](?P<rest>{WORD}{{20,}}+)(?![_-]?{WORD})"
)
"""A key of an unknown issuer: a word for a key inside its prefix, and a long random end, as in
`acme_oat_…`; its `rest` must look random (`is_mixed`)."""
SHORTEST = 15
"""The characters of the shortest key; shorter words are skipped."""
BOUNDARY = "(?<![A-Za-z0-9_-])"
LEAST_GLUED = 4
"""The characters of the shortest prefix that is recognised behind any letter."""
SIGNS = re.compile(r"[^A-Za-z0-9]+")
LOOKED_AT = 1_000
"""How many characters behind a prefix decide whether it begins a key; otherwise a word that repeats
a prefix would be read once for each."""
NAMES = ("key", "token", "secret", "pass", "password", "auth", "bot", "bearer", "cred", "pat")
"""Names of secrets; right behind one, every prefix is recognised: `tokensk-…`, `KEYhf_…`."""
NAMED = "|".join(f"(?<={name})|(?<={name.upper()})" for name in NAMES)


class KeyForm(NamedTuple):
    """The form of an issuer's keys: a row of `key_forms.txt`, which says what each field is for."""

    kind: str
    prefixes: str
    rest: str
    sure: bool


class KeyForms(NamedTuple):
    """All of `key_forms.txt`."""

    forms: Sequence[KeyForm]
    inside: Sequence[tuple[str, str, int, str]]
    alone: Sequence[tuple[str, str]]


@cache
def key_forms() -> KeyForms:
    """The forms of keys, in the order of their file."""
    rows = rows_of("key_forms.txt", (("hex", HEX), ("word", WORD), ("any", ANY)))
    forms = (row.split(" | ", 2) for row in rows["forms"])
    inside = (row.split(" | ", 3) for row in rows["inside"])
    alone = (row.split(" | ", 1) for row in rows["alone"])
    return KeyForms(
        [KeyForm(k.rstrip("?"), some, rest, not k.endswith("?")) for k, some, rest in forms],
        [(kind, part, int(before), shape) for kind, part, before, shape in inside],
        [(kind, shape) for kind, shape in alone],
    )


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
            at = start + length
            match = compiled(rest).match(text, at, at + LOOKED_AT)
            if match and (sure or is_key(text[start : match.end()])):
                stop = _end(text, at, rest, match)
                yield Secret(start, stop, kind)
                break
    yield from _glued(text)
    for kind, part, before, shape in key_forms().inside:
        at = text.find(part)
        while at >= 0:
            match = compiled(f"(?:{BOUNDARY}|(?<=[_-])|{NAMED}){shape}").match(
                text, max(0, at - before)
            )
            if match:
                yield Secret(*match.span(), kind)
            at = text.find(part, at + 1)


def _glued(text: str) -> Iterator[Secret]:
    """Keys behind letters, digits, `_` and `-`, as in `tokenghp_…` and `MY_ghp_…`.

    All of them must look random. Behind a letter that ends no name of a secret, only the sure forms
    with a long prefix count; behind `_`, `-` or a digit the others must look random in a way that
    names never do.
    """
    for span in _long_words(text):
        if not is_key(text[slice(*span)]):
            continue
        stop = 0
        for beginning in _glued_beginnings().finditer(text, *span):
            if beginning.start() < stop:
                continue
            secret = _glued_at(text, beginning)
            if secret:
                stop = secret.stop
                yield secret
        for match in compiled(LABELLED).finditer(text, *span):
            if is_mixed(match["rest"], hexed=match["label"] in ("sk", "pat", "oat", "apikey")):
                yield Secret(*match.span(), "api key")


def _glued_at(text: str, beginning: re.Match[str]) -> Secret | None:
    """The key that begins with a prefix inside a word, if it is one."""
    start = beginning.start()
    if beginning.lastgroup:
        return Secret(*beginning.span(), beginning.lastgroup.replace("_", " "))
    for kind, length, rest, _ in _by_prefix()[beginning[0]]:
        at = start + length
        match = compiled(rest).match(text, at, at + LOOKED_AT)
        if match and _looks_glued(text, start, length, match.end()):
            return Secret(start, _end(text, at, rest, match), kind)
    return None


def _end(text: str, at: int, rest: str, match: re.Match[str]) -> int:
    """The end of a key of which `match` is the looked-at part."""
    if match.end() < at + LOOKED_AT:
        return match.end()
    return (compiled(rest).match(text, at) or match).end()


def _looks_glued(text: str, start: int, length: int, stop: int) -> bool:
    if not is_key(text[start:stop]):
        return False
    before, last = text[start - 1], text[start + length - 1]
    if (
        text[start : start + length] in _sure()
        or compiled(NAMED).match(text, start)
        or (length > LEAST_GLUED and last in "_-." and not before.isalpha())
    ):
        return True
    if before.isalpha() or (before.isdigit() and last not in "_-."):
        return False  # as in the middle of a long number in base64
    return is_mixed(SIGNS.sub("", text[start + length : stop]), hexed=True)


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
    rows = [(prefix, form) for form in key_forms().forms for prefix in form.prefixes.split()]
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
    return re.compile(f"{BOUNDARY}(?:{_either(sorted(_by_prefix()))}|{_alone()})")


def _alone() -> str:
    return "|".join(f"(?P<{kind}>{shape})" for kind, shape in key_forms().alone)


@cache
def _glued_beginnings() -> re.Pattern[str]:
    """A pattern for the prefixes behind letters: see `_glued`."""
    return re.compile(f"(?<=[A-Za-z0-9_-]){_either(sorted(_by_prefix()))}|(?<=[_-])(?:{_alone()})")


@cache
def _sure() -> frozenset[str]:
    """The prefixes that no ordinary word holds, also behind any letter."""
    return frozenset(
        prefix
        for form in key_forms().forms
        for prefix in form.prefixes.split()
        if form.sure and (len(prefix) >= LEAST_GLUED or form.kind == "jwt")
    )


def _either(words: list[str]) -> str:
    """A regular expression for any of some sorted words that reads each character once."""
    branches: list[str] = []
    for first, group in groupby(filter(None, words), lambda word: word[0]):
        branches.append(re.escape(first) + _either([word[1:] for word in group]))
    if not branches:
        return ""
    joined = branches[0] if len(branches) == 1 and "" not in words else f"(?:{'|'.join(branches)})"
    return joined + ("?" if "" in words else "")
