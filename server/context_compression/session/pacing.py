"""When a session compresses by itself, how deep, and when originals come back."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import Message, is_by_model, unanswered
from context_compression.errors import InvalidConversation
from context_compression.planning.plan import Archive, offers_restore
from context_compression.session.archive import settled_in
from context_compression.session.events import timestamp, undo_of
from context_compression.session.outgoing import system_for
from context_compression.session.state import State
from context_compression.settings import Settings
from context_compression.strategies import window
from context_compression.summaries.errors import Error, is_foreign_thinking, is_overflow
from context_compression.threads import tell
from context_compression.tokens import Counter, fingerprint
from context_compression.tokens.usage import AnyMessages, Usage

if TYPE_CHECKING:
    from context_compression.session.session import Session

logger = logging.getLogger(__name__)
Reason: TypeAlias = Literal["threshold", "overflow", "thinking", "manual", "background"]
GROWTH = 1.05
"""Factor by which a view must have grown since a compression before the next automatic one.

Without it, a compression that leaves little room below the threshold would be followed by another
at every request. Each would empty the prompt cache and take the newest results out of view.
"""


@dataclass(frozen=True)
class Event:
    """The start or the end of a compression.

    Attributes:
        kind: `start` or `end`.
        reason: `threshold`: it was due; `overflow`: a request was refused as too long; `thinking`:
            a request was refused because its thinking is no longer valid; `manual`: the caller
            requested it; `background`: it is prepared beside the agent's work, and the events of
            `threshold` tell when it is written.
        tokens_before: of the view.
        tokens_after: of the view at the end.
        aborted: whether it was cancelled or failed.
        will_retry: whether the refused request should be sent again.
        first_kept: index in the recorded history of the first message that a summary does not
            cover.
        cost: of the summary in US dollars, if the summarizer knows a price.
        error: why it was aborted, or why it has no summary although one was asked for.
        usage: tokens of the summary's calls, by the names of `SummaryReply`, and the cost.
        session: the id of the session.
        strategy: the strategy that made the view; `"none"` if nothing was compressed, and "" before
            that is known.
        files_removed: the paths of offloaded files that were deleted.
        missed: why the context is larger than its target, in plain words; "" if it is not.
    """

    kind: Literal["start", "end"]
    reason: Reason
    tokens_before: int = 0
    tokens_after: int = 0
    aborted: bool = False
    will_retry: bool = False
    first_kept: int | None = None
    cost: float | None = None
    error: str | None = None
    usage: Mapping[str, float | None] | None = None
    session: str = ""
    strategy: str = ""
    files_removed: tuple[str, ...] = ()
    missed: str = ""


@dataclass(frozen=True)
class PlannedCompression:
    """A compression that is about to run.

    Attributes:
        reason: why it runs.
        options: those of `Session.compress`.
        messages: the conversation, if its host keeps it.
        loop: index in the view of the first message of a running tool loop, which stays as it is.
        usage: how full the context is, if that is counted already.
    """

    reason: Reason
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    messages: AnyMessages | None = None
    loop: int | None = None
    usage: Usage | None = None


class Announcer:
    """Calls `on_event`, in the caller's event loop if there is one. Its first error is logged.

    Attributes:
        on_event: the function.
        no_summary: why the last compression has no summary; "" if it has one, or needs none.
    """

    def __init__(self, on_event: Callable[[Event], object], no_summary: str = "") -> None:
        self.on_event, self.no_summary = on_event, no_summary
        self._has_failed = False

    def __call__(self, event: Event) -> None:
        """Announce an event."""
        if event.error or event.strategy not in ("", "none"):
            self.no_summary = (event.error or "") if event.strategy else self.no_summary
        try:
            tell(partial(self.on_event, event))
        except Exception as error:
            if not self._has_failed:
                why = str(error) or type(error).__name__
                logger.warning("session %s: on_event failed: %s", event.session, why)
            self._has_failed = True


class Pace:
    """Prevents loops of compressions in one session."""

    def __init__(self) -> None:
        self._left = 0
        self._recovered: set[Reason] = set()

    def worth_trying(self, tokens: int) -> bool:
        """Whether the view has grown enough since the last compression for an automatic one."""
        self._left = min(self._left, tokens)  # the view is smaller after a rewind
        return tokens > GROWTH * self._left

    def tried(self, tokens_after: int) -> None:
        """Record the size of the view after a compression, even a failed one."""
        self._left = tokens_after

    def answered(self) -> None:
        """Record that the model answered, so that the next refusal may be recovered from."""
        self._recovered.clear()

    def may_recover(self, reason: Reason) -> bool:
        """Whether a refused request may be retried for a reason: once until the model answers."""
        first = reason not in self._recovered
        self._recovered.add(reason)
        return first


# Plans the compressions that a session starts itself: when one is due, and after a refusal.


@dataclass(frozen=True)
class Due:
    """Whether an automatic compression is due, and what decides it.

    Due(False, "due from 160,000 tokens on: 80 % of 200,000")
    """

    now: bool
    reason: str


def due(conversation: "Session", usage: Usage, messages: AnyMessages | None = None) -> Due:
    """Whether an automatic compression is due: over the threshold, or by the turns for `window`.

    `messages` are the content of the context, if a host keeps the history; else it is the view.

    Raises:
        InvalidConversation: the messages are not in a format we know.
    """
    settings = conversation.settings
    over = f"due from {usage.threshold_tokens:,} tokens on: {usage.threshold_reason}"
    if usage.over_threshold and usage.used_tokens < usage.threshold_tokens:
        over += f"; the count may be {usage.used_tokens.upper:,}"
    if not settings.auto_compress:
        return Due(False, f"never due by itself, because auto_compress is off; else {over}")
    if usage.over_threshold or settings.strategy != "window":
        return Due(usage.over_threshold, over)
    state = conversation.state()
    read = parse(state.view if messages is None else messages).messages
    turns = min(2 * settings.keep_recent, settings.max_turns)
    return Due(
        window.due_by_turns(read, settings, Archive(settled=settled_in(state))),
        f"due above {turns:,} turns, for the strategy window; in any case {over}",
    )


def answering(conversation: "Session") -> dict[str, Any]:
    """The options of a compression before a request that goes out in any case."""
    return {"must_answer": True, "restores": offers_restore(conversation.tools)}


def before_request(conversation: "Session", pace: Pace, usage: Usage) -> PlannedCompression | None:
    """The compression that is due before the next request, if it is worth trying."""
    worth_trying = pace.worth_trying(usage.used_tokens) and due(conversation, usage).now
    options = answering(conversation)
    return PlannedCompression("threshold", options, usage=usage) if worth_trying else None


def after_refusal(conversation: "Session", pace: Pace, error: Error) -> PlannedCompression | None:
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


# Compressions that last: how small they make a view, and what they leave whole.
#
# Each compression empties the prompt cache. So a conversation that grows fast is made smaller than
# the default target, and the next compression comes later. A target that was set is kept. What the
# model has not read yet stays whole, as far as there is room.


LASTING = 30
"""For how many requests a compression should last."""
READABLE = 0.4
"""Share of the target up to which results stay whole that the model has not read, if it can restore
them; else they stay whole up to the target."""
BELOW_THRESHOLD = 0.9
"""Share of the room below the threshold that a compression may leave if results are larger, and the
model could not restore what it would not read."""


def lasting_options(
    conversation: "Session", state: State, messages: Sequence[Message]
) -> dict[str, Any]:
    """The options of a compression that is due before a request; `messages` are the view."""
    settings = conversation.settings
    counter = Counter(conversation.model, conversation.counter)
    unread = _unread(messages)
    kept = counter.messages(messages[unread:])
    most = READABLE if offers_restore(conversation.tools) else 1
    largest = int(most * settings.target_tokens)
    fits = kept <= largest
    pins = {"pins": tuple(range(unread, len(messages))) if fits else ()}
    if "target_usage" in settings.model_fields_set:  # what was set is what they want
        return pins
    if not fits and most == 1:  # what is left out, the model would never read
        below = counter.count(int(BELOW_THRESHOLD * settings.threshold_tokens))
        return {"aim": below * below // max(1, below.upper)}  # the upper bound is what is due
    kept = min(kept, largest)
    new = messages[len(messages) - state.behind :]
    growth = counter.total(new).upper / max(1, sum(m.role == "assistant" for m in new))
    wanted = settings.threshold_tokens - LASTING * growth
    least = settings.manual_target_usage * settings.token_budget + kept
    return {**pins, "aim": max(1, int(min(settings.target_tokens, max(wanted, least))))}


def _unread(messages: Sequence[Message]) -> int:
    """The index of the first message after the last one of the model."""
    said = (at for at in reversed(range(len(messages))) if messages[at].role == "assistant")
    return next(said, -1) + 1


# Compressions for which there was much less room than there is now: their originals come back.
#
# One request may have a large system prompt, many tools, or a model with a smaller window. What
# the context gave up for it is in the record, so the compression is undone when a later request
# has room. So is one for whose newest results older messages had to leave, once the model has read
# those.


LARGER = 2
"""How many times the room of a compression there must be before it is undone, because a changed
context empties the prompt cache."""
CROWDED = 0.4
"""The share of a compression's room from which on its unread results left too little for others."""


def room_of(conversation: "Session", system: Any) -> int:
    """The tokens that the settings' target leaves for messages beside system prompt and tools."""
    counter = Counter(conversation.model, conversation.counter)
    beside = counter.system(system) + counter.tools(conversation.tools)
    return max(0, conversation.settings.target_tokens - beside)


def is_much_larger(room: int, earlier: float) -> bool:
    """Whether a room is so much larger than an earlier one that originals come back."""
    return room > 0 and room >= LARGER * earlier


def undone(conversation: "Session", state: State) -> list[dict[str, Any]]:
    """The events that undo automatic compressions made in much less room; mostly none.

    A compression that had not even room for its target is undone in any case. Another one is undone
    only if the originals fit below the threshold. The state is changed.
    """
    room = room_of(conversation, system_for(conversation, state))
    now, events, enough = timestamp(), list[dict[str, Any]](), 0
    while (crowded := _was_crowded(conversation, state)) or is_much_larger(room, _had(state)):
        last = state.compressions[-1]
        events.append(undo_of(last, now))
        state.replay(events[-1])
        if crowded or last.get("missed") or not conversation.usage(state.view).over_threshold:
            enough = len(events)
    return events[:enough]


def _had(state: State) -> float:
    """The room that the last compression had; infinite if it is not automatic, or there is none."""
    room = state.compressions[-1].get("room") if state.compressions else None
    return room if isinstance(room, int) and room >= 0 else math.inf


def _was_crowded(conversation: "Session", state: State) -> bool:
    """Whether results took the room of older messages in the last compression, and are read now."""
    last: Mapping[str, Any] = state.compressions[-1] if state.compressions else {}
    room, after = last.get("room"), last.get("tokens_after")
    if not (isinstance(room, int) and isinstance(after, int) and _is_read(state)):
        return False
    shown = state.view[: len(state.view) - state.behind]
    came = unanswered(state.recorded[: len(state.recorded) - state.behind])
    count = min(came, unanswered(shown))  # a note before them is no result
    try:
        unread = parse(shown[len(shown) - count :]).messages
    except InvalidConversation:  # words of the user, which do not show their format
        return False
    taken = Counter(conversation.model, conversation.counter).messages(unread)
    beside = conversation.settings.target_tokens - room
    return taken > CROWDED * room and is_much_larger(room, after - beside - taken)


def _is_read(state: State) -> bool:
    """Whether the model answered since the last compression."""
    return any(map(is_by_model, state.view[len(state.view) - state.behind :]))


class Room:
    """The room of a conversation's requests, which may differ from one to the next."""

    def __init__(self, conversation: "Session") -> None:
        self._conversation = conversation
        self._known: tuple[int, int, bool] | None = None
        self._over = ""

    @property
    def warnings(self) -> Sequence[str]:
        """A sentence if the last request exceeded the window."""
        return [self._over] if self._over else []

    def state(self) -> State:
        """The state, after what an earlier request gave up came back if there is room for it."""
        conversation = self._conversation
        state = conversation.state()
        if not state.compressions:
            return state
        beside = fingerprint((conversation.given_system, conversation.tools))
        if (beside, len(state.compressions), _is_read(state)) != self._known:
            conversation.log.append(*undone(conversation, state))
            state = conversation.state()
            self._known = beside, len(state.compressions), _is_read(state)
        return state

    def tell(self, tokens: int) -> None:
        """Tell whether a request of so many tokens exceeds the window, and by how much."""
        window = self._conversation.settings.token_budget
        self._over = ""
        if tokens > window:
            more = f"{tokens - window:,} more than the window of {window:,}"
            self._over = f"a request of {tokens:,} tokens goes out, {more}"
            logger.warning("session %s: %s", self._conversation.id, self._over)
