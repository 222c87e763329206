"""Writes a long output shorter without loss: lines that differ only in numbers become a pattern.

    A: src/part_{1}.c:{2}: warning: unused variable v{2}

    A 0 7
    A 1 8
    src/main.c:9: error: expected ';'

`A 0 7` is the line `src/part_0.c:7: warning: unused variable v7`. Other lines stay as they are. The
empty line ends the patterns: a text may itself begin with a line that looks like one.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import TypeAlias

NUMBER = re.compile(r"[0-9]+")
LOOKS_LIKE_A_PLACE = re.compile(r"\{[0-9]+\}")
LEAST_LINES = 4
"""So many lines of a kind are worth a pattern."""
LONGEST_LINE = 2_000
"""A longer line is data rather than a line of a log."""

Numbers: TypeAlias = tuple[str, ...]


def with_patterns(text: str) -> str | None:
    """A text with patterns; `None` if no lines of it are worth one."""
    lines = text.split("\n")
    kinds: dict[str, list[Numbers]] = defaultdict(list)
    kind_of = [_kind(line) for line in lines]
    for line, kind in zip(lines, kind_of, strict=True):
        if kind:
            kinds[kind].append(tuple(NUMBER.findall(line)))
    found = {
        kind: pattern
        for kind, numbers in kinds.items()
        if len(numbers) >= LEAST_LINES and (pattern := Pattern(kind, numbers)).saved > 0
    }
    tags = _tags(lines, [*found])
    if not tags:
        return None
    shorter = [*(f"{tag}: {found[kind].text}" for kind, tag in tags.items()), ""]
    for line, kind in zip(lines, kind_of, strict=True):
        shorter.append(found[kind].row(tags[kind], line) if kind in tags else line)
    return "\n".join(shorter)


def is_log(text: str) -> bool:
    """Whether more than half of the lines of a text differ from others only in numbers."""
    lines = [line for line in text.split("\n") if line.strip()]
    kinds = Counter(kind for line in lines if (kind := _kind(line)))
    return sum(n for n in kinds.values() if n >= LEAST_LINES) > len(lines) / 2


class Pattern:
    """The pattern of some lines that differ only in numbers.

    Attributes:
        text: the line with `{1}`, `{2}` … in place of the numbers that vary.
        saved: how many characters it saves.
    """

    def __init__(self, kind: str, numbers: Sequence[Numbers]) -> None:
        columns: list[Numbers] = [*zip(*numbers, strict=True)]
        varying = dict.fromkeys(column for column in columns if len({*column}) > 1)
        places = {column: f"{{{at}}}" for at, column in enumerate(varying, 1)}
        shown = [places[column] if column in places else column[0] for column in columns]
        pieces = [
            part for pair in zip(kind.split("\0"), [*shown, ""], strict=True) for part in pair
        ]
        self.text = "".join(pieces)
        self._columns = [columns.index(column) for column in varying]
        rows = sum(3 + sum(1 + len(row[at]) for at in self._columns) for row in numbers)
        whole = sum(len(kind) - len(row) + sum(map(len, row)) + 1 for row in numbers)
        self.saved = whole - rows - len(self.text) - 5

    def row(self, tag: str, line: str) -> str:
        """A line in short: its tag and the numbers that vary."""
        numbers = NUMBER.findall(line)
        return " ".join([tag, *(numbers[at] for at in self._columns)])


def _kind(line: str) -> str:
    """What a line has in common with others of its kind: all but its numbers; "" for no kind."""
    if len(line) > LONGEST_LINE or "\0" in line or LOOKS_LIKE_A_PLACE.search(line):
        return ""
    kind = NUMBER.sub("\0", line)
    return kind if kind != line else ""


def _tags(lines: Sequence[str], kinds: Sequence[str]) -> Mapping[str, str]:
    """A letter for each kind that no line begins with as a tag would."""
    begins = {line[:1] for line in lines if line[1:2] in ("", " ", ":")}
    free = [letter for letter in ascii_uppercase if letter not in begins]
    return dict(zip(kinds, free, strict=False))
