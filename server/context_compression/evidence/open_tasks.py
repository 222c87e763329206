"""What is open: tasks, questions of tool calls, and what was last.

Open tasks are the open items in lists of tasks, checklists in texts, and the last plan's headings.
Without them an agent repeats finished work or forgets unfinished work. A plan that the user refused
has no open tasks, nor has a list that a later list replaced.

What a call asks for (a text that it names, a search, the output of a program) is told by its
arguments, then by the words in the tool's name, in any spelling. Programs of a shell command are
told apart by their names: `cat src/a.py` asks for a text, and `make` does not.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias

from context_compression.conversation.labels import NEWLINE, Span, sections
from context_compression.conversation.messages import (
    Block,
    Message,
    Text,
    ToolCall,
    ToolResult,
    is_array,
    is_object,
    strings_in,
)
from context_compression.evidence.facts import commands_of, has_failed, outcome_lines
from context_compression.evidence.files import Outdated
from context_compression.evidence.ledger.actions import (
    PATH_LISTS,
    PATHS,
    QUESTIONS,
    SimpleCommand,
    by_name,
    steps,
    text_in,
    words,
)
from context_compression.evidence.ledger.tasks import TASK_TOOL, boxes_in, open_boxes

UNDO = re.compile(r"\bgit (?:-\S+ \S+ ){0,5}(?:checkout|restore|stash|reset|revert|clean)\b")
"""A command that takes changes back, or puts them aside."""


def last_outcome(messages: Sequence[Message]) -> int | None:
    """The index of the last message with a result that tells how a run ended, or `None`."""
    for index in range(len(messages) - 1, -1, -1):
        if any(outcome_lines(result.text) for result in messages[index].results):
            return index
    return None


def refused(messages: Sequence[Message]) -> frozenset[int]:
    """The indices of messages with commands that the harness did not run, and of its refusals.

    A refusal is a result that holds only what the harness repeats.
    """
    refusals = {
        result.call_id
        for message in messages
        for result in message.results
        if result.content
        and all(isinstance(part, Text) and part.by_harness for part in result.content)
    }
    return frozenset(
        index
        for index, message in enumerate(messages)
        if any(call.id in refusals for call in message.calls)
        or any(result.call_id in refusals for result in message.results)
    )


def last_undo(messages: Sequence[Message]) -> str | None:
    """The id of the last call that took changes back, or `None`."""
    for message in reversed(messages):
        for call in reversed(message.calls):
            if any(map(UNDO.search, commands_of(call))):
                return call.id
    return None


Kind: TypeAlias = Literal["text", "search", "output", "unknown"]
"""What is asked for: a text that the call names; places where something is; what a program prints;
or the question does not show it."""

ORDER: tuple[Kind, ...] = ("output", "search", "text")
"""Of the parts of a command, the first kind here counts."""
COMMANDS = words(
    "command cmd script commandline shellcommand bashcommand bash shell powershell commands"
)
"""Names of arguments that hold a shell command, as `plain_name` gives them."""
VERBS = words("action operation op method mode command subcommand")
"""Names of arguments that may hold a verb: `{"command": "view", "path": "a.py"}`."""
ADDRESSES = words("url urls uri uris href link links address")
SEARCHED = QUESTIONS | words("q search keywords searchterm searchquery glob globpattern")
SHELLS = words("bash shell sh zsh terminal powershell pwsh console cmd command exec execute run")
"""Words in the names of tools whose only text is a command."""

TEXT_WORDS = words(
    "read view open fetch cat get load show download retrieve display browse visit navigate goto"
    " scrape extract crawl inspect look see head tail dump content contents lire lis leer lee ler"
    " lesen lies leggi abrir ouvrir öffnen читать прочитать 读 读取 查看 打开 获取 読む 開く 읽기"
)
SEARCH_WORDS = words(
    "search grep rg find list ls glob query lookup tree dir match filter locate enumerate 搜索 查找"
)
OUTPUT_WORDS = words(
    "run exec execute test tests build compile install deploy lint check make start launch invoke"
    " output stdout console trace job ci watch wait poll monitor pytest npm cargo 运行 执行"
)
LOG_WORDS = words("log logs 日志")

READERS = words(
    "cat sed nl head tail less more bat batcat view tac rev zcat bzcat xzcat zstdcat gzcat zless"
    " gunzip unzip get-content gc type awk gawk mawk cut tr sort uniq fold fmt column paste join jq"
    " yq xmllint strings xxd od hexdump base64 pdftotext pandoc select-object tee diff cmp comm"
    " curl wget http invoke-webrequest iwr invoke-restmethod irm lynx w3m man tldr expand"
    " out-string format-list ft fl wc"
)
"""Programs that show a text that the command names, or only change how a text is shown."""
SEARCHERS = words(
    "ls dir find fd tree grep egrep fgrep rg ag ack locate which where whereis file stat du df"
    " select-string sls findstr get-childitem gci"
)
SILENT = words(
    "cd pushd popd set-location sl echo printf write-host write-output true false : test [ [["
    " sleep export set source . pwd date for in do done if fi esac case while until mkdir rm touch"
    " cp mv chmod ln cls clear exit return read local shopt unset alias select"
)
"""Programs and words of a shell that print nothing worth mentioning."""
GIT_TEXTS = words("show diff blame cat-file annotate")
GIT_SEARCHES = words("status log grep branch ls-files ls-tree rev-parse remote tag shortlog reflog")
WRAPPERS = words(
    "sudo doas timeout nice ionice time env nohup stdbuf unbuffer ssh docker podman kubectl oc wsl"
    " xargs cmd powershell pwsh bash sh zsh dash busybox command exec script watch poetry uv pipx"
)
"""Programs that run another one, which is named among their words."""
CODE = re.compile(r"\bopen\(|read_text|readFile|File\.read|file_get_contents|slurp")
"""What code that prints a file has in it."""
ONE_WORD = re.compile(r"[^\s\"'<>|]{2,1000}")
ENDING = re.compile(r"(?:\w|[^\x00-\x7f])\.[A-Za-z]\w{0,4}\Z")
WORD = re.compile(r"[^\W\d_]+")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
LONGEST_VERB = 40
DEEPEST = 3
"""How many commands within commands are read."""


def kind_of(call: ToolCall) -> Kind:
    """What a call asks for.

    `kind_of(ToolCall("1", "bash", {"command": "sed -n 1,80p a.py"}))` -> `"text"`
    """
    given = by_name(call.arguments) if is_object(call.arguments) else {}
    names = [*_words_of(call.name), *_verbs(given)]
    command = _command(call, given)
    shows = any(_by_word(name) == "text" for name in names) and SHELLS.isdisjoint(names)
    if command and not shows and not _is_verb(command, given):
        return of_command(command)
    names_text = any(isinstance(given.get(key), str) for key in PATHS | ADDRESSES)
    if not names_text and not LOG_WORDS.isdisjoint(names):
        return "output"
    for kind in map(_by_word, names):
        if kind is not None:
            return kind
    if names_text or not given.keys().isdisjoint(PATH_LISTS | ADDRESSES):
        return "text"
    if not given.keys().isdisjoint(SEARCHED):
        return "search"
    return "text" if any(map(_is_place, given.values())) else "unknown"


def question_of(call: ToolCall) -> Sequence[Any]:
    """What tells whether two calls ask the same: the tool, and the command or all arguments.

    Words about the call, such as a description, do not matter.
    """
    given = by_name(call.arguments) if is_object(call.arguments) else {"input": call.arguments}
    if command := _command(call, given):
        places = {key: given[key] for key in given if key in PATHS}
        return [call.name, command.strip(), places]
    beside = words("description explanation reason thought timeout title justification")
    return [call.name, {key: given[key] for key in sorted(given) if key not in beside}]


def of_command(command: str, depth: int = 0) -> Kind:
    """What a shell command asks for: an output if one of its programs is not known to show texts.

    `of_command("cd src && cat a.py | head -50")` -> `"text"`
    """
    kinds = {kind for step in steps(command) if (kind := _of_step(step, depth))}
    for kind in ORDER:
        if kind in kinds:
            return kind
    return "unknown"


def _of_step(step: SimpleCommand, depth: int) -> Kind | None:
    """What one program prints; `None` for nothing."""
    if any(sign in (">", ">>", "&>", "1>", "&>>", ">|") for sign, _ in step.redirects):
        return None
    verb = step.verb.removesuffix(".exe")
    if verb in SILENT or not step.words:
        return None
    return _of_words(verb, step.words[1:], depth)


def _of_words(verb: str, rest: Sequence[str], depth: int) -> Kind:
    if verb == "git":
        named = next((word for word in rest if word in GIT_TEXTS or word in GIT_SEARCHES), "")
        return "text" if named in GIT_TEXTS else "search" if named else "output"
    if verb == "find" and "-exec" in rest:
        at = [*rest].index("-exec") + 1
        return _of_words(_verb(rest[at]), rest[at + 1 :], depth) if at < len(rest) else "search"
    if verb == "gh":
        return "text" if {"view", "diff", "api"} & {*rest} else "output"
    if verb in READERS:
        return "text"
    if verb in SEARCHERS:
        return "search"
    if "--help" in rest or any(CODE.search(word) for word in rest if " " in word or "(" in word):
        return "text"
    if verb in WRAPPERS or verb.startswith("-"):
        return _within(rest, depth)
    return "output"


def _within(rest: Sequence[str], depth: int) -> Kind:
    """What the command among the words of another one prints."""
    for at, word in enumerate(rest):
        if " " in word and depth < DEEPEST:
            return of_command(word, depth + 1)
        verb = _verb(word)
        if verb in READERS or verb in SEARCHERS or verb == "git":
            return _of_words(verb, rest[at + 1 :], depth)
    return "output"


def _verb(word: str) -> str:
    return re.split(r"[/\\]", word)[-1].lower().removesuffix(".exe")


def _words_of(name: str) -> list[str]:
    """`_words_of("mcp__files__readTextFile")` -> `["read", "text", "file"]`."""
    return [word.lower() for word in WORD.findall(CAMEL.sub(" ", name.rpartition("__")[2]))]


def _by_word(word: str) -> Kind | None:
    if word in TEXT_WORDS:
        return "text"
    if word in SEARCH_WORDS:
        return "search"
    return "output" if word in OUTPUT_WORDS or word in LOG_WORDS else None


def _verbs(given: Mapping[str, Any]) -> Iterator[str]:
    for key, value in given.items():
        if key in VERBS and isinstance(value, str) and len(value) <= LONGEST_VERB:
            yield from _words_of(value)


def _is_place(value: Any) -> bool:
    """Whether an argument is a path or an address, whatever its name."""
    if not isinstance(value, str) or not ONE_WORD.fullmatch(value):
        return False
    return "/" in value or "\\" in value or ENDING.search(value) is not None


def _command(call: ToolCall, given: Mapping[str, Any]) -> str:
    """The shell command of a call, or ""."""
    for key in given:
        value = given[key]
        if key in COMMANDS and (isinstance(value, str) or is_array(value)):
            more = given.get("args", given.get("arguments"))
            parts = [*strings_in(value), *(strings_in(more) if is_array(more) else ())]
            return " ".join(parts)
    if SHELLS.isdisjoint(_words_of(call.name)):
        return ""
    texts = [call.arguments] if isinstance(call.arguments, str) else given.values()
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _is_verb(command: str, given: Mapping[str, Any]) -> bool:
    """Whether a command is one of a tool, such as `view`, and not of a shell."""
    names_text = not given.keys().isdisjoint(PATHS | PATH_LISTS | ADDRESSES)
    return names_text and re.fullmatch(r"[A-Za-z_]+", command.strip()) is not None


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


class OpenTasks:
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
