"""The names of settings: our spelling, and the names that other tools give to the same things.

If values are given under our own name and under another one, the value under our own name counts.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, cast

Provider: TypeAlias = Literal["anthropic", "openai"]
"""The APIs that a model for summaries is asked through."""
OURS = "context_compression_"


def _same(value: Any) -> Any:
    return value


def attempts(retries: Any) -> Any:
    """`attempts("2")` -> `3`: the first call counts, too; what is no number stays as it is."""
    from context_compression.plurals import whole_number  # it loads pydantic

    number = whole_number(retries) if isinstance(retries, str) else retries
    return number + 1 if type(number) is int else retries


class Foreign(NamedTuple):
    """What a name of another tool means here."""

    setting: str
    """the setting with this meaning"""
    default: str
    """what the other tool takes if nothing is said"""
    value: Callable[[Any], Any] = _same
    """our value for a value of the other tool"""


_COMPACT = {
    "threshold_ratio": Foreign("trigger_threshold", "0.92"),
    "max_retries": Foreign("summary_attempts", "2, after the first attempt", attempts),
    "retry_count": Foreign("summary_attempts", "3, the first attempt among them"),
    "trigger_threshold": Foreign("compact_trigger_tokens", "15,000 tokens"),
    "target_tokens": Foreign("summary_target_tokens", "8,000"),
    "preserve_count": Foreign("preserve_messages", "5 messages"),
    "model": Foreign("summary_model", "that of the agent"),
}
FOREIGN: Mapping[str, Foreign] = {
    "context_token_limit": Foreign("token_budget", "200,000"),
    "tail_retention_ratio": Foreign("tail_retention_ratio", "0.15"),
    "synapse_max_context_window": Foreign("token_budget", "200,000"),
    **{f"compact_{ending}": meant for ending, meant in _COMPACT.items()},
    **{f"synapse_compact_{ending}": meant for ending, meant in _COMPACT.items()},
    "compaction.enabled": Foreign("auto_compress", "true"),
    "compaction.auto": Foreign("auto_compress", "true"),
    "compaction.reserve_tokens": Foreign("reserve_tokens", "16,384"),
    "compaction.reserved": Foreign("reserve_tokens", "20,000, at most the model's output"),
    "compaction.keep_recent_tokens": Foreign("keep_recent_tokens", "20,000"),
    "compaction.max_summary_tokens": Foreign("max_summary_tokens", "0.8 of the reserve"),
    "compaction.threshold_ratio": _COMPACT["threshold_ratio"],
    "max_retries": _COMPACT["max_retries"],
}
"""Names of other tools in snake_case, as variables and as keys; of two, the later one counts."""
NOT_TAKEN: Mapping[str, str] = {
    "compact_output_dir": "CONTEXT_COMPRESSION_DIR names the folder of the originals.",
    "synapse_compact_cooldown_steps": "Nothing here waits for a number of steps.",
    "synapse_offload_threshold": "Set trigger_threshold, a share of token_budget.",
    "synapse_offload_min_chars": "Set offload_min_tokens, a number of tokens.",
    "synapse_offload_scan_ratio": "A compression looks at all old results.",
}
"""Variables of the same tools that set nothing here, with what to use instead."""
FAMILIES = {
    **dict.fromkeys(("COMPACT_", "SYNAPSE_COMPACT_", "SYNAPSE_OFFLOAD_"), 0.0),
    **dict.fromkeys(("TAIL_RETENTION", "CONTEXT_TOKEN_"), 0.75),
    "COMPACTION_": 0.85,
}
"""How variables begin that may be meant for us, and from which likeness to a known name they are.

Databases and others compact, too: `COMPACTION_THREADS` is theirs.
"""
LIKE = 0.75
"""From which likeness on the nearest name is said."""


def snake_case(name: str) -> str:
    """`snake_case("keepRecent")` -> `"keep_recent"`; so does `"KEEP_RECENT"`."""
    if name.isupper():
        return name.lower()
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match[1].lower(), name)


def camel_case(name: str) -> str:
    """`camel_case("compaction.reserve_tokens")` -> `"compaction.reserveTokens"`."""
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


def variable_of(name: str) -> str:
    """`variable_of("compaction.reserve_tokens")` -> `"COMPACTION_RESERVE_TOKENS"`."""
    return name.upper().replace(".", "_")


ALIASES: Mapping[str, str] = {
    spelled: name
    for name in FOREIGN
    if name != "max_retries"  # any program may have this variable
    for spelled in (camel_case(name), variable_of(name))
}
"""Environment variables of other tools, with their names in `FOREIGN`."""


def foreign(name: str) -> Foreign | None:
    """What a name of another tool means here; `None` for other names, and for our own.

    `foreign("compaction.contextTokenLimit")` -> `Foreign("token_budget", …)`
    """
    own = snake_case(name)
    meant = FOREIGN.get(own) or FOREIGN.get(own.removeprefix("compaction."))
    return None if meant and meant.setting == own else meant


def own_name(name: str) -> str:
    """`own_name("compaction.reserveTokens")` -> `"reserve_tokens"`."""
    return meant.setting if (meant := foreign(name)) else snake_case(name).removeprefix(OURS)


def own_value(name: str, value: Any) -> Any:
    """`own_value("COMPACT_MAX_RETRIES", 2)` -> `3`, for `summary_attempts`."""
    return meant.value(value) if (meant := foreign(name)) else value


def with_own_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with our own names instead of those in `FOREIGN`; other names stay as they are.

    `with_own_names({"compaction": {"enabled": False}})` -> `{"auto_compress": False}`
    """
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if name == "compaction" and isinstance(value, Mapping):
            nested = cast("Mapping[str, Any]", value)
            flat |= {f"{name}.{key}": inner for key, inner in nested.items()}
        else:
            flat[name] = value
    others = {own_name(n): own_value(n, value) for n, value in flat.items() if foreign(n)}
    own = {name: value for name, value in flat.items() if not foreign(name)}
    named = set(map(own_name, own))
    return {name: value for name, value in others.items() if name not in named} | own


def not_understood(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that look as if they were meant for us and set nothing, with what may be meant."""
    known = [variable_of(name) for name in ALIASES.values()]
    found: dict[str, str] = {}
    for name in sorted(environ.keys() - ALIASES):
        likeness = next((FAMILIES[each] for each in FAMILIES if name.startswith(each)), None)
        if likeness is None or not environ[name].strip():
            continue
        if instead := NOT_TAKEN.get(name.lower()):
            found[name] = instead
        elif near := difflib.get_close_matches(name, known, 1, max(likeness, LIKE)):
            found[name] = f"The nearest name that is understood is {near[0]}."
        elif not likeness:
            found[name] = "No name that is understood is like it."
    return found
