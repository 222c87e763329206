"""Where the messages of sessions stand in their events: for what stands beside a text."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from context_compression.errors import ContextCompressionError
from context_compression.store.events import messages_in
from context_compression.store.search.messages import ConversationReader, RecordedMessage

ITSELF = -1
"""The position of a message that is in the event itself."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message is recorded: the number of its event, and its position in the originals."""

    n: int
    position: int


class Conversation:
    """The recorded messages of a session, read event by event.

    Attributes:
        last: the number of the last event that was read.
    """

    def __init__(self) -> None:
        """Nothing is read yet."""
        self.last = 0
        self._reader = ConversationReader(described=False)
        self._messages: list[tuple[RecordedMessage, Place]] = []
        self._numbers: dict[str, int] = {}

    def read(
        self, events: Iterable[tuple[int, Mapping[str, Any]]], originals: Callable[[str], Any]
    ) -> None:
        """Read more events.

        Args:
            events: each with its number.
            originals: returns the messages under a name.
        """
        for n, event in events:
            self.last = n
            if event.get("type") != "messages":
                self._add(event, Place(n, ITSELF))
                continue
            with suppress(ContextCompressionError):  # reading the session warns of it
                for at, each in enumerate(messages_in(event, originals), event["from"]):
                    self._add(each, Place(n, at))

    def recorded(self, ref: str) -> RecordedMessage | None:
        """The first message with a ref."""
        number = self._numbers.get(ref)
        return None if number is None else self._messages[number][0]

    def beside(self, ref: str) -> Sequence[Place | None]:
        """Where the messages right before and right after a message are."""
        number = self._numbers.get(ref)
        if number is None:
            return None, None
        at = self._messages[number][0].at
        before = (self._messages[i] for i in range(number - 1, -1, -1))
        after = (self._messages[i] for i in range(number + 1, len(self._messages)))
        return (
            next((place for message, place in before if message.at == at - 1), None),
            next((place for message, place in after if message.at == at + 1), None),
        )

    def _add(self, event: Mapping[str, Any], place: Place) -> None:
        if message := self._reader.read(event):
            self._numbers.setdefault(message.ref, len(self._messages))
            self._messages.append((message, place))
