"""Which parts of what was read of a file, or written to it, later calls have replaced.

The file says something else now: who is shown the older text would work on from it.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, takewhile
from operator import itemgetter

from context_compression.evidence import LONGEST_LINE, has_failed
from context_compression.ledger.changes import Change, changes_of
from context_compression.ledger.file_actions import file_of
from context_compression.messages import (
    Block,
    Message,
    ToolCall,
    ToolResult,
    is_array,
    is_object,
    strings_in,
)
from context_compression.rendering import LINE_NUMBER, NEWLINE, NUMBERED

FILE_NAME = re.compile(r"[\w.@+-]+")
"""The name of a file, or the last part of one with blanks."""
TASKS = re.compile(r"todos|todo_?list|plan", re.IGNORECASE)
"""Names of arguments that tell the whole list of tasks, each time anew."""
MOST_CHANGES = 30
"""Changes of a file that are looked at for one text, the next: time shall grow linearly."""


class Outdated:
    """Knows what the calls in some messages made of files."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    def spans(self, index: int, block: Block, text: str) -> Sequence[tuple[int, int]]:
        """Where in a text of a call or its result stands what was replaced after message `index`.

        A change is found by the whole text that it named; one that another took back is none. Of a
        list of tasks that was told anew it is all.
        """
        match block:
            case ToolCall(id=call) | ToolResult(call_id=call):
                if call in self._lists:
                    return [(0, len(text))]
                named = self._named.get(call, ())
            case _:
                return []
        found: list[tuple[int, int]] = []
        for path in named:
            later = self._later(path, index)
            if not later:
                continue
            plain, place = unnumbered(text)
            for number, change in enumerate(later, 1):
                if change.before is None:
                    since = later[number:]
                    if self._file_of.get(call) != path or any(c.before is None for c in since):
                        continue  # an output that names the file need not be the file
                    lost = left_out(plain, [change, *since])
                elif change.before in plain:
                    lost = replaced(plain, change.before, change.after, later[number:])
                else:
                    continue
                found += ((place(start), place(stop)) for start, stop in lost)
        return found

    @cached_property
    def _lists(self) -> Container[str]:
        """The ids of calls that told the whole list of tasks, but for the last one."""
        found = [
            call.id
            for message in self._messages
            for call in message.calls
            if is_object(call.arguments)
            and any(is_array(v) for k, v in call.arguments.items() if TASKS.fullmatch(k))
        ]
        return {*found[:-1]}

    def _later(self, path: str, index: int) -> Sequence[Change]:
        """The next changes of a file after message `index`, `MOST_CHANGES` at most."""
        changes = self._changes[path]
        first = bisect_right(changes, index, key=itemgetter(0))
        return [change for _, change in changes[first : first + MOST_CHANGES]]

    @cached_property
    def _changes(self) -> Mapping[str, Sequence[tuple[int, Change]]]:
        """For each file what calls made of it, with the index of their message."""
        failed = {r.call_id for message in self._messages for r in message.results if has_failed(r)}
        found: dict[str, list[tuple[int, Change]]] = {}
        for index, message in enumerate(self._messages):
            for call in message.calls:
                if call.id not in failed:
                    for change in changes_of(call):
                        found.setdefault(change.path, []).append((index, change))
        return found

    @cached_property
    def _named(self) -> Mapping[str, Sequence[str]]:
        """For each call the changed files that it names, by its id; long arguments name none."""
        by_name: dict[str, list[str]] = {}
        for path in self._changes:
            for name in FILE_NAME.findall(path)[-1:]:
                by_name.setdefault(name, []).append(path)
        found: dict[str, Sequence[str]] = {}
        for message in self._messages if by_name else ():
            for call in message.calls:
                texts = [text for text in strings_in(call.arguments) if len(text) <= LONGEST_LINE]
                if named := sorted(by_name.keys() & FILE_NAME.findall(NEWLINE.join(texts))):
                    found[call.id] = [path for name in named for path in by_name[name]]
        return found

    @cached_property
    def _file_of(self) -> Mapping[str, str]:
        """For each call the file that an argument of it is, by its id."""
        return {call.id: file_of(call) for m in self._messages for call in m.calls}


def replaced(
    text: str, before: str, after: str, since: Sequence[Change]
) -> Iterator[tuple[int, int]]:
    """Where in a text stands what a change replaced, without the lines that it left.

    Nothing of what a change `since` brought back.
    """
    old, new = before.split(NEWLINE), after.split(NEWLINE)
    first = shared(old, new)
    last = shared(old[first:][::-1], new[first:][::-1])
    lost = NEWLINE.join(old[first : len(old) - last])
    if not lost.strip() or any(lost in change.after for change in since):
        return
    ahead = sum(len(line) + 1 for line in old[:first])
    at = text.find(before)
    while at >= 0:
        yield at + ahead, at + ahead + len(lost)
        at = text.find(before, at + len(before))


def left_out(text: str, changes: Sequence[Change]) -> Iterator[tuple[int, int]]:
    """Where in what a file was stand the lines that no change brought when it was written anew."""
    there = {line.strip() for change in changes for line in change.after.splitlines()}
    start = 0
    for line in text.splitlines(keepends=True):
        if line.strip() and line.strip() not in there:
            yield start, start + len(line.rstrip())
        start += len(line)


def shared(one: Sequence[str], other: Sequence[str]) -> int:
    """With how many lines that are the same both begin."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda lines: lines[0] == lines[1], pairs))


def unnumbered(text: str) -> tuple[str, Callable[[int], int]]:
    """A text without the numbers of its lines, and where in it what stands in that."""
    if not NUMBERED.match(text):
        return text, lambda place: place
    lines = text.splitlines(keepends=True)
    cuts = [found.end() if (found := LINE_NUMBER.match(line)) else 0 for line in lines]
    kept = [line[cut:] for line, cut in zip(lines, cuts, strict=True)]
    starts = [0, *accumulate(map(len, kept))]
    shifts = [*accumulate(cuts)]

    def place(at: int) -> int:
        return at + shifts[min(bisect_right(starts, at), len(shifts)) - 1]

    return "".join(kept), place
