"""`Form`, how much of a message stays, and `Forms`, which puts a plan's messages into forms."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from enum import Enum, auto
from functools import cached_property

from context_compression.conversation.authors import holds_excerpts
from context_compression.conversation.authors.task import general_spans, task_spans
from context_compression.conversation.labels import label_quotes
from context_compression.conversation.messages import (
    Block,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from context_compression.conversation.rendering import Span, render
from context_compression.evidence.facts import outcome_lines
from context_compression.planning.measured import TEXT_WITH_REF_CHARS
from context_compression.planning.plan import Plan
from context_compression.planning.selection import ending, own_ref, tool_names
from context_compression.strategies import measured
from context_compression.strategies.forms.calls import short_call
from context_compression.strategies.forms.parts import outer_parts
from context_compression.strategies.forms.results import ShortResults
from context_compression.strategies.forms.unread import UnreadResults, error_begins
from context_compression.strategies.forms.user_texts import UserTexts
from context_compression.strategies.offload import argument_to_preview, to_preview
from context_compression.strategies.payloads import units_in, without_payloads
from context_compression.strategies.pictures import Pictures
from context_compression.strategies.quoting import Quoting
from context_compression.strategies.tool_results import (
    NO_SLOTS,
    Shorten,
    Slots,
    is_typed_answer,
    rules_said_in,
    with_short_arguments,
    with_short_results,
)


class Form(Enum):
    """How much of a message stays."""

    FULL = auto()
    RESULTS = auto()
    """Large results and arguments of calls become previews."""
    PREVIEW = auto()
    """Results become previews from a smaller size on, and long notes of the host a few lines."""
    CLIPPED = auto()
    """As `PREVIEW`, and long texts are cut to beginning and end."""
    SKELETON = auto()
    """Calls with short arguments, and one line for each result."""
    ENDING = auto()
    """As `LEAST`, with whole newest calls and the lines that show how results ended."""
    UNREAD = auto()
    """Results that the model has not read in their share of the room: whole, or ends and errors."""
    LEAST = auto()
    """The model's texts and thinking stay. Answered calls have short arguments, results larger than
    a preview become one line with their outcome, and long notes of the host a few lines."""


class Forms:
    """Puts the messages of a plan into their forms.

    Attributes:
        plan: the plan of the conversation.
        quoting: the texts of its messages that may be quoted.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.quoting = Quoting(plan)
        self._tool_names: Mapping[str, str] = tool_names(plan)
        self._results = ShortResults(self.quoting)
        self._user_texts = UserTexts(plan)
        large, preview = plan.settings.offload_min_tokens, plan.settings.offload_preview_tokens
        self._large = to_preview(plan, large)
        self._argument = argument_to_preview(plan, large)
        self._smaller = to_preview(plan, min(large, measured.TIMES_A_PREVIEW * preview))
        self._unread = UnreadResults(plan, 0)
        self._plain: dict[Form, dict[int, Message]] = {form: {} for form in Form}

    def with_unread(self, tokens: int) -> "Forms":
        """These forms with so many tokens for all results that the model has not read."""
        forms = copy(self)
        forms._unread = UnreadResults(self.plan, tokens)
        forms._plain = {**self._plain, Form.UNREAD: {}}
        return forms

    @cached_property
    def pictures(self) -> Pictures:
        """The pictures that a view may leave out; each form of a message keeps its pictures."""
        return Pictures(self.plan, self.quoting.ref_of_message)

    def plain(self, index: int, form: Form) -> Message:
        """A message in a form without chosen spans; cached, because each level needs it again."""
        known = self._plain[form]
        if index not in known:
            known[index] = self.shaped(index, form)
        return known[index]

    def shaped(self, index: int, form: Form, slots: Slots = NO_SLOTS) -> Message:
        """A message in a form with the chosen spans; the same object if nothing is shortened."""
        message = self.plan.messages[index]
        if form is Form.FULL:
            return message
        shaped = self._shaped(message, index, form, slots)
        if form is Form.RESULTS or not units_in(message):
            return shaped
        return without_payloads(shaped, self.quoting.ref_of_message(index), self.plan.counter.block)

    def _shaped(self, message: Message, index: int, form: Form, slots: Slots) -> Message:
        match form:
            case Form.FULL:
                return message
            case Form.RESULTS:
                message = self._with_results(message, index, slots, self._large)
                return with_short_arguments(message, index, self.plan, self._argument, slots)
            case Form.PREVIEW:
                message = self._with_results(message, index, slots, self._smaller)
                return self._user_texts.with_short_notes(message, index, slots)
            case Form.CLIPPED:
                previews = self._shaped(message, index, Form.PREVIEW, slots)
                return self._clipped(message, previews, index, slots)
            case Form.SKELETON:
                return self._skeleton(message, index, slots)
            case Form.UNREAD:
                message = self._with_results(message, index, slots, self._to_share)
                return self._user_texts.with_short_notes(message, index, slots)
            case Form.ENDING:
                message = self._with_short_calls(message, index, slots, keeps_newest=True)
                return self._least(message, index, slots, self._to_ending)
            case Form.LEAST:
                message = self._with_short_calls(message, index, slots, keeps_newest=False)
                return self._least(message, index, slots, self._to_line)

    def _with_results(
        self, message: Message, index: int, slots: Slots, shorten: Shorten
    ) -> Message:
        if not message.results:
            return message

        return with_short_results(message, index, self.plan, self._tool_names, shorten, slots)

    def _clipped(self, unshortened: Message, message: Message, index: int, slots: Slots) -> Message:
        """A message with its long texts cut to beginning and end.

        Args:
            unshortened: the unshortened message.
            message: the same message with previews.
            index: its index.
            slots: spans that must be shown.
        """
        limit = max(self.plan.settings.max_tool_output, TEXT_WITH_REF_CHARS)
        if self.plan.clip_chars and index in self.plan.anchored:
            limit = min(limit, self.plan.clip_chars)
        blocks: list[Block] = []
        message = self._without_instructions(message, slots)
        pairs = zip(unshortened.blocks, message.blocks, strict=True)
        for slot, (before, block) in enumerate(pairs):
            if block is before and isinstance(block, Text) and len(block.text) > limit:
                spans = outer_parts(block.text, limit)
                if message.role == "user":
                    spans += (
                        (rule.start, rule.stop) for rule in self.plan.constraints_of(block.text)
                    )
                if holds_excerpts(block.text):
                    spans = label_quotes(block.text, spans, self.quoting.label_begins)
                spans += slots.get((slot, ""), ())
                block = Text(render(block.text, spans, self.plan.archive.ref_of(block.text)))
            blocks.append(block)
        kept = tuple(blocks)
        return message if kept == message.blocks else message.with_blocks(kept)

    def _without_instructions(
        self, message: Message, slots: Slots, *, least: bool = False
    ) -> Message:
        """A message of the user without most of the general instructions around its task.

        Their beginnings stay; unless `least`, also their ends and the constraints in them.
        """
        if message.role != "user":
            return message
        blocks = tuple(
            Text(
                render(
                    b.text,
                    [*self._task_spans(b.text, least=least), *slots.get((slot, ""), ())],
                    self.plan.archive.ref_of(b.text),
                )
            )
            if isinstance(b, Text) and general_spans(b.text)
            else b
            for slot, b in enumerate(message.blocks)
        )
        return message if blocks == message.blocks else message.with_blocks(blocks)

    def _task_spans(self, text: str, *, least: bool) -> list[Span]:
        if least:
            return task_spans(text)
        return [*task_spans(text, measured.GENERAL_END_CHARS), *self._rules_among(text)]

    def _rules_among(self, text: str) -> Iterator[Span]:
        """The certain constraints in the general instructions of a text, as far as they are few.

        The first and the last ones come first.
        """
        general, left = general_spans(text), measured.GENERAL_RULES_CHARS
        found = [
            (rule.start, rule.stop)
            for rule in self.plan.constraints_of(text)
            if rule.sure and any(start <= rule.start < stop for start, stop in general)
        ]
        while found:
            start, stop = found.pop(0 if len(found) % 2 else -1)
            left -= stop - start
            if left >= 0:
                yield start, stop

    def _skeleton(self, message: Message, index: int, slots: Slots) -> Message:
        blocks: list[Block] = []
        for slot, block in enumerate(message.blocks):
            spans = slots.get((slot, ""), ())
            match block:
                case ToolCall():
                    blocks.append(short_call(self.quoting, block, index, slot, slots))
                case ToolResult() if is_typed_answer(block, self.plan.counter):
                    blocks.append(block)
                case ToolResult():
                    shown = [*spans, *rules_said_in(block)]
                    blocks.append(self._results.short(block, shown))
                case Text() if message.role == "user":
                    blocks.append(self._user_texts.short_note(block, index, slot, spans))
                case Text():
                    if spans:
                        ref = own_ref(block.text, self.plan.archive)
                        blocks.append(Text(render(block.text, spans, ref)))
                case Thinking():
                    pass
                case _:
                    blocks.append(block)
        return message.with_blocks(tuple(blocks))

    def _with_short_calls(
        self, message: Message, index: int, slots: Slots, *, keeps_newest: bool
    ) -> Message:
        """A message of the open step with short arguments in its answered calls.

        A call without a result stays unchanged, because the host still has to run it. The model's
        newest calls stay unchanged if `keeps_newest`.
        """
        if keeps_newest and index == self.plan.newest_calls:
            return message
        step = self.plan.step_of(index) or ()
        answered = {result.call_id for i in step for result in self.plan.messages[i].results}
        blocks = tuple(
            short_call(self.quoting, block, index, slot, slots)
            if isinstance(block, ToolCall) and block.id in answered
            else block
            for slot, block in enumerate(message.blocks)
        )
        return message if blocks == message.blocks else message.with_blocks(blocks)

    def _least(self, message: Message, index: int, slots: Slots, shorten: Shorten) -> Message:
        """A message of the open step in a small form, for when its previews have no room.

        Thinking is sent back to the model unchanged.
        """
        message = self._with_results(message, index, slots, shorten)
        message = self._without_instructions(message, slots, least=shorten == self._to_line)
        return self._user_texts.with_short_notes(message, index, slots)

    def _to_line(
        self, result: ToolResult, name: str, index: int, shown: Sequence[Span]
    ) -> ToolResult:
        """A large result as one line, its outcome, and the first lines of an error.

        An answer of the user becomes a preview.
        """
        if result.said:
            return self._smaller(result, name, index, shown)
        if self.plan.counter.text(result.text) <= self.plan.settings.offload_preview_tokens:
            return result
        last = [
            (start, stop)
            for start, stop in outcome_lines(result.text)[-1:]
            if stop - start <= measured.ENDING_CHARS
        ]
        return self._results.short(result, [*error_begins(result), *last, *shown])

    def _to_share(
        self, result: ToolResult, name: str, index: int, shown: Sequence[Span]
    ) -> ToolResult:
        """A result that the model has not read in its share of the room, or else as an ending."""
        kept = self._unread.short(result, name, index, shown)
        return self._to_ending(result, name, index, shown) if kept is None else kept

    def _to_ending(
        self, result: ToolResult, name: str, index: int, shown: Sequence[Span]
    ) -> ToolResult:
        """A result as its line and the lines that show how it ended."""
        shown = [*ending(result.text, measured.ENDING_CHARS), *shown]
        return self._to_line(result, name, index, shown)
