"""`Quoting`: the texts of a plan's messages that may be quoted, and the refs of the messages."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from context_compression.conversation.labels import label_of
from context_compression.conversation.messages import Block, Opaque, Text, ToolCall, ToolResult
from context_compression.conversation.validity import NO_START
from context_compression.planning.measured import TEXT_WITH_REF_CHARS
from context_compression.planning.plan import Plan
from context_compression.strategies import measured
from context_compression.strategies.files import Files, files_of
from context_compression.strategies.names import names_of
from context_compression.strategies.quoting.calls import CallTexts, call_texts, weight_of
from context_compression.strategies.quoting.outcomes import CallOutcome, outcomes_in


class QuotedText(NamedTuple):
    """A text of a block, of which pieces may be shown.

    Attributes:
        text: the full text.
        key: which of a call's texts it is; empty for other blocks.
        opening: the tokens it costs to show any of it.
        weight: the factor for its evidence.
    """

    text: str
    key: str
    opening: int
    weight: float = 1.0


class PlacedResult(NamedTuple):
    """A result of a call, with the index of its message and its slot there."""

    message: int
    slot: int
    block: ToolResult


class Quoting:
    """The texts of a plan's messages that may be quoted, and the data that quotes need.

    Each is computed once for a plan, at its first use.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._refs: dict[int, str] = {}  # the refs of messages, by index

    @cached_property
    def calls(self) -> Mapping[str, CallTexts]:
        """The texts of each call, by its id."""
        return {call.id: call_texts(call) for m in self.plan.messages for call in m.calls}

    @cached_property
    def label_begins(self) -> re.Pattern[str]:
        """The pattern for the beginnings of labels of results and calls."""
        return label_of({call.name for message in self.plan.messages for call in message.calls})

    @cached_property
    def outcomes(self) -> Mapping[str, CallOutcome]:
        """The outcome of each call that failed or returned nothing, by its id."""
        return outcomes_in(self.plan.messages)

    @cached_property
    def results(self) -> Mapping[str, PlacedResult]:
        """The result of each call, by the id of the call."""
        return {
            block.call_id: PlacedResult(index, slot, block)
            for index, message in enumerate(self.plan.messages)
            for slot, block in enumerate(message.blocks)
            if isinstance(block, ToolResult)
        }

    @cached_property
    def files(self) -> Files:
        """The files that the calls worked on."""
        return files_of(self.plan)

    @cached_property
    def names(self) -> Sequence[str]:
        """The names that were used, except those of files, which have a line of their own."""
        return [name for name in names_of(self.plan) if name not in self.files.ends]

    def parts(self, block: Block) -> Iterator[QuotedText]:
        """The texts of a block; for a call its line, then its long arguments by number.

        Of a result or an approval with words of the user, these are the text.

        The note that the start of a conversation is missing does not count.
        """
        match block:
            case ToolCall():
                call = self.calls[block.id]
                opening = _label_tokens(call)
                if len(call.line) > 3:
                    tokens = measured.LABEL_TOKENS if call.has_topic else opening
                    yield QuotedText(call.line, "line", tokens)
                for number, (name, text) in enumerate(call.long):
                    yield QuotedText(text, str(number), opening, weight_of(name))
            case Opaque(said=said) if said:
                yield QuotedText(said, "", measured.LABEL_TOKENS)
            case ToolResult(said=said) if said:
                yield QuotedText(said, "", _label_tokens(self.calls.get(block.call_id)))
            case ToolResult() if block.text.strip():
                yield QuotedText(block.text, "", _label_tokens(self.calls.get(block.call_id)))
            case Text() if block.text.strip() and block.text != NO_START:
                ref_tokens = measured.REF_TOKENS if len(block.text) > TEXT_WITH_REF_CHARS else 0
                yield QuotedText(block.text, "", measured.LABEL_TOKENS + ref_tokens)
            case _:
                return

    def ref_of_message(self, index: int) -> str:
        """The ref that restores a message in full; `""` for a message that this package wrote."""
        ref = self._refs.get(index)
        if ref is None:
            source = self.plan.messages[index].source
            ref = "" if source is None else self.plan.archive.ref_of(source)
            self._refs[index] = ref
        return ref

    def ref_of_gap(self, missing: range) -> str:
        """The ref of the first message of a gap that has one; `""` if none has."""
        refs = (self.ref_of_message(index) for index in missing)
        return next((ref for ref in refs if ref), "")


def _label_tokens(call: CallTexts | None) -> int:
    """About how many tokens a label takes that names a call."""
    named = len(call.label) // measured.LABEL_CHARS_PER_TOKEN if call else 0
    return measured.LABEL_TOKENS + named
