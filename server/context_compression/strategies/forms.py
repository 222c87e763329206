"""The forms of a message in a view: full, with previews, clipped, as a skeleton, or the least."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from copy import copy
from enum import Enum, auto
from functools import cached_property
from itertools import accumulate

from context_compression.conversation.arguments import with_texts
from context_compression.conversation.authors import (
    holds_excerpts,
    holds_user_words,
    is_command_output,
    is_host_note,
    is_skill,
    opening_of,
    user_spans,
)
from context_compression.conversation.authors.speech import general_spans, task_spans
from context_compression.conversation.labels import Span, label_quotes, marked_with, render
from context_compression.conversation.messages import (
    Block,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from context_compression.evidence.facts import exit_status, failures_in, has_failed, outcome_lines
from context_compression.evidence.sentences import SENTENCE
from context_compression.planning.measured import TEXT_WITH_REF_CHARS
from context_compression.planning.plan import Plan
from context_compression.planning.selection import (
    end_of_output,
    ending,
    landmarks,
    own_ref,
    receipt_of,
    ref_of_full,
    tokens_of_text,
    tool_names,
)
from context_compression.plurals import how_many
from context_compression.strategies import measured
from context_compression.strategies.pictures import Pictures, units_in, without_payloads
from context_compression.strategies.quoting import UNDONE, Quoting
from context_compression.strategies.repeated import repeated_texts
from context_compression.strategies.tool_results import (
    NO_SLOTS,
    Shorten,
    Slots,
    argument_to_preview,
    is_typed_answer,
    must_stay,
    rules_said_in,
    to_preview,
    with_short_arguments,
    with_short_results,
)


def fitting(spans: Sequence[Span], limit: int) -> Sequence[Span]:
    """The first spans that together hold at most `limit` characters."""
    ends = accumulate(stop - start for start, stop in spans)
    return [span for span, end in zip(spans, ends, strict=True) if end <= limit]


def outer_parts(text: str, limit: int, divider: re.Pattern[str] = SENTENCE) -> list[Span]:
    """The spans of the beginning and end of a text, together at most `limit` characters.

    The text is cut at the `divider` if there is one near the limit; by default that is the end of a
    sentence.
    """
    half = limit // 2
    *_, stop = (half, *(end.start() for end in divider.finditer(text, half // 2, half)))
    begins = divider.search(text, len(text) - half, len(text) - half // 2)
    return [(0, stop), (begins.end() if begins else len(text) - half, len(text))]


class ShortResults:
    """Shortens the results of a conversation to one line each."""

    def __init__(self, quoting: Quoting) -> None:
        self._quoting = quoting
        self._lines: dict[str, str] = {}  # by the id of the call

    def short(self, result: ToolResult, spans: Sequence[Span]) -> ToolResult:
        """A result as its line and some spans; the same object if that is hardly shorter."""
        text, line = result.text, self._line(result)
        if len(text) <= len(line) + measured.LEAST_CUT_CHARS:
            return result
        return result.with_text(f"{line}\n{render(text, spans)}" if spans else line)

    def _line(self, result: ToolResult) -> str:
        """The line of a result: `[812 lines, exit 1; ref …]`; the call names the tool."""
        line = self._lines.get(result.call_id)
        if line is None:
            text = result.text
            ref = ref_of_full(text, self._quoting.plan.archive)
            parts = [how_many(text.count("\n") + 1, "line")]
            if (status := exit_status(text)) is not None:
                parts.append(f"exit {status}")
            if result.is_error:
                parts.append("error")
            if result.call_id in self._quoting.plan.outdated.undone:
                parts.append(UNDONE)
            line = self._lines[result.call_id] = f"[{', '.join(parts)}; ref {ref}]"
        return line


class UserTexts:
    """Shortens texts of role user that are not the user's own."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    @cached_property
    def _last_with_note(self) -> Mapping[str, int]:
        """By the text of a host's note, the last message with that note and words of the user.

        Because of the user's words, that message is in view whenever an older one is.
        """
        return {
            block.text: index
            for index, message in enumerate(self._plan.messages)
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
    def _repeated(self) -> Set[tuple[int, int]]:
        """The message and block of each text that a later message of the user repeats."""
        messages = self._plan.messages
        return repeated_texts(messages, lambda index: is_users(messages[index]))

    def with_short_notes(self, message: Message, index: int, slots: Slots) -> Message:
        """A message with each long note of the host shortened to a few lines."""
        if message.role != "user":
            return message
        blocks = tuple(
            self.short_note(block, index, slot, slots.get((slot, ""), ()))
            if isinstance(block, Text) and block is before
            else block
            for slot, (block, before) in enumerate(
                zip(message.blocks, self._plan.messages[index].blocks, strict=True)
            )
        )
        return message if blocks == message.blocks else message.with_blocks(blocks)

    def short_note(self, block: Text, index: int, slot: int, spans: Sequence[Span]) -> Text:
        """A few lines of a long note, and some spans; any other text unchanged."""
        text = block.text
        is_note = block.by_harness or is_host_note(text) or holds_excerpts(text)
        repeated = self._is_repeated(text, index, slot)
        nothing = repeated or (is_command_output(text) and index < len(self._plan.messages) - 1)
        note_chars = measured.HOST_NOTE_CHARS
        long = measured.SKILL_CHARS if is_skill(text) else note_chars if is_note else len(text)
        if len(text) <= (0 if nothing else long):
            return block
        head = opening_of(text) if nothing else note_chars // 2
        own_words = () if repeated else user_spans(text)
        shown = [(0, head), *own_words, *spans]
        return Text(render(text, shown, own_ref(text, self._plan.archive)))

    def _is_repeated(self, text: str, index: int, slot: int) -> bool:
        """Whether a later text of role user repeats this one, which is long, a skill or a note."""
        if is_host_note(text) and not is_skill(text):
            return self._last_with_note.get(text, index) > index
        long = is_skill(text) or len(text) > TEXT_WITH_REF_CHARS
        return long and (index, slot) in self._repeated


def is_instruction(text: Text) -> bool:
    """Whether a text of role user is the user's own, or a skill that is short enough to be kept.

    For a text of the assistant it is true unless the text begins like a note.
    """
    if text.by_harness:
        return False
    if is_skill(text.text):
        return len(text.text) <= measured.SKILL_CHARS
    return holds_user_words(text.text)


def is_users(message: Message) -> bool:
    """Whether a turn begins here with content of the user, not only with a note of the host."""
    return message.starts_turn and any(
        not isinstance(block, Text) or is_instruction(block) for block in message.blocks
    )


LINE_END = re.compile(r"\n")
"""The place where arguments are cut, because part of a line of code would look like a line."""


def short_call(quoting: Quoting, call: ToolCall, index: int, slot: int, slots: Slots) -> ToolCall:
    """A call with its long arguments shortened; the same object if it has none or must not change.

    Args:
        quoting: the `Quoting` of the conversation.
        call: the call to shorten.
        index: the index of its message.
        slot: the index of the call in the message.
        slots: spans that must be shown.
    """
    if must_stay(call, index, quoting.plan):
        return call
    ref: str | None = None  # shown in the first gap
    outdated = quoting.plan.outdated

    def shorten(_: str, text: str) -> str:
        nonlocal ref
        if len(text) <= measured.ARGUMENT_CHARS:
            return text
        ref = quoting.ref_of_message(index) if ref is None else ref
        if earlier := receipt_of(text, quoting.plan.archive):  # a preview, which names its ref
            parts: Sequence[Span] = [earlier.span()]
        else:
            changed = [*outdated.changed(call, text)]
            parts = _parts_to_show(text, changed, measured.ARGUMENT_CHARS)
        shown = render(text, [*parts, *slots.get((slot, text), ())], ref, explicit=True)
        ref = "" if marked_with(shown, ref) else ref
        return shown

    return with_texts(call, shorten)


def _parts_to_show(argument: str, changed: Sequence[Span], limit: int) -> Sequence[Span]:
    """The spans of a long argument to show: the lines that an edit changes, else both ends.

    Args:
        argument: the text.
        changed: the spans of the changed lines; empty if the call is not an edit.
        limit: the most characters that are shown.
    """
    first = fitting(changed, limit // 2)
    last = fitting([*reversed(changed[len(first) :])], limit // 2)
    return [*first, *last] or outer_parts(argument, limit, LINE_END)


def unread_in(plan: Plan) -> Sequence[int]:
    """The messages with results after which no message of the model came."""
    said = [i for i in plan.open_step or () if plan.messages[i].role == "assistant"]
    behind = range(said[-1] + 1, len(plan.messages)) if said else ()
    return [i for i in behind if plan.messages[i].results and i not in plan.pins]


def error_begins(result: ToolResult) -> list[Span]:
    """The spans of the first lines of a failed result, and of its first line with an error.

    A result has failed if the tool or its exit status says so, or if its first line is an error.
    """
    text = result.text
    errors = [start for start, _ in failures_in(text[: end_of_output(text)])]
    if not has_failed(result) and exit_status(text) in (None, "0") and errors[:1] != [0]:
        return []
    starts = [0, *errors][:2]
    return [_lines_from(text, start, measured.ENDING_CHARS) for start in dict.fromkeys(starts)]


class UnreadResults:
    """The results that the model has not read, in the tokens that they may take together.

    The newest is whole if it fits, and so are those that are not larger than a preview. The others
    share what is left, smaller ones whole first. If they do not fit, they take less of it, the less
    the larger they are: other evidence tells more than a small part of a large result.
    """

    def __init__(self, plan: Plan, tokens: int) -> None:
        """The shares of the results.

        Args:
            plan: the plan of the conversation.
            tokens: the tokens of all results together.
        """
        self._plan = plan
        self._spans: dict[str, Sequence[Span]] = {}
        results = [result for index in unread_in(plan) for result in plan.messages[index].results]
        sizes = [(tokens_of_text(each, plan.counter), each.call_id) for each in results]
        preview = plan.settings.offload_preview_tokens
        sure = [each for each in sizes if each[0] <= (tokens if each == sizes[-1] else preview)]
        others = sorted(each for each in sizes if each not in sure)
        room = max(0, tokens - sum(size for size, _ in sure))
        fitting = room / max(1, room, sum(size for size, _ in others))
        left = int(room * max(measured.UNREAD_LEAST, fitting**measured.UNREAD_FALL))
        self._tokens = {call: size for size, call in sure}  # by the id of the call
        for number, (size, call) in enumerate(others):
            behind = len(others) - number - 1
            is_whole = size <= left - behind * min(size, preview)  # the others are not smaller
            self._tokens[call] = share = size if is_whole else left // (behind + 1)
            left -= share

    def share_of(self, result: ToolResult) -> int:
        """The tokens that a result may take."""
        return self._tokens.get(result.call_id, 0)

    def short(
        self, result: ToolResult, name: str, index: int, shown: Sequence[Span]
    ) -> ToolResult | None:
        """A result in its share: whole, or its receipt, its ends and its errors.

        The spans `shown` are added, whatever they take. `None` if nothing of it fits.
        """
        if tokens_of_text(result, self._plan.counter) <= self.share_of(result):
            return result
        spans = self._spans.get(result.call_id)
        if spans is None:
            spans = self._spans[result.call_id] = self._fitting(result, name, index)
        if not spans:
            return None
        return self._with(result, name, index, [*spans, *shown])

    def _with(self, result: ToolResult, name: str, index: int, spans: Sequence[Span]) -> ToolResult:
        def spans_of(_result: ToolResult, _index: int, _plan: Plan) -> Sequence[Span]:
            return spans

        return to_preview(self._plan, 0, spans_of)(result, name, index, ())

    def _fitting(self, result: ToolResult, name: str, index: int) -> Sequence[Span]:
        """The ends and errors that make a result about as large as its share, and not larger."""
        count, share = self._plan.counter, self.share_of(result)
        text, least = result.text, error_begins(result)
        bare = tokens_of_text(self._with(result, name, index, least), count)
        if bare > share:
            return ()
        tokens = tokens_of_text(result, count)
        chars, best = (share - bare) * len(text) / max(1, tokens), least
        for _ in range(measured.UNREAD_ROUNDS):
            spans = [*least, *ends_and_errors(text, int(chars))]
            taken = tokens_of_text(self._with(result, name, index, spans), count)
            if taken <= share:
                best = spans
                if taken >= measured.UNREAD_FILLED * share:
                    break
            chars *= max(0.5, min(1.5, (share - bare) / max(1, taken - bare)))
            chars *= 1 if taken <= share else measured.UNREAD_FILLED
        return best


def ends_and_errors(text: str, chars: int) -> list[Span]:
    """The beginning, the end and the lines of errors of a text, in about so many characters."""
    stop = end_of_output(text)
    for_errors = int(measured.UNREAD_ERRORS_SHARE * chars)
    errors = [
        (start, min(end, start + measured.ENDING_CHARS)) for start, end in failures_in(text[:stop])
    ]
    first = fitting(errors, for_errors // 2)
    last = fitting(errors[len(first) :][::-1], for_errors // 2)
    spans = [*landmarks(text, for_errors), *first, *last]
    left = chars - sum(end - start for start, end in {*spans})
    if not 0 < left < stop:
        return spans
    return [*spans, *outer_parts(text[:stop], left, LINE_END)]


def _lines_from(text: str, start: int, most: int) -> Span:
    """The lines from a place on, in about so many characters; one line that is longer is cut."""
    stop = min(len(text), start + most)
    end = text.rfind("\n", start, stop) if stop < len(text) else stop
    return start, end if end > start else stop


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
        message = self._without_instructions(message, index, slots)
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
        self, message: Message, index: int, slots: Slots, *, least: bool = False
    ) -> Message:
        """A message of the user without most of the general instructions around its task.

        A text that is shortened already stays as it is: the spans and its ref are of the full one.
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
            if isinstance(b, Text) and b is before and general_spans(b.text)
            else b
            for slot, (b, before) in enumerate(
                zip(message.blocks, self.plan.messages[index].blocks, strict=True)
            )
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
        message = self._without_instructions(message, index, slots, least=shorten == self._to_line)
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
