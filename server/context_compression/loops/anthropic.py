"""An agent's loop with the `anthropic` client.

    session.record({"role": "user", "content": "Why is the build red?"})
    answer = run_tools(session, Anthropic(), {"read": read}, model=…, max_tokens=…, tools=[…])

The session holds the conversation, so `messages` is not passed. The system prompt and tool
definitions are passed with the request as usual, and are counted. With `on_chunk` or `stream=True`,
each answer is streamed. The complete answer is recorded when it has ended.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from context_compression.loops import driving
from context_compression.loops.binding import tolerant
from context_compression.loops.calling import Ran, Tools
from context_compression.loops.dialect import Dialect, Ending
from context_compression.session import Session
from context_compression.threads import in_thread

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic
    from anthropic.types import Message

OnChunk: TypeAlias = Callable[[Any], object] | None


def create(
    session: Session, client: "Anthropic", *, on_chunk: OnChunk = None, **request: Any
) -> "Message":
    """The model's answer to the conversation, which is compressed first if that is due.

    The answer is recorded. A request is sent once more, smaller, if it is refused as too long or if
    its answer shows that a part of it was not read. A request that is refused for thinking bound to
    other messages is sent once more without any thinking. For a model that binds its thinking, the
    request already tells the API to drop invalid blocks.

    Args:
        session: the conversation.
        client: an `Anthropic` client, or one for another cloud, such as `AnthropicBedrock`.
        on_chunk: called with each event of the answer. If an answer was cut short, or its request
            was too long, the new answer is streamed from the start.
        request: the arguments of `client.messages.create`, without `messages`.

    Raises:
        anthropic.APIError: any error of the client, also when there is nothing left to compress.
        ContextCompressionError: as for `Session.prepare`.
    """
    return driving.create(DIALECT, session, client, request, on_chunk)


async def acreate(
    session: Session, client: "AsyncAnthropic", *, on_chunk: OnChunk = None, **request: Any
) -> "Message":
    """`create` for asyncio. A manual compression cuts the request short, and it is sent again."""
    return await in_thread(
        partial(driving.create, DIALECT, session, client, request, on_chunk, in_loop=True)
    )


def run_tools(
    session: Session,
    client: "Anthropic",
    tools: Tools,
    /,
    on_chunk: OnChunk = None,
    *,
    shorten: bool = True,
    **request: Any,
) -> "Message":
    """The model's last answer, after requests and tool calls until it calls no tool.

    Calls that an earlier run left unanswered are made first. Once the
    conversation was compressed, long outputs of programs are archived as they come in, and the
    model reads a preview of them. It is offered `context_restore` from the first request on, so
    that the list of tools stays the same.

    Args:
        session: the conversation.
        client: as in `create`.
        tools: functions by the names of their definitions. They return a text, content blocks, or
            any JSON value. The model reads the errors they raise.
        on_chunk: as in `create`.
        shorten: whether long outputs are archived when they come in. With `auto_compress` off, they
            never are.
        request: as in `create`; the definitions are its `tools`.
    """
    return driving.run_tools(DIALECT, session, client, tools, request, on_chunk, shorten=shorten)


async def arun_tools(
    session: Session,
    client: "AsyncAnthropic",
    tools: Tools,
    /,
    on_chunk: OnChunk = None,
    *,
    shorten: bool = True,
    **request: Any,
) -> "Message":
    """`run_tools` for asyncio: the calls of one answer run concurrently, sync ones in threads."""
    return await in_thread(
        partial(
            driving.run_tools, DIALECT, session, client, tools, request, on_chunk,
            shorten=shorten, in_loop=True,
        )
    )  # fmt: skip


def _send(client: Any, request: dict[str, Any]) -> Any:
    return client.messages.create(**tolerant(client, request))


def _stream(client: Any, request: dict[str, Any], take: Callable[[Any], object]) -> Any:
    with client.messages.stream(**tolerant(client, request)) as stream:
        for event in stream:
            take(event)
        return stream.get_final_message()


async def _astream(
    client: Any, request: dict[str, Any], take: Callable[[Any], Awaitable[object]]
) -> Any:
    async with client.messages.stream(**tolerant(client, request)) as stream:
        async for event in stream:
            await take(event)
        return await stream.get_final_message()


def _ending_of(answer: Any) -> Ending:
    usage = answer.usage
    cached = (usage.cache_read_input_tokens, usage.cache_creation_input_tokens)
    input_tokens = usage.input_tokens + sum(tokens or 0 for tokens in cached)
    return answer.stop_reason, input_tokens, usage.output_tokens


def _message_of(answer: Any) -> dict[str, Any] | None:
    """Role and content in the form of a request: the API refuses empty texts and messages."""
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


DIALECT = Dialect(
    _send, _stream, _astream, _ending_of, _message_of, _results_of, _tool_of, _name_of, _with_system
)
