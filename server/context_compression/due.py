"""What is still to be done: the open tasks, and the headings of the plan that was made last.

An agent that has lost them takes up what is done, or leaves what is not. Of a plan that the user
refused, or a list that a later one replaced, nothing is due.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from context_compression.ledger import tasks
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
        done = [call for call in self._outdated.calls if self._outdated.did(call)]
        found: dict[str, Sequence[str]] = {}
        if plans := [(call.id, plan) for call in done if (plan := tasks.plan_in(call))]:
            found[plans[-1][0]] = headings(plans[-1][1])
        lists = {call.name: call for call in done if tasks.tells_all(call)}
        for call in lists.values():
            _, told = tasks.list_in(call) or ("", ())
            found[call.id] = [task.line for task in told if task.is_open]
        return found | {id: [what] for id, what in self._opened(done).items()}

    def _opened(self, done: Sequence[ToolCall]) -> Mapping[str, str]:
        """What tasks say that were told one by one and are still open, by the ids of the calls."""
        found: dict[str, tuple[str, str]] = {}
        for call in done:
            if what := tasks.created(call):
                if number := NUMBER.search(self._outdated.results[call.id].text):
                    found[number[1]] = call.id, what
            elif (told := tasks.updated(call)) and not told[1].is_open:
                found.pop(told[0], None)
        return dict(found.values())


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
