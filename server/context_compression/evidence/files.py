r"""What changes of files made outdated, and what a host left out of a tool result before we got it.

An agent that sees the former content of a file would continue to work with it. A change is located
by the text that it replaced, which must occur exactly once; lines that a later change restored do
not count as replaced. If it is unclear which file or place a call changed, or whether the call
succeeded, a text counts as current.

Hosts cut long outputs themselves, and say so in the result. Such a result is not complete: what is
archived of it is what the host left. Some hosts keep the full output in a file, which they name.

    Claude Code  <persisted-output>\nOutput too large (106.3KB). Full output saved to: /…\n
                 Error: result (288,901 characters) exceeds maximum allowed tokens. Output has …
                 Exit code 1\n… ... [19966 characters truncated] ...
    Codex        Warning: truncated output (original token count: 82224)\nTotal output lines: 20000
                 …81924 tokens truncated…
    Gemini CLI   Output too large. Showing first 8,000 and last 32,000 characters. For full output …
                 ... [288,967 characters omitted] ...
    opencode     ...output truncated...\n\nFull output saved to: /…\n
    Pi           [Showing lines 1801-2000 of 20000. Full output: /…]

A text that only quotes these words, as a source file does, is not cut: the words have their places
at the beginning or the end of a result. (Seen in the versions that the modules of hosts name.)
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from operator import itemgetter

from context_compression.conversation.labels import LINE_NUMBER, NEWLINE, Span
from context_compression.conversation.messages import (
    Block,
    Message,
    ToolCall,
    ToolResult,
    strings_in,
)
from context_compression.evidence.facts import (
    ERROR_WORDS,
    commands_of,
    exit_status,
    has_failed,
    tells_failure,
)
from context_compression.evidence.ledger.actions import (
    ABSOLUTE,
    FileAction,
    clean,
    file_of,
    of_call,
    only_edits,
)
from context_compression.evidence.ledger.changes import Change, Undoing, changes_of
from context_compression.evidence.ledger.entries import actions_of
from context_compression.evidence.ledger.tasks import Tasks, tasks_of
from context_compression.evidence.names import COMMON_MARKS
from context_compression.evidence.sentences import LONGEST_LINE
from context_compression.strings import one_line

NEAR = 400  # characters from an end of a result in which a host's words stand
LONGEST_PATH = 200  # characters
PATH = r"(?P<path>[^\n;\[\]\"\\]{1,400}?)"
NUMBER = r"\d{1,15}"
SIZE = r"[\d.,]{1,20} ?[KMG]?B"
CODEX_HEAD = re.compile(
    r"(?:(?:Chunk ID|Wall time|Process|Original token count|Exit code)[^\n]*\n)*"
    rf"(?:(?:Output:\n)?(?:Warning: truncated output \(original token count: (?P<tokens>{NUMBER})\)"
    r"\n)?Total output lines: \d+\n|(?<=\n)Output:\n)"
)
CODEX_CUT = re.compile(rf"…({NUMBER}) (tokens|chars) truncated…")
FAILED = re.compile(r"(?:Error: )?Exit code \d+\n")
FAILED_CUT = re.compile(rf"\n\n\.\.\. \[({NUMBER}) characters truncated\] \.\.\.\n\n")
BEGINNINGS = (
    re.compile(
        rf"<persisted-output>\nOutput too large \((?P<size>{SIZE})\)\. "
        rf"Full output saved to: {PATH}\n"
    ),
    re.compile(
        r"Error: result \((?P<size>[\d,]{1,20} characters)[^\n)]{0,200}\) exceeds maximum"
        rf" allowed tokens\. Output has been saved to {PATH}\.\n"
    ),
    re.compile(
        r"(?:\{\"output\": ?\")?Output too large\. Showing first [\d,]+ and last [\d,]+ "
        rf"characters\. For full output see: {PATH}(?:\n|\\n)"
    ),
    re.compile(rf"\.\.\.output truncated\.\.\.\n\nFull output saved to: {PATH}\n"),
)
OMITTED = re.compile(r"\.\.\. \[([\d,]{1,20} characters) omitted\] \.\.\.")
ENDING = re.compile(
    rf"(?:\[Showing lines (?P<first>{NUMBER})-(?P<last>{NUMBER}) of (?P<of>{NUMBER})"
    rf"[^\n\[\]]{{0,200}}?Full output: {PATH}\]"
    r"|The tool call succeeded but the output was truncated\. "
    r"Full output saved to: (?P<saved>[^\n;\[\]\"\\]{1,400}))"
)


@dataclass(frozen=True)
class HostCut:
    """What a host left out of a result.

    Attributes:
        missing: how much, in the host's own words: `81924 tokens`; empty if it does not say.
        path: the file in which the host keeps the full output; empty if it keeps none.
    """

    missing: str = ""
    path: str = ""

    def __str__(self) -> str:
        """`cut by the host: 81924 tokens missing`."""
        missing = f": {self.missing} missing" if self.missing else ""
        place = f", full output in {one_line(self.path, LONGEST_PATH)}" if self.path else ""
        return f"cut by the host{missing}{place}"


def cut_by_host(text: str) -> HostCut | None:
    """What the host left out of a result; `None` if it gives no sign that it did."""
    for beginning in BEGINNINGS:
        if found := beginning.match(text):
            omitted = OMITTED.search(text)
            size = found.groupdict().get("size")
            return HostCut(
                omitted[1] if omitted else (size and f"most of {size}") or "", found["path"]
            )
    end = max(0, len(text) - NEAR)
    if found := ENDING.search(text, end):
        shown = found["of"] and int(found["of"]) - int(found["last"]) + int(found["first"]) - 1
        return HostCut(f"{shown} lines" if shown else "", found["path"] or found["saved"])
    if (head := FAILED.match(text)) and (cut := FAILED_CUT.search(text, head.end())):
        return HostCut(f"{int(cut[1]):,} characters")
    if head := CODEX_HEAD.match(text):
        if cut := CODEX_CUT.search(text, head.end()):
            kind = "characters" if cut[2] == "chars" else cut[2]
            return HostCut(f"{int(cut[1]):,} {kind}")
        if head["tokens"]:
            return HostCut(f"part of {int(head['tokens']):,} tokens")
    return None


def results_cut_by_hosts(messages: Iterable[Message]) -> int:
    """How many tool results their host had cut."""
    results = (result for message in messages for result in message.results)
    return sum(cut_by_host(result.text) is not None for result in results)


MOST_CHANGES, MOST_CHARS = 30, 40_000
"""How many later changes of a file are compared with one text, and how many characters these may
write. With this limit, the time for all texts grows linearly with the conversation."""
MOST_FOLDERS = 12
"""How many parts at the end of a path are considered, because a call may name a file by them."""
AMBIGUOUS = 3
"""How many files whose paths end alike are remembered."""
FILE_NAME = re.compile(rf"[\w{COMMON_MARKS}.@+~/\\:-]+")
NO_EFFECT_WORDS = (
    *ERROR_WORDS, "no replacement", "reject", "abort", "refuse", "invalid", "unable",
)  # fmt: skip
"""Words in the first line of a result that show that its call changed nothing."""


class FileHistory:
    """The changes of files by some calls.

    A change counts only if it is certain which file its call names and that the call succeeded.
    """

    def __init__(self, calls: Sequence[ToolCall], results: Mapping[str, ToolResult]) -> None:
        """The history of `calls`, which are in order, and their `results` by call id."""
        self._calls = calls
        self._results = results

    def succeeded(self, call: ToolCall) -> bool:
        """Whether a call certainly succeeded, by its result."""
        result = self._results.get(call.id)
        if result is None or has_failed(result):
            return False
        first_line = result.text[:LONGEST_LINE].lstrip().partition(NEWLINE)[0].lower()
        status = exit_status(result.text)
        return status in (None, "0") and not tells_failure(first_line, NO_EFFECT_WORDS)

    def later(self, path: str, number: int) -> Sequence[Change]:
        """The next changes of a file after the call with this number.

        At most `MOST_CHANGES` changes of `MOST_CHARS` characters in total, but always the first.
        """
        changes = self._by_file[path]
        first = bisect_right(changes, number, key=itemgetter(0))
        result: list[Change] = []
        chars = 0
        for _, change in changes[first : first + MOST_CHANGES]:
            chars += len(change.after)
            if chars > MOST_CHARS and result:
                break
            result.append(change)
        return result

    @cached_property
    def last_changes(self) -> frozenset[str]:
        """The ids of the calls that made the last change of some file."""
        return frozenset(self._calls[changes[-1][0]].id for changes in self._by_file.values())

    @cached_property
    def by_call(self) -> Sequence[Sequence[Change]]:
        """For each call the changes that it requests, even if it failed."""
        return [[*changes_of(call)] for call in self._calls]

    @cached_property
    def changes(self) -> Sequence[tuple[int, Change]]:
        """The changes by calls that succeeded, each with the number of its call."""
        return [
            (number, change)
            for number, call in enumerate(self._calls)
            for change in self.by_call[number]
            if self.succeeded(call)
        ]

    @cached_property
    def named_files(self) -> Mapping[str, Iterable[str]]:
        """The changed files that each call names in its short arguments, by call id."""
        names = {last_part(change.path) for _, change in self.changes}
        files: dict[str, Iterable[str]] = {}
        for call in self._calls if names else ():
            candidates = [file_of(call)]
            if not candidates[0]:
                short = (text for text in strings_in(call.arguments) if len(text) <= LONGEST_LINE)
                words = FILE_NAME.findall(NEWLINE.join(short))
                candidates = [clean(word) for word in words if last_part(word) in names]
            if paths := dict.fromkeys(filter(None, map(self._file_named, candidates))):
                files[call.id] = paths
        return files

    @cached_property
    def _by_file(self) -> Mapping[str, Sequence[tuple[int, Change]]]:
        """The changes of each file, with the numbers of their calls."""
        changes: dict[str, list[tuple[int, Change]]] = {}
        for number, change in self.changes:
            path = self._file_named(change.path) or change.path
            changes.setdefault(path, []).append((number, change))
        return changes

    @cached_property
    def _paths_by_end(self) -> Mapping[str, Sequence[str]]:
        """The changed files by their paths, and absolute paths also by each of their endings."""
        result: dict[str, list[str]] = {}
        for path in dict.fromkeys(change.path for _, change in self.changes):
            for end in (path, *(ends_of(path) if ABSOLUTE.match(path) else ())):
                paths = result.setdefault(end, [])
                if len(paths) < AMBIGUOUS:
                    paths.append(path)
        return result

    def _file_named(self, name: str) -> str | None:
        """The changed file with this name; `None` if there is none or there may be several."""
        by_end = self._paths_by_end
        if name not in by_end and ABSOLUTE.match(name):
            name = next((end for end in ends_of(name) if end in by_end.get(end, ())), name)
        paths = by_end.get(name, ())
        paths = [path for path in paths if ABSOLUTE.match(path)] or paths
        return paths[0] if len(paths) == 1 else None


def last_part(path: str) -> str:
    """The file name of a path: `last_part("src/a.py")` -> `"a.py"`."""
    return path.rpartition("/")[2].rpartition("\\")[2]


def ends_of(path: str) -> Iterator[str]:
    """The endings of a path, for at most `MOST_FOLDERS` parts.

    `ends_of("/src/app/a.py")` -> `"src/app/a.py"`, `"app/a.py"`, `"a.py"`
    """
    parts = re.split(r"[/\\]", path)[-MOST_FOLDERS:]
    return ("/".join(parts[first:]) for first in range(1, len(parts)))


def replaced(text: str, later: Sequence[Change], *, is_file: bool) -> Iterator[Span]:
    """The spans of lines in a text of a file that later changes replaced; they may overlap.

    Args:
        text: the text without line numbers.
        later: the changes of the file after the text, in order.
        is_file: whether the text is the file or a part of it, and nothing else.
    """
    parts = dict(replaced_parts(text, later, is_file=is_file))
    current = set[str]()  # lines that this change or a later one wrote
    for number in range(len(later) - 1, min(parts, default=len(later)) - 1, -1):
        for line in later[number].after.split(NEWLINE):
            current.add(line.strip())
            if numbered := LINE_NUMBER.match(line):  # `text` is without such line numbers
                current.add(line[numbered.end() :].strip())
        if number in parts:
            lines = lines_in(text, *parts[number])
            yield from (line for line in lines if text[slice(*line)].strip() not in current)


def replaced_parts(
    text: str, later: Sequence[Change], *, is_file: bool
) -> Iterator[tuple[int, Span]]:
    """The number of each change with the part of the text that it replaced.

    Changes whose place is unclear are left out. The arguments are those of `replaced`.
    """
    rewritten = max((n for n, change in enumerate(later) if change.before is None), default=-1)
    for number, change in enumerate(later):
        if change.before is None:
            if is_file and number == rewritten:
                yield number, (0, len(text))
        else:
            start = text.find(change.before)
            if start >= 0 and text.find(change.before, start + 1) < 0:
                yield number, (start, start + len(change.before))


def lines_in(text: str, start: int, stop: int) -> Iterator[Span]:
    """The spans of the lines that are not blank in a part of a text."""
    while start < stop:
        end = text.find(NEWLINE, start, stop)
        end = stop if end < 0 else end
        if text[start:end].strip():
            yield start, end
        start = end + 1


def unnumbered(text: str) -> tuple[str, Callable[[int], int]]:
    """A text without line numbers, and a function that maps places in it to places in `text`.

    Line numbers are numbers at the beginnings of lines that count up from line to line.
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
    """For each line, the characters of its line number; 0 if it has none."""
    cuts: list[int] = []
    next_number: int | None = None
    for line in lines:
        number = LINE_NUMBER.match(line)
        if number and next_number in (None, int(number[1])):
            next_number = int(number[1]) + 1
            cuts.append(number.end())
        else:
            cuts.append(0)
    return cuts


class Outdated:
    """Finds outdated parts in the calls and results of some messages.

    Attributes:
        calls: all calls of the messages, in order; the number of a call is its index here.
        results: their results, by call id.
        files: the changes of files by the calls.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self.calls = [call for message in messages for call in message.calls]
        self.results = {r.call_id: r for message in messages for r in message.results}
        self.files = FileHistory(self.calls, self.results)
        self._numbers = {call.id: number for number, call in enumerate(self.calls)}

    def spans(self, block: Block, text: str) -> Sequence[Span]:
        """The outdated spans in a text of a call or of its result; they may overlap.

        Lines that later calls replaced are outdated, unless a later call restored them. A list of
        tasks that a later list replaced is outdated completely, and so is an edit that was taken
        back.

        Args:
            block: a call or a result; other blocks have no outdated parts.
            text: one of the call's arguments, or the text of the result.
        """
        if not isinstance(block, ToolCall | ToolResult):
            return ()
        number = self._numbers.get(block.id if isinstance(block, ToolCall) else block.call_id)
        if number is None:
            return ()
        call = self.calls[number]
        if call.id in self.tasks.replaced or (
            isinstance(block, ToolCall) and call.id in self.undone
        ):
            return [(0, len(text))]
        result: list[Span] = []
        for path in self.files.named_files.get(call.id, ()):
            later = self.files.later(path, number)
            if not later:
                continue
            if isinstance(block, ToolCall):  # not its short arguments, which are joined to a line
                if text in strings_in(call.arguments):
                    changes = self.files.by_call[number]
                    is_written = any(c.before is None and c.after == text for c in changes)
                    result += replaced(text, later, is_file=is_written)
            else:
                is_read = of_call(call) == [FileAction("read", file_of(call))]
                is_read = is_read and self.files.succeeded(call)
                plain, place = unnumbered(text)
                spans = replaced(plain, later, is_file=is_read)
                result += ((place(start), place(stop)) for start, stop in spans)
        return result

    def changed(self, call: ToolCall, text: str) -> Iterator[Span]:
        """The spans of the lines in an edit's old or new text that the edit changes."""
        return self._compared(call, text, alike=False)

    def unchanged(self, block: Block, text: str) -> Iterator[Span]:
        """The spans of the lines in an edit's old or new text that the edit does not change."""
        return self._compared(block, text, alike=True)

    def _compared(self, block: Block, text: str, *, alike: bool) -> Iterator[Span]:
        number = self._numbers.get(block.id) if isinstance(block, ToolCall) else None
        for _, before, after in self.files.by_call[number] if number is not None else ():
            if before is not None and text in (before, after):
                other = {*map(str.strip, (after if text == before else before).split(NEWLINE))}
                lines = lines_in(text, 0, len(text))
                yield from (
                    line for line in lines if (text[slice(*line)].strip() in other) == alike
                )
                return

    def actions(self) -> Iterator[tuple[str, FileAction]]:
        """The actions on files by the calls, in order, each with the id of its call."""
        return actions_of(self.calls, self.results)

    def latest(self, among: int) -> Iterator[ToolCall]:
        """Those of the last `among` calls that read or change files, the newest first."""
        for call in islice(reversed(self.calls), among):
            if any(actions_of([call], self.results)):
                yield call

    @cached_property
    def undone(self) -> frozenset[str]:
        """The ids of the calls that only changed files, all of whose changes were taken back."""
        undone = Undoing(self.actions()).calls
        return frozenset(
            call.id
            for call in self.calls
            if call.id in undone and all(map(only_edits, commands_of(call)))
        )

    @cached_property
    def tasks(self) -> Tasks:
        """The open and the replaced tasks of the calls."""
        return tasks_of(self.calls, self.results)
