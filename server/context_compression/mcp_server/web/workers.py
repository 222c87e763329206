"""Processes that answer requests, so that no request can hold the one that lets them in.

One worker process of `serve --http`: it answers the requests that the process in front lets in.
What comes and goes over the pipe are pairs of a request's number and one of these: `Begin`, an ASGI
message, `Failed`, the request's entry in the access log; and `None` after the last, once no thread
works on the request any more.

Python runs one thread at a time, and a search in a text lets no other run until it ends. In a
process of its own it holds up nobody else, and it can be ended after its time. The way to a worker
and back costs a few milliseconds; a worker that waits costs about 70 MB.

A worker is a new interpreter. One that `multiprocessing` starts would run the main module again,
which may be a program that serves without asking whether it is the main one.
"""

import json
import logging
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from math import inf
from pickle import UnpicklingError
from typing import Any, BinaryIO

import anyio
from anyio import from_thread
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from anyio.to_thread import current_default_thread_limiter, run_sync
from mcp.types import INTERNAL_ERROR
from starlette.types import Message, Receive, Scope, Send

from context_compression.errors import StoreError
from context_compression.mcp_server.web.refusals import refusal
from context_compression.mcp_server.web.running import KEY, LogEntry
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
    # what the library warns of may quote a client; the answer of each request has it, too
    logging.getLogger("context_compression.session").setLevel(logging.ERROR)
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what a library prints is no answer
    make: Callable[[], TenantServers] = read(requests)
    anyio.run(_Answering(requests, answers, make()).run)


@dataclass
class _Answering:
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

        entry = LogEntry(begin.scope["method"])
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
        # ASYNC110 wants an event, and none tells that a thread ended
        while not self.bodies and (threads.borrowed_tokens or at_work()):  # noqa: ASYNC110
            await anyio.sleep(LOOKS_SECONDS)


KEPT = 4
"""Workers that wait for the next request; more than these end after their answer."""
SENT = ("type", "asgi", "http_version", "method", "scheme", "path", "raw_path", "query_string",
        "root_path", "headers", "client", "server")  # fmt: skip
"""What of a request's scope goes to a worker: plain data, all that ASGI names."""
TOO_LONG = (
    "This call was ended after {:,.0f} seconds, the limit of this server. What it had written is "
    "whole. Ask for less at once."
)
PROGRAM = """\
import sys
sys.path[:] = {path}
from context_compression.mcp_server.web.workers import main
main()
"""
DIED = "The process that answered this request has ended. Ask again."

Sent = Message | Failed | LogEntry | None


@dataclass(eq=False)
class _Worker:
    """A worker process, as the process in front knows it."""

    process: "subprocess.Popen[bytes]"
    alive: bool = True
    why_ended: str = DIED
    tenant: str = ""
    answers: dict[int, MemoryObjectSendStream[Sent]] = field(
        default_factory=dict[int, MemoryObjectSendStream[Sent]]
    )
    _numbers: "count[int]" = field(default_factory=count)
    _sending: anyio.Lock = field(default_factory=anyio.Lock)

    @asynccontextmanager
    async def request(self, begin: Begin) -> AsyncGenerator["_Request"]:
        """A request of this worker, until it is answered or given up."""
        number = next(self._numbers)
        self.answers[number], answer = anyio.create_memory_object_stream[Sent](inf)
        try:
            with answer:
                request = _Request(self, number, answer)
                await request.tell(begin)
                yield request
        finally:
            self.answers.pop(number).close()

    async def tell(self, number: int, sent: Begin | Message) -> None:
        async with self._sending:
            with suppress(OSError):  # it has ended; its reader knows
                await run_sync(write, self.process.stdin, (number, sent), abandon_on_cancel=True)

    def read(self) -> None:
        """Passes on what the worker answers, until its end; runs in a thread."""
        with suppress(EOFError, OSError, UnpicklingError):
            while True:
                number, sent = read(self.process.stdout)
                from_thread.run_sync(self._pass_on, number, sent)
        with suppress(RuntimeError):  # the event loop has ended
            from_thread.run_sync(self._end)

    def _pass_on(self, number: int, sent: Sent) -> None:
        if answer := self.answers.get(number):
            answer.send_nowait(sent)

    def _end(self) -> None:
        self.alive = False
        for answer in self.answers.values():
            answer.close()

    def kill(self) -> None:
        """Ends the process at once. The store bears that at any time."""
        self.alive = False
        self.process.kill()


@dataclass(frozen=True)
class _Request:
    worker: _Worker
    number: int
    answer: MemoryObjectReceiveStream[Sent]

    async def tell(self, sent: Begin | Message) -> None:
        await self.worker.tell(self.number, sent)


class Workers:
    """The worker processes.

    Args:
        make: makes, in a worker, the servers of tenants; it is pickled and sent there.
        most: processes at a time. Of these, one tenant gets half. `None` if one process answers
            all, because clients have sessions with it.
        seconds: how long a request may take; its worker is ended then. `None` for no limit.
    """

    def __init__(
        self,
        make: Callable[[], TenantServers],
        *,
        most: int | None = None,
        seconds: float | None = None,
    ) -> None:
        self._make, self._shared, self._seconds = make, most is None, seconds
        self._most = anyio.Semaphore(most or 1)
        self._share = max(1, (most or 1) // 2)
        self._shares: dict[str, anyio.Semaphore] = {}
        self._waiting: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._starting = anyio.Lock()
        self._ending = anyio.Event()
        self._group: TaskGroup | None = None

    @asynccontextmanager
    async def running(self, _: Any) -> AsyncGenerator[None]:
        """The time in which requests can be answered."""
        async with anyio.create_task_group() as self._group:
            self._waiting.append(await self._started())  # the first request waits for no start
            try:
                yield
            finally:
                for worker in [*self._all]:
                    worker.kill()

    def end_streams(self) -> None:
        """Ends streams in which the server may say something at any time; calls are answered."""
        self._ending.set()

    async def answer(self, tenant: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a worker answer a request.

        Raises:
            StoreError: the tenant's store cannot be reached.
        """
        begin = Begin(tenant, {name: scope[name] for name in SENT if name in scope})
        answer = _Answer(scope, receive, send)
        async with self._worker_for(tenant) as worker, worker.request(begin) as request:
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(answer.ask, request)
                    group.start_soon(self._end_in_time, request)
                    if scope["method"] == "GET":
                        group.start_soon(self._disconnect_at_end, request)
                    await answer.pass_on(request)
                    group.cancel_scope.cancel()
            finally:
                if not (answer.ended or self._shared):
                    worker.kill()  # it works on
        if answer.failed:
            raise StoreError(answer.failed)
        if answer.last:  # now the worker waits for what the client asks next
            await send(answer.last)
        elif not answer.ended:
            await answer.cut_off(worker.why_ended)

    async def _end_in_time(self, request: _Request) -> None:
        if self._seconds is not None:
            await anyio.sleep(self._seconds)
            request.worker.why_ended = TOO_LONG.format(self._seconds)
            request.worker.kill()  # its reader ends, and with it the answer

    async def _disconnect_at_end(self, request: _Request) -> None:
        await self._ending.wait()
        await request.tell({"type": "http.disconnect"})

    @asynccontextmanager
    async def _worker_for(self, tenant: str) -> AsyncGenerator[_Worker]:
        if self._shared:
            async with self._starting:
                if not self._waiting[0].alive:
                    self._waiting[0] = await self._started()
            yield self._waiting[0]
            return
        share = self._shares.setdefault(tenant, anyio.Semaphore(self._share))
        async with share, self._most:
            self._waiting = [worker for worker in self._waiting if worker.alive]
            worker = self._one_that_waits(tenant) or await self._started()
            worker.tenant = tenant
            try:
                yield worker
            finally:
                if len(self._waiting) >= KEPT:
                    worker.kill()
                elif worker.alive:
                    self._waiting.append(worker)

    def _one_that_waits(self, tenant: str) -> _Worker | None:
        """The worker that answered this tenant last, because it knows its sessions; or another."""
        for place, worker in enumerate(self._waiting):
            if worker.tenant == tenant:
                return self._waiting.pop(place)
        return self._waiting.pop() if self._waiting else None

    async def _started(self) -> _Worker:
        assert self._group is not None, "the application's lifespan has not begun"
        worker = await run_sync(self._start)
        self._all.add(worker)
        self._group.start_soon(self._read, worker)
        return worker

    async def _read(self, worker: _Worker) -> None:
        await run_sync(worker.read, limiter=anyio.CapacityLimiter(1))
        worker.process.kill()
        await run_sync(worker.process.communicate)
        self._all.discard(worker)

    def _start(self) -> _Worker:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C ends the server, and the server ends its workers
        )
        try:
            write(process.stdin, self._make)
            read(process.stdout)  # it is ready
        except (OSError, EOFError) as error:
            process.kill()
            process.communicate()
            raise StoreError("A worker process has ended as it began.") from error
        return _Worker(process)


@dataclass
class _Answer:
    """The way between a client and the worker that answers it."""

    scope: Scope
    receive: Receive
    send: Send
    asked: bytes = b""
    started: bool = False
    last: Message | None = None
    ended: bool = False
    failed: str = ""

    async def ask(self, request: _Request) -> None:
        """Passes on what the client sends, until it goes away."""
        while True:
            message = await self.receive()
            self.asked = self.asked or message.get("body", b"")
            await request.tell(message)
            if message["type"] == "http.disconnect":
                return

    async def pass_on(self, request: _Request) -> None:
        """Passes on what the worker answers, but for the last message."""
        async for sent in request.answer:
            if sent is None:
                self.ended = True
                return
            if isinstance(sent, Failed):
                self.failed = sent.why
                continue
            if isinstance(sent, LogEntry):
                self.scope[KEY].take_names_of(sent)
                continue
            self.started = True
            if sent["type"] == "http.response.body" and not sent.get("more_body"):
                self.last = sent
            else:
                await self.send(sent)

    async def cut_off(self, why: str) -> None:
        """Says that there is no answer: as an answer, or in the stream that has begun."""
        if not self.started:
            refused = refusal(self.scope, 503, "Ended", why)
            await refused(self.scope, self.receive, self.send)
            return
        error = {"code": INTERNAL_ERROR, "message": why}
        told = json.dumps({"jsonrpc": "2.0", "id": _id_of(self.asked), "error": error})
        event = f"event: message\r\ndata: {told}\r\n\r\n".encode()
        await self.send({"type": "http.response.body", "body": event, "more_body": False})


def _id_of(body: bytes) -> Any:
    try:
        return json.loads(body)["id"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
