"""Where one may cut, and what stays: turns, tool steps, head, tail, pins.

A plan is made once for a conversation; strategies read it and propose edits.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeAlias

from context_compression.conversation.authors import answer_of, holds_excerpts, user_words
from context_compression.conversation.messages import (
    COMPRESSED,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Text,
    named_strings,
)
from context_compression.conversation.provider_rules import ProviderRules, anthropic_like
from context_compression.conversation.refs import Refs
from context_compression.conversation.rendering import Span
from context_compression.evidence.ledger import Entry
from context_compression.evidence.ledger.changes import is_before
from context_compression.evidence.open_tasks import Due
from context_compression.evidence.outdated import Outdated
from context_compression.planning.cuts import Cutter
from context_compression.settings import Settings

MENTIONED_TOKENS = 3_000
"""Tokens of the user's words in a message up to which those count as used: with a long text nobody
means each."""
WRITTEN_CHARS = 1_500
"""Characters of an argument beyond which it is a text that is written: it refers to nothing."""
TEXT_WITH_REF = 400
"""Characters from which on a text has a ref of its own beside that of its message."""


Previews: TypeAlias = dict[tuple[str, Sequence[Span]], Sequence[Span]]
"""Where the parts of a text stand that its preview shows, by the text and by where in it stands
what was replaced since."""


class Counter(Protocol):
    """Counts tokens; `tokens.Counter` is the one everybody uses."""

    def text(self, text: str) -> int:
        """Tokens of a text."""
        ...

    def block(self, block: Block) -> int:
        """Tokens of a block."""
        ...

    def message(self, message: Message) -> int:
        """Tokens of a message."""
        ...


def _nothing(ref: str) -> str | None:
    return None


@dataclass(frozen=True)
class Archive:
    """What receipts may promise.

    Attributes:
        restorable: whether a store keeps the originals, so that `context_restore` brings them back.
        path: where an offloaded text will lie, by ref; `None` without a store.
        restored: refs that were brought back, not a few lines; they are not offloaded again.
        refs: what is archived already.
        previews: hashes of the texts that stand in the view in place of others.
        wholes: refs of such others of which no more is known: a text that names one is believed.
        original: the text archived under a ref; `None` when it cannot be had.
        ref_of: gives refs to what is not archived yet.
        ledger: the evidence of everything compressed before.
        prompt: the user's own instruction for summaries of a name; `None` where there is none.
        settled: how many messages an earlier compression left; what was recorded since follows.
    """

    restorable: bool = False
    path: Callable[[str], str] | None = None
    restored: frozenset[str] = frozenset()
    refs: Container[str] = frozenset[str]()
    previews: Container[str] = frozenset[str]()
    wholes: Container[str] = frozenset[str]()
    original: Callable[[str], str | None] = _nothing
    ref_of: Refs = field(default_factory=Refs)
    ledger: Sequence[Entry] = ()
    prompt: Callable[[str], str | None] = _nothing
    settled: int = 0


@dataclass(frozen=True)
class Plan:
    """A valid conversation with its structure.

    Attributes:
        messages: the conversation.
        tokens: of each message.
        room: tokens the messages may take in all; `None` when strategies shall do all they can.
        pins: messages that stay whole; their call or result partners stay, too.
        batch: messages before this one are shortened together, even where the room needs less.
        rules: what the provider refuses.
        drops_thinking: whether bound thinking goes with what it is bound to.
        model: the conversation's, where it is known.
        cutter: what cuts its texts.
        previews: those of its texts that were made already.
    """

    messages: tuple[Message, ...]
    tokens: tuple[int, ...]
    counter: Counter
    settings: Settings
    room: int | None = None
    pins: frozenset[int] = frozenset()
    batch: int = 0
    rules: ProviderRules = field(default_factory=anthropic_like)
    drops_thinking: bool = True
    archive: Archive = field(default_factory=Archive)
    focus: str | None = None
    model: str | None = None
    cutter: Cutter = field(default_factory=Cutter)
    previews: Previews = field(default_factory=Previews)

    @cached_property
    def total(self) -> int:
        """Tokens of all messages."""
        return sum(self.tokens)

    @cached_property
    def head(self) -> int:
        """How many leading system messages there are; they always stay, but no summary of ours."""
        for index, message in enumerate(self.messages):
            if not message.is_system or message.text.startswith(COMPRESSED):
                return index
        return len(self.messages)

    @cached_property
    def turns(self) -> tuple[range, ...]:
        """Each turn as a range of messages: `[user, assistant, tool, user]` -> `(0-3), (3-4)`."""
        starts = [i for i in range(self.head, len(self.messages)) if self.messages[i].starts_turn]
        if self.head < len(self.messages) and (not starts or starts[0] > self.head):
            starts.insert(0, self.head)
        return tuple(map(range, starts, [*starts[1:], len(self.messages)]))

    @cached_property
    def steps(self) -> tuple[range, ...]:
        """Each tool step: the assistant's messages with calls, and those with their results.

        Neighbours of the assistant's are one turn: reasoning that stands before a call by itself
        belongs to the step, and what stands behind one. So does all up to where a tool that the
        provider runs has answered.
        """
        found: list[range] = []
        index, end = 0, len(self.messages)
        while index < end:
            if self.messages[index].calls or self._opens(index):
                start = min(reasoning_of(self.messages, index), default=index)
                index = self._end_of_step(index)
                found.append(range(start, index))
            else:
                index += 1
        return tuple(found)

    def _end_of_step(self, index: int) -> int:
        """Behind the results of a step whose first call stands at `index`."""
        stop, messages = index, self.messages
        waiting: set[str] = set()
        while stop < len(messages):
            while stop < len(messages) and messages[stop].role == "assistant":
                for block in messages[stop].blocks:
                    if isinstance(block, Opaque) and block.unit:
                        (waiting.add if block.opens else waiting.discard)(block.unit)
                stop += 1
            while stop < len(messages) and messages[stop].role != "assistant":
                if not (waiting or messages[stop].results or messages[stop].role == "tool"):
                    return stop
                stop += 1
            if not waiting:
                return stop
        return stop

    def _opens(self, index: int) -> bool:
        """Whether a tool that the provider runs is called there and answers in a later message."""
        message = self.messages[index]
        if message.role != "assistant":
            return False
        units = [b for b in message.blocks if isinstance(b, Opaque) and b.unit]
        closed = {block.unit for block in units if not block.opens}
        return any(block.opens and block.unit not in closed for block in units)

    @cached_property
    def declared(self) -> Mapping[str, Sequence[int]]:
        """Where tools are declared that may only be called behind it, by the tool's name."""
        found: dict[str, list[int]] = {}
        for index, message in enumerate(self.messages):
            for name in message.declares:
                found.setdefault(name, []).append(index)
        return found

    @cached_property
    def bound(self) -> Sequence[int]:
        """The messages with thinking that is bound to what stands before it."""
        return [i for i, message in enumerate(self.messages) if message.has_bound_thinking]

    @cached_property
    def current_turn(self) -> int:
        """Where the turn begins that is not over yet."""
        return self.turns[-1].start if self.turns else 0

    @cached_property
    def open_step(self) -> range | None:
        """The tool step that is unanswered, or whose results the model has not seen yet."""
        if not self.steps:
            return None
        last = self.steps[-1]
        seen = any(message.role == "assistant" for message in self.messages[last.stop :])
        return None if seen else last

    @cached_property
    def last_user(self) -> int | None:
        """The last message in which the user says something, not the host and not we."""
        for index in range(len(self.messages) - 1, -1, -1):
            if user_words(self.messages[index]).strip():
                return index
        return None

    @cached_property
    def replied_to(self) -> int | None:
        """The message with the model's last words before the user's; `None` if it calls a tool."""
        for index in range((self.last_user or 0) - 1, -1, -1):
            if (message := self.messages[index]).role == "assistant":
                return None if message.calls else index
        return None

    @cached_property
    def shown_since(self) -> list[int]:
        """Messages after the last user message in which the user shows something without words."""
        start = 0 if self.last_user is None else self.last_user + 1
        return [
            index
            for index in range(start, len(self.messages))
            if self.messages[index].starts_turn
            and any(isinstance(b, Image | Document | Opaque) for b in self.messages[index].blocks)
        ]

    @cached_property
    def anchored(self) -> frozenset[int]:
        """What no strategy may remove: head, pins, last user message, open tool step.

        A message of the user's that waits for an answer is kept whatever it looks like. A tool step
        is anchored as a whole. Where there is no user message and no open step, the last message
        (or step) is kept, for an empty view would be no conversation.
        """
        kept = {*range(self.head), *self.pins, *(self.open_step or ()), *self.shown_since}
        if self.last_user is not None:
            kept.add(self.last_user)
        if self.messages and self.messages[-1].starts_turn:
            kept.add(len(self.messages) - 1)
        if len(kept) == self.head and self.messages:
            kept.add(len(self.messages) - 1)
        for step in self.steps:
            if not kept.isdisjoint(step):
                kept.update(step)
        return frozenset(kept)

    def is_cut(self, index: int) -> bool:
        """Whether a kept part may begin at `index`."""
        if not self.head <= index < len(self.messages):
            return index == len(self.messages)
        message, step = self.messages[index], self.step_of(index)
        inside = step is not None and step.start < index
        return not (inside or message.results or message.role in ("tool", "developer"))

    def cut_after(self, index: int) -> int:
        """The first legal cut at or after `index`."""
        return next(
            i for i in range(max(index, self.head), len(self.messages) + 1) if self.is_cut(i)
        )

    def cut_before(self, index: int) -> int:
        """The last legal cut at or before `index`, not before the head's end."""
        return next((i for i in range(index, self.head, -1) if self.is_cut(i)), self.head)

    @cached_property
    def tail(self) -> int:
        """Where the recent conversation begins that stays whole where the target allows.

        From the end until `keep_recent_tokens` (or `tail_retention_ratio` of the budget) and
        `preserve_messages` are reached, the last message taken whole. With a room to keep to it
        takes at most half of that, and `preserve_messages` yields.
        """
        wanted = self.settings.recent_tokens
        most = None if self.room is None else self.room // 2
        start, held = len(self.messages), 0
        while start > self.head and (
            held < wanted or len(self.messages) - start < self.settings.preserve_messages
        ):
            tokens = self.tokens[start - 1]
            if most is not None and self.open_step and start - 1 in self.open_step:
                tokens = min(tokens, self.settings.offload_min_tokens)  # it may become a preview
            if most is not None and held + tokens > most:
                return self.cut_after(start)
            start -= 1
            held += tokens
        return self.cut_before(start)

    @cached_property
    def outdated(self) -> Outdated:
        """What later calls replaced of what was read of a file, or written to it."""
        return Outdated(self.messages)

    @cached_property
    def due(self) -> Due:
        """What its calls leave to be done, and those that notes of ours quote."""
        texts = (block.text for m in self.messages for block in m.blocks if isinstance(block, Text))
        return Due(self.outdated, [*filter(holds_excerpts, texts)])

    @cached_property
    def used(self) -> bytearray:
        """1 for each evidence word, by its number, that somebody says or passes to a tool.

        What stands in a long text alone, pasted or written to a file, nobody refers to; nor to what
        a developer message lists.
        """
        found = bytearray()
        for message in self.messages:
            texts: list[str] = []
            if message.role == "assistant":
                texts.append(message.text)
            elif self.counter.text(said := user_words(message)) <= MENTIONED_TOKENS:
                texts.append(said)
            texts.extend(filter(None, map(answer_of, message.results)))
            for call in message.calls:
                texts.extend(
                    text
                    for name, text in named_strings(call.arguments)
                    if len(text) <= WRITTEN_CHARS and not is_before(name)
                )
            for text in texts:
                numbers = self.cutter.words_of(self.cutter(text))
                found.extend(bytes(len(self.cutter.numbering) - len(found)))
                for number in numbers:
                    found[number] = 1
        return found

    def step_of(self, index: int) -> range | None:
        """The tool step a message belongs to."""
        return self._steps_by_index[index]

    @cached_property
    def _steps_by_index(self) -> Sequence[range | None]:
        found: list[range | None] = [None] * len(self.messages)
        for step in self.steps:
            for index in step:
                found[index] = step
        return found


def pinned(messages: Sequence[Message], pins: Sequence[int | str]) -> frozenset[int]:
    """Indices of pinned messages: by number (negative from the end), or by a text they contain."""
    found: set[int] = set()
    for pin in pins:
        if isinstance(pin, int):
            if -len(messages) <= pin < len(messages):
                found.add(pin % len(messages))
        else:
            found.update(i for i, message in enumerate(messages) if _contains(message, pin))
    return frozenset(found)


def owner_of(messages: Sequence[Message], index: int) -> int:
    """The message that reasoning which stands alone belongs to; any other is its own."""
    while messages[index].only_thinks and index + 1 < len(messages):
        index += 1
    return index


def reasoning_of(messages: Sequence[Message], index: int) -> Iterator[int]:
    """The messages of nothing but reasoning that stand right before one."""
    while index and messages[index - 1].only_thinks:
        index -= 1
        yield index


def _contains(message: Message, text: str) -> bool:
    return (
        text in message.text
        or any(text in r.text for r in message.results)
        or any(text in call.arguments_text for call in message.calls)
    )
