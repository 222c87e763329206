"""The compactions of an opencode session: a user's message that requests it, and its summary."""

from collections.abc import Iterable, Mapping, Sequence

from context_compression.hosts.opencode.about import NAME
from context_compression.hosts.opencode.context import request_of
from context_compression.hosts.opencode.live import StoredMessage
from context_compression.transcripts.compaction_log import CompactionLog
from context_compression.transcripts.history import Compaction
from context_compression.transcripts.lines import string


def compactions_among(messages: Iterable[StoredMessage]) -> list[Compaction]:
    """The compactions among messages.

    Args:
        messages: the oldest first, without reverted ones. Only requests, summaries, and the
            answers before and after them are needed.
    """
    messages = [*messages]
    requested = requests_among(messages)
    log = CompactionLog()
    for message in messages:
        if message.is_checkpoint:
            trigger = string(message.about, "checkpoint")
            log.add(Compaction(message.time, trigger, NAME, place=place_of(message)))
        elif message.is_summary and (request := requested.get(message.parent)):
            trigger = "auto" if (request.compaction or {}).get("auto") else "manual"
            log.add(Compaction(message.time, trigger, NAME, place=place_of(request)))
        elif not message.about.get("summary") and (answered := request_of(message)):
            log.answered(answered.input_tokens or 0, answered.output_tokens)
    return log.compactions


def requests_among(messages: Sequence[StoredMessage]) -> Mapping[str, StoredMessage]:
    """By id: the users' messages that request a compaction, and have a summary; and checkpoints."""
    answered = {message.parent for message in messages if message.is_summary}
    return {
        m.id: m
        for m in messages
        if m.is_checkpoint or (m.id in answered and m.compaction is not None)
    }


def place_of(request: StoredMessage) -> int:
    """The place of a compaction: the time when it was requested, in milliseconds."""
    return round((request.time or 0) * 1000)
