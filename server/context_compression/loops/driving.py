"""One request of an agent, and the loop around it, for any client.

Before every request, even between tool results and the next request, the session is compressed if
that is due.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, TypeAlias

from anyio import CancelScope

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import ToolCall, is_array, is_object
from context_compression.listening import ModelCall, heard
from context_compression.session import Session
from context_compression.session.restoring import DESCRIPTION, RESTORE, SCHEMA, answered
from context_compression.summaries.errors import silent_overflow
from context_compression.threads import ask
from context_compression.tokens import window_of
from context_compression.tokens.usage import for_model

Tools: TypeAlias = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class Ran:
    """A tool call that was run, with its result (a text or content blocks) or its error."""

    call_id: str
    content: Any
    failed: bool = False


def open_calls(view: Sequence[Mapping[str, Any]]) -> list[ToolCall]:
    """The calls of the last assistant message that have no result yet, in order."""
    answered: set[str] = set()
    for message in reversed(parse(view).messages):
        if message.role == "assistant":
            return [call for call in message.calls if call.id not in answered]
        answered |= {result.call_id for result in message.results}
    return []


def run(calls: Sequence[ToolCall], tools: Tools) -> list[Ran]:
    """Run the calls one after another."""
    return [_run(call, tools) for call in calls]


async def arun(calls: Sequence[ToolCall], tools: Tools) -> list[Ran]:
    """Run the calls concurrently; functions that are not async run in threads."""
    from anyio import create_task_group

    done: dict[int, Ran] = {}

    async def note(number: int, call: ToolCall) -> None:
        done[number] = await _arun(call, tools)

    async with create_task_group() as group:
        for number, call in enumerate(calls):
            group.start_soon(note, number, call)
    return [done[number] for number in range(len(calls))]


def _run(call: ToolCall, tools: Tools) -> Ran:
    try:
        return Ran(call.id, _content(_bound(call, tools)()))
    except Exception as error:
        return _failed(call, error)


async def _arun(call: ToolCall, tools: Tools) -> Ran:
    from anyio.to_thread import run_sync

    try:
        bound = _bound(call, tools)
        answer = bound() if iscoroutinefunction(bound) else await run_sync(bound)
        return Ran(call.id, _content(await answer if isawaitable(answer) else answer))
    except Exception as error:
        return _failed(call, error)


def _bound(call: ToolCall, tools: Tools) -> Callable[[], Any]:
    """The function to call, with its arguments."""
    if call.name not in tools:
        raise LookupError(f"There is no tool {call.name!r}. There are: {', '.join(tools)}.")
    arguments: Any = call.arguments or {}  # some providers send "" for none
    if not is_object(arguments):
        raise TypeError(f"The arguments are not a JSON object: {call.arguments_text[:200]}")
    return partial(tools[call.name], **arguments)


def _content(answer: Any) -> Any:
    """A text or content blocks, unchanged; any other value as JSON."""
    if isinstance(answer, str):
        return answer
    if is_array(answer) and answer and all(is_object(part) and "type" in part for part in answer):
        return list(answer)
    return json.dumps(answer, ensure_ascii=False, default=str)


def _failed(call: ToolCall, error: Exception) -> Ran:
    return Ran(call.id, f"{type(error).__name__}: {error}", failed=True)


# The form of a client's requests and answers.


Body: TypeAlias = dict[str, Any]
Ending: TypeAlias = tuple[str | None, int, int]
"""Why an answer ended, tokens of the full request, tokens of the answer; 0 if unknown."""


@dataclass(frozen=True)
class Dialect:
    """The form of a client's requests and answers.

    Attributes:
        send: the client and a request -> the answer, or an awaitable for it.
        stream: the client, a request, and a function that takes each chunk -> the answer.
        astream: the same for a client of an event loop.
        ending_of: an answer -> how it ended.
        message_of: an answer -> the message to record, or `None` if it is empty.
        results_of: calls that were run -> the messages with their results, in the same order.
        tool_of: name, description and JSON schema -> the definition of a tool.
        name_of: the definition of a tool -> its name.
        with_system: a request and a system prompt -> the request with the prompt.
    """

    send: Callable[[Any, Body], Any]
    stream: Callable[[Any, Body, Callable[[Any], object]], Any]
    astream: Callable[[Any, Body, Callable[[Any], Awaitable[object]]], Awaitable[Any]]
    ending_of: Callable[[Any], Ending]
    message_of: Callable[[Any], Body | None]
    results_of: Callable[[Sequence[Ran]], list[Body]]
    tool_of: Callable[[str, str, Body], Body]
    name_of: Callable[[Mapping[str, Any]], str | None]
    with_system: Callable[[Body, Any], Body]

    def offering(self, request: Body) -> Body:
        """The request with our tool, unless the caller has a tool of that name."""
        given: list[Any] = list(request.get("tools") or ())
        if not any(self.name_of(tool) == RESTORE for tool in given):
            given.append(self.tool_of(RESTORE, DESCRIPTION, SCHEMA))
        return {**request, "tools": given}


# Whether long tool results are shortened when they come in: `run_tools(…, shorten=False)`.


NEVER = ("*=0",)


@contextmanager
def arriving_whole(session: Session, *, whole: bool = True) -> Generator[None]:
    """Enclose requests before which no result of a session is shortened as it comes in."""
    before = session.settings.offload_at_source
    if whole:
        session.settings = session.settings.changed({"offload_at_source": NEVER})
    try:
        yield
    finally:
        if whole:
            session.settings = session.settings.changed({"offload_at_source": before})


# One request of an agent, and the loop around it, for any client.
#
# Before every request, even between tool results and the next request, the session is compressed
# if that is due.


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
            with session.fitting.pace.request(asking.abort if streamed or in_loop else None):
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
