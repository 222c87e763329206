"""The live messages of an opencode session: a summary, kept messages, and those that followed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from context_compression.conversation.messages import as_object
from context_compression.transcripts.lines import string
from context_compression.transcripts.times import seconds

Object: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class StoredMessage:
    """A message with its parts."""

    id: str
    about: Object
    parts: Sequence[Object]

    @property
    def compaction(self) -> Object | None:
        """The part that requests a summary; `None` if there is none."""
        if self.about.get("role") != "user":
            return None
        return next((part for part in self.parts if part.get("type") == "compaction"), None)

    @property
    def parent(self) -> str:
        """The id of the user's message that this message answers."""
        return string(self.about, "parentID")

    @property
    def time(self) -> float | None:
        """When it was complete, or else created, in seconds since 1970."""
        times = as_object(self.about.get("time"))
        return seconds(times.get("completed") or times.get("created"))

    @property
    def is_checkpoint(self) -> bool:
        """Whether it takes the place of all messages before it (opencode 2)."""
        return "checkpoint" in self.about

    @property
    def is_summary(self) -> bool:
        """Whether it is a complete summary."""
        about = self.about
        ended = about.get("finish") and not about.get("error")
        return bool(about.get("role") == "assistant" and about.get("summary") and ended)


def not_reverted(newest_first: Iterable[StoredMessage], revert: Object) -> Iterator[StoredMessage]:
    """The messages without those that the user reverted.

    The host itself removes reverted messages before the next request.
    """
    first, part = string(revert, "messageID"), string(revert, "partID")
    for message in newest_first:  # ids grow with time
        if not first or message.id < first:
            yield message
        elif message.id == first and part:
            kept = [own for own in message.parts if string(own, "id") < part]
            yield StoredMessage(message.id, message.about, kept)


def live_messages(newest_first: Iterable[StoredMessage]) -> tuple[list[StoredMessage], set[str]]:
    """The messages in the order they are sent, and the ids of those since the last compaction."""
    taken: list[StoredMessage] = []
    answered: set[str] = set()  # users' messages that a summary answers
    until = ""
    for message in newest_first:
        taken.append(message)
        if message.is_checkpoint:
            break
        if until:
            if message.id == until:
                break
            continue
        request = message.compaction if message.id in answered else None
        if request is not None:
            until = string(request, "tail_start_id")
            if until in ("", message.id):
                break
        elif message.is_summary:
            answered.add(message.parent)
    taken.reverse()
    summaries = [
        n
        for n, m in enumerate(taken, 1)
        if m.is_checkpoint or (m.is_summary and m.parent in answered)
    ]
    new = taken[max(summaries, default=0) :]
    return _with_kept_behind(taken), {message.id for message in new}


def _with_kept_behind(messages: list[StoredMessage]) -> list[StoredMessage]:
    """The messages, with those that a compaction kept moved after its summary."""
    ids = [message.id for message in messages]
    tails = [string(message.compaction or {}, "tail_start_id") for message in messages]
    place = max((n for n, tail in enumerate(tails) if tail), default=len(ids))
    if place == len(ids) or tails[place] not in ids[:place]:
        return messages
    kept = ids.index(tails[place])
    for n, message in enumerate(messages[place:], place):
        if message.about.get("summary") is True and message.parent == ids[place]:
            return [*messages[place : n + 1], *messages[kept:place], *messages[n + 1 :]]
    return messages
