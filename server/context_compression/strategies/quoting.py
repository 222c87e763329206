"""Quotes of dropped messages, in order, each labelled with who said it or which call it is of."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from context_compression.messages import (
    COMPRESSED,
    Block,
    Message,
    Text,
    ToolCall,
    ToolResult,
    named_strings,
    user,
)
from context_compression.pieces import NEWLINE, render
from context_compression.plan import Plan, ref_of
from context_compression.strategies.tool_results import Slots

ARGUMENT_CHARS = 240
"""Characters of a call's argument above which it is long: the call of an old step keeps no more."""
SEPARATOR = " · "
CALL_CHARS = 80
"""Characters of a call's line that stand in the labels of what belongs to it."""
LABEL = 12
"""Tokens of a label, about, without the call it names."""


class CallTexts(NamedTuple):
    """What a call says.

    Attributes:
        label: its tool and the beginning of its line: `Bash: git status --short`.
        line: its short arguments, on one line.
        long: its other arguments, each with its name.
    """

    label: str
    line: str
    long: Mapping[str, str]


class Quoting:
    """Quotes messages of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @cached_property
    def calls(self) -> Mapping[str, CallTexts]:
        """What each call says, by its id."""
        return {call.id: call_texts(call) for m in self.plan.messages for call in m.calls}

    def texts(self, block: Block) -> Iterator[tuple[str, str, int]]:
        """Each text of a block that may be quoted, its key, and what its label costs in tokens.

        The key is empty but for a call, which has several texts: there it is the text itself.
        """
        match block:
            case ToolCall():
                call = self.calls[block.id]
                if len(call.line) > 3:
                    yield call.line, call.line, LABEL
                for text in call.long:
                    yield text, text, LABEL + len(call.label) // 4
            case ToolResult() if block.text.strip():
                call = self.calls.get(block.call_id)
                yield block.text, "", LABEL + (len(call.label) // 4 if call else 0)
            case Text() if block.text.strip():
                yield block.text, "", LABEL
            case _:
                return

    def note(self, indices: Sequence[int], quoted: dict[int, Slots]) -> Message:
        """A message of ours with excerpts of some messages; they are taken out of `quoted`."""
        note = f"{COMPRESSED} Excerpts of earlier messages, quoted as data:"
        above: Block | None = None
        for before, index in zip([None, *indices], indices, strict=False):
            between = 0 if before is None else index - before - 1
            if between:
                note += f"\n[… {between} message{'s' * (between > 1)}]"
            message, slots = self.plan.messages[index], quoted.pop(index)
            for slot, block in enumerate(message.blocks):
                for text, key, _ in self.texts(block):
                    if spans := slots.get((slot, key)):
                        told = call_of(above) == call_of(block)
                        label = self.label(message, block, key, told=told)
                        text = render(text, spans)
                        note += f"\n[{label}]{NEWLINE if NEWLINE in text else ' '}{text}"
                        above = block
        return user(note)

    def label(self, message: Message, block: Block, key: str, *, told: bool) -> str:
        """Who said a text: `User`, `Bash`, `Edit: a.py; old_string`, `Result of Bash: ls; ref …`.

        Args:
            message: the one quoted.
            block: which of its blocks.
            key: which text of a call.
            told: whether the call is named just above.
        """
        match block:
            case ToolCall():
                call = self.calls[block.id]
                if key == call.line or not (call.line or len(call.long) > 1):
                    return block.name
                name = call.long[key]
                return name if told else f"{call.label}; {name}"
            case ToolResult():
                call = self.calls.get(block.call_id)
                of = f" of {call.label if call else 'a tool'}" * (not told)
                return f"Result{of}; ref {ref_of(block.text)}"
            case _:
                return message.role.capitalize()


def call_of(block: Block | None) -> str | None:
    """The id of the call that a block is or answers."""
    match block:
        case ToolCall():
            return block.id
        case ToolResult():
            return block.call_id
        case _:
            return None


def call_texts(call: ToolCall) -> CallTexts:
    """What a call says; arguments of several lines are long, too."""
    short, long = list[str](), dict[str, str]()
    for name, text in named_strings(call.arguments):
        if len(text) > ARGUMENT_CHARS or NEWLINE in text:
            long[text] = shortened(name or "argument")
        else:
            short.append(text)
    line = SEPARATOR.join(short)
    return CallTexts(shortened(f"{call.name}: {line}" if line else call.name), line, long)


def shortened(text: str) -> str:
    """Its beginning and its end: of a path the file's name tells most."""
    if len(text) <= CALL_CHARS:
        return text
    return f"{text[: CALL_CHARS // 2]}…{text[-CALL_CHARS // 2 :]}"
