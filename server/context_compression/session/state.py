"""`State`: the view of a log now, how it was made, and what its compressions saved."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from context_compression.conversation.messages import is_array, is_by_model, is_object
from context_compression.conversation.refs import is_ref
from context_compression.session.events import (
    apply_layout,
    apply_to_origins,
    makes_sense,
    origin_of,
)
from context_compression.store import SessionLog
from context_compression.strings import one_line
from context_compression.tokens import family_of

SCHEMAS = 1_000
"""o200k tokens of our tools' definitions and instructions; a test keeps it within 5 % of the count.
"""
OWN_TOOL = re.compile(r"(^|_)context_(status|compress|config|summary|offload|restore)$")
"""Matches our tools, with any prefix a host adds to their names: `mcp__ctx__context_status`."""


@dataclass(frozen=True)
class Savings:
    """Tokens that a conversation's requests did not have to send, and tokens spent for that.

    Attributes:
        per_request: by how many tokens the next request is smaller.
        requests: how many requests were answered so far.
        kept_out: tokens that those requests would have sent in addition.
        brought_back: tokens that restores added to them.
        summaries: tokens of the calls that wrote summaries.
        cost: of those calls in US dollars, if prices are known.
        schemas: tokens of our tools' definitions in each request; 0 if it has none.
    """

    per_request: int = 0
    requests: int = 0
    kept_out: int = 0
    brought_back: int = 0
    summaries: int = 0
    cost: float = 0.0
    schemas: int = 0

    @property
    def schemas_sent(self) -> int:
        """Tokens of our tools' definitions in all requests."""
        return self.schemas * self.requests

    @property
    def net(self) -> int:
        """Total tokens saved; negative if compression cost more than it saved."""
        return self.kept_out - self.brought_back - self.summaries - self.schemas_sent

    @property
    def unsent(self) -> bool:
        """Whether no request was sent since tokens were freed, so that nothing is saved yet."""
        return self.per_request > 0 and not self.kept_out

    def as_answer(self) -> dict[str, int]:
        """The tokens by name, as answers show them: without zeros, except for `net`."""
        tokens_by_name = {
            "fewer_per_request": max(0, self.per_request),
            "kept_out": self.kept_out,
            "brought_back": self.brought_back,
            "spent_on_summaries": self.summaries,
            "spent_on_schemas": self.schemas_sent,
        }
        nonzero = {name: tokens for name, tokens in tokens_by_name.items() if tokens}
        return nonzero | {"net": self.net}

    def offering_tools(self, model: str | None) -> "Savings":
        """The same savings for a conversation whose requests offer our tools to `model`."""
        return replace(self, schemas=round(SCHEMAS * family_of(model).factor))


@dataclass
class Tally:
    """Adds up a session's log, event by event.

    Attributes:
        requests: how many requests were answered.
        kept_out: as in `Savings`.
        brought_back: as in `Savings`.
        restored: tokens that were restored, once each.
        summaries: as in `Savings`.
        cost: as in `Savings`.
        outside: tokens that a host's hook kept out, by the id of the tool call.
        at_source: the sum of `outside` over the calls whose tool results were recorded.
        answering: whether the last message was the model's.
        called: whether an agent called one of our tools, so that its requests offer them.
        by_caller: summaries that an agent wrote itself, in a call whose size we do not know.
    """

    requests: int = 0
    kept_out: int = 0
    brought_back: int = 0
    restored: int = 0
    summaries: int = 0
    cost: float = 0.0
    outside: dict[str, int] = field(default_factory=dict[str, int])
    at_source: int = 0
    answering: bool = False
    called: bool = False
    by_caller: list[str] = field(default_factory=list[str])

    def take(self, event: Mapping[str, Any], freed: int) -> None:
        """Add one event; `freed` is how many tokens compressions free in the view after it."""
        match event:
            case {"type": "message", "message": message} if is_object(message):
                self._take_message(message, freed)
            case {"type": "shortened", "message": message} if is_object(message):
                self.at_source += sum(self.outside.get(call, 0) for call in _answered(message))
            case {"type": "rewind"}:  # messages that are still in the history are recorded again
                self.at_source = 0
            case {"type": "offload", "call": str(call), "tokens_freed": int(tokens)}:
                self.outside[call] = tokens
            case {"type": "restore", "tokens": int(tokens)}:
                self.restored += tokens
            case {"type": "compression", "summary": str(text)}:
                spent = _number(event, "input_tokens") + _number(event, "output_tokens")
                self.summaries += int(spent)
                self.cost += _number(event, "cost")
                if not spent:
                    self.by_caller.append(text)
            case _:
                pass

    def _take_message(self, message: Mapping[str, Any], freed: int) -> None:
        """Count a message of the model as the answer to a request.

        Consecutive items without a role, as in OpenAI Responses, are one answer.
        """
        if not is_by_model(message):
            self.answering = False
            if self.outside:
                self.at_source += sum(self.outside.get(call, 0) for call in _answered(message))
            return
        self.called = self.called or any(map(OWN_TOOL.search, _calls(message)))
        if not self.answering or "role" in message:
            self.requests += 1
            self.kept_out += freed + self.at_source
            self.brought_back += self.restored
        self.answering = True

    def savings(self, freed: int, count: Callable[[str], int], model: str | None = None) -> Savings:
        """The sums of all events.

        Args:
            freed: tokens that compressions free in the view now.
            count: counts the tokens of a text.
            model: the model in whose tokens our tools' definitions are counted.
        """
        sums = Savings(
            per_request=freed + self.at_source - self.restored,
            requests=self.requests,
            kept_out=self.kept_out,
            brought_back=self.brought_back,
            summaries=self.summaries + sum(map(count, self.by_caller)),
            cost=self.cost,
        )
        return sums.offering_tools(model) if self.called else sums


def _calls(message: Mapping[str, Any]) -> Iterator[str]:
    """The names of the tools that a message calls, in any dialect."""
    yield str(message.get("name", ""))
    for key in ("content", "tool_calls", "parts"):
        blocks = message.get(key)
        if not is_array(blocks):
            continue
        for block in filter(is_object, blocks):
            inner = (
                block.get(of) for of in ("function", "functionCall", "function_call", "toolUse")
            )
            for call in filter(is_object, (block, *inner)):
                yield str(call.get("name", call.get("toolName", "")))


def _answered(message: Mapping[str, Any]) -> Iterator[str]:
    """The ids of the calls that a message answers, in Anthropic's dialect, which hosts use."""
    content = message.get("content")
    for block in filter(is_object, content) if is_array(content) else ():
        yield str(block.get("tool_use_id", ""))


def _number(event: Mapping[str, Any], name: str) -> float:
    """A finite number of an event; 0 if the event has none under that name."""
    value = event.get(name)
    return value if isinstance(value, int | float) and abs(value) < math.inf else 0


# `State`: the content of a session's log, event by event: the view now, and how it was made.


Before: TypeAlias = tuple[list[dict[str, Any]], int, str | None]
"""The view before a compression, the length of the view after it, the summary in the system prompt.
"""


@dataclass
class State:
    """The state after some events of a log.

    Attributes:
        recorded: all messages of the conversation, as they came.
        recorded_at: when each of them was recorded.
        view: the messages to send to the model now.
        compressions: the events of the compressions that count, the oldest first.
        refs: the archived originals, by ref: `what`, `message`, `block`, `file`, and so on.
        restored: how many tokens were restored, by ref.
        shares: the total share of an original that was restored, by ref; 1 is all of it, once.
        warnings: for the user: events that were skipped.
        plans: the events of plans for a summary that the caller writes, by plan id.
        answers: the summaries that the caller wrote, by plan id.
        numbers: of all compressions ever made, and 0.
        tally: what compressions saved so far.
        previews: hashes of the texts that replaced others.
        shortened: the tools whose results came in as previews, by the ref of the original.
        questions: hashes of the calls that were answered with such a preview.
        previews_of: how many such previews there were, by tool.
        previews_restored: of how many of them the original was restored, by tool.
        number: how many events there are, including skipped ones.
        origin: where the conversation comes from, if from a file: its `host`, `model` and `window`,
            and in `beside` the tokens outside the messages in each request.
        summary_in_system: our summary in the system prompt; `None` if none is known.
        before: what each compression was applied to, in their order.
        origins: for each message of the view the index of its original in `recorded`; `None` for a
            message that a compression made.
        origins_before: the origins that each compression was applied to, in their order.
    """

    recorded: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    recorded_at: list[str] = field(default_factory=list[str])
    view: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    compressions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    refs: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    restored: dict[str, int] = field(default_factory=dict[str, int])
    shares: dict[str, float] = field(default_factory=dict[str, float])
    warnings: list[str] = field(default_factory=list[str])
    plans: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    answers: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    numbers: set[int] = field(default_factory=lambda: {0})
    tally: Tally = field(default_factory=Tally)
    previews: set[str] = field(default_factory=set[str])
    shortened: dict[str, str] = field(default_factory=dict[str, str])
    questions: set[str] = field(default_factory=set[str])
    previews_of: dict[str, int] = field(default_factory=dict[str, int])
    previews_restored: dict[str, int] = field(default_factory=dict[str, int])
    number: int = 0
    origin: Mapping[str, Any] = field(default_factory=dict[str, Any])
    summary_in_system: str | None = None
    before: list[Before] = field(default_factory=list[Before], repr=False)
    origins: list[int | None] = field(default_factory=list["int | None"], repr=False)
    origins_before: list[list[int | None]] = field(
        default_factory=list["list[int | None]"], repr=False
    )

    def replay(self, event: Mapping[str, Any]) -> None:
        """Apply one event that makes sense here; unknown types change nothing."""
        match event["type"]:
            case "message":
                self.origins.append(len(self.recorded))
                self.recorded.append(event["message"])
                self.recorded_at.append(event.get("created_at", ""))
                self.view.append(event["message"])
            case "compression":
                self._compress(event)
            case "undo":
                self.compressions.pop()
                before, length, self.summary_in_system = self.before.pop()
                covered = event["messages_in"]
                self.view = before[:covered] + self.view[length:]
                self.origins = self.origins_before.pop()[:covered] + self.origins[length:]
            case "rewind":
                self._rewind(event["to"])
            case "restore":
                ref = event["ref"]
                tool = self.shortened.get(ref)
                if tool is not None and ref not in self.restored:
                    self.previews_restored[tool] = self.previews_restored.get(tool, 0) + 1
                self.restored[ref] = self.restored.get(ref, 0) + event["tokens"]
                self.shares[ref] = self.shares.get(ref, 0) + event.get("share", 1)
            case "offload":
                self._add_refs(event)
                self._add_preview(event)
            case "shortened":
                if event["index"] in self.origins:
                    self.view[self.origins.index(event["index"])] = event["message"]
            case "plan":
                self.plans[event["plan_id"]] = dict(event)
                self.origin = origin_of(event) or self.origin
            case "origin":
                self.origin = origin_of(event) or self.origin
            case "answer":
                given = self.answers.get(event["plan_id"], ())
                self.answers[event["plan_id"]] = [*given, event["text"]]
            case _:
                pass
        self.number += 1
        self.tally.take(event, self.freed)

    @property
    def freed(self) -> int:
        """By how many tokens compressions make the view smaller."""
        return sum(c["tokens_before"] - c["tokens_after"] for c in self.compressions)

    @property
    def behind(self) -> int:
        """How many messages were recorded since the last compression."""
        return len(self.view) - self.before[-1][1] if self.before else len(self.recorded)

    def recorded_index(self, place: int) -> int:
        """The index in `recorded` of the first original in the view at or after a position."""
        known = (index for index in self.origins[place:] if index is not None)
        return next(known, len(self.recorded))

    def recorded_span(self, first: int, last: int) -> tuple[int, int]:
        """The indices in `recorded` of the first and the last original of messages in the view."""
        before = (index for index in reversed(self.origins[:first]) if index is not None)
        at = self.origins[first]
        start = next(before, -1) + 1 if at is None else at
        return start, max(start, self.recorded_index(last + 1) - 1)

    def _compress(self, event: Mapping[str, Any]) -> None:
        self.numbers.add(event["n"])
        self.compressions.append(dict(event))
        covered = event["messages_in"]
        view = apply_layout(event["layout"], self.view)
        system: Mapping[str, str] = event.get("system", {})
        earlier = system.get("before", self.summary_in_system)
        self.before.append((self.view, len(view), earlier))
        self.view = view + self.view[covered:]
        origins = apply_to_origins(event["layout"], self.origins, covered)
        self.origins_before.append(self.origins)
        self.origins = origins + self.origins[covered:]
        self.summary_in_system = system.get("after", self.summary_in_system)
        self.origin = origin_of(event) or self.origin
        self._add_refs(event)

    def _add_refs(self, event: Mapping[str, Any]) -> None:
        for ref, about in event.get("refs", {}).items():
            if is_ref(ref):
                self.refs[ref] = {**about, "file": event.get("originals")}
        if is_array(previews := event.get("previews")):
            self.previews.update(ref for ref in previews if isinstance(ref, str))

    def _add_preview(self, event: Mapping[str, Any]) -> None:
        """Count the preview of a result that came in, if the event is of one."""
        match event:
            case {"tool": str(tool), "question": str(question), "of": str(ref)}:
                self.shortened[ref] = tool
                self.questions.add(question)
                self.previews_of[tool] = self.previews_of.get(tool, 0) + 1
            case _:
                pass

    def _rewind(self, to: int) -> None:
        """Remove the messages from `to` on; compressions stay that left those as they were."""
        gone, length = len(self.recorded) - to, len(self.view) - self.behind
        if may_cut(self.view, self.origins, length, self.recorded, to):
            self.view = self.view[: len(self.view) - gone]
            self.origins = self.origins[: len(self.view)]
            self._end_compressions_at(len(self.view), to)
        else:  # the compressed messages are no longer part of the conversation
            self.view = self.recorded[:to]
            self.summary_in_system = self.before[0][2]
            self.compressions, self.before = [], []
            self.origins, self.origins_before = [*range(to)], []
        self.recorded, self.recorded_at = self.recorded[:to], self.recorded_at[:to]

    def _end_compressions_at(self, end: int, to: int) -> None:
        """Let compressions cover only what is left.

        Args:
            end: the length of the view.
            to: the length of the record.
        """
        for at in reversed(range(len(self.compressions))):
            before, length, system = self.before[at]
            if length <= end:
                return
            event, origins = self.compressions[at], self.origins_before[at]
            of_gone = {*range(to, len(self.recorded))}
            covered = range(event["messages_in"])
            left = next((n for n in covered if origins[n] in of_gone), len(covered))
            self.compressions[at] = {**event, "messages_in": left}
            self.before[at] = before[:left], end, system
            self.origins_before[at] = origins[:left]
            end = left


def may_cut(
    view: Sequence[Any],
    origins: Sequence[int | None],
    length: int,
    recorded: Sequence[Any],
    to: int,
) -> bool:
    """Whether the messages from `to` on can be cut from a view, and its compressions stay.

    Args:
        view: of all messages.
        origins: see `State`.
        length: of the view after its last compression, which must have left those messages alone.
        recorded: all messages.
        to: how many of them stay.
    """
    start = len(view) - (len(recorded) - to)
    if start > length:
        return True
    before = max(0, start - 1)  # what comes next must go on from the same message
    if (
        start < 0
        or start == 0 < to
        or [*origins[before:]] != [*range(to - start + before, len(recorded))]
    ):
        return False
    untouched = view[start:length]
    return untouched == recorded[to : to + len(untouched)]


# The state of a log. Its events are replayed; while the log only grows, each is replayed once.


LONGEST_TYPE = 40
"""How many characters of the type of a skipped event are shown."""

T = TypeVar("T", State, Tally)


_replayed: WeakKeyDictionary[SessionLog, tuple[State, int, Mapping[str, Any] | None]] = (
    WeakKeyDictionary()
)
"""The state after the events of a log that were replayed, their number, and the last of them."""


def state_of(log: SessionLog) -> State:
    """The state after all events of a log; if the log only grew, only new events are replayed.

    The state belongs to the caller; the messages and events in it must not be changed.
    """
    events = log.events()
    state, known, last = _replayed.get(log, (State(), 0, None))
    if known > len(events.items) or (known and events.items[known - 1] is not last):
        state, known = State(), 0
    if known < len(events.items):
        state = _continued(state, known, events.items)
        _replayed[log] = state, len(events.items), events.items[-1]
    state = _with_own_containers(state)
    state.warnings[:0] = events.warnings
    return state


def _continued(before: State, known: int, events: Sequence[Mapping[str, Any]]) -> State:
    """The state after all events, from that after the first `known` ones."""
    state = _with_own_containers(before)
    for number, event in enumerate(events[known:], known + 1):
        if makes_sense(event, state):
            state.replay(event)
        else:
            state.number += 1
            kind = one_line(event.get("type"), LONGEST_TYPE)
            state.warnings.append(
                f"events.jsonl: event {number} ({kind}) makes no sense after those before it "
                "and was passed over"
            )
    return state


def _with_own_containers(original: T) -> T:
    """A copy that can be changed; the items in its lists, dicts and sets are the same objects."""
    copies = {each.name: copy(getattr(original, each.name)) for each in fields(original)}
    if isinstance(original, State):
        copies["tally"] = _with_own_containers(original.tally)
    return replace(original, **copies)
