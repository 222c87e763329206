"""`Attempt`: the content of one attempt at a view, in addition to the kept messages.

An attempt that is too large gives back content in this order: the lines of files and names beyond
their share; pieces, the worst first; pictures; the lines; marks with refs; the newest outcome; and
last the user's constraints, except those that stand in each view. An attempt with room left takes
more pieces, then pictures, then more names.
"""

from collections.abc import Iterator, Mapping
from itertools import chain

from context_compression.conversation.messages import Message
from context_compression.planning.pieces import Place
from context_compression.strategies import measured
from context_compression.strategies.filling.assembling import assembled
from context_compression.strategies.filling.competing import competition
from context_compression.strategies.filling.dates import with_dates
from context_compression.strategies.filling.explanation import explanation
from context_compression.strategies.filling.kept import KeptMessages
from context_compression.strategies.filling.lines import FilesAndNames
from context_compression.strategies.filling.outcome import newest_outcome
from context_compression.strategies.filling.quoted_rules import rules_with_room
from context_compression.strategies.keep import cost
from context_compression.strategies.pictures import Showing


class Draft:
    """The view of one attempt.

    Attributes:
        view: the messages of the view, by index.
        notes: the notes for runs of dropped messages, by the first index of the run.
        with_lines: the last note with the lines of files and names, by the same index; empty if
            there are no lines.
    """

    def __init__(
        self,
        view: dict[int, Message],
        notes: dict[int, Message],
        lines: FilesAndNames | None = None,
    ) -> None:
        self.view, self.notes = view, notes
        self.with_lines: Mapping[int, Message] = lines.appended(view, notes) if lines else {}

    @property
    def all_notes(self) -> dict[int, Message]:
        """The notes, including the lines of the last note."""
        return {**self.notes, **self.with_lines}


class Attempt:
    """The content that a view shows in addition to its kept messages.

    Attributes:
        slack: the tokens of the room that may stay empty.
        pool: the pieces that compete.
        lacks_sure_rule: whether a constraint that the user typed had no room.
    """

    def __init__(self, base: KeptMessages, showing: Showing, left: int) -> None:
        """The first attempt: the constraints, the lines, and as many pieces as seem to fit.

        Args:
            base: the kept messages.
            showing: the pictures that are shown.
            left: the tokens of the room that kept messages and pictures leave.
        """
        self._base, self._showing = base, showing
        self.pool, self._choice = competition(base)
        rules = rules_with_room(base, self.pool, left)
        self._standing, self._rules, self.lacks_sure_rule = rules
        self._lines = FilesAndNames(base)
        self._mark_tokens = max(measured.GAPS_SHARE * base.room, measured.BARE_NOTE_TOKENS)
        small = min(1.0, base.room / measured.LARGE_ROOM_TOKENS)
        self.slack = measured.SLACK_SHARE * base.room * small
        due = measured.NOTE_TOKENS + self._lines.for_files + self._lines.for_names
        due += sum(rule.tokens for rule in (*self._standing, *self._rules))
        self._outcome, tokens = newest_outcome(base, self.pool, left)
        due += tokens
        self._chosen = self._choice.take(left - due)
        self._rounds = measured.FILLING_ROUNDS  # how often more pieces may be taken
        self._misses = 0  # how often in a row the view was too large
        self._fits = 0  # how many pieces are known to fit
        self._trust = 1.0  # the share of the room left that estimates may fill

    def draft(self) -> Draft:
        """The view with all content of this attempt."""
        view, notes = assembled(
            self._base, self._showing, self.pool, self._places(), self._mark_tokens
        )
        return Draft(view, notes, self._lines)

    def _places(self) -> Iterator[Place]:
        """The places of the constraints and the chosen pieces, with dates of stretches."""
        pieces = map(self.pool.place, sorted(self._chosen))
        rules = (rule.place for rule in (*self._standing, *self._rules))
        if not (self._chosen or self._rules or self._outcome):
            return rules
        return with_dates(self._base, self.pool, chain(rules, self._outcome, pieces))

    def left_by(self, draft: Draft) -> int:
        """The tokens of the room that a draft leaves; negative if it takes more."""
        return self._base.room - cost(self._base.plan, draft.view, draft.all_notes)

    def give_back(self, missing: float) -> bool:
        """Show less; `False` if nothing more can be given back.

        Args:
            missing: the tokens that the view takes beyond its room.
        """
        if self._lines.more:
            self._lines.more = self._lines.more / 2 if self._lines.more > self.slack else 0.0
            return True
        self._misses += 1  # after some misses more is given back at once, to keep rounds few
        missing *= 2 ** max(0, self._misses - measured.FILLING_ROUNDS)
        if self._chosen:
            self._give_back_pieces(missing)
            if self._chosen:
                return True
        elif self._showing.shown:
            self._showing.give_back()
        elif self._lines:
            self._lines.drop()
        elif self._mark_tokens:
            self._mark_tokens = 0.0
        elif self._outcome:
            self._outcome = ()
        elif self._rules:
            self._give_back_rules(missing)
            return True
        else:
            self.lacks_sure_rule |= bool(self._standing)
            return False
        self._misses = 0
        return True

    def _give_back_pieces(self, missing: float) -> None:
        if self._fits >= len(self._chosen):
            self._fits = 0  # a counter may give different counts for one text
        while missing > 0 and len(self._chosen) > self._fits:
            piece = self._chosen.pop()
            gap = self.pool.gap_tokens[self.pool.source_of[piece]]
            missing -= measured.FREED_SHARE * (self.pool.tokens(piece) + gap)
        if len(self._chosen) <= self._fits:
            self._trust /= 2  # nothing fit, as where each piece needs a note of its own

    def _give_back_rules(self, missing: float) -> None:
        while missing > 0 and self._rules:
            rule = self._rules.pop()
            missing -= rule.tokens
            self.lacks_sure_rule |= rule.sure

    def take_more(self, left: float) -> bool:
        """Show more in `left` tokens; `False` if nothing more can be shown."""
        if self._rounds and (others := self._choice.take(self._trust * left)):
            self._rounds, self._misses, self._fits = self._rounds - 1, 0, len(self._chosen)
            self._chosen += others
        elif self._showing.take(left):
            self._fits = len(self._chosen)
        elif self._lines and self._lines.more is None:
            self._lines.more = measured.SURE_SHARE * left
        else:
            return False
        return True

    def settle(self) -> None:
        """Release the pieces that were not chosen, which take as much memory as the view."""
        del self._choice

    def explained(self, draft: Draft) -> dict[int, str]:
        """How each message of a draft that is not shown in full is shown, by index."""
        rules = (*self._standing, *self._rules)
        return explanation(self._base, draft.view, self.pool, self._chosen, rules)
