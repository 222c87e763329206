"""The sizes of a long session's messages, by the characters of their texts.

Reading a message as a value and counting its tokens takes many times as long as parsing its JSON.
In a session of tens of megabytes, the characters of all texts and the tokens of a sample of them
tell the size of each message well enough. Texts of one kind, and calls and results of one tool,
have about as many tokens for each character, so each of these groups has a sample of its own. Sums
are off by a few percent, a single message by more.
"""

import json
import math
from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, TypeAlias, overload

from context_compression.conversation.authors import author_of, is_our_note
from context_compression.conversation.formats import Conversation
from context_compression.conversation.formats.anthropic import FORMAT, read_block
from context_compression.conversation.formats.parts import role_of
from context_compression.conversation.formats.reading import read_messages
from context_compression.conversation.messages import (
    Block,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_array,
    is_object,
    texts_of,
)
from context_compression.tokens import Counter
from context_compression.tokens.usage import KINDS
from context_compression.transcripts.transcript import Stage

PART = 1_000
"""Characters that are counted of a longer text in the sample at least."""
LEAST = 40_000
"""Characters that are counted in each group, if it has so many."""
CALLS, RESULTS = KINDS[ToolCall], KINDS[ToolResult]

Group: TypeAlias = tuple[str, str]
"""A kind of content, and the tool if it is a call or a result."""
Part: TypeAlias = tuple[Group, int, int, Any]
"""A block of a message: its group, the characters of its texts, the tokens of what has no text, and
the block, raw or as a value."""


class Reading(Sequence[Message]):
    """Raw messages of Anthropic's dialect as values, each read when it is asked for."""

    def __init__(self, raw: Sequence[Mapping[str, Any]], places: range | None = None) -> None:
        self._raw, self._places = raw, range(len(raw)) if places is None else places

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return Reading(self._raw, self._places[index])
        at = self._places[index]  # results are read with the calls before them
        return read_messages(self._raw[max(0, at - 1) : at + 1], FORMAT)[-1]

    def __len__(self) -> int:
        return len(self._places)


@dataclass(frozen=True)
class Rough:
    """The parts of all messages of a session, and the tokens of a character in each group.

    Attributes:
        parts: of the messages of each stage.
        chars: of the texts that came in all stages.
    """

    parts: Sequence[Sequence[Sequence[Part]]]
    chars: int
    _counter: Counter
    _rates: Mapping[Group, float] = field(default_factory=dict[Group, float], repr=False)

    def sampled(self, share: float) -> "Rough":
        """The same, with the tokens of a share of the texts that is spread over all of them."""
        parts = [*chain.from_iterable(chain.from_iterable(self.parts))]
        chars: Tally[Group] = Tally()
        for group, size, _, _ in parts:
            chars[group] += size
        sample = _Sample(self._counter, share, chars)
        for part in parts:
            sample.look(part)
        return replace(self, _rates=sample.rates)

    def tokens(self, part: Part) -> int:
        """Tokens of a part: counted, or by its characters if they were counted in a sample."""
        group, chars, tokens, block = part
        if not self._rates:
            return self._counter.block(value_of(block))
        return math.ceil(chars * self._rates[group]) if chars else tokens

    def by_kind(self, parts: Iterable[Part], structure: int) -> dict[str, int]:
        """Tokens of a message by kind of content, with those around its blocks."""
        sizes: dict[str, int] = {}
        rates, ceil = self._rates, math.ceil
        for (kind, tool), chars, tokens, _ in parts:
            more = ceil(chars * rates[kind, tool]) if chars else tokens
            sizes[kind] = sizes.get(kind, 0) + more
        sizes["structure"] = structure
        return sizes


def roughly(
    stages: Sequence[Stage], values: Sequence[Conversation] | None, counter: Counter
) -> Rough:
    """The parts of all messages.

    Args:
        stages: of a history.
        values: the messages of each stage as values; `None` if all are of Anthropic's dialect, as
            those of hosts are. Then they are not read.
        counter: counts what has no text.
    """
    tools: dict[str, str] = {}
    if values is None:
        parts = [[_raw_parts(m, tools, counter) for m in stage.messages] for stage in stages]
    else:
        parts = [[_parts(m, m.blocks, tools, counter) for m in each.messages] for each in values]
    added = (islice(each, stage.carried, None) for stage, each in zip(stages, parts, strict=True))
    chars = sum(part[1] for message in chain.from_iterable(added) for part in message)
    return Rough(parts, chars, counter)


def value_of(block: Any) -> Any:
    """The block of a part as a value; `None` if there is none."""
    return read_block(block) if is_object(block) else block


def id_in(block: Any) -> str:
    """The id of a call, or of the call that a result is of."""
    if is_object(block):
        return str(block.get("tool_use_id") or block.get("id") or "")
    return block.id if isinstance(block, ToolCall) else block.call_id


def _raw_parts(message: Mapping[str, Any], tools: dict[str, str], counter: Counter) -> list[Part]:
    """The parts of a message of Anthropic's dialect; blocks of texts alone are not read."""
    content, parts = message.get("content"), list[Part]()
    if not is_array(content):
        said = read_messages([message], FORMAT)[0]
        return _parts(said, said.blocks, tools, counter)
    for block in content:
        match block:
            case {"type": "tool_result", "tool_use_id": str(id_), "content": str(text)}:
                parts.append(((RESULTS, tools.get(id_, "")), len(text), 0, block))
            case {"type": "tool_use", "id": str(id_), "name": str(name), "input": given} if (
                is_object(given)
            ):
                tools[id_] = name
                parts.append(((CALLS, name), _chars(block["input"]), 0, block))
            case _:
                said = Message(role_of(message), ())
                parts += _parts(said, (read_block(block),), tools, counter, block)
    return parts


def _parts(
    message: Message,
    blocks: Iterable[Block],
    tools: dict[str, str],
    counter: Counter,
    raw: Any = None,
) -> list[Part]:
    """The parts of a message that was read."""
    parts: list[Part] = []
    for block in blocks:
        kind, tool, chars = KINDS[type(block)], "", 0
        match block:
            case Text(text=text):
                kind = "our notes" if is_our_note(text) else f"{author_of(message, text)} text"
                chars = len(text)
            case ToolCall():
                tool = tools[block.id] = block.name
                chars = _chars(block.arguments)
            case ToolResult():
                tool = tools.get(block.call_id, block.name)
                if all(isinstance(part, Text) for part in block.content):
                    chars = sum(map(len, texts_of(block)))
            case Thinking():
                chars = len(block.text)
            case _:
                pass
        tokens = 0 if chars else counter.block(block)
        parts.append(((kind, tool), chars, tokens, block if raw is None else raw))
    return parts


def _chars(value: Any) -> int:
    """About how many characters the JSON of a value has."""
    if isinstance(value, str):
        return len(value) + 3
    if is_object(value):
        return 3 + sum(map(len, value)) + sum(map(_chars, value.values()))
    return 3 + sum(map(_chars, value)) if is_array(value) else 5


class _Sample:
    """Counts the tokens of a share of the characters of each group."""

    def __init__(self, counter: Counter, share: float, chars: Mapping[Group, int]) -> None:
        self._counter = counter
        self._shares = {group: max(share, LEAST / of) for group, of in chars.items() if of}
        self._due: dict[Group, float] = {}
        self._chars: dict[Group, int] = {}
        self._tokens: dict[Group, int] = {}

    def look(self, part: Part) -> None:
        """Count a part, if it is due; the first one of a group is."""
        group, chars, _, block = part
        share = self._shares.get(group, 0)
        due = self._due.get(group, 0) + chars * share
        if due > 0:
            tokens, counted = self._count(block, chars, share)
            self._tokens[group] = self._tokens.get(group, 0) + tokens
            self._chars[group] = self._chars.get(group, 0) + counted
            due -= counted
        self._due[group] = due

    def _count(self, block: Any, chars: int, share: float) -> tuple[int, int]:
        """Tokens of a block, or of the middle of its texts, and how many characters those are."""
        value = value_of(block)
        size = max(PART, int(chars * share))
        if chars <= 2 * size:
            return self._counter.block(value), chars
        text = "\n".join(texts_of(value))
        if isinstance(value, ToolCall):
            text = json.dumps(value.arguments, ensure_ascii=False, default=str)
        start = max(0, len(text) - size) // 2
        tokens = self._counter.text(text[start : start + size])
        return tokens, max(1, min(size, len(text)) * chars // len(text))

    @property
    def rates(self) -> Mapping[Group, float]:
        """Tokens of a character, by group."""
        return {group: self._tokens[group] / chars for group, chars in self._chars.items()}
