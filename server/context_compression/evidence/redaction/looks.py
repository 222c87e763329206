"""`Secret`, which finders yield, and whether a value looks random, like a password or neither."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

BLANK = r"(?:[\s\\]|(?<=\n)[ \t]{0,9}\d{1,6}[ ]?[→\t:|]|(?<=\n)[-+>])"
"""A blank between words, also across lines. A line may end with an escaped line break and begin
with a number or the sign of a diff or quote."""


class Secret(NamedTuple):
    """A secret: characters `start` to `stop` of a text, `stop` exclusive."""

    start: int
    stop: int
    kind: str


class SecretPlace(NamedTuple):
    """A place where a value is a secret if it looks like one.

    Attributes:
        hints: parts of texts; a text without any of them has no such place.
        shape: an expression whose last group is the value.
        fits: whether a value is a secret.
        kind: the kind of the secret.
        begins: whether the shape begins with the hints, so that a search for them makes it fast.
    """

    hints: Sequence[str]
    shape: str | re.Pattern[str]
    fits: Callable[[str], bool]
    kind: str = "password"
    begins: bool = True


def secrets_at(places: Iterable[SecretPlace], text: str) -> Iterator[Secret]:
    """The secrets of a text in some places."""
    for hints, shape, fits, kind, begins in places:
        parts = [hint for hint in hints if hint in text]
        if not parts:
            continue
        shape = compiled(shape)
        found = (each(shape, part, text) for part in parts) if begins else [shape.finditer(text)]
        for match in chain.from_iterable(found):
            group = match.lastindex or 0
            if fits(match[group]):
                yield Secret(*match.span(group), kind)


@cache
def compiled(shape: str | re.Pattern[str]) -> re.Pattern[str]:
    """A compiled expression; it is compiled only when it is first needed."""
    return re.compile(shape)


def rows_of(file: str, shapes: Iterable[tuple[str, str]]) -> Mapping[str, Sequence[str]]:
    """The rows of a file of this folder, by section; `<NAME>` becomes the shape of that name."""
    from importlib.resources import files  # here: it costs 20 ms

    text = (files("context_compression.evidence.redaction") / file).read_text("utf-8")
    for name, shape in shapes:
        text = text.replace(f"<{name}>", shape)
    sections: dict[str, list[str]] = {}
    section: list[str] = []
    for line in text.splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            section.append(line)
    return sections


def each(shape: re.Pattern[str], part: str, text: str) -> Iterator[re.Match[str]]:
    """The matches of a pattern that begins with `part`; a search for `part` first makes it fast."""
    at = text.find(part)
    while at >= 0:
        match = shape.match(text, at)
        if match:
            yield match
        at = text.find(part, match.end() if match else at + 1)


def parts_in(text: str, *parts: str) -> Iterator[str]:
    """The parts that occur in a text."""
    return (part for part in parts if part in text)


RUN = re.compile(r"[A-Za-z0-9]{8,}")
WORD = re.compile(r"[A-Z]?[a-z]*\d*")
DIGITS = re.compile(r"\d+")
SEPARATORS = re.compile(r"[_-]+")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
HEXADECIMAL = re.compile(r"[0-9a-f]+")
BASE64 = re.compile(r"[A-Za-z0-9+/]{40}")
NO_SECRET = re.compile(r"[/.~$]|https?:|[a-z_]+\.[A-Za-z_]")
"""The beginnings of paths, variables, addresses and dotted names."""
PLACEHOLDER = re.compile(
    r"[<{\[(%]|[$@][({A-Za-z_]|\W*(?:x{3,}|your\b|your[_-]|my[_-]?(?:pass|secret|token|api)|change.?me"
    r"|placeholder|redacted|example\b|dummy|insert|replace|todo|none\b|null\b|nil\b|undefined\b"
    r"|true\b|false\b|(?:pass(?:word|wd|phrase)?|pwd|secret|token|api.?key)s?(?:$|[^\w!@#$%^&*]))"
    r"|(.)\1*$",
    re.IGNORECASE,
)
"""The beginning of a placeholder in documentation, or one character repeated."""
PLAIN = re.compile(
    r"(?!.*(?:pass|pwd|secret|test|user))[a-z]{3,}[0-9]{1,6}[a-z]*|[A-Z][a-z]{2,}[0-9]{1,6}"
)
"""A word and a number, the form of many passwords: `hunter2`."""
SIGNS = frozenset("!@#%^&*+~$?")


def is_key(text: str) -> bool:
    """Whether a text is not only words, unlike `sk-folding-cube-wrapper`, which is a CSS class."""
    return any(map(str.isdigit, text)) and any(not WORD.fullmatch(run) for run in RUN.findall(text))


def is_mixed(text: str, *, hexed: bool) -> bool:
    """Whether letters and digits alternate as they do in no name.

    Args:
        text: letters and digits.
        hexed: whether a long hexadecimal number counts, too.
    """
    if HEXADECIMAL.fullmatch(text):
        return hexed and len(text) >= 32 and len(set(text)) >= 6
    runs = len(DIGITS.findall(text))
    cased = any(map(str.islower, text)) and any(map(str.isupper, text))
    return runs >= 5 or (cased and runs >= (2 if len(text) >= 30 else 3))


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder for a secret: `<token>`, `${X}`, `YOUR_API_KEY`, `xxxx`."""
    return PLACEHOLDER.match(value) is not None


def is_random(value: str) -> bool:
    """Whether a value looks random: digits among letters, but no path, address or placeholder.

    A random value has at least 12 characters, of which at least 6 differ.
    """
    if NO_SECRET.match(value) or len(value) < 12 or len(set(value)) < 6 or is_placeholder(value):
        return False
    if UUID.fullmatch(value):
        return True
    if BASE64.match(value) and any(map(str.isdigit, value)) and not value.islower():
        return True
    if any(len(DIGITS.findall(run)) >= 2 and not run.isdigit() for run in RUN.findall(value)):
        return True
    letters = SEPARATORS.sub("", value)
    return (
        len(letters) >= 16
        and letters.isalnum()
        and not letters.isdigit()
        and is_mixed(letters, hexed=False)
    )


def is_password(value: str, *, sure: bool) -> bool:
    """Whether a short value mixes characters as passwords do.

    Args:
        value: the text after the name of a password.
        sure: whether the text is certainly a value, because a bare word may be code.
    """
    if NO_SECRET.match(value) or is_placeholder(value):
        return False
    lower, upper, digit = (any(map(k, value)) for k in (str.islower, str.isupper, str.isdigit))
    if lower and upper and digit and (sure or len(DIGITS.findall(value)) > 1):
        return True
    if (lower or upper) and digit and not SIGNS.isdisjoint(value):
        return True
    return sure and (lower or upper) and digit and PLAIN.fullmatch(value) is not None


def is_strong(value: str) -> bool:
    """Whether a value is certainly a password or a key where a line names one."""
    return is_random(value) or is_password(value, sure=True)


def could_be_password(value: str) -> bool:
    """Whether a value in the place of a password may be one: not a word or a placeholder."""
    return (
        len(value) >= 4
        and not is_placeholder(value)
        and any(map(str.isalpha, value))
        and (any(map(str.isdigit, value)) or not SIGNS.isdisjoint(value))
    )


def is_given(value: str) -> bool:
    """Whether a value in a place that holds only secrets is one: it is no placeholder."""
    return not is_placeholder(value)
