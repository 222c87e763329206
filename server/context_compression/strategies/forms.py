"""The forms a message may take in a view: whole, with previews, clipped, a skeleton, the least.

Each form shows some of the message's texts; spans that were chosen beyond that are shown in their
places, and every gap is marked with what is missing.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from enum import Enum, auto
from functools import cached_property
from itertools import accumulate
from typing import Any

from context_compression.conversation.authors import (
    holds_excerpts,
    holds_user_words,
    is_answer,
    is_command_output,
    is_host_note,
    is_skill,
    opening_of,
    user_spans,
)
from context_compression.conversation.labels import label_quotes
from context_compression.conversation.messages import (
    Block,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_array,
    is_object,
    strings_in,
)
from context_compression.conversation.rendering import Span, marked_with, render
from context_compression.display.plurals import how_many
from context_compression.evidence.constraints import SENTENCE, constraints_in
from context_compression.evidence.facts import exit_status
from context_compression.planning.plan import TEXT_WITH_REF, Plan
from context_compression.planning.selection import own_ref, ref_of_whole, tool_names
from context_compression.strategies.offload import to_preview
from context_compression.strategies.payloads import units_in, without_payloads
from context_compression.strategies.pictures import Pictures
from context_compression.strategies.quoting import ARGUMENT_CHARS, Quoting
from context_compression.strategies.repeats import SKILL_CHARS, said_again
from context_compression.strategies.tool_results import (
    NO_SLOTS,
    Shorten,
    Slots,
    with_short_results,
)

NOTE_CHARS = 600
"""Characters up to which another note of a host stays whole; half of them of longer ones. Of what a
command of its own printed nothing but the tag: the model is told to leave it alone."""
LINE_END = re.compile(r"\n")
"""Where arguments are cut: part of a line of code would look like a line."""
WORTH_A_PREVIEW = 3
"""Times the size of a preview from which on a result becomes one where room is short."""


class Form(Enum):
    """How much of a message stays."""

    WHOLE = auto()
    RESULTS = auto()
    """Large results at preview size."""
    PREVIEW = auto()
    """All results worth a preview at that size, and of long notes of the host a few lines."""
    CLIPPED = auto()
    """That, and of long texts head and tail."""
    SKELETON = auto()
    """The calls with short arguments, one line for each result."""
    LEAST = auto()
    """What the model said and thought; answered calls with short arguments, one line for each
    result larger than a preview, and of long notes of the host a few lines."""


class Forms:
    """Puts the messages of a plan into their forms."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.names: Mapping[str, str] = tool_names(plan)
        self.quoting = Quoting(plan)
        large, preview = plan.settings.offload_min_tokens, plan.settings.offload_preview_tokens
        self._large = to_preview(plan, large)
        self._smaller = to_preview(plan, min(large, WORTH_A_PREVIEW * preview))
        self._headers: dict[str, str] = {}
        self._plain: dict[Form, dict[int, Message]] = {form: {} for form in Form}

    @cached_property
    def pictures(self) -> Pictures:
        """The pictures that a view may leave out; each form of a message has all of its own."""
        return Pictures(self.plan, self.quoting.ref_of_message)

    @cached_property
    def last_with_note(self) -> Mapping[str, int]:
        """For the text of a host's note, the last message that has it beside words of the user's.

        By index. Where an older one is in view for the user's words, that one is, too.
        """
        return {
            block.text: index
            for index, message in enumerate(self.plan.messages)
            if message.starts_turn
            and any(
                isinstance(block, Text) and holds_user_words(block.text) for block in message.blocks
            )
            for block in message.blocks
            if isinstance(block, Text)
            and is_host_note(block.text)
            and not holds_user_words(block.text)
        }

    @cached_property
    def said_again(self) -> Set[tuple[int, int]]:
        """Where texts stand that a later message of the user's repeats."""
        messages = self.plan.messages
        return said_again(messages, lambda index: is_users(messages[index]))

    def plain(self, index: int, form: Form) -> Message:
        """A message in a form, nothing chosen; remembered, as each level asks for it again."""
        known = self._plain[form]
        if index not in known:
            known[index] = self.shaped(index, form)
        return known[index]

    def shaped(self, index: int, form: Form, slots: Slots = NO_SLOTS) -> Message:
        """A message in a form with the chosen spans; itself when that shortens nothing."""
        message = self.plan.messages[index]
        if form is Form.WHOLE:
            return message
        made = self._shaped(message, index, form, slots)
        if form is Form.RESULTS or not units_in(message):
            return made
        return without_payloads(made, self.quoting.ref_of_message(index), self.plan.counter.block)

    def _shaped(self, message: Message, index: int, form: Form, slots: Slots) -> Message:
        match form:
            case Form.WHOLE:
                return message
            case Form.RESULTS:
                return self._with_results(message, index, slots, self._large)
            case Form.PREVIEW:
                message = self._with_results(message, index, slots, self._smaller)
                return self._with_short_notes(message, index, slots)
            case Form.CLIPPED:
                return self._clipped(
                    message, self._shaped(message, index, Form.PREVIEW, slots), slots
                )
            case Form.SKELETON:
                return self._skeleton(message, index, slots)
            case Form.LEAST:
                return self._least(message, index, slots)

    def _with_results(
        self, message: Message, index: int, slots: Slots, shorten: Shorten
    ) -> Message:
        if not message.results:
            return message

        def settle(result: ToolResult, name: str, index: int, shown: Sequence[Span]) -> ToolResult:
            return shorten(result, name, index, self._with_rules(result, shown))

        return with_short_results(message, index, self.plan, self.names, settle, slots)

    def _with_rules(self, result: ToolResult, spans: Sequence[Span]) -> Sequence[Span]:
        """The spans of a result; where the user answers in it, with what they forbid or demand."""
        answers = is_answer(result, self.quoting.asked)
        return [*spans, *constraints_in(result.text)] if answers else spans

    def _with_short_notes(self, message: Message, index: int, slots: Slots) -> Message:
        """What the host put into the user's role is not the user's words: a few lines of it."""
        if message.role != "user":
            return message
        blocks = tuple(
            self._short_note(block, index, slot, slots.get((slot, ""), ()))
            if isinstance(block, Text)
            else block
            for slot, block in enumerate(message.blocks)
        )
        return message if blocks == message.blocks else message.with_blocks(blocks)

    def _short_note(self, block: Text, index: int, slot: int, spans: Sequence[Span]) -> Text:
        text, is_note = block.text, is_host_note(block.text)
        again = self._is_said_again(text, index, slot)
        nothing = again or (is_command_output(text) and index < len(self.plan.messages) - 1)
        long = SKILL_CHARS if is_skill(text) else NOTE_CHARS if is_note else len(text)
        if len(text) <= (0 if nothing else long):
            return block
        head = opening_of(text) if nothing else NOTE_CHARS // 2
        said = () if again else user_spans(text)
        return Text(render(text, [(0, head), *said, *spans], own_ref(text, self.plan.archive)))

    def _is_said_again(self, text: str, index: int, slot: int) -> bool:
        """Whether a later text in the user's role says what a long one, a skill or a note says."""
        if is_host_note(text) and not is_skill(text):
            return self.last_with_note.get(text, index) > index
        long = is_skill(text) or len(text) > TEXT_WITH_REF
        return long and (index, slot) in self.said_again

    def _clipped(self, whole: Message, message: Message, slots: Slots) -> Message:
        limit = max(self.plan.settings.max_tool_output, TEXT_WITH_REF)
        blocks: list[Block] = []
        for slot, (before, block) in enumerate(zip(whole.blocks, message.blocks, strict=True)):
            if block is before and isinstance(block, Text) and len(block.text) > limit:
                spans = outer_parts(block.text, limit)
                if message.role == "user":
                    spans += constraints_in(block.text)
                if holds_excerpts(block.text):
                    spans = label_quotes(block.text, spans, self.quoting.label_begins)
                spans += slots.get((slot, ""), ())
                block = Text(render(block.text, spans, self.plan.archive.ref_of(block.text)))
            blocks.append(block)
        kept = tuple(blocks)
        return message if kept == message.blocks else message.with_blocks(kept)

    def _skeleton(self, message: Message, index: int, slots: Slots) -> Message:
        blocks: list[Block] = []
        for slot, block in enumerate(message.blocks):
            spans = slots.get((slot, ""), ())
            match block:
                case ToolCall():
                    blocks.append(self._short_call(block, index, slot, slots))
                case ToolResult():
                    blocks.append(self._short_result(block, self._with_rules(block, spans)))
                case Text() if message.role == "user":
                    blocks.append(self._short_note(block, index, slot, spans))
                case Text():
                    if spans:
                        ref = own_ref(block.text, self.plan.archive)
                        blocks.append(Text(render(block.text, spans, ref)))
                case Thinking():
                    pass
                case _:
                    blocks.append(block)
        return message.with_blocks(tuple(blocks))

    def _least(self, message: Message, index: int, slots: Slots) -> Message:
        """The step that waits for the model, where not even its previews have room.

        Thinking goes back to the model as it came, and a call without result is the host's to run.
        """
        step = self.plan.step_of(index) or ()
        answered = {result.call_id for i in step for result in self.plan.messages[i].results}
        blocks = tuple(
            self._short_call(block, index, slot, slots)
            if isinstance(block, ToolCall) and block.id in answered
            else block
            for slot, block in enumerate(message.blocks)
        )
        message = self._with_results(message.with_blocks(blocks), index, slots, self._to_line)
        return self._with_short_notes(message, index, slots)

    def _to_line(
        self, result: ToolResult, name: str, index: int, shown: Sequence[Span]
    ) -> ToolResult:
        """How a text larger than a preview becomes its one line; the user's answer a preview."""
        if is_answer(result, self.quoting.asked):
            return self._smaller(result, name, index, shown)
        short = self.plan.counter.text(result.text) <= self.plan.settings.offload_preview_tokens
        return result if short else self._short_result(result, shown)

    def _short_call(self, call: ToolCall, index: int, slot: int, slots: Slots) -> ToolCall:
        longest = max(map(len, strings_in(call.arguments)), default=0)
        if longest <= ARGUMENT_CHARS or is_json_text(call.arguments):
            return call
        if call.signed and index >= self.plan.current_turn:  # it goes back with the very call
            return call
        ref = self.quoting.ref_of_message(index)  # the first gap tells it
        outdated = self.plan.outdated

        def settle(value: Any) -> Any:
            nonlocal ref
            if isinstance(value, str) and len(value) > ARGUMENT_CHARS:
                told = telling_parts(value, [*outdated.changed(call, value)], ARGUMENT_CHARS)
                shown = render(value, [*told, *slots.get((slot, value), ())], ref)
                ref = "" if marked_with(shown, ref) else ref
                return shown
            if is_object(value):
                return {key: settle(item) for key, item in value.items()}
            if is_array(value):
                return [settle(item) for item in value]
            return value

        return replace(call, arguments=settle(call.arguments))

    def _short_result(self, result: ToolResult, spans: Sequence[Span]) -> ToolResult:
        text = result.text
        line = self._header(result)
        if len(text) <= len(line) + 40:
            return result
        return result.with_text(f"{line}\n{render(text, spans)}" if spans else line)

    def _header(self, result: ToolResult) -> str:
        """The one line of a result: `[812 lines, exit 1; ref …]`; the call says which tool."""
        line = self._headers.get(result.call_id)
        if line is None:
            text = result.text
            ref = ref_of_whole(text, self.plan.archive)
            parts = [how_many(text.count("\n") + 1, "line")]
            if (status := exit_status(text)) is not None:
                parts.append(f"exit {status}")
            if result.is_error:
                parts.append("error")
            if is_answer(result, self.quoting.asked):
                parts.append("the user said")
            line = self._headers[result.call_id] = f"[{', '.join(parts)}; ref {ref}]"
        return line


def is_instruction(text: Text) -> bool:
    """Whether a text in the user's role is the user's, or a skill short enough to be kept like it.

    Of what the assistant says it is always true.
    """
    if is_skill(text.text):
        return len(text.text) <= SKILL_CHARS
    return holds_user_words(text.text)


def is_users(message: Message) -> bool:
    """Whether a turn begins here that is the user's own, not just a note of the host."""
    return message.starts_turn and any(
        not isinstance(block, Text) or is_instruction(block) for block in message.blocks
    )


def telling_parts(argument: str, changed: Sequence[Span], limit: int) -> Sequence[Span]:
    """Of a long argument the beginning and the end; of a text of an edit the lines that it changes.

    Args:
        argument: the text.
        changed: where these lines stand; none where it is no edit.
        limit: characters that are shown at most, from both ends.
    """
    first = fitting(changed, limit // 2)
    last = fitting([*reversed(changed[len(first) :])], limit // 2)
    return [*first, *last] or outer_parts(argument, limit, LINE_END)


def fitting(spans: Sequence[Span], limit: int) -> Sequence[Span]:
    """The first spans that take no more than some characters together."""
    ends = accumulate(stop - start for start, stop in spans)
    return [span for span, end in zip(spans, ends, strict=True) if end <= limit]


def is_json_text(arguments: Any) -> bool:
    """Whether arguments are a string that begins like JSON: a part of it would be none.

    Any other is free text, as some tools take.
    """
    return isinstance(arguments, str) and arguments.lstrip().startswith(("{", "[", '"'))


def outer_parts(text: str, limit: int, divider: re.Pattern[str] = SENTENCE) -> list[Span]:
    """Beginning and end of a text, `limit` characters at most; whole sentences where it has any.

    Or what else is between dividers.
    """
    half = limit // 2
    *_, stop = (half, *(end.start() for end in divider.finditer(text, half // 2, half)))
    begins = divider.search(text, len(text) - half, len(text) - half // 2)
    return [(0, stop), (begins.end() if begins else len(text) - half, len(text))]
