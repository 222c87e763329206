"""`Conversation`: messages as values, and the dialect they came in."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

from context_compression.conversation import text_protocol
from context_compression.conversation.authors import with_answers
from context_compression.conversation.formats import responses
from context_compression.conversation.formats.dialect import Format
from context_compression.conversation.formats.ids import Ids
from context_compression.conversation.formats.plain import has_halves, without_halves
from context_compression.conversation.messages import Edited, Message


@dataclass(frozen=True)
class Conversation(Sequence[Mapping[str, Any]]):
    """A conversation as values, and the dialect it came in.

    Functions that take messages also take a `Conversation`, and do not parse it again.

    Attributes:
        raw: the messages as JSON; messages that came as JSON are the same objects.
        messages: the same messages as values.
        format: the dialect.
    """

    raw: Sequence[Mapping[str, Any]]
    messages: tuple[Message, ...]
    format: Format

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, Any]]: ...

    def __getitem__(self, index: int | slice) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        return self.raw[index]

    def __len__(self) -> int:
        return len(self.raw)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.raw)

    def render(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Messages as dicts of this dialect; messages that were not edited are the same objects."""
        return [
            self._written(message)
            if message.source is None or isinstance(message, Edited)
            else message.source
            for message in messages
        ]

    def _written(self, message: Message) -> dict[str, Any]:
        written = self.format.write(text_protocol.written(message))
        if self.unknown_types and "role" in written:  # nothing else may show what items these are
            written = {"type": "message", **written}
        return without_halves(written) if self.without_halves else written

    @cached_property
    def unknown_types(self) -> tuple[str, ...]:
        """The types of the items that are not known here, which always stay; each type once."""
        if self.format is not responses.FORMAT:
            return ()
        return tuple(dict.fromkeys(filter(None, map(responses.unknown_type, self.raw))))

    @cached_property
    def without_halves(self) -> Mapping[int, Message]:
        """By index: the messages with a lone surrogate, each with U+FFFD in its place."""
        broken = {i for i, message in enumerate(self.raw) if has_halves(message)}
        if not broken:
            return {}
        raw = [without_halves(m) if i in broken else m for i, m in enumerate(self.raw)]
        values = read_messages(raw, self.format)
        return {i: Edited(values[i].role, values[i].blocks, self.raw[i]) for i in broken}


def read_messages(raw: Sequence[Mapping[str, Any]], dialect: Format) -> list[Message]:
    """The messages of one conversation as values."""
    ids = Ids()
    messages = [dialect.read(message, ids) for message in raw]
    return with_answers(messages, flags_errors=dialect.flags_errors)
