"""What is still to be done: the open tasks, and the headings of the plan that was made last.

An agent that has lost them takes up what is done, or leaves what is not. Of a plan that the user
refused, or a list that a later one replaced, nothing is due.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from context_compression.ledger.tasks import Task, all_tasks, created, plan_in, plan_of, updated
from context_compression.messages import ToolCall
from context_compression.outdated import Outdated
from context_compression.rendering import NEWLINE, Span

NUMBER = re.compile(r"#(\d+)")
"""How a tool that was told a task answers which number it has."""
HEADING = re.compile(r"\s*(#{1,6}) ")
UNTICKED = re.compile(r"\s*[-*] \[ \] ")
"""How a line of a plan begins that says what is to be done: a heading, a box not ticked."""
FENCE = "```"
MOST_HEADINGS = 24
"""Lines of a plan that are due; of more headings those of the deepest levels are none."""


class Due:
    """Knows what the calls of a conversation leave to be done."""

    def __init__(self, outdated: Outdated) -> None:
        self._outdated = outdated

    def spans(self, call: ToolCall, text: str) -> Sequence[Span]:
        """Where in a text of a call stands what is still to be done."""
        found: list[Span] = []
        stop = 0
        for what in self._told.get(call.id, ()):
            start = text.find(what, stop)
            if start >= 0:
                stop = start + len(what)
                found.append((start, stop))
        return found

    @cached_property
    def _told(self) -> Mapping[str, Sequence[str]]:
        """What each call tells that is still to be done, by its id, as it stands in its texts."""
        outdated = self._outdated
        files = {number: text for number, change in outdated.made if (text := plan_of(change))}
        plan: tuple[str, str] | None = None
        lists: dict[str, tuple[str, Sequence[Task]]] = {}  # by the tool: those of two are two
        opened: dict[str, tuple[str, str]] = {}  # by the number of the task
        for number, call in enumerate(outdated.calls):
            if not outdated.did(call):
                continue
            if text := files.get(number) or plan_in(call):
                plan = call.id, text
            if (tasks := all_tasks(call)) is not None:
                lists[call.name] = call.id, tasks
            elif what := created(call):
                if told := NUMBER.search(outdated.results[call.id].text):
                    opened[told[1]] = call.id, what
            elif (update := updated(call)) and not update.is_open:
                opened.pop(update.what, None)
        found: dict[str, Sequence[str]] = {plan[0]: headings(plan[1])} if plan else {}
        for id, tasks in lists.values():
            found[id] = [task.line for task in tasks if task.is_open]
        return found | {id: [what] for id, what in opened.values()}


def headings(plan: str) -> Sequence[str]:
    """The lines of a plan that say what is to be done, but for what is quoted in it."""
    found: list[tuple[int, str]] = []  # with the level of the heading
    level, quoted = 0, False
    for line in plan.split(NEWLINE):
        quoted ^= line.lstrip().startswith(FENCE)
        if not quoted and (heading := HEADING.match(line)):
            level = len(heading[1])
            found.append((level, line.strip()))
        elif not quoted and UNTICKED.match(line):
            found.append((level + 1, line.strip()))
    while len(found) > MOST_HEADINGS and (deepest := max(found)[0]) > min(found)[0]:
        found = [(level, line) for level, line in found if level < deepest]
    return [line for _, line in found[:MOST_HEADINGS]]
