"""Filling the room of a view with pieces of what is shortened or left out, chosen by evidence."""

from array import array
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import fsum
from typing import TypeGuard

from context_compression.conversation.authors import holds_excerpts, is_answer
from context_compression.conversation.labels import label_quotes
from context_compression.conversation.messages import (
    Block,
    Message,
    Text,
    ToolResult,
    texts_of,
    user,
)
from context_compression.conversation.rendering import Span
from context_compression.display.plurals import how_many
from context_compression.planning.edits import Edit
from context_compression.planning.pieces import DUE, FAILURE, REASON, Choice, Place, Pool, Weights
from context_compression.planning.plan import Plan
from context_compression.strategies import names
from context_compression.strategies.competing import Competing
from context_compression.strategies.declared import with_declarations
from context_compression.strategies.forms import Form, Forms
from context_compression.strategies.gaps import (
    BARE_TOKENS,
    NOTE_TOKENS,
    gaps,
    largest_with_ref,
    noted,
)
from context_compression.strategies.keep import cost, keep_only
from context_compression.strategies.payloads import units_in
from context_compression.strategies.pictures import Showing
from context_compression.strategies.rules import Rule, rules_in
from context_compression.strategies.tool_results import Slots, with_results

LEAST_FOR_REFS = 1_500
"""Tokens of room below which gaps between quotes have none, and those before and behind all quotes
of a note are not told, but behind the last: evidence is worth more then (measured on recorded
sessions)."""
LEAST_ROOM, LEAST_SHOWN = 0.25, 0.4
"""Share of the room, and of what previews leave out, one of which they must leave free (measured on
recorded sessions: below both, `extract` keeps more at the same size, above either not)."""
GAPS_SHARE = 0.03
"""Share of the room for refs of gaps of whole messages, the largest first; and as much again for
notes in place of others of which nothing is quoted, one of them in any room."""
FILES_SHARE, NAMES_SHARE = 0.03, 0.06
"""Shares of the room for a line of the files that were worked on, where a view has one, and for one
of names."""
SMALL_ROOM, LONG_TOKENS = range(1_500, 12_501), 40_000
"""Tokens of room in which a view has these lines, and of a conversation from which on: elsewhere
the files that a view does not name anyway are few, and worth less than what they push out (measured
on recorded sessions)."""
VERY_SMALL = 0.045
"""Share of the conversation below which the room must be for the line of names: most names are lost
then."""
PICTURES_SHARE = 0.25
"""Share of the room beside the must-keep set up to which the newest pictures of kept messages are
shown whatever else there is: a picture has no words by which it could compete. Beyond that pictures
take what all texts together could not fill."""
ONE_SHARE = 0.5
"""The same for a single one, where none has room in that."""
NEWEST_SHARE = 0.5
"""Share of the room that must-keep set and the pictures of the newest messages may take together:
as much as where these messages stay whole."""
SLACK, LARGE = 0.025, 12_500
"""Share of the room that may stay empty: to count a view once more takes time. And the tokens of
room from which on it is that much; a small view is soon counted."""
SURE = 0.9
"""Share of what is left over at last that may go to more names, or more files."""
FREED = 0.85
"""Share of what a piece costs that is sure to be free without it, its neighbours still there."""
ROUNDS = 3
"""Times the room is filled again with what the estimates left over, and that a view too large is
corrected by what they say; then by more."""
SHOWN: Mapping[Form, str] = {
    Form.RESULTS: "preview", Form.PREVIEW: "preview", Form.CLIPPED: "clipped",
    Form.SKELETON: "skeleton", Form.LEAST: "shortened",
}  # fmt: skip
"""How the account calls the form of a message that is not whole."""
TOLD: Mapping[int, str] = {FAILURE: "a failure", REASON: "a decision", DUE: "a task"}
"""How it calls what the parts tell that are shown."""


def refilled(plan: Plan, edits: Sequence[Edit]) -> Sequence[Edit] | None:
    """Edits of single results with the room filled that they leave: longer previews.

    All large results compete for it, so that the oldest do not pay for all the others. `None` where
    the previews of all leave little room to choose, and too little to show much of them again: what
    `extract` chooses from all there is tells more then.

    Args:
        plan: the conversation before the edits; it has a room.
        edits: each makes one message shorter; those by `truncate` stay as they are.
    """
    assert plan.room is not None
    truncated = {edit.start: edit.becomes[0] for edit in edits if edit.reason == "truncate"}
    kept = dict.fromkeys(range(len(plan.messages)), Form.WHOLE)
    kept |= {index: Form.RESULTS for index in with_results(plan) if index not in truncated}
    filling = Filling(Forms(plan), kept, plan.room, 0, truncated)
    left_out = plan.total - (plan.room - filling.left)
    if not truncated and filling.left < min(LEAST_ROOM * plan.room, LEAST_SHOWN * left_out):
        return None
    return [
        replace(edit, reason="truncate", why={}) if edit.start in truncated else edit
        for edit in filling.edits("offload")
    ]


class Filling:
    """A view in the making: messages in their forms, and the room that pieces may fill.

    Attributes:
        left: tokens of the room that the messages leave; negative when they take more.
        evicted: whether the edits had no room for a constraint that the user typed.
        showing: the pictures that the edits show of those that they may leave out.
        told: the evidence words that the edits leave in view, by number, where that is measured.
        weights: what each word is worth that competes, likewise.
    """

    evicted = False

    def __init__(
        self,
        forms: Forms,
        kept: Mapping[int, Form],
        room: int,
        first: int,
        shown: Mapping[int, Message] | None = None,
    ) -> None:
        """A view of the kept messages.

        Args:
            forms: of the messages of a plan.
            kept: the form of each message that stays.
            room: tokens the view may take.
            first: from this message on what the model said may stand in the view by itself.
            shown: kept messages that are not shown as their form says.
        """
        self.forms = forms
        self.plan = forms.plan
        self.quoting = forms.quoting
        self.kept: Mapping[int, Form] = kept
        self.room = room
        self.first = first
        self.showing = Showing()
        self.told: Iterable[int] = ()
        self.weights: Weights = {}
        self.shown = {
            index: shown[index] if shown and index in shown else forms.plain(index, form)
            for index, form in kept.items()
        }
        self.competing = Competing(self.plan, self.quoting, kept, self.shown, room)
        self.left = room - cost(self.plan, self.with_pictures(self.shown), {})

    def edits(self, reason: str, *, measured: bool = False) -> Sequence[Edit]:
        """Edits that leave the kept messages and as many pieces as the room holds.

        With `measured` it is known afterwards which evidence they show.
        """
        plan, showing = self.plan, self.show_pictures()
        pool, choice = self.competition()
        rules = self.rules(pool)
        for_names = self.tokens_for_names()
        for_files = self.tokens_for_files()
        due = NOTE_TOKENS + for_files + for_names + sum(rule.tokens for rule in rules)
        chosen = choice.take(self.left - due)
        rounds, misses, fits = ROUNDS, 0, 0
        more: float | None = None  # for these lines, of what is left over at last
        slack = SLACK * self.room * min(1.0, self.room / LARGE)
        refs, ends = max(GAPS_SHARE * self.room, BARE_TOKENS), self.room >= LEAST_FOR_REFS
        while True:
            found = chain((rule.place for rule in rules), map(pool.place, sorted(chosen)))
            view, notes = self.assembled(pool, found, refs, ends=ends)
            lines = self.lines(view, notes, for_files, for_names, more or 0.0)
            left = self.room - cost(plan, view, {**notes, **lines})
            if left < 0 and more:
                more = more / 2 if more > slack else 0.0
            elif left < 0 and (
                chosen or showing.shown or for_files or for_names or ends or refs or rules
            ):
                misses += 1
                left *= 2 ** max(0, misses - ROUNDS)  # rounds shall be few, whatever a counter says
                if chosen:
                    fits = fits if fits < len(chosen) else 0  # a counter may change its mind
                    while left < 0 and len(chosen) > fits:
                        piece = chosen.pop()
                        gap = pool.gap_tokens[pool.source_of[piece]]
                        left += FREED * (pool.tokens(piece) + gap)
                    misses = misses if chosen else 0
                elif showing.shown:
                    showing.give_back()
                    misses = 0
                elif for_files or for_names:
                    for_files, for_names, misses = 0.0, 0.0, 0
                elif ends or refs:
                    ends, refs, misses = False, refs if ends else 0.0, 0
                else:
                    while left < 0 and rules:
                        rule = rules.pop()
                        left += rule.tokens
                        self.evicted |= rule.sure
            elif left > slack and rounds and (others := choice.take(left)):
                rounds, misses, fits = rounds - 1, 0, len(chosen)
                chosen += others
            elif left > slack and showing.take(left):
                fits = len(chosen)
            elif left > slack and (for_files or for_names) and more is None:
                more = SURE * left
            else:
                del choice, found  # what is as large as the view goes before more is made
                why = self.why(pool, chosen, rules, view)
                if measured:
                    self.weights = pool.weights(plan.used)
                del pool
                if left < 0 or not notes:  # where nothing is quoted one mark may still fit
                    notes = self.notes(view, {}, BARE_TOKENS, ends=False)
                    notes = notes if cost(plan, view, notes) <= self.room else {}
                    lines = {}
                if measured:
                    shown = map(plan.cutter.numbering.numbers, texts_in({**view, **notes}))
                    self.told = {*chain.from_iterable(shown)}
                view = self.with_payloads(view, {**notes, **lines})
                return keep_only(plan, view, {**notes, **lines}, reason, why)
            view = notes = lines = None  # two views at once would be the peak of all memory

    def show_pictures(self) -> Showing:
        """The newest pictures that have room; those of kept messages have some in any case."""
        pictures = self.forms.pictures.in_order
        if pictures:
            count, sources = self.plan.counter.text, self.competing.sources()
            texts = sum(count(source.text) + source.opening for source in sources)
            lines = (FILES_SHARE + NAMES_SHARE) * self.room if self.lacks_much else 0
            room = self.left - self.owed - lines
            kept = (p for p in pictures if p.message in self.kept and self.may_leave(p.message))
            self.showing = showing = Showing(kept)
            share = max(PICTURES_SHARE * room, room - texts)
            half = min(room, self.left - NEWEST_SHARE * self.room)
            showing.take(max(share, half), recent=True)
            showing.take(share - showing.tokens)
            if not showing.shown:
                showing.take(ONE_SHARE * room, most=1)
            self.bring_back(room - texts - showing.tokens)
            self.left = self.room - cost(self.plan, self.with_pictures(self.shown), {})
        return self.showing

    def bring_back(self, room: float) -> None:
        """Show pictures of messages that are not kept, with what they stand in.

        That is a tool step as a skeleton, or a message with its long texts clipped. It takes no
        more than they do, so that there is room for it without them.
        """
        plan, forms = self.plan, self.forms
        added: dict[int, Form] = {}
        for picture in forms.pictures.in_order:
            if picture.message in self.kept:
                continue
            step = plan.step_of(picture.message)
            form = Form.SKELETON if step else Form.CLIPPED
            unit = [i for i in step or (picture.message,) if i not in added]
            bare = {i: forms.plain(i, form) for i in unit}
            beside = sum(map(plan.counter.message, self.with_pictures(bare).values()))
            if beside + NOTE_TOKENS <= picture.tokens <= room - beside - NOTE_TOKENS:
                room -= picture.tokens + beside + NOTE_TOKENS
                added |= dict.fromkeys(unit, form)
                self.showing.shown.append(picture)
        if added:
            self.kept = {**self.kept, **added}
            self.shown |= {index: forms.plain(index, form) for index, form in added.items()}
            self.competing = replace(self.competing, kept=self.kept, shown=self.shown)

    def with_pictures(self, view: dict[int, Message]) -> dict[int, Message]:
        """The same messages without the pictures that are not shown."""
        left_out = self.forms.pictures.left_out(view, self.may_leave, self.showing.ids)
        return {**view, **left_out} if left_out else view

    def with_payloads(
        self, view: dict[int, Message], notes: Mapping[int, Message]
    ) -> dict[int, Message]:
        """The view with what the provider's tools found, where it left messages whole for the room.

        The newest come first.
        """
        count, messages = self.plan.counter.message, self.plan.messages
        served = [i for i in sorted(view, reverse=True) if view[i] is not messages[i]]
        served = [index for index in served if units_in(messages[index])]
        left = self.room - cost(self.plan, view, notes) if served else 0
        filled = view
        for index in served:
            more = count(messages[index]) - count(view[index])
            if more <= left:
                left -= more
                filled = {**filled, index: messages[index]}
        fits = filled is view or cost(self.plan, filled, notes) <= self.room
        return filled if fits else view

    def may_leave(self, index: int) -> bool:
        """Whether pictures of a message need not be shown."""
        return self.kept.get(index) not in (Form.WHOLE, Form.RESULTS)

    @property
    def lacks_much(self) -> bool:
        """Whether lines tell what the view lacks."""
        return self.room in SMALL_ROOM and self.plan.total >= LONG_TOKENS

    def worth_of(self, other: "Filling") -> float:
        """What the evidence is worth that another view shows, as far as it competes here.

        Both have been measured.
        """
        known = self.weights if isinstance(self.weights, dict) else range(len(self.weights))
        return fsum(self.weights[number] for number in other.told if number in known)

    def tokens_for_files(self) -> float:
        """Tokens that a line of files may take: of those that the kept messages do not name."""
        if not self.lacks_much:
            return 0.0
        count, room = self.plan.counter.text, FILES_SHARE * self.room
        return count(self.quoting.files.line(texts_in(self.shown), count, room))

    def tokens_for_names(self) -> float:
        """Tokens that a line of names may take, likewise, beside those of earlier notes."""
        if not self.lacks_much or self.room >= VERY_SMALL * self.plan.total:
            return 0.0
        count, texts = self.plan.counter.text, [*texts_in(self.shown)]
        room = NAMES_SHARE * self.room - sum(map(count, names.lines_in(texts)))
        return count(names.line(self.quoting.names, texts, count, room))

    def lines(
        self,
        view: Mapping[int, Message],
        notes: Mapping[int, Message],
        for_files: float,
        for_names: float,
        more: float,
    ) -> Mapping[int, Message]:
        """The last note that stays smaller than what it stands for, with what the view lacks.

        Those are a line of files and one of names. What may be `more` is for names where there are
        any, else for files.
        """
        if not (for_files or for_names) or not notes:
            return {}
        count, texts = self.plan.counter.text, [*texts_in({**view, **notes})]
        found: list[str] = []
        if for_files:
            room = for_files if for_names else for_files + more
            found.append(self.quoting.files.line(texts, count, room))
        if for_names:
            room = for_names + more
            found.append(names.line(self.quoting.names, texts + found, count, room))
        found = [*filter(None, found)]
        stops = [*sorted(view), len(self.plan.messages)]
        for start in sorted(notes, reverse=True) if found else ():
            note = user("\n".join([notes[start].text, *found]))
            there = self.plan.tokens[start : stops[bisect(stops, start)]]
            if self.plan.counter.message(note) < sum(there):
                return {start: note}
        return {}

    def why(
        self,
        pool: Pool,
        chosen: Iterable[int],
        rules: Iterable[Rule],
        view: Mapping[int, Message],
    ) -> dict[int, str]:
        """How each message is shown that is not whole: `quoted (2 of 9 parts, a failure)`."""
        parts, shown = Counter[int](), Counter[int]()
        told: dict[int, list[str]] = {}
        for number, source in enumerate(pool.sources):
            parts[source.message] += pool.count(number)
        for rule in rules:
            told[pool.sources[rule.place[0]].message] = ["a rule"]
        for piece in chosen:
            index = pool.sources[pool.source_of[piece]].message
            shown[index] += 1
            if tells := pool.tells[piece]:
                told.setdefault(index, []).extend(w for sign, w in TOLD.items() if tells & sign)
        found: dict[int, str] = {}
        for index in range(self.plan.head, len(self.plan.messages)):
            form = self.kept.get(index)
            if form is Form.WHOLE:
                continue
            quoted = "quoted" if shown[index] or index in told else "left out"
            of = [f"{shown[index]} of {parts[index]} parts"] if parts[index] else []
            missing = self.forms.pictures.missing(index, view[index]) if form else 0
            without = [f"{how_many(missing, 'picture')} left out"] if missing else []
            said = ", ".join([*of, *dict.fromkeys(told.get(index, ())), *without])
            found[index] = f"{SHOWN[form] if form else quoted}{f' ({said})' if said else ''}"
        return found

    @property
    def owed(self) -> int:
        """Tokens that notes of messages dropped take at least.

        With the user's standing constraints in them; without any one mark says that they are.
        """
        dropped = {
            index: message
            for index, message in enumerate(self.plan.messages)
            if index >= self.plan.head and index not in self.kept
        }
        texts = [
            (index, block.text)
            for index, message in dropped.items()
            for block in message.blocks
            if self._is_users(block, message)
        ]
        rules = rules_in(self.plan, texts, self.left)
        if rules:
            return NOTE_TOKENS + sum(rule.tokens for rule in rules)
        return BARE_TOKENS if dropped else 0

    def rules(self, pool: Pool) -> list[Rule]:
        """The user's standing constraints in messages that are dropped, as far as there is room.

        They are chosen before all else and are the last to go when the room is too small. One that
        takes more than half of it comes behind the others, and pushes none of them out.
        """
        messages, block_of = self.plan.messages, self.competing.block_of
        texts = (
            (number, source.text)
            for number, source in enumerate(pool.sources)
            if source.message not in self.kept
            and self._is_users(block_of(source), messages[source.message])
        )
        room = self.left - BARE_TOKENS
        found: list[Rule] = []
        half = room / 2
        for rule in sorted(
            rules_in(self.plan, texts, self.left), key=lambda rule: rule.tokens > half
        ):
            if rule.tokens <= room:
                room -= rule.tokens
                found.append(rule)
            else:
                self.evicted |= rule.sure
        return found

    def _is_users(self, block: Block, message: Message) -> TypeGuard[Text | ToolResult]:
        """Whether the user says it; what a tool put out is nobody's rule."""
        if isinstance(block, ToolResult):
            return is_answer(block, self.quoting.asked)
        return isinstance(block, Text) and message.role == "user"

    def competition(self) -> tuple[Pool, Choice]:
        """All pieces that compete for the room, and the choice among them."""
        cutter, used, sources = self.plan.cutter, self.plan.used, self.competing.sources()
        for source in sources:
            cutter(source.text)
        texts = (
            text
            for message in self.shown.values()
            if not message.starts_turn  # what the user mentions is wanted, not covered
            for block in message.blocks
            for text in texts_of(block)
        )
        shown = array("I", chain.from_iterable(map(cutter.numbering.numbers, texts)))
        cutter.numbering.pack()  # all words are known, and the pool takes memory
        pool, outdated = Pool(cutter), self.plan.outdated
        for source in sources:
            block = self.competing.block_of(source)
            old = outdated.spans(block, source.text)
            old = [*old, *outdated.unchanged(block, source.text)]
            pool.add(source, old, self.plan.due.spans(block, source.text))
        return pool, pool.choice(shown, used)

    def assembled(
        self, pool: Pool, chosen: Iterable[Place], refs: float, *, ends: bool
    ) -> tuple[dict[int, Message], dict[int, Message]]:
        """The view with the chosen pieces in their places, and the notes for dropped runs.

        For refs in marks of gaps they may take `refs` tokens; with `ends` they also tell of what is
        missing before and behind all quotes.
        """
        slots_of: dict[int, dict[tuple[int, str], list[Span]]] = {}
        for number, start, stop in chosen:
            source = pool.sources[number]
            slots = slots_of.setdefault(source.message, {})
            slots.setdefault((source.slot, source.key), []).append((start, stop))
        view, quoted = dict(self.shown), dict[int, Slots]()
        for index in [*slots_of]:
            # what was shown is let go: there may be many pieces
            slots = self.with_labels_of_ours(index, slots_of.pop(index))
            if index in self.kept:
                view[index] = self.forms.shaped(index, self.kept[index], slots)
            elif index >= self.first and self.stands_alone(index):
                view[index] = self.forms.shaped(index, Form.SKELETON, slots)
            else:
                quoted[index] = slots
        view = {**with_declarations(self.plan, self.with_pictures(view))}
        return view, self.notes(view, quoted, refs, ends=ends)

    def with_labels_of_ours(self, index: int, slots: Slots) -> Slots:
        """The spans of a message; in a note of ours with the labels that say who is quoted."""
        blocks = self.plan.messages[index].blocks
        return {
            (slot, key): label_quotes(block.text, spans, self.quoting.label_begins)
            if isinstance(block := blocks[slot], Text) and holds_excerpts(block.text)
            else spans
            for (slot, key), spans in slots.items()
        }

    def stands_alone(self, index: int) -> bool:
        """Whether part of a message may stand in the view by itself: what the model just said."""
        message = self.plan.messages[index]
        alone = message.role == "assistant" and self.plan.step_of(index) is None
        return alone and (self.plan.drops_thinking or not message.has_bound_thinking)

    def notes(
        self, view: Mapping[int, Message], quoted: dict[int, Slots], refs: float, *, ends: bool
    ) -> dict[int, Message]:
        """For each dropped run a message of ours that quotes the chosen pieces and tells of gaps.

        A run of which nothing was chosen has one where its gap is among the largest: with a ref, or
        without, where as much room does for that. `quoted` is empty afterwards.
        """
        behind_head = range(self.plan.head, len(self.plan.messages))
        runs = [*filter(None, gaps(behind_head, sorted({*behind_head}.intersection(view))))]
        tokens, ref_of = self.plan.tokens, self.quoting.ref_of_message
        between = self.room >= LEAST_FOR_REFS
        with_ref = largest_with_ref(runs, quoted, tokens, ref_of, refs, between=between)
        told = noted(runs, quoted, with_ref, tokens, refs)
        note = self.quoting.note
        found: dict[int, Message] = {}
        for run in told:
            first, last = run is told[0], run is told[-1]
            found[run.start] = note(run, quoted, with_ref, first=first, last=last, ends=ends)
        return found


def texts_in(view: Mapping[int, Message]) -> Iterator[str]:
    """All texts of some messages."""
    return (
        text for message in view.values() for block in message.blocks for text in texts_of(block)
    )
