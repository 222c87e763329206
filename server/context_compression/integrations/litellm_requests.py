"""A request of LiteLLM's proxy: whose it is, who has its history, which API its model speaks."""

# The framework is an extra, and not installed where this is checked:
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from context_compression.conversation.formats import parse
from context_compression.errors import InvalidConversation
from context_compression.extras import extra
from context_compression.integrations.litellm_calls import MESSAGES, RESPONSES, Api, name_of
from context_compression.session.restoring import RESTORE

with extra("litellm", "litellm[proxy]"):
    from litellm import get_llm_provider
    from litellm.exceptions import BadRequestError
    from litellm.proxy import proxy_server  # its router is made later
    from litellm.types.utils import LlmProviders
    from litellm.utils import ProviderConfigManager

METADATA = ("metadata", "litellm_metadata")
"""The fields of a request that hold its metadata."""


def is_on_server(data: Mapping[str, Any]) -> bool:
    """Whether OpenAI's server has the history, and the request only what is new."""
    return bool(data.get("previous_response_id") or data.get("conversation"))


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
