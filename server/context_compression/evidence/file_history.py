"""The changes of files by the calls of a conversation, and the file that each call names."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import itemgetter

from context_compression.conversation.messages import ToolCall, ToolResult, strings_in
from context_compression.conversation.rendering import NEWLINE
from context_compression.evidence.constraints import LONGEST_LINE
from context_compression.evidence.facts import ERROR_WORDS, exit_status, has_failed
from context_compression.evidence.ledger.changes import Change, changes_of
from context_compression.evidence.ledger.file_actions import ABSOLUTE, clean, file_of

MOST_CHANGES, MOST_CHARS = 30, 40_000
"""How many later changes of a file are compared with one text, and how many characters these may
write. With this limit, the time for all texts grows linearly with the conversation."""
MOST_FOLDERS = 12
"""How many parts at the end of a path are considered, because a call may name a file by them."""
AMBIGUOUS = 3
"""How many files whose paths end alike are remembered."""
FILE_NAME = re.compile(r"[\w.@+~/\\:-]+")
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
        return status in (None, "0") and not any(word in first_line for word in NO_EFFECT_WORDS)

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
