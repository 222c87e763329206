"""Compressions that last: how small they make a view, and what they leave whole.

Each compression empties the prompt cache. So a conversation that grows fast is made smaller than
the default target, and the next compression comes later. A target that was set is kept. What the
model has not read yet stays whole, as far as there is room.
"""

from collections.abc import Sequence
from typing import Any

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import Message
from context_compression.planning.archive import offers_restore
from context_compression.session.recorded import RecordedConversation
from context_compression.session.state import State
from context_compression.tokens import Counter

LASTING = 30
"""For how many requests a compression should last."""
READABLE = 0.4
"""Share of the target up to which results stay whole that the model has not read, if it can restore
them; else they stay whole up to the target."""
BELOW_THRESHOLD = 0.9
"""Share of the room below the threshold that a compression may leave if results are larger, and the
model could not restore what it would not read."""


def options(conversation: RecordedConversation, state: State) -> dict[str, Any]:
    """The options of a compression that is due before a request."""
    settings, messages = conversation.settings, parse(state.view).messages
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
