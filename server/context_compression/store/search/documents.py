"""The documents that a search can find in a session: the texts and messages that it archived.

Text that this package wrote may be archived later: a summary that went into another summary, or the
preview of a tool result. A search finds it, too; such documents have `by_us`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, cast

from context_compression.conversation.messages import Block, Message, Text, ToolResult, texts_of
from context_compression.conversation.refs import DIGITS, digest_of, is_proven, ref_of
from context_compression.errors import ContextCompressionError
from context_compression.evidence.facts import exit_status
from context_compression.evidence.ledger.tasks import reported_errors
from context_compression.store.search.excerpt import (
    NO_CALL,
    CallLabel,
    Event,
    RecordedMessage,
    full_text,
    parse_message,
)
from context_compression.store.search.letters import folded
from context_compression.store.session_files import messages_in

Originals: TypeAlias = Callable[[str], Sequence[Any]]
"""Returns the messages that are kept under a name."""


def events_in(event: Event, originals: Originals) -> Iterator[Event]:
    """An event of the log; or, if it stands for messages under a name, one event for each."""
    if event.get("type") != "messages":
        yield event
        return
    with suppress(ContextCompressionError):  # gone or damaged: reading the log warns of it
        yield from messages_in(event, originals)


BATCH_BYTES = 2**22
"""Bytes of a log that are read at once. Other processes wait for the index no longer than one
batch.
"""


@dataclass(frozen=True)
class IndexedDocument:
    """An archived text, or an archived message with content beyond its archived texts.

    Attributes:
        what: a description in a few words.
        message: ref of the message, or of the message that contains the text; "" for a text of no
            message.
        text: the complete text.
        call: the call that it is the result of; for a message, the names of the tools it calls.
        failed: whether it reports a failure.
        by_us: whether this package wrote it.
        place: of its message in the conversation, from 1; `None` if that is not known.
    """

    ref: str
    what: str
    message: str
    text: str
    call: CallLabel = NO_CALL
    failed: bool = False
    by_us: bool = False
    place: int | None = None

    @property
    def is_text(self) -> bool:
        """Whether the ref stands for a text, so that it has lines."""
        return self.message != self.ref

    @property
    def searched(self) -> str:
        """The text that words are searched in: its own and the call it answers, folded."""
        return folded(f"{self.text} {self.call}").casefold()


def documents(
    event: Event, originals: Originals, recorded: Callable[[str], RecordedMessage | None]
) -> Iterator[IndexedDocument]:
    """The documents that an event archived, without those whose original is missing.

    A message that a host wrote comes without its secrets, and with the refs of what it was.

    Args:
        event: of any type.
        originals: returns the messages under a name.
        recorded: returns the recorded message of a ref, or `None`.
    """
    refs = event.get("refs")
    if not isinstance(refs, dict):
        return
    entries = cast("dict[str, Any]", refs)
    match event:
        case {"type": "offload"}:
            for ref, entry in entries.items():
                match entry:
                    case {"text": str(text), "what": str(what)} if is_proven(ref, entry, text):
                        yield IndexedDocument(ref, what, "", text)
                    case _:
                        pass
        case {"type": "message", "message": raw, "ref": str(ref)}:
            yield from _of_host(parse_message(raw), recorded(ref), entries)
        case {"type": "compression", "originals": str(name)}:
            with suppress(ContextCompressionError):  # the originals are gone or damaged
                yield from _Compression(originals(name), entries, recorded).documents()
        case _:
            pass


def _of_host(
    message: Message, recorded: RecordedMessage | None, entries: Mapping[str, Any]
) -> Iterator[IndexedDocument]:
    """The documents of a message that a host wrote: its texts, and the calls that it makes."""
    if recorded is None:
        return
    for ref, entry in entries.items():
        slot, call = entry["block"], NO_CALL
        if slot is None:
            text, failed = full_text(message), False
            call = CallLabel(" ".join(each.name for each in message.calls), "")
        else:
            block = message.blocks[int(slot)]
            assert isinstance(block, Text | ToolResult)
            text, failed = block.text, _reports_failure(block)
            call = recorded.answers.get(slot, NO_CALL)
        yield IndexedDocument(
            ref, entry["what"], recorded.ref, text, call, failed, place=recorded.at
        )


class _Compression:
    """One compression: the entries of its refs, and the messages it archived."""

    def __init__(
        self,
        messages: Sequence[Any],
        entries: Mapping[str, Any],
        recorded: Callable[[str], RecordedMessage | None],
    ) -> None:
        self._entries = entries
        self._recorded = lru_cache(1)(recorded)  # the refs of one message follow each other

        @lru_cache(1)
        def original(position: int) -> tuple[str, Message]:
            raw = messages[position]
            return digest_of(raw), parse_message(raw)

        self._original = original

    def documents(self) -> Iterator[IndexedDocument]:
        """The documents of the compression, in the order of its refs."""
        for ref, entry in self._entries.items():
            with suppress(ContextCompressionError, IndexError):
                match entry:
                    case {"what": str(what), "message": int(position), "block": int(slot)}:
                        document = self._text(ref, what, position, slot)
                    case {"what": str(what), "message": int(position), "block": None}:
                        document = self._message(ref, what, position)
                    case _:  # the ledger, which is derived from the archived messages
                        document = None
                if document:
                    yield document

    def _text(self, ref: str, what: str, position: int, slot: int) -> IndexedDocument | None:
        digest, message = self._original(position)
        message_ref, block = digest[:DIGITS], message.blocks[slot]
        if not isinstance(block, Text | ToolResult) or not digest_of(block.text).startswith(ref):
            return None
        recorded = self._recorded(message_ref)
        call = recorded.answers.get(slot, NO_CALL) if recorded else NO_CALL
        return IndexedDocument(
            ref, what, message_ref, block.text, call, _reports_failure(block),
            recorded is None, recorded.at if recorded else None,
        )  # fmt: skip

    def _message(self, ref: str, what: str, position: int) -> IndexedDocument | None:
        digest, message = self._original(position)
        if not digest.startswith(ref) or all(map(self._is_covered, message.blocks)):
            return None
        tools = " ".join(call.name for call in message.calls)
        recorded = self._recorded(digest[:DIGITS])
        return IndexedDocument(
            ref, what, ref, full_text(message), CallLabel(tools, ""),
            any(map(_reports_failure, message.blocks)),
            recorded is None, recorded.at if recorded else None,
        )  # fmt: skip

    def _is_covered(self, block: Block) -> bool:
        """Whether a block has no text, or its text has a ref of its own."""
        if isinstance(block, Text | ToolResult):
            return not block.text.strip() or ref_of(block.text) in self._entries
        return not any(map(str.strip, texts_of(block)))


def _reports_failure(block: Block) -> bool:
    if not isinstance(block, ToolResult):
        return False
    failed = block.is_error or exit_status(block.text) not in (None, "0")
    return failed or bool(reported_errors(block.text, failed))
