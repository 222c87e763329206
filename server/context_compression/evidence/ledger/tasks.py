"""The tasks that calls tell, all of them anew or one by one, and which of them are still open.

By the names of tools and arguments, as hosts have them: Claude Code, Codex, opencode, Gemini CLI,
Cursor.
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
from context_compression.evidence.ledger.file_actions import by_name, plain_name, words

LISTS = words("todos todolist plan")
WHAT = ("content", "step", "subject", "title", "text", "task", "todo", "name", "description")
"""Names under which a task says what is to be done, the shortest words first."""
STATUS, NUMBERS, TICKS = ("status", "state"), ("taskid", "id"), words("done completed finished")
LEFT_OUT = words("activeform priority")
"""What a task says once more in other words, or what tells little."""
CREATES = re.compile(r"task_?create|(?:create|add|new)_?task", re.IGNORECASE)
UPDATES = re.compile(r"task_?update|update_?task", re.IGNORECASE)
ENDS = re.compile(r"(?:complete|finish|delete|remove)_?task", re.IGNORECASE)
"""Whole names of tools that tell one task, what became of one, and that one is no more."""
ENDED = re.compile(
    r"\W*(?:(?:completed?|done|finished|closed|fixed|resolved|merged|passed|superseded|obsolete)\b"
    r"|x\]|cancel|delet|remov|skip|abandon|success|已?完成|已?取消)|[✅☑✔]",
    re.IGNORECASE,
)
"""How the status of a task begins of which nothing is left to do."""
TICKED = re.compile(r"\s*(?:[-*+] )?\[[xX]\]")
"""How a text begins that is a task which is done."""
NUMBER = re.compile(r"#(\d+)")
"""How a tool that was told a task answers which number it has."""
MOST_OPEN = 60
"""Tasks of one call, from its beginning, that count as open."""


class Task(NamedTuple):
    """What is to be done, how far it is, how it is called elsewhere, and what else is told."""

    what: str
    status: str = ""
    number: str = ""
    more: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether something of it is left to do."""
        return not ENDED.match(self.status)

    @property
    def line(self) -> str:
        """`pending: run the tests · 7`."""
        said = " · ".join(_joined(text) for text in (self.what, self.number, *self.more) if text)
        return f"{_joined(self.status)}: {said}" if self.status else said


class Tasks(NamedTuple):
    """What became of the tasks that some calls told.

    Attributes:
        open: for each call the open tasks it told last, as they stand in its texts, by its id.
        replaced: the ids of calls of which nothing is left to do, as later ones said.
        all_anew: whether some call told all of them: what was told before is so no more.
    """

    open: Mapping[str, Sequence[str]]
    replaced: frozenset[str]
    all_anew: bool


def list_in(call: ToolCall) -> tuple[str, Sequence[Task | None]] | None:
    """The list of tasks that a call tells, and the name of its argument; `None`: it tells none.

    In it `None` stands for what is no task.
    """
    for name, value in call.arguments.items() if is_object(call.arguments) else ():
        if plain_name(name) in LISTS and is_array(value):
            return name, [*map(_task, value)]
    return None


def tasks_of(calls: Iterable[ToolCall], results: Mapping[str, ToolResult]) -> Tasks:
    """What became of the tasks that calls told; those that failed told nothing.

    A list stands in place of the ones before by the same tool, or changes them where it is merged.
    """
    lists: dict[str, dict[str, tuple[str, str]]] = {}  # by tool: its open tasks, and whose they are
    since: dict[str, list[str]] = {}  # by tool: the calls that told them
    single: dict[str, tuple[str, str]] = {}  # by number
    replaced: set[str] = set()
    all_anew = False
    for call in calls:
        result = results.get(call.id)
        if result is None or has_failed(result):
            continue
        if found := list_in(call):
            if call.arguments.get("merge") is not True:
                all_anew = True
                replaced.update(since.pop(call.name, ()))
                lists[call.name] = {}
            since.setdefault(call.name, []).append(call.id)
            known = lists.setdefault(call.name, {})
            for task in filter(None, found[1]):
                before = known.pop(task.number or task.what, None)
                if task.is_open and (now := (call.id, task.line) if task.what else before):
                    known[task.number or task.what] = now
        elif CREATES.fullmatch(call.name) and (task := _task(call.arguments)):
            if number := NUMBER.search(result.text):
                single[number[1]] = call.id, _joined(task.what)
        elif (update := _update(call)) and not update.is_open and update.number in single:
            replaced.add(single.pop(update.number)[0])
    still: dict[str, list[str]] = {}
    for id, line in (each for told in (*lists.values(), single) for each in told.values()):
        if len(still.setdefault(id, [])) < MOST_OPEN:
            still[id].append(line)
    return Tasks(still, frozenset(replaced), all_anew)


def _joined(text: str) -> str:
    """A text with single blanks in place of line breaks and other white space."""
    return " ".join(text.split())


def _task(told: Any) -> Task | None:
    """A task, whatever it is told as; `None` where nothing says what is to be done."""
    if isinstance(told, str):
        return Task(told, "completed" if TICKED.match(told) else "") if told.strip() else None
    if not is_object(told):
        return None
    given = by_name(told)
    ticked = any(given.get(name) is True for name in TICKS)
    status = _first(given, STATUS) or ("completed" if ticked else "")
    what, number = _first(given, WHAT), _first(given, NUMBERS)
    rest = strings_in([value for name, value in given.items() if name not in LEFT_OUT])
    more = tuple(text for text in rest if text not in (what, number, status))
    return Task(what, status, number, more) if what or (number and status) else None


def _update(call: ToolCall) -> Task | None:
    """What becomes of one task, where a call tells that."""
    given = by_name(call.arguments) if is_object(call.arguments) else {}
    number = _first(given, NUMBERS)
    if ENDS.fullmatch(call.name):
        return Task("", "done", number)
    return Task("", _first(given, STATUS), number) if UPDATES.fullmatch(call.name) else None


def _first(given: Mapping[str, Any], names: Iterable[str]) -> str:
    """The text, or the number, of the first of these names that has one."""
    found = (given[name] for name in names if isinstance(given.get(name), str | int))
    return next((str(v) for v in found if v is not True and v is not False and str(v).strip()), "")
