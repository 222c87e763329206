"""LiteLLM: a callback that fits each request of its proxy, and answers `context_restore` itself.

    litellm_settings:
      callbacks: context_compression.integrations.litellm.proxy_handler_instance

The client need not know of it: the model's calls of `context_restore` do not reach the client.
"""

# The framework is an extra, and not installed where this is checked:
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUntypedBaseClass=false

import json
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from secrets import token_hex
from threading import Lock
from typing import Any, Unpack

from context_compression.conversation.messages import as_object
from context_compression.conversation.refs import ref_of
from context_compression.display.strings import one_line
from context_compression.extras import extra
from context_compression.integrations.litellm_calls import (
    CHAT,
    MESSAGES,
    RESPONSES,
    Api,
    as_dict,
    name_of,
)
from context_compression.integrations.litellm_requests import (
    METADATA,
    can_answer,
    first_call,
    is_on_server,
    models,
    session_id,
)
from context_compression.integrations.litellm_streams import continued
from context_compression.integrations.sessions import SessionOptions, Sessions
from context_compression.session import Session
from context_compression.session.following import first_messages
from context_compression.session.restoring import RESTORE, RestoreTool, restore_tool
from context_compression.settings import Settings
from context_compression.threads import in_thread
from context_compression.workspace import Workspace

with extra("litellm", "litellm[proxy]"):
    from litellm.integrations.custom_logger import CustomLogger
    from litellm.types.integrations.custom_logger import AgenticLoopPlan, AgenticLoopRequestPatch

logger = logging.getLogger(__name__)
APIS: Mapping[str, Api] = {
    "acompletion": CHAT, "anthropic_messages": MESSAGES, "aresponses": RESPONSES,
}  # fmt: skip
"""The APIs, by the names that LiteLLM gives their calls."""
MARK = "context_compression"
"""The key in a request's metadata for the token that `Fitted` is remembered by."""
MOST_ROUNDS = 8
"""How many times the model can restore before it must answer."""
MOST_MARKED = 10_000
"""How many requests are remembered; a request is over long before so many others came."""
_has_own: ContextVar[bool] = ContextVar("context_compression_has_own_tool", default=False)
"""Whether the client of a request has a tool with the name of ours, which it answers itself."""


@dataclass(frozen=True)
class Fitted:
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
        self._marked: OrderedDict[str, Fitted] = OrderedDict()
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
            place[MARK] = self._mark(Fitted(session.id, _owner_of(user_api_key_dict), offered))
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

    def _mark(self, fitted: Fitted) -> str:
        """A new token that stands for a request as long as it runs."""
        token = token_hex(16)
        with self._lock:
            self._marked[token] = fitted
            if len(self._marked) > MOST_MARKED:
                self._marked.popitem(last=False)
        return token

    def _fitted(self, request: Mapping[str, Any]) -> Fitted | None:
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
