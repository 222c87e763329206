"""The user's standing constraints in texts of a conversation."""

import re
from collections.abc import Container, Iterable
from typing import NamedTuple

from context_compression.conversation.authors import holds_excerpts, user_spans
from context_compression.conversation.messages import Block, Message, Opaque, Text, ToolResult
from context_compression.planning.pieces import Place
from context_compression.planning.plan import Plan
from context_compression.strategies import measured

OF_WORK = re.compile(r"\w[\w-]*\.[A-Za-z]\w{0,4}\b|[/\\`_]|(?<!\w)--\w|\b[a-z]+[A-Z]\w*")
"""A sign of work in a sentence: a file, a path, code, an option, a name of a program."""


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


def rules_in(
    plan: Plan, texts: Iterable[tuple[int, str]], room: float, claims: Container[int] = ()
) -> list[Rule]:
    """The constraints in numbered texts of role user.

    If all that the user typed in these texts takes a small share of the room, all of it comes
    first, because a rule may have any words in any language. Otherwise the constraints that are
    most likely to still apply come first: rules that were typed, and the first few rules of a
    pasted text, the newest text first. Then come sentences that stand apart in a pasted text or may
    be rules, and the other rules of pasted texts, because most sentences of a specification may be
    constraints. Of these, the first of each text is taken, then the second of each, and so on,
    until their share of the room is used up. Of a repeated constraint the last sure one counts, or
    the first one if none is sure.

    Args:
        plan: the plan of the conversation.
        texts: texts of dropped messages, each with its number.
        room: the tokens that the kept messages leave.
        claims: the numbers of texts that only claim to be the user's; their rules are never sure,
            so that no output of a tool comes before what the user typed.
    """
    numbered = [*texts]
    whole = _typed_if_little(plan, numbered, room)
    # advice between friends has the form of a rule, too; where tools work, nobody gives such advice
    talk = plan.is_talk_of_two and not any(m.calls or m.results for m in plan.messages)
    by_text: dict[str, tuple[tuple[int, int, int], Rule]] = {}
    for number, text in numbered:
        if number in whole:
            continue
        long = plan.counter.text(text) > measured.TYPED_TOKENS and not holds_excerpts(text)
        for rank, found in enumerate(plan.constraints_of(text), 1):
            sentence = text[found.start : found.stop]
            tokens = plan.counter.text(sentence) + measured.RULE_LABEL_TOKENS
            if talk and not found.sure:
                continue
            one_of_many = long and rank > measured.PASTED_RULES and not found.apart
            sure = (
                found.sure
                and number not in claims
                and not one_of_many
                and not (talk and not OF_WORK.search(sentence))
            )
            if sure or sentence not in by_text:
                order = 0 if sure else 1 if found.apart else rank, -number, found.start
                by_text[sentence] = order, Rule((number, found.start, found.stop), tokens, sure)
    rules = [rule for _, rule in sorted(by_text.values())]
    unsure = sum(rule.tokens for rule in rules if not rule.sure)
    left = measured.UNSURE_RULES_SHARE * room
    if talk:
        left = measured.TALK_RULES_SHARE * room
    elif plan.cutter.prose and unsure > left:
        left = 0  # so many sentences are not constraints, but ordinary talk
    chosen = [rule for rules_of_text in whole.values() for rule in rules_of_text]
    for rule in rules:
        left -= 0 if rule.sure else rule.tokens
        if rule.sure or left >= 0:
            chosen.append(rule)
    return chosen


def _typed_if_little(
    plan: Plan, texts: Iterable[tuple[int, str]], room: float
) -> dict[int, list[Rule]]:
    """All that the user typed, by the number of its text, the newest first, if it is little.

    Otherwise it is empty. Long texts and notes of this package are not typed.
    """
    count = plan.counter.text
    typed: dict[int, list[Rule]] = {}
    left = measured.TYPED_SHARE * room
    for number, text in texts:
        if holds_excerpts(text) or count(text) > measured.TYPED_TOKENS:
            continue
        sure = any(found.sure for found in plan.constraints_of(text))
        for start, stop in user_spans(text):
            tokens = count(text[start:stop]) + measured.RULE_LABEL_TOKENS
            typed.setdefault(number, []).append(Rule((number, start, stop), tokens, sure))
            left -= tokens
            if left < 0:
                return {}
    return dict(reversed(typed.items()))


def words_in(block: Block, message: Message) -> str:
    """The text in which a block may hold words of the user; the output of a tool is not a rule."""
    match block:
        case ToolResult(said=said) | Opaque(said=said):
            return said
        case Text(text=text) if message.role == "user" and not block.by_harness:
            return text
        case _:
            return ""
