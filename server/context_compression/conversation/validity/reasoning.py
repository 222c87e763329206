"""Reasoning that nothing follows: a stream was stopped while the model thought.

DeepSeek and Kimi refuse a message with nothing else, in every later request as well. Claude's API
refuses a turn that ends with thinking ("The final block in an assistant message cannot be
`thinking`").
"""

from collections.abc import Sequence

from context_compression.conversation.messages import Message, Thinking
from context_compression.conversation.provider_rules import ProviderRules
from context_compression.conversation.validity.joining import one_of

Numbered = tuple[int, Message]
"""A message with its index in the conversation."""


def without_lone_reasoning(
    turn: Sequence[Numbered], rules: ProviderRules, repairs: list[str]
) -> Sequence[Numbered]:
    """A turn of the assistant's without reasoning that may not stand alone.

    Args:
        turn: the messages of the turn.
        rules: of the provider.
        repairs: a line is appended for each repair.
    """
    if rules.reasoning_apart or not any(message.has_thinking for _, message in turn):
        return turn
    match rules.lone_reasoning:
        case "message":
            return _with_what_follows(turn, repairs)
        case "turn" if not all(message.only_thinks for _, message in turn):
            return turn
        case _:
            return _without_end(turn, repairs)


def _with_what_follows(turn: Sequence[Numbered], repairs: list[str]) -> Sequence[Numbered]:
    """Each message of only reasoning joined to the next one, or left out if none can take it."""
    kept: list[Numbered] = []
    thought: Numbered | None = None
    for index, message in turn:
        if message.only_thinks:
            if thought:
                _tell(thought[0], repairs)
            thought = index, message
            continue
        if thought and not message.has_thinking:
            repairs.append(f"messages {thought[0]} and {index} were one answer: joined")
            kept.append((thought[0], one_of([thought[1], message])))
        else:
            if thought:
                _tell(thought[0], repairs)
            kept.append((index, message))
        thought = None
    if thought:
        _tell(thought[0], repairs)
    return kept


def _without_end(turn: Sequence[Numbered], repairs: list[str]) -> Sequence[Numbered]:
    """The turn without the reasoning at its end."""
    kept = [*turn]
    while kept and isinstance(kept[-1][1].blocks[-1], Thinking):
        index, message = kept.pop()
        blocks = message.blocks
        while blocks and isinstance(blocks[-1], Thinking):
            blocks = blocks[:-1]
        if blocks:
            repairs.append(f"message {index} ended with reasoning: that is left out")
            kept.append((index, message.with_blocks(blocks)))
        else:
            _tell(index, repairs)
    return kept


def _tell(index: int, repairs: list[str]) -> None:
    repairs.append(f"message {index} held nothing but reasoning: left out")
