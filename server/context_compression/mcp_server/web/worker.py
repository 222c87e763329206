"""One worker process of `serve --http`: it answers the requests that the process in front lets in.

What comes and goes over the pipe are pairs of a request's number and one of these: `Begin`, an ASGI
message, `Failed`, the request's entry in the access log; and `None` after the last, once no thread
works on the request any more.
"""

import logging
import os
import pickle
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any, BinaryIO

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectSendStream
from anyio.to_thread import current_default_thread_limiter, run_sync
from starlette.types import Message

from context_compression.errors import StoreError
from context_compression.mcp_server.web.access_log import KEY, Entry
from context_compression.mcp_server.web.tenants import TenantServers
from context_compression.threads import at_work

LOOKS_SECONDS = 0.02
"""How often a worker looks whether the threads of a request have ended."""
_log = logging.getLogger("uvicorn.error")
READY = "ready"
"""What a worker writes first."""


@dataclass(frozen=True)
class Begin:
    """The beginning of a request: whose it is, and its ASGI scope without what cannot be sent."""

    tenant: str
    scope: dict[str, Any]


@dataclass(frozen=True)
class Failed:
    """Nothing was answered, because the store cannot be reached."""

    why: str


def read(pipe: Any) -> Any:
    """The next value that another process of this server has written.

    Raises:
        EOFError: it has closed its end.
    """
    return pickle.load(pipe)


def write(pipe: Any, sent: Any) -> None:
    """Writes a value for another process of this server.

    Raises:
        OSError: it has closed its end.
    """
    pipe.write(pickle.dumps(sent))
    pipe.flush()


def main() -> None:
    """Answers requests until the process in front closes its end of the pipe.

    Signals that end a server go to all of its processes, where a service manager sends them. The
    process in front heeds them, and its workers answer until it ends them.
    """
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if number := getattr(signal, name, None):
            signal.signal(number, signal.SIG_IGN)
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what a library prints is no answer
    make: Callable[[], TenantServers] = read(requests)
    anyio.run(_Worker(requests, answers, make()).run)


@dataclass
class _Worker:
    requests: BinaryIO
    answers: BinaryIO
    servers: TenantServers
    bodies: dict[int, MemoryObjectSendStream[Message]] = field(
        default_factory=dict[int, MemoryObjectSendStream[Message]]
    )

    async def run(self) -> None:
        reading = anyio.CapacityLimiter(1)  # tools may have taken all other threads
        async with self.servers.running(None), anyio.create_task_group() as group:
            write(self.answers, READY)
            while True:
                try:
                    number, sent = await run_sync(read, self.requests, limiter=reading)
                except (EOFError, OSError, pickle.UnpicklingError):
                    group.cancel_scope.cancel()
                    return
                self._take(group, number, sent)

    def _take(self, group: TaskGroup, number: int, sent: Begin | Message) -> None:
        if isinstance(sent, Begin):
            self.bodies[number], body = anyio.create_memory_object_stream[Message](inf)
            group.start_soon(self._answer, number, sent, body.receive)
        elif waiting := self.bodies.get(number):
            waiting.send_nowait(sent)

    async def _answer(self, number: int, begin: Begin, receive: Callable[..., Any]) -> None:
        async def send(message: Message) -> None:
            write(self.answers, (number, message))

        entry = Entry(begin.scope["method"])
        try:
            await self.servers.answer(begin.tenant, {**begin.scope, KEY: entry}, receive, send)
        except StoreError as error:
            write(self.answers, (number, Failed(str(error))))
        except Exception:
            _log.exception("Exception while a request was answered")
        finally:
            del self.bodies[number]
        await self._threads_to_end()
        write(self.answers, (number, entry))
        write(self.answers, (number, None))

    async def _threads_to_end(self) -> None:
        """Waits for the threads of requests whose clients went away: nobody can stop a thread."""
        threads = current_default_thread_limiter()
        # no event tells that a thread ended, so it is looked for
        while not self.bodies and (threads.borrowed_tokens or at_work()):  # noqa: ASYNC110
            await anyio.sleep(LOOKS_SECONDS)
