"""Microsoft Agent Framework: a context provider, and the compaction strategy that it applies.

    agent = Agent(client, "You fix builds.", context_providers=[ContextCompressionProvider()])

The strategy works on the list of one request. The history of the session stays whole.
"""

# The framework is an extra, so it is not installed where this is checked:
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportUntypedBaseClass=false

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

from agent_framework import (
    EXCLUDE_REASON_KEY,
    EXCLUDED_KEY,
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

from context_compression.integrations.sessions import Sessions
from context_compression.integrations.translation import Translation, afit
from context_compression.loops.restoring import restore_tool
from context_compression.session import Session
from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.summaries.choice import BY_SETTINGS, Writer
from context_compression.tokens import TextCounter

NAME = "context_compression"


class ContextCompressionStrategy:
    """A compaction strategy for one conversation.

    `ContextCompressionProvider` makes one for each request. By itself it knows neither the
    conversation nor the tools, so pass them, and never share it between conversations:

        Agent(client, compaction_strategy=ContextCompressionStrategy(Session(".compression", "7")))

    Args:
        session: the session of the conversation.
        system: the instructions of the request. They count.
        tools: the tool definitions of the request. They count.
    """

    def __init__(self, session: Session, *, system: Any = None, tools: Any = None) -> None:
        self.session, self.system, self.tools = session, system, tools

    async def __call__(self, messages: list[Message]) -> bool:
        """Fit the messages that are not excluded. Those that changed are kept, as excluded."""
        given = included_messages(messages)
        originals = Originals(given)
        view = await afit(
            self.session, given, Translation(_read, originals.write),
            system=self.system, tools=self.tools,
        )  # fmt: skip
        if [*map(id, view)] == [*map(id, given)]:
            return False
        messages[:] = _with_excluded(view, messages)
        return True


class ContextCompressionProvider(ContextProvider):
    """Fits each request of an agent into the context window, and offers our tool.

    Each agent has a session of its own in each `AgentSession`. Without an `AgentSession`, each run
    has a new session.

    Args:
        source_id: the id of the provider in the framework.
        store: a `Store`, or the path of its folder.
        settings: a `Settings`, or some of its values.
        model: the model whose tokens and window count.
        counter: counts tokens instead of our counter.
        summarizer: writes summaries; by default the model that the settings name.
    """

    def __init__(
        self,
        source_id: str = NAME,
        *,
        store: Store | str | Path = ".compression",
        settings: Settings | Mapping[str, Any] | None = None,
        model: str | None = None,
        counter: TextCounter | None = None,
        summarizer: Writer = BY_SETTINGS,
    ) -> None:
        super().__init__(source_id)
        self.sessions = Sessions(
            "agent-framework", store=store, settings=settings, model=model, counter=counter,
            summarizer=summarizer,
        )  # fmt: skip

    def session_of(self, agent: SupportsAgentRun, session: AgentSession) -> Session:
        """The session of an agent in an `AgentSession`."""
        return self.sessions[json.dumps([session.session_id, agent.name])]

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Offer our tool in a run, and fit each of its requests."""
        ours = self.session_of(agent, session)
        tool = restore_tool(ours)
        context.extend_tools(self.source_id, [
            FunctionTool(
                name=tool.name, description=tool.description, input_model=tool.schema,
                func=lambda **arguments: tool.answer(arguments),
            )
        ])  # fmt: skip
        context.extend_middleware(self.source_id, _Fitted(ours))


class _Fitted(ChatMiddleware):
    """Gives each request of one run its strategy."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        options = context.options or {}
        context.kwargs["compaction_strategy"] = ContextCompressionStrategy(
            self._session,
            system=options.get("instructions"),
            tools=[*map(_definition, options.get("tools") or ())],
        )
        await call_next()


class Originals:
    """The contents of the messages of one request, to be found again in edited messages."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    @cached_property
    def _by_call(self) -> dict[Any, tuple[Message, Content]]:
        return {(c.type, c.call_id): (m, c) for m in self._messages for c in m.contents}

    @cached_property
    def _others(self) -> list[tuple[dict[str, Any], Message, Content]]:
        return [
            (_part(content), message, content)
            for message in self._messages
            for content in message.contents
            if content.type not in ("text", "function_call", "function_result")
        ]

    def write(self, read: Mapping[str, Any], _: Sequence[Message]) -> Message:
        """The message for a dict; what was not edited in it are the very contents."""
        parts = read["content"]
        parts = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
        found = [self._found(part) for part in parts]
        contents = [content for _, content in found]
        first = next((message for message, _ in found if message is not None), None)
        if first is None or first.role != read["role"]:
            return Message(read["role"], contents)
        written = copy(first)
        written.contents, written.raw_representation = contents, None
        written.additional_properties = {
            k: v for k, v in first.additional_properties.items() if k != GROUP_ANNOTATION_KEY
        }
        return written

    def _found(self, part: Mapping[str, Any]) -> tuple[Message | None, Content]:
        """The content for a part, and the message that it is from."""
        match part:
            case {"type": "text"}:
                return None, Content.from_text(part["text"])
            case {"type": "tool-call" | "tool-result" as kind, "toolCallId": call_id}:
                kind = "function_call" if kind == "tool-call" else "function_result"
                message, content = self._by_call[kind, call_id]
                return message, content if _part(content) == part else _edited(content, part)
            case _:
                return next((m, c) for known, m, c in self._others if known == part)


def _edited(content: Content, part: Mapping[str, Any]) -> Content:
    """A call with other arguments, or a result with another text."""
    made = copy(content)
    made.raw_representation = None
    if content.type == "function_call":
        made.arguments = part["input"]
        return made
    output = part["output"]
    value = output["value"]
    pieces = [{"type": "text", "text": value}] if isinstance(value, str) else value
    pieces = [*map(_piece, content.items or ())] and pieces
    others = [item for item in content.items or () if item.type != "text"]
    texts = [Content.from_text(piece["text"]) for piece in pieces if piece["type"] == "text"]
    kept = [item for item in others if _piece(item) in pieces]
    made.items = [*texts, *kept]
    made.result = "\n".join(text.text or "" for text in texts)
    return made


def _with_excluded(view: Sequence[Message], messages: Sequence[Message]) -> Iterator[Message]:
    """The view, with all other messages as excluded ones before the message that follows them."""
    left, shown = iter(view), {*map(id, view)}
    for message in messages:
        if id(message) not in shown:
            yield _excluded(message)
            continue
        for each in left:
            yield each
            if each is message:
                break
    yield from left


def _excluded(message: Message) -> Message:
    """A copy that is not sent; the message itself belongs to the history, too."""
    if message.additional_properties.get(EXCLUDED_KEY):
        return message
    made = copy(message)
    made.additional_properties = {
        **message.additional_properties, EXCLUDED_KEY: True, EXCLUDE_REASON_KEY: NAME
    }  # fmt: skip
    return made


def _definition(tool: Any) -> Any:
    return tool.to_json_schema_spec() if isinstance(tool, FunctionTool) else tool


def _read(message: Message) -> dict[str, Any]:
    """A message as Vercel's AI SDK writes it, whose parts are most like the framework's."""
    return {"role": message.role, "content": [*map(_part, message.contents)]}


def _part(content: Content) -> dict[str, Any]:
    match content.type:
        case "text":
            return {"type": "text", "text": content.text}
        case "text_reasoning":
            # a signature without an id is Anthropic's, and binds the reasoning to its place
            signed = content.protected_data if not content.id else None
            options = {"anthropic": {"signature": signed}} if signed else {}
            of = {"providerOptions": options, "of": content.to_dict()}
            return {"type": "reasoning", "text": content.text or "", **of}
        case "function_call" if not (content.hosted or content.informational_only):
            call = {"toolCallId": content.call_id, "toolName": content.name}
            return {"type": "tool-call", **call, "input": content.parse_arguments() or {}}
        case "function_result":
            return {"type": "tool-result", "toolCallId": content.call_id, "output": _output(content)}
        case "data" | "uri":
            about = {"mediaType": content.media_type, "data": content.uri}
            return {"type": "file", **about, "of": content.to_dict(exclude={"uri"})}
        case _:
            return content.to_dict()


def _output(content: Content) -> dict[str, Any]:
    items = content.items or ()
    if any(item.type != "text" for item in items):
        return {"type": "content", "value": [*map(_piece, items)]}
    return {"type": "error-text" if content.exception else "text", "value": content.result or ""}


def _piece(item: Content) -> dict[str, Any]:
    if item.type == "text":
        return {"type": "text", "text": item.text}
    if item.type in ("data", "uri"):
        return {"type": "media", "mediaType": item.media_type, "data": item.uri}
    return item.to_dict()
