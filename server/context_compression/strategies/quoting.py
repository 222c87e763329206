"""Quotes of messages that are left out: texts, labels, outcomes, refs, and what is alike."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import NamedTuple

from context_compression.conversation.authors import holds_user_words, is_host_note
from context_compression.conversation.labels import (
    NEWLINE,
    Span,
    label_of,
    no_speaker,
    render,
    without_digits,
)
from context_compression.conversation.messages import (
    Block,
    Message,
    Opaque,
    Text,
    ToolCall,
    ToolResult,
    as_object,
    named_strings,
)
from context_compression.conversation.validity import NO_START
from context_compression.evidence.facts import commands_of, error_lines, exit_status, has_failed
from context_compression.evidence.ledger.changes import is_after, is_before
from context_compression.evidence.ledger.tasks import list_in, test_counts
from context_compression.planning import measured as planning
from context_compression.planning.measured import TEXT_WITH_REF_CHARS
from context_compression.planning.plan import Plan
from context_compression.planning.selection import own_ref, ref_of_full, shortened
from context_compression.strategies import measured
from context_compression.strategies.last_lines import Files, files_of, names_of
from context_compression.strategies.tool_results import Slots

SEPARATOR = " · "
MAIN = re.compile(
    r"(?:.*_)?(?:path|file|filename|pattern|query|url)s?|.*(?:Path|File|Pattern|Query|Url)s?"
)
"""Names of arguments that hold the topic of a call; a command is always the topic."""


class LongArgument(NamedTuple):
    """An argument of a call that is not on its line."""

    name: str
    text: str


class CallTexts(NamedTuple):
    """The texts of a call.

    Attributes:
        label: its tool and its topic: `Bash: git status --short`.
        line: its short arguments on one line; the topic comes first, if it is short.
        has_topic: whether the line holds the topic, as the label does.
        long: its other arguments.
    """

    label: str
    line: str
    has_topic: bool
    long: tuple[LongArgument, ...]


def call_texts(call: ToolCall) -> CallTexts:
    """The texts of a call; arguments of several lines are long, and empty ones are left out."""
    arguments = _arguments(call)
    with_letters = [each for each in arguments if any(map(str.isalpha, each[1]))]
    # an argument without letters is not a topic
    about = next((e for e in with_letters if MAIN.fullmatch(e[0])), (*with_letters, ("", ""))[0])
    main = next(commands_of(call), "") or about[1]
    lines = (line.strip() for line in main.split(NEWLINE))
    first_line = next((line for line in lines if any(map(str.isalnum, line))), main.strip())
    label = call.name
    if first_line:
        label = f"{call.name}: {shortened(first_line, measured.LABEL_CHARS)}"
    long = tuple(
        LongArgument(without_line_breaks(name), text) for name, text in arguments if is_long(text)
    )
    short = (each for each in arguments if not is_long(each[1]))
    line = SEPARATOR.join(
        f"{name} {text}" if is_before(name) or is_after(name) else text
        for name, text in sorted(short, key=lambda each: each is not about)
    )
    return CallTexts(
        without_line_breaks(label), without_line_breaks(line), not (long and is_long(main)), long
    )


def _arguments(call: ToolCall) -> list[tuple[str, str]]:
    """The names and texts of a call's arguments; a list of tasks becomes one text."""
    list_name, entries = list_in(call) or ("", ())
    tasks = [task.line for task in entries if task]
    as_list = 0 < len(tasks) == len(entries)
    rest = call.arguments
    if as_list:
        rest = {name: value for name, value in call.arguments.items() if name != list_name}
    lists = [(list_name, NEWLINE.join(tasks))] if as_list else []
    return [(name or "argument", text) for name, text in (*named_strings(rest), *lists) if text]


def call_of(block: Block) -> str | None:
    """The id of the call that a block is or answers; `None` for other blocks."""
    match block:
        case ToolCall():
            return block.id
        case ToolResult():
            return block.call_id
        case _:
            return None


def weight_of(name: str) -> float:
    """The factor for the evidence in an argument of this name."""
    return planning.OUTDATED_WEIGHT if is_before(name) else 1.0


def is_long(argument: str) -> bool:
    """Whether an argument is too long for the line of its call."""
    return len(argument) > measured.ARGUMENT_CHARS or NEWLINE in argument


def without_line_breaks(text: str) -> str:
    """A text without line breaks of any kind, which would end a label."""
    return " ".join(text.splitlines())


WRAPPER = re.compile(r"\s*</?[\w-]+>(?:-?\d+</[\w-]+>)?\s*|\W*(?:exit|return) ?code\W*\d+\s*", re.I)
"""A line that only wraps an output, or repeats its exit status."""
UNDONE = "undone later"
"""What a label says of an edit that was taken back."""


class CallOutcome(NamedTuple):
    """The outcome of a call that failed or returned nothing.

    Attributes:
        label: the end of the call's label: `; exit 1`.
        reason: the line of the result that may give the reason.
    """

    label: str
    reason: str


def outcomes_in(messages: Sequence[Message]) -> Mapping[str, CallOutcome]:
    """The outcome of each call that failed or returned nothing, by call id."""
    commands = {
        call.id for message in messages for call in message.calls if next(commands_of(call), "")
    }
    return {
        block.call_id: CallOutcome(label, reason)
        for message in messages
        for block in message.results
        for label, reason in (outcome(block, block.call_id in commands),)
        if label
    }


def end_of(result: ToolResult, known: CallOutcome | None, *, success: bool = True) -> str:
    """How a call ended, for a quote without its result: `exit 1, 1 failed, 3 passed`.

    A call that succeeded says how its tests ended, or `exit 0` if its result does; else `""`.

    Args:
        result: the result of the call.
        known: the outcome of the call if it failed or returned nothing.
        success: whether to say `exit 0`.
    """
    counts = test_counts(result.text[-measured.FAILURE_CHARS :])
    if known is None:
        return counts or ("exit 0" if success and exit_status(result.text) == "0" else "")
    parts = [known.label.removeprefix("; "), counts or known.reason]
    return ", ".join(filter(None, parts))


def outcome(result: ToolResult, ran: bool) -> tuple[str, str]:
    """The end of the call's label for a result, and a line of it that may give the reason.

    `("; exit 1", "Error: no such file")`, `("; error", …)`, `("; empty", "")`; `("", "")` for any
    other result.

    Args:
        result: the result of the call.
        ran: whether the call ran a command. Only then is an exit status searched, because other
            texts may mention exit codes.
    """
    if not result.text.strip() and all(isinstance(part, Text) for part in result.content):
        return "; empty", ""
    status = exit_status(result.text) if ran else None
    if has_failed(result) or status not in (None, "0"):
        beginning = result.text[: measured.FAILURE_CHARS]
        lines = error_lines(beginning) or [
            line for line in beginning.splitlines() if line.strip() and not WRAPPER.fullmatch(line)
        ]
        what = "error" if status in (None, "0") else f"exit {status}"
        first = without_line_breaks(lines[0] if lines else "")
        return f"; {what}", shortened(first, measured.LABEL_CHARS)
    return "", ""


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


def label(
    quoting: Quoting,
    message: Message,
    block: Block,
    key: str,
    above: str | None,
    *,
    begins: bool = False,
    whole: bool = False,
    ended: str = "",
) -> str:
    """The label of a quote: `User`, `Bash`, `Edit: a.py; old_string`, `Result of Bash: ls; ref …`.

    The label of a call that failed or returned nothing shows that: `Bash; exit 1`. That of an edit
    that was taken back says so: `Edit: a.py; undone later; new_string`.

    Args:
        quoting: the `Quoting` of the conversation.
        message: the quoted message.
        block: the quoted block.
        key: which text of a call is quoted.
        above: the id of the call that the line above names, which is not named again.
        begins: whether the quote includes the beginning of the text.
        whole: whether the quote is the whole text; then the label of a result needs no ref.
        ended: how the call ended, if its result is not quoted. The caller adds it to the call's
            line; other texts of the call have it in their label.
    """
    is_named = above is not None and above == call_of(block)
    match block:
        case ToolCall():
            outcome = _outcome_of(quoting, block, key, ended)
            return _label_of_call(quoting, block, key, outcome, is_named=is_named, begins=begins)
        case ToolResult():
            return _label_of_result(quoting, block, is_named=is_named, whole=whole)
        case Opaque(said=said) if said:
            return "User"
        case Text(text=text) if message.role == "user" and not holds_user_words(text):
            return "Host" if is_host_note(text) else "Earlier note"
        case _:
            return message.role.capitalize()


def _label_of_call(
    quoting: Quoting, block: ToolCall, key: str, outcome: str, *, is_named: bool, begins: bool
) -> str:
    call = quoting.calls[block.id]
    tool = no_speaker(without_line_breaks(block.name))
    if key == "line":
        return (tool if call.has_topic else no_speaker(call.label)) + outcome
    if len(call.long) == 1 and not call.line:
        return tool + outcome
    name, text = call.long[int(key)]
    if is_named:
        return no_speaker(name)
    about = call.label.removeprefix(f"{block.name}: ").partition("…")[0]
    says_so = begins and text.lstrip().startswith(about)
    return f"{tool if says_so else no_speaker(call.label)}; {name}{outcome}"


def _outcome_of(quoting: Quoting, call: ToolCall, key: str, ended: str) -> str:
    """The end of a call's label: how it ended, and whether it was taken back."""
    if ended:
        outcome = "" if key == "line" else f"; {ended}"
    else:
        outcome = quoting.outcomes[call.id].label if call.id in quoting.outcomes else ""
    return f"{outcome}; {UNDONE}" if call.id in quoting.plan.outdated.undone else outcome


def _label_of_result(quoting: Quoting, block: ToolResult, *, is_named: bool, whole: bool) -> str:
    ref = "" if whole else f"; ref {ref_of_full(block.text, quoting.plan.archive)}"
    answers = block.said and not block.claim
    details = f"{'; the user said' if answers else ''}{ref}"
    if is_named:
        return f"Result{details}"
    call = quoting.calls.get(block.call_id)
    return f"Result of {call.label if call else 'a tool'}{details}"


def ref_in_gaps(quoting: Quoting, index: int, block: Block, key: str) -> str:
    """The ref that restores the missing parts of a text.

    An argument has no ref of its own and is restored with its message. The ref of a result is in
    its label.
    """
    match block:
        case Text():
            return own_ref(block.text, quoting.plan.archive)
        case ToolCall() if key != "line":
            return quoting.ref_of_message(index)
        case _:
            return ""


ALIKE_CHARS = 1_000
"""The most characters of a message that may be told to be like another."""


def said_alike(message: Message) -> str:
    """The author and the text of a short message, without digits.

    `""` for a message that is longer, or has more than texts.
    """
    if not all(isinstance(block, Text) for block in message.blocks):
        return ""
    text, speaker = message.text, as_object(message.source).get("name")
    if not 0 < len(text) <= ALIKE_CHARS:
        return ""
    return f"{message.role} {speaker} {without_digits(text)}"


def said_in(plan: Plan, quoted: Mapping[int, Slots]) -> Set[str]:
    """What `said_alike` gives for the messages that are quoted in full."""
    return {
        said
        for index, slots in quoted.items()
        if (said := said_alike(plan.messages[index]))
        if all(
            _is_whole(block, slots.get((slot, "")))
            for slot, block in enumerate(plan.messages[index].blocks)
        )
    }


def _is_whole(block: Block, spans: Sequence[Span] | None) -> bool:
    return isinstance(block, Text) and bool(spans) and render(block.text, spans) == block.text
