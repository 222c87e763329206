"""The way of a request of plain HTTP to its operation, and of the answer back.

`STATUS` is the one table that says which error has which status code.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import isinf
from typing import Any

from anyio import create_task_group
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from context_compression import errors
from context_compression.conversation.messages import is_object
from context_compression.guard import in_our_words
from context_compression.hosts.conversations import Conversations
from context_compression.mcp_server.arguments import validated, zeros_not_taken
from context_compression.mcp_server.rest.openapi import document
from context_compression.mcp_server.rest.operations import OPERATIONS, Operation, SessionTaken
from context_compression.mcp_server.web.refusals import OPENAPI, V1, as_json, refusal
from context_compression.strings import harmless, one_line
from context_compression.threads import in_thread
from context_compression.workspace import Workspace

STATUS: Mapping[type[Exception], int] = {
    ToolError: 400,
    errors.UnknownRef: 404,
    errors.ConversationNotFound: 404,
    SessionTaken: 409,
    errors.StoreBusy: 409,
    errors.PlanError: 409,
    errors.NothingToUndo: 409,
    errors.InvalidConversation: 422,
    errors.InvalidTarget: 422,
    errors.InvalidSettings: 422,
    errors.BudgetTooSmall: 422,
    errors.StoreError: 422,  # itself: what is asked of the archive cannot be
    errors.StoreDamaged: 500,
    errors.ContextCompressionError: 500,
    errors.SummaryError: 502,
    errors.StoreUnwritable: 503,
    errors.StoreUnreachable: 503,
    errors.StoreTooNew: 503,
    errors.NotOurs: 503,
}
"""The status code of each error; one that is not named has that of the class above it."""
WRONG = "InvalidRequest"
"""The type of a wrong request; errors of ours have the names of their classes."""
AGAIN = {"Retry-After": "1"}
SEND = "Send a JSON object in UTF-8, with the header `Content-Type: application/json`."
Query = list[tuple[str, str]]
LESS_NESTED = "The body is nested too deep. Pass deeply nested values as JSON in a text."


class NotAnswered(Exception):
    """A request that reaches no operation."""

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        **more: int,
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.headers, self.more = status, kind, headers, more

    def response(self, scope: Scope) -> Response:
        """The answer."""
        return refusal(scope, self.status, self.kind, str(self), self.headers, **self.more)


@dataclass(frozen=True)
class PlainHttp:
    """An ASGI application that answers `/v1/…` and `/openapi.json` for one workspace.

    Attributes:
        workspace: the one.
        names: under which names the server may be addressed.
        most_bytes: how large the body of a request may be.
    """

    workspace: Workspace
    names: TransportSecuritySettings
    most_bytes: int

    def routes(self) -> list[Route]:
        """Its routes, for an application that answers other paths, too."""
        return [Route(path, self) for path in (OPENAPI, V1, f"{V1}/{{name:path}}")]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        request = Request(scope)
        try:
            await self._check_names(request)
            if (operation := _operation(request)) is None:
                response = as_json(document())
            elif operation.method == "GET":
                given = request.query_params.multi_items()
                response = await in_thread(lambda: self._answer(scope, operation, given))
            else:
                _check_type(request)
                body = await _body(receive, self.most_bytes)
                answer = partial(self._answer, scope, operation, body)
                response = await _unless_gone(receive, partial(in_thread, answer))
        except NotAnswered as no:
            response = no.response(scope)
        if response is not None:
            await response(scope, receive, send)

    async def _check_names(self, request: Request) -> None:
        wrong = await TransportSecurityMiddleware(self.names).validate_request(request)
        if wrong is not None:
            kind = "WrongHost" if wrong.status_code == 421 else "WrongOrigin"
            said = f"{bytes(wrong.body).decode()}. --allow-host NAME allows a name."
            raise NotAnswered(wrong.status_code, kind, said)

    def _answer(self, scope: Scope, operation: Operation, sent: bytes | Query) -> Response:
        """The answer of an operation, or what is wrong; runs in a worker thread."""
        try:
            with in_our_words(ToolError, SessionTaken, NotAnswered, RecursionError):
                given = _parsed(sent) if isinstance(sent, bytes) else _once(sent)
                asked = validated(operation.arguments, given)
                answer = {**operation.answer(Conversations(self.workspace), asked)}
                if zeros := zeros_not_taken(operation.arguments, given):
                    answer["warnings"] = [*answer.get("warnings", ()), *zeros]
                return as_json({n: value for n, value in answer.items() if value is not None})
        except RecursionError:
            return NotAnswered(400, WRONG, LESS_NESTED).response(scope)
        except NotAnswered as no:
            return no.response(scope)
        except (ToolError, SessionTaken, errors.ContextCompressionError) as error:
            return _refused(error).response(scope)


def _refused(error: Exception) -> NotAnswered:
    """An error of an operation, with the status code of its class."""
    status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    kind = WRONG if isinstance(error, ToolError) else type(error).__name__
    more = {"floor_tokens": error.floor_tokens} if isinstance(error, errors.BudgetTooSmall) else {}
    return NotAnswered(status, kind, harmless(str(error)), AGAIN if status == 503 else None, **more)


def _operation(request: Request) -> Operation | None:
    """What a request asks for; `None` for the OpenAPI document.

    Raises:
        NotAnswered: there is no such path, or it takes another method.
    """
    path = request.url.path
    operation = next((each for each in OPERATIONS if each.path == path), None)
    if operation is None and path != OPENAPI:
        paths = ", ".join(f"{each.method} {each.path}" for each in OPERATIONS)
        raise NotAnswered(404, "NotFound", f"There is no such path. Paths: {paths}, GET {OPENAPI}.")
    allowed = ["POST"] if operation and operation.method == "POST" else ["GET", "HEAD"]
    if request.method not in allowed:
        listed = ", ".join(allowed)
        raise NotAnswered(405, "MethodNotAllowed", f"{path} takes {listed}.", {"Allow": listed})
    return operation


async def _unless_gone(
    receive: Receive, answer: Callable[[], Awaitable[Response]]
) -> Response | None:
    """An answer; `None` if the client goes away before: then the work ends before it writes."""
    answers: list[Response] = []
    async with create_task_group() as group:

        async def work() -> None:
            answers.append(await answer())
            group.cancel_scope.cancel()

        group.start_soon(work)
        while (await receive())["type"] != "http.disconnect":
            pass
        group.cancel_scope.cancel()
    return answers[0] if answers else None


def _once(given: Query) -> Mapping[str, Any]:
    names = [name for name, _ in given]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ToolError(f"{one_line(twice, 60)} is given twice. Pass it once.")
    return dict(given)


def _check_type(request: Request) -> None:
    """Raises `NotAnswered` for a body that is no JSON in UTF-8, by its headers."""
    media, _, parameters = request.headers.get("content-type", "").partition(";")
    named = dict(
        part.strip().lower().split("=", 1) for part in parameters.split(";") if "=" in part
    )
    charset = named.get("charset", "utf-8").strip("\"'")
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if media.strip().lower() != "application/json":
        sent = f"not {one_line(media.strip(), 60)!r}" if media.strip() else "and none is named"
        raise NotAnswered(
            415, "UnsupportedMediaType", f"A body is application/json, {sent}. {SEND}"
        )
    if charset not in ("utf-8", "utf8") or coding != "identity":
        what = f"charset {charset}" if coding == "identity" else f"Content-Encoding {coding}"
        raise NotAnswered(415, "UnsupportedMediaType", f"{one_line(what, 60)} is not read. {SEND}")
    if request.url.query:
        raise NotAnswered(400, WRONG, "Pass the arguments in the body, not in the address.")


async def _body(receive: Receive, most: int) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > most:
            said = f"A request may have {most:,} bytes (--megabytes); this one has more."
            raise NotAnswered(413, "BodyTooLarge", said)
        if not message.get("more_body"):
            return bytes(body)


def _parsed(body: bytes) -> Mapping[str, Any]:
    """The object in a body.

    Raises:
        NotAnswered: it is none.
    """
    try:
        value = json.loads(body.decode("utf-8-sig"), parse_constant=_no_number, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise NotAnswered(
            400, WRONG, f"The body is not UTF-8, at byte {error.start}. {SEND}"
        ) from None
    except ValueError as error:
        raise NotAnswered(400, WRONG, f"The body is not JSON: {error}. {SEND}") from None
    if not is_object(value):
        raise NotAnswered(400, WRONG, f"The body is no JSON object. {SEND}")
    return value


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


def _finite(number: str) -> float:
    if isinf(value := float(number)):
        raise ValueError("a number is too large")
    return value
