"""OpenAI Agents SDK: an input filter for runs, a session, and the tool that restores.

compression = ContextCompression(store=".compression", model="gpt-5.2")
agent = Agent(name="Builder", tools=[logs, compression.tool])
config = RunConfig(call_model_input_filter=compression.filter("thread-7"))
await Runner.run(agent, "Why is the build red?", run_config=config)
"""

# The framework is an extra, and not installed where this is checked:
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUntypedBaseClass=false

from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cached_property, partial
from inspect import unwrap
from typing import Any, Unpack

from context_compression.extras import extra
from context_compression.integrations.openai_agents_history import HistoryFile
from context_compression.integrations.openai_agents_speakers import Rejections
from context_compression.integrations.sessions import (
    MOST_OPEN,
    SessionOptions,
    Sessions,
    session_name,
)
from context_compression.integrations.translation import afit
from context_compression.session import Session
from context_compression.session.restoring import DESCRIPTION, RESTORE, SCHEMA, restore_tool
from context_compression.threads import in_thread

with extra("openai-agents"):
    from agents import Agent, FunctionTool, Handoff, Tool, handoff
    from agents import Session as AgentsSession
    from agents.memory import SessionABC, SessionSettings
    from agents.run_config import CallModelData, ModelInputData
    from agents.tool_context import ToolContext

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
        self,
        sessions: Sessions,
        id: str,
        given: OrderedDict[str, Given],
        rejections: Rejections,
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
