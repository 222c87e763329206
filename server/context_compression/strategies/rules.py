"""The user's standing rules: found in texts, quoted from dropped messages, shown in any view.

They are as many as fit in a share of the window and of the conversation, the newest first. They
stand verbatim in each view.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from context_compression.conversation.authors import EXCERPTS, holds_excerpts, user_spans
from context_compression.conversation.authors.speech import tagged_spans
from context_compression.conversation.labels import Span, is_digest
from context_compression.conversation.messages import (
    Block,
    Message,
    Opaque,
    Text,
    ToolResult,
    texts_of,
    user,
)
from context_compression.conversation.text_protocol import begins_as_result
from context_compression.planning.edits import Edit
from context_compression.planning.pieces import Place, Pool
from context_compression.planning.plan import Plan
from context_compression.strategies import measured
from context_compression.strategies.competing import KeptMessages
from context_compression.strategies.forms import Form, Forms
from context_compression.strategies.keep import shrinks
from context_compression.strategies.tool_results import Slots

OF_WORK = re.compile(
    r"\w-*\.[A-Za-z][A-Za-z0-9]{0,4}(?![A-Za-z0-9])|[/\\`_]"
    r"|(?<![A-Za-z0-9_])(?:--\w|[a-z]+[A-Z])"
)
"""A sign of work in a sentence: a file, a path, code, an option, a name of a program."""


TYPED, SURE, UNSURE, CLAIMED = range(4)
"""The order of constraints: sure ones that were typed, other sure ones, those that may be
constraints, and those that only claim to be the user's."""


class Words(NamedTuple):
    """A text in which a block may hold words of the user, and how it came to be there.

    Attributes:
        text: the words.
        origin: whether it is a text of role user, an answer in the result of a call, or a result
            that only claims to be the user's.
        done: whether it belongs to a request that is finished.
    """

    text: str
    origin: Literal["text", "answer", "claim"] = "text"
    done: bool = False


Order = tuple[int, bool, int, int, int]
"""The order of a constraint: its kind, whether its request is finished, its place in its text among
the first ones of all texts, and then the newest text first."""


class Rule(NamedTuple):
    """A standing constraint of the user, or a whole text where the user typed little.

    Attributes:
        place: its place among the sources.
        tokens: the tokens it costs to quote it.
        sure: whether it is certainly a constraint: it has the form of a rule, and it was typed or
            is one of the first in a pasted text.
    """

    place: Place
    tokens: int
    sure: bool


def rules_in(plan: Plan, texts: Iterable[tuple[int, Words]], room: float) -> list[Rule]:
    """The constraints in numbered texts of role user.

    If all that the user typed in these texts takes a small share of the room, all of it comes
    first, because a rule may have any words in any language. Otherwise the constraints that are
    most likely to still apply come first, the newest text first: rules that were typed, before the
    first few rules of a pasted text, those in tags, results and answers, so that none of these, how
    many ever, pushes out what was typed. Then come sentences that stand apart in a pasted text or
    may be rules, and the other rules of pasted texts, because most sentences of a specification may
    be constraints. Of these, the first of each text is taken, then the second of each, and so on,
    until their share of the room is used up, those of the open request before those of finished
    ones. Those of claims are the last, and never sure. Of a repeated constraint the last typed one
    counts, else the last sure one, else the first one.

    Args:
        plan: the plan of the conversation.
        texts: texts of dropped messages, each with its number, the oldest first.
        room: the tokens that the kept messages leave.
    """
    numbered = [*texts]
    whole = _typed_if_little(plan, numbered, room)
    # advice between friends has the form of a rule, too; where tools work, nobody gives such advice
    talk = plan.is_talk_of_two and not any(m.calls or m.results for m in plan.messages)
    by_text: dict[str, tuple[Order, Rule]] = {}
    for number, words in numbered:
        if number in whole:
            continue
        for order, rule, sentence in _constraints_in(plan, number, words, talk=talk):
            known = by_text.get(sentence)
            kind = order[0]
            if known is None or kind < known[0][0] or (rule.sure and kind == known[0][0]):
                by_text[sentence] = order, rule
    rules = sorted(by_text.values())
    unsure = sum(rule.tokens for (kind, *_), rule in rules if kind == UNSURE)
    left = measured.UNSURE_RULES_SHARE * room
    if talk:
        left = measured.TALK_RULES_SHARE * room
    elif plan.cutter.prose and unsure > left:
        left = 0  # so many sentences are not constraints, but ordinary talk
    chosen = [rule for rules_of_text in whole.values() for rule in rules_of_text]
    for _, rule in rules:
        left -= 0 if rule.sure else rule.tokens
        if rule.sure or left >= 0:
            chosen.append(rule)
    return chosen


def _constraints_in(
    plan: Plan, number: int, words: Words, *, talk: bool
) -> Iterator[tuple[Order, Rule, str]]:
    """The constraints of one text: the order of each among those of all texts, and its words."""
    text, origin, done = words
    notes = holds_excerpts(text)
    long = plan.counter.text(text) > measured.TYPED_TOKENS and not notes
    is_typed = origin == "text" and not long and (notes or not begins_as_result(text))
    tagged = () if notes or not is_typed else tagged_spans(text)
    for rank, found in enumerate(plan.constraints_of(text), 1):
        if talk and not found.sure:
            continue
        sentence = text[found.start : found.stop]
        one_of_many = long and rank > measured.PASTED_RULES and not found.apart
        sure = found.sure and origin != "claim" and not one_of_many
        sure = sure and not (talk and not OF_WORK.search(sentence))
        in_tag = any(start <= found.start < stop for start, stop in tagged)
        if sure:
            kind = TYPED if is_typed and not in_tag else SURE
        else:
            kind = CLAIMED if origin == "claim" else UNSURE
        order = kind, done, 0 if sure or found.apart else rank - 1, -number, found.start
        tokens = plan.counter.text(sentence) + measured.RULE_LABEL_TOKENS
        yield order, Rule((number, found.start, found.stop), tokens, sure), sentence


def _typed_if_little(
    plan: Plan, texts: Iterable[tuple[int, Words]], room: float
) -> dict[int, list[Rule]]:
    """All that the user typed, by the number of its text, the newest first, if it is little.

    Otherwise it is empty. Long texts and notes of this package are not typed. Claims come last, as
    far as they are little, too.
    """
    count = plan.counter.text
    left = measured.TYPED_SHARE * room
    typed: dict[int, list[Rule]] = {}
    claimed: dict[int, list[Rule]] = {}
    for number, (text, origin, _) in texts:
        if holds_excerpts(text) or count(text) > measured.TYPED_TOKENS:
            continue
        claim = origin == "claim"
        sure = not claim and any(found.sure for found in plan.constraints_of(text))
        rules = [
            Rule((number, start, stop), count(text[start:stop]) + measured.RULE_LABEL_TOKENS, sure)
            for start, stop in user_spans(text)
        ]
        (claimed if claim else typed)[number] = rules
        left -= 0 if claim else sum(rule.tokens for rule in rules)
        if left < 0:
            return {}
    whole = dict(reversed(typed.items()))
    for number, rules in reversed(claimed.items()):
        left -= sum(rule.tokens for rule in rules)
        if left < 0:
            break
        whole[number] = rules
    return whole


def words_in(plan: Plan, index: int, block: Block) -> Words | None:
    """The text in which a block of the message at `index` may hold words of the user.

    The output of a tool is not a rule.
    """
    done = index < plan.request
    match block:
        case ToolResult(said=said, claim=claim) if said:
            return Words(said, "claim" if claim else "answer", done)
        case Opaque(said=said) if said:
            return Words(said, "answer", done)
        case Text(text=text, by_harness=False) if text and plan.messages[index].role == "user":
            return Words(text, "text", done)
        case _:
            return None


class Standing(NamedTuple):
    """A standing rule of the user: its place, its words, and the tokens to quote it."""

    message: int
    slot: int
    start: int
    stop: int
    words: str
    tokens: int


def standing_rules(plan: Plan) -> Sequence[Standing]:
    """The user's sure constraints that stand in each view: typed ones first, the newest first."""
    places = [
        (index, slot, words)
        for index, message in enumerate(plan.messages)
        if index >= plan.head
        for slot, block in enumerate(message.blocks)
        if (words := words_in(plan, index, block))
    ]
    texts = [(number, words) for number, (*_, words) in enumerate(places)]
    of = min(plan.settings.token_budget, plan.total)
    left = max(measured.RULES_SHARE * of, measured.LEAST_RULES_TOKENS)
    chosen: list[Standing] = []
    for rule in rules_in(plan, texts, 0):
        if rule.sure and rule.tokens <= left:
            left -= rule.tokens
            number, start, stop = rule.place
            index, slot, (text, *_) = places[number]
            chosen.append(Standing(index, slot, start, stop, text[start:stop], rule.tokens))
    return chosen


def with_rules_shown(
    forms: Forms, kept: Mapping[int, Form]
) -> tuple[dict[int, Message], dict[int, Slots]]:
    """The kept messages in their forms with their standing rules, and the others' to quote."""
    shown = {index: forms.plain(index, form) for index, form in kept.items()}
    places: dict[int, dict[tuple[int, str], list[Span]]] = {}
    for rule in lacking(standing_rules(forms.plan), shown):
        spans = places.setdefault(rule.message, {}).setdefault((rule.slot, ""), [])
        spans.append((rule.start, rule.stop))
    for index in [*places]:
        if index in kept:
            shown[index] = forms.shaped(index, kept[index], places.pop(index))
    return shown, {**places}


def lacking(rules: Iterable[Standing], shown: Mapping[int, Message]) -> list[Standing]:
    """The rules that the shown message of their place does not hold; messages are by index."""
    return [
        rule
        for rule in rules
        if rule.message not in shown or not _holds(shown[rule.message], rule.words)
    ]


def missing_after(plan: Plan, edits: Iterable[Edit]) -> list[Standing]:
    """The standing rules that would not stand in the view after some edits.

    What a summary says of a rule does not count, because it is not quoted there as the user's.
    """
    made = [edit for edit in edits if edit.needed or shrinks(plan, edit)]
    covered = {index for edit in made for index in range(edit.start, edit.stop)}
    becomes = [
        message
        for edit in made
        for message, origin in zip(edit.becomes, edit.origins_in(plan.messages), strict=True)
        if origin is not None or holds_excerpts(message.text) or is_digest(message.text)
    ]
    return [
        rule
        for rule in standing_rules(plan)
        if rule.message in covered and not any(_holds(message, rule.words) for message in becomes)
    ]


def with_standing_rules(plan: Plan, edits: Sequence[Edit]) -> Sequence[Edit]:
    """The edits, with one note that quotes the standing rules that would be missing after them.

    The note stands behind the first place where one of them was and a message may begin. Without
    such a place the edits are unchanged.
    """
    missing = missing_after(plan, edits)
    if not missing:
        return edits
    for at, edit in enumerate(edits):
        inside = any(edit.start <= rule.message < edit.stop for rule in missing)
        calls = bool(edit.becomes) and bool(edit.becomes[-1].calls)
        if inside and not calls and plan.is_cut(edit.stop):
            origins = (*edit.origins_in(plan.messages), None)
            more = replace(edit, becomes=(*edit.becomes, rules_note(missing)), origins=origins)
            return [_quoting(missing, each, plan) for each in (*edits[:at], more, *edits[at + 1 :])]
    return edits


def _quoting(rules: Sequence[Standing], edit: Edit, plan: Plan) -> Edit:
    """An edit, with the reason that a note quotes rules of the messages that it drops."""
    gone = {*range(edit.start, edit.stop)}.difference(edit.origins_in(plan.messages))
    why = {rule.message: "quoted (a rule)" for rule in rules if rule.message in gone}
    return replace(edit, why={**edit.why, **why}) if why else edit


def rules_note(rules: Sequence[Standing]) -> Message:
    """A note that quotes some rules, the oldest first."""
    lines = (f"[User] {rule.words}" for rule in sorted(rules))
    return user("\n".join([f"{EXCERPTS}:", *lines]))


def _holds(message: Message, words: str) -> bool:
    return any(words in text for block in message.blocks for text in texts_of(block))


class Rules(NamedTuple):
    """The constraints that a view quotes.

    Attributes:
        standing: those that stand in each view.
        quoted: those that there is room for.
        lacks_sure: whether a sure one has no room.
    """

    standing: list[Rule]
    quoted: list[Rule]
    lacks_sure: bool


def rules_with_room(base: KeptMessages, pool: Pool, left: int) -> Rules:
    """The standing constraints in dropped messages, as far as there is room.

    Those that stand in each view come first. The others are chosen before all pieces and given
    back last; one that takes more than half of the room comes after the others, so that it does
    not push them out.

    Args:
        base: the kept messages.
        pool: the texts that compete, in which the constraints have their places.
        left: the tokens of the room that the kept messages leave.
    """
    messages = base.plan.messages
    texts: list[tuple[int, Words]] = []
    for number, source in enumerate(pool.sources):
        block = messages[source.message].blocks[source.slot]
        if source.message in base.kept:
            continue
        if words := words_in(base.plan, source.message, block):
            texts.append((number, words._replace(text=source.text)))
    standing = _standing(base, pool)
    room = left - measured.BARE_NOTE_TOKENS - sum(rule.tokens for rule in standing)
    half = room / 2
    quoted: list[Rule] = []
    lacks_sure = False
    told = _told(base)
    others = (
        _beside(rule, standing)
        for rule in rules_in(base.plan, texts, left)
        if _words_of(rule, pool) not in told
    )
    for rule in sorted(filter(None, others), key=lambda rule: rule.tokens > half):
        if rule.tokens <= room:
            room -= rule.tokens
            quoted.append(rule)
        else:
            lacks_sure |= rule.sure
    return Rules(standing, quoted, lacks_sure)


def _words_of(rule: Rule, pool: Pool) -> str:
    number, start, stop = rule.place
    return pool.sources[number].text[start:stop]


def _told(base: KeptMessages) -> str:
    """The text of a digest beside the kept messages, which quotes rules; "" if there is none."""
    return "\n".join(note.text for note in base.beside.notes.values() if is_digest(note.text))


def _standing(base: KeptMessages, pool: Pool) -> list[Rule]:
    """The rules that stand in each view, and that the kept messages do not show."""
    told = _told(base)
    missing = [r for r in lacking(standing_rules(base.plan), base.shown) if r.words not in told]
    if not missing:
        return []
    numbers = {(s.message, s.slot): n for n, s in enumerate(pool.sources) if not s.key}
    return [
        Rule((number, rule.start, rule.stop), rule.tokens, sure=True)
        for rule in missing
        if (number := numbers.get((rule.message, rule.slot))) is not None
        and pool.sources[number].text[rule.start : rule.stop] == rule.words
    ]


def _beside(rule: Rule, standing: Sequence[Rule]) -> Rule | None:
    """A constraint without the tokens of the standing rules in it; `None` if it is one of them."""
    number, start, stop = rule.place
    inside = [
        other.tokens - measured.RULE_LABEL_TOKENS
        for other in standing
        if other.place[0] == number and start <= other.place[1] and other.place[2] <= stop
    ]
    if any(other.place == rule.place for other in standing):
        return None
    return rule._replace(tokens=max(1, rule.tokens - sum(inside)))


def tokens_owed(base: KeptMessages, left: int) -> int:
    """The least tokens of notes for dropped messages, including the standing constraints.

    Without constraints it is the cost of one mark for the dropped messages, or 0 if there are none.
    """
    dropped = {
        index: message
        for index, message in enumerate(base.plan.messages)
        if index >= base.plan.head and index not in base.kept
    }
    texts = [
        (index, words)
        for index, message in dropped.items()
        for block in message.blocks
        if (words := words_in(base.plan, index, block))
    ]
    rules = rules_in(base.plan, texts, left)
    if rules:
        return measured.NOTE_TOKENS + sum(rule.tokens for rule in rules)
    return measured.BARE_NOTE_TOKENS if dropped else 0
