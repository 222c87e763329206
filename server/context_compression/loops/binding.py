"""Thinking that is bound to everything before it, and how to send it after a change.

Newer models of Anthropic accept a thinking block only after the same system prompt, tools and
messages it was made after. Otherwise they refuse the request, unless the request says that such
blocks are to be dropped (Claude docs, "Preserved thinking"). Each request must say so, because the
API does not remember it.
"""

from collections.abc import Mapping
from typing import Any

from context_compression.conversation.messages import is_object
from context_compression.tokens import binds_thinking

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
