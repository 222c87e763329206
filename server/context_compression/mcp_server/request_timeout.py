"""A time limit for requests over HTTP: a connection whose request is too slow is closed.

Uvicorn limits only the time between two requests. A client that sends half a header, or continues
with a body after it was refused, would keep its connection open for ever. Thousands of such
connections would keep out every other client.
"""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol


class RequestTimeout(H11Protocol):
    """Uvicorn's protocol with a time limit while no request is being answered.

    Attributes:
        seconds: the time until the last line of the header must have arrived. A request that was
            accepted, and its body, have no time limit.
    """

    seconds: ClassVar[float] = 10.0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client has connected."""
        super().connection_made(transport)
        self._update_deadline()

    def data_received(self, data: bytes) -> None:
        """A part of a request has arrived, or several requests."""
        super().data_received(data)
        self._update_deadline()

    def on_response_complete(self) -> None:
        """The answer is sent; the next request may come."""
        super().on_response_complete()
        self._update_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has disconnected."""
        super().connection_lost(exc)
        self._clear_deadline()

    def _update_deadline(self) -> None:
        """Sets the deadline; while a request is being answered, there is none."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:  # pyright: ignore[reportUnnecessaryComparison]  # None before the first request, which its stub does not say
            self._clear_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.seconds, self.transport.close)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
