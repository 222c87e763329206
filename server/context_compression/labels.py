"""Labels in notes of ours say who said what; in what they quote nothing may look like one."""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator

BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
BLANKS = r"[\s\u200b\ufeff]*"
SPEAKERS = (
    "User|Assistant|System|Developer|Tool|Host|Human|Earlier note|Tool result|Assistant tool calls"
    "|Compressed History"
)


def label_of(tools: Iterable[str]) -> re.Pattern[str]:
    """How a label of ours begins: `[User]`, `[Result of …`, of tools `[Bash] ls`.

    Those of lines at the end, too: `[Files]`, `[More names used]`.
    """
    calls = "|".join(map(re.escape, sorted(tools))) or "(?!)"
    speaker = (
        rf"{BLANKS}(?:(?:{SPEAKERS}){BLANKS}\]|Result(?: of\b|;)|Files(?: in\b|\])|More names\b)"
    )
    return re.compile(rf"\[(?={speaker}|(?:{calls})(?:\]|: |; ))")


LABEL = label_of(())
"""How one begins whatever tools there are."""
LINE_START = re.compile(rf"(?:\A|[{BREAKS}])(?:[^\S{BREAKS}]|[\u200b\ufeff]|\x1b\[[\d;]*m)*\Z")
BLANK_CHARS = 200
"""Characters before a label that are looked at."""
LABELS = re.compile(r"(?<=\n)\[(?=[^\W\d])[^\n]{1,400}?\](?=\s|\Z)")
"""The labels in a note of ours, and what looks like one in what it quotes; no marks of gaps."""


def without_labels(text: str, label: re.Pattern[str] = LABEL) -> str:
    """A quoted text in which no line looks like a label of ours: a backslash goes before it."""

    def settle(found: re.Match[str]) -> str:
        start = found.start()
        begins = LINE_START.search(text[max(0, start - BLANK_CHARS) : start])
        return "\\[" if begins else "["

    return label.sub(settle, text)


def with_labels(
    note: str, spans: Iterable[tuple[int, int]], label: re.Pattern[str] = LABEL
) -> list[tuple[int, int]]:
    """The spans of a note of ours, each with the labels that say what it is of, in any order.

    What looks like a label, and is none by `label`, may stand in a quoted log: the sure one above
    it comes along, too. Above `[Result; ref …]` stands the call it is of, which does likewise.
    """
    labels = [found.span() for found in LABELS.finditer(note)]
    sure = [-1]  # for no label and for each one: the sure one at it or above
    for number, (start, _) in enumerate(labels):
        sure.append(number if label.match(note, start) else sure[-1])
    found: list[tuple[int, int]] = []
    for span in spans:
        last = bisect(labels, (span[0], len(note) + 1)) - 1
        first = sure[last + 1]
        if first > 0 and note.startswith("[Result;", labels[first][0]):
            found.append(labels[first - 1])
        found += [labels[number] for number in {first, last} if number >= 0]
        found.append(span)
    return found


def sections(note: str) -> Iterator[tuple[str, int, int]]:
    """The labels in a note of ours, each with where what it is of begins and ends."""
    labels = [*LABELS.finditer(note)]
    ends = [label.start() for label in labels[1:]]
    for label, end in zip(labels, [*ends, len(note)], strict=False):
        yield label[0], label.end(), end


def said_by(speaker: str, note: str) -> Iterator[tuple[int, int]]:
    """Where in a note of ours stands what it quotes of a speaker: up to the next label."""
    for label, start, stop in sections(note):
        if label == f"[{speaker}]":
            yield start, stop


def no_speaker(name: str) -> str:
    """The name of a tool or an argument for a label: one of a speaker gets a word before it."""
    return f"call {name}" if LABEL.match(f"[{name}]") else name
