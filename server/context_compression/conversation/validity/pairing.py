"""`Pairing`: pairs each tool call with exactly one result, turn by turn; late ones are moved.

Results that came when the assistant had gone on without them: they are moved to their calls. A note
stands for a missing result until the result comes. A program that keeps what it was given passes
that note again.

An assistant turn is a run of assistant messages. Its exchange is the messages after it, up to the
next assistant turn.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import count

from context_compression.conversation.formats.parts import ProviderRules, kind_of
from context_compression.conversation.messages import (
    COMPRESSED,
    UNNAMED,
    Block,
    Message,
    Opaque,
    Text,
    ToolCall,
    ToolResult,
)
from context_compression.conversation.validity.repairs import (
    Before,
    is_plain_speech,
    one_of,
    with_strings_joined,
    with_valid_contents,
    without_lone_reasoning,
)
from context_compression.plurals import how_many

TAIL = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{9,}\Z")
"""The end of an id that is long enough to make another id of the same form."""
CHANGED = 8
"""How many characters at the end of such an id change: one less than the shortest `TAIL`."""


def ids_like(call_id: str) -> Iterator[str]:
    """The ids that may be used for `call_id`: first itself, then others of its length and form.

    An id that is too short for that gets a number: `"a"` -> `"a"`, `"a-2"`, `"a-3"` and so on; one
    of this package stays one, so that it is not written: `"@call-1"` -> `"@call-10002"`.
    """
    yield call_id
    dash = "000" if kind_of(call_id) else "-"
    tail = TAIL.search(call_id)
    for number in count(2):
        if tail is None:
            yield f"{call_id}{dash}{number}"
            continue
        digest = sha256(f"{number} {call_id}".encode("utf-8", "replace")).digest()
        changed = "".join(map(_alike, call_id[-CHANGED:], digest))
        yield f"{call_id[:-CHANGED]}{changed}"


def _alike(char: str, byte: int) -> str:
    """Another character of the same kind: a digit, a small letter or a capital."""
    if char.isdigit():
        return str(byte % 10)
    letter = chr(ord("a") + byte % 26)
    return letter.upper() if char.isupper() else letter


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


ORPHAN = f"{COMPRESSED} Result of a tool call that is not in this conversation:\n"


class Pairing:
    """Goes through the assistant turns in order and settles the calls of each.

    Attributes:
        messages: the messages that are kept, repaired.
        origins: the index of each in the input; `None` for a message that was added.
        repairs: a line for each repair, in plain words.
        renamed: `"old to new"` for each call id that was used before.
    """

    def __init__(self, rules: ProviderRules, before: Before) -> None:
        self.messages: list[Message] = []
        self.origins: list[int | None] = []
        self.repairs: list[str] = []
        self.renamed: list[str] = []
        self._used_ids = {*before.call_ids}
        self._new_ids: dict[str, Iterator[str]] = {}  # recorded id -> ids that may stand for it
        self._calls: dict[str, list[str]] = {}  # of this turn: recorded id -> kept ids
        self._call_by_id: dict[str, ToolCall] = {}  # of this turn: kept id -> the call
        self._rules = rules
        self._turn: list[tuple[int, Message]] = []
        self._exchange: list[tuple[int, Message]] = []
        self._only_talk = True  # whether all messages since the last settled turn are plain text

    def add(self, index: int, message: Message) -> None:
        """Add the next message, which was at `index` in the input."""
        if is_plain_speech(message):
            self._take(index, message)
            return
        valid = with_valid_contents(index, message, self.repairs)
        if valid is not None:
            self._take(index, valid, talk=False)

    def _take(self, index: int, message: Message, *, talk: bool = True) -> None:
        """Add a message to the assistant turn, or to the exchange after it."""
        if message.role == "assistant":
            alone = any(call.alone for _, before in self._turn for call in before.calls)
            if self._exchange or alone:
                self.close(at_end=False)
            self._turn.append((index, self._with_unique_calls(index, message)))
        else:
            self._exchange.append((index, message))
        self._only_talk = self._only_talk and talk

    def close(self, *, at_end: bool) -> None:
        """Settle the calls of the assistant turn with the exchange that followed it."""
        exchange, self._exchange = self._exchange, []
        if self._only_talk:
            for index, message in (*self._turn, *exchange):
                self._keep(index, message)
            self._turn = []
            return
        self._turn = [*without_lone_reasoning(self._turn, self._rules, self.repairs)]
        self._settle_unanswered_calls(exchange)
        for index, message in self._joined(self._turn):
            self._keep(index, message)
        # if only results came, the step is still open: more results may come
        waiting = at_end and all(_only_answers(message) for _, message in exchange)
        waiting = waiting and self._may_go_on(exchange)
        if self._in_order(exchange, waiting):
            for index, message in self._answers_joined(exchange):
                self._keep(index, message)
        else:
            self._reorder(exchange, waiting)
        self._calls, self._call_by_id, self._turn, self._only_talk = {}, {}, [], True

    def _settle_unanswered_calls(self, exchange: Sequence[tuple[int, Message]]) -> None:
        """If the assistant went on without any result, keep its calls, each with a note."""
        calling = [at for at, (_, message) in enumerate(self._turn) if message.calls]
        answered = any(r.call_id in self._calls for _, m in exchange for r in m.results)
        if not calling or calling[-1] == len(self._turn) - 1 or answered:
            return
        if self._program_waits and not self._program_went_on(calling[-1]):
            return
        turn, self._turn = self._turn[: calling[-1] + 1], self._turn[calling[-1] + 1 :]
        for index, message in self._joined(turn):
            self._keep(index, message)
        self._note_missing([call_id for kept in self._calls.values() for call_id in kept])
        self._calls, self._call_by_id = {}, {}

    def _program_went_on(self, at: int) -> bool:
        """Whether the program that made the calls at a place of the turn ended behind them."""
        units = {call.unit for call in self._turn[at][1].calls}
        later = (block for _, message in self._turn[at + 1 :] for block in message.blocks)
        return any(isinstance(b, Opaque) and b.unit in units and not b.opens for b in later)

    def _note_missing(self, call_ids: list[str]) -> None:
        for added in self._missing(call_ids):
            self._keep(None, added)

    def _may_go_on(self, exchange: Sequence[tuple[int, Message]]) -> bool:
        """Whether more results may follow; results paired by order must answer the first calls."""
        answered = [result.call_id for _, message in exchange for result in message.results]
        return not self._by_order or answered == [*self._calls][: len(answered)]

    @property
    def _by_order(self) -> bool:
        """Whether results are paired with calls by their order, not by their ids."""
        unnamed = any(call_id.startswith(UNNAMED) for call_id in self._calls)
        return unnamed or self._rules.join == "turns with calls"

    def _joined(self, turn: Sequence[tuple[int, Message]]) -> Sequence[tuple[int, Message]]:
        """The assistant turn, its messages joined as far as the provider requires."""
        calling = [at for at, (_, message) in enumerate(turn) if message.calls]
        if not calling or len(turn) == 1:
            return turn
        match self._rules.join:
            case "calls" if calling[0] < len(turn) - 1:
                start = calling[0]
            case "turns with calls":
                start = 0
            case _:
                return turn
        first, last = turn[start][0], turn[-1][0]
        self.repairs.append(f"messages {first} to {last} were one turn of the assistant's: joined")
        joined = with_strings_joined(one_of([message for _, message in turn[start:]]))
        return [*turn[:start], (first, joined)]

    def _answers_joined(
        self, exchange: Sequence[tuple[int, Message]]
    ) -> Sequence[tuple[int, Message]]:
        """The exchange, with the results in one message if the provider requires that."""
        answers = [*_leading_results(exchange)]
        if self._rules.join != "turns with calls" or len(answers) < 2:
            return exchange
        first, last = answers[0][0], answers[-1][0]
        self.repairs.append(f"messages {first} to {last} hold the results of one turn: joined")
        return [(first, one_of([message for _, message in answers])), *exchange[len(answers) :]]

    def _in_order(self, exchange: list[tuple[int, Message]], waiting: bool) -> bool:
        """Whether the results come first, each exactly once, and none is of another turn."""
        answered: list[str] = []
        speech_seen = False
        for _, message in exchange:
            for block in message.blocks:
                if isinstance(block, Text) and message.role == "tool":
                    return False
                if not isinstance(block, ToolResult):
                    approves = isinstance(block, Opaque) and bool(block.unit)
                    speech_seen = speech_seen or (message.role != "tool" and not approves)
                elif speech_seen:
                    return False
                else:
                    answered.append(block.call_id)
        if len(answered) != len(set(answered)):
            return False
        known = all(self._calls.get(call_id) == [call_id] for call_id in answered)
        if self._by_order:
            known = known and answered == [*self._calls][: len(answered)]
        return known and (waiting or len(answered) == sum(map(len, self._calls.values())))

    def _reorder(self, exchange: list[tuple[int, Message]], waiting: bool) -> None:
        """Keep the exchange with its results first, one for each call."""
        open_calls = {call_id: list(kept) for call_id, kept in self._calls.items()}
        answers: list[tuple[int, Message]] = []
        others: list[tuple[int | None, Message]] = []
        for index, message in exchange:
            results: list[Block] = []
            rest: list[Block] = []
            late = False
            for block in message.blocks:
                if not isinstance(block, ToolResult):
                    rest.append(block)
                elif open_calls.get(block.call_id):
                    late = late or bool(others or rest)
                    call_id = open_calls[block.call_id].pop(0)
                    same = call_id == block.call_id
                    results.append(block if same else replace(block, call_id=call_id))
                elif block.call_id in self._calls or self._program_waits:
                    why = "again" if block.call_id in self._calls else "while a program waits"
                    self.repairs.append(f"message {index} answers {block.call_id} {why}: left out")
                else:
                    self.repairs.append(
                        f"message {index} answers {block.call_id}, which nobody called: made a text"
                    )
                    rest.append(Text(ORPHAN + (block.text or "(no text)")))
            if late:
                self.repairs.append(f"results in message {index} came late: moved to their calls")
            if results:
                answers.append((index, _holding(message, results)))
            if message.role == "tool" and any(isinstance(b, Text) for b in message.blocks):
                self.repairs.append(f"tool message {index} held a text: made a message of its own")
            others += ((index, part) for part in _without_results(message, rest))
        others.sort(key=lambda other: other[1].role != "tool")  # answers come before words
        missing = [call_id for kept in open_calls.values() for call_id in kept]
        added: list[Message] = []
        if missing and not (waiting and not others):
            added = self._missing(missing)
        self._keep_settled(dict(exchange), answers, added, others)

    def _keep_settled(
        self,
        exchange: Mapping[int, Message],
        answers: Sequence[tuple[int, Message]],
        added: Sequence[Message],
        others: list[tuple[int | None, Message]],
    ) -> None:
        """Keep results, notes for missing results and the rest, in the order the provider needs."""
        order = {call_id: place for place, call_id in enumerate(self._call_by_id)}
        came = [order[result.call_id] for _, answer in answers for result in answer.results]
        if self._by_order and came != sorted(came):
            self.repairs.append(f"results in message {answers[0][0]} are now in their calls' order")
        notes = [(None, note) for note in added]
        if self._rules.join == "turns with calls" and (answers or added):
            results = [r for _, m in (*answers, *notes) for r in m.results]
            results.sort(key=lambda result: order[result.call_id])
            index, pattern = (*answers, *notes)[len(answers) - 1 if answers else 0]
            settled = [(index, _holding(pattern, results))]
        elif self._rules.results_role == "tool" and (added or self._by_order):
            settled = [*answers, *notes]
            settled.sort(key=lambda each: order[each[1].results[0].call_id])
        else:
            settled = [*notes, *answers]
        of_user = self._rules.results_role == "user"
        # a user message may hold both results and other blocks
        if of_user and settled and others and settled[-1][0] == others[0][0]:
            (_, first), (index, second) = settled.pop(), others[0]
            both = [*first.blocks, *second.blocks]
            others[0] = index, second if index is None else _holding(exchange[index], both)
        for index, message in (*settled, *others):
            self._keep(index, message)

    @property
    def _program_waits(self) -> bool:
        """Whether a program that the provider runs made the calls; it takes only results."""
        return any(call.unit for _, message in self._turn for call in message.calls)

    def _missing(self, call_ids: list[str]) -> list[Message]:
        """Messages with a note in place of each missing result, for calls by their kept ids."""
        calls = how_many(len(call_ids), "tool call")
        self.repairs.append(f"{calls} had no result: a note stands for it")
        results = [
            ToolResult(id, (Text(NO_RESULT),), True, name=call.name, kind=call.kind)
            for id, call in ((call_id, self._call_by_id[call_id]) for call_id in call_ids)
        ]
        if self._rules.results_role == "tool":
            return [Message("tool", (result,)) for result in results]
        return [Message("user", tuple(results))]

    def _with_unique_calls(self, index: int, message: Message) -> Message:
        """Record the calls of a message; a call whose id was used before gets a new one.

        If two calls of a turn have the same id, results answer them in their order.
        """
        blocks: list[Block] = []
        for block in message.blocks:
            if isinstance(block, ToolCall):
                candidates = self._new_ids.setdefault(block.id, ids_like(block.id))
                kept = next(call_id for call_id in candidates if call_id not in self._used_ids)
                self._used_ids.add(kept)
                self._calls.setdefault(block.id, []).append(kept)
                self._call_by_id[kept] = block
                if kept != block.id:
                    self.renamed.append(f"{block.id} to {kept}")
                    block = replace(block, id=kept)
            blocks.append(block)
        kept_blocks = tuple(blocks)
        return message if kept_blocks == message.blocks else message.with_blocks(kept_blocks)

    def _keep(self, index: int | None, message: Message) -> None:
        self.messages.append(message)
        self.origins.append(index)


def _leading_results(exchange: Sequence[tuple[int, Message]]) -> Iterator[tuple[int, Message]]:
    """The messages with results, up to the first message without one."""
    for index, message in exchange:
        if not message.results:
            return
        yield index, message


def _holding(message: Message, blocks: Sequence[Block]) -> Message:
    """The message with these blocks; the same object if it has no others."""
    return message if tuple(blocks) == message.blocks else message.with_blocks(tuple(blocks))


def _without_results(message: Message, rest: Sequence[Block]) -> Iterator[Message]:
    """What a message holds beside results; texts of a tool message become the harness's own."""
    texts = [b for b in rest if isinstance(b, Text)] if message.role == "tool" else []
    if others := [b for b in rest if b not in texts]:
        yield _holding(message, others)
    if texts:
        told = tuple(replace(text, by_harness=True) for text in texts)
        yield replace(message.with_blocks(told), role="user")


def _only_answers(message: Message) -> bool:
    """Whether a message holds only results; a tool message may also hold approvals of calls."""
    of_tool = message.role == "tool"
    return all(
        isinstance(block, ToolResult) or (isinstance(block, Opaque) and (of_tool or block.unit))
        for block in message.blocks
    )
