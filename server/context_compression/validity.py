"""What providers accept, and the repair of what they would not.

Rules (Anthropic Messages and OpenAI Chat references): a tool call is answered exactly once, in the
messages right after it, before anything else is said; a result answers a call just before it;
call ids are unique; only the assistant thinks; no message is empty; Anthropic's first message is
the user's. Consecutive messages of one role are legal. A conversation is valid when there is
nothing to repair.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from context_compression.messages import (
    COMPRESSED,
    STRANGER,
    Block,
    Message,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    texts_of,
    user,
)
from context_compression.plurals import how_many

NO_RESULT = "[No result was recorded for this call.]"
ORPHAN = f"{COMPRESSED} Result of a tool call that is not in this conversation:\n"
NO_START = f"{COMPRESSED} The start of this conversation is not part of it."


@dataclass(frozen=True)
class Repaired:
    """A valid conversation, where each message came from, and what was mended.

    `origins[i]` is the index in the input of `messages[i]`, or `None` for one that was added.
    """

    messages: tuple[Message, ...]
    origins: tuple[int | None, ...]
    repairs: tuple[str, ...]


def problems(messages: Sequence[Message], *, user_first: bool) -> tuple[str, ...]:
    """What a provider would refuse, in plain words; empty for a valid conversation."""
    return repair(messages, user_first=user_first).repairs


def repair(messages: Sequence[Message], *, user_first: bool) -> Repaired:
    """Mend what a provider would refuse; valid messages go through as the same objects.

    Args:
        messages: the conversation.
        user_first: whether the provider wants the user's message first, and results in the user's
            messages (Anthropic does), or results in messages of role tool (OpenAI).
    """
    mender = _Mender("user" if user_first else "tool")
    for index, message in enumerate(messages):
        mender.add(index, message)
    mender.close(at_end=True)
    kept, origins, repairs = mender.messages, mender.origins, mender.repairs
    if renamed := mender.renamed:  # hosts that number calls anew for each prompt repeat all of them
        more = f" and {len(renamed) - 2} more" if len(renamed) > 2 else ""
        repairs.append(f"call ids used before were renamed: {', '.join(renamed[:2])}{more}")
    first = next((i for i, m in enumerate(kept) if m.role not in ("system", "developer")), None)
    if user_first and first is not None and kept[first].role != "user":
        kept.insert(first, user(NO_START))
        origins.insert(first, None)
        repairs.append("the conversation did not begin with the user: a note was put first")
    return Repaired(tuple(kept), tuple(origins), tuple(repairs))


class _Mender:
    """Walks from one assistant message to the next, settling calls and results in between."""

    def __init__(self, role_of_results: Role) -> None:
        self.messages: list[Message] = []
        self.origins: list[int | None] = []
        self.repairs: list[str] = []
        self.renamed: list[str] = []  # call ids, as a repair tells it
        self._seen: set[str] = set()
        self._names: dict[str, Iterator[str]] = {}  # of each id those it has not had yet
        self._calls: dict[str, list[str]] = {}  # of the last assistant: id as recorded -> as kept
        self._role_of_results: Role = role_of_results
        self._exchange: list[tuple[int, Message]] = []

    def add(self, index: int, message: Message) -> None:
        filled = tuple(
            b for b in message.blocks if not (isinstance(b, Text) and not b.text.strip())
        )
        if not filled:
            self.repairs.append(f"message {index} was empty: left out")
            return
        if len(filled) < len(message.blocks) and len(message.blocks) > 1:
            self.repairs.append(f"message {index} held an empty text: left out")
            message = message.with_blocks(filled)
        message = self._without_strangers(index, message)
        if message.role == "assistant":
            self.close(at_end=False)
            message = self._with_unique_calls(index, message)
            self._keep(index, message)
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
        """Settle the calls of the last assistant message with what followed it."""
        exchange, self._exchange = self._exchange, []
        # where nothing but results came, the step is open: more may come
        waiting = at_end and all(_only_results(message) for _, message in exchange)
        if self._in_order(exchange, waiting):
            for index, message in exchange:
                self._keep(index, message)
        else:
            self._reorder(exchange, waiting)
        self._calls = {}

    def _in_order(self, exchange: list[tuple[int, Message]], waiting: bool) -> bool:
        """Whether the results stand first, each once, none missing and none foreign."""
        answered: list[str] = []
        spoken = False
        for _, message in exchange:
            for block in message.blocks:
                if not isinstance(block, ToolResult):
                    spoken = True
                elif spoken:
                    return False
                else:
                    answered.append(block.call_id)
        if len(answered) != len(set(answered)):
            return False
        known = all(self._calls.get(call_id) == [call_id] for call_id in answered)
        return known and (waiting or len(answered) == sum(map(len, self._calls.values())))

    def _reorder(self, exchange: list[tuple[int, Message]], waiting: bool) -> None:
        """Keep the exchange with its results first, each to its call, and none missing."""
        open_calls = {call_id: list(kept) for call_id, kept in self._calls.items()}
        answers: list[tuple[int, Message]] = []
        others: list[tuple[int, Message]] = []
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
                elif block.call_id in self._calls:
                    self.repairs.append(f"message {index} answers {block.call_id} again: left out")
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
        if missing and not (waiting and not others):
            self.repairs.append(
                f"{how_many(len(missing), 'tool call')} had no result: a note stands for it"
            )
            for added in self._missing(missing):
                self._keep(None, added)
        if answers and others and answers[-1][0] == others[0][0]:  # one message may hold both
            (index, first), (_, second) = answers.pop(), others[0]
            others[0] = (index, _holding(dict(exchange)[index], [*first.blocks, *second.blocks]))
        for index, message in (*answers, *others):
            self._keep(index, message)

    def _missing(self, call_ids: list[str]) -> list[Message]:
        results = [ToolResult(call_id, (Text(NO_RESULT),), is_error=True) for call_id in call_ids]
        if self._role_of_results == "tool":
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
                if kept != block.id:
                    self.renamed.append(f"{block.id} to {kept}")
                    block = replace(block, id=kept)
            blocks.append(block)
        kept_blocks = tuple(blocks)
        return message if kept_blocks == message.blocks else message.with_blocks(kept_blocks)

    def _keep(self, index: int | None, message: Message) -> None:
        self.messages.append(message)
        self.origins.append(index)


def _as_text(stranger: Block) -> Text:
    said = "\n".join(texts_of(stranger))
    return Text(f"{STRANGER}\n{said if said.strip() else '(no text)'}")


def _holding(message: Message, blocks: Sequence[Block]) -> Message:
    """The message with these blocks; itself where it has just them. Only results are a tool's."""
    if tuple(blocks) == message.blocks:
        return message
    kept = message.with_blocks(tuple(blocks))
    return kept if kept.role != "tool" or kept.results else replace(kept, role="user")


def _only_results(message: Message) -> bool:
    return all(isinstance(block, ToolResult) for block in message.blocks)


def _names(call_id: str) -> Iterator[str]:
    """`"a"` -> `"a"`, `"a-2"`, `"a-3"` and so on."""
    yield call_id
    for number in count(2):
        yield f"{call_id}-{number}"
