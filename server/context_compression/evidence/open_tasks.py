"""Open tasks: the open items in lists of tasks, checklists in texts, and the last plan's headings.

Without open tasks, an agent repeats finished work or forgets unfinished work. A plan that the user
refused has no open tasks, nor has a list that a later list replaced.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from context_compression.conversation.labels import sections
from context_compression.conversation.messages import (
    Block,
    Text,
    ToolCall,
    ToolResult,
    is_object,
)
from context_compression.conversation.rendering import NEWLINE, Span
from context_compression.evidence.facts import has_failed
from context_compression.evidence.ledger.checklists import boxes_in, open_boxes
from context_compression.evidence.ledger.file_actions import by_name, text_in, words
from context_compression.evidence.ledger.tasks import TASK_TOOL
from context_compression.evidence.outdated import Outdated

PLAN = words("plan")
_PLAN = r"(?<![a-z])plans?(?![a-z])"
PLAN_FILE = re.compile(rf"{_PLAN}(?:(?!{_PLAN}).)*\.(?:md|mdx|txt)\Z", re.IGNORECASE | re.DOTALL)
"""The last folder and the name of a file that holds a plan."""
LONGEST_ENDING = 200
"""How many characters at the end of a path are compared with `PLAN_FILE`."""
FAILED = re.compile(r"; (?:error|exit \d+)\Z")
ARGUMENT = re.compile(r"contents?|file_?(?:text|content)|plan", re.IGNORECASE)
"""In the labels of calls in notes of this package: the end of a failed call's label, and the names
of arguments that may hold a plan."""
OPEN_TASK = re.compile(
    r"^(?:(?:pending|in[_ -]progress|todo|open|blocked|not[_ -]started): "
    r"|[ \t]*(?:(?:[-*+]|\d+[.)]) )?\[[ ~-]?\] ).+$",
    re.MULTILINE,
)
"""A line for an open task in a note of this package."""
ASKS_FOR_PLAN = re.compile(r"exit_?plan", re.IGNORECASE)
"""Names of tools with which the model asks the user to agree to its plan."""
HEADING = re.compile(r"\s*(#{1,6}) ")
UNTICKED = re.compile(r"\s*(?:(?:[-*+]|\d+[.)]) )?\[ ?\] |\s*(?:[-*+] )?[☐⬜🔲] ?")
"""The beginnings of a plan's lines that count as open tasks: a heading, an empty check box."""
FENCE = re.compile(r"\s*(`{3,}|~{3,})([^`]*)\Z")
"""A line that opens or closes a quoted block."""
MOST_HEADINGS = 24
"""The most lines of a plan that count as open tasks; the deepest levels are left out first."""


class Due:
    """Finds open tasks in calls, and in notes of this package that quote calls."""

    def __init__(self, outdated: Outdated, notes: Sequence[str], texts: Sequence[str] = ()) -> None:
        """A finder for the calls in `outdated`, and for some texts.

        Args:
            outdated: the outdated content of the conversation, with its calls.
            notes: the texts of notes of this package, in order.
            texts: the texts of user and model, which may hold checklists, in order.
        """
        self._outdated = outdated
        self._notes = notes
        self._texts = texts

    def spans(self, block: Block, text: str) -> Sequence[Span]:
        """The spans of open tasks in a text of a call or result, a checklist, or a note of ours."""
        match block:
            case ToolCall(id=id):
                tasks = self._plan.get(id) or self._outdated.tasks.open.get(id, ())
                return [*in_order(tasks, text)]
            case ToolResult(call_id=id):
                return self._in_result.get(id, ())
            case Text():
                return self._noted.get(text) or self._checklists.get(text, ())
            case _:
                return ()

    @cached_property
    def _plan(self) -> Mapping[str, Sequence[str]]:
        """The headings of the last plan by the id of its call; empty if there is no plan."""
        outdated = self._outdated
        files = {
            number: change.after
            for number, change in outdated.files.changes
            if change.before is None and PLAN_FILE.search(ending(change.path))
        }
        plan = agreed = dict[str, Sequence[str]]()
        for number, call in enumerate(outdated.calls):
            given = by_name(call.arguments) if is_object(call.arguments) else {}
            text = text_in(given, PLAN) or files.get(number, "")
            asks = ASKS_FOR_PLAN.search(call.name) is not None
            writes = bool(text) and (asks or number in files or NEWLINE in text)
            if (asks or writes) and self._was_refused(call):
                plan = agreed
            elif writes:
                plan = {call.id: headings(text)}
            agreed = plan if asks else agreed
        return plan

    @cached_property
    def _in_result(self) -> Mapping[str, Sequence[Span]]:
        """The spans of the open tasks in the last checklist that a tool for tasks printed.

        They are given by the id of the call, unless a call wrote a full list.
        """
        if self._outdated.tasks.has_full_list:
            return {}
        for call in reversed(self._outdated.calls):
            result = self._outdated.results.get(call.id)
            boxes = boxes_in(result.text) if result and TASK_TOOL.search(call.name) else ()
            if boxes:
                return {call.id: [box.span for box in boxes if not box.ticked]}
        return {}

    @cached_property
    def _checklists(self) -> Mapping[str, Sequence[Span]]:
        """The spans of the open tasks in checklists that the user or the model wrote."""
        return open_boxes(self._texts)

    def _was_refused(self, call: ToolCall) -> bool:
        result = self._outdated.results.get(call.id)
        return result is not None and has_failed(result)

    @cached_property
    def _noted(self) -> Mapping[str, Sequence[Span]]:
        """The spans of the last plan and the last tasks in notes, unless a call has newer ones."""
        spans: dict[str, list[Span]] = {}
        plan, tasks = not self._plan, not self._outdated.tasks.has_full_list
        for note in reversed(self._notes):
            planned = [*planned_in(note)] if plan else []
            opened = [line.span() for line in OPEN_TASK.finditer(note)] if tasks else []
            plan, tasks = plan and not planned, tasks and not opened
            spans.setdefault(note, [*planned, *opened])
        return spans


def planned_in(note: str) -> Iterator[Span]:
    """The spans of the headings of a plan that a note quotes, unless the user refused the plan."""
    line = ""  # the name of the last call and its first line
    for label, start, stop in sections(note):
        text, name = note[start:stop], label[1:-1]
        about, _, argument = name.rpartition("; ")
        if FAILED.search(name):
            line = about = ""
        elif ARGUMENT.fullmatch(argument):
            about = about or line
        else:
            line = f"{name}: {text.strip().partition(NEWLINE)[0]}"
            about = name if ASKS_FOR_PLAN.match(name) else ""
        tool, _, path = about.partition(": ")
        if ASKS_FOR_PLAN.match(tool) or PLAN_FILE.search(ending(path.partition(" · ")[0])):
            yield from ((start + a, start + b) for a, b in in_order(headings(text), text))


def in_order(words: Iterable[str], text: str) -> Iterator[Span]:
    """The spans of some words in a text, each searched after the one before."""
    stop = 0
    for each in words:
        start = text.find(each, stop)
        if start >= 0:
            stop = start + len(each)
            yield start, stop


def headings(plan: str) -> Sequence[str]:
    """The lines of a plan that count as open tasks, without quoted blocks, at most 24.

    These are its headings and items with an empty check box.
    """
    result: list[tuple[int, str]] = []  # with the level of the heading
    level, fence = 0, ""
    for line in plan.split(NEWLINE):
        if mark := FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif not fence and (heading := HEADING.match(line)):
            level = len(heading[1])
            result.append((level, line.strip()))
        elif not fence and UNTICKED.match(line):
            result.append((level + 1, line.strip()))
    while len(result) > MOST_HEADINGS and (deepest := max(result)[0]) > min(result)[0]:
        result = [(level, line) for level, line in result if level < deepest]
    return [line for _, line in result[:MOST_HEADINGS]]


def ending(path: str) -> str:
    """The last folder and the name of a path: `ending("/docs/plans/a.md")` -> `"plans/a.md"`."""
    return "/".join(path.replace("\\", "/").rsplit("/", 2)[-2:])[-LONGEST_ENDING:]
