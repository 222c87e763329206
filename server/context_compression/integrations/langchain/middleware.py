# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportUntypedBaseClass=false, reportInvalidTypeForm=false
# LangChain is not installed where this is checked.
"""The middleware for `create_agent`, and the same for nodes of a graph of one's own."""

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, NotRequired
from uuid import uuid4

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.config import get_config
from langgraph.runtime import Runtime

from context_compression.integrations.langchain.messages import translation
from context_compression.integrations.sessions import Sessions
from context_compression.integrations.translation import afit, fit
from context_compression.loops.restoring import DESCRIPTION, RESTORE, SCHEMA, restore_tool
from context_compression.session import Session
from context_compression.store import Store

RUN = "context_compression_run"
"""The key of the state that names a run without a thread."""


class RunState(AgentState[Any]):
    """The state of an agent, with the id of a run that has no thread."""

    context_compression_run: NotRequired[Annotated[str, PrivateStateAttr]]


class ContextCompression(AgentMiddleware[RunState, Any, Any]):
    """Compresses what an agent sends to its model, and lets the model bring back what left.

        agent = create_agent(model, tools, middleware=[ContextCompression(".compression")])

    The state of the graph keeps the whole history. Each thread has a session of its own, and so
    has each agent and sub-agent in it. Without a `thread_id`, each run has one.

    Args:
        store: a `Store`, or the path of its folder.
        name: of the middleware. `SummarizationMiddleware` takes the place of the summarizer that
            deepagents adds by itself.
        options: those of `Sessions`: `settings`, `model`, `counter`, `summarizer`.
    """

    state_schema = RunState

    def __init__(
        self,
        store: Store | str | Path = ".compression",
        *,
        name: str = "ContextCompression",
        **options: Any,
    ) -> None:
        super().__init__()
        self._name = name
        self.sessions = Sessions("langchain", store=store, **options)
        self._definitions: dict[int, tuple[BaseTool, dict[str, Any]]] = {}
        tool = StructuredTool.from_function(
            self._restored, name=RESTORE, description=DESCRIPTION, args_schema=dict(SCHEMA)
        )
        self.tools = [tool]

    @property
    def name(self) -> str:
        """The name of the middleware."""
        return self._name

    def before_agent(self, state: RunState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Name the run, for the case that it has no thread."""
        return {RUN: uuid4().hex}

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with what `fit` says to send."""
        session, beside = self._prepared(request)
        messages: list[Any] = fit(
            session, request.messages, translation(request.messages), **beside
        )
        return handler(request.override(messages=messages))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """`wrap_model_call` for an event loop."""
        session, beside = self._prepared(request)
        messages: list[Any] = await afit(
            session, request.messages, translation(request.messages), **beside
        )
        return await handler(request.override(messages=messages))

    def _prepared(self, request: ModelRequest[Any]) -> tuple[Session, dict[str, Any]]:
        """The session of a request, and what is sent beside its messages."""
        session = self.sessions[session_id(get_config(), request.state)]
        prompt = request.system_message
        system = None if prompt is None else prompt.content
        return session, {"system": system, "tools": [*map(self._definition, request.tools)]}

    def _definition(self, tool: BaseTool | dict[str, Any]) -> dict[str, Any]:
        """The definition of a tool, which takes long to make."""
        if isinstance(tool, dict):
            return tool
        if id(tool) not in self._definitions:
            self._definitions[id(tool)] = tool, convert_to_openai_tool(tool)
        return self._definitions[id(tool)][1]

    def _restored(self, runtime: ToolRuntime, **arguments: Any) -> str:
        """The answer to a call of `context_restore`."""
        session = self.sessions[session_id(runtime.config, runtime.state)]
        return restore_tool(session).answer(arguments)


def session_id(config: Mapping[str, Any], state: Any) -> str:
    """The id of the thread, or else of the run, with the name and place of the agent in it."""
    configurable = config.get("configurable", {})
    thread = configurable.get("thread_id") or state[RUN]
    agent = config.get("metadata", {}).get("lc_agent_name")
    *parents, _ = str(configurable.get("checkpoint_ns", "")).split("|")
    place = [name for name in (agent, *parents) if name]
    return json.dumps([str(thread), *place]) if place else str(thread)
