"""Plans the compressions that a session starts itself: when one is due, and after a refusal."""

from typing import Any

from context_compression.planning.archive import offers_restore
from context_compression.session.compressing import PlannedCompression
from context_compression.session.pacing import Pace
from context_compression.session.recorded import RecordedConversation
from context_compression.session.requests import due
from context_compression.settings import Settings
from context_compression.summaries.error_texts import Error
from context_compression.summaries.overflow import is_foreign_thinking, is_overflow
from context_compression.tokens.usage import Usage


def answering(conversation: RecordedConversation) -> dict[str, Any]:
    """The options of a compression before a request that goes out in any case."""
    return {"must_answer": True, "restores": offers_restore(conversation.tools)}


def before_request(
    conversation: RecordedConversation, pace: Pace, usage: Usage | None = None
) -> PlannedCompression | None:
    """The compression that is due before the next request, if it is worth trying.

    Args:
        conversation: the conversation.
        pace: its pace.
        usage: how full its context is, if that is counted already.
    """
    usage = usage or conversation.usage()
    worth_trying = pace.worth_trying(usage.used_tokens) and due(conversation, usage).now
    return PlannedCompression("threshold", answering(conversation)) if worth_trying else None


def after_refusal(
    conversation: RecordedConversation, pace: Pace, error: Error
) -> PlannedCompression | None:
    """The compression after a refusal: removes thinking, or targets a much smaller size."""
    settings = conversation.settings
    if is_foreign_thinking(error):
        return PlannedCompression("thinking") if pace.may_recover("thinking") else None
    overflow = settings.auto_compress and is_overflow(error)
    if not (overflow and pace.may_recover("overflow")):
        return None
    target = target_after(settings, conversation.usage().used_tokens)
    return PlannedCompression("overflow", {**answering(conversation), "target_tokens": target})


def target_after(settings: Settings, refused: int) -> int:
    """The target for a request that was refused with so many tokens."""
    return max(1, min(settings.target_tokens, int(refused * settings.target_usage)))
