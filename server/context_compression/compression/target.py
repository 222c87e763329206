"""`Target`: what one compression comes down to, whether anything is due, and the plan for it."""

from dataclasses import replace
from functools import cached_property

from context_compression.compression.prepared import PreparedConversation
from context_compression.conversation.system_prompt import ROOM
from context_compression.planning.plan import Plan
from context_compression.strategies import window

LEAST_OF_TARGET = 0.25
"""Share of the settings' target that is left for the view, however much a host adds to it."""
ALL_RECENT = "nothing to compress before the recent messages"


class Target:
    """What to come down to: the target of the request, or else that of the settings."""

    def __init__(self, prepared: PreparedConversation) -> None:
        self._prepared, self._request = prepared, prepared.request
        self._settings = prepared.settings

    @property
    def is_named(self) -> bool:
        """Whether the request names it."""
        return self._request.target_tokens is not None

    @property
    def is_automatic(self) -> bool:
        """Whether the compression runs because it is due, not because the caller wants it now."""
        return not self._request.force and not self.is_named

    @cached_property
    def tokens(self) -> int:
        """The target in tokens, system prompt and tool schemas included.

        A conversation that is already below the target of the settings, and is compressed by hand,
        comes down to the same share of its own size.
        """
        if self._request.target_tokens is not None:
            return self._request.target_tokens
        if self._prepared.tokens_before > self._of_settings:
            return self._of_settings
        return int(self._prepared.tokens_before * self._settings.target_usage)

    @property
    def _of_settings(self) -> int:
        """The target of the settings, less what a provider charges beyond our count."""
        tokens = self._settings.target_tokens
        return max(tokens - self._prepared.uncounted_tokens, int(LEAST_OF_TARGET * tokens))

    @cached_property
    def plan(self) -> Plan:
        """The plan of the conversation, with the tokens that its messages may take as its `room`.

        It has no room where a strategy is run by hand, without a target: that does all it can.
        Below the target of the settings only what lies before the tail is compressed. The tail
        takes half of the room at most; where all messages are recent, nothing lies before it.
        """
        prepared, unlimited = self._prepared, self._prepared.plan
        below = not self.is_named and prepared.tokens_before <= self._of_settings
        if below and prepared.strategy in ("offload", "truncate", "window"):
            return unlimited
        room = self.tokens - prepared.fixed_tokens
        if prepared.summary_in_system or prepared.prompt.at is not None:
            room -= prepared.counter.message(ROOM)
        plan = replace(unlimited, room=room)
        if not below:
            return plan
        all_recent = unlimited.tail == unlimited.head
        tail = range(unlimited.tail if all_recent else plan.tail, len(plan.messages))
        return replace(plan, pins=plan.pins.union(tail))

    @property
    def is_over_threshold(self) -> bool:
        """Whether a compression is due, by the upper bound, as `Usage.over_threshold` says."""
        return self._prepared.used.upper >= self._settings.threshold_tokens

    @property
    def room_below_threshold(self) -> int:
        """Tokens that the messages may take so that nothing is due, by the upper bound."""
        threshold = self._prepared.counter.count(self._settings.threshold_tokens)
        overhead = self._prepared.fixed_tokens + self._prepared.uncounted_tokens
        return max(0, threshold * threshold // max(1, threshold.upper) - overhead)

    def nothing_to_do(self) -> str | None:
        """Why nothing is compressed, in words; `None` where something is."""
        if self.is_named and self._prepared.tokens_before > self.tokens:
            return None
        if not self._request.messages:
            return "nothing to compress: the conversation is empty"
        if self.is_named:
            return "already within the target"
        if self._request.force:
            all_anchored = len(self.plan.anchored) >= len(self.plan.messages)
            return ALL_RECENT if all_anchored else None
        if self._prepared.strategy == "window" and window.is_due(self.plan):
            return None
        if self.is_over_threshold:
            return None
        return f"not due below {self._settings.threshold_tokens:,} tokens"
