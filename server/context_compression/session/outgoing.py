"""`Outgoing`: what goes out for a view: the view, repaired so that its provider accepts it.

The record keeps what came, and so does its view. A repair depends on the messages alone, so the
next request begins with the same messages. If a late result comes, it replaces the note for it.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from context_compression.conversation.messages import Message
from context_compression.conversation.refs import digest_of
from context_compression.conversation.system_prompt import with_summary
from context_compression.conversation.validity.growing import GrowingRepair, Sendable
from context_compression.errors import InvalidConversation
from context_compression.plurals import how_many
from context_compression.session.state import State
from context_compression.strategies.keep import unbound
from context_compression.tokens.usage import AnyMessages

if TYPE_CHECKING:
    from context_compression.session.session import Session

logger = logging.getLogger(__name__)
MOST_TOLD = 8
"""How many repairs are told one by one."""


def system_for(session: "Session", state: State, messages: AnyMessages | None = None) -> Any:
    """The system prompt of a session for a state, or for messages of a host.

    If the messages do not begin with the state's view, it is the prompt as it was given.
    """
    own = messages is None or list(messages[: len(state.view)]) == state.view
    if state.summary_in_system is None or not own:
        return session.given_system
    return with_summary(session.given_system, state.summary_in_system)


class Outgoing:
    """Repairs the views of one conversation, one after another."""

    def __init__(self) -> None:
        self._growing = GrowingRepair()
        self._since: Mapping[str, int] = {}
        self._told: set[str] = set()

    def of(
        self, view: Sequence[Mapping[str, Any]], *, drops_thinking: bool, name: str = ""
    ) -> Sendable:
        """What goes out for a view; without a repair, the messages are the very objects.

        Thinking that is bound to what was before a repair is left out, by whole turns. Thinking
        that came after the repair was first sent is bound to the repaired messages, and stays.

        Args:
            view: the messages of a conversation.
            drops_thinking: whether the model refuses thinking after a change.
            name: of the session, to log each kind of repair once.
        """
        try:
            sendable, values = self._growing.sendable(view)
        except InvalidConversation:  # what nobody can read is sent as it is
            return as_it_is(view)
        if not sendable.repairs:
            self._since = {}
            return sendable
        self._tell(sendable.repairs, name)
        if drops_thinking:
            sendable = self._without_stale_thinking(sendable, values, len(view))
        return sendable

    def _without_stale_thinking(
        self, sendable: Sendable, values: Sequence[Message], size: int
    ) -> Sendable:
        changes = [*_changes(sendable)]
        known = self._since
        self._since = {key: known.get(key, size) for _, key in changes}
        if not any(message.has_bound_thinking for message in values):
            return sendable
        turns = _turns(values)
        until = [0] * len(values)
        for place, key in changes:
            begins = turns[place] if place < len(turns) else len(turns)
            if begins < len(until):
                until[begins] = max(until[begins], self._since[key])
        until = [*accumulate(until, max)]
        return _without_thinking(sendable, values, until)

    def _tell(self, repairs: Sequence[str], name: str) -> None:
        for repair in repairs:
            kind = " ".join(word for word in repair.split() if word.isalpha())
            if name and kind not in self._told:
                self._told.add(kind)
                logger.warning("session %s: the request was repaired: %s", name, repair)


def as_it_is(view: Sequence[Mapping[str, Any]]) -> Sendable:
    """What goes out without a repair, as beside messages that nobody can read.

    One of those may stand where a repair would find two messages of one role.
    """
    places = range(len(view))
    return Sendable(list(view), [*places], [False for _ in places])


def told(repairs: Sequence[str]) -> list[str]:
    """A sentence for each repair of what goes out."""
    sentences = [f"what is sent is repaired: {repair}" for repair in repairs[:MOST_TOLD]]
    if more := len(repairs) - MOST_TOLD:
        sentences += [f"{how_many(more, 'more repair')} of what is sent"] if more > 0 else []
    return sentences


def _changes(sendable: Sendable) -> Iterator[tuple[int, str]]:
    """The places that a repair changed, each with a key that tells the change from others."""
    due = 0
    for place, (of, repaired) in enumerate(zip(sendable.origins, sendable.repaired, strict=True)):
        if repaired:
            yield place, f"{due} {digest_of(sendable.messages[place])}"
        elif of != due:
            yield place, f"{due} {of}"
        due = due if of is None else of + 1


def _turns(values: Sequence[Message]) -> list[int]:
    """For each message where its turn begins."""
    begins, turns = 0, list[int]()
    for at, message in enumerate(values):
        begins = at if message.starts_turn else begins
        turns.append(begins)
    return turns


def _without_thinking(
    sendable: Sendable, values: Sequence[Message], until: Sequence[int]
) -> Sendable:
    """The messages without the bound thinking of those that came before the given numbers."""
    left: list[tuple[Any, int | None, bool]] = []
    whole = zip(sendable.messages, sendable.origins, sendable.repaired, strict=True)
    for at, (each, value) in enumerate(zip(whole, values, strict=True)):
        bare = unbound(value) if (each[1] or 0) < until[at] else value
        if bare is value:
            left.append(each)
        elif bare.blocks:
            left.append((sendable.write(bare), each[1], True))
    messages, origins, repaired = zip(*left, strict=True) if left else ((), (), ())
    return Sendable(
        list(messages), list(origins), list(repaired), sendable.repairs, sendable.format
    )
