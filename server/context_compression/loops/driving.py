"""One request of an agent, and the loop around it, for any client.

Before every request, also between tool results and the next one, the session is compressed if that
is due.
"""

import asyncio
from functools import partial
from typing import Any

from anyio import CancelScope

from context_compression.loops.calling import RESTORE, Tools, arun, open_calls, restored, run
from context_compression.loops.dialect import Body, Dialect
from context_compression.session import Session
from context_compression.usage import for_model


def create(
    dialect: Dialect, session: Session, client: Any, request: Body, *, restorable: bool = False
) -> Any:
    """One request and its answer, which is recorded; retried once if it was refused as too long.

    With `restorable`, the model is offered our tool as soon as a note in the view may name it.
    """
    _count_with(session, request, dialect.tools_of(request) if restorable else None)
    while True:
        session.prepare()
        try:
            with session.request():
                answer = dialect.send(client, _body(dialect, session, request, restorable))
                _record(dialect, session, answer)
                return answer
        except Exception as error:
            if session.recover(error) is None:
                raise


async def acreate(
    dialect: Dialect, session: Session, client: Any, request: Body, *, restorable: bool = False
) -> Any:
    """`create` for an event loop; a manual compression cuts it short, and it is sent again."""
    _count_with(session, request, dialect.tools_of(request) if restorable else None)
    loop = asyncio.get_running_loop()
    while True:
        await session.aprepare()
        try:
            with CancelScope() as scope:
                abort = partial(_cancel, loop, scope)
                async with session.arequest(abort):
                    answer = await dialect.send(
                        client, _body(dialect, session, request, restorable)
                    )
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
        answer = create(dialect, session, client, request, restorable=True)
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
        answer = await acreate(dialect, session, client, request, restorable=True)
        if not open_calls(session.view()):
            return answer


def _cancel(loop: asyncio.AbstractEventLoop, scope: CancelScope) -> None:
    """Whoever compresses may do so in another thread."""
    loop.call_soon_threadsafe(scope.cancel)


def _count_with(session: Session, request: Body, tools: list[Any] | None) -> None:
    """Let the session count all that may be sent, as the model that is asked counts."""
    if "system" in request:
        session.system = request["system"]
    session.tools = tools or request.get("tools") or session.tools
    if session.model is None:
        session.model = request.get("model")
        session.settings = for_model(session.settings, session.model)


def _body(dialect: Dialect, session: Session, request: Body, restorable: bool) -> Body:
    body = {**request, "messages": session.view()}
    if system := session.system:
        body = dialect.with_system(body, system)
    if restorable and session.state().refs:
        body["tools"] = dialect.tools_of(request)
    return body


def _record(dialect: Dialect, session: Session, answer: Any) -> None:
    if message := dialect.message_of(answer):
        session.record(message)
