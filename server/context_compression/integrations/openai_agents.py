# The framework is an extra, and not installed where this is checked:
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUntypedBaseClass=false
"""OpenAI Agents SDK: an input filter for runs, a session, and the tool that restores.

    compression = ContextCompression(store=".compression", model="gpt-5.2")
    agent = Agent(name="Builder", tools=[logs, compression.tool])
    config = RunConfig(call_model_input_filter=compression.filter("thread-7"))
    await Runner.run(agent, "Why is the build red?", run_config=config)

An item has only the output that the model is shown. The run's context has who rejected what, and a
tool is given that context before each call of the model. `passing` marks items with it.
"""

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from inspect import unwrap
from threading import Lock
from typing import Any, TypeVar, Unpack
from weakref import WeakSet

from context_compression.conversation.formats.responses import CALLS
from context_compression.conversation.labels import unmarked
from context_compression.conversation.messages import is_object, unanswered
from context_compression.errors import NotOurs, StoreError
from context_compression.extras import extra
from context_compression.integrations.sessions import (
    MOST_OPEN,
    SessionOptions,
    Sessions,
    session_name,
)
from context_compression.integrations.translation import Spoken, Translation, afit
from context_compression.session import Session
from context_compression.session.events import timestamp
from context_compression.session.restoring import DESCRIPTION, RESTORE, SCHEMA, restore_tool
from context_compression.store import Store
from context_compression.threads import in_thread

with extra("openai-agents"):
    from agents import Agent, FunctionTool, Handoff, RunContextWrapper, SQLiteSession, Tool, handoff
    from agents import Session as AgentsSession
    from agents.memory import SessionABC, SessionSettings
    from agents.run_config import CallModelData, ModelInputData
    from agents.tool_context import ToolContext

HISTORY = "history.sqlite3"
"""The name of the file."""
T = TypeVar("T")


class HistoryFile(SessionABC):
    """A session of the SDK whose items are deleted together with a session of ours.

    The file is open only while it is used, and under the lock of appends. So a deletion, also by
    another process, takes all of it along, and what is added later begins a new file.

    Args:
        id: the id of the conversation, as the SDK has it.
        store: of our session.
        session: the id of our session.

    Raises:
        StoreError: the store is no folder.
    """

    session_settings: SessionSettings | None = None

    def __init__(self, id: str, store: Store, session: str) -> None:
        if store.backend.folder is None:
            raise StoreError(
                f"{store.name} is no folder, so it cannot keep the SDK's history of {id!r}. Pass a "
                f"session of the SDK that keeps it: session({id!r}, SQLAlchemySession(…))."
            )
        self.session_id = id
        self._store, self._session = store, session

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The items, or the last ones."""
        return await self._using(lambda history: history.get_items(limit), [])

    async def add_items(self, items: list[Any]) -> None:
        """Add items."""
        await self._using(lambda history: history.add_items(items))

    async def pop_item(self) -> Any:
        """Remove the last item, and return it."""
        return await self._using(lambda history: history.pop_item(), None)

    async def clear_session(self) -> None:
        """Remove all items."""
        await self._using(lambda history: history.clear_session(), None)

    async def _using(self, work: Callable[[Any], Coroutine[Any, Any, T]], *if_none: T) -> T:
        return await in_thread(partial(self._in_file, work, *if_none))

    def _in_file(self, work: Callable[[Any], Coroutine[Any, Any, T]], *if_none: T) -> T:
        """What some work with the history returns; `if_none` if there is no file."""
        log, store = self._store.session(self._session), self._store
        if if_none and not os.path.lexists(log.folder / HISTORY):
            return if_none[0]
        if store.exists() and not store.is_ours():
            raise NotOurs(
                f"{store.name} may come from someone else, and SQLite follows what lies beside a "
                "database, so no history is opened there. Run `context-compression trust`, pass "
                "the store to ContextCompression, or pass a session of the SDK as `history`."
            )
        if not log.exists():  # a deletion looks for sessions that have a log
            log.append({"type": "history", "created_at": timestamp(), "file": HISTORY})
        with (
            store.files.session(log.id).database(HISTORY) as path,
            closing(SQLiteSession(self.session_id, path)) as history,
        ):
            return asyncio.run(work(history))


class Rejections:
    """The reasons of rejected calls, as far as runs have told them."""

    def __init__(self) -> None:
        self._runs: WeakSet[RunContextWrapper[Any]] = WeakSet()
        self._reasons = Spoken()
        self._lock = Lock()

    def listen(self, run: RunContextWrapper[Any], agent: Any) -> bool:
        """Whether our tool is offered, which is always so; the SDK asks that in each turn."""
        with self._lock:
            self._runs.add(run)
        return True

    def passing(self, items: Sequence[Any], context: Any) -> Translation[Any]:
        """Marks the items of a request whose output is the reason of a rejection.

        Args:
            items: of the request.
            context: what the program gave to the run.
        """
        self._ask(items, context)
        return Translation(self._marked, unmarked)

    def _ask(self, items: Sequence[Any], context: Any) -> None:
        """Ask the runs with this context for the reasons of the newest outputs."""
        names = {item.get("call_id"): item.get("name") for item in items if _is_call(item)}
        with self._lock:
            runs = [run for run in self._runs if run.context is context]
        for item in items[len(items) - unanswered(items) :]:
            id = item.get("call_id")
            if id is None or id not in names or id in self._reasons:
                continue
            asked = (run.get_rejection_message(names[id] or "", id) for run in runs)
            if reason := next(filter(None, asked), None):
                self._reasons.note(id, reason)

    def _marked(self, item: Any) -> Any:
        if not is_object(item):
            return None
        answers = str(item.get("type")).endswith("_output")
        answers = answers and str(item.get("call_id")) in self._reasons
        return self._reasons.marked(item, item["call_id"]) if answers else item


def _is_call(item: Any) -> bool:
    return is_object(item) and item.get("type") in CALLS


FRAMEWORK = "openai-agents"
SCHEMA_NAMES = ("inputSchema", "input_schema")
"""What mcp 1 and mcp 2 call the schema of a tool."""
NO_FILTER = (
    "Error: nothing was moved out of this conversation: its RunConfig has no input filter of "
    "context-compression."
)


@dataclass(frozen=True)
class Given:
    """What a run was given at its start, and what that stands for.

    Attributes:
        view: the items that the run was given.
        items: all items of the history.
    """

    view: list[Any]
    items: list[Any]

    def completed(self, items: list[Any]) -> list[Any]:
        """The whole history of a run, so that it continues what the record has."""
        start = len(self.view)
        return [*self.items, *items[start:]] if items[:start] == self.view else items


class ContextCompression:
    """Keeps the conversations of agents within the context window.

    Args:
        options: `store`, `settings`, `model`, `counter`, `summarizer`; see `SessionOptions`.
    """

    def __init__(self, **options: Unpack[SessionOptions]) -> None:
        self.sessions = Sessions.of(self, FRAMEWORK, options)
        self._given: OrderedDict[str, Given] = OrderedDict()
        self._rejections = Rejections()

    def filter(self, id: str) -> "InputFilter":
        """The `call_model_input_filter` for the runs of one conversation.

        Args:
            id: of the conversation: any text, such as the id of the SDK's session.
        """
        return InputFilter(self.sessions, id, self._given, self._rejections)

    def session(self, id: str, history: AgentsSession | None = None) -> "CompressedSession":
        """The `session` for the runs of one conversation, instead of a session of the SDK.

        Args:
            id: of the conversation, as for `filter`.
            history: the SDK's session that keeps all items; by default a file beside what our
                session keeps, which is deleted together with it.

        Raises:
            StoreError: no `history` is passed, and the store is no folder.
        """
        if history is None:
            history = HistoryFile(id, self.sessions.store, session_name(FRAMEWORK, id))
        return CompressedSession(self.filter(id), history)

    def session_of(self, id: str) -> Session:
        """Our session of a conversation; `InputFilter.session_of` has that of an agent in it."""
        return self.sessions[id]

    @cached_property
    def tool(self) -> FunctionTool:
        """The tool `context_restore`, for the tools of every agent."""
        return FunctionTool(
            RESTORE, DESCRIPTION, SCHEMA, _restore, strict_json_schema=False,
            is_enabled=self._rejections.listen,
        )  # fmt: skip


class InputFilter:
    """Fits the items of each model call into the context window; the run keeps its own items.

    Agents that hand off to each other share the history, and so the session. An agent that runs as
    a tool has another history, and a session of its own.

    Attributes:
        id: of the conversation.
    """

    def __init__(
        self, sessions: Sessions, id: str, given: OrderedDict[str, Given], rejections: Rejections
    ) -> None:
        self.id = id
        self._sessions, self._given, self._rejections = sessions, given, rejections
        self._of_agent: dict[str, Session] = {}

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """The input for a model call."""
        items, agent = data.model_data.input, data.agent
        if items and str(items[0].get("type")).endswith("_output"):
            return data.model_data  # the conversation is on OpenAI's server
        model = agent.model if isinstance(agent.model, str) else None
        session = await in_thread(partial(self._sessions.of_history, self.id, items, model))
        self._of_agent[agent.name] = session
        if given := self._given.get(session.id):
            items = given.completed(items)
        prompt = data.model_data.instructions
        translation = self._rejections.passing(items, data.context)
        view = await afit(session, items, translation, system=prompt, tools=_definitions(agent))
        return replace(data.model_data, input=view)

    async def shortened(self, items: list[Any]) -> list[Any]:
        """The items that fit, of a history with which a run begins."""
        session = self.session_of()
        view = await session.afit(items)
        self._given[session.id] = Given(view, items)
        self._given.move_to_end(session.id)
        if len(self._given) > MOST_OPEN:
            self._given.popitem(last=False)
        return view

    def session_of(self, agent: str | None = None) -> Session:
        """The session of the agent with this name; without a name, that of the conversation."""
        return self._of_agent.get(agent or "") or self._sessions[self.id]


class CompressedSession(SessionABC):
    """A session of the SDK that gives a run what fits into the context window.

    Attributes:
        session_id: the id of the conversation.
        history: the SDK's session that keeps all items.
    """

    session_settings: SessionSettings | None = None

    def __init__(self, filter: InputFilter, history: AgentsSession) -> None:
        self.session_id, self.history = filter.id, history
        self._filter = filter

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The items that fit; with a limit, the last items of the history as they are."""
        if limit is not None:
            return await self.history.get_items(limit)
        items = await self.history.get_items()
        return await self._filter.shortened(items) if items else []

    async def add_items(self, items: list[Any]) -> None:
        """Add items to the history."""
        await self.history.add_items(items)

    async def pop_item(self) -> Any:
        """Remove the last item from the history, and return it."""
        return await self.history.pop_item()

    async def clear_session(self) -> None:
        """Remove all items, and all that was moved out of the context."""
        await self.history.clear_session()
        session = self._filter.session_of()
        await in_thread(partial(session.store.delete, session.id))


async def _restore(context: ToolContext[Any], arguments: str) -> str:
    """The answer to a call of our tool, from the session of the agent that called it."""
    config = context.run_config
    filter = unwrap(config.call_model_input_filter) if config else None
    if not isinstance(filter, InputFilter):
        return NO_FILTER
    session = filter.session_of(context.agent.name if context.agent else None)
    return await restore_tool(session).aanswer(arguments)


def _definitions(agent: Agent[Any]) -> list[dict[str, Any]]:
    """The definitions of an agent's tools, as far as they are known without asking a server."""
    of_servers = [  # by their JSON: mcp 2 has other names of attributes than mcp 1
        tool.model_dump(mode="json", by_alias=True, include={"name", "description", *SCHEMA_NAMES})
        for server in agent.mcp_servers
        for tool in server.cached_tools or ()
    ]
    handoffs = [
        {"name": each.tool_name, "description": each.tool_description}
        for each in (to if isinstance(to, Handoff) else handoff(to) for to in agent.handoffs)
    ]
    return [*map(_definition, agent.tools), *of_servers, *handoffs]


def _definition(tool: Tool) -> dict[str, Any]:
    """The definition of a tool; of a tool of OpenAI's, its name."""
    if not isinstance(tool, FunctionTool):
        return {"name": tool.name}
    about = {"name": tool.name, "description": tool.description}
    return about | {"parameters": tool.params_json_schema}
