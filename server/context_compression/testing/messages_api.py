r"""A Messages API with a script, on loopback: a real client can use it without network or costs.

    with MessagesAPI([rate_limited(retry_after=3), "## Goal\nShip it."]) as api:
        client = AsyncAnthropic(api_key="any", base_url=api.base_url)

Each request takes the next entry of the script; the last entry is repeated. The protocol follows
docs.anthropic.com/en/api/messages-streaming and .../errors.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from threading import Condition, Event, Thread
from typing import Any, Self, TypeAlias
from zlib import crc32

Body: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Refusal:
    """An error instead of a message."""

    status: int
    kind: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def body(self) -> Body:
        """The error in the API's form, for an answer or an event."""
        return {"type": "error", "error": {"type": self.kind, "message": self.message}}


@dataclass(frozen=True)
class Answer:
    """A message: streamed as events or sent at once, as the request says.

    Attributes:
        text: its text, or a function of the request's body; if it is empty, there is no block.
        stop_reason: as the API spells it; `None` if the stream ends too early.
        tool: name of a tool that it calls.
        content: further blocks in the API's form, for example calls with an id and input.
        usage: tokens instead of the counted ones, for example `cache_read_input_tokens`.
        first_after: seconds before the first event.
        each_after: seconds before each further event.
        stop_after: number of events after which the connection breaks; 0 is before the headers.
        error: an event sent in the stream before the connection breaks.
    """

    text: str | Callable[[Body], str] = "## Goal\nAs before."
    stop_reason: str | None = "end_turn"
    tool: str | None = None
    content: Sequence[Body] = ()
    usage: Mapping[str, int] = field(default_factory=dict[str, int])
    first_after: float = 0
    each_after: float = 0
    stop_after: int | None = None
    error: Refusal | None = None


Entry: TypeAlias = str | Callable[[Body], str | Answer | Refusal] | Answer | Refusal
"""A string is the text of an answer; a function makes an entry of another kind from the request's
body.
"""

# every field can be set: `slow(first_after=2)`, `dropped(stop_after=0)`
slow = partial(Answer, first_after=3600)
dropped = partial(Answer, stop_after=3)
truncated = partial(Answer, text="## Goal\nTo be con", stop_reason="max_tokens")
empty = partial(Answer, text="")
tool_call = partial(Answer, text="Let me look first.", stop_reason="tool_use", tool="Read")
refused = partial(Answer, text="", stop_reason="refusal")
failed = partial(Refusal, 500, "api_error", "Internal server error")
overloaded = partial(Refusal, 529, "overloaded_error", "Overloaded")


def rate_limited(retry_after: float | None = None) -> Refusal:
    """429, with the header `retry-after` if seconds are given."""
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return Refusal(429, "rate_limit_error", "This request would exceed your rate limit.", headers)


def too_long(tokens: int = 213_462, maximum: int = 200_000) -> Refusal:
    """400: the prompt does not fit the model."""
    message = f"prompt is too long: {tokens} tokens > {maximum} maximum"
    return Refusal(400, "invalid_request_error", message)


def foreign_thinking(place: str = "messages.1.content.0") -> Refusal:
    """400: the content before a thinking block has changed since the block was made."""
    message = (
        f"{place}: Invalid `signature` in `thinking` block. The block is bound to a different "
        "conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` "
        'to "drop_block".'
    )
    return Refusal(400, "invalid_request_error", message)


@dataclass(frozen=True)
class Request:
    """A received request; headers that carry a key are left out."""

    path: str
    headers: Mapping[str, str]
    body: Body


class MessagesAPI:
    """The server; it runs inside `with`, and leaving the block ends every wait.

    Attributes:
        requests: all so far, in order.
    """

    def __init__(
        self, script: Sequence[Entry] | None = None, *, api_key: str | None = None
    ) -> None:
        """A server with a script; if `api_key` is given, every other key is refused."""
        self.requests: list[Request] = []
        self.closing = Event()
        self._script = script or [Answer()]
        self._api_key = api_key
        self._taken = 0
        self._changed = Condition()
        self._server = ThreadingTCPServer(("127.0.0.1", 0), partial(_Exchange, self))
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,))
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}"

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

    def take(self, path: str, headers: Mapping[str, str], body: Body) -> Answer | Refusal | int:
        """Records a request and returns the reply: from the script, or a number of tokens."""
        kept = {name.lower(): text for name, text in headers.items()}
        bearer, key = kept.pop("authorization", ""), kept.pop("x-api-key", "")
        with self._changed:
            self.requests.append(Request(path, kept, body))
            self._changed.notify_all()
            if self._api_key not in (None, key, bearer.removeprefix("Bearer ")):
                return Refusal(401, "authentication_error", "invalid api key")
            if path.startswith("/v1/messages/count_tokens"):
                return _tokens(body)
            entry = self._script[min(self._taken, len(self._script) - 1)]
            self._taken += 1
        made = entry(body) if callable(entry) else entry
        return Answer(made) if isinstance(made, str) else made


class _Exchange(BaseHTTPRequestHandler):
    """One request and its answer; the connection is closed after it."""

    protocol_version = "HTTP/1.1"  # chunked streams show that one is broken
    timeout = 5

    def __init__(self, api: MessagesAPI, *connection: Any) -> None:
        self.api = api
        super().__init__(*connection)

    def do_POST(self) -> None:
        self.close_connection = True
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        reply = self.api.take(self.path, dict(self.headers.items()), body)
        with suppress(ConnectionError):  # the client may have gone
            match reply:
                case Answer():
                    self._answer(reply, body)
                case Refusal():
                    self._at_once(reply.status, reply.body, reply.headers)
                case int():
                    self._at_once(200, {"input_tokens": reply})

    def _answer(self, answer: Answer, body: Body) -> None:
        message = _message(answer, body)
        streamed = bool(body.get("stream"))
        for number, event in enumerate(_events(message) if streamed else [message]):
            if number == answer.stop_after:
                return self._event(answer.error.body) if answer.error else None
            if self.api.closing.wait(answer.each_after if number else answer.first_after):
                return None
            if not streamed:
                return self._at_once(200, event)
            if number == 0:
                self._begin(200, "text/event-stream", {"transfer-encoding": "chunked"})
            self._event(event)
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _at_once(self, status: int, body: Body, headers: Mapping[str, str] | None = None) -> None:
        content = json.dumps(body).encode()
        length = {"content-length": str(len(content))}
        self._begin(status, "application/json", length | dict(headers or {}))
        self.wfile.write(content)

    def _begin(self, status: int, kind: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _event(self, event: Body) -> None:
        data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: tests read `requests`."""


def _tokens(content: Any) -> int:
    """A count that is good enough for a fake: a quarter of the characters."""
    return len(json.dumps(content, ensure_ascii=False)) // 4


def _message(answer: Answer, body: Body) -> Body:
    """The answer in its form without streaming."""
    text = answer.text(body) if callable(answer.text) else answer.text
    content: list[Body] = [{"type": "text", "text": text}] if text else []
    if answer.tool:
        content.append({"type": "tool_use", "id": "toolu_1", "name": answer.tool, "input": {}})
    content += answer.content
    usage = {"input_tokens": _tokens(body["messages"]), "output_tokens": _tokens(content)}
    exchange = json.dumps([body["messages"], content]).encode()
    return {
        "id": f"msg_{crc32(exchange):08x}",  # agent hosts treat equal ids as one message
        "type": "message",
        "role": "assistant",
        "model": body.get("model", ""),  # other clouds put it in the path
        "content": content,
        "stop_reason": answer.stop_reason,
        "stop_sequence": None,
        "stop_details": None,
        "usage": usage | dict(answer.usage),
    }


def _events(message: Body) -> Iterator[Body]:
    """The events in which a message is streamed."""
    usage = message["usage"]
    begun: Body = {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
    yield {"type": "message_start", "message": message | begun}
    for index, block in enumerate(message["content"]):
        start, deltas = _piecewise(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {name: message[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    output = {"output_tokens": usage["output_tokens"]}
    yield {"type": "message_delta", "delta": stop, "usage": output}
    yield {"type": "message_stop"}


def _piecewise(block: Body) -> tuple[Body, list[Body]]:
    """The start of a block, and its deltas: text or arguments, in two halves."""
    begun = dict(block)
    if text := block.get("text"):
        begun["text"] = ""
        return begun, [{"type": "text_delta", "text": part} for part in _halves(text)]
    if block.get("input"):
        begun["input"] = {}
        halves = _halves(json.dumps(block["input"]))
        return begun, [{"type": "input_json_delta", "partial_json": part} for part in halves]
    return begun, []


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]
