"""`Explainer`: says why the messages of a finished compression are shown as they are.

Nothing is computed before the first question. Then `Weighing` cuts and weighs the messages that are
not shown in full as `extract` does it, from the plan and the view, so that a result needs no memory
for its explanation.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import NamedTuple

from context_compression.compression.result import Evidence, Explanation, Part, Ref, Shown
from context_compression.conversation.authors import user_words
from context_compression.conversation.messages import Message, Text, texts_of
from context_compression.evidence.constraints import constraints_in, is_rule
from context_compression.evidence.facts import is_talk
from context_compression.evidence.words import Lexicon
from context_compression.planning import measured
from context_compression.planning.edits import Edit, View
from context_compression.planning.pieces import (
    DUE,
    FAILED,
    FAILURE,
    REASON,
    Cutter,
    Weights,
    cover,
    known_in,
    ranking,
)
from context_compression.planning.plan import Plan
from context_compression.planning.selection import shortened
from context_compression.strategies.competing import KeptMessages, competition
from context_compression.strategies.extract import is_record
from context_compression.strategies.forms import Form, Forms
from context_compression.strategies.window import importance
from context_compression.strings import in_words

SHOWN_CHARS = 60
"""The most characters of a quoted part."""
BEST_EVIDENCE, BEST_PARTS = 3, 3
"""How much evidence, and how many parts that are left out, an explanation names."""
WEIGHING = ("extract", "offload")
"""The strategies that choose parts by their evidence."""
FORMS: Mapping[str, tuple[Shown, Form | None]] = {
    "preview": ("preview", Form.PREVIEW), "clipped": ("clipped", Form.CLIPPED),
    "skeleton": ("one line", Form.SKELETON), "shortened": ("shortened", Form.LEAST),
    "quoted": ("quoted", None),
}  # fmt: skip
"""What is shown of a message, and its form if it stays, by its name in a reason."""
BY_STRATEGY: Mapping[str, Shown] = {"offload": "preview", "truncate": "clipped"}
"""What is shown of a message that a strategy shortened, if the reason names no form."""
RATIO = 1e6
"""The scale of the worth per token in a rank."""
CERTAIN_CHARS = 12
"""A shorter text may be in a note by chance, so it must begin a line or follow a label."""
SIGNS: Sequence[tuple[int, str, float]] = (
    (FAILED, "failure", measured.FAILED_BONUS),
    (FAILURE, "failure", measured.ERROR_BONUS),
    (REASON, "decision", measured.REASON_BONUS),
    (DUE, "open task", measured.DUE_BONUS),
)
"""The signs of pieces, with the kind of evidence that they are, and their worth."""


class WeighedPart(NamedTuple):
    """A part of a message that competes.

    Attributes:
        piece: its number in the pool.
        message: the index of the message in the plan.
        text: the part, stripped.
        tokens: about how many tokens it has, at least 1.
        worth_per_token: its worth for a token.
        in_line: whether it is the line of a call.
    """

    piece: int
    message: int
    text: str
    tokens: int
    worth_per_token: float
    in_line: bool


class Weighing:
    """The parts of the messages that a view does not show in full, weighed by their evidence."""

    def __init__(
        self,
        plan: Plan,
        whole: Sequence[int],
        shown: Callable[[int], str],
        form_of: Callable[[int], Form | None],
    ) -> None:
        """Cut and weigh.

        Args:
            plan: the plan of the conversation.
            whole: the indices of the messages that the view shows in full.
            shown: takes the index of another message, and returns all that the view shows in its
                place as one text.
            form_of: takes the same index, and returns the form in which the message stays; `None`
                if it does not stay.
        """
        self._plan = plan = replace(plan, cutter=Cutter(prose=is_talk(plan.messages)))
        self._shown, self._form_of, self._forms = shown, form_of, Forms(plan)
        self._lexicon = Lexicon()
        full = {index: plan.messages[index] for index in whole}
        room = plan.total if plan.room is None else plan.room
        kept = KeptMessages(self._forms, dict.fromkeys(full, Form.FULL), full, room, plan.head)
        self._pool = competition(kept)[0]
        self._numbers: dict[int, list[int]] = {}  # the sources of each message
        for number, source in enumerate(self._pool.sources):
            self._numbers.setdefault(source.message, []).append(number)
        # the worth of each word, without those in messages that are shown in full
        self._weights = self._pool.weights(plan.used)
        for message in full.values():
            if not message.starts_turn:
                cover(self._weights, self._pool.cutter.numbering.numbers(_text(message)))
        self._rank = self._ranked_by(self._weights)
        self._all_shown = {index: [*self._parts(index, shown=True)] for index in self._numbers}
        left = copy(self._weights)
        for part in chain.from_iterable(self._all_shown.values()):
            cover(left, self._pool.words(part.piece))
        self._rank_left = self._ranked_by(left)

    def _ranked_by(self, weights: Weights) -> Callable[[int], int]:
        opening = array("I", [source.opening for source in self._pool.sources])
        return ranking(self._pool, opening, self._pool.edges[:], weights.__getitem__)[0]

    def _parts(self, index: int, *, shown: bool) -> Iterator[WeighedPart]:
        """The parts of a message that the view shows, or those that it does not show."""
        numbers = self._numbers.get(index, ())
        place = self._shown(index) if numbers else ""
        rank = self._rank if shown else self._rank_left
        for number in numbers:
            source = self._pool.sources[number]
            for piece in range(self._pool.firsts[number], self._pool.firsts[number + 1]):
                _, start, stop = self._pool.place(piece)
                text = source.text[start:stop].strip()
                if text and is_in(text, place) is shown:
                    tokens = max(1, round(self._pool.tokens(piece)))
                    ratio = (-rank(piece) >> 32) / RATIO
                    yield WeighedPart(piece, index, text, tokens, ratio, source.key == "line")

    def paid(self, index: int) -> list[WeighedPart]:
        """The shown parts of a message, the best first.

        Those that its form shows in any case are no part of it.
        """
        form = self._form_of(index)
        free = _text(self._forms.plain(index, form)) if form else ""
        parts = (part for part in self._all_shown.get(index, ()) if not is_in(part.text, free))
        return sorted(parts, key=_best_first)

    def left_out(self, index: int) -> list[WeighedPart]:
        """The parts that the view does not show, by what they would still add to it."""
        return sorted(self._parts(index, shown=False), key=_best_first)

    def least_shown(self, besides: int) -> WeighedPart | None:
        """The part with least worth per token of those that had to pay for their room.

        Parts of other messages count, but not the user's words, which may be rules.
        """
        return next((part for part in self._worst_first if part.message != besides), None)

    @cached_property
    def _worst_first(self) -> list[WeighedPart]:
        paid = (
            part
            for index in self._numbers
            if self._plan.messages[index].role != "user" or self._plan.messages[index].results
            for part in self.paid(index)
            if part.worth_per_token > measured.FILLER  # others only filled what was left
        )
        return sorted(paid, key=lambda part: part.worth_per_token)

    def evidence(self, part: WeighedPart) -> Iterator[tuple[str, str, float]]:
        """What pays for a part, as `(kind, text, worth)`; the text is empty for the part itself."""
        known = known_in(self._weights)
        for word, kind in sorted(self._lexicon.words(part.text)):
            numbers = self._pool.cutter.numbering.numbers(word)
            yield kind, word, sum(self._weights[number] for number in numbers if number in known)
        signs = self._pool.signs[part.piece]
        yield from ((kind, "", bonus) for sign, kind, bonus in SIGNS if signs & sign)
        source = self._pool.sources[self._pool.source_of[part.piece]]
        message = self._plan.messages[part.message]
        by_result = not isinstance(message.blocks[source.slot], Text)
        by_user = (message.role == "user" and user_words(message)) or (by_result and message.said)
        author = "the user" if by_user else "a call or result" if by_result else "the assistant"
        yield f"words of {author}", "", source.worth


def is_in(text: str, place: str) -> bool:
    """Whether a stripped part of a message is in the text that the view shows in its place."""
    if len(text) >= CERTAIN_CHARS:
        return text in place
    return f"\n{text}" in place or f"] {text}" in place or place.startswith(text)


@dataclass(frozen=True)
class Explainer:
    """A finished compression, as far as the explanation of its messages needs it.

    Attributes:
        plan: its plan.
        view: its view.
        strategy: the strategy that made the view.
        origins: for each message of the plan the index of its input message, if it has one.
        gone: the input messages that are not in the view as they came.
        reasons: why they changed, by index.
        refs: the meaning of each ref.
    """

    plan: Plan
    view: View
    strategy: str
    origins: Sequence[int | None]
    gone: frozenset[int]
    reasons: Mapping[int, str]
    refs: Mapping[str, Ref]

    def __call__(self, index: int) -> Explanation:
        """The explanation of the input message at `index`, which must exist."""
        place = self._places.get(index)
        refs = self._refs_of.get(index, ())
        if place is None:
            return Explanation(index, "message", 0, "nothing", decided_by="its repair", refs=refs)
        must_stay, decided_by = self._why_it_stays(place), self.reasons.get(index, "")
        if index not in self.gone:
            return self._of_whole(index, place, must_stay)
        paid: list[WeighedPart] = []
        left_out: list[WeighedPart] = []
        if self.strategy not in WEIGHING:
            kept = self._kept(place, decided_by, self._quoted(place))
        else:
            paid, left_out = self._weighing.paid(place), self._weighing.left_out(place)
            in_line = bool(paid) and all(part.in_line for part in paid)
            in_note: Shown = "one line" if in_line else "quoted" if paid else "nothing"
            kept = self._kept(place, decided_by, in_note)
            if kept == "one line" and place in self._in_view and paid:
                kept = "preview"  # lines were chosen for it beside that line
        least = self._weighing.least_shown(place) if left_out else None
        return Explanation(
            index, _author(self.plan.messages[place]), self.plan.tokens[place], kept,
            must_stay if kept != "nothing" else "", decided_by,
            self._evidence(paid), tuple(map(self._part, left_out[:BEST_PARTS])),
            self._part(least) if least else None, refs,
        )  # fmt: skip

    def most_telling(self, most: int) -> Sequence[int]:
        """The largest messages that changed and the largest that had to stay, in their order.

        The latter are at most a quarter.
        """
        places, tokens = self._places, self.plan.tokens
        by_size = sorted(places, key=lambda index: -tokens[places[index]])
        changed = [index for index in by_size if index in self.gone][: most - most // 4]
        stayed = (
            index
            for index in by_size
            if index not in self.gone and self._why_it_stays(places[index])
        )
        return sorted([*changed, *islice(stayed, most // 4)])

    @cached_property
    def _places(self) -> Mapping[int, int]:
        """The index of each input message in the plan."""
        places: dict[int, int] = {}
        for place, index in enumerate(self.origins):
            if index is not None:
                places.setdefault(index, place)
        return places

    @cached_property
    def _refs_of(self) -> Mapping[int, tuple[str, ...]]:
        """The refs of each input message, that of the complete message first."""
        refs: dict[int, tuple[str, ...]] = {}
        for ref, meaning in self.refs.items():
            for index in meaning.indices[:1]:
                refs[index] = (*refs.get(index, ()), ref)
        return refs

    @cached_property
    def _weighing(self) -> Weighing:
        whole = [place for index, place in self._places.items() if index not in self.gone]
        return Weighing(self.plan, sorted(whole), self._shown_for, self._form_of)

    def _form_of(self, place: int) -> Form | None:
        """The form in which a message stays that is not shown in full; `None` if it does not."""
        index = self.origins[place]
        if place not in self._in_view or index is None:
            return None
        reason = self.reasons.get(index, "")
        usual = Form.RESULTS if reason.startswith("offload") else None
        return FORMS.get(_name_of_form(reason), ("", None))[1] or usual

    @cached_property
    def _in_view(self) -> Mapping[int, Message]:
        """By place, the messages of the view that stand for a message of the plan."""
        pairs = zip(self.view.origins, self.view.messages, strict=True)
        return {origin: message for origin, message in pairs if origin is not None}

    @cached_property
    def _edits(self) -> Mapping[int, Edit]:
        """The edit of each message that has one, by place."""
        return {place: edit for edit in self.view.edits for place in range(edit.start, edit.stop)}

    @cached_property
    def _notes(self) -> str:
        """The text of all notes in the view."""
        pairs = zip(self.view.origins, self.view.messages, strict=True)
        return "\n".join(_text(message) for origin, message in pairs if origin is None)

    def _shown_for(self, place: int) -> str:
        """All texts that the view shows in the place of a message: its form, or the notes."""
        return _text(self._in_view[place]) if place in self._in_view else self._notes

    def _quoted(self, place: int) -> Shown:
        """Whether a note quotes a message as a whole, for strategies that weigh no parts."""
        texts = (text.strip() for block in self.plan.messages[place].blocks
                 for text in texts_of(block))  # fmt: skip
        shown = any(text and is_in(text, self._shown_for(place)) for text in texts)
        return "quoted" if shown else "nothing"

    def _kept(self, place: int, reason: str, in_note: Shown) -> Shown:
        """What the view shows of a message that changed.

        Args:
            place: its index in the plan.
            reason: why it changed.
            in_note: what it is if the view has no message for it.
        """
        if place not in self._in_view:
            edit = self._edits.get(place)
            return "summarised" if edit and edit.record else in_note
        by_strategy = BY_STRATEGY.get(reason.partition(":")[0], "shortened")
        return FORMS.get(_name_of_form(reason), (by_strategy, None))[0]

    def _why_it_stays(self, place: int) -> str:
        """Why no strategy may leave a message out, or why this one does not; else `""`."""
        plan, message = self.plan, self.plan.messages[place]
        if place in plan.pins:
            return "it is pinned"
        if place < plan.head:
            return "it is a system message at the start"
        if place == plan.last_user:
            return "it holds the user's last words"
        if plan.open_step and place in plan.open_step:
            return "its tool step is not answered yet"
        if message.stays:
            return "it is of an unknown type, or holds what a provider compacted"
        if place in plan.anchored:
            return "another message that stays needs it"
        if is_record(message, plan):
            return "it is a summary, or a record with a marker"
        words = user_words(message)
        if place == self._first_request and words:
            return "it holds the first request"
        rules = (words[a:b] for a, b in constraints_in(words)) if words else ()
        if rule := next(filter(is_rule, rules), None):
            return f'it holds a rule of the user, "{_short(rule)}"'
        return ""

    @cached_property
    def _first_request(self) -> int | None:
        messages = enumerate(self.plan.messages)
        return next((place for place, message in messages if user_words(message).strip()), None)

    def _of_whole(self, index: int, place: int, must_stay: str) -> Explanation:
        """The explanation of a message that is shown in full."""
        plan, decided_by = self.plan, ""
        recent = plan.turns[-plan.settings.keep_recent :]
        if must_stay:
            pass
        elif self.strategy == "window":
            if recent and place >= recent[0].start:
                must_stay = f"it is in one of the last {len(recent)} turns"
            else:
                keywords = plan.settings.important_keywords
                decided_by = f"window: importance {importance(plan.messages[place], keywords)}"
        elif self.strategy in ("extract", "summarize") and place >= plan.tail:
            must_stay = "it is one of the newest messages"
        elif self.strategy in BY_STRATEGY:
            shortens = "which shortens only large tool results, older ones first"
            decided_by = f"{self.strategy}, {shortens}"
        author, tokens = _author(plan.messages[place]), plan.tokens[place]
        return Explanation(index, author, tokens, "whole", must_stay, decided_by)

    def _evidence(self, shown: list[WeighedPart]) -> tuple[Evidence, ...]:
        """The evidence with most worth in the shown parts of a message."""
        best: dict[tuple[str, str], float] = {}
        for part in shown:
            for kind, text, worth in self._weighing.evidence(part):
                if worth > 0:
                    key = kind, _short(text or part.text)
                    best[key] = max(worth, best.get(key, 0.0))
        ranked = sorted(best.items(), key=lambda item: -item[1])[:BEST_EVIDENCE]
        return tuple(Evidence(kind, text, round(worth, 2)) for (kind, text), worth in ranked)

    def _part(self, part: WeighedPart) -> Part:
        index, worth = self.origins[part.message], round(part.worth_per_token, 4)
        return Part(part.message if index is None else index, _short(part.text), part.tokens, worth)


def _best_first(part: WeighedPart) -> float:
    return -part.worth_per_token


def _author(message: Message) -> str:
    """The author of a message, in words: its role, or `tool result`."""
    return "tool result" if message.results else message.role


def _name_of_form(reason: str) -> str:
    """`_name_of_form("extract: preview (2 of 9 parts)")` -> `"preview"`."""
    return reason.partition(": ")[2].partition(" ")[0]


def _short(text: str) -> str:
    """The beginning and the end of a text on one line, without secrets."""
    return in_words(shortened(text, SHOWN_CHARS), SHOWN_CHARS + 1)


def _text(message: Message) -> str:
    return "\n".join(text for block in message.blocks for text in texts_of(block))
