"""`window`: the last turns in full, important older messages, and a digest of the others.

The last `keep_recent` turns stay in full if they fit. Otherwise fewer of them stay, or only part of
the last one. Older messages within the last `max_turns` turns stay if their importance is at least
`importance_threshold`. A request stays or leaves together with the answer to it. Earlier summaries
and rules of the user stay, and earlier digests become part of the new digest.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from context_compression.conversation.authors import is_host_summary, is_our_note
from context_compression.conversation.labels import (
    TITLES,
    is_digest,
    items_of,
    missing_in,
    opening,
    render,
    with_rules,
)
from context_compression.conversation.messages import (
    COMPRESSED,
    Document,
    Image,
    Message,
    Text,
    texts_of,
    user,
)
from context_compression.conversation.validity import NO_START
from context_compression.planning.digests import digest
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Archive, Plan, end_of_ignored
from context_compression.planning.selection import SUMMARY_MARKS, own_ref
from context_compression.settings import Settings
from context_compression.strategies import measured
from context_compression.strategies.base import Proposal, without_model
from context_compression.strategies.competing import Beside
from context_compression.strategies.extract import anchored
from context_compression.strategies.filling import filled_beside
from context_compression.strategies.forms import Form, Forms, outer_parts, unread_in
from context_compression.strategies.keep import NOTE, cost, keep_only
from context_compression.strategies.notes import ref_of_first
from context_compression.strategies.pictures import is_mark
from context_compression.strategies.rules import rules_in, words_in
from context_compression.strings import is_shorter
from context_compression.tokens import Counter

EMPTY_NOTES = (NO_START, NOTE.text, f"{COMPRESSED} Not shown here")
"""The beginnings of notes of this package that only say that something is missing."""


class RuleOf(NamedTuple):
    """A certain constraint of the user: the index of its message, its words, tokens to quote it."""

    message: int
    words: str
    tokens: int


def digests_in(plan: Plan) -> list[int]:
    """The indices of the digests that earlier compressions left, the oldest first."""
    return [
        index
        for index in range(plan.head, len(plan.messages))
        if not plan.messages[index].results and is_digest(plan.messages[index].text)
    ]


def is_earlier_summary(message: Message) -> bool:
    """Whether a message is a summary, or a note with quotes; digests and empty notes are not."""
    text = message.text
    if message.results or message.calls or text.startswith(EMPTY_NOTES) or is_digest(text):
        return False
    texts = [block for block in message.blocks if isinstance(block, Text)]
    known = text.startswith(SUMMARY_MARKS) or (message.role == "user" and is_host_summary(text))
    return known and not all(map(is_mark, texts))


def rules_of_user(plan: Plan, room: int) -> list[RuleOf]:
    """The certain constraints of the user in all messages after the head, the newest first.

    Args:
        plan: the plan of the conversation.
        room: the tokens that are free.
    """
    texts = [
        (index, words)
        for index in range(plan.head, len(plan.messages))
        for block in plan.messages[index].blocks
        if (words := words_in(plan, index, block))
    ]
    found: list[RuleOf] = []
    for rule in rules_in(plan, enumerate(words for _, words in texts), room):
        number, start, stop = rule.place
        if rule.sure:
            index, (text, *_) = texts[number]
            found.append(RuleOf(index, text[start:stop], rule.tokens))
    return found


def digest_note(
    plan: Plan,
    kept: Mapping[int, Message],
    digests: Sequence[int],
    max_chars: int,
    rules: Sequence[RuleOf],
) -> dict[int, Message]:
    """A note with a digest of the dropped messages, by the first index of the run it replaces.

    It replaces the first dropped run that is longer than the note, else the longest one, and if
    possible one that the provider does not ignore; empty if none was dropped. It always says how
    many messages are missing, and quotes the rules of dropped messages.

    Args:
        plan: the plan of the conversation.
        kept: the messages that stay, by index.
        digests: the indices of the dropped digests, the oldest first.
        max_chars: about how many characters the digest has at most, without the quoted rules.
        rules: the rules to quote if their message is dropped.
    """
    dropped = [index for index in range(plan.head, len(plan.messages)) if index not in kept]
    gone = [plan.messages[index] for index in dropped if index not in digests]
    merged = [plan.messages[index].text for index in digests]
    missing = _missing(plan, gone, merged)
    in_order = sorted(rules, key=lambda rule: rule.message)
    quoted = [rule.words for rule in in_order if rule.message not in kept]
    ref = ref_of_first(plan, [index for index in dropped if index not in digests])
    what = opening(missing, ref, restorable=plan.archive.restorable)
    earlier = {title: _merged(title, merged) for title in TITLES}
    free = max_chars - len(opening(missing, restorable=plan.archive.restorable)) - 1
    text = digest(gone, free, earlier, {*quoted}) if free > 0 else ""
    first = f"{what}:\n{text}" if text else f"{what}{':' if quoted else '.'}"
    note = user(with_rules(first, quoted))
    tokens = plan.counter.message(note)
    runs = _runs(plan, kept)
    seen = {start: runs[start] for start in runs if start >= end_of_ignored(plan.messages)} or runs
    longest = max(seen, key=lambda start: seen[start], default=None)
    place = next((start for start, size in seen.items() if size > tokens), longest)
    return {} if place is None else {place: note}


def _merged(title: str, digests: Sequence[str]) -> list[str]:
    """The items of a section of all digests, in their order."""
    return [item for text in digests for item in items_of(title, text)]


def _missing(plan: Plan, gone: Sequence[Message], digests: Sequence[str]) -> int:
    """How many messages are not shown: by the log if there is one, else by the earlier digests."""
    now = sum(message.results != () or not is_our_note(message.text) for message in gone)
    before = plan.archive.missing
    return now + (sum(map(missing_in, digests)) if before is None else before)


def _runs(plan: Plan, kept: Mapping[int, Message]) -> dict[int, int]:
    """The tokens of each run of dropped messages, by its first message."""
    runs: dict[int, int] = {}
    start = plan.head
    for index in range(plan.head, len(plan.messages)):
        if index in kept:
            start = index + 1
        else:
            runs[start] = runs.get(start, 0) + plan.tokens[index]
    return runs


CODE = re.compile(
    r"```|^[ \t]{4,}\S|^[ \t]*(?:def|class|import|from|function|const|fn|func)\b|^\$ ", re.M
)


@dataclass(frozen=True)
class Importance:
    """The importance of a message from 0 to 1, with its reasons."""

    score: float
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.score:g} ({', '.join(self.reasons) or 'no rule applies'})"


def importance(message: Message, keywords: Iterable[str]) -> Importance:
    """The importance of a message: a base plus the weight of each rule that applies."""
    text = message.text or "\n".join(result.text for result in message.results)
    lower = text.lower()
    rules = (
        (message.is_user or bool(message.said), 0.2, "user message"),
        (any(word.lower() in lower for word in keywords), 0.2, "important keyword"),
        (bool(message.calls) or CODE.search(text) is not None, 0.1, "code or command"),
        (_is_rich(message), 0.1, "rich content"),
        (
            not message.said and (bool(message.results) or message.role == "tool"),
            -0.2,
            "tool result",
        ),
        (not message.calls and is_shorter(text, measured.VERY_SHORT_CHARS), -0.1, "very short"),
    )
    score = measured.IMPORTANCE_BASE + sum(weight for applies, weight, _ in rules if applies)
    reasons = tuple(f"{name} {weight:+.1f}" for applies, weight, name in rules if applies)
    return Importance(round(min(1.0, max(0.0, score)), 2), reasons)


def _is_rich(message: Message) -> bool:
    """Whether a message shows a picture or document, has several texts, or is a long answer."""
    is_answer = message.role == "assistant" and not message.calls
    return (
        any(isinstance(block, Image | Document) for block in message.blocks)
        or sum(isinstance(block, Text) for block in message.blocks) > 1
        or (is_answer and not is_shorter(message.text, measured.LONG_ANSWER_CHARS))
    )


def due_by_turns(
    messages: Sequence[Message], settings: Settings, archive: Archive | None = None
) -> bool:
    """`is_due` for messages without a plan."""
    plan = Plan(
        tuple(messages), (0,) * len(messages), Counter(), settings, archive=archive or Archive()
    )
    return is_due(plan)


def is_due(plan: Plan) -> bool:
    """Whether there are more than twice `keep_recent` turns, or more than `max_turns`.

    Of the turns that an earlier compression left, at most `keep_recent` count. Otherwise important
    turns that stay would make it due again at every new turn.
    """
    settings, settled = plan.settings, plan.archive.settled
    left = sum(turn.start < settled for turn in plan.turns)
    turns = len(plan.turns) - left + min(left, settings.keep_recent)
    return turns > 2 * settings.keep_recent or turns > settings.max_turns


def propose(plan: Plan) -> Proposal:
    """Edits that leave the recent turns, important older messages, and a digest of the others."""
    return without_model(_edits(plan))


def _edits(plan: Plan) -> Sequence[Edit]:
    room = plan.total if plan.room is None else plan.room
    choice = _Choice(plan, room)
    protected = choice.take_protected()
    start = choice.take_recent()
    scores = {
        i: importance(plan.messages[i], plan.settings.important_keywords) for i in range(start)
    }
    scored = choice.take_important(start, scores)
    notes = choice.note_that_fits([*protected, *scored])
    why = {index: f"importance {score}" for index, score in scores.items()}
    why |= dict.fromkeys(choice.digests, "its items are in the new digest")
    edits = keep_only(plan, choice.kept, notes, "window", why, always=True)
    if plan.room is None or plan.lasts or not notes:
        return edits
    beside = Beside(notes, frozenset(choice.digests))
    return filled_beside(plan, edits, choice.kept, beside, "window") or edits


class _Choice:
    """The messages that stay, chosen step by step.

    Attributes:
        plan: the plan of the conversation.
        room: the tokens of the view.
        kept: the messages that stay, by index.
        digests: the earlier digests, whose items go into the new one.
    """

    def __init__(self, plan: Plan, room: int) -> None:
        self.plan, self.room = plan, room
        rules = rules_of_user(plan, room) if unread_in(plan) else ()
        self.kept = anchored(plan, room, sum(rule.tokens for rule in rules))
        self.digests: list[int] = [i for i in digests_in(plan) if i not in self.kept]
        self._left: int = room - cost(plan, self.kept, {})
        if plan.room is not None:
            chars = plan.settings.summary_max_chars + len(COMPRESSED) * 4
            most = int(measured.DIGEST_SHARE * self._left)
            self._left -= min(most, int(chars * tokens_per_char(plan)))
        self._rules: list[RuleOf] = rules_of_user(plan, self._left)
        self._exchanges = exchanges(plan)
        self._reserved: dict[int, int] = {}

    def take_protected(self) -> list[Sequence[int]]:
        """Take earlier summaries and messages with rules of the user; returns what was taken.

        They have `PROTECTED_SHARE` of the room. First there is room for the words of all rules,
        then for their messages. A summary that does not fit is clipped. A long text with rules, or
        one before the last `max_turns` turns, is not taken, but its rules are quoted.
        """
        plan, settings = self.plan, self.plan.settings
        share = 1 if plan.room is None else measured.PROTECTED_SHARE
        budget = int(share * self._left)
        for rule in self._rules:
            if rule.message not in self.kept and rule.tokens <= budget:
                budget -= rule.tokens
                self._left -= rule.tokens
                self._reserved[rule.message] = self._reserved.get(rule.message, 0) + rule.tokens
        first = plan.turns[-settings.max_turns :][0].start if plan.turns else plan.head
        summaries = [i for i in range(plan.head, len(plan.messages)) if i not in self.kept
                     and not plan.step_of(i) and is_earlier_summary(plan.messages[i])]  # fmt: skip
        taken: list[Sequence[int]] = []
        for index in reversed(summaries):
            budget -= self._take_summary(index, budget)
            taken += [range(index, index + 1)] if index in self.kept else []
        for index in sorted({rule.message for rule in self._rules}, reverse=True):
            unit = self._exchanges.get(index) or plan.step_of(index) or range(index, index + 1)
            tokens = sum(plan.tokens[i] for i in unit if i not in self.kept)
            more = tokens - sum(self._reserved.get(i, 0) for i in unit)
            short = plan.tokens[index] <= measured.TYPED_TOKENS and unit[0] >= first
            if tokens and short and more <= budget and self._take(unit):
                budget -= more
                taken.append(unit)
        return taken

    def _take_summary(self, index: int, budget: int) -> int:
        """Take a summary, clipped if it does not fit the budget; returns its tokens, else 0."""
        if self.plan.tokens[index] <= budget and self._take(range(index, index + 1)):
            return self.plan.tokens[index]
        clipped = Forms(self.plan).shaped(index, Form.CLIPPED)
        tokens = self.plan.counter.message(clipped)
        if tokens >= min(self.plan.tokens[index], budget):
            return 0
        self.kept[index] = clipped
        self._left -= tokens
        return tokens

    def _take(self, span: Iterable[int], shown: Mapping[int, Message] | None = None) -> bool:
        """Take messages if they fit; the room reserved for quotes of their rules is free then.

        Args:
            span: their indices.
            shown: those of them that are shortened, by index.
        """
        added = [index for index in span if index not in self.kept and index not in self.digests]
        shown = {index: (shown or {}).get(index, self.plan.messages[index]) for index in added}
        tokens = sum(
            self._tokens(index, message) - self._reserved.get(index, 0)
            for index, message in shown.items()
        )
        if tokens > self._left:
            return False
        self.kept |= shown
        for index in added:
            self._reserved.pop(index, None)
        self._left -= tokens
        return True

    def _tokens(self, index: int, message: Message) -> int:
        whole = message is self.plan.messages[index]
        return self.plan.tokens[index] if whole else self.plan.counter.message(message)

    def take_recent(self) -> int:
        """Take the last turns, or a part of the last one; returns where the first starts."""
        recent = self.plan.turns[-self.plan.settings.keep_recent :]
        start = len(self.plan.messages)
        for turn in reversed(recent):
            if not self._take(turn):
                if turn is recent[-1]:
                    all(self._take(unit) for unit in reversed(units(self.plan, turn)))
                break
            start = turn.start
        return start

    def take_important(self, start: int, scores: Mapping[int, Importance]) -> list[Sequence[int]]:
        """Take the important messages before `start`, the best first; returns what was taken.

        An answer that stays only for its request is shortened.
        """
        settings = self.plan.settings
        found: dict[Sequence[int], None] = {}  # each once, in order
        for turn in self.plan.turns[-settings.max_turns :]:
            if turn.stop <= start:
                each = units(self.plan, turn)
                found |= dict.fromkeys(self._exchanges.get(unit[0], unit) for unit in each)
        scored = [
            (max(scores[i].score for i in unit if i in scores), unit)  # it may exceed its turn
            for unit in found
            if not all(i in self.kept or i in self.digests for i in unit)
        ]
        best_first = sorted(scored, key=lambda item: (-item[0], -item[1][0]))
        least = settings.importance_threshold
        taken: list[Sequence[int]] = []
        for score, unit in best_first:
            low = (i for i in unit if i in scores and scores[i].score < least)
            shown = {i: self._brief(i) for i in low} if unit[0] in self._exchanges else {}
            taken += [unit] if score >= least and self._take(unit, shown) else []
        return taken

    def _brief(self, index: int) -> Message:
        """An answer with its beginning and end; the same message if it is short or has more."""
        message, most = self.plan.messages[index], measured.ANSWER_CHARS
        texts = [block for block in message.blocks if isinstance(block, Text)]
        if message.role != "assistant" or len(texts) != 1 or len(message.blocks) != 1:
            return message
        [text] = [block.text for block in texts]
        if len(text) <= measured.ANSWER_FACTOR * most:
            return message
        ref = own_ref(text, self.plan.archive)
        return message.with_blocks((Text(render(text, outer_parts(text, most), ref)),))

    def note_that_fits(self, taken: list[Sequence[int]]) -> dict[int, Message]:
        """The digest of what is dropped, by the first index of the run that it replaces.

        While it does not fit, messages are given back from the end of `taken`, then the digest
        becomes shorter, and in the end quotes of rules are left out. Where no view with a digest is
        smaller than the messages, earlier digests stay if they fit.
        """
        plan, most = self.plan, self.plan.settings.summary_max_chars
        rules: list[RuleOf] = self._rules
        if plan.room is None:
            return self._note_that_tells()
        taken = [unit for unit in taken if plan.anchored.isdisjoint(unit)]
        while len(self.kept) + len(self.digests) < len(plan.messages) or taken:
            notes = digest_note(plan, self.kept, self.digests, most, rules)
            over = cost(plan, self.kept, notes, always=True) - self.room
            if over > 0 and taken:  # notes between scattered units cost tokens
                for index in taken.pop():
                    self.kept.pop(index, None)
            elif over <= 0:
                return notes
            elif most:
                most = self._shorter(most, notes, over)
            elif rules:
                rules = [rule for rule in rules if rule.message not in self.kept]
                while rules and over > 0:
                    over -= rules.pop().tokens
            else:
                break
        with_digests = {**self.kept, **{i: plan.messages[i] for i in self.digests}}
        if cost(plan, with_digests, {}) <= self.room:
            self.kept = with_digests
            self.digests.clear()
        return {}

    def _shorter(self, chars: int, notes: Mapping[int, Message], over: int) -> int:
        """The characters of a digest that takes fewer tokens than one of `chars` in the notes."""
        tokens = sum(map(self.plan.counter.message, notes.values()))
        return int(chars * max(0, tokens - over) / tokens) if tokens else 0

    def _note_that_tells(self) -> dict[int, Message]:
        """The digest where no size is to be met; all stays if none that tells anything frees much.

        A prompt cache would be lost for nothing.
        """
        plan, most = self.plan, self.plan.settings.summary_max_chars
        longest = notes = digest_note(plan, self.kept, self.digests, most, self._rules)
        if len(self.kept) + len(self.digests) >= len(plan.messages):  # nothing else goes
            self.kept |= {index: plan.messages[index] for index in self.digests}
            self.digests.clear()
            return {}
        room = int((1 - measured.LEAST_FREED_SHARE) * plan.total)
        while (over := cost(plan, self.kept, notes, always=True) - room) > 0 and most:
            most = self._shorter(most, notes, over)
            notes = digest_note(plan, self.kept, self.digests, most, self._rules)
        tells = any(":\n" in note.text for note in notes.values())
        if over <= 0 and (tells or notes is longest):
            return notes
        self.kept = dict(enumerate(plan.messages))
        self.digests.clear()
        return {}


def tokens_per_char(plan: Plan) -> float:
    """The tokens of a character of the conversation, which depend on its language; at most 1."""
    chars = sum(len(text) for m in plan.messages for block in m.blocks for text in texts_of(block))
    return min(1.0, plan.total / max(1, chars))


def exchanges(plan: Plan) -> dict[int, tuple[int, ...]]:
    """Each request of the user with the answer to it, by the index of each of these messages.

    The answer is the last message of the model in a turn, if it calls no tool. It also answers the
    requests before it that have none: without their answers they would seem to be open.
    """
    found: dict[int, tuple[int, ...]] = {}
    asked: list[int] = []
    for turn in plan.turns:
        asked += [turn.start] if plan.messages[turn.start].starts_turn else []
        said = [i for i in turn if plan.messages[i].role == "assistant" and not plan.step_of(i)]
        if said and asked:
            unit = (*asked, said[-1])
            found |= dict.fromkeys(unit, unit)
            asked = []
    return found


def units(plan: Plan, span: range) -> list[range]:
    """The parts of a span that must not be split, in order: tool steps, and other messages."""
    parts: list[range] = []
    for index in span:
        step = plan.step_of(index)
        if not step or step.start == index:
            parts.append(step or range(index, index + 1))
    return parts
