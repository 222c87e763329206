"""Labels, which name the author of each quote in a note of this package: `[User]`, `[Result of …]`.

A quoted text must not contain anything that looks like a label, or it could pose as the user's.
"""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator

from context_compression.display.lookalikes import (
    BLANK,
    BRACKETS,
    BREAKS,
    folded,
    is_plain,
    unhidden,
)

SPEAKERS = {
    "user", "assistant", "system", "developer", "tool", "host", "human", "earliernote",
    "toolresult", "assistanttoolcalls", "assistanttoolcall", "compressedhistory",
    "endofcompressedhistory",
}  # fmt: skip
"""The labels of speakers, reduced to letters and digits; other characters are ignored."""


def label_of(tools: Iterable[str]) -> re.Pattern[str]:
    """A pattern for the beginning of a label other than a speaker's: `[Result of …`, `[Bash] ls`.

    It matches folded text. The labels of the lines at the end of a note, `[Other files]` and
    `[More names used]`, are included.

    Args:
        tools: names of the tools in the conversation.
    """
    calls = "|".join(sorted(re.escape(folded(tool)) for tool in tools)) or "(?!)"
    return re.compile(
        r"\[\s*(?:result\s*(?:[;\]]|(?<=\s)of\b)|(?:other\s+)?files\s*(?:\]|(?<=\s)in\b)|more\s+names\b"
        rf"|(?:{calls})\s*(?:\]|[:;]\s))"
    )


LABEL = label_of(())
"""The pattern of `label_of` without any tools."""
BRACKET = re.compile(f"[{re.escape(BRACKETS)}]")
FIRST = re.compile(rf"{BLANK}[{re.escape(BRACKETS)}]")
OTHERS = re.compile(rf"[{BREAKS}]{BLANK}[{re.escape(BRACKETS)}]")
"""`FIRST`: a bracket at the beginning of the first line; `OTHERS`: at that of any other line."""
QUOTES = "\"'`"
NEAR, FAR = 400, 20_000
"""How many characters after a bracket are searched for a label: visible ones, and in all."""
LABELS = re.compile(r"(?<=\n)\[(?=[^\W\d])[^\n]{1,400}?\](?=\s|\Z)")
"""The labels in a note of this package and lookalikes in its quotes; not the marks of gaps."""


def without_labels(text: str, label: re.Pattern[str] = LABEL) -> str:
    r"""A quoted text with a backslash before each line that reads like a label: `\[User] …`.

    A label is also recognised by look-alike letters and among invisible characters. Everything else
    is unchanged.
    """
    if not ("[" in text if text.isascii() else BRACKET.search(text)):
        return text
    shown: list[str] = []
    position = 0
    for at in _brackets(text):
        if _is_label(text, at, label):
            shown += [text[position:at], "\\"]
            position = at
    return "".join([*shown, text[position:]]) if shown else text


def _brackets(text: str) -> Iterator[int]:
    """The positions of brackets at the visible beginnings of lines."""
    first = FIRST.match(text)
    if first:
        yield first.end() - 1
    yield from (match.end() - 1 for match in OTHERS.finditer(text))


def _is_label(text: str, at: int, label: re.Pattern[str]) -> bool:
    """Whether the text at a bracket reads like a label."""
    near = text[at : at + NEAR]
    if not is_plain(near):
        near = unhidden(near)
        if len(near) < NEAR / 2 and len(text) > at + NEAR:
            near = unhidden(text[at : at + FAR])[:NEAR]
            if len(near) < NEAR / 2 and len(text) > at + FAR:
                return True  # no honest text has so many invisible characters
    seen = folded(near)
    name = seen[1 : max(1, seen.find("]"))].strip()
    is_string = len(name) > 1 and name[0] == name[-1] and name[0] in QUOTES  # `["user"]`
    letters = "".join(filter(str.isalnum, name))
    return (letters in SPEAKERS and not is_string) or label.match(seen) is not None


def label_quotes(
    note: str, spans: Iterable[tuple[int, int]], label: re.Pattern[str] = LABEL
) -> list[tuple[int, int]]:
    """The spans of a note of this package and of the labels they belong to, in any order.

    A line that looks like a label but does not match `label` may be part of a quoted log. The
    nearest certain label above it is then added too. The label of the call above `[Result; ref …]`
    is also added.
    """
    labels = [result.span() for result in LABELS.finditer(note)]
    certain = [-1]  # for no label, then for each label: the certain one at it or above
    for number, (start, _) in enumerate(labels):
        certain.append(number if _is_label(note, start, label) else certain[-1])
    result: list[tuple[int, int]] = []
    for span in spans:
        last = bisect(labels, (span[0], len(note) + 1)) - 1
        first = certain[last + 1]
        if first > 0 and note.startswith(("[Result;", "[Result]"), labels[first][0]):
            result.append(labels[first - 1])
        result += [labels[number] for number in {first, last} if number >= 0]
        result.append(span)
    return result


def sections(note: str) -> Iterator[tuple[str, int, int]]:
    """The labels in a note of this package, each with `(start, stop)` of the text after it."""
    labels = [*LABELS.finditer(note)]
    ends = [label.start() for label in labels[1:]]
    for label, end in zip(labels, [*ends, len(note)], strict=False):
        yield label[0], label.end(), end


def quotes_of(speaker: str, note: str) -> Iterator[tuple[int, int]]:
    """`(start, stop)` of each quote of a speaker in a note of this package."""
    for label, start, stop in sections(note):
        if label == f"[{speaker}]":
            yield start, stop


def no_speaker(name: str) -> str:
    """A tool's or argument's name, made safe for a label: `no_speaker("user")` -> `"call user"`.

    A name that does not read like a label is returned unchanged.
    """
    return f"call {name}" if _is_label(f"[{name}]", 0, LABEL) else name
