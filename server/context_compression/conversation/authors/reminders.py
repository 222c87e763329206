"""What a harness repeats with role user: it is not the user's rule, and its last copy is enough.

Format errors, reminders and `continue` are recognised by their repetition in the conversation; the
numbers in them may differ. A user repeats short requests, too, so a short text also needs a mark of
a harness: a tag, the word `reminder`, or its place, always behind results that nobody answered yet.
That an answer had no command is also recognised by its words.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from context_compression.conversation.cache_marks import BY_USER
from context_compression.conversation.messages import Message, Text, as_object

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
MARKED = re.compile(
    r"[<\[]|\W*(?:(?:friendly |system )?(?:reminder|erinnerung|rappel|recordatorio|promemoria"
    r"|lembrete|herinnering|напоминание|przypomnienie)\b|提醒|リマインダー|알림"
    r"|(?:note|notice|warning|error|system|step|turn|iteration|time|budget|tokens?"
    r"|hinweis|warnung|schritt|avertissement|attention|nota|aviso|paso|étape|внимание|шаг)\b"
    r"(?: \w+){0,3} ?(?:[:：]|#?\d)|(?:注意|警告|システム|系统)[:：])",
    re.IGNORECASE,
)
"""How a short text of a harness begins, in which it may put another number each time. A person asks
for `part 1` and `part 2` in the same words, and begins with `System tests must pass`."""


def shape_of(text: str) -> str:
    """A text with one blank for all white space; 0 for each number if a harness may count there."""
    shape = " ".join(text.split())
    counts = len(shape) >= LONG_CHARS or MARKED.match(shape)
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
    answered = {s for (index, _), s in shapes.items() if not _behind_results(messages, index)}
    asked = {next(iter(shapes.values()), "")}
    if shapes and times[last := shapes[max(shapes)]] < REPEATED:
        asked.add(last)
    reminders = {
        place
        for place, shape in shapes.items()
        if (shape not in asked and _recurs(shape, times, by_place=shape not in answered))
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
            shape = message.text if _is_known(message) else shape_of(message.text)
            if shape in last:
                earlier.add(last[shape])
            last[shape] = index
    return earlier


def _is_known(message: Message) -> bool:
    """Whether a framework says that the user wrote none of it; then its numbers may be results."""
    return any(as_object(getattr(b, "source", None)).get(BY_USER) is False for b in message.blocks)


def _recurs(shape: str, times: Counter[str], *, by_place: bool) -> bool:
    """Whether a text is repeated as only a harness repeats it.

    `by_place` says that each time it stands where a harness puts it.
    """
    if len(shape) >= LONG_CHARS:
        return times[shape] >= LONG_REPEATED
    marked = by_place or MARKED.match(shape) is not None
    is_harness = len(shape) >= SHORT_CHARS and marked
    return times[shape] >= REPEATED and (is_harness or bool(GO_ON.fullmatch(shape)))


def _behind_results(messages: Sequence[Message], index: int) -> bool:
    """Whether a message holds results, or follows some before the model has answered them."""
    before = messages[index - 1] if index else messages[index]
    return bool(messages[index].results or before.results)


def _refuses(shape: str, before: Message) -> bool:
    """Whether a text says that the answer before it had no command, or too many."""
    answered = before.role == "assistant" and not before.calls
    return answered and len(shape) >= SHORT_CHARS and bool(REFUSAL.search(shape[:REFUSAL_CHARS]))
