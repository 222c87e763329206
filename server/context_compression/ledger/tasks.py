"""The tasks that calls tell, each time all of them or one by one, and plans.

By the names of their arguments, as hosts have them: Claude Code, Codex, opencode, Cursor.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from context_compression.ledger.changes import Change
from context_compression.ledger.file_actions import by_name, plain_name, text_in, words
from context_compression.messages import ToolCall, is_array, is_object

LISTS = words("todos todolist plan")
WHAT = words("content step subject title text task todo description")
"""Names under which a task says what is to be done."""
STATUS, PLAN, NUMBERS = words("status state"), words("plan"), words("taskid id")
CREATES = re.compile(r"task_?create|create_?task|(?:add|new)_?task", re.IGNORECASE)
UPDATES = re.compile(r"task_?update|update_?task", re.IGNORECASE)
"""Names of tools that tell one task, and what became of one."""
ENDED = re.compile(
    r"\s*(?:complete|done|finish|closed?\b|cancel|delete|skip|abandon)", re.IGNORECASE
)
"""How the status of a task begins of which nothing is left to do."""
PLAN_FILE = re.compile(r"(?:plans?[/\\][^/\\]+|plan[^/\\]*)\.(?:md|mdx|txt)$", re.IGNORECASE)
"""How the path of a file ends in which a plan is written."""


class Task(NamedTuple):
    """What is to be done, and how far it is."""

    what: str
    status: str = ""

    @property
    def is_open(self) -> bool:
        """Whether something of it is left to do."""
        return not ENDED.match(self.status)

    @property
    def line(self) -> str:
        """`pending: run the tests`."""
        what = " ".join(self.what.split())
        return f"{self.status}: {what}" if self.status else what


def list_in(call: ToolCall) -> tuple[str, list[Task]] | None:
    """The list of tasks that a call tells, and the name of its argument; `None`: it tells none."""
    for name, value in call.arguments.items() if is_object(call.arguments) else ():
        if plain_name(name) in LISTS and is_array(value):
            tasks = [*filter(None, map(_task, value))]
            return (name, tasks) if len(tasks) == len(value) else None
    return None


def _task(told: Any) -> Task | None:
    if isinstance(told, str):
        return Task(told)
    given = by_name(told) if is_object(told) else {}
    what = text_in(given, WHAT)
    return Task(what, text_in(given, STATUS) or "") if what else None


def all_tasks(call: ToolCall) -> Sequence[Task] | None:
    """The list, where that is all that is to be done from then on, not merged into the last."""
    told = list_in(call)
    return told[1] if told and not call.arguments.get("merge") else None


def created(call: ToolCall) -> str:
    """What is to be done, where a call tells one task; else nothing."""
    given = by_name(call.arguments) if is_object(call.arguments) else {}
    return (text_in(given, WHAT) or "") if CREATES.search(call.name) else ""


def updated(call: ToolCall) -> Task | None:
    """The number of a task, as what it is, and its status from then on, where a call tells it."""
    given = by_name(call.arguments) if is_object(call.arguments) else {}
    number = next((str(value) for name, value in given.items() if name in NUMBERS), "")
    if not number or not UPDATES.search(call.name):
        return None
    return Task(number, text_in(given, STATUS) or "")


def plan_in(call: ToolCall) -> str:
    """The plan that a call tells as an argument; else nothing."""
    return (text_in(by_name(call.arguments), PLAN) or "") if is_object(call.arguments) else ""


def plan_of(change: Change) -> str:
    """The plan that is all of a file from then on; else nothing."""
    return change.after if change.before is None and PLAN_FILE.search(change.path) else ""
