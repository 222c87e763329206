"""The user's standing constraints in dropped messages, which a view quotes."""

from collections.abc import Sequence
from typing import NamedTuple

from context_compression.planning.pieces import Pool
from context_compression.strategies import measured
from context_compression.strategies.filling.kept import KeptMessages
from context_compression.strategies.filling.rules import Rule, Words, rules_in, words_in
from context_compression.strategies.filling.standing import lacking, standing_rules


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
        if words := words_in(block, messages[source.message]):
            texts.append((number, words._replace(text=source.text)))
    standing = _standing(base, pool)
    room = left - measured.BARE_NOTE_TOKENS - sum(rule.tokens for rule in standing)
    half = room / 2
    quoted: list[Rule] = []
    lacks_sure = False
    others = (_beside(rule, standing) for rule in rules_in(base.plan, texts, left))
    for rule in sorted(filter(None, others), key=lambda rule: rule.tokens > half):
        if rule.tokens <= room:
            room -= rule.tokens
            quoted.append(rule)
        else:
            lacks_sure |= rule.sure
    return Rules(standing, quoted, lacks_sure)


def _standing(base: KeptMessages, pool: Pool) -> list[Rule]:
    """The rules that stand in each view, and that the kept messages do not show."""
    missing = lacking(standing_rules(base.plan), base.shown)
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
        if (words := words_in(block, message))
    ]
    rules = rules_in(base.plan, texts, left)
    if rules:
        return measured.NOTE_TOKENS + sum(rule.tokens for rule in rules)
    return measured.BARE_NOTE_TOKENS if dropped else 0
