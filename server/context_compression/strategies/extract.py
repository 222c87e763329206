"""`extract`: a must-keep set, and the remaining room filled with pieces chosen by evidence.

Must-keep are the user's messages, records, summaries, the newest messages, and every tool step as a
skeleton: its call, one line for each result. The contents compete. When the must-keep set alone is
over the room it shrinks: previews for the newest results, long texts clipped, only the last turns,
the floor; whatever room is left after that, pieces fill.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from context_compression.edits import Edit
from context_compression.evidence import constraints, user_words
from context_compression.messages import (
    COMPRESSED,
    Block,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_array,
    is_object,
    strings_in,
    texts_of,
    user,
)
from context_compression.pieces import Piece, Pool, Source, render
from context_compression.plan import Plan, ref_of
from context_compression.selection import (
    SUMMARY_MARKS,
    describe,
    tool_names,
)
from context_compression.strategies.base import Proposal, without_model
from context_compression.strategies.floor import anchored, smallest
from context_compression.strategies.keep import cost, keep_only
from context_compression.strategies.offload import to_preview
from context_compression.strategies.tool_results import with_short_results

ARGUMENT_CHARS = 240
"""Characters kept of a long argument in the call of an old tool step."""
SHORT_RECORD = 2_000
"""Characters up to which a marker anywhere makes a record."""
HALF_LIFE_TOKENS = 60_000
USER_WORTH = 4.0
"""What anything the user said is worth, in words of evidence."""
NOTE_TOKENS = 40
Span: TypeAlias = tuple[int, int]
Slots: TypeAlias = Mapping[tuple[int, str], Sequence[Span]]
"""Chosen spans of a message, by block and (in call arguments) the string they are cut from."""
NO_SLOTS: Slots = {}


def propose(plan: Plan) -> Proposal:
    """Edits that leave the must-keep set and the pieces that carry most evidence."""
    return without_model(Extraction(plan).edits())


@dataclass(frozen=True)
class Level:
    """One form of the must-keep set.

    Attributes:
        first: messages before this one are dropped, but for what is anchored.
        recent: messages from this one on stay.
        previews: whether large results of the recent messages are cut to previews.
        clipped: whether long texts are clipped.
    """

    first: int
    recent: int
    previews: bool = False
    clipped: bool = False


class Extraction:
    """One run of the strategy over one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.names = tool_names(plan)
        target = int(plan.total * plan.settings.target_usage)
        self.room = target if plan.room is None else plan.room
        self._headers: dict[str, str] = {}

    def edits(self) -> Sequence[Edit]:
        """The proposal."""
        plan = self.plan
        for level in self.levels():
            kept = self.must_keep(level)
            left = self.room - cost(plan, kept, {})
            if left >= 0:
                break
        else:
            level, kept, left = Level(len(plan.messages), len(plan.messages)), smallest(plan), 0
        return self.filled(level, kept, left)

    def levels(self) -> Iterator[Level]:
        """The forms of the must-keep set, the most generous first."""
        plan, end = self.plan, len(self.plan.messages)
        recent = plan.cut_before(max(plan.head, end - plan.settings.min_recent_messages))
        yield Level(plan.head, min(recent, plan.tail))
        yield Level(plan.head, recent)
        yield Level(plan.head, recent, previews=True)
        yield Level(plan.head, recent, previews=True, clipped=True)
        for count in range(min(plan.settings.fallback_turns, len(plan.turns)), 0, -1):
            first = plan.turns[-count].start
            yield Level(first, max(first, recent), previews=True, clipped=True)
        yield Level(end, end, previews=True, clipped=True)

    def must_keep(self, level: Level) -> dict[int, Message]:
        """What stays at a level, whole or shortened, by index."""
        plan = self.plan
        kept = smallest(plan) if level.previews else anchored(plan, self.room)
        first_turn = plan.turns[0].stop if plan.turns else plan.head
        for index in range(max(level.first, plan.head), len(plan.messages)):
            message = plan.messages[index]
            if index in kept:
                continue
            if index >= level.recent:
                shorter = self.recent(message, index) if level.previews else message
                kept[index] = self.clipped(shorter) if level.clipped else shorter
            elif (
                self.is_record(message)
                or message.starts_turn
                or (message.role in ("system", "developer") and index < first_turn)
            ):
                kept[index] = self.clipped(message) if level.clipped else message
            elif plan.step_of(index):
                kept[index] = self.skeleton(message)
        return kept

    def is_record(self, message: Message) -> bool:
        """Whether it is a summary, or holds a marker of records.

        In a long output only a line that begins with the marker is a record: the file that
        defines a marker holds it, too.
        """
        if message.text.startswith(SUMMARY_MARKS):
            return True
        texts = [message.text, *(result.text for result in message.results)]
        return any(
            marker in text
            and (len(text) <= SHORT_RECORD or f"\n{marker}" in text or text.startswith(marker))
            for marker in self.plan.settings.record_markers
            for text in texts
        )

    def recent(self, message: Message, index: int) -> Message:
        """A newest message with its large results at preview size."""
        if not message.results:
            return message
        shorten = to_preview(self.plan)
        return with_short_results(message, index, self.plan, self.names, shorten)

    def clipped(self, message: Message, slots: Slots = NO_SLOTS) -> Message:
        """A message whose long texts keep head, tail and the chosen spans."""
        limit = self.plan.settings.max_tool_output
        blocks: list[Block] = []
        for slot, block in enumerate(message.blocks):
            if isinstance(block, Text) and len(block.text) > limit:
                ends = [(0, limit // 2), (len(block.text) - limit // 2, len(block.text))]
                rules = _places(block.text, constraints(user_words(message)))
                block = Text(render(block.text, [*ends, *rules, *slots.get((slot, ""), ())]))
            blocks.append(block)
        kept = tuple(blocks)
        return message if kept == message.blocks else message.with_blocks(kept)

    def skeleton(self, message: Message, slots: Slots = NO_SLOTS) -> Message:
        """A message of an old tool step, or of the model: its calls, one line for each result.

        Spans chosen from its texts, arguments and results are shown in their places.
        """
        blocks: list[Block] = []
        for slot, block in enumerate(message.blocks):
            spans = slots.get((slot, ""), ())
            match block:
                case ToolCall():
                    blocks.append(self.short_call(block, slot, slots))
                case ToolResult():
                    blocks.append(self.short_result(block, spans))
                case Text() if not message.results:
                    if spans:
                        blocks.append(Text(render(block.text, spans)))
                case Thinking():
                    pass
                case _:
                    blocks.append(block)
        return message.with_blocks(tuple(blocks))

    def short_call(self, call: ToolCall, slot: int, slots: Slots) -> ToolCall:
        """A call with its long arguments reduced to head, tail and the chosen spans."""
        half = ARGUMENT_CHARS // 2

        def settle(value: Any) -> Any:
            if isinstance(value, str) and len(value) > ARGUMENT_CHARS:
                ends = [(0, half), (len(value) - half, len(value))]
                return render(value, [*ends, *slots.get((slot, value), ())])
            if is_object(value):
                return {key: settle(item) for key, item in value.items()}
            if is_array(value):
                return [settle(item) for item in value]
            return value

        if isinstance(call.arguments, str):
            return call
        arguments = settle(call.arguments)
        return call if arguments == call.arguments else replace(call, arguments=arguments)

    def short_result(self, result: ToolResult, spans: Sequence[Span]) -> ToolResult:
        """A result as one line and the chosen spans; itself when it is hardly longer."""
        text = result.text
        line = self.header(result)
        if len(text) <= len(line) + 40:
            return result
        return result.with_text(f"{line}\n{render(text, spans)}" if spans else line)

    def header(self, result: ToolResult) -> str:
        """The one line of a result."""
        line = self._headers.get(result.call_id)
        if line is None:
            name = self.names.get(result.call_id, "tool")
            what = describe(result, name, self.plan.counter.block(result))
            line = self._headers[result.call_id] = f"[{what}; ref {ref_of(result.text)}]"
        return line

    def filled(self, level: Level, kept: dict[int, Message], left: int) -> Sequence[Edit]:
        """Edits for the must-keep set with the remaining room filled."""
        plan = self.plan
        pool = Pool(plan.lexicon)
        for index in range(plan.head, len(plan.messages)):
            shortened = kept.get(index) is not plan.messages[index]
            if shortened and (index < level.recent or plan.messages[index].starts_turn):
                for source in self.sources(index, index in kept):
                    pool.add(source)
        shown = (
            text
            for message in kept.values()
            if not message.starts_turn  # what the user mentions is wanted, not covered
            for block in message.blocks
            for text in texts_of(block)
        )
        chosen = self.rules(pool, kept)
        spent = sum(piece.cost for piece in chosen)
        chosen += pool.choose(left - spent - NOTE_TOKENS, shown, plan.uses)
        while True:
            view, notes = self.assembled(level, kept, pool, chosen)
            over = cost(plan, view, notes) - self.room
            if over <= 0 or not chosen:
                return keep_only(plan, view, notes if over <= 0 else {}, "extract")
            view = notes = None  # two views at once would be the peak of all memory
            while chosen and over > 0:
                over -= int(chosen.pop().cost)

    def rules(self, pool: Pool, kept: Mapping[int, Message]) -> list[Piece]:
        """The user's standing constraints in messages that are dropped: chosen before all else.

        They stand first among the chosen, so they are the last to go when the room is too small.
        """
        found: list[Piece] = []
        for number, source in enumerate(pool.sources):
            message = self.plan.messages[source.index]
            if source.index not in kept and message.is_user and source.spoken:
                for start, stop in _places(source.text, constraints(user_words(message))):
                    cost = self.plan.counter.text(source.text[start:stop]) + 8
                    found.append(Piece(number, start, stop, cost))
        return found

    def sources(self, index: int, in_view: bool) -> Iterator[Source]:
        """The texts of a message that compete, with what it costs to show anything of them."""
        plan, message = self.plan, self.plan.messages[index]
        recency = self.recency[index]
        own = 1.5 if message.is_user else 1.0
        for slot, block in enumerate(message.blocks):
            if isinstance(block, ToolCall):
                for text in strings_in(block.arguments):
                    if len(text) > (ARGUMENT_CHARS if in_view else 3):
                        tokens = plan.counter.text(text)
                        opening = 6 if in_view else 14
                        yield Source(index, slot, text, tokens, recency, opening, own, text)
            elif isinstance(block, Text | ToolResult) and block.text.strip():
                opening = 4 if in_view else 14
                tokens = plan.counter.block(block)
                spoken = isinstance(block, Text)
                worth = USER_WORTH if message.is_user and spoken else 0.0
                yield Source(
                    index, slot, block.text, tokens, recency, opening, own, "", spoken, worth
                )

    @cached_property
    def recency(self) -> list[float]:
        """0..1 for each message: halved for every 60,000 tokens that follow it."""
        after, found = 0, [0.0] * len(self.plan.messages)
        for index in range(len(found) - 1, -1, -1):
            found[index] = 0.5 ** (after / HALF_LIFE_TOKENS)
            after += self.plan.tokens[index]
        return found

    def assembled(
        self, level: Level, kept: Mapping[int, Message], pool: Pool, chosen: Sequence[Piece]
    ) -> tuple[dict[int, Message], dict[int, Message]]:
        """The view with the chosen pieces in their places, and the notes for dropped runs."""
        slots_of: dict[int, dict[tuple[int, str], list[Span]]] = {}
        for piece in chosen:
            source = pool.sources[piece.source]
            slots = slots_of.setdefault(source.index, {})
            slots.setdefault((source.slot, source.key), []).append((piece.start, piece.stop))
        view, quoted = dict(kept), dict[int, Slots]()
        for index, slots in slots_of.items():
            message = self.plan.messages[index]
            if index in kept and message.starts_turn:
                view[index] = self.clipped(message, slots)
            elif index in kept or (index >= level.first and self.stands_alone(index)):
                view[index] = self.skeleton(message, slots)
            else:
                quoted[index] = slots
        return view, self.notes(view, quoted)

    def stands_alone(self, index: int) -> bool:
        """Whether part of a message may stand in the view by itself: what the model just said."""
        message = self.plan.messages[index]
        return message.role == "assistant" and not message.calls

    def notes(self, view: Mapping[int, Message], quoted: Mapping[int, Slots]) -> dict[int, Message]:
        """For each dropped run with chosen pieces: a message of ours that quotes them in order."""
        runs: dict[int, list[int]] = {}
        start = self.plan.head
        for index in range(self.plan.head, len(self.plan.messages)):
            if index in view:
                start = index + 1
            elif index in quoted:
                runs.setdefault(start, []).append(index)
        return {start: self.note(indices, quoted) for start, indices in runs.items()}

    def note(self, indices: Sequence[int], quoted: Mapping[int, Slots]) -> Message:
        """Excerpts of some messages, each labelled with who said it."""
        lines = [f"{COMPRESSED} Excerpts of earlier messages, quoted as data:"]
        for index in indices:
            message = self.plan.messages[index]
            for slot, block in enumerate(message.blocks):
                label = self.label(message, block)
                for (at, key), spans in sorted(quoted[index].items()):
                    if at == slot:
                        text = key or (block.text if isinstance(block, Text | ToolResult) else "")
                        lines.append(f"{label} {render(text, spans)}")
        return user("\n".join(lines))

    def label(self, message: Message, block: Block) -> str:
        """Who said a quoted text: `[User]`, `[Assistant]`, `[Bash]`, `[Result of Bash; ref …]`."""
        match block:
            case ToolCall():
                return f"[{block.name}]"
            case ToolResult():
                name = self.names.get(block.call_id, "tool")
                return f"[Result of {name}; ref {ref_of(block.text)}]"
            case _:
                return f"[{message.role.capitalize()}]"


def _places(text: str, parts: Sequence[str]) -> list[Span]:
    """Where some parts stand in a text."""
    starts = ((text.find(part), part) for part in parts)
    return [(start, start + len(part)) for start, part in starts if start >= 0]
