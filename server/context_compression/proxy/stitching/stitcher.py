"""What the stitchers of all APIs have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from context_compression.integrations.apis import Api, Json, RestoreCall
from context_compression.proxy.events import BOM, EventReader, ServerEvent
from context_compression.proxy.stitching.fields import read, sum_of
from context_compression.session.restoring import RESTORE

DONE = b"[DONE]"
"""The data with which OpenAI ends a stream."""
MALFORMED = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What is raised by an event that does not keep to its API; it passes as it came."""


@dataclass(frozen=True)
class Reply:
    """What one response of the provider says.

    Attributes:
        calls: of our tool, if the provider stopped to have them answered.
        has_others: whether it calls tools of the client, too.
        complete: whether it came to its end.
    """

    calls: list[RestoreCall]
    has_others: bool
    complete: bool
    _message: Callable[[], Json] = field(repr=False)

    @cached_property
    def message(self) -> Json:
        """The response in its form without streaming, as the API's `exchange` needs it."""
        return self._message()

    @property
    def goes_on(self) -> bool:
        """Whether a further request continues the turn: it calls nothing but our tool."""
        return self.complete and bool(self.calls) and not self.has_others


class Stitcher(ABC):
    """Makes one stream for the client out of the streams of several responses.

    What the client sees of one response is what came, byte for byte, until a call of ours is left
    out of it. The end of a response that calls nothing but our tool is held back.
    """

    api: ClassVar[Api]

    def __init__(self) -> None:
        self._reply: Reply | None = None
        self._spent: Any = None
        """The usage of the responses before this one."""
        self._is_first = True
        self._begin()

    def _begin(self) -> None:
        """The state of one response."""
        self._events = EventReader()
        self._seen: list[bytes] = []
        self._held: list[bytes] = []
        self._has_calls = self._has_others = self._is_complete = False

    def feed(self, data: bytes) -> bytes:
        """What goes to the client now that these bytes came."""
        return b"".join([self._passed(event) for event in self._events.feed(data)])

    def ended(self) -> Reply:
        """What the response said, which came to its end or broke off."""
        self._flush()
        seen, others, complete = self._seen, self._has_others, self._is_complete
        reply = Reply([], others, complete, lambda: self.whole(seen))
        if self._has_calls and complete:
            with suppress(*MALFORMED):
                reply = self.reply_of(reply.message)
        self._reply = reply
        return reply

    def next(self) -> None:
        """A further response of the provider begins; the end of the one before is not shown."""
        if self._reply:
            self._spent = sum_of(self._spent, self._reply.message.get("usage"))
        self._is_first = False
        self._begin()

    def finish(self) -> bytes:
        """The end of the last response, as far as it was held back."""
        self._flush()
        held, self._held = self._held, []
        return b"".join(held)

    @property
    def _is_moved(self) -> bool:
        """Whether something was left out, so that what follows has other indices."""
        return self._has_calls or not self._is_first

    @property
    def _goes_on(self) -> bool:
        return self._has_calls and not self._has_others

    def _passed(self, event: ServerEvent) -> bytes:
        """What the client sees of an event now."""
        if not event.data:
            return event.raw
        self._seen.append(event.data)
        if not self._is_first and event.raw.startswith(BOM):
            event = ServerEvent(event.raw.removeprefix(BOM), event.data)
        try:
            return self._shown(event)
        except MALFORMED:
            return event.raw

    def _hold(self, shown: bytes) -> bytes:
        self._held.append(shown)
        return b""

    def _flush(self) -> None:
        """Hold what is left of the stream: an event without its blank line, or a part of one.

        No client reads a part; what may be of a call of ours is left out.
        """
        if rest := self._events.end():
            if read(rest.data) or rest.data == DONE:
                self._held.append(self._passed(rest))
            elif not self._is_moved and RESTORE[:8].encode() not in rest.raw:
                self._held.append(rest.raw)

    @abstractmethod
    def _shown(self, event: ServerEvent) -> bytes:
        """What the client sees of an event with data."""

    @classmethod
    @abstractmethod
    def whole(cls, seen: Sequence[bytes]) -> Json:
        """The response in its form without streaming, from the data of its events."""

    @classmethod
    @abstractmethod
    def reply_of(cls, response: Json) -> Reply:
        """What a whole response says."""

    @classmethod
    @abstractmethod
    def joined(cls, responses: Sequence[Json]) -> Json:
        """One response out of several, without calls of ours."""


def with_usage(whole: Json, responses: Sequence[Json]) -> Json:
    """A response with the usage of several, if they have any."""
    usage: Any = None
    for response in responses:
        usage = sum_of(usage, response.get("usage"))
    return whole if usage is None else {**whole, "usage": usage}
