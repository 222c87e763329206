"""Outdated parts of calls and results: replaced lines of files, and older lists of tasks.

An agent that sees the former content of a file would continue to work with it. A text counts as
outdated only if that is certain. If it is unclear which file or place a call changed, or whether
the call succeeded, the text counts as current.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from context_compression.conversation.messages import (
    Block,
    Message,
    ToolCall,
    ToolResult,
    strings_in,
)
from context_compression.conversation.rendering import NEWLINE, Span
from context_compression.evidence.facts import commands_of
from context_compression.evidence.file_history import FileHistory
from context_compression.evidence.ledger.file_actions import FileAction, file_of, of_call
from context_compression.evidence.ledger.reading import actions_of_calls
from context_compression.evidence.ledger.shell import only_edits
from context_compression.evidence.ledger.tasks import Tasks, tasks_of
from context_compression.evidence.ledger.undoing import undone_by
from context_compression.evidence.replaced_lines import lines_in, replaced, unnumbered


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

    @cached_property
    def undone(self) -> frozenset[str]:
        """The ids of the calls that only changed files, all of whose changes were taken back."""
        undone = undone_by([*actions_of_calls(self.calls, self.results)]).calls
        return frozenset(
            call.id
            for call in self.calls
            if call.id in undone and all(map(only_edits, commands_of(call)))
        )

    @property
    def last_changes(self) -> frozenset[str]:
        """The ids of the calls that made the last change of some file."""
        return self.files.last_changes

    @cached_property
    def tasks(self) -> Tasks:
        """The open and the replaced tasks of the calls."""
        return tasks_of(self.calls, self.results)
