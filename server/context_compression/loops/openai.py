"""An agent's loop with `openai`, or another client with its interface; the package is not needed.

    session.record({"role": "user", "content": "Why is the build red?"})
    answer = run_tools(session, OpenAI(), {"read": read}, model=…, tools=[…])

The session holds the conversation with its system messages, so `messages` is not passed. With
`on_chunk` or `stream=True`, each answer is streamed. The complete answer is recorded when it has
ended.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from inspect import isawaitable
from types import SimpleNamespace
from typing import Any, TypeAlias

from context_compression.conversation.messages import is_array, is_object
from context_compression.loops import driving
from context_compression.loops.driving import Dialect, Ending, Ran, Tools
from context_compression.session import Session
from context_compression.threads import in_thread

ONLY_ANSWERED = ("annotations",)
"""Keys in the message of an answer that a request must not have."""
OnChunk: TypeAlias = Callable[[Any], object] | None


def create(session: Session, client: Any, *, on_chunk: OnChunk = None, **request: Any) -> Any:
    """The model's answer to the conversation, which is compressed first if that is due.

    The answer is recorded. A request is sent once more, smaller, if it is refused as too long or if
    its answer shows that a part of it was not read.

    Args:
        session: the conversation.
        client: has `chat.completions.create`.
        on_chunk: called with each chunk of the answer. If an answer was cut short, or its request
            was too long, the new answer is streamed from the start.
        request: the arguments of `chat.completions.create`, without `messages`.

    Raises:
        openai.APIError: or any other error of the client, also when there is nothing left to
            compress.
        ContextCompressionError: as for `Session.prepare`.
    """
    return driving.create(DIALECT, session, client, request, on_chunk)


async def acreate(
    session: Session, client: Any, *, on_chunk: OnChunk = None, **request: Any
) -> Any:
    """`create` for asyncio. A manual compression cuts the request short, and it is sent again."""
    return await in_thread(
        partial(driving.create, DIALECT, session, client, request, on_chunk, in_loop=True)
    )


def run_tools(
    session: Session,
    client: Any,
    tools: Tools,
    /,
    on_chunk: OnChunk = None,
    *,
    shorten: bool = True,
    **request: Any,
) -> Any:
    """The model's last answer, after requests and tool calls until it calls no tool.

    Calls that an earlier run left unanswered are made first. Once the
    conversation was compressed, long outputs of programs are archived as they come in, and the
    model reads a preview of them. It is offered `context_restore` from the first request on, so
    that the list of tools stays the same.

    Args:
        session: the conversation.
        client: as in `create`.
        tools: functions by the names of their definitions. They return a text, content parts, or
            any JSON value. The model reads the errors they raise.
        on_chunk: as in `create`.
        shorten: whether long outputs are archived when they come in. With `auto_compress` off, they
            never are.
        request: as in `create`; the definitions are its `tools`.
    """
    return driving.run_tools(DIALECT, session, client, tools, request, on_chunk, shorten=shorten)


async def arun_tools(
    session: Session,
    client: Any,
    tools: Tools,
    /,
    on_chunk: OnChunk = None,
    *,
    shorten: bool = True,
    **request: Any,
) -> Any:
    """`run_tools` for asyncio: the calls of one answer run concurrently, sync ones in threads."""
    return await in_thread(
        partial(
            driving.run_tools, DIALECT, session, client, tools, request, on_chunk,
            shorten=shorten, in_loop=True,
        )
    )  # fmt: skip


def _send(client: Any, request: dict[str, Any]) -> Any:
    return client.chat.completions.create(**request)


def _stream(client: Any, request: dict[str, Any], take: Callable[[Any], object]) -> Any:
    return gathered(client.chat.completions.create(**request, stream=True), take)


async def _astream(
    client: Any, request: dict[str, Any], take: Callable[[Any], Awaitable[object]]
) -> Any:
    return await agathered(await client.chat.completions.create(**request, stream=True), take)


def _ending_of(answer: Any) -> Ending:
    usage = getattr(answer, "usage", None)
    input_tokens = getattr(usage, "prompt_tokens", 0) or 0
    output_tokens = getattr(usage, "completion_tokens", 0) or 0
    return getattr(answer.choices[0], "finish_reason", None), input_tokens, output_tokens


def _message_of(answer: Any) -> dict[str, Any] | None:
    """The first choice in the form of a request; audio is referenced by its id."""
    choice: dict[str, Any] = answer.choices[0].message.model_dump(mode="json", exclude_none=True)
    message = {key: value for key, value in choice.items() if key not in ONLY_ANSWERED}
    if "audio" in message:
        message["audio"] = {"id": message["audio"]["id"]}
    return message if any(value for key, value in message.items() if key != "role") else None


def _results_of(done: Sequence[Ran]) -> list[dict[str, Any]]:
    return [
        {"role": "tool", "tool_call_id": ran.call_id, "content": _result_text(ran)} for ran in done
    ]


def _result_text(ran: Ran) -> Any:
    """The content of a result; the dialect has no flag for errors, so the text marks them."""
    return f"Error: {ran.content}" if ran.failed else ran.content


def _tool_of(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


def _name_of(tool: Mapping[str, Any]) -> str | None:
    return tool.get("function", {}).get("name")


def _with_system(request: dict[str, Any], system: Any) -> dict[str, Any]:
    """The request with the system prompt as its first message."""
    return {**request, "messages": [{"role": "system", "content": system}, *request["messages"]]}


DIALECT = Dialect(
    _send, _stream, _astream, _ending_of, _message_of, _results_of, _tool_of, _name_of, _with_system
)


# An answer of an `openai` client, joined from the chunks of its stream.


ONCE = frozenset({"role", "id", "type", "name", "index"})
"""Texts that a later chunk repeats or leaves out; all other texts are continued."""


class Part(SimpleNamespace):
    """A piece of an answer, read like the client's own: by attribute, or as a dict."""

    def model_dump(self, **_: Any) -> dict[str, Any]:
        """As a dict, without missing values."""
        return {name: _plain(value) for name, value in vars(self).items() if value is not None}


class Chunks:
    """Joins the chunks of a stream into its answer."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._choice: dict[str, Any] = {"index": 0, "finish_reason": None}
        self._about: dict[str, Any] = {"id": None, "model": None, "usage": None}

    def add(self, chunk: Any) -> None:
        """Add the next chunk; one of the last chunks may have no choices, but the usage."""
        for name, known in self._about.items():
            self._about[name] = getattr(chunk, name, None) or known
        for choice in getattr(chunk, "choices", None) or ():
            if getattr(choice, "index", 0):
                continue
            reason = getattr(choice, "finish_reason", None)
            self._choice["finish_reason"] = reason or self._choice["finish_reason"]
            if (delta := getattr(choice, "delta", None)) is not None:
                new = delta.model_dump(mode="json", exclude_none=True)
                self._message = _joined(self._message, new)

    @property
    def answer(self) -> Part:
        """The answer in the form that the client returns without a stream."""
        message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": None}
        message |= {name: value for name, value in self._message.items() if value != ""}
        for call in message["tool_calls"] or ():
            call.pop("index", None)
        choice = {**self._choice, "message": message}
        return Part(**self._about, choices=[_part(choice)])


def gathered(stream: Any, take: Callable[[Any], object]) -> Part:
    """The answer of a stream, which is closed at the end; each chunk is passed to `take`."""
    chunks = Chunks()
    try:
        for chunk in stream:
            chunks.add(chunk)
            take(chunk)
    finally:
        getattr(stream, "close", int)()
    return chunks.answer


async def agathered(stream: Any, take: Callable[[Any], Awaitable[object]]) -> Part:
    """`gathered` for an event loop."""
    from anyio import CancelScope

    chunks = Chunks()
    try:
        async for chunk in stream:
            chunks.add(chunk)
            await take(chunk)
    finally:
        closing = getattr(stream, "close", getattr(stream, "aclose", int))()
        if isawaitable(closing):
            with CancelScope(shield=True):
                await closing
    return chunks.answer


def _joined(old: Any, new: Any, name: str = "") -> Any:
    """A message so far with the next chunk: `{"content": "Do"}`, `{"content": "ne"}` -> `Done`."""
    if is_object(new):
        known: dict[str, Any] = dict(old or {})
        return known | {key: _joined(known.get(key), value, key) for key, value in new.items()}
    if is_array(new):
        parts: list[Any] = list(old or ())
        for item in new:
            at = item.get("index") if is_object(item) else None
            place = next((n for n, part in enumerate(parts) if _is_at(part, at)), len(parts))
            earlier = parts[place] if place < len(parts) else None
            parts[place:] = [_joined(earlier, item), *parts[place + 1 :]]
        return parts
    if isinstance(new, str) and isinstance(old, str) and name not in ONCE:
        return old + new
    return new if new not in (None, "") or old is None else old


def _is_at(part: Any, index: Any) -> bool:
    return index is not None and is_object(part) and part.get("index") == index


def _part(value: Any) -> Any:
    if is_object(value):
        return Part(**{name: _part(inner) for name, inner in value.items()})
    return [_part(inner) for inner in value] if is_array(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Part):
        return value.model_dump()
    return [_plain(inner) for inner in value] if is_array(value) else value
