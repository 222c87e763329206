"""The names of settings: our spelling, and the names that other tools give to the same things.

If values are given under our own name and under another one, the value under our own name counts.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

Provider: TypeAlias = Literal["anthropic", "openai"]
"""The APIs that a model for summaries is asked through."""
VARIABLES = {
    "TRIGGER_THRESHOLD": "compact_trigger_tokens",
    "TARGET_TOKENS": "summary_target_tokens",
    "PRESERVE_COUNT": "preserve_messages",
    "MODEL": "summary_model",
    "RETRY_COUNT": "summary_attempts",
}
ALIASES = {
    "CONTEXT_TOKEN_LIMIT": "token_budget",
    **{f"COMPACT_{ending}": name for ending, name in VARIABLES.items()},
    **{f"SYNAPSE_COMPACT_{ending}": name for ending, name in VARIABLES.items()},
}
"""Environment variables of other tools, and the settings that they set here; a later one counts."""
KEYS = {
    "compaction.enabled": "auto_compress",
    "compaction.reserve_tokens": "reserve_tokens",
    "compaction.keep_recent_tokens": "keep_recent_tokens",
}
"""Names of settings in other tools, dotted or nested, in snake_case; and our own names."""


def snake_case(name: str) -> str:
    """`snake_case("keepRecent")` -> `"keep_recent"`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match[1].lower(), name)


def own_name(name: str) -> str:
    """`own_name("compaction.reserveTokens")` -> `"reserve_tokens"`."""
    return KEYS.get(snake_case(name), snake_case(name))


def with_own_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with our own names instead of those in `KEYS`; all other names stay as they are.

    `with_own_names({"compaction": {"enabled": False}})` -> `{"auto_compress": False}`
    """
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if name == "compaction" and isinstance(value, Mapping):
            nested = cast("Mapping[str, Any]", value)
            flat |= {f"{name}.{key}": inner for key, inner in nested.items()}
        else:
            flat[name] = value
    others = {KEYS[snake_case(n)]: value for n, value in flat.items() if snake_case(n) in KEYS}
    own = {name: value for name, value in flat.items() if snake_case(name) not in KEYS}
    named = {snake_case(name) for name in own}
    return {name: value for name, value in others.items() if name not in named} | own
