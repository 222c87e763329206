"""Ends the server after SIGTERM without a failed request.

First `/readyz` says that the end is near, so a proxy sends nothing more. After some seconds no
connection is accepted any more; requests that are being answered are answered.
"""

import signal
import socket
import time
from collections.abc import Callable
from types import FrameType

import uvicorn

from context_compression.mcp_server.web.health import Health


class DrainingServer(uvicorn.Server):
    """The web server; after SIGTERM it goes on for some seconds, and its process ends with 0.

    Args:
        config: of the web server.
        health: learns that the end is near.
        seconds: how long the server goes on.
        end_streams: ends what would never end by itself; calls are answered.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        health: Health,
        seconds: float,
        end_streams: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._health, self._seconds, self._end_streams = health, seconds, end_streams
        self._ends_at: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal has come; the second SIGTERM ends at once, as does SIGINT."""
        if sig != signal.SIGTERM:
            super().handle_exit(sig, frame)
        elif self._ends_at is None:
            self._health.draining = True
            self._ends_at = time.monotonic() + self._seconds
        else:
            self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: whether to end."""
        if self._ends_at is not None and time.monotonic() >= self._ends_at:
            self.should_exit = True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """No connection is accepted any more; what is being answered is answered."""
        self._end_streams()
        await super().shutdown(sockets)
