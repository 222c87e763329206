"""The exchanges with our tool, of which a client knows nothing, put back into its history.

The client has one message where the provider had several: what the model said before it called
`context_restore`, its call, the result, and what it said then. `unfold` finds those messages in the
record of the session and puts them in the place of the client's. A history that does not match
the record stays as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context_compression.conversation.labels import same_but_marks
from context_compression.conversation.messages import as_object, is_array, is_by_model, is_object
from context_compression.integrations.apis import Answers, Api, Json, name_of
from context_compression.session.following import (
    CALLS,
    SPACE,
    TEXTS,
    Shared,
    is_recorded,
    shared_messages,
)
from context_compression.session.restoring import RESTORE

OF_CALLS = ("tool_use", "function")
"""The types of calls in Anthropic's API and in Chat Completions."""
THINKING = ("thinking", "redacted_thinking")
REASONING = ("reasoning", "reasoning_content", "reasoning_details", "thinking_blocks")
"""The fields beside the content in which providers and gateways write what a model thought."""
FAR = 64
"""How many items are read to find a call of our tool in a response."""


@dataclass(frozen=True)
class Unfolded:
    """A history as the provider saw it.

    Attributes:
        before: the messages that the record has, too.
        following: those behind them; what was not changed are the very objects of the client.
        known: how many messages of the record are in `before`.
    """

    before: Sequence[Any]
    following: Sequence[Any]
    known: int

    @property
    def history(self) -> list[Any]:
        """All messages."""
        return [*self.before, *self.following]


def unfolded(recorded: Sequence[Mapping[str, Any]], history: Sequence[Any], api: Api) -> list[Any]:
    """A client's history as the provider saw it.

    Args:
        recorded: the record of the session.
        history: of the client, without the exchanges with our tool.
        api: of the request.
    """
    return unfold(recorded, history, api).history


def unfold(recorded: Sequence[Mapping[str, Any]], history: Sequence[Any], api: Api) -> Unfolded:
    """`unfolded`, with what the record and the history have in common."""
    walk = _Walk(recorded, history)
    step = walk.item if api.name == "responses" else walk.exchange
    while walk.go_on() and step():
        pass
    return walk.done()


class _Walk:
    """Goes along the record and the client's history, and writes the history down."""

    def __init__(self, recorded: Sequence[Mapping[str, Any]], history: Sequence[Any]) -> None:
        self.recorded, self.history = recorded, history
        self.shared, self.out, self.left = Shared(), list[Any](), list[Json]()
        self.ours = set[str]()
        """Our calls whose results have not been written down."""

    def go_on(self) -> bool:
        """Write down what both have in common; whether something else follows in the record."""
        shared, before = self.shared, self.shared.read
        while (
            shared.known < len(self.recorded)
            and shared.read < len(self.history)
            and is_recorded(self.recorded[shared.known], self.history[shared.read])
        ):
            shared.known, shared.read = shared.known + 1, shared.read + 1
        if shared.known < len(self.recorded) and not _ours_in(self.recorded[shared.known]):
            shared_messages(self.recorded, self.history, shared)
        self.out += self.history[before : shared.read]
        return not shared.rest and shared.known < len(self.recorded)

    def done(self) -> Unfolded:
        """The history, with what follows."""
        read = self.shared.read - bool(self.shared.rest)
        before = self.out[: -1 if self.shared.rest else None]
        if self.ours:  # the client has changed what lies between call and result
            before = [item for item in before if item.get("call_id") not in self.ours]
        return Unfolded(before, [*self.left, *self.history[read:]], self.shared.known)

    def take(self, items: Sequence[Any], *, read: int = 0) -> bool:
        """Write down messages of the record, in the place of some of the client's."""
        self.out += items
        self.shared.read += read
        return True

    def item(self) -> bool:
        """Put in an item of OpenAI Responses that the client does not know; whether there is one.

        A client may leave out the reasoning before our call, too.
        """
        at, read = self.shared.known, self.shared.read
        item = self.recorded[at]
        id, is_call = item.get("call_id"), _is_our_item(item)
        if is_call or (item.get("type") == "reasoning" and self._leads_to_call(at)):
            if not (self._is_by_model(self.history, read) or self._is_by_model(self.out, -1)):
                return False
            self.ours |= {str(id)} if is_call else set()
        elif item.get("type") == "function_call_output" and id in self.ours:
            self.ours.remove(str(id))
        else:
            return False
        self.shared.known += 1
        return self.take([item])

    def _leads_to_call(self, at: int) -> bool:
        for item in self.recorded[at : at + FAR]:
            if not is_by_model(item):
                return False
            if _is_our_item(item):
                return True
        return False

    @staticmethod
    def _is_by_model(messages: Sequence[Any], at: int) -> bool:
        one = messages[at : at + 1 or None]
        return bool(one) and is_object(one[0]) and is_by_model(one[0])

    def exchange(self) -> bool:
        """Put messages of the provider in the place of one of the client's; whether they match."""
        shared, recorded = self.shared, self.recorded
        found = _exchange_at(recorded, shared.known)
        message, *others = [*self.history[shared.read : shared.read + 2], None]
        if found is None or as_object(message).get("role") != "assistant":
            return False
        left = _left({**as_object(message)}, found.said)
        if left is None or (left and (found.is_complete or found.stop < len(recorded))):
            return False
        exchanged = [*recorded[shared.known : found.stop]]
        if not found.ours:
            shared.known = found.stop
            self.left = [_without_reasoning(left, exchanged)] if left else []
            return self.take(exchanged, read=1) and not left
        answers = _results_of(recorded, found.stop, found.ours)
        if answers is None:
            return False
        if answers[0].get("role") == "tool":
            shared.known = found.stop + len(answers)
            return self.take([*exchanged, *answers], read=1)
        results = _with_results(as_object(others[0]), answers[0], found.ours)
        if results is None:
            return False
        same = shared_messages([answers[0]], [results]).known
        is_kept = len(_hidden(answers[0], found.ours)) == len(_content(answers[0]))
        shared.known = found.stop + (1 if same or is_kept else 0)
        self.take([*exchanged, results], read=2)
        return bool(same or is_kept)


@dataclass(frozen=True)
class _Hidden:
    """Messages of the record of which the client has been shown one.

    Attributes:
        stop: where they end.
        said: what the client was shown.
        is_complete: whether the response after our last result is among them.
        ours: our calls in the last of them, beside those of other tools.
    """

    stop: int
    said: list[Any]
    is_complete: bool
    ours: set[str]


def _exchange_at(recorded: Sequence[Mapping[str, Any]], at: int) -> _Hidden | None:
    """The exchange that begins at a message of the record, if one does."""
    start, said = at, list[Any]()
    while at < len(recorded) and recorded[at].get("role") == "assistant":
        ours, others = _calls_in(recorded[at])
        if at == start and not ours:
            return None
        said += [part for part in parts_of(recorded[at]) if name_of(part) != RESTORE]
        at += 1
        if others or not ours:
            return _Hidden(at, said, True, ours)
        results = at
        while at < len(recorded) and (ids := _results_in(recorded[at])) and ids <= ours:
            at += 1
        if at == results:
            return None
    return _Hidden(at, said, False, set()) if at > start else None


def parts_of(message: Mapping[str, Any]) -> list[Any]:
    """The blocks of a message and its calls."""
    content, calls = message.get("content"), message.get(CALLS)
    parts = [*content] if is_array(content) else [content] if content else []
    return [*parts, *calls] if is_array(calls) else parts


def _calls_in(message: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """The ids of our calls in a message, and of others."""
    ours, others = set[str](), set[str]()
    for part in filter(is_object, parts_of(message)):
        if part.get("type") in OF_CALLS:
            (ours if name_of(part) == RESTORE else others).add(str(part.get("id")))
    return ours, others


def _ours_in(message: Mapping[str, Any]) -> set[str]:
    """The ids of our calls in a message, or in an item of OpenAI Responses."""
    return {str(message.get("call_id"))} if _is_our_item(message) else _calls_in(message)[0]


def _is_our_item(item: Mapping[str, Any]) -> bool:
    return item.get("type") == "function_call" and item.get("name") == RESTORE


def _content(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    return [block for block in content if is_object(block)] if is_array(content) else []


def _results_in(message: Mapping[str, Any]) -> set[str]:
    """The ids of the calls that a message answers, if it has nothing but results."""
    if message.get("role") == "tool":
        return {str(message.get("tool_call_id"))}
    if message.get("type") == "function_call_output":
        return {str(message.get("call_id"))}
    blocks = _content(message)
    if any(block.get("type") != "tool_result" for block in blocks):
        return set()
    return {str(block.get("tool_use_id")) for block in blocks}


def _hidden(message: Mapping[str, Any], ours: set[str]) -> list[tuple[int, Mapping[str, Any]]]:
    """The results of our calls in a message, with their places."""
    return [
        (at, block)
        for at, block in enumerate(_content(message))
        if block.get("tool_use_id") in ours
    ]


def _results_of(
    recorded: Sequence[Mapping[str, Any]], at: int, ours: set[str]
) -> list[Mapping[str, Any]] | None:
    """The messages with the results of our calls, from a place on; `None` if one is missing."""
    answers = [*recorded[at : at + 1]]
    if answers and answers[0].get("role") == "tool":
        answers = [*recorded[at : at + len(ours)]]
        ids = [each.get("tool_call_id") for each in answers]
    else:
        ids = [block.get("tool_use_id") for each in answers for _, block in _hidden(each, ours)]
    return answers if {*ids} == ours else None


def _with_results(
    message: Mapping[str, Any], answers: Mapping[str, Any], ours: set[str]
) -> Json | None:
    """The client's message of results, with those of our calls at their places."""
    content = message.get("content")
    if message.get("role") != "user" or not is_array(content):
        return None
    if not any(block.get("type") == "tool_result" for block in _content(message)):
        return None
    both = [*content]
    for at, block in _hidden(answers, ours):
        both.insert(at, block)
    return {**message, "content": both}


def _left(message: Json, said: Sequence[Any]) -> Json | None:
    """What a message has behind what was said; `None` if it does not begin with that.

    Clients join texts, with or without white space, and leave out thinking and empty texts.
    """
    parts, at, offset = parts_of(message), 0, 0
    for ours in said:
        theirs = parts[at] if at < len(parts) else None
        text, longer = text_of(ours), text_of(theirs)
        if text is None:
            if not offset and _is_same(ours, theirs):
                at += 1
            elif as_object(ours).get("type") not in THINKING:
                return None
        elif text.strip():
            end = None if longer is None else _end_of(text, longer, offset)
            if longer is None or end is None:
                return None
            at, offset = (at, end) if longer[end:].strip() else (at + 1, 0)
        elif longer == text:
            at += 1
    if not at and not offset:
        return message
    return _behind(message, at, offset) if at < len(parts) else {}


def text_of(part: Any) -> str | None:
    """The text of a part that is one."""
    if isinstance(part, str):
        return part
    block = as_object(part)
    text = block.get("text")
    return text if isinstance(text, str) and block.get("type") in TEXTS else None


def _end_of(text: str, longer: str, start: int) -> int | None:
    """Where a text ends in a longer one that continues with it at `start`."""
    for shown in (text, text.rstrip()):
        if longer.startswith(shown, start):
            return start + len(shown)
    space, shown = SPACE.match(longer, start), text.strip()
    start = space.end() if space else start
    return start + len(shown) if longer.startswith(shown, start) else None


def _behind(message: Json, parts: int, chars: int) -> Json:
    """A message without its first parts, and without the first characters of the next one."""
    content, calls = message.get("content"), message.get(CALLS)
    blocks: list[Any] = [*content] if is_array(content) else [content] if content else []
    left, called = blocks[parts:], max(0, parts - len(blocks))
    if chars:
        first, text = left[0], str(text_of(left[0]))[chars:]
        left[0] = text if isinstance(first, str) else {**first, "text": text}
    if isinstance(content, str):
        message = {**message, "content": left[0] if left else None}
    elif is_array(content):
        message = {**message, "content": left}
    return {**message, CALLS: [*calls][called:]} if is_array(calls) else message


def _without_reasoning(message: Json, before: Sequence[Mapping[str, Any]]) -> Json:
    """A message without what the model thought in messages before it, which it begins with."""
    for key in REASONING:
        for thought in (each.get(key) for each in before):
            theirs = message.get(key)
            if isinstance(thought, str) and isinstance(theirs, str):
                message = {**message, key: theirs.removeprefix(thought)}
            elif is_array(thought) and is_array(theirs) and theirs[: len(thought)] == thought:
                message = {**message, key: theirs[len(thought) :]}
    return message


def _is_same(one: Any, other: Any) -> bool:
    """Whether two parts are the same; a call is known by its id."""
    if same_but_marks(one, other):
        return True
    one, other = as_object(one), as_object(other)
    return one.get("type") in OF_CALLS and (one["type"], one.get("id")) == (
        other.get("type"),
        other.get("id"),
    )


def open_exchange(recorded: Sequence[Mapping[str, Any]]) -> int:
    """Where the exchanges with our tool at the end of a record begin; its length if there are none.

    No request of the client has confirmed them.
    """
    end = at = len(recorded)
    while True:
        answered, ours = set[str](), set[str]()
        while at and (ids := _results_in(recorded[at - 1])):
            answered, at = answered | ids, at - 1
        while at and is_by_model(recorded[at - 1]):
            ours, at = ours | _ours_in(recorded[at - 1]), at - 1
        if not answered or not answered <= ours:
            return end
        end = at


def kept_exchange(api: Api, response: Json, answers: Answers) -> list[Json]:
    """What the model said, with all its calls, and the results of ours alone."""
    said: Json = {"role": "assistant", "content": response.get("content")}
    match api.name:
        case "responses":
            all_said = [*response["output"]]
        case "chat":
            all_said = [{"content": None, **response["choices"][0]["message"]}]
        case _:
            all_said = [said]
    results = [each for each in api.exchange(response, answers) if not is_by_model(each)]
    return [*all_said, *results]
