"""Quotes of dropped messages, in order, each labelled with who said it or which call it is of."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from context_compression.conversation.authors import (
    EXCERPTS,
    holds_excerpts,
    holds_user_words,
    is_answer,
    is_host_note,
    is_note,
    question_calls,
)
from context_compression.conversation.labels import label_of, no_speaker, without_labels
from context_compression.conversation.messages import (
    COMPRESSED,
    Block,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    named_strings,
    user,
)
from context_compression.conversation.rendering import NEWLINE, Span, gap, marked_with, render
from context_compression.conversation.validity import NO_START
from context_compression.evidence.facts import commands_of, error_lines, exit_status, has_failed
from context_compression.evidence.ledger.changes import is_after, is_before
from context_compression.evidence.ledger.tasks import list_in
from context_compression.planning import pieces
from context_compression.planning.plan import TEXT_WITH_REF, Plan
from context_compression.planning.selection import own_ref, ref_of_whole, shortened
from context_compression.strategies.files import Files, files_of
from context_compression.strategies.gaps import gap_of_messages, gaps
from context_compression.strategies.names import names_of
from context_compression.strategies.pictures import images_in, mark_of
from context_compression.strategies.tool_results import NO_SLOTS, Slots

ARGUMENT_CHARS = 240
"""Characters of a call's argument above which it is long: the call of an old step keeps no more."""
SEPARATOR = " · "
MAIN = re.compile(
    r"(?:.*_)?(?:path|file|filename|pattern|query|url)s?|.*(?:Path|File|Pattern|Query|Url)s?"
)
"""Names of arguments that tell what a call is about; a command does in any case."""
LABEL_CHARS = 80
"""Characters of that argument in the labels of what belongs to the call."""
LABEL_TOKENS = 12
"""What a label costs, about, without the call it names."""
REF_TOKENS = 8
"""What a ref in the mark of a gap costs."""
RESTORE = "; context_restore(ref=…) brings one back whole, context_restore(query=…) finds others"
"""How what is left out is brought back."""
FAILURE_CHARS = 4_000
"""Characters of a result in which the line is looked for that says why it failed."""


class Part(NamedTuple):
    """A text of a block, of which pieces may be shown.

    Attributes:
        text: all of it.
        key: which of a call's texts it is; empty for other blocks.
        opening: tokens it costs to show anything of it.
        weight: times which its evidence counts.
    """

    text: str
    key: str
    opening: int
    weight: float = 1.0


class CallTexts(NamedTuple):
    """What a call says.

    Attributes:
        label: its tool and what it is about: `Bash: git status --short`.
        line: its short arguments on one line, what it is about first, if that is short.
        tells: whether the line tells what the label would.
        long: its other arguments, each with its name.
    """

    label: str
    line: str
    tells: bool
    long: Sequence[tuple[str, str]]


class Outcome(NamedTuple):
    """What came of a call that failed or brought nothing.

    Attributes:
        message: which one its result is in, by index.
        slot: of the result in it.
        label: what the label of the call tells: `; exit 1`.
        why: a line of the result.
    """

    message: int
    slot: int
    label: str
    why: str


class Quoting:
    """Quotes messages of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._refs: dict[int, str] = {}  # of messages, by index

    @cached_property
    def calls(self) -> Mapping[str, CallTexts]:
        """What each call says, by its id."""
        return {call.id: call_texts(call) for m in self.plan.messages for call in m.calls}

    @cached_property
    def asked(self) -> Container[str]:
        """The ids of the calls by which the model asks the user."""
        return question_calls(self.plan.messages)

    @cached_property
    def label_begins(self) -> re.Pattern[str]:
        """How labels begin: of speakers, results, and calls."""
        return label_of({call.name for message in self.plan.messages for call in message.calls})

    @cached_property
    def outcomes(self) -> Mapping[str, Outcome]:
        """What came of each call that failed or brought nothing, by its id."""
        ran = {
            call.id
            for message in self.plan.messages
            for call in message.calls
            if next(commands_of(call), "")
        }
        return {
            block.call_id: Outcome(index, slot, label, why)
            for index, message in enumerate(self.plan.messages)
            for slot, block in enumerate(message.blocks)
            if isinstance(block, ToolResult)
            for label, why in (outcome(block, block.call_id in ran),)
            if label
        }

    @cached_property
    def files(self) -> Files:
        """The files that the calls worked on."""
        return files_of(self.plan)

    @cached_property
    def names(self) -> Sequence[str]:
        """The names somebody used, but for those of files, which have a line of their own."""
        return [name for name in names_of(self.plan) if name not in self.files.ends]

    def parts(self, block: Block) -> Iterator[Part]:
        """The texts of a block; of a call its line, then its long arguments by number.

        That a conversation came without its start is no part of it.
        """
        match block:
            case ToolCall():
                call = self.calls[block.id]
                opening = LABEL_TOKENS + len(call.label) // 4
                if len(call.line) > 3:
                    yield Part(call.line, "line", LABEL_TOKENS if call.tells else opening)
                for number, (name, text) in enumerate(call.long):
                    yield Part(text, str(number), opening, weight_of(name))
            case ToolResult() if block.text.strip():
                call = self.calls.get(block.call_id)
                yield Part(block.text, "", LABEL_TOKENS + (len(call.label) // 4 if call else 0))
            case Text() if block.text.strip() and block.text != NO_START:
                with_ref = len(block.text) > TEXT_WITH_REF
                yield Part(block.text, "", LABEL_TOKENS + REF_TOKENS * with_ref)
            case _:
                return

    def note(
        self,
        run: range,
        quoted: dict[int, Slots],
        with_ref: Container[int] = (),
        *,
        first: bool = False,
        last: bool = False,
        ends: bool = False,
    ) -> Message:
        """A message of ours in place of some: excerpts of them, and marks where others are missing.

        Of a message of which something is quoted, long texts that are not have a mark, too, and
        what the user showed beside it.

        Args:
            run: the messages it stands for.
            quoted: what to quote of each; what is quoted is taken out.
            with_ref: where gaps begin that tell the ref of the first message missing.
            first: whether it is the view's first, which tells what is missing before its quotes,
                and how to get the rest, where a store keeps it.
            last: whether it is the view's last: what is missing behind its quotes happened last.
            ends: whether gaps before and behind all quotes of any note are marked.
        """
        indices = [index for index in run if index in quoted]
        what = EXCERPTS if indices else f"{COMPRESSED} Not shown here"
        note = f"{what}{RESTORE if first and self.plan.archive.restorable else ''}:"
        above = None  # the call that is named in the line above
        told = ""  # the ref that was told last
        for missing, index in zip(gaps(run, indices), [*indices, None], strict=True):
            if missing:
                above = None
                if missing.start in with_ref:
                    note += f"\n{self.mark_of(missing, self.ref_of_message(missing.start))}"
                elif self.must_mark(
                    run, missing, index, before=ends or first, behind=ends or last or not indices
                ):
                    note += f"\n{self.mark_of(missing)}"
            if index is None:
                break
            message, slots = self.plan.messages[index], quoted.pop(index)
            for slot, block in enumerate(message.blocks):
                for text, key, *_ in self.parts(block):
                    if spans := slots.get((slot, key)) or beside_quotes(message, block):
                        begins = min(spans)[0] == 0
                        label = self.label(message, block, key, above, begins=begins)
                        ref = self.ref_in_gaps(index, block, key)
                        text = render(text, spans, "" if ref == told else ref)
                        if not self.speaks(message, block):
                            text = without_labels(text, self.label_begins)
                        told = ref if marked_with(text, ref) else told
                        if key == "line":
                            text += self.why(block, quoted)
                        note += f"\n[{label}]{NEWLINE if NEWLINE in text else ' '}{text}"
                        above = call_of(block)
                    elif isinstance(block, Text) and (ref := own_ref(text, self.plan.archive)):
                        note += f"\n[{self.label(message, block, key, above)}] {gap(text, ref)}"
                        above = None
            if message.starts_turn and (pictures := images_in(message)):
                mark = mark_of(len(pictures), self.ref_of_message(index))
                note += f"\n[{message.role.capitalize()}] {mark}"
        return user(note)

    def mark_of(self, missing: range, ref: str = "") -> str:
        """The mark of a gap of messages; what was only put in to mend them does not count."""
        given = [index for index in missing if self.plan.messages[index].source is not None]
        return gap_of_messages(len(given) or len(missing), ref)

    def why(self, call: Block, quoted: Mapping[int, Slots]) -> str:
        """Why a call failed, where nothing of its result is quoted."""
        came = self.outcomes.get(call.id) if isinstance(call, ToolCall) else None
        if not came or not came.why or (came.slot, "") in quoted.get(came.message, NO_SLOTS):
            return ""
        return f" → {came.why}"

    def ref_of_message(self, index: int) -> str:
        """The ref under which a message comes back whole; empty for one that we made."""
        ref = self._refs.get(index)
        if ref is None:
            source = self.plan.messages[index].source
            ref = "" if source is None else self.plan.archive.ref_of(source)
            self._refs[index] = ref
        return ref

    def ref_in_gaps(self, index: int, block: Block, key: str) -> str:
        """The ref that tells where to get what is missing of a text.

        An argument has none of its own: it comes back with its message. The ref of a result stands
        in its label.
        """
        match block:
            case Text():
                return own_ref(block.text, self.plan.archive)
            case ToolCall() if key != "line":
                return self.ref_of_message(index)
            case _:
                return ""

    def must_mark(
        self, run: range, missing: range, index: int | None, *, before: bool, behind: bool
    ) -> bool:
        """Whether it must be said that messages are missing before the one at `index`.

        Before the first that is quoted, and behind the last (`None`), as the caller says; nowhere
        if it answers a single one with calls alone: the labels of its results name them.
        """
        if index is None:
            return behind
        if missing.start == run.start and not before:
            return False
        if len(missing) > 1:
            return True
        first = self.plan.messages[missing.start]
        calls = {call.id for call in first.calls}
        answered = any(result.call_id in calls for result in self.plan.messages[index].results)
        return not answered or any(not isinstance(b, ToolCall | Thinking) for b in first.blocks)

    def label(
        self, message: Message, block: Block, key: str, above: str | None, *, begins: bool = False
    ) -> str:
        """Who said a text: `User`, `Bash`, `Edit: a.py; old_string`, `Result of Bash: ls; ref …`.

        A call that failed or brought nothing says so: `Bash; exit 1`.

        Args:
            message: the one quoted.
            block: which of its blocks.
            key: which text of a call.
            above: the call that is named in the line above: it is not named again.
            begins: whether the text is shown from its beginning.
        """
        told = above is not None and above == call_of(block)
        match block:
            case ToolCall():
                call = self.calls[block.id]
                came = self.outcomes[block.id].label if block.id in self.outcomes else ""
                tool = no_speaker(one_line(block.name))
                if key == "line":
                    return (tool if call.tells else no_speaker(call.label)) + came
                if len(call.long) == 1 and not call.line:
                    return tool + came
                name, text = call.long[int(key)]
                if told:
                    return no_speaker(name)
                about = call.label.removeprefix(f"{block.name}: ").partition("…")[0]
                says_so = begins and text.lstrip().startswith(about)
                return f"{tool if says_so else no_speaker(call.label)}; {name}{came}"
            case ToolResult():
                ref = ref_of_whole(block.text, self.plan.archive)
                answers = is_answer(block, self.asked)
                tells = f"{'; the user said' if answers else ''}; ref {ref}"
                if told:
                    return f"Result{tells}"
                call = self.calls.get(block.call_id)
                return f"Result of {call.label if call else 'a tool'}{tells}"
            case Text(text=text) if message.role == "user" and not holds_user_words(text):
                return "Host" if is_host_note(text) else "Earlier note"
            case _:
                return message.role.capitalize()

    def speaks(self, message: Message, block: Block) -> bool:
        """Whether labels in a text are what they seem: in the user's words and quotes of ours."""
        if message.role != "user" or not isinstance(block, Text):
            return False
        return not is_note(block.text) or holds_excerpts(block.text)


def outcome(result: ToolResult, ran: bool) -> tuple[str, str]:
    """What the label of a call tells of its result, and a line of it that may say why.

    `("; exit 1", "Error: no such file")`, `("; error", …)`, `("; empty", "")`; nothing of others.

    Args:
        result: of the call.
        ran: whether the call ran a command: texts about commands speak of exit codes, too.
    """
    if not result.text.strip() and all(isinstance(part, Text) for part in result.content):
        return "; empty", ""
    status = exit_status(result.text) if ran else None
    if has_failed(result) or status not in (None, "0"):
        lines = error_lines(result.text[:FAILURE_CHARS]) or result.text.strip().splitlines()
        what = "error" if status in (None, "0") else f"exit {status}"
        return f"; {what}", shortened(one_line(lines[0] if lines else ""), LABEL_CHARS)
    return "", ""


def beside_quotes(message: Message, block: Block) -> Sequence[Span]:
    """What is shown of a text of which nothing was chosen, in a message that is quoted.

    All of a short one of the user's: beside a long text that they pasted it may be the request.
    """
    if message.role != "user" or not isinstance(block, Text):
        return ()
    text = block.text
    return [(0, len(text))] if len(text) <= TEXT_WITH_REF and holds_user_words(text) else ()


def weight_of(name: str) -> float:
    """Times which evidence counts in an argument of this name."""
    return pieces.OUTDATED_WEIGHT if is_before(name) else 1.0


def call_of(block: Block) -> str | None:
    """The id of the call that a block is or answers."""
    match block:
        case ToolCall():
            return block.id
        case ToolResult():
            return block.call_id
        case _:
            return None


def call_texts(call: ToolCall) -> CallTexts:
    """What a call says; arguments of several lines are long, too, and empty ones left out."""
    name, told = list_in(call) or ("", ())
    tasks = [task.line for task in told if task]
    as_list = 0 < len(tasks) == len(told)
    rest = {n: v for n, v in call.arguments.items() if n != name} if as_list else call.arguments
    lists = [(name, NEWLINE.join(tasks))] if as_list else []
    given = [(n or "argument", t) for n, t in (*named_strings(rest), *lists) if t]
    telling = [each for each in given if any(map(str.isalpha, each[1]))]  # a number names nothing
    about = next((e for e in telling if MAIN.fullmatch(e[0])), (*telling, ("", ""))[0])
    whole = next(commands_of(call), "") or about[1]
    said = whole.strip().partition(NEWLINE)[0]
    label = f"{call.name}: {shortened(said, LABEL_CHARS)}" if said else call.name
    long = tuple((one_line(name), text) for name, text in given if is_long(text))
    short = (each for each in given if not is_long(each[1]))
    line = SEPARATOR.join(
        f"{name} {text}" if is_before(name) or is_after(name) else text
        for name, text in sorted(short, key=lambda each: each is not about)
    )
    return CallTexts(one_line(label), one_line(line), not (long and is_long(whole)), long)


def is_long(argument: str) -> bool:
    """Whether an argument does not stand on the line of its call."""
    return len(argument) > ARGUMENT_CHARS or NEWLINE in argument


def one_line(text: str) -> str:
    """A text without line breaks of any kind, which would end a label."""
    return " ".join(text.splitlines())
