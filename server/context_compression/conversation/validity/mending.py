"""Calls and results brought together, turn by turn."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from context_compression.conversation.messages import (
    COMPRESSED,
    STRANGER,
    UNNAMED,
    Block,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    texts_of,
)
from context_compression.conversation.provider_rules import ProviderRules
from context_compression.conversation.validity.joining import one_of, with_strings_joined
from context_compression.conversation.validity.new_ids import ids_like
from context_compression.display.plurals import how_many

NO_RESULT = "[No result was recorded for this call.]"
ORPHAN = f"{COMPRESSED} Result of a tool call that is not in this conversation:\n"


class Mender:
    """Walks from one turn of the assistant's to the next, settling calls and results in between.

    Attributes:
        messages: as they are kept.
        origins: where each came from; `None` for one that was added.
        repairs: what was mended, in plain words.
        renamed: call ids, as a repair tells it.
    """

    def __init__(self, rules: ProviderRules) -> None:
        self.messages: list[Message] = []
        self.origins: list[int | None] = []
        self.repairs: list[str] = []
        self.renamed: list[str] = []
        self._seen: set[str] = set()
        self._names: dict[str, Iterator[str]] = {}  # of each id those it has not had yet
        self._calls: dict[str, list[str]] = {}  # of the assistant's turn: id as recorded -> as kept
        self._tools: dict[str, ToolCall] = {}  # of the same: id as kept -> the call
        self._rules = rules
        self._turn: list[tuple[int, Message]] = []
        self._exchange: list[tuple[int, Message]] = []
        self._only_talk = True  # what was added since calls were settled last

    def add(self, index: int, message: Message) -> None:
        """The next message."""
        if _is_talk(message):
            self._take(index, message)
            return
        filled = tuple(_filled(message.blocks))
        if not filled:
            self.repairs.append(f"message {index} was empty: left out")
            return
        if filled != message.blocks and (len(message.blocks) > 1 or message.results):
            self.repairs.append(f"message {index} held an empty text: left out")
            message = message.with_blocks(filled)
        self._take(index, self._without_strangers(index, message), talk=False)

    def _take(self, index: int, message: Message, *, talk: bool = True) -> None:
        """Add it to the assistant's turn, or to what follows that."""
        if message.role == "assistant":
            alone = any(call.alone for _, before in self._turn for call in before.calls)
            if self._exchange or alone:
                self.close(at_end=False)
            self._turn.append((index, self._with_unique_calls(index, message)))
        else:
            self._exchange.append((index, message))
        self._only_talk = self._only_talk and talk

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
        if self._only_talk:
            for index, message in (*self._turn, *exchange):
                self._keep(index, message)
            self._turn = []
            return
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
        self._calls, self._tools, self._turn, self._only_talk = {}, {}, [], True

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
        joined = with_strings_joined(one_of([message for _, message in turn[start:]]))
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
                names = self._names.setdefault(block.id, ids_like(block.id))
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


def _is_talk(message: Message) -> bool:
    """Whether it is one text that says something, of somebody who may say it: nothing to mend."""
    if len(message.blocks) != 1 or message.role == "tool":
        return False
    return isinstance(message.blocks[0], Text) and not _is_blank(message.blocks[0])


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
