"""`Plan`: the structure of a conversation, which shows where it may be cut and what must stay.

A plan holds turns, tool steps, head, tail and pins. It is made once for a compression; strategies
read it and propose edits.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain
from statistics import median
from typing import Any, Protocol, TypeAlias

from context_compression.conversation.authors import holds_excerpts, is_note, user_words
from context_compression.conversation.authors.speech import is_only_polite
from context_compression.conversation.formats import plain
from context_compression.conversation.formats.parts import ProviderRules, anthropic_like
from context_compression.conversation.labels import Span
from context_compression.conversation.messages import (
    COMPRESSED,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Text,
    named_strings,
    strings_in,
)
from context_compression.conversation.refs import Refs
from context_compression.evidence.constraints import Constraint, constraints_of_user
from context_compression.evidence.files import Outdated
from context_compression.evidence.ledger import Entry
from context_compression.evidence.ledger.changes import is_before
from context_compression.evidence.open_tasks import OpenTasks, last_outcome, last_undo, refused
from context_compression.planning import measured
from context_compression.planning.pieces import Cutter
from context_compression.settings import Settings
from context_compression.strings import english_length

RESTORE = "context_restore"


def offers_restore(tools: Any) -> bool:
    """Whether the tool definitions of a request offer our tool, in any dialect."""
    return any(text.endswith(RESTORE) for text in strings_in(plain(tools)))


def _nothing(ref: str) -> str | None:
    return None


@dataclass(frozen=True)
class Archive:
    """The archive as a plan sees it, and what receipts may promise.

    Attributes:
        restorable: whether `context_restore` can be called, and a store keeps the originals.
        path: takes a ref and returns the path of its offloaded text; `None` without a store.
        restored: refs whose text was restored to a large part; they are not offloaded again.
        refs: the refs of all content that is already archived.
        previews: the SHA-256 of each text that is in the view in place of a longer text.
        original: takes a ref and returns its archived text; `None` if the text is not available.
        ref_of: gives refs to content that is not archived yet.
        ledger: the evidence of everything that was compressed before.
        prompt: takes a name and returns the user's own instruction for summaries; `None` if there
            is none.
        settled: how many messages an earlier compression left; newer messages follow them.
        missing: how many recorded messages are not in the conversation in any form; `None` if no
            log says so.
    """

    restorable: bool = False
    path: Callable[[str], str] | None = None
    restored: frozenset[str] = frozenset()
    refs: Container[str] = frozenset[str]()
    previews: Container[str] = frozenset[str]()
    original: Callable[[str], str | None] = _nothing
    ref_of: Refs = field(default_factory=Refs)
    ledger: Sequence[Entry] = ()
    prompt: Callable[[str], str | None] = _nothing
    settled: int = 0
    missing: int | None = None


class TokenCounter(Protocol):
    """Counts tokens, as `tokens.Counter` does."""

    def text(self, text: str) -> int:
        """Tokens of a text."""
        ...

    def block(self, block: Block) -> int:
        """Tokens of a block."""
        ...

    def message(self, message: Message) -> int:
        """Tokens of a message."""
        ...


def pinned(
    messages: Sequence[Message], pins: Sequence[int | str], settings: Settings | None = None
) -> frozenset[int]:
    """The indices of pinned messages.

    Each pin is an index (a negative one counts from the end), or a text that messages contain. With
    `settings`, messages with results of the tools that `keep_tools` names are pinned, too.
    """
    indices = _of_kept_tools(messages, settings) if settings else set[int]()
    for pin in pins:
        if isinstance(pin, int):
            if -len(messages) <= pin < len(messages):
                indices.add(pin % len(messages))
        else:
            indices.update(i for i, message in enumerate(messages) if _contains(message, pin))
    return frozenset(indices)


def _of_kept_tools(messages: Sequence[Message], settings: Settings) -> set[int]:
    if not settings.keep_tools:
        return set()
    names = {call.id: call.name for message in messages for call in message.calls}
    return {
        index
        for index, message in enumerate(messages)
        for result in message.results
        if settings.keeps(names.get(result.call_id) or result.name or "")
    }


def _contains(message: Message, text: str) -> bool:
    return (
        text in message.text
        or any(text in r.text for r in message.results)
        or any(text in call.arguments_text for call in message.calls)
    )


def steps_in(messages: Sequence[Message]) -> Iterator[range]:
    """Each tool step: the assistant's messages with calls, and the messages with their results.

    `[user, call, result, assistant]` -> `range(1, 3)`. Consecutive assistant messages are in one
    step, because reasoning in a message of its own belongs to the call next to it. A call of a tool
    that the provider runs keeps the step open until that tool has answered.
    """
    index = 0
    while index < len(messages):
        if messages[index].calls or _opens(messages[index]):
            start = min(reasoning_of(messages, index), default=index)
            index = _end_of_step(messages, index)
            yield range(start, index)
        else:
            index += 1


def _end_of_step(messages: Sequence[Message], index: int) -> int:
    """The end of the step whose first call is at `index`."""
    stop = index
    waiting: set[str] = set()  # units of the provider's tools that have not answered yet
    while stop < len(messages):
        while stop < len(messages) and messages[stop].role == "assistant":
            _note_units(messages[stop], waiting)
            stop += 1
        while stop < len(messages) and messages[stop].role != "assistant":
            if not (waiting or messages[stop].results or messages[stop].role == "tool"):
                return stop
            _note_units(messages[stop], waiting)
            stop += 1
        if not waiting:
            return stop
    return stop


def _note_units(message: Message, waiting: set[str]) -> None:
    """Add the units that a message opens to those that wait, and take away those that it ends."""
    for block in message.blocks:
        if isinstance(block, Opaque) and block.unit:
            (waiting.add if block.opens else waiting.discard)(block.unit)


def _opens(message: Message) -> bool:
    """Whether a message calls a tool that the provider runs and that answers in a later message."""
    if message.role != "assistant":
        return False
    units = [b for b in message.blocks if isinstance(b, Opaque) and b.unit]
    closed = {block.unit for block in units if not block.opens}
    return any(block.opens and block.unit not in closed for block in units)


def owner_of(messages: Sequence[Message], index: int) -> int:
    """The first message from `index` on that holds more than reasoning.

    Reasoning in a message of its own belongs to that message.
    """
    while messages[index].only_thinks and index + 1 < len(messages):
        index += 1
    return index


def reasoning_of(messages: Sequence[Message], index: int) -> Iterator[int]:
    """The messages directly before `index` that hold only reasoning, the last one first."""
    while index and messages[index - 1].only_thinks:
        index -= 1
        yield index


def staying(messages: Sequence[Message], rules: ProviderRules) -> Iterator[int]:
    """The indices of the messages that always stay, and of the reasoning that they need."""
    for index, message in enumerate(messages):
        if message.stays:
            yield index
            if rules.reasoning_apart:
                yield from reasoning_of(messages, index)


def stays_apart(messages: Sequence[Message], index: int) -> bool:
    """Whether a message that always stays does so without the tool step that it is in.

    Items do, with their reasoning; other messages may hold calls and results of the step.
    """
    message = messages[owner_of(messages, index)]
    return message.stays and message.is_item


def end_of_ignored(messages: Sequence[Message]) -> int:
    """The index of the last message that stands for the earlier conversation; 0 without one.

    A provider may ignore all that is before it, so a new note is better after it.
    """
    backwards = range(len(messages) - 1, -1, -1)
    return next((index for index in backwards if messages[index].stands_for_earlier), 0)


ALIKE = 2.0
"""Up to this factor, the usual texts of both are of the same length: neither is an assistant who
answers at length, or a user who only asks."""
PICTURES = 0.1
"""With pictures in this share of the messages, the talk is about them; notes cannot quote these."""


def is_talk_of_two(messages: Sequence[Message]) -> bool:
    """Whether the usual texts of user and assistant have about the same length.

    A conversation with many pictures is no talk.
    """
    seen = sum(any(isinstance(block, Image) for block in message.blocks) for message in messages)
    if seen > PICTURES * len(messages):
        return False
    user, assistant = (
        [english_length(message.text) for message in messages if message.role == role]
        for role in ("user", "assistant")
    )
    if not user or not assistant:
        return False
    usual = sorted((median(user), median(assistant)))
    return usual[1] <= ALIKE * usual[0]


Previews: TypeAlias = dict[tuple[str, Sequence[Span]], Sequence[Span]]
"""The spans of a text that its preview shows. The key is the text, with the spans of it that later
messages replaced."""


def _searched_once() -> Callable[[str], list[Constraint]]:
    return cache(constraints_of_user)


@dataclass(frozen=True)
class Plan:
    """A valid conversation with its structure.

    Attributes:
        messages: the conversation.
        tokens: the tokens of each message.
        counter: counts tokens.
        settings: the settings of the compression.
        room: the tokens that all messages may take; `None` if strategies should free all they can.
        pins: the indices of messages that stay unshortened, as do the partners of their calls.
        batch: messages before this index are shortened together, even if that frees too much.
        rules: the rules of the provider.
        drops_thinking: whether bound thinking is dropped if the messages before it change.
        archive: the content that is already archived.
        focus: the subject of the remaining work, in the caller's words.
        model: the model of the conversation, if it is known.
        cutter: cuts the texts into pieces.
        previews: the previews that were already made.
        constraints_of: the user's constraints in a text; each text is searched once.
        clip_chars: how many characters at the ends of a long text of the user always stay, if the
            user's last words are shortened like any other text; 0 if they stay unshortened.
        lasts: whether room may stay empty, because nobody chose the size.
    """

    messages: tuple[Message, ...]
    tokens: tuple[int, ...]
    counter: TokenCounter
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
    constraints_of: Callable[[str], list[Constraint]] = field(default_factory=_searched_once)
    clip_chars: int = 0
    lasts: bool = False

    @cached_property
    def total(self) -> int:
        """Tokens of all messages."""
        return sum(self.tokens)

    @cached_property
    def head(self) -> int:
        """The number of leading system messages without summaries; these always stay."""
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
        """Each tool step: the assistant's messages with calls, and the messages with results."""
        return tuple(steps_in(self.messages))

    @cached_property
    def declared(self) -> Mapping[str, Sequence[int]]:
        """By tool name, the messages that declare a tool, which may only be called after them."""
        places: dict[str, list[int]] = {}
        for index, message in enumerate(self.messages):
            for name in message.declares:
                places.setdefault(name, []).append(index)
        return places

    @cached_property
    def bound(self) -> Sequence[int]:
        """The messages with thinking that is bound to everything before it."""
        return [i for i, message in enumerate(self.messages) if message.has_bound_thinking]

    @cached_property
    def current_turn(self) -> int:
        """The index at which the current turn begins."""
        return self.turns[-1].start if self.turns else 0

    @cached_property
    def open_step(self) -> range | None:
        """The last tool step if it lacks results, or the model has not seen them; else `None`."""
        if not self.steps:
            return None
        last = self.steps[-1]
        seen = any(message.role == "assistant" for message in self.messages[last.stop :])
        return None if seen else last

    @cached_property
    def newest_calls(self) -> int | None:
        """The last message with calls; `None` without one."""
        return next(
            (i for i in range(len(self.messages) - 1, -1, -1) if self.messages[i].calls), None
        )

    @cached_property
    def last_user(self) -> int | None:
        """The last message with words of the user, which notes do not have; `None` without one.

        A message that only says thanks counts if there is no other.
        """
        polite: int | None = None
        for index in range(len(self.messages) - 1, -1, -1):
            if words := user_words(self.messages[index]).strip():
                if not is_only_polite(words):
                    return index
                polite = index if polite is None else polite
        return polite

    @cached_property
    def goal(self) -> int | None:
        """The first message with words of the user, which sets the goal; `None` without one.

        A talk of two people has no goal.
        """
        if self.is_talk_of_two:
            return None
        indices = range(self.head, len(self.messages))
        return next((i for i in indices if user_words(self.messages[i]).strip()), None)

    @cached_property
    def replied_to(self) -> int | None:
        """The last assistant message before the user's last words; `None` if it calls a tool."""
        for index in range((self.last_user or 0) - 1, -1, -1):
            if (message := self.messages[index]).role == "assistant":
                return None if message.calls else index
        return None

    @cached_property
    def shown_since(self) -> list[int]:
        """User messages after the user's last words with a picture, document or opaque block."""
        start = 0 if self.last_user is None else self.last_user + 1
        return [
            index
            for index in range(start, len(self.messages))
            if self.messages[index].starts_turn
            and any(isinstance(b, Image | Document | Opaque) for b in self.messages[index].blocks)
        ]

    @cached_property
    def anchored(self) -> frozenset[int]:
        """The messages that no strategy may remove: head, pins, last user message, open tool step.

        A user message at the end always stays, because it waits for an answer, and so does a
        message with a block that `stays`. A tool step is anchored with all of its messages. Without
        a user message and an open step, the last message (or step) stays, because a view must not
        be empty.
        """
        kept = {*range(self.head), *self.pins, *(self.open_step or ()), *self.shown_since}
        if self.last_user is not None:
            kept.add(self.last_user)
        if self.messages and self.messages[-1].is_user and not self.messages[-1].results:
            kept.add(len(self.messages) - 1)
        if len(kept) == self.head and self.messages:
            kept.add(len(self.messages) - 1)
        always = {*staying(self.messages, self.rules)}
        kept.update(index for index in always if not stays_apart(self.messages, index))
        for step in self.steps:
            if not kept.isdisjoint(step):
                kept.update(step)
        return frozenset(kept | always)

    @cached_property
    def is_talk_of_two(self) -> bool:
        """Whether two people talk in prose, and neither says much more than the other."""
        return self.cutter.prose and is_talk_of_two(self.messages)

    @cached_property
    def is_chat(self) -> bool:
        """Whether it is talk: in prose or without tools, and without pictures and opaque blocks."""
        blocks = chain.from_iterable(message.blocks for message in self.messages)
        has_others = any(isinstance(block, Image | Opaque) for block in blocks)
        return not has_others and (self.cutter.prose or not self.steps)

    @cached_property
    def quotes_users(self) -> bool:
        """Whether notes of earlier compressions quote messages, which may be the user's."""
        return any(holds_excerpts(m.text) for m in self.messages)

    @property
    def request(self) -> int:
        """The index of the user's last words; requests before them are finished."""
        return len(self.messages) if self.last_user is None else self.last_user

    @cached_property
    def refused(self) -> frozenset[int]:
        """The messages with commands that the harness did not run, and with its refusals."""
        return refused(self.messages)

    @cached_property
    def last_outcome(self) -> int | None:
        """The last message with a result that tells how a run ended; `None` without one."""
        return last_outcome(self.messages)

    @cached_property
    def last_undo(self) -> str | None:
        """The id of the last call that took changes back; `None` without one."""
        return last_undo(self.messages)

    def is_cut(self, index: int) -> bool:
        """Whether a kept part may begin at `index`: not within a tool step or at its results."""
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
        """The last legal cut at or before `index`, but not before the end of the head."""
        return next((i for i in range(index, self.head, -1) if self.is_cut(i)), self.head)

    @cached_property
    def tail(self) -> int:
        """The index at which the tail begins: recent messages that stay unshortened if they fit.

        The tail reaches back from the last message until it has `keep_recent_tokens` (or
        `tail_retention_ratio` of the budget) and `preserve_messages`. If the plan has a room, the
        tail takes at most half of it, even if that is fewer than `preserve_messages`.
        """
        least = self.settings.recent_tokens
        most = None if self.room is None else self.room // 2
        start, held = len(self.messages), 0
        while start > self.head and (
            held < least or len(self.messages) - start < self.settings.preserve_messages
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
        """The outdated parts of the calls and results."""
        return Outdated(self.messages)

    @cached_property
    def due(self) -> OpenTasks:
        """The open tasks in calls, and in calls that notes of this package quote."""
        said = (m for m in self.messages if m.role in ("user", "assistant"))
        texts = [block.text for m in said for block in m.blocks if isinstance(block, Text)]
        own = [text for text in texts if not is_note(text)]
        return OpenTasks(self.outdated, [*filter(holds_excerpts, texts)], own)

    @cached_property
    def used(self) -> bytearray:
        """1 for each evidence word, by number, that the user or model says or passes to a tool.

        Words that are only in a long text that was pasted or written to a file do not count, nor do
        words in a developer message.
        """
        used = bytearray()
        for message in self.messages:
            for text in _texts_with_mentions(message, self.counter):
                numbers = self.cutter.words_of(self.cutter(text))
                used.extend(bytes(len(self.cutter.numbering) - len(used)))
                for number in numbers:
                    used[number] = 1
        return used

    def step_of(self, index: int) -> range | None:
        """The tool step that a message belongs to; `None` if it belongs to none."""
        return self._steps_by_index[index]

    @cached_property
    def _steps_by_index(self) -> Sequence[range | None]:
        steps: list[range | None] = [None] * len(self.messages)
        for step in self.steps:
            for index in step:
                steps[index] = step
        return steps


def _texts_with_mentions(message: Message, counter: TokenCounter) -> Iterator[str]:
    """The texts of a message whose evidence words count as used."""
    if message.role == "assistant":
        yield message.text
    elif counter.text(words := user_words(message)) <= measured.MENTIONED_TOKENS:
        yield words
    yield from filter(None, [message.said])
    for call in message.calls:
        for name, text in named_strings(call.arguments):
            if len(text) <= measured.WRITTEN_CHARS and not is_before(name):
                yield text
