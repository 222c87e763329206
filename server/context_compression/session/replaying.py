"""The state of a log. Its events are replayed; while the log only grows, each is replayed once."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from context_compression.display.strings import one_line
from context_compression.session.event_checks import makes_sense
from context_compression.session.savings import Tally
from context_compression.session.state import State
from context_compression.store import SessionLog

LONGEST_TYPE = 40
"""How many characters of the type of a skipped event are shown."""

T = TypeVar("T", State, Tally)


@dataclass(frozen=True)
class Replayed:
    """The events of a log that were already replayed.

    Attributes:
        state: after all of them.
        number: how many there are.
        last: the last of them, compared by identity; `None` if there is none.
    """

    state: State = field(default_factory=State)
    number: int = 0
    last: Mapping[str, Any] | None = None

    def begins(self, events: Sequence[Mapping[str, Any]]) -> bool:
        """Whether `events` begins with these."""
        if self.number == 0:
            return True
        return self.number <= len(events) and events[self.number - 1] is self.last


_replayed: WeakKeyDictionary[SessionLog, Replayed] = WeakKeyDictionary()


def state_of(log: SessionLog) -> State:
    """The state after all events of a log; if the log only grew, only new events are replayed.

    The state belongs to the caller; the messages and events in it must not be changed.
    """
    events = log.events()
    known = _replayed.get(log, Replayed())
    if not known.begins(events.items):
        known = Replayed()
    if known.number < len(events.items):
        state = _continued(known, events.items)
        known = Replayed(state, len(events.items), events.items[-1])
        _replayed[log] = known
    state = _with_own_containers(known.state)
    state.warnings[:0] = events.warnings
    return state


def _continued(known: Replayed, events: Sequence[Mapping[str, Any]]) -> State:
    state = _with_own_containers(known.state)
    for number, event in enumerate(events[known.number :], known.number + 1):
        if makes_sense(event, state):
            state.replay(event)
        else:
            state.number += 1
            kind = one_line(event.get("type"), LONGEST_TYPE)
            state.warnings.append(
                f"events.jsonl: event {number} ({kind}) makes no sense after those before it "
                "and was passed over"
            )
    return state


def _with_own_containers(original: T) -> T:
    """A copy that can be changed; the items in its lists, dicts and sets are the same objects."""
    copies = {each.name: copy(getattr(original, each.name)) for each in fields(original)}
    if isinstance(original, State):
        copies["tally"] = _with_own_containers(original.tally)
    return replace(original, **copies)
