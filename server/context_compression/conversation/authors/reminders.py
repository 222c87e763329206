"""What a harness repeats with role user: it is not the user's rule, and its last copy is enough.

Format errors, reminders and `continue` are recognised by their repetition in the conversation; the
numbers in them may differ. That an answer had no command is also recognised by its words.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from context_compression.conversation.messages import Message, Text

REPEATED, LONG_REPEATED, LONG_CHARS = 3, 2, 200
"""How often a text stands with role user if a harness wrote it; the same for texts of at least
`LONG_CHARS` characters."""
SHORT_CHARS = 24
"""A text of fewer characters may be an answer of the user, however often it comes."""
GO_ON = re.compile(
    r"\W*(?:please )?(?:continue|go on|proceed|keep going|carry on|next|weiter|fortfahren"
    r"|continuez?|contin[uú]a|prosegui|продолжай(?:те)?|继续|続けて|계속)(?: please)?\W*",
    re.IGNORECASE,
)
REFUSAL = re.compile(
    r"(?:provide|format|include|contain|give|write|use|wrap)\b.{0,60}"
    r"\b(?:actions?|commands?|tool calls?|code blocks?|backticks)\b"
    r"|\b(?:no|zero|multiple|more than one|found \d+) (?:valid )?"
    r"(?:actions?|commands?|tool calls?|code blocks?)\b(?: found|\.| in your)"
    r"|\b(?:could not|couldn't|cannot|unable to|failed to) (?:parse|extract|find) .{0,30}"
    r"\b(?:action|command|tool call|response|output)\b",
    re.IGNORECASE | re.DOTALL,
)
"""What a harness says of an answer in which it finds no command, in the first `REFUSAL_CHARS`."""
REFUSAL_CHARS = 120
NUMBER = re.compile(r"(?<!\w)\d+")
"""A number that may count; one within a name tells names apart: `file_3.py`."""
NUMBERED = re.compile(
    r"\W*(?:reminder|note|notice|warning|error|system|step|turn|iteration|time|budget|tokens?)\b"
    r"|[<\[]",
    re.IGNORECASE,
)
"""How a short text begins in which a harness puts another number each time. A person may ask for
`part 1` and `part 2` in the same words."""


def shape_of(text: str) -> str:
    """A text with one blank for all white space; 0 for each number if a harness may count there."""
    shape = " ".join(text.split())
    counts = len(shape) >= LONG_CHARS or NUMBERED.match(shape)
    return NUMBER.sub("0", shape) if counts else shape


def with_reminders(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages, in which reminders are marked.

    The first request is not a reminder, nor is the last one if it stands only twice: a user sends a
    long request again if it was not answered well.
    """
    shapes = {
        (index, slot): shape_of(block.text)
        for index, message in enumerate(messages)
        if message.role == "user"
        for slot, block in enumerate(message.blocks)
        if isinstance(block, Text)
    }
    times = Counter(shapes.values())
    asked = {next(iter(shapes.values()), "")}
    if shapes and times[last := shapes[max(shapes)]] < REPEATED:
        asked.add(last)
    reminders = {
        place
        for place, shape in shapes.items()
        if (shape not in asked and _recurs(shape, times))
        or _refuses(shape, messages[max(0, place[0] - 1)])
    }
    holding = {index for index, _ in reminders}
    return tuple(
        replace(
            message,
            blocks=tuple(
                replace(block, by_harness=True) if (index, slot) in reminders else block
                for slot, block in enumerate(message.blocks)
            ),
        )
        if index in holding
        else message
        for index, message in enumerate(messages)
    )


def repeated_reminders(messages: Sequence[Message]) -> set[int]:
    """The indices of messages that hold only reminders, and that a later message repeats."""
    last: dict[str, int] = {}
    earlier: set[int] = set()
    for index, message in enumerate(messages):
        if message.is_reminder:
            shape = shape_of(message.text)
            if shape in last:
                earlier.add(last[shape])
            last[shape] = index
    return earlier


def _recurs(shape: str, times: Counter[str]) -> bool:
    """Whether a text is repeated as only a harness repeats it."""
    often = REPEATED if len(shape) < LONG_CHARS else LONG_REPEATED
    return times[shape] >= often and (len(shape) >= SHORT_CHARS or bool(GO_ON.fullmatch(shape)))


def _refuses(shape: str, before: Message) -> bool:
    """Whether a text says that the answer before it had no command, or too many."""
    answered = before.role == "assistant" and not before.calls
    return answered and len(shape) >= SHORT_CHARS and bool(REFUSAL.search(shape[:REFUSAL_CHARS]))
