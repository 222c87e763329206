"""What providers accept, and the repair of what they would not.

Rules that all share: a tool call is answered exactly once, behind it, before anything else is said;
a result answers a call just before it; call ids are unique; the halves of a server tool come
together; only the assistant thinks; no message is empty. `ProviderRules` says in what they differ.
Neighbouring messages of the assistant's are one turn: their calls are answered behind the last. A
conversation is valid when there is nothing to repair.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count, groupby
from types import MappingProxyType

from context_compression.messages import (
    COMPRESSED,
    STRANGER,
    UNNAMED,
    Block,
    Edited,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    texts_of,
    user,
)
from context_compression.plurals import how_many
from context_compression.provider_rules import ProviderRules

NO_RESULT = "[No result was recorded for this call.]"
ORPHAN = f"{COMPRESSED} Result of a tool call that is not in this conversation:\n"
NO_START = f"{COMPRESSED} The start of this conversation is not part of it."
NO_HALVES: Mapping[int, Message] = MappingProxyType({})
TAIL = re.compile(r"[A-Za-z0-9]{9,}\Z")
"""The end of an id that is long enough to become another of the same form."""
CHANGED = 8
"""Characters of such an id that change."""


@dataclass(frozen=True)
class Repaired:
    """A valid conversation, where each message came from, and what was mended.

    `origins[i]` is the index in the input of `messages[i]`, or `None` for one that was added.
    """

    messages: tuple[Message, ...]
    origins: tuple[int | None, ...]
    repairs: tuple[str, ...]


def problems(messages: Sequence[Message], rules: ProviderRules) -> tuple[str, ...]:
    """What a provider would refuse, in plain words; empty for a valid conversation."""
    return repair(messages, rules).repairs


def repair(
    messages: Sequence[Message],
    rules: ProviderRules,
    without_halves: Mapping[int, Message] = NO_HALVES,
) -> Repaired:
    """Mend what a provider would refuse; valid messages go through as the same objects.

    Args:
        messages: the conversation.
        rules: what the provider refuses.
        without_halves: by index, what stands for messages that hold half of a character.
    """
    mender = _Mender(rules)
    for index in sorted(without_halves):
        mender.repairs.append(f"message {index} held half of a character: U+FFFD stands for it")
    whole = [without_halves.get(index, message) for index, message in enumerate(messages)]
    for index, message in _with_whole_units(whole, mender.repairs):
        mender.add(index, message)
    mender.close(at_end=True)
    kept, origins, repairs = mender.messages, mender.origins, mender.repairs
    if renamed := mender.renamed:  # hosts that number calls anew for each prompt repeat all of them
        more = f" and {len(renamed) - 2} more" if len(renamed) > 2 else ""
        repairs.append(f"call ids used before were renamed: {', '.join(renamed[:2])}{more}")
    if rules.reasoning_apart:
        _name_items_once(kept, origins, repairs)
        _drop_lone_reasoning(kept, origins, repairs)
    first = next((i for i, m in enumerate(kept) if m.role not in ("system", "developer")), None)
    if rules.user_first and first is not None and kept[first].role != "user":
        kept.insert(first, user(NO_START))
        origins.insert(first, None)
        repairs.append("the conversation did not begin with the user: a note was put first")
    if rules.join == "all":
        _join_all(kept, origins, repairs)
    return Repaired(tuple(kept), tuple(origins), tuple(repairs))


def _with_whole_units(
    messages: Sequence[Message], repairs: list[str]
) -> Iterator[tuple[int, Message]]:
    """The messages with their indices; what is left of a server tool's unit without the rest goes.

    A unit may be open at the end: the provider goes on with it.
    """
    units: dict[str, list[Block]] = {}  # those that are open, with what was seen of each
    seen: set[str] = set()
    broken: set[int] = set()  # ids of blocks
    before = ""  # whose the message before was
    for message in messages:
        ends = message.starts_turn and bool(message.text.strip()) and not _is_ours(message)
        goes_on = message.role == "assistant" and before == "user"
        for unit in [*units]:  # a program goes on after results; other tools answer at once
            if ends or (goes_on and len(units[unit]) == 1):
                broken.update(map(id, units.pop(unit)))
        before = message.role
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
    for index, message in enumerate(messages):
        if not broken or broken.isdisjoint(map(id, message.blocks)):
            yield index, message
            continue
        repairs.append(f"message {index} held half of a server tool's call and result: left out")
        yield index, message.with_blocks(tuple(_without(message.blocks, broken)))


def _is_ours(message: Message) -> bool:
    return message.text.startswith(COMPRESSED)


def _without(blocks: Iterable[Block], broken: Container[int]) -> Iterator[Block]:
    """Blocks but the broken ones; a call that no server tool makes any more is an ordinary one."""
    for block in blocks:
        if id(block) not in broken:
            yield block
        elif isinstance(block, ToolCall):
            yield replace(block, unit="")


class _Mender:
    """Walks from one turn of the assistant's to the next, settling calls and results in between."""

    def __init__(self, rules: ProviderRules) -> None:
        self.messages: list[Message] = []
        self.origins: list[int | None] = []
        self.repairs: list[str] = []
        self.renamed: list[str] = []  # call ids, as a repair tells it
        self._seen: set[str] = set()
        self._names: dict[str, Iterator[str]] = {}  # of each id those it has not had yet
        self._calls: dict[str, list[str]] = {}  # of the assistant's turn: id as recorded -> as kept
        self._tools: dict[str, ToolCall] = {}  # of the same: id as kept -> the call
        self._rules = rules
        self._turn: list[tuple[int, Message]] = []
        self._exchange: list[tuple[int, Message]] = []

    def add(self, index: int, message: Message) -> None:
        filled = tuple(_filled(message.blocks))
        if not filled:
            self.repairs.append(f"message {index} was empty: left out")
            return
        if filled != message.blocks and (len(message.blocks) > 1 or message.results):
            self.repairs.append(f"message {index} held an empty text: left out")
            message = message.with_blocks(filled)
        message = self._without_strangers(index, message)
        if message.role == "assistant":
            alone = any(call.alone for _, before in self._turn for call in before.calls)
            if self._exchange or alone:
                self.close(at_end=False)
            self._turn.append((index, self._with_unique_calls(index, message)))
        else:
            self._exchange.append((index, message))

    def _without_strangers(self, index: int, message: Message) -> Message:
        """Only the assistant thinks and calls tools, only others answer; else it is a text."""
        wrong = ToolResult if message.role == "assistant" else ToolCall | Thinking
        strangers = {type(b).__name__: None for b in message.blocks if isinstance(b, wrong)}
        if not strangers:
            return message
        held = " and a ".join(strangers)
        self.repairs.append(f"message {index} of role {message.role} held a {held}: made a text")
        blocks = (_as_text(b) if isinstance(b, wrong) else b for b in message.blocks)
        return message.with_blocks(tuple(blocks))

    def close(self, *, at_end: bool) -> None:
        """Settle the calls of the assistant's turn with what followed it."""
        exchange, self._exchange = self._exchange, []
        self._settle_what_nobody_answers(exchange)
        for index, message in self._joined(self._turn):
            self._keep(index, message)
        # where nothing but the program's answers came, the step is open: more may come
        waiting = at_end and all(_only_answers(message) for _, message in exchange)
        waiting = waiting and self._may_go_on(exchange)
        if self._in_order(exchange, waiting):
            for index, message in self._answers_joined(exchange):
                self._keep(index, message)
        else:
            self._reorder(exchange, waiting)
        self._calls, self._tools, self._turn = {}, {}, []

    def _settle_what_nobody_answers(self, exchange: Sequence[tuple[int, Message]]) -> None:
        """Keep calls behind which the assistant speaks and no result comes, each with a note."""
        calling = [at for at, (_, message) in enumerate(self._turn) if message.calls]
        answered = any(r.call_id in self._calls for _, m in exchange for r in m.results)
        if not calling or calling[-1] == len(self._turn) - 1 or answered or self._program_waits:
            return
        turn, self._turn = self._turn[: calling[-1] + 1], self._turn[calling[-1] + 1 :]
        for index, message in self._joined(turn):
            self._keep(index, message)
        self._note_missing([call_id for kept in self._calls.values() for call_id in kept])
        self._calls, self._tools = {}, {}

    def _note_missing(self, call_ids: list[str]) -> None:
        for added in self._missing(call_ids):
            self._keep(None, added)

    def _may_go_on(self, exchange: Sequence[tuple[int, Message]]) -> bool:
        """Whether more results may follow these: where their order tells, the first have come."""
        answered = [result.call_id for _, message in exchange for result in message.results]
        return not self._by_order or answered == [*self._calls][: len(answered)]

    @property
    def _by_order(self) -> bool:
        """Whether the order of results tells which calls they answer."""
        unnamed = any(call_id.startswith(UNNAMED) for call_id in self._calls)
        return unnamed or self._rules.join == "turns with calls"

    def _joined(self, turn: Sequence[tuple[int, Message]]) -> Sequence[tuple[int, Message]]:
        """The assistant's turn as the messages that the provider takes."""
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
        joined = _with_strings_joined(one_of([message for _, message in turn[start:]]))
        return [*turn[:start], (first, joined)]

    def _answers_joined(
        self, exchange: Sequence[tuple[int, Message]]
    ) -> Sequence[tuple[int, Message]]:
        """What followed, with the results in one message where the provider wants that."""
        answers = [*_leading_results(exchange)]
        if self._rules.join != "turns with calls" or len(answers) < 2:
            return exchange
        first, last = answers[0][0], answers[-1][0]
        self.repairs.append(f"messages {first} to {last} hold the results of one turn: joined")
        return [(first, one_of([message for _, message in answers])), *exchange[len(answers) :]]

    def _in_order(self, exchange: list[tuple[int, Message]], waiting: bool) -> bool:
        """Whether the results stand first, each once, none missing and none foreign."""
        answered: list[str] = []
        spoken = False
        for _, message in exchange:
            for block in message.blocks:
                if isinstance(block, Text) and message.role == "tool":
                    return False
                if not isinstance(block, ToolResult):
                    spoken = spoken or message.role != "tool"
                elif spoken:
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
        """Keep the exchange with its results first, each to its call, and none missing."""
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
            if rest:
                others.append((index, _holding(message, rest)))
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
        """Keep results, notes for those that are missing, and the rest, in the provider's order."""
        order = {call_id: place for place, call_id in enumerate(self._tools)}
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
        if of_user and settled and others and settled[-1][0] == others[0][0]:  # it may hold both
            (_, first), (index, second) = settled.pop(), others[0]
            both = [*first.blocks, *second.blocks]
            others[0] = index, second if index is None else _holding(exchange[index], both)
        for index, message in (*settled, *others):
            self._keep(index, message)

    @property
    def _program_waits(self) -> bool:
        """Whether a tool of the provider's made the calls: it takes their results and no words."""
        return any(call.unit for _, message in self._turn for call in message.calls)

    def _missing(self, call_ids: list[str]) -> list[Message]:
        """Notes that stand for results."""
        calls = how_many(len(call_ids), "tool call")
        self.repairs.append(f"{calls} had no result: a note stands for it")
        results = [
            ToolResult(id, (Text(NO_RESULT),), True, name=call.name, kind=call.kind)
            for id, call in ((call_id, self._tools[call_id]) for call_id in call_ids)
        ]
        if self._rules.results_role == "tool":
            return [Message("tool", (result,)) for result in results]
        return [Message("user", tuple(results))]

    def _with_unique_calls(self, index: int, message: Message) -> Message:
        """Remember the calls; one whose id was used before gets a new id.

        Where an id stands twice in one message, the results answer in the order of the calls.
        """
        blocks: list[Block] = []
        for block in message.blocks:
            if isinstance(block, ToolCall):
                names = self._names.setdefault(block.id, _names(block.id))
                kept = next(name for name in names if name not in self._seen)
                self._seen.add(kept)
                self._calls.setdefault(block.id, []).append(kept)
                self._tools[kept] = block
                if kept != block.id:
                    self.renamed.append(f"{block.id} to {kept}")
                    block = replace(block, id=kept)
            blocks.append(block)
        kept_blocks = tuple(blocks)
        return message if kept_blocks == message.blocks else message.with_blocks(kept_blocks)

    def _keep(self, index: int | None, message: Message) -> None:
        self.messages.append(message)
        self.origins.append(index)


def _drop_lone_reasoning(
    messages: list[Message], origins: list[int | None], repairs: list[str]
) -> None:
    """Take out reasoning behind which nothing of the assistant's comes."""
    for at in reversed(range(len(messages))):
        follows = at + 1 < len(messages) and messages[at + 1].role == "assistant"
        if messages[at].only_thinks and not follows:
            repairs.append(f"message {origins[at]} is reasoning without what it led to: left out")
            del messages[at], origins[at]


def _name_items_once(
    messages: list[Message],
    origins: list[int | None],
    repairs: list[str],
) -> None:
    """Take the id of an item that came before from a later one; what is nothing without it goes."""
    seen: set[str] = set()
    for at in reversed([*_named_again(messages, seen)]):
        message = messages[at]
        repairs.append(f"message {origins[at]} has the id of an earlier item: it has none now")
        if any(isinstance(block, Opaque | Thinking) for block in message.blocks):
            del messages[at], origins[at]
        else:
            messages[at] = Edited(message.role, message.blocks, message.source, detached=True)


def _named_again(messages: Sequence[Message], seen: set[str]) -> Iterator[int]:
    for at, message in enumerate(messages):
        detached = isinstance(message, Edited) and message.detached
        name = message.source.get("id") if message.source and not detached else None
        if isinstance(name, str) and name in seen:
            yield at
        elif isinstance(name, str):
            seen.add(name)


def _join_all(messages: list[Message], origins: list[int | None], repairs: list[str]) -> None:
    """Make one message of each run of neighbours of one role."""
    made: list[tuple[Message, int | None]] = []
    pairs = zip(messages, origins, strict=True)
    for _, group in groupby(pairs, key=lambda pair: pair[0].role):
        run = [*group]
        if len(run) == 1:
            made.append(run[0])
            continue
        origin = next((index for _, index in run if index is not None), None)
        repairs.append(f"{len(run)} neighbouring messages of the {run[0][0].role}'s: joined")
        made.append((one_of([message for message, _ in run]), origin))
    messages[:] = [message for message, _ in made]
    origins[:] = [origin for _, origin in made]


def one_of(messages: Sequence[Message]) -> Message:
    """One message with all that some hold: results first, calls last, the rest in order.

    Of reasoning that is a key of its message only the first stays: a message has one.
    """
    blocks = [block for message in messages for block in message.blocks]
    thoughts = [b for b in blocks if isinstance(b, Thinking) and not b.bound]
    blocks = [b for b in blocks if not any(b is later for later in thoughts[1:])]
    blocks.sort(key=_place)
    first = next((m for m in messages if m.source is not None), messages[0])
    return Edited(messages[0].role, tuple(blocks), first.source)


def _with_strings_joined(message: Message) -> Message:
    """The message with one text for those that were strings: some take nothing else (Ollama)."""
    first, *more = [block for block in message.blocks if _is_string(block)] or [None]
    if first is None or not more:
        return message
    whole = Text("\n".join(b.text for b in (first, *more) if isinstance(b, Text)))
    left = (whole if b is first else b for b in message.blocks if b is first or not _is_string(b))
    return message.with_blocks(tuple(left))


def _is_string(block: Block) -> bool:
    return isinstance(block, Text) and block.source is None


def _place(block: Block) -> int:
    return -1 if isinstance(block, ToolResult) else int(isinstance(block, ToolCall))


def _filled(blocks: Iterable[Block]) -> Iterator[Block]:
    """Blocks without those that are empty texts, in the parts of results too."""
    for block in blocks:
        if isinstance(block, ToolResult):
            parts = tuple(p for p in block.content if not (_is_blank(p) and _is_part(p)))
            yield block if len(parts) == len(block.content) else replace(block, content=parts)
        elif not _is_blank(block):
            yield block


def _is_blank(block: Block) -> bool:
    return isinstance(block, Text) and not block.text.strip()


def _is_part(block: Block) -> bool:
    """Whether a text is a part in a list; as all that a result says it may be empty."""
    return isinstance(block, Text) and block.source is not None


def _leading_results(exchange: Sequence[tuple[int, Message]]) -> Iterator[tuple[int, Message]]:
    """The messages that hold results, up to the first that holds none."""
    for index, message in exchange:
        if not message.results:
            return
        yield index, message


def _as_text(stranger: Block) -> Text:
    said = "\n".join(texts_of(stranger))
    return Text(f"{STRANGER}\n{said if said.strip() else '(no text)'}")


def _holding(message: Message, blocks: Sequence[Block]) -> Message:
    """The message with these blocks; itself where it has just them. Only results are a tool's."""
    if tuple(blocks) == message.blocks:
        return message
    kept = message.with_blocks(tuple(blocks))
    return kept if kept.role != "tool" or kept.results else replace(kept, role="user")


def _only_answers(message: Message) -> bool:
    """Whether it holds results, or what else a tool's message may: an approved call is run."""
    answers = (ToolResult, Opaque) if message.role == "tool" else ToolResult
    return all(isinstance(block, answers) for block in message.blocks)


def _names(call_id: str) -> Iterator[str]:
    """The ids that may stand for one: itself, then others of its length and form.

    One too short for that is made longer: `"a"` -> `"a"`, `"a-2"`, `"a-3"` and so on.
    """
    yield call_id
    tail = TAIL.search(call_id)
    for number in count(2):
        if tail is None:
            yield f"{call_id}-{number}"
            continue
        digest = sha256(f"{number} {call_id}".encode("utf-8", "replace")).digest()
        changed = "".join(map(_alike, call_id[-CHANGED:], digest))
        yield f"{call_id[:-CHANGED]}{changed}"


def _alike(sign: str, byte: int) -> str:
    """Another letter or digit of the same kind."""
    if sign.isdigit():
        return str(byte % 10)
    letter = chr(ord("a") + byte % 26)
    return letter.upper() if sign.isupper() else letter
