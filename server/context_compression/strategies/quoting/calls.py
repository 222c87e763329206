"""What a tool call says: its label, its line, and its long arguments."""

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
"""Names of arguments that say what a call is about; a command does in any case."""


class LongArgument(NamedTuple):
    """An argument of a call that does not stand on its line."""

    name: str
    text: str


class CallTexts(NamedTuple):
    """What a call says.

    Attributes:
        label: its tool and what it is about: `Bash: git status --short`.
        line: its short arguments on one line, what it is about first, if that is short.
        has_topic: whether the line holds what the call is about, as the label does.
        long: its other arguments.
    """

    label: str
    line: str
    has_topic: bool
    long: tuple[LongArgument, ...]


def call_texts(call: ToolCall) -> CallTexts:
    """What a call says; arguments of several lines are long, too, and empty ones left out."""
    arguments = _arguments(call)
    with_letters = [each for each in arguments if any(map(str.isalpha, each[1]))]
    # a number names nothing
    about = next((e for e in with_letters if MAIN.fullmatch(e[0])), (*with_letters, ("", ""))[0])
    main = next(commands_of(call), "") or about[1]
    first_line = main.strip().partition(NEWLINE)[0]
    label = call.name
    if first_line:
        label = f"{call.name}: {shortened(first_line, measured.LABEL_CHARS)}"
    long = tuple(LongArgument(one_line(name), text) for name, text in arguments if is_long(text))
    short = (each for each in arguments if not is_long(each[1]))
    line = SEPARATOR.join(
        f"{name} {text}" if is_before(name) or is_after(name) else text
        for name, text in sorted(short, key=lambda each: each is not about)
    )
    return CallTexts(one_line(label), one_line(line), not (long and is_long(main)), long)


def _arguments(call: ToolCall) -> list[tuple[str, str]]:
    """The texts of a call's arguments, each with its name; a list of tasks is one text."""
    list_name, entries = list_in(call) or ("", ())
    tasks = [task.line for task in entries if task]
    as_list = 0 < len(tasks) == len(entries)
    rest = call.arguments
    if as_list:
        rest = {name: value for name, value in call.arguments.items() if name != list_name}
    lists = [(list_name, NEWLINE.join(tasks))] if as_list else []
    return [(name or "argument", text) for name, text in (*named_strings(rest), *lists) if text]


def call_of(block: Block) -> str | None:
    """The id of the call that a block is or answers."""
    match block:
        case ToolCall():
            return block.id
        case ToolResult():
            return block.call_id
        case _:
            return None


def weight_of(name: str) -> float:
    """Times which evidence counts in an argument of this name."""
    return planning.OUTDATED_WEIGHT if is_before(name) else 1.0


def is_long(argument: str) -> bool:
    """Whether an argument does not stand on the line of its call."""
    return len(argument) > measured.ARGUMENT_CHARS or NEWLINE in argument


def one_line(text: str) -> str:
    """A text without line breaks of any kind, which would end a label."""
    return " ".join(text.splitlines())
