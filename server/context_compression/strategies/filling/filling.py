"""`Filling`: a view of kept messages, and the edits that fill its room."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import fsum

from context_compression.conversation.messages import Message
from context_compression.planning.edits import Edit
from context_compression.planning.pieces import Weights
from context_compression.strategies import measured
from context_compression.strategies.filling.assembling import notes_of, with_payloads
from context_compression.strategies.filling.attempt import Attempt, Draft
from context_compression.strategies.filling.kept import Beside, KeptMessages, texts_in
from context_compression.strategies.filling.quoted_rules import tokens_owed
from context_compression.strategies.filling.shown_pictures import room_left, with_pictures
from context_compression.strategies.forms import Form, Forms
from context_compression.strategies.keep import cost, keep_only
from context_compression.strategies.pictures import Showing


class Filling:
    """A view that is being made: messages in their forms, and the room that pieces may fill.

    Attributes:
        left: the tokens of the room that the messages leave; negative if they take more.
        lacks_sure_rule: whether the edits had no room for a constraint that the user typed.
        showing: the pictures that the edits show, of those that they may leave out.
        shown_words: the evidence words that the edits leave in view, by number. Empty unless the
            edits were made with `weighed`.
        weights: the worth of each word that competes; empty in the same case.
    """

    lacks_sure_rule = False

    def __init__(
        self,
        forms: Forms,
        kept: Mapping[int, Form],
        room: int,
        first: int,
        shown: Mapping[int, Message] | None = None,
        beside: Beside | None = None,
    ) -> None:
        """A view of the kept messages.

        Args:
            forms: the forms of the messages of a plan.
            kept: the form of each message that stays, by index.
            room: the tokens that the view may take.
            first: from this index on, texts of the model may be messages of the view; earlier ones
                are only quoted.
            shown: kept messages that are shown in another way than their form, by index.
            beside: a note that the edits add; it takes no part of the room.
        """
        in_forms = {
            index: shown[index] if shown and index in shown else forms.plain(index, form)
            for index, form in kept.items()
        }
        self._base = KeptMessages(forms, kept, in_forms, room, first, beside or Beside())
        self.showing = Showing()
        self.shown_words: Iterable[int] = ()
        self.weights: Weights = {}
        self.left = room_left(self._base, self.showing)

    @property
    def kept(self) -> Mapping[int, Form]:
        """The form of each message that stays, by its index."""
        return self._base.kept

    @property
    def owed(self) -> int:
        """The least tokens of notes for dropped messages, including the user's constraints."""
        return tokens_owed(self._base, self.left)

    def edits(self, reason: str, *, weighed: bool = False) -> Sequence[Edit]:
        """Edits that leave the kept messages and as many pieces as the room holds.

        Args:
            reason: the reason of each edit.
            weighed: whether to set `shown_words` and `weights`, which `worth_of` needs.
        """
        if self._base.forms.pictures.in_order:
            self._base, self.showing = with_pictures(self._base, self.left)
            self.left = room_left(self._base, self.showing)
        draft, why = self._filled(weighed=weighed)
        view, notes = draft.view, draft.all_notes
        if weighed:
            self._remember_words({**view, **draft.notes})
        view = with_payloads(self._base, view, notes)
        return keep_only(self._base.plan, view, self._with_beside(view, notes), reason, why)

    def _with_beside(
        self, view: Mapping[int, Message], notes: Mapping[int, Message]
    ) -> Mapping[int, Message]:
        """The notes, with the one that the view has anyway before the note of the same run."""
        all_notes = {**notes}
        for at, note in self._base.beside.notes.items():
            start = max((i for i in notes if i <= at), default=None)
            if start is not None and view.keys().isdisjoint(range(start, at)):
                all_notes[at + 1] = all_notes.pop(start)
            all_notes[at] = note
        return all_notes

    def _filled(self, *, weighed: bool) -> tuple[Draft, Mapping[int, str]]:
        """The draft that fills the room, and how each message is shown in it.

        The view is assembled and counted. If it is too large, the attempt gives content back; if
        room is left, it takes more. This is repeated until nothing changes.
        """
        attempt = Attempt(self._base, self.showing, self.left)
        while True:
            draft = attempt.draft()
            left = attempt.left_by(draft)
            if left < 0:
                has_changed = attempt.give_back(-left)
            else:
                has_changed = left > attempt.slack and attempt.take_more(left)
            if not has_changed:
                break
            del draft  # two views at once would need too much memory
        attempt.settle()
        self.lacks_sure_rule |= attempt.lacks_sure_rule
        why = attempt.explained(draft)
        if weighed:
            self.weights = attempt.pool.weights(self._base.plan.used)
        del attempt  # it is as large as the view, and more is made next
        if left < 0 or not draft.notes:
            draft = self._with_one_mark(draft.view)
        return draft, why

    def _with_one_mark(self, view: dict[int, Message]) -> Draft:
        """The view without quotes, with one mark for missing messages if that fits."""
        notes = notes_of(self._base.quoting, view, {}, measured.BARE_NOTE_TOKENS)
        fits = cost(self._base.plan, view, notes) <= self._base.room
        return Draft(view, notes if fits else {})

    def _remember_words(self, shown: Mapping[int, Message]) -> None:
        numbers = map(self._base.plan.cutter.numbering.numbers, texts_in(shown))
        self.shown_words = {*chain.from_iterable(numbers)}

    def worth_of(self, other: "Filling") -> float:
        """The worth of the evidence in another view, as far as it competes here.

        The edits of both views must have been made with `weighed`.
        """
        known = self.weights if isinstance(self.weights, dict) else range(len(self.weights))
        return fsum(self.weights[number] for number in other.shown_words if number in known)
