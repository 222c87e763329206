"""One request of a client: fitted, sent to its provider, and answered as one answer.

A fault of ours never stops a request: it goes out as it came, and the log says so. The provider's
own errors reach the client as they are; but a request that it refuses as too long, or because of
thinking that is bound elsewhere, is mended and sent once more.

The model may call `context_restore`. Its answer then goes back at once, in a further request of the
same turn. The client sees one answer, without the calls.
"""

import json
from base64 import urlsafe_b64decode
from binascii import Error as NotBase64
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Any, TypeAlias

import httpx2
from anyio import CancelScope
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive, Scope, Send

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.integrations.apis import (
    CHAT,
    MESSAGES,
    RESPONSES,
    Api,
    answers_to,
    name_of,
)
from context_compression.proxy.passing import (
    can_read,
    pass_on,
    pass_response,
    refuse,
    start_answer,
    target_of,
    tell,
    tell_fault,
    unreachable,
)
from context_compression.proxy.requests import Body, RecentBodies
from context_compression.proxy.sessions import ProxySessions
from context_compression.proxy.stitching import MALFORMED, Reply, joined, reply_of, stitcher_for
from context_compression.proxy.upstream import LENGTH, Header, Upstreams, api_of, request_headers
from context_compression.session import Session
from context_compression.session.restoring import RESTORE, RestoreTool, restore_tool
from context_compression.threads import in_thread

APIS: Mapping[str, Api] = {
    "messages": MESSAGES, "chat/completions": CHAT, "responses": RESPONSES,
}  # fmt: skip
"""The APIs by the ends of their paths."""
MOST_BYTES = 64 * 1024 * 1024
"""Of a request that is read; a larger one is passed on while it comes."""
MOST_ROUNDS = 8
"""How many times the model can restore in one turn before it must answer."""
STREAM = "text/event-stream"
MOST_OF_AN_ERROR = 1_000_000
"""Bytes of a refusal that are read to know what it says."""
KEYS = ("x-api-key", "authorization", "api-key")
"""Headers that say whose a request is."""
WITHOUT_STORE = "without the store"
"""Is in a warning that holds the words of our own error, and nothing of a conversation."""
MOST_OWED = 1_000
"""Responses for which it is kept how a request goes on from them."""
Owed: TypeAlias = OrderedDict[str, tuple[str, Sequence[Any]]]
"""By the id of a response that the client names: that of the last one, and what it waits for."""


@dataclass(frozen=True)
class Turns:
    """An ASGI application that answers requests of clients.

    Attributes:
        sessions: those of the proxy; raises an error of ours if they cannot be opened.
        upstreams: where requests go.
        client: sends them.
        bodies: reads them.
        owed: how requests go on from responses that OpenAI's server keeps.
    """

    sessions: Callable[[], ProxySessions]
    upstreams: Upstreams
    client: httpx2.AsyncClient
    bodies: RecentBodies = field(default_factory=RecentBodies)
    owed: Owed = field(default_factory=OrderedDict[str, tuple[str, Sequence[Any]]])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: fitted, or passed on as it came."""
        request, api = Request(scope, receive), APIS.get(api_of(scope["path"]) or "")
        if api and scope["method"] == "POST":
            raw, receive = await _body(request, receive)
            turn = await self._turn(request, api, raw, send) if raw else None
            if turn:
                return await turn.answer()
            if raw and (settled := self._settled(raw)):
                headers = [each for each in scope["headers"] if each[0] != LENGTH]
                length = (LENGTH, str(len(settled)).encode())
                scope, receive = (
                    {**scope, "headers": [*headers, length]},
                    _again([_whole_body(settled)], receive),
                )
            request = Request(scope, receive)
        return await pass_on(request, send, self.upstreams, self.client)

    def _settled(self, raw: bytes) -> bytes | None:
        """A request that goes on from a response on the server, with the results that it waits for.

        The client may know the response by the id of another one, with which its stream began.

        Returns:
            `None` if nothing of this is ours.
        """
        body = self.bodies.read(raw) if b"previous_response_id" in raw else None
        owed = self.owed.get(str(body.fields.get("previous_response_id"))) if body else None
        if body is None or not owed:
            return None
        id, results = owed
        fields: dict[str, Any] = {"previous_response_id": id}
        if results:
            said: Any = body.fields.get("input") or []
            items = said if is_array(said) else [{"role": "user", "content": said}]
            fields["input"] = [*results, *items]
        return body.changed(fields)

    async def _turn(
        self, request: Request, api: Api, raw: bytes, send: Send
    ) -> "ClientTurn | None":
        """The turn of a request; `None` if it goes out as it came."""

        def fit() -> "tuple[ProxySessions, ProviderRequest] | None":
            sessions, body = self.sessions(), self.bodies.read(raw)
            fits = fitted(sessions, api, request.headers, body) if body else None
            return (sessions, fits) if fits else None

        try:
            made = await in_thread(fit)
        except Exception as fault:
            tell_fault("A request goes out as it came", fault)
            return None
        if made is None:
            return None
        url = self.upstreams.of(target_of(request.scope), request.headers)
        headers = request_headers(request.scope["headers"], is_read=True)
        return ClientTurn(
            self.client, url, headers, request.scope, made[1], made[0], self.owed, send
        )


async def _body(request: Request, receive: Receive) -> tuple[bytes | None, Receive]:
    """The body, `None` if it is too large; and what gives it once more.

    Raises:
        ClientDisconnect: the client went away while it was sending.
    """
    messages: list[Message] = []
    size, more = 0, True
    while more and size <= MOST_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        messages.append(message)
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    read = None if more else b"".join(message.get("body", b"") for message in messages)
    return read, _again(messages, receive)


def _again(messages: Sequence[Message], receive: Receive) -> Receive:
    """What gives messages that have come already, and then what comes."""
    left = [*messages][::-1]

    async def receive_again() -> Message:
        return left.pop() if left else await receive()

    return receive_again


@dataclass(frozen=True)
class ProviderRequest:
    """A request as it goes to the provider.

    Attributes:
        api: of the request.
        session: of the conversation.
        body: as the client sent it.
        history: the messages as the provider saw them, before they were fitted.
        tools: the definitions that go out.
        messages: those that go out.
        tool: answers calls of `context_restore`; `None` if it is not offered.
    """

    api: Api
    session: Session
    body: Body
    history: Sequence[Any]
    tools: Any
    messages: Sequence[Any]
    tool: RestoreTool | None = None

    @property
    def raw(self) -> bytes:
        """The body that goes out."""
        fields: dict[str, Any] = {self.api.messages: self.messages}
        if self.tools is not self.body.fields.get("tools"):
            fields["tools"] = self.tools
        if self.api.system and self.session.settings.summary_role == "system":
            fields[self.api.system] = self.session.system
        return self.body.changed(fields)

    def refitted(self, added: Sequence[Any]) -> "ProviderRequest":
        """The request that goes on after more messages."""
        history = [*self.history, *added]
        system = self.session.given_system
        messages = self.session.fit(history, system=system, tools=self.tools)
        return replace(self, history=history, messages=messages)

    def recovered(self, status: int, error: bytes) -> "ProviderRequest | None":
        """What goes out after a refusal; `None` if another try would not help."""
        messages = self.session.recover(_as_error(status, error))
        return None if messages is None else replace(self, messages=messages)


def fitted(
    sessions: ProxySessions, api: Api, headers: Mapping[str, str], body: Body
) -> ProviderRequest | None:
    """The request of a client, fitted; `None` for one that goes out as it came."""
    session = sessions.of(api, headers, body.fields, owner_of(headers))
    if session is None:
        return None
    tool = restore_tool(session) if can_answer(body.fields) else None
    given = body.fields.get("tools")
    tools = [*given, api.tool(tool)] if tool and is_array(given) else given
    history = sessions.unfolded(session, body.fields[api.messages], api)
    system = body.fields.get(api.system) if api.system else None
    messages = session.fit(history, system=system, tools=tools)
    tell_of_memory(session)
    return ProviderRequest(api, session, body, history, tools, messages, tool)


def tell_of_memory(session: Session) -> None:
    """Tell that a request was made without the store, and why."""
    memory = session.fitting.memory
    if memory.active:
        why = [each for each in memory.warnings if WITHOUT_STORE in each]
        tell(f"{session.id}: {why[-1] if why else 'a request was made in memory'}")


def can_answer(fields: Mapping[str, Any]) -> bool:
    """Whether a call of our tool could be answered before the client sees it.

    A request without tools gets none: its model may not know tools.
    """
    tools = fields.get("tools")
    if not is_array(tools) or not tools or (fields.get("n") or 1) != 1:
        return False
    return all(name_of(tool) != RESTORE for tool in tools)


def owner_of(headers: Mapping[str, str]) -> str:
    """Whose a request is: digits of a hash of the key, or of whom a token of some hours is for."""
    sent = "\n".join(headers.get(name, "").rpartition(" ")[2] for name in KEYS).strip()
    claims = _claims(sent)
    if sent.startswith("sk-ant-oat"):  # it is exchanged while a conversation goes on
        sent = "sk-ant-oat"
    whose = json.dumps([claims.get("iss"), claims.get("sub")]) if claims.get("sub") else sent
    return sha256(whose.encode()).hexdigest()[:32] if whose else ""


def _claims(token: str) -> Mapping[str, Any]:
    """What a JSON Web Token says, which is not checked; empty for another key."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        return as_object(json.loads(urlsafe_b64decode(parts[1] + "==")))
    except (NotBase64, ValueError, RecursionError):
        return {}


@dataclass
class ClientTurn:
    """The answer to one request.

    Attributes:
        client: sends requests.
        url: where they go.
        headers: of the request, without those that belong to one connection.
        scope: of the client's request.
        fitted: the request that goes out next.
        sessions: keep what the client does not see.
        owed: as in `Turns`.
        send: to the client.
    """

    client: httpx2.AsyncClient
    url: str
    headers: Sequence[Header]
    scope: Scope
    fitted: ProviderRequest
    sessions: ProxySessions
    owed: Owed
    send: Send

    async def answer(self) -> None:
        """Send the request, and to the client what comes back.

        Raises:
            httpx2.HTTPError: the provider broke off after its answer had begun.
        """
        try:
            opened = AsyncExitStack()
            response = await opened.enter_async_context(self._response())
        except httpx2.RequestError as error:
            await refuse(self.scope, self.send, 502, unreachable(error, self.url))
            return
        async with opened:
            if response.status_code >= 400 or self.fitted.tool is None or not can_read(response):
                await pass_response(response, self.send)
            elif _is_stream(response):
                await self._stream(response)
            else:
                await self._whole(response)

    @asynccontextmanager
    async def _response(self) -> AsyncGenerator[httpx2.Response]:
        """The provider's response; after a refusal that can be mended, that to one more try."""
        async with self._asked() as response:
            if response.status_code < 400 or not await self._is_mended(response):
                yield response
                return
        async with self._asked() as response:
            yield response

    @asynccontextmanager
    async def _asked(self) -> AsyncGenerator[httpx2.Response]:
        request = self.client.build_request(
            "POST", self.url, headers=self.headers, content=self.fitted.raw
        )
        response = await self.client.send(request, stream=True)
        try:
            yield response
        finally:
            with CancelScope(shield=True):
                await response.aclose()

    async def _is_mended(self, response: httpx2.Response) -> bool:
        """Whether another request can go out after a refusal; it is `fitted` then."""
        if not can_read(response):
            return False
        error = await response.aread()
        recovered = partial(self.fitted.recovered, response.status_code, error)
        try:
            again = await in_thread(recovered)
        except Exception as fault:
            tell_fault("a refusal is passed on", fault)
            return False
        self.fitted = again or self.fitted
        return again is not None

    async def _stream(self, response: httpx2.Response) -> None:
        stitcher, begun = stitcher_for(self.fitted.api), None
        await start_answer(response, self.send, is_changed=True)
        async with AsyncExitStack() as further:
            for left in reversed(range(MOST_ROUNDS + 1)):
                async for data in response.aiter_bytes():
                    await self._write(stitcher.feed(data))
                reply = stitcher.ended()
                if not left or not await self._goes_on(reply):
                    if begun and self.fitted.api is RESPONSES:
                        self._owe(begun, reply.message.get("id"))
                    await self._write(stitcher.finish())
                    break
                begun = begun or reply.message.get("id")
                response = await further.enter_async_context(self._response())
                if response.status_code >= 400 or not _is_stream(response):
                    await self._write(_as_event(await response.aread()))
                    break
                stitcher.next()
        await self.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _whole(self, response: httpx2.Response) -> None:
        """Answers with one response, which may be joined from several."""
        responses: list[dict[str, Any]] = []
        async with AsyncExitStack() as further:
            for left in reversed(range(MOST_ROUNDS + 1)):
                whole = _as_json(await response.aread()) if can_read(response) else None
                if response.status_code >= 400 or whole is None:  # the client may try again
                    await pass_response(response, self.send)
                    return
                responses.append(whole)
                reply = reply_of(self.fitted.api, whole)
                if not left or not await self._goes_on(reply):
                    break
                response = await further.enter_async_context(self._response())
        try:
            answer = joined(self.fitted.api, responses)
        except MALFORMED:
            answer = responses[-1]
        if answer is responses[-1]:
            await pass_response(response, self.send)
            return
        body = json.dumps(answer).encode()
        await start_answer(response, self.send, is_changed=True)
        await self.send({"type": "http.response.body", "body": body, "more_body": False})

    async def _goes_on(self, reply: Reply) -> bool:
        """Whether a response called our tool alone; the request that answers it is then `fitted`.

        If the client has calls to answer, too, the answer waits for its next request.
        """
        tool = self.fitted.tool
        if tool is None or not (reply.complete and reply.calls):
            return False
        try:
            return await self._answered(reply, tool)
        except Exception as fault:
            tell_fault("A turn ends without what it restored", fault)
            return False

    async def _answered(self, reply: Reply, tool: RestoreTool) -> bool:
        api = self.fitted.api
        answers = await answers_to(reply.calls, tool)
        added = api.exchange(reply.message, answers)
        if reply.has_others:
            results = [item for item in added if item.get("type") == "function_call_output"]
            self._owe(reply.message.get("id"), reply.message.get("id"), results)
            keep = partial(self.sessions.keep, self.fitted.session, api, reply.message, answers)
            await in_thread(keep)
            return False
        self.fitted = await in_thread(partial(self.fitted.refitted, added))
        return True

    def _owe(self, shown: Any, id: Any, results: Sequence[Any] = ()) -> None:
        """Keep how a request goes on that names a response by its id alone.

        Args:
            shown: the id that the client knows.
            id: of the last response.
            results: of our calls in it; without any, those that are kept for it.
        """
        if self.fitted.api is RESPONSES and self.fitted.body.fields.get("store", True):
            _, known = self.owed.get(str(id), ("", ()))
            self.owed[str(shown)] = str(id), results or known
            if len(self.owed) > MOST_OWED:
                self.owed.popitem(last=False)

    async def _write(self, data: bytes) -> None:
        if data:
            await self.send({"type": "http.response.body", "body": data, "more_body": True})


def _is_stream(response: httpx2.Response) -> bool:
    kind = response.headers.get("content-type", "").lower()
    return kind.startswith(STREAM) and can_read(response)


def _whole_body(body: bytes) -> Message:
    return {"type": "http.request", "body": body, "more_body": False}


def _as_json(body: bytes) -> dict[str, Any] | None:
    """An object; `None` for another text."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return dict(value) if is_object(value) else None


def _as_error(status: int, body: bytes) -> Any:
    """A refusal as `Session.recover` reads it."""
    read = body[:MOST_OF_AN_ERROR]
    return {"status": status, **(_as_json(read) or {"message": read.decode(errors="replace")})}


def _as_event(refusal: bytes) -> bytes:
    """A refusal as the event of a stream, as the libraries of both providers raise it."""
    error = _as_json(refusal) or {}
    if "error" not in error:
        error = {"error": {"type": "api_error", "message": "No answer came."}}
    return f"event: error\ndata: {json.dumps({'type': 'error', **error})}\n\n".encode()
