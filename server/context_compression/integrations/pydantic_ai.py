"""Pydantic AI: a capability that fits the history before each request of the model.

    agent = Agent("anthropic:claude-opus-5-5", capabilities=[ContextCompression()])

The agent keeps its messages: only the request is changed. A `ModelRequest` with several parts is
one message of Anthropic's dialect, except for system prompts, which are messages of their own.
"""

# The framework is not installed where this is developed.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUntypedBaseClass=false

from typing import Any, Unpack

from context_compression.extras import extra
from context_compression.integrations.pydantic_ai_messages import TranslatedHistory
from context_compression.integrations.sessions import SessionOptions, Sessions
from context_compression.integrations.translation import Translation, afit
from context_compression.session import Session
from context_compression.session.restoring import RestoreTool, restore_tool

with extra("pydantic-ai"):
    from pydantic_ai import RunContext, Tool
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import InstructionPart, ModelMessage
    from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
    from pydantic_ai.toolsets import FunctionToolset


class ContextCompression(AbstractCapability[Any]):
    """Fits the history into the context window, and offers the model `context_restore`.

    Each conversation has a session of its own, by `RunContext.conversation_id`. A run that gets an
    earlier run's messages as `message_history` continues its conversation.

    Args:
        options: `store`, `settings`, `model`, `counter`, `summarizer`; see `SessionOptions`.
    """

    id: str | None = "context-compression"  # an agent has one; that of a run replaces it

    def __init__(self, **options: Unpack[SessionOptions]) -> None:
        self.sessions = Sessions.of(self, "pydantic-ai", options)

    def session_of(self, conversation: str | None) -> Session:
        """The session of a conversation, by `result.conversation_id`."""
        return self.sessions[conversation]

    session = session_of

    def get_toolset(self) -> FunctionToolset[Any]:
        """The toolset with `context_restore`."""

        def restore(context: RunContext[Any], **arguments: Any) -> str:
            return restore_tool(self.session_of(context.conversation_id)).answer(arguments)

        tool = Tool.from_schema(
            restore, RestoreTool.name, RestoreTool.description, dict(RestoreTool.schema),
            takes_ctx=True,
        )  # fmt: skip
        return FunctionToolset([tool], id=self.id)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """The request with the messages that fit; the agent's own stay as they are."""
        history = TranslatedHistory(request_context.messages)
        parameters, model = request_context.model_request_parameters, request_context.model
        window = getattr(model, "context_window", None)  # older versions do not know it
        view = await afit(
            self.sessions.open(ctx.conversation_id, model=model.model_name, window=window),
            history.messages,
            Translation[ModelMessage](history.read, history.write),
            system=InstructionPart.join(parameters.instruction_parts or []) or "",
            tools=tools_of(parameters),
        )
        request_context.messages = history.joined(view)
        return request_context


def tools_of(parameters: ModelRequestParameters) -> list[dict[str, Any]]:
    """The tools of a request as Anthropic defines them, to be counted."""
    tools = [*parameters.function_tools, *parameters.output_tools]
    return [
        {"name": t.name, "description": t.description, "input_schema": t.parameters_json_schema}
        for t in tools
    ]
