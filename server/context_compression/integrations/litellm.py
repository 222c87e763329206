# The framework is an extra, and not installed where this is checked:
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUntypedBaseClass=false
"""LiteLLM: a callback that fits each request of its proxy, and answers `context_restore`.

    litellm_settings:
      callbacks: context_compression.integrations.litellm.proxy_handler_instance

The client need not know of it: the model's calls of `context_restore` do not reach the client.
LiteLLM's own loop needs whole responses. A stream of Chat Completions goes on after each such call:
its text reaches the client as it comes, and tool calls when they are complete.
"""

import json
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from secrets import token_hex
from threading import Lock
from typing import Any, Unpack

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import as_object, is_object
from context_compression.conversation.refs import ref_of
from context_compression.errors import InvalidConversation
from context_compression.extras import extra
from context_compression.integrations.apis import (
    CHAT,
    MESSAGES,
    RESPONSES,
    Api,
    Json,
    is_on_server,
    name_of,
)
from context_compression.integrations.sessions import SessionOptions, Sessions
from context_compression.session import Session
from context_compression.session.following import first_messages
from context_compression.session.restoring import RESTORE, RestoreTool, restore_tool
from context_compression.settings import Settings
from context_compression.strings import one_line
from context_compression.threads import in_thread
from context_compression.workspace import Workspace

with extra("litellm", "litellm[proxy]"):
    from litellm import acompletion, get_llm_provider, stream_chunk_builder
    from litellm.exceptions import BadRequestError
    from litellm.integrations.custom_logger import CustomLogger
    from litellm.proxy import proxy_server  # its router is made later
    from litellm.types.integrations.custom_logger import AgenticLoopPlan, AgenticLoopRequestPatch
    from litellm.types.utils import LlmProviders
    from litellm.utils import ProviderConfigManager


def as_dict(response: Any) -> Json:
    """A response of LiteLLM as a dict."""
    return dict(response) if is_object(response) else response.model_dump(exclude_none=True)


METADATA = ("metadata", "litellm_metadata")
"""The fields of a request that hold its metadata."""


def can_answer(data: Mapping[str, Any], api: Api) -> bool:
    """Whether a call of our tool could be answered before the client sees it.

    A stream of Responses cannot be continued, nor an API into which LiteLLM translates another. A
    request without tools gets none: its model may not know tools.
    """
    tools = data.get("tools")
    streams = data.get("stream") and api is RESPONSES
    if not isinstance(tools, list) or not tools or streams or (data.get("n") or 1) != 1:
        return False
    return all(name_of(tool) != RESTORE for tool in tools) and _is_spoken(
        api, str(data.get("model"))
    )


def session_id(data: Mapping[str, Any]) -> str | None:
    """The session id that the caller gave: LiteLLM reads it from headers, body and metadata."""
    places = [place for key in METADATA if isinstance(place := data.get(key), dict)]
    if any(place.get("litellm_session_id_generated") for place in places):
        return None
    ids = (data.get("litellm_session_id"), *(place.get("session_id") for place in places))
    return next((str(id) for id in ids if id), None)


def first_call(messages: Sequence[Any]) -> str | None:
    """The id of the first tool call in messages."""
    with suppress(InvalidConversation):
        calls = (call for message in parse(messages).messages for call in message.calls)
        return next((f"call/{call.id}" for call in calls), None)
    return None


def models(name: str) -> list[str]:
    """The providers' names of a model, by its name in the configuration of the proxy."""
    router = proxy_server.llm_router
    deployments = router.get_model_list(model_name=name) if router else None
    models = [each["litellm_params"]["model"] for each in deployments or ()]
    return [model for model in models if "*" not in model] or [name]


def _is_spoken(api: Api, name: str) -> bool:
    """Whether all providers of a model speak an API, so that nothing is translated."""
    config = {
        MESSAGES.name: ProviderConfigManager.get_provider_anthropic_messages_config,
        RESPONSES.name: ProviderConfigManager.get_provider_responses_api_config,
    }.get(api.name)
    with suppress(BadRequestError, ValueError):  # an unknown provider
        known = [get_llm_provider(model)[:2] for model in models(name)]
        return config is None or all(
            config(model=model, provider=LlmProviders(provider)) for model, provider in known
        )
    return False


OF_ONE_CALL = ("litellm_logging_obj", "litellm_call_id")
"""The fields of a request that belong to one call of a provider."""


async def continued(
    stream: AsyncIterable[Any], request: Mapping[str, Any], tool: RestoreTool, rounds: int
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


logger = logging.getLogger(__name__)
APIS: Mapping[str, Api] = {
    "acompletion": CHAT, "anthropic_messages": MESSAGES, "aresponses": RESPONSES,
}  # fmt: skip
"""The APIs, by the names that LiteLLM gives their calls."""
MARK = "context_compression"
"""The key in a request's metadata for the token that `FittedRequest` is remembered by."""
MOST_ROUNDS = 8
"""How many times the model can restore before it must answer."""
MOST_MARKED = 10_000
"""How many requests are remembered; a request is over long before so many others came."""
_has_own: ContextVar[bool] = ContextVar("context_compression_has_own_tool", default=False)
"""Whether the client of a request has a tool with the name of ours, which it answers itself."""


@dataclass(frozen=True)
class FittedRequest:
    """What is remembered of a request, whose own messages are gone once it is fitted.

    Attributes:
        session: the id of its session.
        owner: whose it is; see `_owner_of`.
        offered: the API in which our tool is offered, and its calls answered; `None` if it is not.
    """

    session: str
    owner: str
    offered: Api | None


class ContextCompression(CustomLogger):
    """Fits the messages of each request into the context window of its model.

    The session is that of the caller's session id, within the caller's key. A conversation without
    a session id is known by the id of its first tool call, which the model made.

    Args:
        options: `store`, `settings`, `model`, `counter`, `summarizer`; see `SessionOptions`.
    """

    def __init__(self, **options: Unpack[SessionOptions]) -> None:
        super().__init__()
        self.sessions = Sessions.of(self, "litellm", options)
        self._marked: OrderedDict[str, FittedRequest] = OrderedDict()
        self._lock = Lock()

    def session_of(self, user_api_key_dict: Any, data: Mapping[str, Any]) -> Session:
        """The session of a request: never one of another key, user, team or organisation.

        Args:
            user_api_key_dict: who sent it, as LiteLLM tells each of its callbacks.
            data: the request, as it came or as we fitted it.
        """
        owner, model = _owner_of(user_api_key_dict), models(str(data.get("model")))[0]
        if (fitted := self._fitted(data)) and fitted.owner == owner:
            return self.sessions.named(fitted.session, model=model)
        messages = data.get("messages") or data.get("input") or []
        if given := session_id(data):
            return self.sessions.of_history(f"{owner}/id/{given}", messages, model)
        id = first_call(messages) or ref_of(first_messages(messages))
        return self.sessions.open(f"{owner}/{id}", model=model)

    @property
    def server_fulfilled_tool_names(self) -> frozenset[str]:
        """The tools whose calls LiteLLM must never stream to the client of this request."""
        return frozenset() if _has_own.get() else frozenset({RESTORE})

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any]:
        """The request with the messages that fit, and with our tool if it has others."""
        places = [place for key in METADATA if isinstance(place := data.get(key), dict)]
        for place in places:
            place.pop(MARK, None)
        api = APIS.get(call_type)
        messages = data.get(api.messages) if api else None
        if api is None or not isinstance(messages, list) or not messages or is_on_server(data):
            return data
        tools = data.get("tools")
        others = (
            tools if not isinstance(tools, list) else [t for t in tools if name_of(t) != RESTORE]
        )
        _has_own.set(others != tools)
        try:
            session = await in_thread(partial(self.session_of, user_api_key_dict, data))
        except Exception as error:  # such as a store that must not be used
            why = one_line(str(error) or type(error).__name__)
            logger.warning("a request is sent as it came: %s", why)
            return data
        offered = api if can_answer(data, api) and places else None
        if offered:
            data["tools"] = others = [*data["tools"], api.tool(restore_tool(session))]
            data["max_agentic_loops"] = MOST_ROUNDS
        for place in places[-1:]:
            place[MARK] = self._mark(
                FittedRequest(session.id, _owner_of(user_api_key_dict), offered)
            )
        system = data.get(api.system) if api.system else None
        # without a tool of the client's own that has our name: it does not know our refs
        data[api.messages] = await session.afit(messages, system=system, tools=others)
        return data

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any]:
        """The stream for the client; LiteLLM itself continues those of Anthropic's API."""
        fitted = self._fitted(request_data)
        if fitted and fitted.offered is CHAT:
            tool = self._tool(fitted.session)
            response = continued(response, request_data, tool, MOST_ROUNDS)
        async for chunk in response:
            yield chunk

    async def async_should_run_agentic_loop(
        self,
        response: Any,
        model: str,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None,
        stream: bool,
        custom_llm_provider: str,
        kwargs: dict[str, Any],
    ) -> tuple[bool, dict[str, Any]]:
        """Whether the model called our tool."""
        fitted = self._fitted(kwargs)
        api = fitted.offered if fitted else None
        calls = api.calls(as_dict(response)) if api else []
        return bool(calls), {"tool_calls": [{"id": call.id, "name": RESTORE} for call in calls]}

    async def async_build_agentic_loop_plan(
        self,
        tools: dict[str, Any],
        model: str,
        messages: list[dict[str, Any]],
        response: Any,
        anthropic_messages_provider_config: Any,
        anthropic_messages_optional_request_params: dict[str, Any],
        logging_obj: Any,
        stream: bool,
        kwargs: dict[str, Any],
    ) -> AgenticLoopPlan:
        """The request that continues with the answers; in the last round without our tool."""
        fitted, said = self._fitted(kwargs), as_dict(response)
        if fitted is None or fitted.offered is None:
            return AgenticLoopPlan(run_agentic_loop=False)
        offered = anthropic_messages_optional_request_params.get("tools") or []
        if int(kwargs.get("_agentic_loop_depth") or 0) >= MOST_ROUNDS - 1:
            offered = [tool for tool in offered if name_of(tool) != RESTORE]
        added = await fitted.offered.answered(said, self._tool(fitted.session))
        patch = AgenticLoopRequestPatch(messages=[*messages, *added], tools=offered)
        return AgenticLoopPlan(run_agentic_loop=True, request_patch=patch)

    def _tool(self, session: str) -> RestoreTool:
        """Our tool for a session, by its name."""
        return restore_tool(self.sessions.named(session))

    def _mark(self, fitted: FittedRequest) -> str:
        """A new token that stands for a request as long as it runs."""
        token = token_hex(16)
        with self._lock:
            self._marked[token] = fitted
            if len(self._marked) > MOST_MARKED:
                self._marked.popitem(last=False)
        return token

    def _fitted(self, request: Mapping[str, Any]) -> FittedRequest | None:
        """What is remembered of a request; `None` if we did not fit it."""
        places = (as_object(request.get(key)) for key in METADATA)
        token = next((place[MARK] for place in places if MARK in place), None)
        return self._marked.get(str(token))


def _owner_of(user_api_key_dict: Any) -> str:
    """The digits of a hash of who sent a request."""
    names = ("api_key", "user_id", "team_id", "org_id", "end_user_id")
    owner = json.dumps([getattr(user_api_key_dict, name, None) for name in names])
    return sha256(owner.encode()).hexdigest()[:32]


def __getattr__(name: str) -> Any:
    """`proxy_handler_instance`, with the store and the settings that the environment names."""
    if name != "proxy_handler_instance":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    store = Workspace.here().store
    handler = ContextCompression(store=store, settings=Settings.load(store))
    return globals().setdefault(name, handler)
