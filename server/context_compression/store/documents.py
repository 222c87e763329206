"""What can be found in a session: what was archived of it, and what was said beside that.

It is read from the log and the files of originals, event by event. What we wrote ourselves and
archived later (a summary that went into another one, the preview of a tool result) can be found,
too, but counts as ours.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, cast

from context_compression.conversation.authors import author_of
from context_compression.conversation.messages import (
    Block,
    Message,
    Text,
    ToolCall,
    ToolResult,
    strings_in,
    texts_of,
)
from context_compression.conversation.refs import DIGITS, digest_of, is_proven, ref_of
from context_compression.errors import ContextCompressionError
from context_compression.evidence.facts import exit_status
from context_compression.evidence.ledger.outcomes import reported_errors
from context_compression.store.lines import Line
from context_compression.store.log import messages_in
from context_compression.store.spans import (
    Place,
    Spelled,
    Written,
    in_line,
    lacks,
    parsed,
    texts_in,
)

BATCH_BYTES = 2**22
"""Of a log, read at once: nobody waits longer for the index than for that."""
GLIMPSE = 200
"""Characters shown of a message that stands beside a hit."""
CALL_CHARS = 500
"""Characters of a call's arguments that its result is found by."""

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: the tool's name and the beginning of its arguments."""

    tool: str
    arguments: str

    def __str__(self) -> str:
        return f"{self.tool} {self.arguments}"


NO_CALL = Call("", "")


@dataclass(frozen=True, slots=True)
class Said:
    """A recorded message, as one sees it beside a hit.

    Attributes:
        at: its place in the conversation, from 1.
        role: who speaks: the message's role, but `tool` in results and `host` in its notes.
        answers: the calls whose results it holds, by the block's index.
    """

    at: int
    ref: str
    role: str
    glimpse: str
    answers: Mapping[int, Call]


@dataclass(frozen=True)
class Document:
    """Something archived: a text, or a message that says more than its long texts.

    Attributes:
        what: in a few words.
        message: ref of the message it is or stands in; empty for a text that belongs to none.
        place: where its text stands.
        source: its text, or what reads it once it is asked for.
        call: what it is the result of; of a message, the tools it calls.
        failed: whether it tells of a failure.
        ours: whether we wrote it.
        data: the bytes that stand in its place, where they were read.
    """

    ref: str
    what: str
    message: str
    place: Place
    source: str | Callable[[], str]
    call: Call = NO_CALL
    failed: bool = False
    ours: bool = False
    data: bytes | None = None

    @cached_property
    def text(self) -> str:
        """All that can be read in it."""
        return self.source if isinstance(self.source, str) else self.source()

    def lacks(self, spelled: Spelled) -> bool:
        """Whether it is certain, without reading it, that a text does not stand in it."""
        in_parts = bool(self.place.parts)
        return self.data is not None and lacks(self.data, spelled, in_parts=in_parts)

    @property
    def is_text(self) -> bool:
        """Whether its ref stands for a text, so that it has lines."""
        return self.message != self.ref

    @property
    def searched(self) -> str:
        """Where words are looked for: its text, and the call it answers; casefolded."""
        return f"{self.text} {self.call}".casefold()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that may be what is looked for.

    Attributes:
        key: greater for what was archived later.
        session: where it is archived.
        weight: of the query's words that it holds; the rarer a word, the more it weighs.
        score: how well they fit by number and length (BM25); greater is better.
    """

    key: int
    session: str
    document: Document
    weight: float = 0.0
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """What was said right before or after: under which ref, if archived, by whom, how it begins."""

    ref: str | None
    role: str
    glimpse: str


class Reading:
    """How far a conversation was read.

    Attributes:
        length: of the conversation.
        calls: those that wait for results, by their ids.
        number: of messages that were read, those taken back again among them.
        asked: which of these made the calls, from 0.
    """

    def __init__(
        self, length: int = 0, calls: Mapping[str, Call] | None = None, number: int = 0,
        asked: int = 0,
    ) -> None:  # fmt: skip
        self.length = length
        self.calls = dict(calls or {})
        self.number = number
        self.asked = asked

    def said(self, event: Event) -> Said | None:
        """The message that an event records, if it records one."""
        match event:
            case {"type": "rewind", "to": int(to)}:
                self.length = to
            case {"type": "message", "message": raw}:
                self.length += 1
                with suppress(ContextCompressionError):
                    return self._said(raw, parsed(raw))
            case _:
                pass
        return None

    def _said(self, raw: Any, message: Message) -> Said:
        if message.role == "assistant":
            self.calls, self.asked = calls_of(message), self.number
        self.number += 1
        answers = answers_in(message, self.calls)
        return Said(self.length, ref_of(raw), speaker(message), glimpse_of(message), answers)


def calls_of(message: Message) -> dict[str, Call]:
    """The calls that a message makes, by their ids."""
    return {call.id: _call(call) for call in message.calls}


def answers_in(message: Message, calls: Mapping[str, Call]) -> dict[int, Call]:
    """The calls whose results a message holds, by the block's index."""
    return {
        slot: calls[block.call_id]
        for slot, block in enumerate(message.blocks)
        if isinstance(block, ToolResult) and block.call_id in calls
    }


def speaker(message: Message) -> str:
    """Who speaks in a message, see `Said`."""
    authors = {author_of(message, b.text) for b in message.blocks if isinstance(b, Text)}
    if message.results:
        authors = authors - {"host"} | {"tool"}
    return authors.pop() if len(authors) == 1 else message.role


def spoken(line: Line, written: Callable[[str], Written]) -> Iterator[tuple[Event, Place]]:
    """The events of a line, and where each stands; one for each of messages that stand elsewhere.

    Args:
        line: of the log.
        written: a file of originals, by its name.
    """
    event = line.item
    if event.get("type") != "messages":
        yield event, Place("", line.start, len(line.data))
        return
    with suppress(ContextCompressionError):  # gone or damaged: the log tells of it
        messages = messages_in(event, lambda file: written(file).messages)
        for number, each in enumerate(messages):
            yield each, written(event["file"]).place(event["from"] + number, None, ())


def documents(
    line: Line, written: Callable[[str], Written], said: Callable[[str], Said | None]
) -> Iterator[Document]:
    """What an event archived, as far as the archive holds it.

    Args:
        line: an event of any type.
        written: a file of originals, by its name.
        said: the recorded message of a ref.
    """
    refs = line.item.get("refs")
    if not isinstance(refs, dict):
        return
    about = cast("dict[str, Any]", refs)
    match line.item:
        case {"type": "offload"}:
            for ref, entry in about.items():
                match entry:
                    case {"text": str(text), "what": str(what)} if is_proven(ref, entry, text):
                        yield Document(ref, what, "", in_line(line.start, line.data, text), text)
                    case _:
                        pass
        case {"type": "compression", "originals": str(file)}:
            with suppress(ContextCompressionError):  # gone or damaged: nothing can be restored
                yield from _Compression(written(file), about, said).documents()
        case _:
            pass


class _Compression:
    """One compression: what its event says, and the messages it archived."""

    def __init__(
        self, written: Written, refs: Mapping[str, Any], said: Callable[[str], Said | None]
    ) -> None:
        self.refs = refs
        self.place = written.place
        self.said = lru_cache(1)(said)  # the refs of one message follow each other

        @lru_cache(1)
        def original(position: int) -> tuple[str, Message]:
            raw = written.messages[position]
            return digest_of(raw), parsed(raw)

        self.original = original

    def documents(self) -> Iterator[Document]:
        """What can be found of it."""
        for ref, entry in self.refs.items():
            with suppress(ContextCompressionError, IndexError):
                match entry:
                    case {"what": str(what), "message": int(position), "block": int(slot)}:
                        found = self._text(ref, what, position, slot)
                    case {"what": str(what), "message": int(position), "block": None}:
                        found = self._message(ref, what, position)
                    case _:  # the ledger: made of what is here
                        found = None
                if found:
                    yield found

    def _text(self, ref: str, what: str, position: int, slot: int) -> Document | None:
        digest, message = self.original(position)
        whole, block = digest[:DIGITS], message.blocks[slot]
        if not isinstance(block, Text | ToolResult) or not digest_of(block.text).startswith(ref):
            return None
        said = self.said(whole)
        call = said.answers.get(slot, NO_CALL) if said else NO_CALL
        place = self.place(position, slot, [block.text])
        return Document(
            ref, what, whole, place, block.text,
            call, _tells_of_failure(block), said is None,
        )  # fmt: skip

    def _message(self, ref: str, what: str, position: int) -> Document | None:
        digest, message = self.original(position)
        if not digest.startswith(ref) or all(map(self._stands_alone, message.blocks)):
            return None
        texts = texts_in(message)
        tools = " ".join(call.name for call in message.calls)
        said = self.said(digest[:DIGITS])
        return Document(
            ref, what, ref, self.place(position, None, texts), "\n".join(texts),
            Call(tools, ""), any(map(_tells_of_failure, message.blocks)), said is None,
        )  # fmt: skip

    def _stands_alone(self, block: Block) -> bool:
        """Whether a block says nothing, or its text has a ref of its own."""
        if isinstance(block, Text | ToolResult):
            return not block.text.strip() or ref_of(block.text) in self.refs
        return not any(map(str.strip, texts_of(block)))


def _tells_of_failure(block: Block) -> bool:
    if not isinstance(block, ToolResult):
        return False
    failed = block.is_error or exit_status(block.text) not in (None, "0")
    return failed or bool(reported_errors(block.text, failed))


def _call(call: ToolCall) -> Call:
    return Call(call.name, " ".join(strings_in(call.arguments))[:CALL_CHARS])


def glimpse_of(message: Message) -> str:
    """The beginning of what a message says, on one line."""
    texts = [
        " ".join(texts_of(block))[: 4 * GLIMPSE]
        for block in message.blocks
        if isinstance(block, Text | ToolCall | ToolResult)
    ]
    words = " ".join(" ".join(texts).split())
    return words if len(words) <= GLIMPSE else f"{words[:GLIMPSE]}…"
