"""What is doubtful about valid settings, and which model may write summaries.

A project's own file and an agent's arguments cannot enable calls to a model, nor choose another API
than the user did. The user names a model in the environment or on the command line. The addresses
of the APIs come from the environment alone.
"""

import difflib
from collections.abc import Iterator, Mapping

from context_compression.setting_names import ALIASES, Provider, not_understood
from context_compression.settings import NAMES, Settings
from context_compression.strings import one_line

CREDENTIALS: Mapping[Provider, tuple[str, str]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
}
"""For each API, the variables with its key and its address; one of them is needed."""
PREFIX = "CONTEXT_COMPRESSION_"
OTHERS = (
    "DIR", "STORE", "TENANT", "KEY", "OBJECTS", "TOKEN", "TOKENS", "COMMAND",
    "OPENTELEMETRY",
)  # fmt: skip
"""Our variables that are not settings, without the prefix."""
OWN = frozenset(f"{PREFIX}{name.upper()}" for name in (*NAMES, *OTHERS))
VARIABLES = OWN.union(ALIASES)
"""All variables that mean something here."""


def unknown_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that seem to be meant for us and set nothing, each with what may be meant."""
    found: dict[str, str] = {}
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in OWN:
            known = [variable.removeprefix(PREFIX) for variable in OWN]
            ending = name.removeprefix(PREFIX)
            near = difflib.get_close_matches(ending, known, 1)
            near = near or sorted(each for each in known if each.endswith(f"_{ending}"))
            found[name] = f"Did you mean {PREFIX}{near[0]}?" if near else "Remove it."
    return found | not_understood(environ)


def no_credentials(provider: Provider, environ: Mapping[str, str]) -> str | None:
    """That neither the key nor the address of an API is set; `None` if one is."""
    names = CREDENTIALS[provider]
    if any(map(environ.get, names)):
        return None
    return f"neither {' nor '.join(names)} is set."


def why_no_model(
    settings: Settings, named: Provider | None, environ: Mapping[str, str]
) -> str | None:
    """Why a model that the settings name is not called; `None` if it is, or none is named.

    Args:
        settings: of the compression, from all their layers.
        named: the API of the model that the user has named.
        environ: the environment of the process.
    """
    if settings.summarizer in ("caller", "none"):
        return None
    if not named:
        if not settings.provider:
            return None
        by = "it is named" if settings.summary_model else "none is named; summarizer is set"
        return (
            f"{by} in the store's settings alone, and those may not send the conversation "
            "anywhere. Set CONTEXT_COMPRESSION_SUMMARY_MODEL in the environment, "
            "or name a model on the command line with --summary-model."
        )
    if settings.provider not in (None, named):
        return (
            f"summarizer = {settings.summarizer} is set in the store's settings alone, and "
            f"those may not choose who gets the conversation; you named {named}. Set "
            f"CONTEXT_COMPRESSION_SUMMARIZER={settings.summarizer} in the environment, or "
            "run `context-compression config --reset summarizer`."
        )
    if settings.summarizer == "auto" and (missing := no_credentials(named, environ)):
        other = " For a server like OpenAI's, set CONTEXT_COMPRESSION_SUMMARIZER=openai."
        return missing + other * (no_credentials("openai", environ) is None)
    return None


def doubt_about_model(
    settings: Settings, named: Provider | None, environ: Mapping[str, str]
) -> str | None:
    """Why a model that the settings name will not write summaries; `None` if it will."""
    model = settings.summary_model
    if model and settings.summarizer in ("caller", "none"):
        return (
            f"summary_model = {one_line(model)} will not be asked, because summarizer = "
            f"{settings.summarizer}."
        )
    reason = why_no_model(settings, named, environ)
    if settings.provider:
        reason = reason or no_credentials(settings.provider, environ)
    return f"No model will be asked: {reason}" if reason else None


SMALLEST_WINDOW = 1_000
"""Tokens; no model's window is smaller, but 200 may mean 200,000."""


def doubts(settings: Settings) -> tuple[str, ...]:
    """What is doubtful about settings, in sentences that name the numbers that apply instead."""
    return (*_about_budget(settings), *_about_threshold(settings), *_about_parts(settings))


def _about_budget(settings: Settings) -> Iterator[str]:
    budget = settings.token_budget
    if budget < SMALLEST_WINDOW:
        yield (
            f"token_budget = {budget:,} is smaller than any model's context window; it counts "
            f"tokens, so write {budget}k for {budget * 1_000:,}"
        )
    if "reserve_tokens" in settings.model_fields_set:
        yield from _if_capped(settings, "reserve_tokens", settings.reserve, "a fifth")


def _about_threshold(settings: Settings) -> Iterator[str]:
    threshold, due = settings.threshold, settings.trigger_threshold
    share = int(due * settings.token_budget)
    if "trigger_threshold" in settings.model_fields_set and threshold.tokens < share:
        yield (
            f"trigger_threshold = {due} would be {share:,} tokens, but compression is due from "
            f"{threshold.tokens:,} on: {threshold.reason}"
        )
    for name in ("target_usage", "manual_target_usage"):
        usage = getattr(settings, name)
        target = int(usage * settings.token_budget)
        if due < usage:
            yield (
                f"trigger_threshold = {due} is below {name} = {usage}: compression may be due "
                "again right after a compression"
            )
        elif target >= threshold.tokens:
            yield (
                f"{name} = {usage} is a target of {target:,} tokens, but compression is due from "
                f"{threshold.tokens:,} on ({threshold.reason}): it may be due again right after one"
            )


def _about_parts(settings: Settings) -> Iterator[str]:
    given = settings.model_fields_set
    by_share = settings.tail_retention_ratio is not None  # it replaces keep_recent_tokens
    recent = "tail_retention_ratio" if by_share else "keep_recent_tokens"
    if recent in given:
        if not by_share:
            yield from _if_capped(settings, recent, settings.recent_tokens, "a quarter")
        room = settings.target_tokens // 2
        if settings.recent_tokens > room:
            yield (
                f"{recent} is {settings.recent_tokens:,} tokens, but recent messages get at most "
                f"half of the target, {room:,}"
            )
    if "summary_target_tokens" in given:
        yield from _if_capped(settings, "summary_target_tokens", settings.summary_tokens, "a tenth")
    if settings.offload_preview_tokens >= settings.offload_min_tokens:
        yield (
            f"offload_preview_tokens = {settings.offload_preview_tokens:,} is not below "
            f"offload_min_tokens = {settings.offload_min_tokens:,}: offloading frees hardly "
            "anything"
        )
    if settings.keep_recent > settings.max_turns:
        yield (
            f"keep_recent = {settings.keep_recent:,} is above max_turns = {settings.max_turns:,}: "
            "window is due before it may remove a turn"
        )


def _if_capped(settings: Settings, name: str, applies: int, part: str) -> Iterator[str]:
    if applies < (given := getattr(settings, name)):
        yield (
            f"{name} = {given:,} is more than {part} of token_budget = {settings.token_budget:,}: "
            f"{applies:,} tokens apply"
        )
