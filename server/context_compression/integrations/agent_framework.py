# The framework is an extra, and not installed where this is checked:
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportUntypedBaseClass=false
"""Microsoft Agent Framework: a context provider, and the compaction strategy.

    agent = Agent(client, "You fix builds.", context_providers=[ContextCompression()])

Only the list of messages of one request is changed. The history of the session stays whole. Its
messages are read as those of Vercel's AI SDK, the most alike; contents of unknown types stay as
they are.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from typing import Any, Unpack

from context_compression.extras import extra
from context_compression.integrations.sessions import SessionOptions, Sessions
from context_compression.integrations.translation import Translation, afit, parts_of
from context_compression.session import Session
from context_compression.session.restoring import DESCRIPTION, RESTORE, SCHEMA, restore_tool

with extra("agent-framework"):
    import agent_framework
    from agent_framework import (
        GROUP_ANNOTATION_KEY,
        AgentSession,
        ChatContext,
        ChatMiddleware,
        Content,
        ContextProvider,
        FunctionTool,
        Message,
        SessionContext,
        SupportsAgentRun,
        included_messages,
    )

CALLS = {"tool-call": "function_call", "tool-result": "function_result"}
"""Our types of the contents that belong together by the id of a call, and the framework's."""


def read(message: Message) -> dict[str, Any]:
    """The dict of a message."""
    of_tool = message.role == "tool"
    parts = [_part(content, of_tool=of_tool) for content in message.contents]
    return {"role": message.role, "content": parts}


class FrameworkOriginals:
    """The contents of the messages of one request, to be found again in edited messages."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    def write(self, read: Mapping[str, Any]) -> Message:
        """The message for a dict; what was not edited in it are the very contents."""
        found = [*map(self._found, parts_of(read["content"]))]
        contents = [content for _, content in found]
        first = next((message for message, _ in found if message is not None), None)
        if first is None or first.role != read["role"]:
            return Message(read["role"], contents)
        written = copy(first)
        written.contents, written.raw_representation = contents, None
        written.additional_properties = {  # without what its group of messages was before
            k: v for k, v in first.additional_properties.items() if k != GROUP_ANNOTATION_KEY
        }
        return written

    @cached_property
    def _by_call(self) -> dict[Any, tuple[Message, Content]]:
        return {(c.type, c.call_id): (m, c) for m in self._messages for c in m.contents}

    @cached_property
    def _others(self) -> list[tuple[dict[str, Any], Message, Content]]:
        return [
            (_part(content, of_tool=message.role == "tool"), message, content)
            for message in self._messages
            for content in message.contents
            if content.type not in ("text", *CALLS.values())
        ]

    def _found(self, part: Mapping[str, Any]) -> tuple[Message | None, Content]:
        """The content for a part, and the message that it is from; `None` if it is new."""
        kind = part["type"]
        if kind == "text":
            return None, Content.from_text(part["text"])
        if kind in CALLS:
            message, content = self._by_call.get((CALLS[kind], part["toolCallId"]), (None, None))
            if content is None:
                content = _new(part)
            elif _part(content, of_tool=kind == "tool-result") != part:
                content = _edited(content, part)
            return message, content
        known = ((m, c) for other, m, c in self._others if other == part)
        return next(known, (None, Content.from_dict(part.get("of", part))))


def _part(content: Content, *, of_tool: bool) -> dict[str, Any]:
    match content.type:
        case "text":
            return {"type": "text", "text": content.text}
        case "text_reasoning":
            # a signature without an id is Anthropic's, which binds the reasoning to its place
            signed = content.protected_data if not content.id else None
            options = {"anthropic": {"signature": signed}} if signed else {}
            of = {"providerOptions": options, "of": content.to_dict()}
            return {"type": "reasoning", "text": content.text or "", **of}
        case "function_call" if not getattr(content, "hosted", False):  # older ones have no such
            call = {"toolCallId": content.call_id, "toolName": content.name}
            return {"type": "tool-call", **call, "input": content.parse_arguments() or {}}
        case "function_result" if of_tool:
            output = _output(content)
            return {"type": "tool-result", "toolCallId": content.call_id, "output": output}
        case "data" | "uri":
            of = {"data": content.uri, "of": content.to_dict()}
            return {"type": "file", "mediaType": content.media_type, **of}
        case _:
            return content.to_dict()


def _output(content: Content) -> dict[str, Any]:
    items = content.items or ()
    if any(item.type != "text" for item in items):
        return {"type": "content", "value": [*map(_piece, items)]}
    return {"type": "error-text" if content.exception else "text", "value": content.result or ""}


def _piece(item: Content) -> dict[str, Any]:
    """An item of a result as a piece of an output."""
    if item.type == "text":
        return {"type": "text", "text": item.text}
    of = item.to_dict()
    return {"type": "media", "mediaType": item.media_type, "data": item.uri, "of": of}


def _edited(content: Content, part: Mapping[str, Any]) -> Content:
    """A call with other arguments, or a result with another text."""
    made, new = copy(content), _new(part, content.items or ())
    made.raw_representation = None
    made.arguments, made.result, made.items = new.arguments, new.result, new.items
    return made


def _new(part: Mapping[str, Any], items: Sequence[Content] = ()) -> Content:
    """The content for a call or a result; of `items`, those that were not edited are kept."""
    if part["type"] == "tool-call":
        return Content.from_function_call(
            part["toolCallId"], part["toolName"], arguments=part["input"]
        )
    pieces = parts_of(part["output"]["value"])
    kept = [next((item for item in items if _piece(item) == piece), None) for piece in pieces]
    result = [
        Content.from_dict(piece.get("of", piece)) if item is None else item
        for item, piece in zip(kept, pieces, strict=True)
    ]
    return Content.from_function_result(part["toolCallId"], result=result)


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
        originals = FrameworkOriginals(given)
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
        self, source_id: str = "context_compression", **options: Unpack[SessionOptions]
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
