"""Tasks in calls, as full lists or one by one, and which of them are still open.

Tasks are recognised by the names of tools and arguments, as in Claude Code, Codex, opencode, Gemini
CLI, Cursor, Roo Code, Cline and OpenHands. A list may be an array, or a text with one task a line.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from context_compression.conversation.messages import (
    ToolCall,
    ToolResult,
    is_array,
    is_object,
    strings_in,
)
from context_compression.evidence.facts import has_failed
from context_compression.evidence.ledger.checklists import TICKED, entries_of
from context_compression.evidence.ledger.file_actions import by_name, plain_name, words

LISTS = words("todos todolist todoitems plan tasklist checklist taskprogress")
OTHER_LISTS = words("tasks todo items steps list")
"""The names of arguments with lists of tasks, and of arguments with such lists in `TASK_TOOL`s."""
TASK_TOOL = re.compile(
    r"todo|checklist|task_?(?:list|track|manage|progress|board)"
    r"|(?:update|write|set|manage|create|add)_?(?:tasks|plan)",
    re.IGNORECASE,
)
WITH_ANY_TOOL = "taskprogress"
"""The name of an argument of any tool with a list of tasks (Cline)."""
WHAT = ("content", "step", "subject", "title", "text", "task", "todo", "name", "description")
"""The keys of a task's title, those with the shortest texts first."""
STATUS, NUMBERS, TICKS = (
    ("status", "state"),
    ("taskid", "id"),
    words("done completed finished checked ticked isdone iscompleted"),
)
LEFT_OUT = words("activeform priority")
"""Keys of a task that repeat its title in other words, or add little."""
CREATES = re.compile(r"task_?create|(?:create|add|new)_?task", re.IGNORECASE)
UPDATES = re.compile(r"task_?update|update_?task", re.IGNORECASE)
ENDS = re.compile(r"(?:complete|finish|delete|remove)_?task", re.IGNORECASE)
"""The full names of tools that create, update and end a task."""
ENDED = re.compile(
    r"\W*(?:(?:completed?|done|finished|closed|fixed|resolved|merged|passed|superseded|obsolete"
    r"|erledigt|fertig|terminée?|faite?|hech[oa]|completad[oa]|concluíd[oa]|feito|готово|выполнен\w*"
    r"|zrobione|gedaan|klaar)\b"
    r"|x\]|cancel|delet|remov|skip|abandon|success|已?完成|已?取消|完了|済|완료)|[✅☑✔]",
    re.IGNORECASE,
)
"""The beginning of the status of a task that is not open."""
NUMBER = re.compile(r"#(\d+)")
"""The number of a new task in the result of the tool that created it."""
MOST_OPEN = 60
"""The most open tasks of one call; the rest of a longer list is left out."""


class Task(NamedTuple):
    """A task: its title, its status, its number, and its other texts."""

    what: str
    status: str = ""
    number: str = ""
    more: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether its status is not one of a finished or cancelled task."""
        return not ENDED.match(self.status)

    @property
    def line(self) -> str:
        """The task as one line: `pending: run the tests · 7`."""
        texts = (self.what, self.number, *self.more)
        line = " · ".join(_joined(text) for text in texts if text)
        return f"{_joined(self.status)}: {line}" if self.status else line


class Tasks(NamedTuple):
    """The state of the tasks in some calls.

    Attributes:
        open: for each call id, the open tasks whose latest text is in that call, as texts.
        replaced: the ids of calls whose tasks are all done or in later lists.
        has_full_list: whether a call wrote a full list, which replaces all tasks in earlier notes.
    """

    open: Mapping[str, Sequence[str]]
    replaced: frozenset[str]
    has_full_list: bool


def list_in(call: ToolCall) -> tuple[str, Sequence[Task | None]] | None:
    """The list of tasks in a call: `(name of the argument, tasks)`; `None` if it has no list.

    An item of the list that is not a task is `None`.
    """
    for name, value in call.arguments.items() if is_object(call.arguments) else ():
        if entries := _entries(call.name, plain_name(name), value):
            return name, [*map(_task, entries)]
        if plain_name(name) in LISTS and is_array(value):
            return name, ()
    return None


def _entries(tool: str, name: str, value: Any) -> Sequence[Any]:
    """The items of a list of tasks in an argument of a tool; empty if it is no such list."""
    if name not in LISTS and not (name in OTHER_LISTS and TASK_TOOL.search(tool)):
        return ()
    if is_array(value):
        return value
    is_plan = name == "plan"  # a plan in prose, of which `open_tasks` knows the headings
    return () if is_plan or not isinstance(value, str) else entries_of(value)


def tasks_of(calls: Iterable[ToolCall], results: Mapping[str, ToolResult]) -> Tasks:
    """The state of the tasks in some calls; calls that failed or have no result are skipped.

    A list replaces earlier lists of the same tool, or updates them if its call has `merge: true`.

    Args:
        calls: the calls, in order.
        results: their results, by call id.
    """
    lists: dict[str, dict[str, tuple[str, str]]] = {}  # tool -> task -> (call id, line)
    since: dict[str, list[str]] = {}  # tool -> ids of the calls since its last full list
    single: dict[str, tuple[str, str]] = {}  # number -> (call id, text)
    replaced: set[str] = set()
    has_full_list = False
    for call in calls:
        result = results.get(call.id)
        if result is None or has_failed(result):
            continue
        if task_list := list_in(call):
            name = plain_name(task_list[0])
            tool = name if name == WITH_ANY_TOOL else call.name
            if call.arguments.get("merge") is not True:
                has_full_list = True
                replaced.update(since.pop(tool, ()))
                lists[tool] = {}
            since.setdefault(tool, []).append(call.id)
            known = lists.setdefault(tool, {})
            for task in filter(None, task_list[1]):
                before = known.pop(task.number or task.what, None)
                if task.is_open and (now := (call.id, task.line) if task.what else before):
                    known[task.number or task.what] = now
        elif CREATES.fullmatch(call.name) and (task := _task(call.arguments)):
            if number := NUMBER.search(result.text):
                single[number[1]] = call.id, _joined(task.what)
        elif (update := _update(call)) and not update.is_open and update.number in single:
            replaced.add(single.pop(update.number)[0])
    still: dict[str, list[str]] = {}
    for id, line in (each for tasks in (*lists.values(), single) for each in tasks.values()):
        if len(still.setdefault(id, [])) < MOST_OPEN:
            still[id].append(line)
    return Tasks(still, frozenset(replaced), has_full_list)


def _joined(text: str) -> str:
    """A text with single blanks in place of line breaks and other white space."""
    return " ".join(text.split())


def _task(task: Any) -> Task | None:
    """A task from an item of a list, a text or an object; `None` if the item is not a task."""
    if isinstance(task, str):
        return Task(task, "completed" if TICKED.match(task) else "") if task.strip() else None
    if not is_object(task):
        return None
    given = by_name(task)
    ticked = any(given.get(name) is True for name in TICKS)
    status = _first(given, STATUS) or ("completed" if ticked else "")
    what, number = _first(given, WHAT), _first(given, NUMBERS)
    rest = strings_in([value for name, value in given.items() if name not in LEFT_OUT])
    more = tuple(text for text in rest if text not in (what, number, status))
    return Task(what, status, number, more) if what or (number and status) else None


def _update(call: ToolCall) -> Task | None:
    """The new status of one task, if a call sets one; else `None`."""
    given = by_name(call.arguments) if is_object(call.arguments) else {}
    number = _first(given, NUMBERS)
    if ENDS.fullmatch(call.name):
        return Task("", "done", number)
    return Task("", _first(given, STATUS), number) if UPDATES.fullmatch(call.name) else None


def _first(given: Mapping[str, Any], names: Iterable[str]) -> str:
    """The text or number of the first of these names that has one; else `""`."""
    values = (given[name] for name in names if isinstance(given.get(name), str | int))
    return next((str(v) for v in values if v is not True and v is not False and str(v).strip()), "")
