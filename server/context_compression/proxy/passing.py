"""Passes requests on to the provider, and its answers to the client, as they come.

Nothing is held back, and nothing is gathered: a part goes on as soon as it is there, and the next
is read when it has gone. If a client goes away, its request ends at once, at the provider, too.
"""

import sys
from contextlib import suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy

import anyio
import httpx2
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from context_compression.errors import InvalidSettings, MissingExtra, StoreError
from context_compression.proxy.upstream import (
    CODED,
    CODING,
    LENGTH,
    Upstreams,
    answer_headers,
    is_for_anthropic,
    request_headers,
)
from context_compression.strings import one_line

CONNECT_SECONDS = 10.0
"""How long a connection to the provider may take. Its answer may take as long as a client waits."""
IDLE_SECONDS = 60.0
"""How long a connection to the provider is kept for the next request."""
MOST_IDLE = 50
LONGEST_LINE = 500  # characters
READABLE = {"", "identity", "gzip", "deflate"}
"""The codings of an answer that the HTTP client decodes without a further library."""
UNREACHABLE = """\
The proxy of context-compression got no answer from {origin}: {why}. Try again. If the address is \
wrong, start the proxy with another --upstream; if your network has a proxy, with HTTPS_PROXY."""
FAULT = "The proxy of context-compression had a fault of its own. Try again."
WITHOUT_CONTENT = (StoreError, InvalidSettings, MissingExtra)
"""Errors whose words hold nothing of a conversation."""
KINDS = {407: "authentication_error", 403: "permission_error", 502: "api_error"}
"""The `type` of an error by its status, in the words that both APIs share."""


def provider_client() -> httpx2.AsyncClient:
    """The HTTP client of all requests: it adds no header, keeps no cookie and follows no redirect.

    It heeds `HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE` and their kind.

    Raises:
        InvalidSettings: one of these variables is wrong.
    """
    try:
        client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
            limits=httpx2.Limits(
                max_keepalive_connections=MOST_IDLE, keepalive_expiry=IDLE_SECONDS
            ),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            follow_redirects=False,
        )
    except (ImportError, ValueError, OSError, httpx2.InvalidURL) as error:
        raise InvalidSettings(
            f"No request could go out: {one_line(error, LONGEST_LINE)}. Look at the variables "
            "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR."
        ) from error
    client.headers.clear()
    return client


def target_of(scope: Scope) -> str:
    """The path of a request and its query, as the request line has them."""
    query = scope["query_string"]
    return (scope["raw_path"] + (b"?" + query if query else b"")).decode("latin-1")


async def pass_on(
    request: Request, send: Send, upstreams: Upstreams, client: httpx2.AsyncClient
) -> None:
    """Answer a request with what the provider answers, both byte for byte.

    A body that was read before, with `request.body()`, goes out again.

    Raises:
        httpx2.HTTPError: the provider broke off after its answer had begun.
        ClientDisconnect: the client went away while it was sending.
    """
    target, headers = target_of(request.scope), request.headers
    has_body = LENGTH.decode() in headers or CODING.decode() in headers
    url = upstreams.of(target, headers)
    passed = httpx2.Request(
        request.method,
        url,
        headers=request_headers(request.scope["headers"]),
        content=request.stream() if has_body else None,
        extensions={"target": f"/{url.split('/', 3)[3]}".encode()},  # httpx2 would escape some
    )
    try:
        response = await client.send(passed, stream=True)
    except httpx2.RequestError as error:
        await refuse(request.scope, send, 502, unreachable(error, url))
        return
    try:
        await pass_response(response, send)
    finally:
        with anyio.CancelScope(shield=True):
            await response.aclose()


async def pass_response(response: httpx2.Response, send: Send) -> None:
    """Answer with a response of the provider, as it comes; a body that was read goes on as it was.

    Raises:
        httpx2.HTTPError: the provider broke off.
    """
    await start_answer(response, send)
    if response.is_stream_consumed:
        await send(_part(response.content, last=True))
        return
    async for part in response.aiter_raw():
        await send(_part(part))
    await send(_part(b"", last=True))


def can_read(response: httpx2.Response) -> bool:
    """Whether its bytes can be decoded; some gateways compress although we ask for `identity`."""
    coded = response.headers.get(CODED.decode(), "").lower().split(",")
    return {coding.strip() for coding in coded} <= READABLE


async def start_answer(response: httpx2.Response, send: Send, *, is_changed: bool = False) -> None:
    """Begin an answer with the status and headers of a response.

    Args:
        response: of the provider.
        send: to the client.
        is_changed: whether the body will be another.
    """
    is_decoded = response.is_stream_consumed and CODED.decode() in response.headers
    headers = answer_headers(response.headers.raw, is_changed=is_changed or is_decoded)
    status = response.status_code
    await send({"type": "http.response.start", "status": status, "headers": headers})


def _part(body: bytes, *, last: bool = False) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": not last}


async def refuse(
    scope: Scope, send: Send, status: int, message: str, headers: dict[str, str] | None = None
) -> None:
    """Answer with an error of ours, in the form of the API that the client speaks."""
    await refusal(scope, status, message, headers)(scope, _nothing, send)


def refusal(
    scope: Scope, status: int, message: str, headers: dict[str, str] | None = None
) -> JSONResponse:
    """An error of ours, in the form of the API that the client speaks."""
    names = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    kind = KINDS.get(status, "invalid_request_error")
    error = {"type": kind, "message": message}
    if is_for_anthropic(target_of(scope), names):
        body = {"type": "error", "error": error}
    else:
        body = {"error": {**error, "param": None, "code": None}}
    return JSONResponse(body, status, headers)


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


def not_answered(request: Request, fault: Exception) -> JSONResponse:
    """The answer where a provider broke off before the answer began, or a fault of ours came."""
    if isinstance(fault, httpx2.RequestError):
        return refusal(request.scope, 502, unreachable(fault, str(fault.request.url)))
    return refusal(request.scope, 500, FAULT)


def unreachable(error: httpx2.RequestError, url: str) -> str:
    """Why no answer came from the provider, and what to do."""
    origin = "/".join(url.split("/", 3)[:3])
    why = one_line(error, LONGEST_LINE) or type(error).__name__
    return UNREACHABLE.format(origin=origin, why=why)


def until_client_leaves(app: ASGIApp) -> ASGIApp:
    """An application that is cancelled at once when its client goes away before the answer ends.

    Without that, nobody would notice until the provider says something again, minutes later.
    """

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        arrived, answered, has_left = anyio.Event(), False, False

        async def receive_all() -> Message:
            message = await receive()
            if not message.get("more_body"):  # also if the client is gone
                arrived.set()
            return message

        async def send_all(message: Message) -> None:
            nonlocal answered
            is_body = message["type"] == "http.response.body"
            answered = answered or (is_body and not message.get("more_body"))
            await send(message)

        async def watch() -> None:
            nonlocal has_left
            await arrived.wait()
            while (await receive())["type"] != "http.disconnect":
                pass
            if not answered:
                has_left = True
                group.cancel_scope.cancel()

        failure: Exception | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            try:
                await app(scope, receive_all, send_all)
            except Exception as error:  # the group would wrap it
                failure = error
            group.cancel_scope.cancel()
        if failure and not has_left:
            raise failure

    return watched


def tell(line: str) -> None:
    """Write a line for the user who started the proxy."""
    with suppress(OSError):  # whoever read it is gone
        sys.stderr.write(f"{one_line(line, LONGEST_LINE)}\n")
        sys.stderr.flush()


def tell_fault(what: str, error: Exception) -> None:
    """Tell of a fault of ours that did not stop a request, without what the request says."""
    tell(f"{what}: {error if isinstance(error, WITHOUT_CONTENT) else type(error).__name__}")
