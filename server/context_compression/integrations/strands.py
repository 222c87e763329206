# The framework is an extra, and not installed where this is checked:
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUntypedBaseClass=false, reportPrivateUsage=false
"""Strands Agents: a conversation manager that changes only what is sent.

agent = Agent(model=..., tools=[...], conversation_manager=ContextCompression())

`agent.messages` stays whole, and so does what a session manager saves.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Unpack, cast
from uuid import uuid4
from weakref import WeakKeyDictionary

from context_compression.conversation.labels import unmarked
from context_compression.conversation.messages import as_object, is_array, is_object, strings_in
from context_compression.extras import extra
from context_compression.integrations.sessions import SessionOptions, Sessions
from context_compression.integrations.translation import Spoken, Translation, afit
from context_compression.session import Session
from context_compression.session.restoring import restore_tool

with extra("strands"):
    from strands import Agent
    from strands.agent.conversation_manager import ConversationManager
    from strands.hooks import AfterToolsEvent, AgentInitializedEvent, HookRegistry
    from strands.middleware import InvokeModelContext, InvokeModelStage
    from strands.tools.tools import PythonAgentTool
    from strands.types.content import ContentBlock, Message, Messages
    from strands.types.tools import ToolResult, ToolSpec, ToolUse

TOO_LONG = "context window exceeded"
"""What Strands found out about an error, however its provider words it."""
BEFORE_ALL, BEFORE_ONE = "v1:before_tools:", ("v1:before_tool_call:", "v1:tool_call:")
"""How the ids of interrupts begin: of a hook before all calls, and of a hook or the tool of one
call, whose id follows."""


class ContextCompression(ConversationManager):
    """Fits the messages of each model call into the context window.

    One manager can serve several agents. Each has a session of its own, whose id is that of the
    agent's session manager and the agent's `agent_id`. An agent without a session manager has a
    new session each time it is made, unless `conversation_id` is given.

    Args:
        conversation_id: the id of the conversation of an agent without a session manager.
        options: `store`, `settings`, `model`, `counter`, `summarizer`; see `SessionOptions`.
    """

    def __init__(
        self, *, conversation_id: str | None = None, **options: Unpack[SessionOptions]
    ) -> None:
        super().__init__()
        self.sessions = Sessions.of(self, "strands", options)
        self._conversation_id = conversation_id
        self._ids: WeakKeyDictionary[Agent, str] = WeakKeyDictionary()
        self._spoken = Spoken()

    def session_of(self, agent: Agent) -> Session:
        """The session of an agent."""
        return self.sessions[self._id_of(agent)]

    def _id_of(self, agent: Agent) -> str:
        if agent not in self._ids:
            # `agent.session_id` without a session manager is too short to be unique in a store
            saved = agent.session_id if agent._session_manager else self._conversation_id
            self._ids[agent] = f"{saved or uuid4().hex}/{agent.agent_id}"
        return self._ids[agent]

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Wait for the agent to be made, and for answers to its interrupts."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AgentInitializedEvent, self._join)
        registry.add_callback(AfterToolsEvent, self._listen)

    def apply_management(self, agent: Agent, **kwargs: Any) -> None:
        """Leave the messages as they are after a turn."""

    def reduce_context(self, agent: Agent, e: Exception | None = None, **kwargs: Any) -> None:
        """Compress to much less than the model refused.

        Raises:
            ContextWindowOverflowException: it was refused again, or cannot be compressed.
        """
        if e is not None and self.session_of(agent).recover(TOO_LONG) is None:
            raise e

    def restore_from_session(self, state: dict[str, Any]) -> None:
        """Take over a conversation, also with the messages that another manager removed."""

    def _join(self, event: AgentInitializedEvent) -> None:
        """Give an agent our tool, and fit what it sends."""
        tool = restore_tool(self.session_of(event.agent))
        about = ToolSpec(
            name=tool.name, description=tool.description, inputSchema={"json": dict(tool.schema)}
        )
        event.agent.tool_registry.register_tool(PythonAgentTool(tool.name, about, self._restore))
        event.agent.add_middleware(InvokeModelStage.Input, self._fit)

    def _listen(self, event: AfterToolsEvent) -> None:
        """Note what a person answered to the interrupts of calls whose results are complete.

        The agent forgets it before the next call of the model.
        """
        interrupts = [*event.agent._interrupt_state.interrupts.values()]
        for block in event.message["content"]:
            id = block["toolResult"]["toolUseId"]
            of_call = (BEFORE_ALL, *(f"{kind}{id}:" for kind in BEFORE_ONE))
            answers = [each.response for each in interrupts if each.id.startswith(of_call)]
            if words := "\n".join(strings_in(answers)):
                self._spoken.note(id, words)

    async def _fit(self, context: InvokeModelContext) -> InvokeModelContext:
        """The request with the messages that are to be sent instead."""
        history, added = _without_added(context)
        config = context.model.get_config()
        session = self.sessions.open(
            self._id_of(cast("Agent", context.agent)),
            model=config.get("model_id") if is_object(config) else None,
            window=context.model.context_window_limit,
        )
        view = await afit(
            session,
            history,
            Translation(self._read, _write),
            system=context.system_prompt,
            tools=context.tool_specs,
        )
        if added:
            view[-1] = {**view[-1], "content": [*view[-1]["content"], *added]}
        return context.replace(messages=view)

    def _read(self, message: Message) -> dict[str, Any]:
        content = [
            self._spoken.marked(block, id)
            if (id := as_object(as_object(block).get("toolResult")).get("toolUseId"))
            else block
            for block in _as_json(message["content"])
        ]
        return {**message, "content": content}

    def _restore(self, call: ToolUse, /, *, agent: Agent, **_: Any) -> ToolResult:
        """The answer to a call of our tool."""
        text = restore_tool(self.session_of(agent)).answer(call["input"])
        return {"toolUseId": call["toolUseId"], "status": "success", "content": [{"text": text}]}


def _without_added(context: InvokeModelContext) -> tuple[Messages, list[ContentBlock]]:
    """The history, and what other plugins added at its end for this request alone."""
    if not context.dynamic_trailing_blocks:
        return context.messages, []
    *history, last = context.messages
    kept = len(last["content"]) - context.dynamic_trailing_blocks
    return [*history, {**last, "content": last["content"][:kept]}], last["content"][kept:]


def _as_json(value: Any) -> Any:
    """A message with its pictures, documents and sealed reasoning in base64."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if is_object(value):
        return {key: _as_json(each) for key, each in value.items()}
    return [*map(_as_json, value)] if is_array(value) else value


def _with_bytes(value: Any, key: str = "") -> Any:
    """The message again; what a model wrote or a tool returned as JSON is left as it is."""
    if is_object(value):
        return {
            key: each if key in ("toolUse", "json") else _with_bytes(each, key)
            for key, each in value.items()
        }
    if is_array(value):
        return [*map(_with_bytes, value)]
    is_bytes = isinstance(value, str) and key in ("bytes", "redactedContent")
    return b64decode(value) if is_bytes else value


def _write(message: Mapping[str, Any]) -> Message:
    blocks = [_with_bytes(unmarked(block)) for block in message["content"]]
    return cast("Message", {**message, "content": blocks})
