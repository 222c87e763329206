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

from context_compression.conversation.messages import is_object
from context_compression.loops import driving
from context_compression.loops.driving import Dialect, Ending, Ran, Tools
from context_compression.session import Session
from context_compression.threads import in_thread
from context_compression.tokens import binds_thinking

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


# Thinking that is bound to everything before it, and how to send it after a change.
#
# Newer models of Anthropic accept a thinking block only after the same system prompt, tools and
# messages it was made after. Otherwise they refuse the request, unless the request says that such
# blocks are to be dropped (Claude docs, "Preserved thinking"). Each request must say so, because
# the API does not remember it.


HEADER = "anthropic-beta"
BETA = "thinking-binding-controls-2026-08-01"
DROP = {"prefix_mismatch_behavior": "drop_block"}
DEFAULT_THINKING: Mapping[str, Any] = {"type": "adaptive"}
"""The `thinking` of models that bind it, if a request has none (Claude docs)."""


def tolerant(client: Any, request: dict[str, Any]) -> dict[str, Any]:
    """The request, with the parameter that drops invalid thinking instead of refusing the request.

    The parameter is added only if the model binds its thinking and the caller has not chosen. A
    `block_binding` of the caller is kept; the value `None` is removed, for gateways that do not
    know the parameter.
    """
    match request.get("thinking", DEFAULT_THINKING):
        case {"block_binding": None, **thinking}:
            return {**request, "thinking": thinking}
        case {"block_binding": _}:
            return request
        case {"type": "adaptive" | "enabled"} as thinking if binds_thinking(request.get("model")):
            return _with_beta(client, {**request, "thinking": {**thinking, "block_binding": DROP}})
        case _:
            return request


def _with_beta(client: Any, request: dict[str, Any]) -> dict[str, Any]:
    """The request with our beta added to the caller's betas, wherever the caller names them.

    A header of the request replaces the client's header, so it must repeat the client's betas.
    """
    headers: Mapping[str, str] = request.get("extra_headers") or {}
    named = _betas_in(headers)
    if not named and (betas := request.get("betas")):  # `client.beta` takes them in this argument
        return {**request, "betas": [*dict.fromkeys([*betas, BETA])]}
    named = named or _betas_in(getattr(client, "default_headers", None))
    others = {name: text for name, text in headers.items() if name.lower() != HEADER}
    betas = ",".join(dict.fromkeys([*named, BETA]))
    return {**request, "extra_headers": {**others, HEADER: betas}}


def _betas_in(headers: Any) -> list[str]:
    """The betas that headers name."""
    items = headers.items() if is_object(headers) else ()
    texts = (text for name, text in items if name.lower() == HEADER and isinstance(text, str))
    return [beta.strip() for beta in next(texts, "").split(",") if beta.strip()]
