"""`Explainer`: explains single messages of a finished compression, from its plan and its view.

Nothing is computed before the first question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from context_compression.compression.result import Evidence, Explanation, Part, Ref, Shown
from context_compression.conversation.authors import user_words
from context_compression.conversation.messages import Message, texts_of
from context_compression.evidence.constraints import constraints_in, is_rule
from context_compression.planning.cuts import Cutter
from context_compression.planning.edits import Edit, View
from context_compression.planning.plan import Archive, Plan
from context_compression.planning.selection import shortened
from context_compression.strategies.extract import is_record
from context_compression.strategies.forms import Form
from context_compression.strategies.weighing import WeighedPart, Weighing, is_in
from context_compression.strategies.window import importance
from context_compression.strings import in_words

SHOWN_CHARS = 60
"""The most characters of a quoted part."""
BEST_EVIDENCE, BEST_PARTS = 3, 3
"""How much evidence, and how many parts that are left out, an explanation names."""
WEIGHING = ("extract", "offload")
"""The strategies that choose parts by their evidence."""
FORMS: Mapping[str, Shown] = {
    "preview": "preview", "clipped": "clipped", "skeleton": "one line", "shortened": "shortened",
    "quoted": "quoted",
}  # fmt: skip
"""What is shown of a message, by its name in a reason."""
NAMED_FORMS: Mapping[str, Form] = {
    "preview": Form.PREVIEW, "clipped": Form.CLIPPED, "skeleton": Form.SKELETON,
    "shortened": Form.LEAST,
}  # fmt: skip
"""The forms by their name in a reason."""
BY_STRATEGY: Mapping[str, Shown] = {"offload": "preview", "truncate": "clipped"}
"""What is shown of a message that a strategy shortened, if the reason names no form."""


@dataclass(frozen=True)
class Compressed:
    """A finished compression, as far as an explanation needs it.

    Attributes:
        plan: its plan, without what a store or a cutter holds.
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


def lighter(plan: Plan) -> Plan:
    """A plan without what the archive, the cutter and its previews hold in memory."""
    return replace(plan, archive=Archive(), cutter=Cutter(), previews={})


class Explainer:
    """Answers why messages are shown as they are."""

    def __init__(self, compressed: Compressed) -> None:
        self._of, self._plan = compressed, compressed.plan

    def __call__(self, index: int) -> Explanation:
        """The explanation of the input message at `index`, which must exist."""
        place = self._places.get(index)
        refs = self._refs.get(index, ())
        if place is None:
            return Explanation(index, "message", 0, "nothing", decided_by="its repair", refs=refs)
        message, tokens = self._plan.messages[place], self._plan.tokens[place]
        who, must_stay = _author(message), self._why_it_stays(place)
        if index not in self._of.gone:
            return self._of_whole(index, place, must_stay)
        decided_by = self._of.reasons.get(index, "")
        if self._of.strategy not in WEIGHING:
            kept = self._kept(place, decided_by, self._quoted(place))
            stays = must_stay if kept != "nothing" else ""
            return Explanation(index, who, tokens, kept, stays, decided_by, refs=refs)
        paid, left_out = self._weighing.paid(place), self._weighing.left_out(place)
        least = self._weighing.least_shown(place) if left_out else None
        in_line = bool(paid) and all(part.in_line for part in paid)
        kept = self._kept(place, decided_by, "one line" if in_line else _quoted(bool(paid)))
        if kept == "one line" and place in self._in_view and paid:
            kept = "preview"  # lines were chosen for it beside that line
        return Explanation(
            index, who, tokens, kept, must_stay if kept != "nothing" else "", decided_by,
            self._evidence(paid), tuple(map(self._part, left_out[:BEST_PARTS])),
            self._part(least) if least else None, refs,
        )  # fmt: skip

    def most_telling(self, most: int) -> Sequence[int]:
        """The largest messages that changed and the largest that had to stay, in their order.

        The latter are at most a quarter.
        """
        places, tokens = self._places, self._plan.tokens
        by_size = sorted(places, key=lambda index: -tokens[places[index]])
        changed = [index for index in by_size if index in self._of.gone][: most - most // 4]
        stayed = (
            index
            for index in by_size
            if index not in self._of.gone and self._why_it_stays(places[index])
        )
        return sorted([*changed, *islice(stayed, most // 4)])

    @cached_property
    def _places(self) -> Mapping[int, int]:
        """The index of each input message in the plan."""
        places: dict[int, int] = {}
        for place, index in enumerate(self._of.origins):
            if index is not None:
                places.setdefault(index, place)
        return places

    @cached_property
    def _refs(self) -> Mapping[int, tuple[str, ...]]:
        """The refs of each input message, that of the complete message first."""
        refs: dict[int, list[str]] = {}
        for ref, meaning in self._of.refs.items():
            for index in meaning.indices[:1]:
                refs.setdefault(index, []).append(ref)
        return {index: tuple(each) for index, each in refs.items()}

    @cached_property
    def _weighing(self) -> Weighing:
        whole = [place for index, place in self._places.items() if index not in self._of.gone]
        return Weighing(self._plan, sorted(whole), self._shown_for, self._form_of)

    def _form_of(self, place: int) -> Form | None:
        """The form in which a message stays that is not shown in full; `None` if it does not."""
        index = self._of.origins[place]
        if place not in self._in_view or index is None:
            return None
        reason = self._of.reasons.get(index, "")
        usual = Form.RESULTS if reason.startswith("offload") else None
        return NAMED_FORMS.get(_name_of_form(reason), usual)

    @cached_property
    def _in_view(self) -> Mapping[int, Message]:
        """By place, the messages of the view that stand for a message of the plan."""
        pairs = zip(self._of.view.origins, self._of.view.messages, strict=True)
        return {origin: message for origin, message in pairs if origin is not None}

    @cached_property
    def _edits(self) -> Mapping[int, Edit]:
        """The edit of each message that has one, by place."""
        edits = self._of.view.edits
        return {place: edit for edit in edits for place in range(edit.start, edit.stop)}

    @cached_property
    def _new(self) -> str:
        """The text of all notes in the view."""
        pairs = zip(self._of.view.origins, self._of.view.messages, strict=True)
        return "\n".join(_text(message) for origin, message in pairs if origin is None)

    def _shown_for(self, place: int) -> str:
        """All texts that the view shows in the place of a message: its form, or the notes."""
        return _text(self._in_view[place]) if place in self._in_view else self._new

    def _quoted(self, place: int) -> Shown:
        """Whether a note quotes a message as a whole, for strategies that weigh no parts."""
        texts = (text.strip() for block in self._plan.messages[place].blocks
                 for text in texts_of(block))  # fmt: skip
        return _quoted(any(text and is_in(text, self._shown_for(place)) for text in texts))

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
        return FORMS.get(_name_of_form(reason)) or BY_STRATEGY.get(
            reason.partition(":")[0], "shortened"
        )

    def _why_it_stays(self, place: int) -> str:
        """Why no strategy may leave a message out, or why this one does not; else `""`."""
        plan, message = self._plan, self._plan.messages[place]
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
        messages = enumerate(self._plan.messages)
        return next((place for place, message in messages if user_words(message).strip()), None)

    def _of_whole(self, index: int, place: int, must_stay: str) -> Explanation:
        """The explanation of a message that is shown in full."""
        plan, strategy, decided_by = self._plan, self._of.strategy, ""
        recent = plan.turns[-plan.settings.keep_recent :]
        if strategy == "window" and not must_stay:
            if recent and place >= recent[0].start:
                must_stay = f"it is in one of the last {len(recent)} turns"
            else:
                keywords = plan.settings.important_keywords
                decided_by = f"window: importance {importance(plan.messages[place], keywords)}"
        elif strategy in ("extract", "summarize") and not must_stay and place >= plan.tail:
            must_stay = "it is one of the newest messages"
        elif strategy in BY_STRATEGY and not must_stay:
            decided_by = f"{strategy}, which shortens only large tool results, older ones first"
        author, tokens = _author(plan.messages[place]), plan.tokens[place]
        return Explanation(index, author, tokens, "whole", must_stay, decided_by)

    def _evidence(self, shown: list[WeighedPart]) -> tuple[Evidence, ...]:
        """The evidence with most worth in the shown parts of a message."""
        best: dict[tuple[str, str], float] = {}
        for part in shown:
            for kind, text, worth in self._weighing.evidence(part):
                key = kind, _short(text or part.text)
                best[key] = max(worth, best.get(key, 0.0))
        ranked = sorted(best.items(), key=lambda item: -item[1])[:BEST_EVIDENCE]
        return tuple(Evidence(kind, text, round(worth, 2)) for (kind, text), worth in ranked)

    def _part(self, part: WeighedPart) -> Part:
        index = self._of.origins[part.message]
        return Part(
            part.message if index is None else index,
            _short(part.text),
            part.tokens,
            round(part.worth_per_token, 4),
        )


def _author(message: Message) -> str:
    """The author of a message, in words: its role, or `tool result`."""
    return "tool result" if message.results else message.role


def _name_of_form(reason: str) -> str:
    """`_name_of_form("extract: preview (2 of 9 parts)")` -> `"preview"`."""
    return reason.partition(": ")[2].partition(" ")[0]


def _quoted(is_shown: bool) -> Shown:
    return "quoted" if is_shown else "nothing"


def _short(text: str) -> str:
    """The beginning and the end of a text on one line, without secrets."""
    return in_words(shortened(text, SHOWN_CHARS), SHOWN_CHARS + 1)


def _text(message: Message) -> str:
    return "\n".join(text for block in message.blocks for text in texts_of(block))
