"""The texts that compete for the room of a view: those that it leaves out or shows in part."""

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from context_compression.conversation.arguments import long_texts_in, texts_in
from context_compression.conversation.authors import (
    holds_excerpts,
    is_our_note,
    speech_spans,
)
from context_compression.conversation.authors.task import general_spans
from context_compression.conversation.messages import (
    Block,
    Message,
    Opaque,
    Text,
    ToolCall,
    ToolResult,
    texts_of,
)
from context_compression.conversation.rendering import Span
from context_compression.evidence.facts import commands_of, outcome_lines
from context_compression.evidence.latest import UNDO
from context_compression.planning.pieces import Choice, Pool, Source
from context_compression.planning.selection import end_of_output, tokens_of_text
from context_compression.progress import SELECTING, advance
from context_compression.strategies import measured
from context_compression.strategies.filling.kept import KeptMessages
from context_compression.strategies.filling.parts import quotes_in, with_less_worth
from context_compression.strategies.filling.worth import value_in_talk, value_of, value_of_users
from context_compression.strategies.forms import Form, is_instruction
from context_compression.strategies.names import LABEL as NAMES
from context_compression.strategies.pictures import is_mark
from context_compression.strategies.quoting import QuotedText, weight_of
from context_compression.strategies.repeats import repeated_texts

DONE_ONCE = re.compile(
    r"\b(?:git (?:-\S+ \S+ ){0,5}(?:commit|push|merge|revert)"
    r"|(?:gh|glab) \w+ (?:create|merge|comment|close|edit|review)"
    r"|(?:npm|pnpm|yarn|cargo|twine|docker) (?:publish|push|upload)|(?:kubectl|terraform) apply)"
    r"(?![-\w])(?!.{0,400}--dry-run)"
)
"""Commands that must not be repeated, because they reach other people or commit work."""
FILES = r"\[(?:Other f|F)iles\b"
LINES = re.compile(rf"(?:\n{FILES}[^\n]*)?\n{re.escape(NAMES)}[^\n]*\Z|\n{FILES}[^\n]*\Z")
"""The lines of files and names at the end of a note of this package."""


def competition(base: KeptMessages) -> tuple[Pool, Choice]:
    """All pieces that compete for the room, and the choice among them."""
    plan, competing = base.plan, Competing(base)
    cutter, used, sources = plan.cutter, plan.used, competing.sources()
    for number, source in enumerate(sources):
        cutter(source.text)
        advance(SELECTING, len(sources) + number, 3 * len(sources))
    texts = (
        text
        for message in chain(base.shown.values(), base.beside.notes.values())
        if not message.starts_turn  # words that the user mentions are needed, not covered
        for block in message.blocks
        for text in texts_of(block)
    )
    shown = array("I", chain.from_iterable(map(cutter.numbering.numbers, texts)))
    cutter.numbering.pack()  # all words are known now, and the pool needs memory
    pool, outdated = Pool(cutter), plan.outdated
    for number, source in enumerate(sources):
        advance(SELECTING, 2 * len(sources) + number, 3 * len(sources))
        block = competing.block_of(source)
        old = outdated.spans(block, source.text)
        old = [*old, *outdated.unchanged(block, source.text)]
        marked = chain(plan.due.spans(block, source.text), competing.marked_latest(source))
        pool.add(source, old, [*marked])
    return pool, pool.choice(shown, used)


@dataclass(frozen=True)
class Competing:
    """The texts of a conversation that compete for the room that the kept messages leave."""

    base: KeptMessages

    @cached_property
    def calling(self) -> frozenset[int]:
        """The indices of the messages with calls; each of many texts of a message asks."""
        return frozenset(i for i, message in enumerate(self.base.plan.messages) if message.calls)

    def sources(self) -> Sequence[Source]:
        """The texts that compete; of a text that is repeated with role user only the newest.

        In prose the worth of the user's words decreases with the share of them that has room. Their
        evidence must then decide, or small talk would come before all answers.
        """
        plan = self.base.plan
        again = repeated_texts(plan.messages, lambda _: True)
        by_message = map(self.of_message, range(plan.head, len(plan.messages)))
        sources: list[Source] = []
        by_user: list[bool] = []
        for source in chain.from_iterable(by_message):
            advance(SELECTING, source.message, 3 * len(plan.messages))
            in_users_role = plan.messages[source.message].role == "user"
            if (source.message, source.slot) not in again:
                sources.append(source)
                by_user.append(in_users_role and source.worth > 0)
        pairs = [*zip(sources, by_user, strict=True)]
        tokens = sum(source.tokens for source, is_users in pairs if is_users)
        share = 1.0
        if plan.cutter.prose and not plan.is_talk_of_two:
            share = min(1.0, measured.USER_PROSE_SHARE * self.base.room / max(1, tokens))
        return [
            source._replace(worth=share * source.worth) if is_users else source
            for source, is_users in pairs
        ]

    def block_of(self, source: Source) -> Block:
        """The block to which a source belongs."""
        return self.base.plan.messages[source.message].blocks[source.slot]

    def of_message(self, index: int) -> Iterator[Source]:
        """The texts of a message that compete, each with the cost of showing any of it."""
        base, quoting = self.base, self.base.quoting
        message, shown = base.plan.messages[index], base.shown.get(index)
        if shown is message or base.kept.get(index) is Form.FULL or index in base.beside.covered:
            return
        unshortened = {id(block) for block in shown.blocks} if shown else ()
        calls = {call.id: call for call in shown.calls} if shown else {}
        for slot, block in enumerate(message.blocks):
            if id(block) in unshortened or is_mark(block):
                continue
            parts = clipped(block, calls) if shown else quoting.parts(block)
            for part in parts:
                source = self._source(index, message, slot, block, part)
                yield from self._parts_of(source, message, block)

    def _parts_of(self, source: Source, message: Message, block: Block) -> Iterator[Source]:
        """A source, or the parts of it that are worth different things."""
        if not isinstance(block, Text):
            yield source
        elif holds_excerpts(block.text):
            yield from quotes_in(source, self.base.plan)
        elif message.role == "user" and (spans := general_spans(block.text)):
            yield from with_less_worth(source, spans)
        else:
            yield source

    def _source(
        self, index: int, message: Message, slot: int, block: Block, part: QuotedText
    ) -> Source:
        """A text of a block, with the worth and the cost of its pieces."""
        text, key, opening, weight = part
        plan = self.base.plan
        end = end_of_output(text) if isinstance(block, ToolResult) else end_of_note(text)
        tokens = plan.counter.text(text) if key else tokens_of_text(block, plan.counter)
        spoken = isinstance(block, Text) and is_instruction(block)
        said = isinstance(block, ToolResult | Opaque) and bool(block.said)
        if said:
            value = value_of_users(text, tokens)
        elif plan.is_talk_of_two and spoken:
            value = value_in_talk(text)
        else:
            value = value_of(
                message, text, tokens,
                spoken=spoken, calls=index in self.calling, replied=index == plan.replied_to,
                last=index == len(plan.messages) - 1,
            )  # fmt: skip
        worth = value.worth
        if isinstance(block, ToolCall) and key == "line":
            worth = self.worth_of_call(block)
        failed = (
            not said
            and isinstance(block, ToolResult)
            and block.call_id in self.base.quoting.outcomes
        )
        if index in plan.refused:
            weight, worth, failed = measured.PRINTED_WEIGHT * weight, 0.0, False
        return Source(
            index, slot, text, tokens, opening, weight * value.weight, key,
            [(0, len(text))] if said else speech_spans(block, spoken=spoken),
            worth, 0, end, failed, value.per_token,
        )  # fmt: skip

    def marked_latest(self, source: Source) -> Iterator[Span]:
        """The spans that tell what was last: how a run ended, and what took changes back."""
        plan, block = self.base.plan, self.block_of(source)
        if isinstance(block, ToolResult) and source.message == plan.last_outcome:
            yield from outcome_lines(source.text)
        elif isinstance(block, ToolCall) and block.id == plan.last_undo:
            yield from (undo.span() for undo in UNDO.finditer(source.text))

    def worth_of_call(self, call: ToolCall) -> float:
        """The worth of a call's line in addition to its evidence."""
        if call.id == self.base.plan.last_undo:
            return measured.UNDO_WORTH
        if any(map(DONE_ONCE.search, commands_of(call))):
            return measured.DONE_WORTH
        last_changes = self.base.plan.outdated.last_changes
        return measured.CHANGE_WORTH if call.id in last_changes else 0.0


def clipped(block: Block, shown: Mapping[str, ToolCall]) -> Iterator[QuotedText]:
    """The texts of a block that a form may shorten; for a call the key is the text itself.

    Arguments that are whole in the calls of the shown message, by id, do not compete.
    """
    match block:
        case ToolCall():
            call = shown.get(block.id)
            whole = set(texts_in(call)) if call else set[str]()
            for name, text in long_texts_in(block, measured.ARGUMENT_CHARS):
                if text not in whole:
                    yield QuotedText(text, text, measured.SHOWN_CALL_TOKENS, weight_of(name))
        case Text() | ToolResult() if block.text.strip():
            yield QuotedText(block.text, "", measured.SHOWN_TEXT_TOKENS)
        case _:
            return


def end_of_note(text: str) -> int | None:
    """The start of the lines of files and names in a note of this package, which new lines replace.

    `None` if there are no such lines.
    """
    lines = LINES.search(text) if is_our_note(text) else None
    return lines.start() if lines else None
