"""A connection over HTTP that brings no whole request in time is dropped.

Uvicorn's only timeout is for a connection between two requests. A client that sends half a header,
or goes on with a body after it was refused, would hold its connection for ever; thousands of such
would keep out everybody else.
"""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol


class Patient(H11Protocol):
    """Uvicorn's own, but it waits only so long while no request is being answered.

    Attributes:
        seconds: until the last line of the header has come. A request that was let in may take as
            long as it likes, and so may its body.
    """

    seconds: ClassVar[float] = 10.0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Somebody is there."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """A part of a request, or several requests."""
        super().data_received(data)
        self._wait()

    def on_response_complete(self) -> None:
        """The next request may come."""
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        super().connection_lost(exc)
        self._forget()

    def _wait(self) -> None:
        """Sets the deadline; while a request is being answered, there is none."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:  # pyright: ignore[reportUnnecessaryComparison]  # before the first
            self._forget()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.seconds, self.transport.close)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
