"""A proxy between a program and a server, which cuts connections when it is told to."""

import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread


class Proxy:
    """Hands bytes on, both ways.

    Attributes:
        port: where it listens, on 127.0.0.1.
        cuts: a text of the client; the next connection that sends it is cut.
        after: whether the server still gets that text, so that only its answer is lost.
        stays_away: whether no connection is made after such a cut.
        refuses: whether new connections are closed at once.
        flows: cleared to let nothing through.
    """

    def __init__(self, port: int) -> None:
        """A proxy before a server at 127.0.0.1 and a port."""
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.cuts, self.after, self.stays_away, self.refuses = b"", True, False, False
        self.cut = 0
        self.flows = Event()
        self.flows.set()
        self._server, self._guard = port, Lock()
        self._open: set[socket.socket] = set()
        Thread(target=self._accept, daemon=True).start()

    def cut_all(self) -> None:
        """Cut all connections that are open now."""
        with self._guard:
            ends = [*self._open]
        for end in ends:
            _close(end)

    def close(self) -> None:
        """Listen no more."""
        self.refuses = True
        self.flows.set()
        _close(self._listening)
        self.cut_all()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self.refuses:
                    client.close()
                    continue
                try:
                    server = socket.create_connection(("127.0.0.1", self._server))
                except OSError:
                    client.close()
                    continue
                with self._guard:
                    self._open |= {client, server}
                Thread(target=self._carry, args=(client, server, True), daemon=True).start()
                Thread(target=self._carry, args=(server, client, False), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, from_client: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.flows.wait()
                if from_client and self.cuts and self.cuts in data:
                    self.cuts, self.cut = b"", self.cut + 1
                    self.refuses = self.refuses or self.stays_away
                    if self.after:
                        _close(source)
                        sink.sendall(data)
                        while sink.recv(65536):  # the server is done
                            pass
                    break
                sink.sendall(data)
        with self._guard:
            self._open -= {source, sink}
        _close(source)
        _close(sink)


def _close(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def before(port: int) -> Generator[Proxy]:
    """A proxy before a server, which is gone afterwards."""
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
