"""What a finished view shows of its messages, made only when an explanation is asked for.

The parts are cut and weighed again as `extract` does it, from the plan and the view. So a view
needs no memory for its explanation.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from context_compression.conversation.authors import user_words
from context_compression.conversation.messages import Message, Text, texts_of
from context_compression.evidence.facts import is_talk
from context_compression.evidence.words import Lexicon
from context_compression.planning import measured
from context_compression.planning.cuts import Cutter
from context_compression.planning.pieces import DUE, FAILED, FAILURE, REASON, Pool, Weights, ranking
from context_compression.planning.plan import Plan
from context_compression.plurals import how_many
from context_compression.strategies.competing import KeptMessages, competition
from context_compression.strategies.forms import Form, Forms
from context_compression.strategies.rules import Rule

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
        """Prepare to weigh; the work is done when it is asked for.

        Args:
            plan: the plan of the conversation.
            whole: the indices of the messages that the view shows in full.
            shown: takes the index of another message, and returns all that the view shows in its
                place as one text.
            form_of: takes the same index, and returns the form in which the message stays; `None`
                if it does not stay.
        """
        self._plan = replace(plan, cutter=Cutter(prose=is_talk(plan.messages)))
        self._whole, self._shown, self._form_of = whole, shown, form_of
        self._lexicon = Lexicon()

    @cached_property
    def _forms(self) -> Forms:
        return Forms(self._plan)

    @cached_property
    def _pool(self) -> Pool:
        full = {index: self._plan.messages[index] for index in self._whole}
        kept = dict.fromkeys(full, Form.FULL)
        room = self._plan.total if self._plan.room is None else self._plan.room
        base = KeptMessages(self._forms, kept, full, room, self._plan.head)
        return competition(base)[0]

    @cached_property
    def _weights(self) -> Weights:
        """The worth of each word, without those in messages that are shown in full."""
        weights = self._pool.weights(self._plan.used)
        for index in self._whole:
            message = self._plan.messages[index]
            if not message.starts_turn:
                self._cover(weights, _text_of(message))
        return weights

    @cached_property
    def _weights_left(self) -> Weights:
        """The same without the words that the view shows anywhere."""
        weights = copy(self._weights)
        for part in self.all_shown:
            for number in self._pool.words(part.piece):
                weights[number] = 0.0
        return weights

    def _cover(self, weights: Weights, text: str) -> None:
        known = weights if isinstance(weights, dict) else range(len(weights))
        for number in self._pool.cutter.numbering.numbers(text):
            if number in known:
                weights[number] = 0.0

    def shown(self, index: int) -> list[WeighedPart]:
        """The parts of a message that the view shows, those with most worth first."""
        return sorted(self._parts(index, shown=True), key=_best_first)

    def paid(self, index: int) -> list[WeighedPart]:
        """The same without the parts that the form of the message shows in any case."""
        form = self._form_of(index)
        free = _text_of(self._forms.plain(index, form)) if form else ""
        return [part for part in self.shown(index) if not is_in(part.text, free)]

    def left_out(self, index: int) -> list[WeighedPart]:
        """The parts that it does not show, by what they would still add to the view."""
        return sorted(self._parts(index, shown=False), key=_best_first)

    @cached_property
    def all_shown(self) -> list[WeighedPart]:
        """The shown parts of all messages."""
        return [part for index in self._numbers for part in self._parts(index, shown=True)]

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

    @cached_property
    def _numbers(self) -> Mapping[int, list[int]]:
        """The sources of each message, by number."""
        numbers: dict[int, list[int]] = {}
        for number, source in enumerate(self._pool.sources):
            numbers.setdefault(source.message, []).append(number)
        return numbers

    def _parts(self, index: int, *, shown: bool) -> Iterator[WeighedPart]:
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

    @cached_property
    def _rank(self) -> Callable[[int], int]:
        return self._ranked_by(self._weights)

    @cached_property
    def _rank_left(self) -> Callable[[int], int]:
        return self._ranked_by(self._weights_left)

    def _ranked_by(self, weights: Weights) -> Callable[[int], int]:
        opening = array("I", [source.opening for source in self._pool.sources])
        return ranking(self._pool, opening, self._pool.edges[:], weights.__getitem__)[0]

    def evidence(self, part: WeighedPart) -> list[tuple[str, str, float]]:
        """What pays for a part, as `(kind, text, worth)`; the text is empty for the part itself."""
        found: list[tuple[str, str, float]] = []
        known = self._weights if isinstance(self._weights, dict) else range(len(self._weights))
        for word, kind in self._lexicon.words(part.text):
            numbers = self._pool.cutter.numbering.numbers(word)
            worth = sum(self._weights[number] for number in numbers if number in known)
            found.append((kind, word, worth))
        signs = self._pool.signs[part.piece]
        found += [(kind, "", bonus) for sign, kind, bonus in SIGNS if signs & sign]
        source = self._pool.sources[self._pool.source_of[part.piece]]
        message = self._plan.messages[part.message]
        if source.worth:
            by_user = message.role == "user" and user_words(message)
            by_result = not isinstance(message.blocks[source.slot], Text)
            by_user = by_user or (by_result and message.said)
            author = "a call or result" if by_result else "the assistant"
            found.append((f"words of {'the user' if by_user else author}", "", source.worth))
        return [(kind, text, worth) for kind, text, worth in found if worth > 0]


def is_in(text: str, place: str) -> bool:
    """Whether a stripped part of a message is in the text that the view shows in its place."""
    if len(text) >= CERTAIN_CHARS:
        return text in place
    return f"\n{text}" in place or f"] {text}" in place or place.startswith(text)


def _best_first(part: WeighedPart) -> float:
    return -part.worth_per_token


def _text_of(message: Message) -> str:
    return "\n".join(text for block in message.blocks for text in texts_of(block))


NAMES_OF_FORMS: Mapping[Form, str] = {
    Form.RESULTS: "preview", Form.PREVIEW: "preview", Form.CLIPPED: "clipped",
    Form.SKELETON: "skeleton", Form.LEAST: "shortened", Form.ENDING: "shortened",
    Form.UNREAD: "shortened",
}  # fmt: skip
"""The names of forms in the report."""
NAMES_OF_SIGNS: Mapping[int, str] = {FAILURE: "a failure", REASON: "a decision", DUE: "a task"}
"""The names of signs in the report, for the parts that are shown."""


def explanation(
    base: KeptMessages,
    view: Mapping[int, Message],
    pool: Pool,
    chosen: Iterable[int],
    rules: Iterable[Rule],
) -> dict[int, str]:
    """By index, for each message that is not shown in full: its form, its parts and their signs.

    Args:
        base: the kept messages.
        view: the messages of the view, by index.
        pool: the pieces that competed.
        chosen: the pieces that are shown.
        rules: the constraints that are quoted.
    """
    parts, shown = Counter[int](), Counter[int]()
    contents: dict[int, list[str]] = {}
    for number, source in enumerate(pool.sources):
        parts[source.message] += pool.count(number)
    for rule in rules:
        contents[pool.sources[rule.place[0]].message] = ["a rule"]
    for piece in chosen:
        index = pool.sources[pool.source_of[piece]].message
        shown[index] += 1
        if signs := pool.signs[piece]:
            names = (name for sign, name in NAMES_OF_SIGNS.items() if signs & sign)
            contents.setdefault(index, []).extend(names)
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
