"""An agent's loop with the `anthropic` client.

    session.record({"role": "user", "content": "Why is the build red?"})
    answer = run_tools(session, Anthropic(), {"read": read}, model=…, max_tokens=…, tools=[…])

What the session holds is the conversation: `messages` is not passed. A system prompt and tool
definitions go with the request, as ever, and are counted. No streams: the whole answer is recorded.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_compression.loops import driving
from context_compression.loops.calling import Ran, Tools
from context_compression.loops.dialect import Dialect
from context_compression.session import Session

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic
    from anthropic.types import Message


def create(session: Session, client: "Anthropic", **request: Any) -> "Message":
    """The answer to the conversation, compressed first if that is due; the answer is recorded.

    A request that is refused as too long is sent once more, smaller.

    Args:
        session: the conversation.
        client: or one of its kin for another cloud.
        request: what `client.messages.create` takes, but no `messages`.

    Raises:
        anthropic.APIError: as the client, also when there is nothing left to compress.
        ContextCompressionError: as `Session.prepare`.
    """
    return driving.create(DIALECT, session, client, request)


async def acreate(session: Session, client: "AsyncAnthropic", **request: Any) -> "Message":
    """`create` for asyncio. A compression asked for by hand cuts it short; it is sent again."""
    return await driving.acreate(DIALECT, session, client, request)


def run_tools(session: Session, client: "Anthropic", tools: Tools, /, **request: Any) -> "Message":
    """Requests and tool calls in turn until the model calls no tool; its last answer.

    Calls left unanswered by an earlier run are made first. As soon as something is archived, the
    model is offered `context_restore`.

    Args:
        session: the conversation.
        client: as `create`.
        tools: functions by the names of their definitions. They return a text, content blocks, or
            anything JSON can say; what they raise is told to the model.
        request: as `create`; the definitions are its `tools`.
    """
    return driving.run_tools(DIALECT, session, client, tools, request)


async def arun_tools(
    session: Session, client: "AsyncAnthropic", tools: Tools, /, **request: Any
) -> "Message":
    """`run_tools` for asyncio: calls of one answer run side by side, plain functions in threads."""
    return await driving.arun_tools(DIALECT, session, client, tools, request)


def _send(client: Any, request: dict[str, Any]) -> Any:
    return client.messages.create(**request)


def _message_of(answer: Any) -> dict[str, Any] | None:
    """Role and content, as a request may hold them: the API refuses empty ones."""
    blocks = [block.to_dict(mode="json") for block in answer.content]
    content = [block for block in blocks if block.get("type") != "text" or block["text"].strip()]
    return {"role": answer.role, "content": content} if content else None


def _results_of(done: Sequence[Ran]) -> list[dict[str, Any]]:
    results = [
        {"type": "tool_result", "tool_use_id": ran.call_id, "content": ran.content}
        | ({"is_error": True} if ran.failed else {})
        for ran in done
    ]
    return [{"role": "user", "content": results}]


def _tool_of(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": schema}


def _name_of(tool: Mapping[str, Any]) -> str | None:
    return tool.get("name")


def _with_system(request: dict[str, Any], system: Any) -> dict[str, Any]:
    return {**request, "system": system}


DIALECT = Dialect(_send, _message_of, _results_of, _tool_of, _name_of, _with_system)
