"""`Filling`: a view of kept messages, and the edits that fill its room with other pieces.

`Attempt`: the content of one attempt at a view, in addition to the kept messages. An attempt that
is too large gives back content in this order: the lines of files and names beyond their share;
pieces, the worst first; pictures; the lines; marks with refs; the newest outcome; and last the
user's constraints, except those that stand in each view. An attempt with room left takes more
pieces, then pictures, then more names.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import inf

from context_compression.conversation.messages import Message, user
from context_compression.planning.edits import Edit, Weighed, is_recorded
from context_compression.planning.pieces import DUE, FAILURE, REASON, Place
from context_compression.planning.plan import Plan
from context_compression.plurals import how_many
from context_compression.strategies import last_lines, measured
from context_compression.strategies.competing import (
    Beside,
    KeptMessages,
    competition,
    newest_outcome,
    texts_in_view,
    with_dates,
)
from context_compression.strategies.forms import Form, Forms
from context_compression.strategies.keep import cost, keep_only, saved_by
from context_compression.strategies.last_lines import Files
from context_compression.strategies.notes import (
    assembled,
    notes_of,
    room_left,
    with_payloads,
    with_pictures,
)
from context_compression.strategies.pictures import Showing
from context_compression.strategies.rules import rules_with_room, tokens_owed
from context_compression.strategies.tool_results import answered_steps
from context_compression.strategies.weighing import record_of

NAMES_OF_FORMS: Mapping[Form, str] = {
    Form.RESULTS: "preview", Form.PREVIEW: "preview", Form.CLIPPED: "clipped",
    Form.SKELETON: "skeleton", Form.LEAST: "shortened", Form.ENDING: "shortened",
    Form.UNREAD: "shortened",
}  # fmt: skip
"""The names of forms in the report."""
NAMES_OF_SIGNS: Mapping[int, str] = {FAILURE: "a failure", REASON: "a decision", DUE: "a task"}
"""The names of signs in the report, for the parts that are shown."""


class FilesAndNames:
    """The room of the two lines: of files that were worked on, and of names that were used.

    Attributes:
        for_files: the tokens of the line of files; 0 if the view has no such line.
        for_names: the tokens of the line of names; 0 if the view has no such line.
        more: the tokens that are left over in the end; `None` until they are known. They are added
            to the line of names if there is one, else to the line of files.
    """

    def __init__(self, base: KeptMessages) -> None:
        """Room for the files and names that the kept messages do not mention."""
        self._base = base
        self.for_names = self._tokens_for_names()
        self.for_files = self._tokens_for_files()
        self.more: float | None = None

    def __bool__(self) -> bool:
        return bool(self.for_files or self.for_names)

    def drop(self) -> None:
        """Remove the lines."""
        self.for_files = self.for_names = 0.0

    def _tokens_for_files(self) -> float:
        base = self._base
        count, room = base.plan.counter.text, measured.FILES_SHARE * base.room
        return count(self._files.line(texts_in_view(base.shown), count, room))

    @property
    def _files(self) -> Files:
        """The changed files; in a small view of a long conversation also those that were read."""
        files = self._base.quoting.files
        return files if self._base.lacks_much else files.changed

    def _tokens_for_names(self) -> float:
        """The tokens of the line of names; lines in earlier notes take from the same share."""
        base = self._base
        if not base.lacks_much or base.room >= measured.VERY_SMALL_SHARE * base.plan.total:
            return 0.0
        count, texts = base.plan.counter.text, [*texts_in_view(base.shown)]
        room = measured.NAMES_SHARE * base.room - sum(map(count, last_lines.lines_in(texts)))
        return count(last_lines.line(base.quoting.names, texts, count, room))

    def appended(
        self, view: Mapping[int, Message], notes: Mapping[int, Message]
    ) -> Mapping[int, Message]:
        """The last note that stays smaller than its messages with the lines, by its index.

        Empty if there are no lines, or if no note has room for them.
        """
        if not self or not notes:
            return {}
        plan = self._base.plan
        lines = self._lines([*texts_in_view({**view, **notes})])
        stops = [*sorted(view), len(plan.messages)]
        for start in sorted(notes, reverse=True) if lines else ():
            note = user("\n".join([notes[start].text, *lines]))
            replaced = plan.tokens[start : stops[bisect(stops, start)]]
            if plan.counter.message(note) < sum(replaced):
                return {start: note}
        return {}

    def _lines(self, texts: list[str]) -> list[str]:
        """The lines of the files and names that some texts lack, without empty lines."""
        count, quoting, more = self._base.plan.counter.text, self._base.quoting, self.more or 0.0
        lines: list[str] = []
        if self.for_files:
            room = self.for_files if self.for_names else self.for_files + more
            lines.append(self._files.line(texts, count, room))
        if self.for_names:
            room = self.for_names + more
            lines.append(last_lines.line(quoting.names, texts + lines, count, room))
        return [*filter(None, lines)]


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

    def record(self, view: Mapping[int, Message], *, quotes: bool) -> Weighed:
        """What competed for the room of a view; `quotes` says whether it has notes with quotes."""
        places = ((self.pool.sources[place[0]].message, place) for place in self._places())
        shown = [place for message, place in places if quotes or message in view]
        return record_of(self._base, self.pool, self._choice, shown, view)

    def settle(self) -> None:
        """Release the pieces that were not chosen, which take as much memory as the view."""
        del self._choice

    def reasons(self, view: Mapping[int, Message], *, quotes: bool) -> dict[int, str]:
        """How each message that is not shown in full is shown: its form, its parts, their signs.

        Args:
            view: the messages of the view, by index.
            quotes: whether the view has notes with quotes of other messages.
        """
        base, pool = self._base, self.pool
        parts, shown = Counter[int](), Counter[int]()
        contents: dict[int, list[str]] = {}
        for number, source in enumerate(pool.sources):
            parts[source.message] += pool.count(number)
        for rule in (*self._standing, *self._rules):
            contents[pool.sources[rule.place[0]].message] = ["a rule"]
        for number, *_ in self._outcome:
            contents.setdefault(pool.sources[number].message, []).append("the newest outcome")
        for piece in self._chosen:
            index = pool.sources[pool.source_of[piece]].message
            shown[index] += 1
            if signs := pool.signs[piece]:
                names = (name for sign, name in NAMES_OF_SIGNS.items() if signs & sign)
                contents.setdefault(index, []).extend(names)
        for number, *_ in self._places():
            if not shown[index := pool.sources[number].message]:
                contents.setdefault(index, ["its date"])
        if not quotes:
            contents = {index: names for index, names in contents.items() if index in view}
            shown = Counter({index: count for index, count in shown.items() if index in view})
        why: dict[int, str] = {}
        for index in range(base.plan.head, len(base.plan.messages)):
            form = base.kept.get(index)
            if form is Form.FULL:
                continue
            quoted = "quoted" if shown[index] or index in contents else "left out"
            of = [f"{shown[index]} of {parts[index]} parts"] if parts[index] else []
            missing = base.forms.pictures.missing(index, view[index]) if form else 0
            without = [f"{how_many(missing, 'picture')} left out"] if missing else []
            details = ", ".join([*of, *dict.fromkeys(contents.get(index, ())), *without])
            name = NAMES_OF_FORMS[form] if form else quoted
            why[index] = f"{name} ({details})" if details else name
        return why


class Filling:
    """A view that is being made: messages in their forms, and the room that pieces may fill.

    Attributes:
        left: the tokens of the room that the messages leave; negative if they take more.
        lacks_sure_rule: whether the edits had no room for a constraint that the user typed.
        showing: the pictures that the edits show, of those that they may leave out.
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
        self.left = room_left(self._base, self.showing)

    @property
    def kept(self) -> Mapping[int, Form]:
        """The form of each message that stays, by its index."""
        return self._base.kept

    @property
    def owed(self) -> int:
        """The least tokens of notes for dropped messages, including the user's constraints."""
        return tokens_owed(self._base, self.left)

    def edits(self, reason: str) -> Sequence[Edit]:
        """Edits, each for this reason, that leave kept messages and as many pieces as fit."""
        if self._base.forms.pictures.in_order:
            self._base, self.showing = with_pictures(self._base, self.left)
            self.left = room_left(self._base, self.showing)
        draft, why, record = self._filled()
        view, notes = draft.view, draft.all_notes
        view = with_payloads(self._base, view, notes)
        edits = keep_only(self._base.plan, view, self._with_beside(view, notes), reason, why)
        return [replace(edit, weighed=record) for edit in edits] if record else edits

    def _with_beside(
        self, view: Mapping[int, Message], notes: Mapping[int, Message]
    ) -> Mapping[int, Message]:
        """The notes, with the one that the view has anyway before the note of the same run."""
        all_notes = {**notes}
        for at, beside in self._base.beside.notes.items():
            start = max((i for i in notes if i <= at), default=None)
            if start is not None and view.keys().isdisjoint(range(start, at)):
                all_notes[at + 1] = all_notes.pop(start)
            all_notes[at] = beside
        return all_notes

    def _filled(self) -> tuple[Draft, Mapping[int, str], Weighed | None]:
        """The draft that fills the room, how each message is shown in it, and what competed.

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
        quotes = left >= 0 and bool(draft.notes)
        record = attempt.record(draft.view, quotes=quotes) if is_recorded() else None
        attempt.settle()
        self.lacks_sure_rule |= attempt.lacks_sure_rule
        why = attempt.reasons(draft.view, quotes=quotes)
        if not quotes:
            draft = self._with_one_mark(draft.view)
        return draft, why, record

    def _with_one_mark(self, view: dict[int, Message]) -> Draft:
        """The view without quotes, with one mark for missing messages if that fits."""
        notes = notes_of(self._base.quoting, view, {}, measured.BARE_NOTE_TOKENS)
        fits = cost(self._base.plan, view, notes) <= self._base.room
        return Draft(view, notes if fits else {})


def refilled(plan: Plan, edits: Sequence[Edit]) -> Sequence[Edit] | None:
    """Edits of single results, with longer previews that fill the remaining room.

    All large results compete for the room, so that not only the oldest are shortened. `None` if no
    edit is of `truncate` and the previews of all results leave little room, and too little to show
    a large part of them again. `extract`, which chooses from the full conversation, keeps more
    then.

    Args:
        plan: the plan of the conversation before the edits; it has a room.
        edits: edits that each shorten one message; those of `truncate` are kept.
    """
    assert plan.room is not None
    truncated = {edit.start: edit.becomes[0] for edit in edits if edit.reason == "truncate"}
    kept = dict.fromkeys(range(len(plan.messages)), Form.FULL)
    kept |= {index: Form.RESULTS for index in answered_steps(plan) if index not in truncated}
    filling = Filling(Forms(plan), kept, plan.room, 0, truncated)
    left_out = plan.total - (plan.room - filling.left)
    least = min(measured.LEAST_ROOM_SHARE * plan.room, measured.LEAST_SHOWN_SHARE * left_out)
    if not truncated and filling.left < least:
        return None
    return [
        replace(edit, reason="truncate", why={}) if edit.start in truncated else edit
        for edit in filling.edits("offload")
    ]


def filled_beside(
    plan: Plan,
    edits: Sequence[Edit],
    kept: Mapping[int, Message],
    beside: Beside,
    reason: str,
    most: float = inf,
) -> Sequence[Edit] | None:
    """Edits for kept messages and one note beside them, whose room is filled with pieces.

    `None` if there is too little room, or the note is the last message.

    Args:
        plan: the plan of the conversation.
        edits: the edits without pieces.
        kept: the messages that stay, as they are shown, by index.
        beside: the note.
        reason: of the edits.
        most: the most tokens of the pieces, if there is room for them.
    """
    all_room = plan.total if plan.room is None else plan.room
    [(at, note)] = beside.notes.items()
    used = plan.total - saved_by(plan, edits)
    left = min(most, all_room - used - measured.MOVED_TOKENS)
    if left < measured.LEAST_FILLED_TOKENS or at + 1 in kept or at + 1 == len(plan.messages):
        return None
    full, room = dict.fromkeys(kept, Form.FULL), int(used - plan.counter.message(note) + left)
    filling = Filling(Forms(plan), full, room, len(plan.messages), kept, beside)
    filled = filling.edits(reason)
    return filled if plan.total - saved_by(plan, filled) <= all_room else None
