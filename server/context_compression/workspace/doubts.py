"""Warnings about valid settings that hardly do what their user means."""

from collections.abc import Iterator

from context_compression.settings import Settings

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
