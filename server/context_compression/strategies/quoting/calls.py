"""The texts of a tool call: its label, its line, and its long arguments."""

import re
from typing import NamedTuple

from context_compression.conversation.messages import Block, ToolCall, ToolResult, named_strings
from context_compression.conversation.rendering import NEWLINE
from context_compression.evidence.facts import commands_of
from context_compression.evidence.ledger.changes import is_after, is_before
from context_compression.evidence.ledger.tasks import list_in
from context_compression.planning import measured as planning
from context_compression.planning.selection import shortened
from context_compression.strategies import measured

SEPARATOR = " · "
MAIN = re.compile(
    r"(?:.*_)?(?:path|file|filename|pattern|query|url)s?|.*(?:Path|File|Pattern|Query|Url)s?"
)
"""Names of arguments that hold the topic of a call; a command is always the topic."""


class LongArgument(NamedTuple):
    """An argument of a call that is not on its line."""

    name: str
    text: str


class CallTexts(NamedTuple):
    """The texts of a call.

    Attributes:
        label: its tool and its topic: `Bash: git status --short`.
        line: its short arguments on one line; the topic comes first, if it is short.
        has_topic: whether the line holds the topic, as the label does.
        long: its other arguments.
    """

    label: str
    line: str
    has_topic: bool
    long: tuple[LongArgument, ...]


def call_texts(call: ToolCall) -> CallTexts:
    """The texts of a call; arguments of several lines are long, and empty ones are left out."""
    arguments = _arguments(call)
    with_letters = [each for each in arguments if any(map(str.isalpha, each[1]))]
    # an argument without letters is not a topic
    about = next((e for e in with_letters if MAIN.fullmatch(e[0])), (*with_letters, ("", ""))[0])
    main = next(commands_of(call), "") or about[1]
    lines = (line.strip() for line in main.split(NEWLINE))
    first_line = next((line for line in lines if any(map(str.isalnum, line))), main.strip())
    label = call.name
    if first_line:
        label = f"{call.name}: {shortened(first_line, measured.LABEL_CHARS)}"
    long = tuple(
        LongArgument(without_line_breaks(name), text) for name, text in arguments if is_long(text)
    )
    short = (each for each in arguments if not is_long(each[1]))
    line = SEPARATOR.join(
        f"{name} {text}" if is_before(name) or is_after(name) else text
        for name, text in sorted(short, key=lambda each: each is not about)
    )
    return CallTexts(
        without_line_breaks(label), without_line_breaks(line), not (long and is_long(main)), long
    )


def _arguments(call: ToolCall) -> list[tuple[str, str]]:
    """The names and texts of a call's arguments; a list of tasks becomes one text."""
    list_name, entries = list_in(call) or ("", ())
    tasks = [task.line for task in entries if task]
    as_list = 0 < len(tasks) == len(entries)
    rest = call.arguments
    if as_list:
        rest = {name: value for name, value in call.arguments.items() if name != list_name}
    lists = [(list_name, NEWLINE.join(tasks))] if as_list else []
    return [(name or "argument", text) for name, text in (*named_strings(rest), *lists) if text]


def call_of(block: Block) -> str | None:
    """The id of the call that a block is or answers; `None` for other blocks."""
    match block:
        case ToolCall():
            return block.id
        case ToolResult():
            return block.call_id
        case _:
            return None


def weight_of(name: str) -> float:
    """The factor for the evidence in an argument of this name."""
    return planning.OUTDATED_WEIGHT if is_before(name) else 1.0


def is_long(argument: str) -> bool:
    """Whether an argument is too long for the line of its call."""
    return len(argument) > measured.ARGUMENT_CHARS or NEWLINE in argument


def without_line_breaks(text: str) -> str:
    """A text without line breaks of any kind, which would end a label."""
    return " ".join(text.splitlines())
