"""Results that came when the assistant had gone on without them: they are moved to their calls.

A note stands for a missing result until the result comes. A program that keeps what it was given
passes that note again.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from context_compression.conversation.messages import UNNAMED, Block, Message, ToolResult
from context_compression.conversation.provider_rules import ProviderRules

NO_RESULT = "[No result was recorded for this call.]"
"""Stands for a result that is missing."""
Numbered = tuple[int, Message]
"""A message with its index in the conversation."""


@dataclass
class Turn:
    """One turn of the assistant.

    Attributes:
        end: the place after its last message.
        answered: where the first result of each call is, by call id.
    """

    end: int = 0
    answered: dict[str, int] = field(default_factory=dict[str, int])


def is_note(result: ToolResult) -> bool:
    """Whether it is our note for a missing result."""
    return result.text == NO_RESULT


def with_late_results(
    messages: Sequence[Numbered], rules: ProviderRules, repairs: list[str]
) -> Sequence[Numbered]:
    """The messages with each late result moved to the end of its call's turn.

    A late result answers a call of an earlier turn that has no result there, or our note. Its call
    id is used once, and is not an id of ours: such ids are given by order.

    Args:
        messages: the conversation, each message with its index.
        rules: of the provider.
        repairs: a line is appended for each message with late results.
    """
    if rules.join == "turns with calls" or not _may_be_late(messages):
        return messages
    turn_of, late = _late_results(messages)
    if not late:
        return messages
    gone = {id(result) for result in late.values()}
    gone |= {
        id(result)
        for call_id in late
        if (at := turn_of[call_id].answered.get(call_id)) is not None
        for result in messages[at][1].results
        if result.call_id == call_id
    }
    came: dict[int, list[Numbered]] = {}
    for index, message in messages:
        moved = [r for r in message.results if late.get(r.call_id) is r]
        if moved:
            repairs.append(f"results in message {index} came late: moved to their calls")
        for result in moved:
            alone = message if len(message.blocks) == 1 else message.with_blocks((result,))
            came.setdefault(turn_of[result.call_id].end, []).append((index, alone))
    return [*_moved(messages, gone, came)]


def _may_be_late(messages: Sequence[Numbered]) -> bool:
    """Whether a result is there that answers no call of its turn, or one that has a result."""
    waiting: set[str] = set()
    before = ""
    for _, message in messages:
        if message.role == "assistant":
            if before != "assistant":
                waiting = set()
            waiting |= {call.id for call in message.calls}
        else:
            for result in message.results:
                if result.call_id not in waiting:
                    return True
                waiting.discard(result.call_id)
        before = message.role
    return False


def _late_results(
    messages: Sequence[Numbered],
) -> tuple[Mapping[str, Turn], Mapping[str, ToolResult]]:
    """The turn of each call, and the late results by their call id."""
    calls = Counter(call.id for _, message in messages for call in message.calls)
    turn, turn_of, late = Turn(), dict[str, Turn](), dict[str, ToolResult]()
    truly: set[str] = set()  # call ids with a result that is no note
    for place, (_, message) in enumerate(messages):
        if message.role == "assistant":
            turn = turn if place and messages[place - 1][1].role == "assistant" else Turn()
            turn.end = place + 1
            turn_of |= {
                c.id: turn for c in message.calls if not c.unit and not c.id.startswith(UNNAMED)
            }
            continue
        for result in message.results:
            of = turn_of.get(result.call_id)
            if of is None or calls[result.call_id] > 1 or is_note(result):
                if of is turn and result.call_id not in turn.answered:
                    turn.answered[result.call_id] = place
            elif result.call_id not in truly:
                truly.add(result.call_id)
                if of is turn and result.call_id not in turn.answered:
                    turn.answered[result.call_id] = place
                else:
                    late[result.call_id] = result
    return turn_of, late


def _moved(
    messages: Sequence[Numbered], gone: set[int], came: Mapping[int, Sequence[Numbered]]
) -> Iterator[Numbered]:
    for place, (index, message) in enumerate(messages):
        yield from came.get(place, ())
        left: tuple[Block, ...] = tuple(b for b in message.blocks if id(b) not in gone)
        if len(left) == len(message.blocks):
            yield index, message
        elif left:
            yield index, message.with_blocks(left)
    yield from came.get(len(messages), ())
