"""Plain rules that make a conversation smaller, beside which every method has to stand.

Each takes messages in blocks (`recordings.plain`) and a number of tokens of `estimate.py`, and
returns valid messages. A tool step is never split.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

from estimate import message_tokens
from needs import Group, groups
from recordings import Block, Message, Messages

Rule: TypeAlias = Callable[[Messages, float], Messages]

LAST, TASK_AND_LAST, MASKING = "last-N", "task + last-N", "observation masking"
USERS = "users + masked results"
RANDOM, HEAD_AND_TAIL = "random", "head + tail"
MASK = "[result not shown]"
LEAST_ROOM = 150  # tokens, in which a shortened message still says something
SHORTEST = 200  # characters, to which a text is shortened at most
TASK_SHARE = 1 / 3  # of the tokens, that the first message may take
USERS_SHARE, NEWEST_SHARE = 0.3, 0.6  # of the tokens, for the user's messages, for newest steps
LONGEST = 6_000  # characters, to which a text of the user's or of a newest step is shortened
HEAD_SHARE = 1 / 4  # of the tokens, that the beginning of a conversation may take
SEED = 7
ALL_KINDS = ("text", "tool_use", "tool_result")


def last(messages: Messages, target: float) -> Messages:
    """The newest messages that fit; the first that does not fit is shortened, if that helps."""
    return _joined(_newest(groups(messages), target))


def task_and_last(messages: Messages, target: float) -> Messages:
    """The first message, in at most a third of the tokens, and the newest messages."""
    first, *rest = groups(messages)
    task = first.messages
    length = int(TASK_SHARE * target * 4)
    while tokens_of(task) > TASK_SHARE * target and length > SHORTEST:
        task = _cut(first.messages, length, "text")
        length = int(0.8 * length)
    return _joined([task, *_newest(rest, target - tokens_of(task))])


def masking(messages: Messages, target: float, results: frozenset[int] = frozenset()) -> Messages:
    """Everything except old tool results, which are replaced by a stub.

    The newest results stay while they fit. The newest of all stays in any case, so that the view
    may be larger than its target.

    Args:
        messages: the conversation.
        target: tokens.
        results: indices of messages that are results, although they are texts of the user.
    """
    view = [_masked(message, at in results) for at, message in enumerate(messages)]
    left = target - tokens_of(view)
    shown = 0
    for at in range(len(messages) - 1, -1, -1):
        more = message_tokens(messages[at]) - message_tokens(view[at])
        if more and shown and more > left:
            break
        shown += more > 0
        left -= more
        view[at] = messages[at]
    return view


def users_and_masked(
    messages: Messages, target: float, results: frozenset[int] = frozenset()
) -> Messages:
    """The user's messages and the newest steps, and a little of each older step, while they fit.

    Of an older step, each text, call and result is cut to 200 characters. The view can be much
    smaller than its target.

    Args:
        messages: the conversation.
        target: tokens.
        results: indices of messages that are results, although they are texts of the user.
    """
    found = groups(messages)
    no_words = {id(messages[at]) for at in results}
    kept: dict[int, Messages] = {}
    left, room = target, USERS_SHARE * target
    for at in reversed(range(len(found))):
        if found[at].typed and id(found[at].messages[0]) not in no_words:
            shown = _cut(found[at].messages, LONGEST, *ALL_KINDS)
            if tokens_of(shown) <= room:
                kept[at] = shown
                room -= tokens_of(shown)
                left -= tokens_of(shown)
    room, length = NEWEST_SHARE * target, LONGEST
    for at in reversed(range(len(found))):
        if at in kept:
            continue
        shown = _cut(found[at].messages, length, *ALL_KINDS)
        if length == LONGEST and tokens_of(shown) > min(room, left):
            length = SHORTEST  # this step is the first of the older ones
            shown = _cut(found[at].messages, length, *ALL_KINDS)
        if tokens_of(shown) <= left:
            kept[at] = shown
            room -= tokens_of(shown)
            left -= tokens_of(shown)
    return _joined(kept[at] for at in sorted(kept))


def at_random(messages: Messages, target: float) -> Messages:
    """Whole messages and tool steps that are drawn at random, in their order."""
    found = groups(messages)
    order = [*range(len(found))]
    Random(SEED).shuffle(order)
    kept = set[int]()
    for index in order:
        if found[index].tokens <= target:
            target -= found[index].tokens
            kept.add(index)
    return _joined(found[index].messages for index in sorted(kept))


def head_and_tail(messages: Messages, target: float) -> Messages:
    """The oldest messages up to a quarter of the tokens, and the newest messages."""
    found = groups(messages)
    head = 0
    used = 0.0
    while head < len(found) and used + found[head].tokens <= HEAD_SHARE * target:
        used += found[head].tokens
        head += 1
    tail = _newest(found[head:], target - used)
    return _joined([*(group.messages for group in found[:head]), *tail])


PLAIN: Mapping[str, Rule] = {
    LAST: last,
    TASK_AND_LAST: task_and_last,
    MASKING: masking,
    USERS: users_and_masked,
    RANDOM: at_random,
    HEAD_AND_TAIL: head_and_tail,
}
"""All rules by name."""


def tokens_of(messages: Iterable[Message]) -> float:
    return sum(map(message_tokens, messages))


def _joined(parts: Iterable[Messages]) -> Messages:
    return [message for part in parts for message in part]


def _newest(found: Sequence[Group], target: float) -> list[Messages]:
    """The messages of the newest groups, oldest first."""
    kept: list[Messages] = []
    used = 0.0
    for group in reversed(found):
        if used + group.tokens <= target:
            kept.append(group.messages)
            used += group.tokens
            continue
        room = target - used
        if room > LEAST_ROOM:
            shortened = _shortened(group.messages, room)
            kept += [shortened] if tokens_of(shortened) <= room else []
        break
    return kept[::-1]


def _shortened(messages: Messages, target: float) -> Messages:
    """The group with its texts, or the results and arguments of its tools, cut in the middle."""
    if not any(block["type"] == "tool_result" for m in messages for block in m["content"]):
        return _cut(messages, int(2.5 * target), "text")
    length = max(SHORTEST, int(2.2 * target))
    shortened = _cut(messages, length, "tool_result", "tool_use")
    while tokens_of(shortened) > target and length > SHORTEST:
        length //= 2
        shortened = _cut(messages, length, "tool_result", "tool_use")
    return shortened


def _cut(messages: Messages, length: int, *kinds: str) -> Messages:
    def middle(value: Any) -> Any:
        if not isinstance(value, str) or len(value) <= length:
            return value
        gap = f"\n[... {len(value) - length} chars omitted ...]\n"
        return value[: length // 2] + gap + value[len(value) - (length - length // 2) :]

    def cut(block: Block) -> Block:
        match block:
            case {"type": kind} if kind not in kinds:
                return block
            case {"type": "tool_use"}:
                return {**block, "input": {k: middle(v) for k, v in block["input"].items()}}
            case {"type": "tool_result"}:
                return {**block, "content": middle(block.get("content") or "")}
            case _:
                return {**block, "text": middle(block["text"])}

    return [{**message, "content": [*map(cut, message["content"])]} for message in messages]


def _masked(message: Message, is_result: bool) -> Message:
    """The message with a stub for each result that is longer than the stub."""

    def masked(block: Block) -> Block:
        if block["type"] == "tool_result":
            return {**block, "content": min(block.get("content") or "", MASK, key=len)}
        if block["type"] == "text" and is_result:
            return {**block, "text": min(block["text"], MASK, key=len)}
        return block

    return {**message, "content": [*map(masked, message["content"])]}
