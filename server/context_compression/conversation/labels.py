"""Labels in notes of ours say who said what; in what they quote nothing may look like one."""

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
"""Who speaks by a label, told by its letters alone: whatever stands between them is passed over."""


def label_of(tools: Iterable[str]) -> re.Pattern[str]:
    """How a label of ours begins, folded, that names no speaker: `[Result of …`, `[Bash] ls`.

    Those of lines at the end, too: `[Files]`, `[More names used]`.
    """
    calls = "|".join(sorted(re.escape(folded(tool)) for tool in tools)) or "(?!)"
    return re.compile(
        r"\[\s*(?:result\s*(?:;|(?<=\s)of\b)|files\s*(?:\]|(?<=\s)in\b)|more\s+names\b"
        rf"|(?:{calls})\s*(?:\]|[:;]\s))"
    )


LABEL = label_of(())
"""How one begins whatever tools there are."""
BRACKET = re.compile(f"[{re.escape(BRACKETS)}]")
FIRST = re.compile(rf"{BLANK}[{re.escape(BRACKETS)}]")
OTHERS = re.compile(rf"[{BREAKS}]{BLANK}[{re.escape(BRACKETS)}]")
"""How the first line begins with a bracket, and any other."""
QUOTES = "\"'`"
NEAR, FAR = 400, 20_000
"""Characters from a bracket on in which a label is looked for, as seen and at most."""
LABELS = re.compile(r"(?<=\n)\[(?=[^\W\d])[^\n]{1,400}?\](?=\s|\Z)")
"""The labels in a note of ours, and what looks like one in what it quotes; no marks of gaps."""


def without_labels(text: str, label: re.Pattern[str] = LABEL) -> str:
    """A quoted text in which no line reads like a label of ours: a backslash goes before it.

    Whatever its letters look like, and whatever is not seen between them; all else stays.
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
    """Where a line begins with a bracket, as it is seen."""
    first = FIRST.match(text)
    if first:
        yield first.end() - 1
    yield from (found.end() - 1 for found in OTHERS.finditer(text))


def _is_label(text: str, at: int, label: re.Pattern[str]) -> bool:
    """Whether what stands at a bracket reads like a label."""
    near = text[at : at + NEAR]
    if not is_plain(near):
        near = unhidden(near)
        if len(near) < NEAR / 2 and len(text) > at + NEAR:
            near = unhidden(text[at : at + FAR])[:NEAR]
            if len(near) < NEAR / 2 and len(text) > at + FAR:
                return True  # so much is hidden for no good reason
    seen = folded(near)
    name = seen[1 : max(1, seen.find("]"))].strip()
    is_string = len(name) > 1 and name[0] == name[-1] and name[0] in QUOTES  # `["user"]`
    letters = "".join(filter(str.isalnum, name))
    return (letters in SPEAKERS and not is_string) or label.match(seen) is not None


def label_quotes(
    note: str, spans: Iterable[tuple[int, int]], label: re.Pattern[str] = LABEL
) -> list[tuple[int, int]]:
    """The spans of a note of ours, each with the labels that say what it is of, in any order.

    What looks like a label, and is none by `label`, may stand in a quoted log: the sure one above
    it comes along, too. Above `[Result; ref …]` stands the call it is of, which does likewise.
    """
    labels = [found.span() for found in LABELS.finditer(note)]
    sure = [-1]  # for no label and for each one: the sure one at it or above
    for number, (start, _) in enumerate(labels):
        sure.append(number if _is_label(note, start, label) else sure[-1])
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


def quotes_of(speaker: str, note: str) -> Iterator[tuple[int, int]]:
    """Where in a note of ours stands what it quotes of a speaker: up to the next label."""
    for label, start, stop in sections(note):
        if label == f"[{speaker}]":
            yield start, stop


def no_speaker(name: str) -> str:
    """The name of a tool or an argument for a label: one of a speaker gets a word before it."""
    return f"call {name}" if _is_label(f"[{name}]", 0, LABEL) else name
