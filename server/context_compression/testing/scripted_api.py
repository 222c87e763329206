"""A server with a script, on loopback: a real client can use it without network or costs.

`MessagesAPI`, `ChatAPI` and `ResponsesAPI` speak the protocols. Each request takes the next entry
of the script; the last entry is repeated.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from threading import Condition, Event, Thread
from typing import Any, Self, TypeAlias

from context_compression.conversation.messages import is_object

Body: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Refusal:
    """An error instead of a message.

    Attributes:
        status: of HTTP.
        kind: the error's `type`.
        message: its text.
        headers: of the answer.
        more: further parts of the error, for example OpenAI's `code` and `param`.
    """

    status: int
    kind: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def body(self) -> Body:
        """The error in the form of the Messages API, for an answer or an event."""
        error = {"type": self.kind, "message": self.message, **self.more}
        return {"type": "error", "error": error}


@dataclass(frozen=True)
class Page:
    """A page with the status 200 instead of a message, as proxies send it.

    Attributes:
        text: of the page.
        kind: its content type.
    """

    text: str
    kind: str = "text/html"


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """How an answer is delivered.

    Attributes:
        first_after: seconds before the first event.
        each_after: seconds before each further event.
        stop_after: number of events after which the connection breaks; 0 is before the headers.
        error: an event sent in the stream before the connection breaks.
        streamed: whether it is streamed if the request asks for that.
    """

    first_after: float = 0
    each_after: float = 0
    stop_after: int | None = None
    error: Refusal | None = None
    streamed: bool = True


@dataclass(frozen=True)
class Request:
    """A received request; headers that carry a key are left out.

    Attributes:
        raw: its body as it came.
    """

    path: str
    headers: Mapping[str, str]
    body: Body
    raw: bytes = field(default=b"", repr=False)


class LoopbackServer(ThreadingTCPServer):
    """A thread for each connection, also where many clients come at once."""

    request_queue_size = 128


class ScriptedAPI(ABC):
    """The server; it runs inside `with`, and leaving the block ends every wait.

    Attributes:
        requests: all so far, in order.
    """

    def __init__(
        self,
        script: Sequence[str | Delivery | Refusal | Page | Body | Callable[[Body], Any]],
        *,
        api_key: str | None = None,
    ) -> None:
        """A server with a script; if `api_key` is given, every other key is refused."""
        self.requests: list[Request] = []
        self.closing = Event()
        self._script = script
        self._api_key = api_key
        self._taken = 0
        self._changed = Condition()
        self._server = LoopbackServer(("127.0.0.1", 0), partial(_Exchange, self))
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,))
        self.base_url: str = f"http://127.0.0.1:{self._server.server_address[1]}"

    @abstractmethod
    def events(self, answer: Any, body: Body) -> Iterator[Body]:
        """The events of an answer: those of a stream, or the complete answer alone."""

    @abstractmethod
    def error(self, refusal: Refusal) -> Body:
        """A refusal in the form of this API."""

    @abstractmethod
    def encoded(self, event: Body) -> str:
        """An event as a stream has it."""

    end = ""
    """What a stream ends with."""

    def counted(self, path: str, body: Body) -> Body | None:
        """The answer to a request that is no request for an answer of the model, if it is one."""
        return None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()  # waits for the threads of the requests

    def wait_for(self, requests: int, timeout: float = 30) -> bool:
        """Whether this many requests arrived; waits up to `timeout` seconds for them."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.requests) >= requests, timeout)

    def take(self, path: str, headers: Mapping[str, str], body: Body, raw: bytes = b"") -> Any:
        """Records a request and returns the reply: from the script, or another answer's body."""
        kept = {name.lower(): text for name, text in headers.items()}
        bearer, key = kept.pop("authorization", ""), kept.pop("x-api-key", "")
        with self._changed:
            self.requests.append(Request(path, kept, body, raw))
            self._changed.notify_all()
            if self._api_key not in (None, key, bearer.removeprefix("Bearer ")):
                return Refusal(401, "authentication_error", "invalid api key")
            if counted := self.counted(path, body):
                return counted
            entry = self._script[min(self._taken, len(self._script) - 1)]
            self._taken += 1
        return entry(body) if callable(entry) else entry


class _Exchange(BaseHTTPRequestHandler):
    """One request and its answer; the connection is closed after it."""

    protocol_version = "HTTP/1.1"  # chunked streams show that one is broken
    timeout = 5

    def __init__(self, api: ScriptedAPI, *connection: Any) -> None:
        self.api = api
        super().__init__(*connection)

    def do_POST(self) -> None:
        self.close_connection = True
        raw = self.rfile.read(int(self.headers["content-length"]))
        body = json.loads(raw)
        reply: Any = self.api.take(self.path, dict(self.headers.items()), body, raw)
        with suppress(ConnectionError):  # the client may have gone
            match reply:
                case Refusal():
                    self._at_once(reply.status, self.api.error(reply), reply.headers)
                case Page():
                    self._send(200, reply.kind, reply.text)
                case _ if is_object(reply):
                    self._at_once(200, reply)
                case _:
                    self._answer(reply, body)

    def do_GET(self) -> None:
        self.close_connection = True
        self._at_once(200, {"object": "list", "data": [], "models": []})  # of models

    def _answer(self, answer: Any, body: Body) -> None:
        how = answer if isinstance(answer, Delivery) else Delivery()
        streamed = bool(body.get("stream")) and how.streamed
        for number, event in enumerate(self.api.events(answer, body | {"stream": streamed})):
            if number == how.stop_after:
                return self._event(self.api.error(how.error)) if how.error else None
            if self.api.closing.wait(how.each_after if number else how.first_after):
                return None
            if not streamed:
                return self._at_once(200, event)
            if number == 0:
                self._begin(200, "text/event-stream", {"transfer-encoding": "chunked"})
            self._event(event)
        self._chunk(self.api.end)
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _at_once(
        self, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        self._send(status, "application/json", json.dumps(body), headers)

    def _send(
        self, status: int, kind: str, text: str, headers: Mapping[str, str] | None = None
    ) -> None:
        content = text.encode()
        self._begin(status, kind, {"content-length": str(len(content)), **(headers or {})})
        self.wfile.write(content)

    def _begin(self, status: int, kind: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _event(self, event: Body) -> None:
        self._chunk(self.api.encoded(event))

    def _chunk(self, text: str) -> None:
        if data := text.encode():  # an empty chunk would end the stream
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: tests read `requests`."""


def halves(text: str) -> tuple[str, str]:
    """A text in two parts, as a stream brings it."""
    return text[: len(text) // 2], text[len(text) // 2 :]


def tokens_of(content: Any) -> int:
    """A count that is good enough for a fake: a quarter of the characters."""
    return len(json.dumps(content, ensure_ascii=False)) // 4
