"""Repairs of messages: empty texts, wrong roles, lone reasoning, item ids, neighbouring roles.

Units: a unit is a call that the provider ran itself (a server tool), with its result. Providers
refuse half of a unit.

Reasoning that nothing follows: a stream was stopped while the model thought. DeepSeek and Kimi
refuse a message with nothing else, in every later request as well. Claude's API refuses a turn that
ends with thinking ("The final block in an assistant message cannot be `thinking`").
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import groupby

from context_compression.conversation.authors import is_our_note
from context_compression.conversation.formats.parts import ProviderRules
from context_compression.conversation.messages import (
    STRANGER,
    Block,
    Edited,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    texts_of,
)


@dataclass(frozen=True)
class Before:
    """The valid beginning of a conversation, as far as it matters for what follows.

    Attributes:
        messages: how many messages it has, as they came.
        call_ids: the ids of its calls.
        item_ids: the ids of its items.
        units: the ids of its units.
        is_there: whether it has a message other than system messages.
    """

    messages: int = 0
    call_ids: AbstractSet[str] = frozenset()
    item_ids: AbstractSet[str] = frozenset()
    units: AbstractSet[str] = frozenset()
    is_there: bool = False

    def followed_by(self, given: Sequence[Message], repaired: Iterable[Message]) -> "Before":
        """The same with more messages: as they came, and after their repair."""
        repaired = [*repaired]
        return Before(
            self.messages + len(given),
            self.call_ids | {call.id for message in repaired for call in message.calls},
            self.item_ids | {*filter(None, map(item_id_of, repaired))},
            self.units | {b.unit for m in given for b in m.blocks if isinstance(b, Opaque)},
            is_there=self.is_there or not all(message.is_system for message in repaired),
        )


NOTHING = Before()
"""What is before the first message."""


def item_id_of(message: Message) -> str | None:
    """The id of an item of OpenAI Responses, or of a message; `None` if it is written without."""
    if not message.source or (isinstance(message, Edited) and message.detached):
        return None
    item_id = message.source.get("id")
    return item_id if isinstance(item_id, str) else None


def with_complete_units(
    messages: Sequence[Message], repairs: list[str], before: Before
) -> Iterator[tuple[int, Message]]:
    """The messages with their indices, without the blocks of incomplete units.

    A unit may be open at the end, because the provider continues it. A line is appended to
    `repairs` for each message that loses blocks.
    """
    units: dict[str, list[Block]] = {}  # open units with their blocks so far
    seen = {*before.units}
    broken: set[int] = set()  # Python ids of blocks
    last = ""  # the role of the message before
    for message in messages:
        if units:  # a program continues after results; other server tools answer at once
            ends = (
                message.starts_turn and bool(message.text.strip()) and not is_our_note(message.text)
            )
            goes_on = message.role == "assistant" and last == "user"
            for unit in [*units]:
                if ends or (goes_on and len(units[unit]) == 1):
                    broken.update(map(id, units.pop(unit)))
        last = message.role
        for block in message.blocks:
            if not isinstance(block, Opaque | ToolCall) or not block.unit:
                continue
            if isinstance(block, Opaque) and block.opens and block.unit not in seen:
                seen.add(block.unit)
                units[block.unit] = [block]
            elif block.unit not in units or (isinstance(block, Opaque) and block.opens):
                broken.add(id(block))
            elif isinstance(block, Opaque):
                del units[block.unit]
            else:
                units[block.unit].append(block)
    for index, message in enumerate(messages, before.messages):
        if not broken or broken.isdisjoint(map(id, message.blocks)):
            yield index, message
            continue
        repairs.append(f"message {index} held half of a call and its answer: left out")
        yield index, message.with_blocks(tuple(_without(message.blocks, broken)))


def _without(blocks: Iterable[Block], broken: Container[int]) -> Iterator[Block]:
    """The blocks that are not broken; a call without its server tool becomes an ordinary call."""
    for block in blocks:
        if id(block) not in broken:
            yield block
        elif isinstance(block, ToolCall):
            yield replace(block, unit="")


def is_plain_speech(message: Message) -> bool:
    """Whether a message needs no repair: it is one text, not blank, and not of role tool."""
    if len(message.blocks) != 1 or message.role == "tool":
        return False
    return isinstance(message.blocks[0], Text) and not _is_blank(message.blocks[0])


def with_valid_contents(index: int, message: Message, repairs: list[str]) -> Message | None:
    """The message with only the blocks that its role may have; `None` if it was empty.

    Args:
        index: its position in the conversation, for `repairs`.
        message: any message.
        repairs: a line is appended for each repair.
    """
    filled = tuple(_without_empty_texts(message.blocks))
    if not filled:
        repairs.append(f"message {index} was empty: left out")
        return None
    if filled != message.blocks and (len(message.blocks) > 1 or message.results):
        repairs.append(f"message {index} held an empty text: left out")
        message = message.with_blocks(filled)
    return _without_strangers(index, message, repairs)


def _without_strangers(index: int, message: Message, repairs: list[str]) -> Message:
    """The message with blocks of the wrong role made texts.

    Only the assistant has reasoning and calls; only other roles have results.
    """
    wrong = ToolResult if message.role == "assistant" else ToolCall | Thinking
    strangers = {type(b).__name__: None for b in message.blocks if isinstance(b, wrong)}
    if not strangers:
        return message
    kinds = " and a ".join(strangers)
    repairs.append(f"message {index} of role {message.role} held a {kinds}: made a text")
    blocks = (_as_text(b) if isinstance(b, wrong) else b for b in message.blocks)
    return message.with_blocks(tuple(blocks))


def _without_empty_texts(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks without empty texts, also inside results."""
    for block in blocks:
        if isinstance(block, ToolResult):
            parts = tuple(p for p in block.content if not (_is_blank(p) and _is_part(p)))
            yield block if len(parts) == len(block.content) else replace(block, content=parts)
        elif not _is_blank(block):
            yield block


def _is_blank(block: Block) -> bool:
    return isinstance(block, Text) and not block.text.strip()


def _is_part(block: Block) -> bool:
    """Whether a text was a part in a list; the text of a string result may be empty."""
    return isinstance(block, Text) and block.source is not None


def _as_text(stranger: Block) -> Text:
    text = "\n".join(texts_of(stranger))
    return Text(f"{STRANGER}\n{text if text.strip() else '(no text)'}")


def drop_lone_reasoning(
    messages: list[Message], origins: list[int | None], repairs: list[str]
) -> None:
    """Remove reasoning that led to no item of the model; changes the three lists."""
    for at in reversed(range(len(messages))):
        led_to = messages[at + 1 : at + 2]  # not to what the provider compacted
        follows = any(m.role == "assistant" and not m.stands_for_earlier for m in led_to)
        if messages[at].only_thinks and not follows:
            repairs.append(f"message {origins[at]} is reasoning without what it led to: left out")
            del messages[at], origins[at]


def name_items_once(
    messages: list[Message], origins: list[int | None], repairs: list[str], before: Before
) -> None:
    """Remove the id from items whose id an earlier item has; changes the three lists.

    Opaque items and reasoning are removed completely, because they mean nothing without their id.
    """
    seen = {*before.item_ids}
    for at in reversed([*_named_again(messages, seen)]):
        message = messages[at]
        repairs.append(f"message {origins[at]} has the id of an earlier item: it has none now")
        if any(isinstance(block, Opaque | Thinking) for block in message.blocks):
            del messages[at], origins[at]
        else:
            messages[at] = Edited(message.role, message.blocks, message.source, detached=True)


def _named_again(messages: Sequence[Message], seen: set[str]) -> Iterator[int]:
    for at, message in enumerate(messages):
        name = item_id_of(message)
        if name is not None and name in seen:
            yield at
        elif name is not None:
            seen.add(name)


def join_all(messages: list[Message], origins: list[int | None], repairs: list[str]) -> None:
    """Join each run of neighbouring messages of one role into one; changes the three lists."""
    joined: list[tuple[Message, int | None]] = []
    pairs = zip(messages, origins, strict=True)
    for _, group in groupby(pairs, key=lambda pair: pair[0].role):
        run = [*group]
        if len(run) == 1:
            joined.append(run[0])
            continue
        origin = next((index for _, index in run if index is not None), None)
        repairs.append(f"{len(run)} neighbouring messages of the {run[0][0].role}'s: joined")
        joined.append((one_of([message for message, _ in run]), origin))
    messages[:] = [message for message, _ in joined]
    origins[:] = [origin for _, origin in joined]


def one_of(messages: Sequence[Message]) -> Message:
    """One message with the blocks of several: results first, calls last, the rest in order.

    Of several unbound reasoning blocks only the first is kept, because some dialects hold reasoning
    in a key of the message, and a message has one such key.
    """
    blocks = [block for message in messages for block in message.blocks]
    thoughts = [b for b in blocks if isinstance(b, Thinking) and not b.bound]
    blocks = [b for b in blocks if not any(b is later for later in thoughts[1:])]
    blocks.sort(key=_place)
    first = next((m for m in messages if m.source is not None), messages[0])
    return Edited(messages[0].role, tuple(blocks), first.source)


def with_strings_joined(message: Message) -> Message:
    """The message with its string texts joined into one, because Ollama takes only one string."""
    first, *more = [block for block in message.blocks if _is_string(block)] or [None]
    if first is None or not more:
        return message
    joined = Text("\n".join(b.text for b in (first, *more) if isinstance(b, Text)))
    kept = (joined if b is first else b for b in message.blocks if b is first or not _is_string(b))
    return message.with_blocks(tuple(kept))


def _is_string(block: Block) -> bool:
    return isinstance(block, Text) and block.source is None


def _place(block: Block) -> int:
    return -1 if isinstance(block, ToolResult) else int(isinstance(block, ToolCall))


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
