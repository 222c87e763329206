"""Tasks in calls and in checklists (`- [ ] port the letters`), and outcomes in the output of tools.

Tasks are recognised by the names of tools and arguments, as in Claude Code, Codex, opencode, Gemini
CLI, Cursor, Roo Code, Cline and OpenHands. A list may be an array, or a text with one task a line.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from context_compression.conversation.labels import Span
from context_compression.conversation.messages import (
    ToolCall,
    ToolResult,
    is_array,
    is_object,
    strings_in,
)
from context_compression.evidence import constraints
from context_compression.evidence import facts as evidence
from context_compression.evidence.facts import has_failed
from context_compression.evidence.ledger.actions import by_name, plain_name, words
from context_compression.evidence.outcome_words import counted, outcomes
from context_compression.evidence.redaction import beginning

TICKS = "✅☑✔✓☒🗹"
BOXES = "☐⬜🔲◻□▢"
TICKED = re.compile(
    rf"\s*(?:(?:[-*+•]|\d+[.)])\s+)?(?:\*\*)?(?:\[(?:[xX✓✔✅]|done)\]|[{TICKS}]|~~.+~~\s*\Z)"
)
"""The beginning of a text that is a finished task."""
BOX = re.compile(
    rf"[ \t]*(?:>[ \t]*)?(?:(?:[-*+•]|\d+[.)])[ \t]+)?(?:\[(?P<mark>[ xX✓✔✅~/>-]?)\][ \t]+"
    rf"|(?P<sign>[{TICKS}{BOXES}])\ufe0f?[ \t]+)(?P<what>\S[^\n]*)"
)
"""A line of a checklist. Roo Code marks begun tasks with `[-]`."""
ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+(?=\S)")
FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
LEAST_BOXES = 2
"""The fewest lines with a box that make a checklist."""


class Box(NamedTuple):
    """A line of a checklist: its place in the text, its task, and whether it is ticked."""

    span: Span
    what: str
    ticked: bool


def boxes_in(text: str) -> Sequence[Box]:
    """The lines of the checklist in a text, without quoted blocks; empty if it has none."""
    if "[" not in text and not any(sign in text for sign in TICKS + BOXES):
        return ()
    found: list[Box] = []
    start, fenced = 0, False
    for line in text.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and (box := BOX.fullmatch(line.rstrip())):
            ticked = (box["mark"] or "") in "xX✓✔✅" and bool(box["mark"])
            ticked = ticked or (box["sign"] or " ") in TICKS
            begin = start + len(line) - len(line.lstrip())
            span = begin, start + len(line.rstrip())
            found.append(Box(span, " ".join(box["what"].split()), ticked))
        start += len(line) + 1
    return found if len(found) >= LEAST_BOXES or _is_all(text, found) else ()


def _is_all(text: str, boxes: Sequence[Box]) -> bool:
    """Whether a text consists only of its boxes."""
    return len(boxes) == len([line for line in text.split("\n") if line.strip()])


def entries_of(text: str) -> Sequence[Any]:
    """The tasks in an argument that is a text: a list in JSON, or lines with boxes or bullets.

    Empty if the text is no such list.
    """
    if text.lstrip().startswith("["):
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            given = None
        if is_array(given):
            return given
    if boxes := boxes_in(text):
        return [text[start:stop] for start, stop in (box.span for box in boxes)]
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return lines if len(lines) >= LEAST_BOXES and all(map(ITEM.match, lines)) else ()


def open_boxes(texts: Sequence[str]) -> Mapping[str, Sequence[Span]]:
    """The spans of the open tasks in the checklists of some texts, by text.

    Of a task in several checklists the newest box counts. A checklist that a newer one continues
    has no open tasks.
    """
    known: set[str] = set()
    found: dict[str, Sequence[Span]] = {}
    for text in reversed(texts):
        boxes = () if text in found else boxes_in(text)
        if boxes and known.isdisjoint(box.what for box in boxes):
            found[text] = [box.span for box in boxes if not box.ticked]
        known.update(box.what for box in boxes)
    return found


MOST_LINES = 20
"""How many error lines are taken from one output: the last ones, because errors are at the end."""
NEEDLES = (*evidence.ERROR_WORDS, "fail:", "err!")
REPORT = re.compile(
    r"\b\w*(?:Error|Exception)\b\s*(?:[:(]|$)|\b[Ee]rror\b(?:\[\w+\]| \w+\d)?\s*[:!]|\s error\s "
    r"|\bERR!|\b(?:ERROR|FAIL|FAILED|FAILURE|Traceback)\b|\b(?:fatal|panic|undefined):|\bfailed\b"
    r"|command not found|No such file|[Pp]ermission denied|\bcannot |\bnot found\b|[✗✖]"
    r"|\brefused\b|\btimed out\b|[Oo]ut of memory|[Nn]o space left|Segmentation fault|core dumped"
)
CODE = re.compile(
    r"^(?:\d+\s*[-+│|→]|[-+]\s|[\"'{]|\[\{|//|\*|#|--\w)"
    r"|^(?:\} )?(?:throw|return|catch|except|raise|if|for|const|let|func|def|assert|import)\b"
    r"|[;{]$|=> |\bnew Error\("
)
WORDS = {
    "failed": "failed fail failing failures failure",
    "errors": "errors error",
    "passed": "passed pass passing",
    "skipped": "skipped skip ignored pending todo",
}
NAME = {word: name for name, words in WORDS.items() for word in words.split()}
COUNT = re.compile(
    rf"\b(?<!\d,)(\d{{1,3}}(?:,\d{{3}})+|\d+) ({'|'.join(NAME)})\b"
    r"(?=\W*$|\s*[,;|)(]| in | tests?\b)",
    re.I,
)
NODE = re.compile(r"^(?:#|ℹ) (pass|fail|skipped|todo) (\d+)$", re.M)
UNITTEST = re.compile(r"^Ran (\d+) tests? in [\d.]+s\s+(?:OK|FAILED)(?: \((.*)\))?", re.M)
GO_TEST = re.compile(r"^--- (PASS|FAIL|SKIP): ", re.M)
GO_PACKAGE = re.compile(r"^(?:(ok)[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\))|FAIL\t\S)", re.M)


def test_counts(text: str) -> str:
    """`"3 failed, 12 passed"` from the output of a test runner; `""` if it has no counts.

    Known forms: pytest, unittest, jest, vitest, mocha, bun, node, cargo, go, and any `N passed`.
    """
    counts = (
        _summed_up(text)
        or {NAME[word]: int(number) for word, number in NODE.findall(text)}
        or _unittest(text)
        or _go(text)
        or _elsewhere(text)
    )
    shown = [f"{counts[name]} {name}" for name in (*WORDS, "packages ok") if counts.get(name)]
    return ", ".join(shown) or ("0 passed" if counts else "")


def _summed_up(text: str) -> dict[str, int]:
    """Numbers before words, from the line with the totals, else the last number of each word."""
    counts: dict[str, int] = {}
    final = False
    for start, stop in evidence.lines_with(text, ("pass", "fail")):
        line = beginning(text[start:stop].strip(), constraints.LONGEST_LINE)
        numbers = {NAME[w.lower()]: int(n.replace(",", "")) for n, w in COUNT.findall(line)}
        if line.startswith("test result:"):  # cargo: a line for each target
            before = counts if final else {}
            counts = before | {name: before.get(name, 0) + n for name, n in numbers.items()}
            final = True
        elif numbers and re.match(r"Tests:?\s", line):  # jest, vitest; the line before counts files
            counts, final = numbers, True
        elif not final:
            counts |= numbers
    return counts


def _elsewhere(text: str) -> dict[str, int]:
    """Numbers in another language, the last one of each kind."""
    begin = max(0, len(text) - evidence.ENDING_CHARS)
    counts: dict[str, int] = {}
    for start, stop in outcomes(text, begin):
        counts |= counted(text[start:stop])
    return counts


def _unittest(text: str) -> dict[str, int]:
    if not (summary := UNITTEST.search(text)):
        return {}
    counts = {
        NAME.get(word, "skipped"): int(number)
        for word, number in re.findall(r"(?<!\w)(\w++)=(\d+)", summary[2] or "")
    }
    return counts | {"passed": int(summary[1]) - sum(counts.values())}


def _go(text: str) -> dict[str, int]:
    tests = GO_TEST.findall(text)
    packages = GO_PACKAGE.findall(text)
    counts = {NAME[word.lower()]: tests.count(word) for word in tests}
    if packages:
        counts.setdefault("failed", packages.count(""))
        if "passed" not in counts:
            counts["packages ok"] = packages.count("ok")
    return counts


def reported_errors(text: str, failed: bool) -> list[str]:
    """The last lines that report an error, in order, at most `MOST_LINES`.

    Other lines with such a word are left out: code that handles errors, help texts, `0 errors`.

    Args:
        text: the output of a tool.
        failed: whether the call failed; if it did not, a line must have the form of a report.
    """
    spans = evidence.failures_in(text, NEEDLES)
    lines = [beginning(text[a:b].strip(), constraints.LONGEST_LINE) for a, b in spans]
    lines = [line for line in lines if not CODE.search(line)]
    reports = [line for line in lines if REPORT.search(line) or evidence.fails_elsewhere(line)]
    reports = reports or (lines if failed else [])
    return list(dict.fromkeys(reversed(reports)))[:MOST_LINES][::-1]


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
STATUS, NUMBERS, TICKED_KEYS = (
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
    ticked = any(given.get(name) is True for name in TICKED_KEYS)
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
