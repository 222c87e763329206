r"""Lines on stdin that are not a valid message: repaired if possible, else answered with an error.

If its parser refuses a line, the transport passes on an exception. The server drops exceptions, so
the client would wait for ever. A client that cuts a text may cut an emoji in half (`\ud83d`). That
is legal in JSON, but this parser refuses it; such a line is repaired and served. For any other
invalid line, the client gets an error under the id that it waits for, if the line shows one.

Over HTTP the SDK answers invalid requests itself, so only half characters are repaired.
"""

import re
from collections.abc import Iterator
from typing import Any, Protocol

from anyio.abc import ObjectReceiveStream
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    RequestId,
    jsonrpc_message_adapter,
)
from mcp_types.methods import SPEC_CLIENT_METHODS
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from starlette.types import Message as ASGIMessage
from starlette.types import Receive

from context_compression.conversation.messages import is_array, is_object

UNREADABLE = "This line cannot be read as JSON"
ONE_PER_LINE = "Send each message as JSON on one line of its own, in UTF-8."
LESS_NESTED = "Pass deeply nested values as JSON in a text."
BATCH = "This line is a list; batches are not supported. Send each message on a line of its own."
NO_MESSAGE = "This line is not a message. Send an object with jsonrpc, id, method and params."
RULES = {
    "jsonrpc": 'jsonrpc must be "2.0"',
    "id": "id must be a text or a whole number",
    "method": "method must be a text",
    "params": "params must be an object",
}

Faults = list[ErrorDetails]

_ESCAPE = re.compile(  # pairs match first, so a remaining surrogate is half a character
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_MAY_BE_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_PART = re.compile(  # a bracket, or a text, perhaps a name with its simple value
    r'(?P<opens>[{\[])|(?P<closes>[}\]])|"(?P<name>(?:[^"\\]++|\\.)*+)"?'
    r'(?P<names>\s*:\s*(?:"(?P<text>[^"\\]*)"|(?P<number>-?\d{1,300})(?=\s*[,}]))?)?',
    re.DOTALL,
)


class MessageSource(Protocol):
    """The incoming messages of a transport."""

    async def receive(self) -> SessionMessage | Exception:
        """The next message, or the exception that an invalid line raised."""
        ...

    async def aclose(self) -> None:
        """Ends reading."""
        ...


class MessageSink(Protocol):
    """The outgoing messages of a transport."""

    async def send(self, item: SessionMessage, /) -> None:
        """Sends a message to the client."""
        ...


class ValidMessages(ObjectReceiveStream[SessionMessage]):
    """The valid messages of a transport; invalid lines are repaired, or answered with an error."""

    def __init__(self, source: MessageSource, sink: MessageSink) -> None:
        self._source, self._sink = source, sink

    async def receive(self) -> SessionMessage:
        """The next valid message."""
        while (message := await self._valid(await self._source.receive())) is None:
            pass
        return message

    async def aclose(self) -> None:
        """Ends reading."""
        await self._source.aclose()

    async def _valid(self, received: SessionMessage | Exception) -> SessionMessage | None:
        """The message, repaired if necessary; `None` if it was answered with an error."""
        message = repaired_message(received) if isinstance(received, Exception) else received
        errors = list(errors_for(message))
        for error in errors:  # until the client reads its answers, nothing more is read from it
            await self._sink.send(SessionMessage(error))
        return message if isinstance(message, SessionMessage) and not errors else None


def repaired_message(problem: Exception) -> SessionMessage | Faults:
    """The message in an invalid line, with half characters replaced by U+FFFD; else its faults.

    The exception itself is not returned: it holds its traceback, whose frames hold the line, which
    may be long.
    """
    faults = problem.errors(include_url=False) if isinstance(problem, ValidationError) else []
    if (line := _invalid_json(faults)) is None:
        return faults
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(repaired(line), by_name=False))
    except ValidationError as other:
        return other.errors(include_url=False)


def repaired(line: str) -> str:
    r"""JSON without half characters and byte order mark: `"a\ud83d"` -> `"a\ufffd"`."""
    return _without_halves(line.strip().removeprefix("\ufeff"))


def repaired_body(receive: Receive, most: int, *, repairs: bool = True) -> Receive:
    """An ASGI `receive` that gives the body of a request at once, without half characters.

    Args:
        receive: the original `receive`.
        most: limit in bytes; a longer body is passed on unchanged, for the server to refuse.
        repairs: whether half characters are replaced; else they stay as they came.
    """
    begun = False

    async def receive_repaired() -> ASGIMessage:
        nonlocal begun
        if begun:
            return await receive()
        begun, data, message = True, bytearray(), await receive()
        while message["type"] == "http.request":
            data += message.get("body", b"")
            if not (more := message.get("more_body", False)) or len(data) > most:
                body = bytes(data)
                if repairs and not more and _MAY_BE_HALF.search(body):
                    text = body.decode("utf-8", "surrogateescape")
                    body = _without_halves(text).encode("utf-8", "surrogateescape")
                return {"type": "http.request", "body": body, "more_body": more}
            message = await receive()
        return message  # the client has disconnected

    return receive_repaired


def _without_halves(text: str) -> str:
    return _ESCAPE.sub(lambda match: r"\ufffd" if match["half"] else match[0], text)


def errors_for(received: SessionMessage | Faults) -> Iterator[JSONRPCError]:
    """The errors to send for an invalid line; none if no client waits for an answer."""
    match received:
        case SessionMessage(message=JSONRPCNotification(method=method)):
            if method in SPEC_CLIENT_METHODS:  # so the SDK reads a request with a wrong id
                yield _error(None, INVALID_REQUEST, f"{method} is a request: its {RULES['id']}.")
        case SessionMessage():
            return
        case []:
            yield _error(None, PARSE_ERROR, f"{UNREADABLE}. {ONE_PER_LINE}")
        case faults:
            yield from _errors_for_line(faults)


def _errors_for_line(faults: Faults) -> Iterator[JSONRPCError]:
    if (line := _invalid_json(faults)) is not None:
        sent, code = _outline(line), PARSE_ERROR
        reason = faults[0].get("ctx", {}).get("error", "")
        depth = reason.replace("recursion limit exceeded", "nested too deep")
        text = f"{UNREADABLE}: {depth}. {ONE_PER_LINE if depth == reason else LESS_NESTED}"
    else:
        sent, code = _valid_json(faults), INVALID_REQUEST
        text = BATCH if is_array(sent) else _broken_rules(faults)
    if line != "":  # no client waits for an answer to a blank line
        for request in _waiting_ids(sent):
            yield _error(request, code, text)


def _invalid_json(faults: Faults) -> str | None:
    """The line, if it is not JSON."""
    return faults[0]["input"] if faults and faults[0]["type"] == "json_invalid" else None


def _valid_json(faults: Faults) -> Any:
    """The value of a line that is JSON but not a message, from a fault that holds all of it."""
    for fault in faults:
        if fault["type"] == "model_type" or (fault["type"] == "missing" and len(fault["loc"]) == 2):
            return fault["input"]
    return {"result": None, "error": None}  # an answer: neither of the two is missing


def _broken_rules(faults: Faults) -> str:
    places = [fault["loc"] for fault in faults]
    wrong = {place[1] for place in places if place[0] == "JSONRPCRequest" and len(place) > 1}
    rules = [rule for name, rule in RULES.items() if name in wrong]
    return f"This is not a JSON-RPC request: {', '.join(rules)}." if rules else NO_MESSAGE


def _outline(line: str) -> dict[str, Any]:
    """The names in a JSON object that cannot be parsed, with the values that can be read.

    `{"id":7,"method":"ping","params":{"id":8` -> `{"id": 7, "method": "ping", "params": None}`
    """
    depth, values = 0, dict[str, Any]()
    for part in _PART.finditer(line):
        if part["opens"]:
            depth += 1
        elif part["closes"]:
            depth -= 1
            if depth <= 0:
                break
        elif depth == 1 and part["names"]:
            values[part["name"]] = int(part["number"]) if part["number"] else part["text"]
    return values


def _waiting_ids(sent: Any) -> list[RequestId | None]:
    """The ids under which a client waits for answers; none for an answer or a notification."""
    if is_array(sent):
        return [id for part in sent for id in _waiting_ids(part) if id is not None] or [None]
    if not is_object(sent):
        return [None]
    notifies = "id" not in sent and str(sent.get("method")).startswith("notifications/")
    if notifies or "result" in sent or "error" in sent:
        return []
    given = sent.get("id")
    return [given if isinstance(given, (int, str)) and not isinstance(given, bool) else None]


def _error(request: RequestId | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=message))
