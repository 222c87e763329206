# The framework is an extra, and not installed where this is checked:
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUntypedBaseClass=false
# pyright: reportInvalidTypeForm=false
"""LangChain, LangGraph and deepagents: a middleware for agents, and the same for one's own graphs.

    agent = create_agent(model, tools, middleware=[ContextCompression()])

The state of the graph keeps the whole history; only what is sent to the model is compressed.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, NotRequired, Unpack
from uuid import uuid4

from context_compression.errors import InvalidSettings
from context_compression.extras import extra
from context_compression.integrations.langchain_messages import said_in, translation
from context_compression.integrations.sessions import SessionOptions, Sessions
from context_compression.integrations.translation import afit, arecovering, fit, recovering
from context_compression.session import Session
from context_compression.session.restoring import DESCRIPTION, RESTORE, SCHEMA, restore_tool

with extra("langchain"):
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import PrivateStateAttr
    from langchain.tools import ToolRuntime
    from langchain_core.messages import BaseMessage, SystemMessage, ToolMessage
    from langchain_core.tools import StructuredTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.config import get_config
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.runtime import Runtime
    from langgraph.types import Command

RUN = "context_compression_run"
"""The key of the state that names a run without a thread."""
SCRATCHPAD = "__pregel_scratchpad"
"""The key of a configuration under which LangGraph keeps the answers to a task's interrupts."""
MOST_DEFINITIONS = 500
"""How many definitions of tools stay in memory."""


class RunState(AgentState[Any]):
    """The state of an agent, with the id of its run."""

    context_compression_run: NotRequired[Annotated[str, PrivateStateAttr]]


class ContextCompression(AgentMiddleware[RunState, Any, Any]):
    """Compresses what an agent sends to its model, and lets the model bring back what left.

        agent = create_agent(model, tools, middleware=[ContextCompression()])

    Each thread has a session of its own, and so has each agent and each sub-agent in it. Without a
    `thread_id`, each run has one. In a graph of your own, call `fit` before the model, and give
    `tools` to the model and to the `ToolNode`.

    Args:
        name: of the middleware. `SummarizationMiddleware` takes the place of the summarizer that
            deepagents adds by itself.
        options: `store`, `settings`, `model`, `counter`, `summarizer`; see `SessionOptions`.

    Attributes:
        tools: the tool `context_restore`.
        sessions: the sessions, by the id that `session_id` gives.
    """

    state_schema = RunState

    def __init__(
        self, *, name: str = "ContextCompression", **options: Unpack[SessionOptions]
    ) -> None:
        super().__init__()
        self._name = name
        self.sessions = Sessions.of(self, "langchain", options)
        self.tools = [
            StructuredTool.from_function(
                self._restored, name=RESTORE, description=DESCRIPTION, args_schema=dict(SCHEMA)
            )
        ]
        self._definitions: dict[int, tuple[Any, dict[str, Any]]] = {}

    @property
    def name(self) -> str:
        """The name of the middleware."""
        return self._name

    def session_of(self, thread: str, agent: str | None = None) -> Session:
        """The session of a thread, and of the agent with this name in it, if agents have names.

        For a sub-agent, or in a node: `sessions[session_id(config, state)]`.
        """
        return self.sessions[_name(thread, [agent] if agent else [])]

    def before_agent(self, state: RunState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Name the run, for the case that it has no thread."""
        return {RUN: uuid4().hex}

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Send what `Session.fit` says, and once more if it was too long all the same."""
        session, beside = self._about(request)
        history = request.messages

        def asked() -> ModelResponse[Any]:
            view: list[Any] = fit(session, history, translation(history), **beside)
            return handler(request.override(messages=view))

        return recovering(session, asked)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """`wrap_model_call` for an event loop."""
        session, beside = self._about(request)
        history = request.messages

        async def asked() -> ModelResponse[Any]:
            view: list[Any] = await afit(session, history, translation(history), **beside)
            return await handler(request.override(messages=view))

        return await arecovering(session, asked)

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Note in a tool's message what a person answered to an interrupt of the tool."""
        return _with_answers(handler(request))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """`wrap_tool_call` for an event loop."""
        return _with_answers(await handler(request))

    def fit(
        self,
        messages: Sequence[BaseMessage],
        *,
        system: str | SystemMessage | None = None,
        tools: Sequence[Any] = (),
        model: Any = None,
    ) -> list[BaseMessage]:
        """What to send instead of all messages, in a node of a graph of one's own.

        Args:
            messages: the history; it is not changed.
            system: the system prompt, if it is not among the messages.
            tools: what the model is bound to, with those of this middleware.
            model: the chat model, for its name and its context window.

        Raises:
            InvalidSettings: the graph runs without a `thread_id`.
        """
        session = self._session(get_config(), {}, model)
        return fit(session, messages, translation(messages), **self._beside(system, tools))

    async def afit(
        self,
        messages: Sequence[BaseMessage],
        *,
        system: str | SystemMessage | None = None,
        tools: Sequence[Any] = (),
        model: Any = None,
    ) -> list[BaseMessage]:
        """`fit` for an event loop."""
        session = self._session(get_config(), {}, model)
        return await afit(session, messages, translation(messages), **self._beside(system, tools))

    def _about(self, request: ModelRequest[Any]) -> tuple[Session, dict[str, Any]]:
        """The session of a request, and what it sends beside the messages."""
        session = self._session(get_config(), request.state, request.model)
        return session, self._beside(request.system_message, request.tools)

    def _session(self, config: Mapping[str, Any], state: Any, model: Any) -> Session:
        """The session of a run, for the model of its next request."""
        names = [getattr(model, name, None) for name in ("model_name", "model", "model_id")]
        window = (getattr(model, "profile", None) or {}).get("max_input_tokens")
        named = next((name for name in names if isinstance(name, str)), None)
        return self.sessions.open(session_id(config, state), model=named, window=window)

    def _beside(self, system: Any, tools: Sequence[Any]) -> dict[str, Any]:
        """The system prompt and the tools of a request, as `Session.fit` takes them."""
        prompt = system.content if isinstance(system, SystemMessage) else system
        return {"system": prompt, "tools": [*map(self._definition, tools)]}

    def _definition(self, tool: Any) -> dict[str, Any]:
        """The definition of a tool, which takes long to make."""
        if isinstance(tool, dict):
            return tool
        if id(tool) not in self._definitions:
            if len(self._definitions) == MOST_DEFINITIONS:
                self._definitions.clear()
            self._definitions[id(tool)] = tool, convert_to_openai_tool(tool)
        return self._definitions[id(tool)][1]

    def _restored(self, runtime: ToolRuntime[Any, Any], **arguments: Any) -> str:
        """The answer to a call of `context_restore`."""
        session = self.sessions[session_id(runtime.config, runtime.state)]
        return restore_tool(session).answer(arguments)


def _with_answers(result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
    scratchpad = get_config().get("configurable", {}).get(SCRATCHPAD)
    answers = getattr(scratchpad, "resume", None)
    return said_in(result, answers) if answers and isinstance(result, ToolMessage) else result


def session_id(config: Mapping[str, Any], state: Any = None) -> str:
    """The id of the session of a run: its thread, and the name and place of the agent in it.

    Args:
        config: the configuration of a node of the agent.
        state: the state of the agent, which names a run without a thread.

    Raises:
        InvalidSettings: the run has no thread, and is no agent's.
    """
    configurable = config.get("configurable", {})
    thread = configurable.get("thread_id") or (state or {}).get(RUN)
    if not thread:
        raise InvalidSettings(
            "This graph runs without a thread_id, so its conversation has no name. Invoke it with "
            '{"configurable": {"thread_id": "…"}}.'
        )
    agent = config.get("metadata", {}).get("lc_agent_name")
    *parents, _ = str(configurable.get("checkpoint_ns", "")).split("|")
    return _name(str(thread), [name for name in (agent, *parents) if name])


def _name(thread: str, place: Sequence[str]) -> str:
    return json.dumps([thread, *place]) if place else thread
