"""`Explainer`: says why the messages of a finished compression are shown as they are.

What competed for the room is read from the record of the choice. A compression makes this record if
it is asked to (`planning.edits.recorded`). Otherwise the first question makes the same choice once
more, with a record, so that a result needs little memory for its explanation.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from context_compression.compression.result import Evidence, Explanation, Part, Ref, Shown
from context_compression.conversation.authors import user_words
from context_compression.conversation.messages import Message, texts_of
from context_compression.evidence.constraints import constraints_in, is_rule
from context_compression.evidence.redaction import redact
from context_compression.planning import measured
from context_compression.planning.edits import Edit, View, Weighed, WeighedPart, weighed_in
from context_compression.planning.plan import Plan
from context_compression.planning.selection import shortened
from context_compression.strategies.extract import is_record
from context_compression.strategies.weighing import BEST_EVIDENCE, text_of
from context_compression.strategies.window import importance
from context_compression.strings import in_words

SHOWN_CHARS = 60
"""The most characters of a quoted part."""
WEIGHING = ("extract", "offload")
"""The strategies that choose parts by their evidence."""
FORMS: Mapping[str, Shown] = {
    "preview": "preview", "clipped": "clipped", "skeleton": "one line", "shortened": "shortened",
}  # fmt: skip
"""What is shown of a message, by the name of its form in a reason."""
QUOTED, LEFT_OUT = "quoted", "left"
"""The first words of the reasons for a message that is quoted, and for one that is not."""
CERTAIN_CHARS = 12
"""A shorter text may be in a note by chance, so it must begin a line or follow a label."""
BY_STRATEGY: Mapping[str, Shown] = {"offload": "preview", "truncate": "clipped"}
"""What is shown of a message that a strategy shortened, if the reason names no form."""


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
        again: proposes the edits once more, to record what competed.
    """

    plan: Plan
    view: View
    strategy: str
    origins: Sequence[int | None]
    gone: frozenset[int]
    reasons: Mapping[int, str]
    refs: Mapping[str, Ref]
    again: Callable[[], Sequence[Edit]]

    def __call__(self, index: int) -> Explanation:
        """The explanation of the input message at `index`, which must exist."""
        place = self._places.get(index)
        refs = self._refs_of.get(index, ())
        if place is None:
            return Explanation(index, "message", 0, "nothing", decided_by="its repair", refs=refs)
        must_stay, decided_by = self._why_it_stays(place), self.reasons.get(index, "")
        if index not in self.gone:
            return self._of_whole(index, place, must_stay)
        paid: Sequence[WeighedPart] = ()
        left_out: Sequence[WeighedPart] = ()
        if self.strategy in WEIGHING:
            paid, left_out = self._paid.get(place, ()), self._weighed.left_out.get(place, ())
        kept = self._kept(place, decided_by, paid)
        if kept == "summarised":  # the rest of the reason says what stands beside the summary
            decided_by = decided_by.partition(":")[0]
        least = self._least_shown(place) if left_out else None
        return Explanation(
            index, _author(self.plan.messages[place]), self.plan.tokens[place], kept,
            must_stay if kept != "nothing" else "", decided_by,
            _evidence(paid), tuple(map(self._part, left_out)),
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
    def _weighed(self) -> Weighed:
        """What competed for the room of the view."""
        return weighed_in(self.view.edits) or weighed_in(self.again()) or Weighed()

    @cached_property
    def _paid(self) -> Mapping[int, Sequence[WeighedPart]]:
        """The chosen parts that the view shows, by the index of their message, the best first."""
        paid: dict[int, list[WeighedPart]] = {}
        for part in sorted(self._weighed.shown, key=lambda part: -part.worth_per_token):
            edit = self._edits.get(part.message)
            if part.message in self._in_view or (edit and edit.becomes):  # has a note
                paid.setdefault(part.message, []).append(part)
        return paid

    def _least_shown(self, besides: int) -> WeighedPart | None:
        """The chosen part of the other messages with the least worth per token.

        Parts that only filled what was left are not meant.
        """
        return next((part for part in self._worst_first if part.message != besides), None)

    @cached_property
    def _worst_first(self) -> Sequence[WeighedPart]:
        paid = (part for parts in self._paid.values() for part in parts)
        competed = (part for part in paid if part.worth_per_token > measured.FILLER)
        return sorted(competed, key=lambda part: part.worth_per_token)

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
        return "\n".join(text_of(message) for origin, message in pairs if origin is None)

    def _is_quoted(self, place: int) -> bool:
        """Whether a note quotes a text of a message as a whole, or one of its lines."""
        notes, lines = self._notes, self._lines_of_notes
        texts = (text.strip() for block in self.plan.messages[place].blocks
                 for text in texts_of(block))  # fmt: skip
        return any(
            text and (_is_in(text, notes) or not lines.isdisjoint(map(str.strip, text.split("\n"))))
            for text in texts
        )

    @cached_property
    def _lines_of_notes(self) -> frozenset[str]:
        """The lines that notes quote, without labels and without short ones."""
        lines = (line.partition("] ")[2] or line for line in self._notes.split("\n"))
        return frozenset(line.strip() for line in lines if len(line) >= CERTAIN_CHARS)

    def _kept(self, place: int, reason: str, paid: Sequence[WeighedPart]) -> Shown:
        """What the view shows of a message that changed.

        Args:
            place: its index in the plan.
            reason: why it changed.
            paid: its parts that were chosen and are shown.
        """
        if place not in self._in_view:
            edit = self._edits.get(place)
            if edit and edit.record:
                return "summarised"
            if paid and all(part.in_line for part in paid):
                return "one line"
            by_choice = _name_of_form(reason) if self.strategy in WEIGHING else ""
            if by_choice in (QUOTED, LEFT_OUT):
                return "quoted" if by_choice == QUOTED else "nothing"
            return "quoted" if self._is_quoted(place) else "nothing"
        by_strategy = BY_STRATEGY.get(reason.partition(":")[0], "shortened")
        form = FORMS.get(_name_of_form(reason), by_strategy)
        if form == "one line" and paid:
            return "preview"  # lines were chosen for it beside that line
        return form

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
        if place == self._first_request and user_words(message):
            return "it holds the first request"
        if rule := next(_rules_in(message), None):
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

    def _part(self, part: WeighedPart) -> Part:
        index, worth = self.origins[part.message], round(part.worth_per_token, 4)
        return Part(part.message if index is None else index, _short(part.text), part.tokens, worth)


def _evidence(shown: Iterable[WeighedPart]) -> tuple[Evidence, ...]:
    """The evidence with most worth in the shown parts of a message."""
    best: dict[tuple[str, str], float] = {}
    for part in shown:
        for kind, text, worth in part.evidence:
            key = kind, _short(text or part.text)
            best[key] = max(worth, best.get(key, 0.0))
    ranked = sorted(best.items(), key=lambda item: -item[1])[:BEST_EVIDENCE]
    return tuple(Evidence(kind, text, round(worth, 2)) for (kind, text), worth in ranked)


def _is_in(text: str, place: str) -> bool:
    """Whether a stripped text is in the notes of a view."""
    if len(text) >= CERTAIN_CHARS:
        return text in place
    return f"\n{text}" in place or f"] {text}" in place or place.startswith(text)


def _rules_in(message: Message) -> Iterator[str]:
    """The user's rules in a message."""
    words = user_words(message)
    return filter(is_rule, (words[a:b] for a, b in constraints_in(words)) if words else ())


def _author(message: Message) -> str:
    """The author of a message, in words: its role, or `tool result`."""
    return "tool result" if message.results else message.role


def _name_of_form(reason: str) -> str:
    """`_name_of_form("extract: preview (2 of 9 parts)")` -> `"preview"`."""
    return reason.partition(": ")[2].partition(" ")[0]


def _short(text: str) -> str:
    """The beginning and the end of a text on one line, without secrets."""
    return in_words(shortened(redact(text), SHOWN_CHARS), SHOWN_CHARS + 1)
