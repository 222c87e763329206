"""The user's standing constraints in texts of a conversation."""

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from context_compression.conversation.authors import holds_excerpts, user_spans
from context_compression.conversation.authors.task import tagged_spans
from context_compression.conversation.messages import Block, Message, Opaque, Text, ToolResult
from context_compression.conversation.text_protocol import begins_as_result
from context_compression.planning.pieces import Place
from context_compression.planning.plan import Plan
from context_compression.strategies import measured

OF_WORK = re.compile(r"\w-*\.[A-Za-z]\w{0,4}\b|[/\\`_]|(?<!\w)--\w|\b[a-z]+[A-Z]\w*")
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
    """

    text: str
    origin: Literal["text", "answer", "claim"] = "text"


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
    until their share of the room is used up. Those of claims are the last, and never sure. Of a
    repeated constraint the last typed one counts, else the last sure one, else the first one.

    Args:
        plan: the plan of the conversation.
        texts: texts of dropped messages, each with its number, the oldest first.
        room: the tokens that the kept messages leave.
    """
    numbered = [*texts]
    whole = _typed_if_little(plan, numbered, room)
    # advice between friends has the form of a rule, too; where tools work, nobody gives such advice
    talk = plan.is_talk_of_two and not any(m.calls or m.results for m in plan.messages)
    by_text: dict[str, tuple[tuple[int, int, int, int], Rule]] = {}
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
) -> Iterator[tuple[tuple[int, int, int, int], Rule, str]]:
    """The constraints of one text: the order of each among those of all texts, and its words."""
    text, origin = words
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
        order = kind, 0 if sure or found.apart else rank - 1, -number, found.start
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
    for number, (text, origin) in texts:
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


def words_in(block: Block, message: Message) -> Words | None:
    """The text in which a block may hold words of the user; the output of a tool is not a rule."""
    match block:
        case ToolResult(said=said, claim=claim) if said:
            return Words(said, "claim" if claim else "answer")
        case Opaque(said=said) if said:
            return Words(said, "answer")
        case Text(text=text) if text and message.role == "user" and not block.by_harness:
            return Words(text)
        case _:
            return None
