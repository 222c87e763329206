"""Labels in notes of ours say who said what; in what they quote nothing may look like one."""

import re
from bisect import bisect
from collections.abc import Iterable

BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
BLANKS = r"[\s\u200b\ufeff]*"
SPEAKERS = (
    "User|Assistant|System|Developer|Tool|Host|Human|Earlier note|Tool result|Assistant tool calls"
    "|Compressed History"
)


def label_of(tools: Iterable[str]) -> re.Pattern[str]:
    """How a label of ours begins: `[User]`, `[Result of …`, and of these tools `[Bash] ls`."""
    calls = "|".join(map(re.escape, sorted(tools))) or "(?!)"
    speaker = rf"{BLANKS}(?:(?:{SPEAKERS}){BLANKS}\]|Result(?: of\b|;))"
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


def with_labels(note: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans of a note of ours, each with that of the label above it, in any order.

    Above `[Result; ref …]` stands the call it is of, whose label then comes along.
    """
    labels = [found.span() for found in LABELS.finditer(note)]
    found: list[tuple[int, int]] = []
    for span in spans:
        above = bisect(labels, (span[0], len(note) + 1))
        first = max(0, above - 1)
        first -= first > 0 and note.startswith("[Result;", labels[first][0])
        found += [*labels[first:above], span]
    return found


def no_speaker(name: str) -> str:
    """The name of a tool or an argument for a label: one of a speaker gets a word before it."""
    return f"call {name}" if LABEL.match(f"[{name}]") else name
