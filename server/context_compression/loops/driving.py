"""One request of an agent, and the loop around it, for any client.

Before every request, even between tool results and the next request, the session is compressed if
that is due.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from inspect import isawaitable
from typing import Any, TypeAlias

from anyio import CancelScope

from context_compression.listening import ModelCall, heard
from context_compression.loops.at_source import arriving_whole
from context_compression.loops.calling import Tools, arun, open_calls, run
from context_compression.loops.dialect import Body, Dialect
from context_compression.loops.restoring import RESTORE, answered
from context_compression.session import Session
from context_compression.summaries.overflow import silent_overflow
from context_compression.threads import ask
from context_compression.tokens import window_of
from context_compression.tokens.usage import for_model

OnChunk: TypeAlias = Callable[[Any], object] | None
PAUSED = "pause_turn"
"""The ending of an answer whose server tools go on when the same conversation is sent again.

Source: Claude docs, "Server tools".
"""
CUT = "context_length_exceeded: the answer tells so, though it came as a success"
"""The error used when an answer came although a part of the request was not read."""


class Aborted(Exception):
    """A request was cut short because a manual compression waits."""


class Asking:
    """One request, which another thread may cut short.

    The client of a program without an event loop can only be stopped between two chunks.
    """

    def __init__(self, dialect: Dialect, client: Any, on_chunk: OnChunk) -> None:
        self._dialect, self._client, self._on_chunk = dialect, client, on_chunk
        self._is_aborted = False
        self._cut: Callable[[], object] = lambda: None

    def abort(self) -> None:
        """Cut it short."""
        self._is_aborted = True
        self._cut()

    def _check(self) -> None:
        if self._is_aborted:
            raise Aborted

    def answer(self, body: Body, streamed: Any) -> Any:
        """The answer of the client.

        Raises:
            Aborted: it was cut short.
        """
        if not streamed:
            return self._dialect.send(self._client, body)
        return self._dialect.stream(self._client, body, self._take)

    def _take(self, chunk: Any) -> None:
        self._check()
        if self._on_chunk:
            self._on_chunk(chunk)

    async def aanswer(self, body: Body, streamed: Any) -> Any:
        """The same for the client of an event loop, which can be stopped at any time."""
        loop = asyncio.get_running_loop()
        with CancelScope() as scope:
            self._cut = lambda: loop.call_soon_threadsafe(scope.cancel)
            self._check()
            if streamed:
                return await self._dialect.astream(self._client, body, self._atake)
            return await self._dialect.send(self._client, body)
        raise Aborted

    async def _atake(self, chunk: Any) -> None:
        given = self._on_chunk(chunk) if self._on_chunk else None
        if isawaitable(given):
            await given


def create(
    dialect: Dialect,
    session: Session,
    client: Any,
    request: Body,
    on_chunk: OnChunk = None,
    *,
    in_loop: bool = False,
) -> Any:
    """One request and its answer, which is recorded; retried once if the session can repair it.

    With `in_loop`, the client belongs to the event loop that this thread works for.
    """
    _count_with(session, request)
    streamed = on_chunk is not None or request.get("stream")
    while True:
        session.prepare()
        asking = Asking(dialect, client, on_chunk)
        try:
            with session.request(asking.abort if streamed or in_loop else None):
                body = _body(dialect, session, request)
                with heard(_call(session, client, body, streamed)) as end:
                    if in_loop:
                        answer = ask(partial(asking.aanswer, body, streamed))
                    else:
                        answer = asking.answer(body, streamed)
                    end(answer)
                if not _is_cut(dialect, session, answer):
                    return _recorded(dialect, session, answer)
        except Aborted:
            continue
        except Exception as error:
            if session.recover(error) is None:
                raise
        else:
            if session.recover(CUT) is None:
                return _recorded(dialect, session, answer)


def run_tools(
    dialect: Dialect,
    session: Session,
    client: Any,
    tools: Tools,
    request: Body,
    on_chunk: OnChunk = None,
    *,
    shorten: bool = True,
    in_loop: bool = False,
) -> Any:
    """The model's last answer, after requests and tool calls until it calls no tool.

    A turn that the provider paused goes on. Calls that an earlier run left unanswered are made
    first. Once the conversation was compressed, long outputs of programs are shortened as they come
    in; the model can restore them. Our tool is offered from the first request on, because a later
    change of the tools empties the prompt cache and invalidates bound thinking.
    """
    request = dialect.offering(request)

    def restore(**arguments: Any) -> str:
        return answered(session, arguments)

    async def restore_in_loop(**arguments: Any) -> str:
        return answered(session, arguments)  # not in a thread: a session is not thread-safe

    tools = {RESTORE: restore_in_loop if in_loop else restore, **tools}
    with arriving_whole(session, whole=not shorten):
        while True:
            if calls := open_calls(session.state().view):
                done = ask(partial(arun, calls, tools)) if in_loop else run(calls, tools)
                session.record(*dialect.results_of(done))
            answer = create(dialect, session, client, request, on_chunk, in_loop=in_loop)
            if not (open_calls(session.state().view) or _is_paused(dialect, answer)):
                return answer


def _count_with(session: Session, request: Body) -> None:
    """Set the session's model, tools and system prompt from the request: they are counted."""
    if "system" in request:
        session.system = request["system"]
    session.tools = request.get("tools") or session.tools
    if session.model is None:
        session.model = request.get("model")
        session.settings = for_model(session.settings, session.model)


def _body(dialect: Dialect, session: Session, request: Body) -> Body:
    body = {**request, "messages": session.view()}
    body.pop("stream", None)
    if system := session.system:
        body = dialect.with_system(body, system)
    return body


def _call(session: Session, client: Any, body: Body, streamed: Any) -> ModelCall:
    """A request, as listeners see it."""
    limit = body.get("max_tokens") or body.get("max_completion_tokens")
    return ModelCall(client, body.get("model"), limit, bool(streamed), session)


def _is_paused(dialect: Dialect, answer: Any) -> bool:
    """Whether the model goes on if it is asked again; an answer without content would not end."""
    return dialect.ending_of(answer)[0] == PAUSED and dialect.message_of(answer) is not None


def _is_cut(dialect: Dialect, session: Session, answer: Any) -> bool:
    """Whether the provider answered although a part of the conversation did not fit."""
    window = max(window_of(session.model) or 0, session.settings.token_budget)
    return silent_overflow(*dialect.ending_of(answer), window)


def _recorded(dialect: Dialect, session: Session, answer: Any) -> Any:
    if message := dialect.message_of(answer):
        session.record(message)
    return answer
