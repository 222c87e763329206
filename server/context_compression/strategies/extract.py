"""`extract`: a must-keep set, and the remaining room filled with pieces chosen by evidence.

The must-keep set (`must_keep`) has levels. The first level that leaves its share of the room is
taken. The newest pictures and pieces fill the remaining room (`filling`). If only few of the newest
messages fit into a small room, two views are made, and the one with more evidence is taken.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.strategies import measured
from context_compression.strategies.base import Proposal, without_model
from context_compression.strategies.filling import Filling
from context_compression.strategies.floor import floor, leaves_half
from context_compression.strategies.forms import Forms, is_users, unread_in
from context_compression.strategies.must_keep import (
    Level,
    is_record,
    levels,
    loaded_again,
    must_keep,
)
from context_compression.strategies.unread import Unread, with_room


def propose(plan: Plan) -> Proposal:
    """Edits that leave the must-keep set and the pieces with the most evidence."""
    target = int(plan.total * plan.settings.target_usage)
    return without_model(extraction(plan, target if plan.room is None else plan.room))


def extraction(plan: Plan, room: int) -> Sequence[Edit]:
    """The edits that leave at most `room` tokens, if the smallest view is not larger."""
    least = floor(plan)
    if least.tokens >= room:  # a system prompt may take more than the target
        return least.edits
    views = Views(plan, room)
    edits: Sequence[Edit] = ()
    for level, view in views.in_order():
        rival = views.rival_of(level, view)
        edits = view.edits("extract", weighed=rival is not None)
        if view.lacks_sure_rule:
            continue
        if rival and not view.showing.shown:
            better = views.better(rival, view)
            edits = edits if better is None else better
        break
    return edits


class Views:
    """The views of the levels of the must-keep set."""

    def __init__(self, plan: Plan, room: int) -> None:
        self._plan, self._room = plan, room
        self._unread = Unread(Forms(plan), {})
        records = {i for i, message in enumerate(plan.messages) if is_record(message, plan)}
        users = {i for i, message in enumerate(plan.messages) if is_users(message)}
        self._always = records if plan.users_compete else records | users
        self._again = loaded_again(plan)
        self._unread = self._with_unread()

    def in_order(self) -> Iterator[tuple[Level, Filling]]:
        """The levels whose must-keep set leaves enough room, with their views.

        The level that keeps most comes first. Each view is made only when it is reached, and is not
        filled yet.
        """
        (*generous, least), tight = levels(self._plan)
        last = self._of(least)  # if it does not fit, the levels before it hardly ever do
        with_skeletons = chain(self._of_all(generous), [(least, last)]) if last else ()
        return chain(with_skeletons, self._of_all(tight), self._without_unread(tight[-1]))

    def _with_unread(self) -> Unread:
        """The room of the results that the model has not read; the smallest view must fit, too."""
        if not unread_in(self._plan):
            return self._unread
        smallest = self._of(levels(self._plan)[1][-1])
        assert smallest is not None  # it fits any room
        share = 0.5 if leaves_half(self._plan, self._room) else measured.UNREAD_SHARE
        return with_room(self._unread.forms, int(share * self._room), smallest.left - smallest.owed)

    def _without_unread(self, smallest: Level) -> Iterator[tuple[Level, Filling]]:
        """The smallest view, if results that the model has not read took the room of rules."""
        if self._unread.kept:
            self._unread = Unread(self._unread.forms, {})
            yield from self._of_all([smallest])

    def _of_all(self, some: Iterable[Level]) -> Iterator[tuple[Level, Filling]]:
        return ((level, view) for level in some if (view := self._of(level)))

    def _of(self, level: Level) -> Filling | None:
        """The view of a level; `None` if its must-keep set takes too much of the room."""
        unread = self._unread
        kept = must_keep(self._plan, level, self._room, self._always, self._again, unread.kept)
        view = Filling(unread.forms, kept, self._room, level.first)
        if view.left < level.spare * (self._room - unread.tokens):
            return None
        return view if level.spare < 0 or view.left >= view.owed else None

    def rival_of(self, level: Level, view: Filling) -> Level | None:
        """Another level that may show more, if a small view keeps fewer of the newest messages.

        `None` if the view keeps the message that the user's last words reply to, because that is
        worth more.
        """
        small = (
            self._room <= measured.RIVAL_ROOM_TOKENS
            and self._plan.total <= measured.RIVAL_TOTAL_TOKENS
        )
        fewer = small and not view.kept.keys() >= {*level.left_out}
        return level.rival if fewer and self._plan.replied_to not in view.kept else None

    def better(self, rival: Level, view: Filling) -> Sequence[Edit] | None:
        """The edits of a rival's view if it shows clearly more evidence than `view`, or `None`."""
        other = self._of(rival)
        if other is None:
            return None
        edits = other.edits("extract", weighed=True)
        if other.lacks_sure_rule:
            return None
        gain = measured.RIVAL_GAIN * other.worth_of(view)
        return edits if other.worth_of(other) > gain else None
