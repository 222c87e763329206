"""A stream of Chat Completions that goes on after each call of `context_restore`.

LiteLLM's own loop needs whole responses. Here the text reaches the client as it comes, and tool
calls when they are complete, without those of our tool.
"""

# The framework is an extra, and not installed where this is checked:
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false

from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from typing import Any

from context_compression.extras import extra
from context_compression.integrations.litellm_calls import CHAT, as_dict, name_of
from context_compression.session.restoring import RESTORE, RestoreTool

with extra("litellm", "litellm[proxy]"):
    from litellm import acompletion, stream_chunk_builder
    from litellm.proxy import proxy_server

OF_ONE_CALL = ("litellm_logging_obj", "litellm_call_id")
"""The fields of a request that belong to one call of a provider."""


async def continued(
    stream: AsyncIterable[Any],
    request: Mapping[str, Any],
    tool: RestoreTool,
    rounds: int,
) -> AsyncGenerator[Any]:
    """The chunks for the client, of a stream and of those that continue it.

    Args:
        stream: the chunks of the provider.
        request: the request to which they are the response.
        tool: answers the calls.
        rounds: how many times the model can restore before it must answer.
    """
    messages, id = request["messages"], None
    while True:
        chunks: list[Any] = []
        held: list[Any] = []
        async for chunk in stream:
            id = chunk.id = id or chunk.id  # for the client it is one response
            chunks.append(chunk)
            if held or _is_late(chunk):
                held.append(chunk)
            else:
                yield chunk
        built = stream_chunk_builder(chunks) if held else None
        said = as_dict(built) if built else {}
        calls = CHAT.calls(said) if said.get("choices") else []
        if not calls or rounds < 1:
            for chunk in held:
                yield chunk
            return
        rounds -= 1
        messages = [*messages, *await CHAT.answered(said, tool)]
        stream = await _next(request, messages, last=rounds < 1)


async def _next(request: Mapping[str, Any], messages: list[Any], *, last: bool) -> Any:
    """The stream that continues a request; the last one without our tool."""
    kept = {key: value for key, value in request.items() if key not in OF_ONE_CALL}
    tools = [tool for tool in request["tools"] if not last or name_of(tool) != RESTORE]
    router = proxy_server.llm_router
    complete = router.acompletion if router else acompletion
    return await complete(**{**kept, "messages": messages, "tools": tools})


def _is_late(chunk: Any) -> bool:
    """Whether a chunk is held until the stream is complete: a tool call, or the end."""
    choices = chunk.choices
    return not choices or bool(choices[0].delta.tool_calls or choices[0].finish_reason)
