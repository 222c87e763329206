"""One request of an agent, and the loop around it, for any client.

Before every request, also between tool results and the next one, the session is compressed if that
is due. What a client's requests and answers look like is a `Dialect`.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from anyio import CancelScope

from context_compression.loops.calling import (
    DESCRIPTION,
    RESTORE,
    SCHEMA,
    Ran,
    Tools,
    arun,
    open_calls,
    restored,
    run,
)
from context_compression.session import Session
from context_compression.usage import for_model

Body: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Dialect:
    """What a client's requests and answers look like.

    Attributes:
        send: the client and a request -> the answer, or what is awaited for it.
        message_of: an answer -> the message to record, or `None` where it says nothing.
        results_of: calls that were made -> the messages that answer them, in the same order.
        tool_of: name, description and JSON schema -> the definition of a tool.
        name_of: the definition of a tool -> its name.
    """

    send: Callable[[Any, Body], Any]
    message_of: Callable[[Any], Body | None]
    results_of: Callable[[Sequence[Ran]], list[Body]]
    tool_of: Callable[[str, str, Body], Body]
    name_of: Callable[[Mapping[str, Any]], str | None]


def create(dialect: Dialect, session: Session, client: Any, request: Body) -> Any:
    """One request and its answer, which is recorded; retried once if it was refused as too long."""
    _count_with(session, request)
    while True:
        session.prepare()
        try:
            with session.request():
                answer = dialect.send(client, {**request, "messages": session.view()})
                _record(dialect, session, answer)
                return answer
        except Exception as error:
            if session.recover(error) is None:
                raise


async def acreate(dialect: Dialect, session: Session, client: Any, request: Body) -> Any:
    """`create` for an event loop; a manual compression cuts it short, and it is sent again."""
    _count_with(session, request)
    loop = asyncio.get_running_loop()
    while True:
        await session.aprepare()
        try:
            with CancelScope() as scope:  # whoever compresses may do so in another thread
                abort = partial(_cancel, loop, scope)
                async with session.arequest(abort):
                    answer = await dialect.send(client, {**request, "messages": session.view()})
                    _record(dialect, session, answer)
                    return answer
        except Exception as error:
            if await session.arecover(error) is None:
                raise


def run_tools(dialect: Dialect, session: Session, client: Any, tools: Tools, request: Body) -> Any:
    """Requests and tool calls in turn until the model calls none; its last answer.

    Calls that an earlier run left unanswered are made first.
    """
    tools = {RESTORE: partial(restored, session), **tools}
    while True:
        if calls := open_calls(session.view()):
            session.record(*dialect.results_of(run(calls, tools)))
        answer = create(dialect, session, client, _with_restore(dialect, session, request))
        if not open_calls(session.view()):
            return answer


async def arun_tools(
    dialect: Dialect, session: Session, client: Any, tools: Tools, request: Body
) -> Any:
    """`run_tools` for an event loop; the calls of one answer are made side by side."""

    async def restore(**arguments: Any) -> str:
        return restored(session, **arguments)  # here: a session is not for several threads at once

    tools = {RESTORE: restore, **tools}
    while True:
        if calls := open_calls(session.view()):
            session.record(*dialect.results_of(await arun(calls, tools)))
        answer = await acreate(dialect, session, client, _with_restore(dialect, session, request))
        if not open_calls(session.view()):
            return answer


def _cancel(loop: asyncio.AbstractEventLoop, scope: CancelScope) -> None:
    loop.call_soon_threadsafe(scope.cancel)


def _count_with(session: Session, request: Body) -> None:
    """Let the session count all that is sent, as the model that is asked counts."""
    session.system = request.get("system") or session.system
    session.tools = request.get("tools") or session.tools
    if session.model is None:
        session.model = request.get("model")
        session.settings = for_model(session.settings, session.model)


def _record(dialect: Dialect, session: Session, answer: Any) -> None:
    if message := dialect.message_of(answer):
        session.record(message)


def _with_restore(dialect: Dialect, session: Session, request: Body) -> Body:
    """The request; with our tool as soon as a note in the view may name it."""
    given: list[Any] = list(request.get("tools") or ())
    if not session.state().refs or any(dialect.name_of(tool) == RESTORE for tool in given):
        return request
    return {**request, "tools": [*given, dialect.tool_of(RESTORE, DESCRIPTION, SCHEMA)]}
