"""Thinking that is bound to all that stands before it, and what to do where that has changed.

Newer models of Anthropic take a thinking block back only behind the very system prompt, tools and
messages it was made behind; else they refuse the request, unless it asks for such blocks to be
dropped (Claude docs, "Preserved thinking"). It has to ask each time: the API does not remember it.
"""

from collections.abc import Mapping
from typing import Any

from context_compression.conversation.messages import is_object
from context_compression.tokens import binds_thinking

HEADER = "anthropic-beta"
BETA = "thinking-binding-controls-2026-08-01"
DROP = {"prefix_mismatch_behavior": "drop_block"}
UNSAID: Mapping[str, Any] = {"type": "adaptive"}
"""How models that bind their thinking think where a request does not say it (Claude docs)."""


def tolerant(client: Any, request: dict[str, Any]) -> dict[str, Any]:
    """The request, asking for thinking that is not valid any more to be dropped, not refused.

    Only where the model binds it, and the caller has not said otherwise: a `block_binding` of the
    caller's stays as it is, and `None` is taken out, for gateways that do not know the parameter.
    """
    match request.get("thinking", UNSAID):
        case {"block_binding": None, **thinking}:
            return {**request, "thinking": thinking}
        case {"block_binding": _}:
            return request
        case {"type": "adaptive" | "enabled"} as thinking if binds_thinking(request.get("model")):
            return _with_beta(client, {**request, "thinking": {**thinking, "block_binding": DROP}})
        case _:
            return request


def _with_beta(client: Any, request: dict[str, Any]) -> dict[str, Any]:
    """The request with our beta beside those of the caller, wherever these are said.

    A header of the request takes the place of the client's, so it has to repeat what that says.
    """
    headers: Mapping[str, str] = request.get("extra_headers") or {}
    said = _betas_in(headers)
    if not said and (betas := request.get("betas")):  # that is how `client.beta` takes them
        return {**request, "betas": [*dict.fromkeys([*betas, BETA])]}
    said = said or _betas_in(getattr(client, "default_headers", None))
    others = {name: text for name, text in headers.items() if name.lower() != HEADER}
    betas = ",".join(dict.fromkeys([*said, BETA]))
    return {**request, "extra_headers": {**others, HEADER: betas}}


def _betas_in(headers: Any) -> list[str]:
    """The betas that headers ask for."""
    items = headers.items() if is_object(headers) else ()
    said = (text for name, text in items if name.lower() == HEADER and isinstance(text, str))
    return [beta.strip() for beta in next(said, "").split(",") if beta.strip()]
