"""What competes for the room of a view: texts that it leaves out, or shows a part of."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from context_compression.conversation.authors import all_of_answer, is_our_note, speech_spans
from context_compression.conversation.messages import (
    Block,
    Message,
    Text,
    ToolCall,
    ToolResult,
    named_strings,
)
from context_compression.evidence.facts import commands_of
from context_compression.planning.pieces import Source
from context_compression.planning.plan import Plan
from context_compression.planning.selection import end_of_output, tokens_of_text
from context_compression.strategies.forms import Form, is_instruction
from context_compression.strategies.names import LABEL as NAMES
from context_compression.strategies.pictures import is_mark
from context_compression.strategies.quoting import ARGUMENT_CHARS, Part, Quoting, weight_of
from context_compression.strategies.repeats import said_again
from context_compression.strategies.worth import value_of, value_of_users

CHANGE_WORTH = 10.0
"""What the line of the call that changed a file last is worth beside its evidence: the file shall
not be forgotten."""
DONE_ONCE = re.compile(
    r"\b(?:git (?:-\S+ \S+ )*(?:commit|push|merge|revert)"
    r"|(?:gh|glab) \w+ (?:create|merge|comment|close|edit|review)"
    r"|(?:npm|pnpm|yarn|cargo|twine|docker) (?:publish|push|upload)|(?:kubectl|terraform) apply)"
    r"(?![-\w])(?!.*--dry-run)"
)
"""Commands that are not given twice: they reach others, or write down what is done."""
DONE_WORTH = 25.0
"""What the line of a call with one is worth beside its evidence, lest it be given again."""
USERS_SHARE = 0.4
"""Share of the room up to which the user's words have all of their worth in prose."""
LINES = re.compile(rf"(?:\n\[Files\b[^\n]*)?\n{re.escape(NAMES)}[^\n]*\Z|\n\[Files\b[^\n]*\Z")
"""How a note of ours ends that names files, or names."""
CALL_TOKENS, TEXT_TOKENS = 6, 4
"""What it costs to show anything of what a form leaves out: of an argument, of another text."""


@dataclass(frozen=True)
class Competing:
    """The texts of a conversation that compete for the room of a view.

    Attributes:
        plan: the conversation's.
        quoting: what is quoted of messages that are not in the view.
        kept: the form of each message that is, by its index.
        shown: these messages in their forms.
        room: tokens of the view.
    """

    plan: Plan
    quoting: Quoting
    kept: Mapping[int, Form]
    shown: Mapping[int, Message]
    room: int

    def sources(self) -> Sequence[Source]:
        """The texts that compete for the room; of what stands twice in the user's role the newest.

        In prose the user's words are worth less the less of them there is room for: what they say
        must decide then, or small talk would come before all answers.
        """
        plan = self.plan
        again = said_again(plan.messages, lambda _: True)
        by_message = map(self.of_message, range(plan.head, len(plan.messages)))
        sources: list[Source] = []
        of_user: list[bool] = []
        for source in chain.from_iterable(by_message):
            theirs = plan.messages[source.message].role == "user"
            if (source.message, source.slot) not in again:
                sources.append(source)
                of_user.append(theirs and source.worth > 0)
        said = sum(source.tokens for source, theirs in zip(sources, of_user, strict=True) if theirs)
        share = min(1.0, USERS_SHARE * self.room / max(1, said)) if plan.cutter.prose else 1.0
        return [
            source._replace(worth=share * source.worth) if theirs else source
            for source, theirs in zip(sources, of_user, strict=True)
        ]

    def block_of(self, source: Source) -> Block:
        """The block that a source is a text of."""
        return self.plan.messages[source.message].blocks[source.slot]

    def worth_of_call(self, call: ToolCall) -> float:
        """What the line of a call is worth beside its evidence."""
        if any(map(DONE_ONCE.search, commands_of(call))):
            return DONE_WORTH
        return CHANGE_WORTH if call.id in self.plan.outdated.last_changes else 0.0

    def of_message(self, index: int) -> Iterator[Source]:
        """The texts of a message that compete, with what it costs to show anything of them."""
        plan, message, shown = self.plan, self.plan.messages[index], self.shown.get(index)
        if shown is message or self.kept.get(index) is Form.WHOLE:
            return
        whole = {id(block) for block in shown.blocks} if shown else ()
        for slot, block in enumerate(message.blocks):
            if id(block) in whole or is_mark(block):
                continue
            parts = clipped(block) if shown else self.quoting.parts(block)
            for text, key, opening, weight in parts:
                end = end_of_output(text) if isinstance(block, ToolResult) else end_of_note(text)
                tokens = plan.counter.text(text) if key else tokens_of_text(block, plan.counter)
                spoken = isinstance(block, Text) and is_instruction(block)
                replied, last = index == plan.replied_to, index == len(plan.messages) - 1
                start = 0
                if isinstance(block, ToolResult) and (answer := all_of_answer(text)) is not None:
                    start = answer
                    times, worth = value_of_users(text, tokens)
                else:
                    times, worth = value_of(
                        message, text, tokens, spoken=spoken, replied=replied, last=last
                    )
                if isinstance(block, ToolCall) and key == "line":
                    worth = self.worth_of_call(block)
                failed = isinstance(block, ToolResult) and block.call_id in self.quoting.outcomes
                yield Source(
                    index, slot, text, tokens, opening, weight * times, key,
                    speech_spans(block, spoken=spoken), worth, start, end, failed,
                )  # fmt: skip


def clipped(block: Block) -> Iterator[Part]:
    """The texts of a block of which a form may leave something out; the key is the text itself."""
    match block:
        case ToolCall():
            for name, text in named_strings(block.arguments):
                if len(text) > ARGUMENT_CHARS:
                    yield Part(text, text, CALL_TOKENS, weight_of(name))
        case Text() | ToolResult() if block.text.strip():
            yield Part(block.text, "", TEXT_TOKENS)
        case _:
            return


def end_of_note(text: str) -> int | None:
    """Where the lines of files and names of a note of ours begin; `None`: nowhere.

    New ones tell more.
    """
    lines = LINES.search(text) if is_our_note(text) else None
    return lines.start() if lines else None
