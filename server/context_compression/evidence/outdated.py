"""What was replaced since: lines of files in older reads and edits, and older lists of tasks.

And what an edit itself replaces, beside what it leaves as it was.

Who is shown what a file said before would work on from it. Only what is sure counts: where it is
not clear which file is meant, which place in it, or whether a call did it at all, nothing is old.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from operator import itemgetter

from context_compression.conversation.messages import (
    Block,
    Message,
    ToolCall,
    ToolResult,
    strings_in,
)
from context_compression.conversation.rendering import LINE_NUMBER, NEWLINE, Span
from context_compression.evidence.constraints import LONGEST_LINE
from context_compression.evidence.facts import ERROR_WORDS, exit_status, has_failed
from context_compression.evidence.ledger.changes import Change, changes_of
from context_compression.evidence.ledger.file_actions import (
    ABSOLUTE,
    FileAction,
    clean,
    file_of,
    of_call,
)
from context_compression.evidence.ledger.tasks import Tasks, tasks_of

MOST_CHANGES, MOST_CHARS = 30, 40_000
"""Changes of a file, and characters they bring, that are looked at for one text, the next ones:
time shall grow linearly."""
DEEPEST = 12
"""Folders that are looked at where a call names a file by the end of its path."""
AMBIGUOUS = 3
"""Paths with the same end of which no more need be known."""
FILE_NAME = re.compile(r"[\w.@+~/\\:-]+")
NOTHING_DONE = (*ERROR_WORDS, "no replacement", "reject", "abort", "refuse", "invalid", "unable")
"""Words one of which stands in the first line that a tool answers when it changed nothing."""


class Outdated:
    """Knows what the calls in some messages made of files, and of the tasks they told.

    Attributes:
        calls: all of them, in order.
        results: what they brought, by their ids.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self.calls = [call for message in messages for call in message.calls]
        self._numbers = {call.id: number for number, call in enumerate(self.calls)}
        self.results = {r.call_id: r for message in messages for r in message.results}

    def spans(self, block: Block, text: str) -> Sequence[Span]:
        """Where in a text of a call, or of its result, stands what later calls replaced.

        Lines that one of them brought back are not old. Spans may overlap.
        """
        if not isinstance(block, ToolCall | ToolResult):
            return ()
        number = self._numbers.get(block.id if isinstance(block, ToolCall) else block.call_id)
        if number is None:
            return ()
        call = self.calls[number]
        if call.id in self.tasks.replaced:
            return [(0, len(text))]
        found: list[Span] = []
        for path in self._named.get(call.id, ()):
            later = self._later(path, number)
            if not later:
                continue
            if isinstance(block, ToolCall):  # not its short arguments, joined to a line
                if text in strings_in(call.arguments):
                    changes = self._changes_by[number]
                    written = any(c.before is None and c.after == text for c in changes)
                    found += replaced(text, later, whole=written)
            else:
                read = of_call(call) == [FileAction("read", file_of(call))] and self._did(call)
                plain, place = unnumbered(text)
                spans = replaced(plain, later, whole=read)
                found += ((place(start), place(stop)) for start, stop in spans)
        return found

    def changed(self, call: ToolCall, text: str) -> Iterator[Span]:
        """Where in a text of an edit the lines stand that it puts there, or takes away."""
        return self._compared(call, text, alike=False)

    def unchanged(self, block: Block, text: str) -> Iterator[Span]:
        """Where in such a text the lines stand that the edit leaves as they were."""
        return self._compared(block, text, alike=True)

    def _compared(self, block: Block, text: str, *, alike: bool) -> Iterator[Span]:
        number = self._numbers.get(block.id) if isinstance(block, ToolCall) else None
        for _, before, after in self._changes_by[number] if number is not None else ():
            if before is not None and text in (before, after):
                there = {*map(str.strip, (after if text == before else before).split(NEWLINE))}
                lines = lines_in(text, 0, len(text))
                yield from (
                    line for line in lines if (text[slice(*line)].strip() in there) == alike
                )
                return

    def _did(self, call: ToolCall) -> bool:
        """Whether a call did what it says."""
        result = self.results.get(call.id)
        if result is None or has_failed(result):
            return False
        said = result.text[:LONGEST_LINE].lstrip().partition(NEWLINE)[0].lower()
        status = exit_status(result.text)
        return status in (None, "0") and not any(word in said for word in NOTHING_DONE)

    def _later(self, path: str, number: int) -> Sequence[Change]:
        """The next changes of a file after a call, `MOST_CHANGES` of `MOST_CHARS` at most."""
        changes = self._changes[path]
        first = bisect_right(changes, number, key=itemgetter(0))
        found: list[Change] = []
        chars = 0
        for _, change in changes[first : first + MOST_CHANGES]:
            chars += len(change.after)
            if chars > MOST_CHARS and found:
                break
            found.append(change)
        return found

    @cached_property
    def _changes(self) -> Mapping[str, Sequence[tuple[int, Change]]]:
        """For each file what calls made of it, with the number of the call."""
        found: dict[str, list[tuple[int, Change]]] = {}
        for number, change in self.made:
            path = self._meant(change.path) or change.path
            found.setdefault(path, []).append((number, change))
        return found

    @cached_property
    def last_changes(self) -> frozenset[str]:
        """The ids of the calls each of which is the last that changed some file."""
        return frozenset(self.calls[changes[-1][0]].id for changes in self._changes.values())

    @cached_property
    def _changes_by(self) -> Sequence[Sequence[Change]]:
        """What each call puts into files, by its number."""
        return [[*changes_of(call)] for call in self.calls]

    @cached_property
    def made(self) -> Sequence[tuple[int, Change]]:
        """What calls put into files, each with the number of its call, where that did it."""
        return [
            (number, change)
            for number, call in enumerate(self.calls)
            for change in self._changes_by[number]
            if self._did(call)
        ]

    @cached_property
    def _by_end(self) -> Mapping[str, Sequence[str]]:
        """The changed files by their path; by each end of it, too, where that is absolute."""
        found: dict[str, list[str]] = {}
        for path in dict.fromkeys(change.path for _, change in self.made):
            for end in (path, *(ends_of(path) if ABSOLUTE.match(path) else ())):
                paths = found.setdefault(end, [])
                if len(paths) < AMBIGUOUS:
                    paths.append(path)
        return found

    def _meant(self, name: str) -> str | None:
        """The changed file that a name means; `None` where it is none, or may be several."""
        if name not in self._by_end and ABSOLUTE.match(name):
            name = next((end for end in ends_of(name) if end in self._by_end.get(end, ())), name)
        paths = self._by_end.get(name, ())
        paths = [path for path in paths if ABSOLUTE.match(path)] or paths
        return paths[0] if len(paths) == 1 else None

    @cached_property
    def _named(self) -> Mapping[str, Iterable[str]]:
        """For each call the changed files that it names, by its id; long arguments name none."""
        last_parts = {last_part(change.path) for _, change in self.made}
        found: dict[str, Iterable[str]] = {}
        for call in self.calls if last_parts else ():
            names = [file_of(call)]
            if not names[0]:
                short = (text for text in strings_in(call.arguments) if len(text) <= LONGEST_LINE)
                words = FILE_NAME.findall(NEWLINE.join(short))
                names = [clean(word) for word in words if last_part(word) in last_parts]
            if paths := dict.fromkeys(filter(None, map(self._meant, names))):
                found[call.id] = paths
        return found

    @cached_property
    def tasks(self) -> Tasks:
        """What became of the tasks that calls told."""
        return tasks_of(self.calls, self.results)


def replaced(text: str, later: Sequence[Change], *, whole: bool) -> Iterator[Span]:
    """Where in a text of a file stand lines that changes since then replaced.

    Args:
        text: without numbers of lines.
        later: the changes; one is found by what it replaced, if that stands there once.
        whole: whether the text is the file, or a part of it, and nothing else.
    """
    parts = dict(found_in(text, later, whole=whole))
    there = set[str]()  # lines brought by one of these changes, or since
    for number in range(len(later) - 1, min(parts, default=len(later)) - 1, -1):
        for line in later[number].after.split(NEWLINE):
            there.add(line.strip())
            if numbered := LINE_NUMBER.match(line):  # the text has lost what looks like one
                there.add(line[numbered.end() :].strip())
        if number in parts:
            lines = lines_in(text, *parts[number])
            yield from (line for line in lines if text[slice(*line)].strip() not in there)


def found_in(text: str, later: Sequence[Change], *, whole: bool) -> Iterator[tuple[int, Span]]:
    """Of each change, by number, the part of a text that it replaced, where that is sure."""
    rewritten = max((n for n, change in enumerate(later) if change.before is None), default=-1)
    for number, change in enumerate(later):
        if change.before is None:
            if whole and number == rewritten:
                yield number, (0, len(text))
        else:
            start = text.find(change.before)
            if start >= 0 and text.find(change.before, start + 1) < 0:
                yield number, (start, start + len(change.before))


def lines_in(text: str, start: int, stop: int) -> Iterator[Span]:
    """Where in a part of a text the lines stand that are not blank."""
    while start < stop:
        end = text.find(NEWLINE, start, stop)
        end = stop if end < 0 else end
        if text[start:end].strip():
            yield start, end
        start = end + 1


def last_part(path: str) -> str:
    """`last_part("src/a.py")` -> `"a.py"`."""
    return path.rpartition("/")[2].rpartition("\\")[2]


def ends_of(path: str) -> Iterator[str]:
    """`ends_of("/src/app/a.py")` -> `"src/app/a.py"`, `"app/a.py"`, `"a.py"`."""
    parts = re.split(r"[/\\]", path)[-DEEPEST:]
    return ("/".join(parts[first:]) for first in range(1, len(parts)))


def unnumbered(text: str) -> tuple[str, Callable[[int], int]]:
    """A text without the numbers of its lines, and where in it what stands in that.

    Numbers are what counts on from line to line.
    """
    lines = text.splitlines(keepends=True)
    cuts = number_lengths(lines)
    if not any(cuts):
        return text, int
    kept = [line[cut:] for line, cut in zip(lines, cuts, strict=True)]
    starts = [0, *accumulate(map(len, kept))]
    shifts = [*accumulate(cuts)]

    def place(at: int) -> int:
        return at + shifts[min(bisect_right(starts, at), len(shifts)) - 1]

    return "".join(kept), place


def number_lengths(lines: Sequence[str]) -> Sequence[int]:
    """How many characters of each line are its number."""
    cuts: list[int] = []
    due: int | None = None  # the number of the next line
    for line in lines:
        found = LINE_NUMBER.match(line)
        if found and due in (None, int(found[1])):
            due = int(found[1]) + 1
            cuts.append(found.end())
        else:
            cuts.append(0)
    return cuts
