r"""Lines over stdin that are no message: mended where that can be done, else answered.

The transport hands on what its parser refuses as an exception, and the server drops exceptions: the
client would wait for ever. A client that cuts a text may cut an emoji in half (`\ud83d`), legal in
JSON, but not to this parser; such a line is mended and served. Of any other the client is told what
is wrong with it, under the id it waits for, where that can be found.

Over HTTP the SDK answers what it cannot read, so that only the halves of characters are mended.
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
WHOLE = "Send each message as JSON on one line of its own, in UTF-8."
FLAT = "Pass what is nested that deep as JSON in a text."
BATCH = "This line is a list; batches are not understood. Send each message on a line of its own."
NO_OBJECT = "This line is no message. Send an object with jsonrpc, id, method and params."
RULES = {
    "jsonrpc": 'jsonrpc must be "2.0"',
    "id": "id must be a text or a whole number",
    "method": "method must be a text",
    "params": "params must be an object",
}

Faults = list[ErrorDetails]

_ESCAPE = re.compile(  # whole pairs first, so that what is left of surrogates is half of one
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_MAY_BE_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_PART = re.compile(  # a bracket, or a text with the simple value that it may be the name of
    r'(?P<opens>[{\[])|(?P<closes>[}\]])|"(?P<name>(?:[^"\\]++|\\.)*+)"?'
    r'(?P<names>\s*:\s*(?:"(?P<text>[^"\\]*)"|(?P<number>-?\d{1,300})(?=\s*[,}]))?)?',
    re.DOTALL,
)


class Reading(Protocol):
    """Where a transport's messages come from."""

    async def receive(self) -> SessionMessage | Exception:
        """The next message, or why a line is none."""
        ...

    async def aclose(self) -> None:
        """Nothing more is read."""
        ...


class Writing(Protocol):
    """Where a transport's messages go."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message to the client."""
        ...


class Mended(ObjectReceiveStream[SessionMessage]):
    """The messages of a transport; what is none has been mended or answered."""

    def __init__(self, read: Reading, write: Writing) -> None:
        self._read, self._write = read, write

    async def receive(self) -> SessionMessage:
        """The next message."""
        while (message := await self._understood(await self._read.receive())) is None:
            pass
        return message

    async def aclose(self) -> None:
        """Nothing more is read."""
        await self._read.aclose()

    async def _understood(self, received: SessionMessage | Exception) -> SessionMessage | None:
        message = read_again(received) if isinstance(received, Exception) else received
        refused = list(refusals(message))
        for refusal in refused:  # one that does not read its answers is not read on either
            await self._write.send(SessionMessage(refusal))
        return message if isinstance(message, SessionMessage) and not refused else None


def read_again(problem: Exception) -> SessionMessage | Faults:
    """The message of a line, once the halves of characters in it are U+FFFD; else its faults.

    Never the exception: its traceback holds frames that hold it, and all of them a long line.
    """
    faults = problem.errors(include_url=False) if isinstance(problem, ValidationError) else []
    if (line := _unread(faults)) is None:
        return faults
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(mend(line), by_name=False))
    except ValidationError as other:
        return other.errors(include_url=False)


def mend(line: str) -> str:
    r"""JSON without half characters and byte order mark: `"a\ud83d"` -> `"a\ufffd"`."""
    return _without_halves(line.strip().removeprefix("\ufeff"))


def mended_body(receive: Receive, most: int) -> Receive:
    """What is received of a request over HTTP, its body without half characters.

    Args:
        receive: where it comes from.
        most: bytes; a longer body is passed on as it is, for the server to refuse.
    """
    begun = False

    async def body() -> ASGIMessage:
        nonlocal begun
        if begun:
            return await receive()
        begun, data, message = True, bytearray(), await receive()
        while message["type"] == "http.request":
            data += message.get("body", b"")
            if not (more := message.get("more_body", False)) or len(data) > most:
                whole = bytes(data)
                if not more and _MAY_BE_HALF.search(whole):
                    text = whole.decode("utf-8", "surrogateescape")
                    whole = _without_halves(text).encode("utf-8", "surrogateescape")
                return {"type": "http.request", "body": whole, "more_body": more}
            message = await receive()
        return message  # the client is gone

    return body


def _without_halves(text: str) -> str:
    return _ESCAPE.sub(lambda found: r"\ufffd" if found["half"] else found[0], text)


def refusals(received: SessionMessage | Faults) -> Iterator[JSONRPCError]:
    """What a client is told of what it sent, unless it can be served or waits for nothing."""
    match received:
        case SessionMessage(message=JSONRPCNotification(method=method)):
            if method in SPEC_CLIENT_METHODS:  # the SDK takes a request with a wrong id for one
                yield _refusal(None, INVALID_REQUEST, f"{method} is a request: its {RULES['id']}.")
        case SessionMessage():
            return
        case []:
            yield _refusal(None, PARSE_ERROR, f"{UNREADABLE}. {WHOLE}")
        case faults:
            yield from _of_a_line(faults)


def _of_a_line(faults: Faults) -> Iterator[JSONRPCError]:
    if (line := _unread(faults)) is not None:
        sent, code = _outline(line), PARSE_ERROR
        why = faults[0].get("ctx", {}).get("error", "")
        deep = why.replace("recursion limit exceeded", "nested too deep")
        said = f"{UNREADABLE}: {deep}. {WHOLE if deep == why else FLAT}"
    else:
        sent, code = _whole(faults), INVALID_REQUEST
        said = BATCH if is_array(sent) else _what_is_wrong(faults)
    if line != "":  # blank lines are nothing to anybody
        for request in _waiting(sent):
            yield _refusal(request, code, said)


def _unread(faults: Faults) -> str | None:
    """The line, if it is no JSON."""
    return faults[0]["input"] if faults and faults[0]["type"] == "json_invalid" else None


def _whole(faults: Faults) -> Any:
    """The JSON of a line that is no message, as reported by a kind of message that it is not."""
    for fault in faults:
        if fault["type"] == "model_type" or (fault["type"] == "missing" and len(fault["loc"]) == 2):
            return fault["input"]
    return {"result": None, "error": None}  # neither is missing


def _what_is_wrong(faults: Faults) -> str:
    places = [fault["loc"] for fault in faults]
    wrong = {place[1] for place in places if place[0] == "JSONRPCRequest" and len(place) > 1}
    told = [rule for name, rule in RULES.items() if name in wrong]
    return f"This is no JSON-RPC request: {', '.join(told)}." if told else NO_OBJECT


def _outline(line: str) -> dict[str, Any]:
    """The names of an object that cannot be read whole, with what is known of their values.

    `{"id":7,"method":"ping","params":{"id":8` -> `{"id": 7, "method": "ping", "params": None}`
    """
    depth, found = 0, dict[str, Any]()
    for part in _PART.finditer(line):
        if part["opens"]:
            depth += 1
        elif part["closes"]:
            depth -= 1
            if depth <= 0:
                break
        elif depth == 1 and part["names"]:
            found[part["name"]] = int(part["number"]) if part["number"] else part["text"]
    return found


def _waiting(sent: Any) -> list[RequestId | None]:
    """The ids under which a client waits for answers; none for an answer or a notification."""
    if is_array(sent):
        return [known for part in sent for known in _waiting(part) if known is not None] or [None]
    if not is_object(sent):
        return [None]
    notifies = "id" not in sent and str(sent.get("method")).startswith("notifications/")
    if notifies or "result" in sent or "error" in sent:
        return []
    given = sent.get("id")
    return [given if isinstance(given, (int, str)) and not isinstance(given, bool) else None]


def _refusal(request: RequestId | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=message))
