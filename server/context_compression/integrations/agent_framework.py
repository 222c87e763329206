"""Microsoft Agent Framework: a context provider, and the compaction strategy that it applies.

    agent = Agent(client, "You fix builds.", context_providers=[ContextCompression()])

Only the list of messages of one request is changed. The history of the session stays whole.
"""

# The framework is an extra, so it is not installed where this is checked:
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportUntypedBaseClass=false

import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Unpack

from context_compression.extras import extra
from context_compression.integrations.agent_framework_messages import Originals, read
from context_compression.integrations.sessions import SessionOptions, Sessions
from context_compression.integrations.translation import Translation, afit
from context_compression.session import Session
from context_compression.session.restoring import DESCRIPTION, RESTORE, SCHEMA, restore_tool

with extra("agent-framework"):
    import agent_framework
    from agent_framework import (
        AgentSession,
        ChatContext,
        ChatMiddleware,
        ContextProvider,
        FunctionTool,
        Message,
        SessionContext,
        SupportsAgentRun,
        included_messages,
    )


class ContextCompressionStrategy:
    """A compaction strategy for one conversation.

    `ContextCompression` makes one for each request. By itself it knows neither the conversation nor
    the tools, so pass them, and never share it between conversations:

        Agent(client, compaction_strategy=ContextCompressionStrategy(Session(".compression", "7")))

    Args:
        session: the session of the conversation.
        system: the instructions of the request. They count.
        tools: the tool definitions of the request. They count.
    """

    def __init__(self, session: Session, *, system: Any = None, tools: Any = None) -> None:
        self.session, self.system, self.tools = session, system, tools

    async def __call__(self, messages: list[Message]) -> bool:
        """Fit the messages that are not excluded.

        The list then has only what is to be sent. What changed could not stay in it as excluded:
        the framework includes all messages again that belong to a call or result in it.
        """
        given = included_messages(messages)
        originals = Originals(given)
        view = await afit(
            self.session, given, Translation(read, originals.write),
            system=self.system, tools=self.tools,
        )  # fmt: skip
        if [*map(id, view)] == [*map(id, given)]:
            return False
        messages[:] = view
        return True


class ContextCompression(ContextProvider):
    """Fits each request of an agent into the context window, and offers our tool.

    Each agent has a session of its own in each `AgentSession`. Without an `AgentSession`, each run
    has a new session.

    Args:
        source_id: the id of the provider in the framework.
        options: `store`, `settings`, `model`, `counter`, `summarizer`; see `SessionOptions`.
    """

    def __init__(
        self,
        source_id: str = "context_compression",
        **options: Unpack[SessionOptions],
    ) -> None:
        super().__init__(source_id)
        self.sessions = Sessions.of(self, "agent-framework", options)

    def session_of(self, agent: SupportsAgentRun, session: AgentSession) -> Session:
        """The session of an agent in an `AgentSession`."""
        return self.sessions[_id_of(agent, session)]

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Offer our tool in a run, and fit each of its requests."""
        id = _id_of(agent, session)
        context.extend_tools(self.source_id, [_tool(lambda: self.sessions[id])])
        layer: Any = getattr(agent_framework, "ChatMiddlewareLayer", None)
        client = getattr(agent, "client", None) or getattr(agent, "chat_client", None)
        if layer is not None and client is not None and not isinstance(client, layer):
            name = type(client).__name__
            self.sessions.open(id).warn(
                "requests are not fitted",
                f"the client {name} has no ChatMiddlewareLayer, so it calls no chat middleware",
            )
        context.extend_middleware(self.source_id, _Fitted(partial(self.sessions.open, id)))


def _id_of(agent: SupportsAgentRun, session: AgentSession) -> str:
    return json.dumps([session.session_id, agent.name])


class _Fitted(ChatMiddleware):
    """Applies the strategy to each request of one run, after all other middleware."""

    def __init__(self, open: Callable[..., Session]) -> None:
        self._open = open

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        given = [*context.messages]
        context.kwargs["compaction_strategy"] = partial(self._fit, context)
        try:
            await call_next()
        except Exception as error:  # only what was too long is sent again, smaller
            if await self._open().arecover(error) is None:
                raise
            context.messages = given
            await call_next()

    async def _fit(self, context: ChatContext, messages: list[Message]) -> bool:
        options = context.options or {}
        if options.get("conversation_id"):  # the service keeps the history; these are only the new
            return False
        tools = [*map(_definition, options.get("tools") or ())]
        model = options.get("model") or getattr(context.client, "model", None)
        strategy = ContextCompressionStrategy(
            self._open(model=model), system=options.get("instructions"), tools=tools
        )
        return await strategy(messages)


def tool_of(session: Session) -> FunctionTool:
    """`context_restore` as a tool of the framework; the context provider offers it by itself."""
    return _tool(lambda: session)


def _tool(session: Callable[[], Session]) -> FunctionTool:
    def restore(**arguments: Any) -> str:
        return restore_tool(session()).answer(arguments)

    return FunctionTool(
        name=RESTORE, description=DESCRIPTION, input_model=dict(SCHEMA), func=restore
    )


def _definition(tool: Any) -> Any:
    return tool.to_json_schema_spec() if isinstance(tool, FunctionTool) else tool
