"""A provider that shows every byte it got, and answers with bytes that a test has written."""

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Queue
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Event, Thread
from typing import Self

PATIENCE = 30.0
"""Seconds that a test waits for what happens at once."""
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@dataclass
class Exchange:
    """A request, and the connection on which it came.

    Attributes:
        line: the request line.
        headers: as they were sent, names in small letters.
        body: what has arrived of it, without the marks of chunks.
    """

    connection: socket.socket
    line: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    body: bytes = b""
    _rest: bytes = b""

    def begin(self) -> bool:
        """Read the head; `False` if none comes."""
        while b"\r\n\r\n" not in self._rest:
            if not self._more():
                return False
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        self.line, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        self.headers = [(name.lower(), value.strip()) for name, _, value in pairs]
        return True

    def read(self) -> bytes:
        """Read the whole body."""
        if self.header("transfer-encoding"):
            while part := self.read_chunk():
                self.body += part
            return self.body
        left = int(self.header("content-length") or 0) - len(self._rest)
        parts = [self._rest]
        while left > 0 and (part := self.connection.recv(min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
        self.body += b"".join(parts)
        return self.body

    def read_chunk(self) -> bytes:
        """The next chunk of a body; nothing at its end."""
        while b"\r\n" not in self._rest:
            self._more()
        size, _, rest = self._rest.partition(b"\r\n")
        end = int(size, 16) + 2
        self._rest = rest
        while len(self._rest) < end:
            self._more()
        chunk, self._rest = self._rest[: end - 2], self._rest[end:]
        return chunk

    def header(self, name: str) -> str:
        """The value of a header; "" without one."""
        return dict(self.headers).get(name, "")

    def send(self, data: bytes) -> None:
        """Answer with these bytes."""
        self.connection.sendall(data)

    def is_left(self) -> bool:
        """Whether the other side closes the connection; waits for that."""
        self.connection.settimeout(PATIENCE)
        try:
            return self.connection.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False

    def _more(self) -> bool:
        data = self.connection.recv(65536)
        self._rest += data
        return bool(data)


class _Server(ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128


class RawProvider:
    """The provider; it runs inside `with`.

    Attributes:
        answer: answers each request; a test sets it.
        exchanges: those that have begun, in order.
    """

    def __init__(self, answer: Callable[[Exchange], object] | bytes = OK) -> None:
        self.answer = answer
        self.exchanges: Queue[Exchange] = Queue()
        self.closing = Event()
        provider = self

        class Handler(BaseRequestHandler):
            def handle(self) -> None:
                provider.serve(Exchange(self.request))

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,))
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def serve(self, exchange: Exchange) -> None:
        """Answer the one request of a connection."""
        with suppress(ConnectionError):
            if not exchange.begin():
                return
            self.exchanges.put(exchange)
            if isinstance(self.answer, bytes):
                exchange.read()
                exchange.send(self.answer)
            else:
                self.answer(exchange)

    def next(self) -> Exchange:
        """The next request."""
        return self.exchanges.get(timeout=PATIENCE)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
