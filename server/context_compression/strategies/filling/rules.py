"""The user's standing constraints in messages that are left out, which a view quotes."""

from collections.abc import Iterable
from typing import NamedTuple, TypeGuard

from context_compression.conversation.authors import holds_excerpts, is_answer
from context_compression.conversation.messages import Block, Message, Text, ToolResult
from context_compression.evidence.constraints import constraints_in, is_rule
from context_compression.planning.pieces import Place, Pool
from context_compression.planning.plan import Plan
from context_compression.strategies import measured
from context_compression.strategies.filling.kept import KeptMessages


class Rule(NamedTuple):
    """A standing constraint of the user's.

    Attributes:
        place: where it stands.
        tokens: that it costs to quote it.
        sure: whether it is one in any case: it sounds like one, and is none of many in a text too
            long to be typed.
    """

    place: Place
    tokens: int
    sure: bool


class Rules(NamedTuple):
    """The constraints that a view has room for, and whether it has none for a sure one."""

    quoted: list[Rule]
    lacks_sure: bool


def rules_with_room(base: KeptMessages, pool: Pool, left: int) -> Rules:
    """The standing constraints in messages that are dropped, as far as there is room.

    They are chosen before all else and are the last to go when the room is too small. One that
    takes more than half of it comes behind the others, and pushes none of them out.

    Args:
        base: the kept messages.
        pool: the texts that compete; by their numbers the places of the constraints are given.
        left: tokens of the room that the kept messages leave.
    """
    messages = base.plan.messages
    texts = (
        (number, source.text)
        for number, source in enumerate(pool.sources)
        if source.message not in base.kept
        and _is_by_user(
            messages[source.message].blocks[source.slot], messages[source.message], base
        )
    )
    room = left - measured.BARE_NOTE_TOKENS
    half = room / 2
    quoted: list[Rule] = []
    lacks_sure = False
    for rule in sorted(rules_in(base.plan, texts, left), key=lambda rule: rule.tokens > half):
        if rule.tokens <= room:
            room -= rule.tokens
            quoted.append(rule)
        else:
            lacks_sure |= rule.sure
    return Rules(quoted, lacks_sure)


def tokens_owed(base: KeptMessages, left: int) -> int:
    """Tokens that notes of dropped messages take at least, with the standing constraints in them.

    Where there are no constraints, one mark says that messages are dropped.
    """
    dropped = {
        index: message
        for index, message in enumerate(base.plan.messages)
        if index >= base.plan.head and index not in base.kept
    }
    texts = [
        (index, block.text)
        for index, message in dropped.items()
        for block in message.blocks
        if _is_by_user(block, message, base)
    ]
    rules = rules_in(base.plan, texts, left)
    if rules:
        return measured.NOTE_TOKENS + sum(rule.tokens for rule in rules)
    return measured.BARE_NOTE_TOKENS if dropped else 0


def rules_in(plan: Plan, texts: Iterable[tuple[int, str]], room: float) -> list[Rule]:
    """The constraints in texts in the user's role, given with their numbers.

    What is most likely to go on to apply comes first: the rules that were typed, and the first few
    of a pasted text, the newest text first. Then sentences that may be a rule or not, and the other
    rules of pasted texts (in a specification most sentences may be constraints): the next one of
    each text, and so on, as far as their share of the room goes. Of one that is repeated the last
    counts.

    Args:
        plan: whose texts.
        texts: of messages that are left out.
        room: tokens that the kept messages leave.
    """
    by_text: dict[str, tuple[tuple[int, int, int], Rule]] = {}
    for number, text in texts:
        long = plan.counter.text(text) > measured.TYPED_TOKENS and not holds_excerpts(text)
        for rank, (start, stop) in enumerate(constraints_in(text), 1):
            sentence = text[start:stop]
            tokens = plan.counter.text(sentence) + measured.RULE_LABEL_TOKENS
            sure = is_rule(sentence) and not (long and rank > measured.PASTED_RULES)
            if sure or sentence not in by_text:
                order = 0 if sure else rank, -number, start
                by_text[sentence] = order, Rule((number, start, stop), tokens, sure)
    rules = [rule for _, rule in sorted(by_text.values())]
    unsure = sum(rule.tokens for rule in rules if not rule.sure)
    left = measured.UNSURE_RULES_SHARE * room
    if plan.cutter.prose and unsure > left:
        left = 0  # so many are no constraints: it is how people talk
    chosen: list[Rule] = []
    for rule in rules:
        left -= 0 if rule.sure else rule.tokens
        if rule.sure or left >= 0:
            chosen.append(rule)
    return chosen


def _is_by_user(block: Block, message: Message, base: KeptMessages) -> TypeGuard[Text | ToolResult]:
    """Whether the user says what stands in a block; what a tool put out is nobody's rule."""
    if isinstance(block, ToolResult):
        return is_answer(block, base.quoting.question_calls)
    return isinstance(block, Text) and message.role == "user"
