"""What a session's log says: the view now, and how it came about."""

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeGuard, TypeVar
from weakref import WeakKeyDictionary

from context_compression.conversation.authors import HOST_NOTES
from context_compression.conversation.formats import may_be_message, parse
from context_compression.conversation.messages import (
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_array,
    is_object,
)
from context_compression.conversation.refs import is_ref
from context_compression.display.strings import one_line
from context_compression.session.quoting import is_sound, whole
from context_compression.session.savings import Tally
from context_compression.settings import MOST
from context_compression.store import SessionLog

Before: TypeAlias = tuple[list[dict[str, Any]], int, str | None]
"""The view before a compression, the length of that after it, the summary in the system prompt."""

T = TypeVar("T", "State", Tally)

SPOKEN = (Text, Thinking, ToolCall, ToolResult)
"""Blocks that are not pictures, documents or unknown."""
OPTIONS = frozenset(
    ("target_tokens", "strategy", "pins", "focus", "force", "settings", "not_counted")
)
"""What a plan may tell of how a compression was asked for."""
LONGEST_TYPE = 40
"""Characters shown of an event's type that makes no sense."""


@dataclass
class State:
    """What the log says: the view now, and how it came about."""

    recorded: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    view: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    compressions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    refs: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    restored: dict[str, int] = field(default_factory=dict[str, int])
    """tokens, by ref"""
    shares: dict[str, float] = field(default_factory=dict[str, float])
    """how much of what stands under a ref was restored, in all; 1 is all of it, once"""
    warnings: list[str] = field(default_factory=list[str])
    plans: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    answers: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    numbers: set[int] = field(default_factory=lambda: {0})
    tally: Tally = field(default_factory=Tally)
    previews: set[str] = field(default_factory=set[str])
    """hashes of the texts that were put in the place of others"""
    wholes: set[str] = field(default_factory=set[str])
    """refs of others in events of older versions, which do not tell what was put in their place"""
    number: int = 0
    """how many events there are, with those that were passed over"""
    origin: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """where the conversation comes from, if from a file: its `host`, `model` and `window`, and the
    tokens `beside` the messages in each request"""
    summary_in_system: str | None = None
    """of ours in the system prompt; `None` while we know nothing of it"""
    before: list[Before] = field(default_factory=list[Before], repr=False)
    """what each compression was made over, in their order"""

    def replay(self, event: Mapping[str, Any]) -> None:
        """Take one event into account; unknown types are left to those who know them."""
        match event["type"]:
            case "message":
                self.recorded.append(event["message"])
                self.view.append(event["message"])
            case "compression":
                self.numbers.add(event["n"])
                self.compressions.append(dict(event))
                covered = event["messages_in"]
                view = laid_out(event["layout"], self.view)
                system: Mapping[str, str] = event.get("system", {})
                earlier = system.get("before", self.summary_in_system)
                self.before.append((self.view, len(view), earlier))
                self.view = view + self.view[covered:]
                self.summary_in_system = system.get("after", self.summary_in_system)
                self.origin = origin_of(event) or self.origin
                self._learn(event)
            case "undo":
                self.compressions.pop()
                before, length, self.summary_in_system = self.before.pop()
                self.view = before[: event["messages_in"]] + self.view[length:]
            case "rewind":
                self._rewind(event["to"])
            case "restore":
                ref = event["ref"]
                self.restored[ref] = self.restored.get(ref, 0) + event["tokens"]
                self.shares[ref] = self.shares.get(ref, 0) + event.get("share", 1)
            case "offload":
                self._learn(event)
            case "plan":
                self.plans[event["plan_id"]] = dict(event)
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
        """Tokens by which compressions make the view smaller."""
        return sum(c["tokens_before"] - c["tokens_after"] for c in self.compressions)

    @property
    def behind(self) -> int:
        """How many messages were recorded since the last compression."""
        return len(self.view) - self.before[-1][1] if self.before else len(self.recorded)

    def _learn(self, event: Mapping[str, Any]) -> None:
        for ref, about in event.get("refs", {}).items():
            if is_ref(ref):
                self.refs[ref] = {**about, "file": event.get("originals")}
        if is_array(previews := event.get("previews")):
            self.previews.update(ref for ref in previews if isinstance(ref, str))
        else:
            self.wholes.update(event.get("refs", {}))

    def _rewind(self, to: int) -> None:
        gone = len(self.recorded) - to
        if gone <= self.behind:
            self.view = self.view[: len(self.view) - gone]
        else:  # what was compressed is no longer part of the conversation: begin anew from there
            self.view = self.recorded[:to]
            self.summary_in_system = self.before[0][2]
            self.compressions, self.before = [], []
        self.recorded = self.recorded[:to]


@dataclass(frozen=True)
class Replayed:
    """What a log said when it was last asked.

    Attributes:
        state: what its events make together, without what could not be read.
        number: how many they are.
        last: of them the last, the very object.
    """

    state: State = field(default_factory=State)
    number: int = 0
    last: Mapping[str, Any] | None = None

    def begins(self, events: Sequence[Mapping[str, Any]]) -> bool:
        """Whether these are the same events, and perhaps more."""
        if self.number == 0:
            return True
        return self.number <= len(events) and events[self.number - 1] is self.last


_replayed: WeakKeyDictionary[SessionLog, Replayed] = WeakKeyDictionary()


def state_of(log: SessionLog) -> State:
    """What a log says now. Where it only grew, only what is new is replayed.

    The state is the caller's own; the messages and events in it are not.
    """
    events = log.events()
    known = _replayed.get(log, Replayed())
    if not known.begins(events.items):
        known = Replayed()
    if known.number < len(events.items):
        state = _replayed_on(known, events.items)
        known = Replayed(state, len(events.items), events.items[-1])
        _replayed[log] = known
    state = _apart(known.state)
    state.warnings[:0] = events.warnings
    return state


def _replayed_on(known: Replayed, events: Sequence[Mapping[str, Any]]) -> State:
    state = _apart(known.state)
    for number, event in enumerate(events[known.number :], known.number + 1):
        if _makes_sense(event, state):
            state.replay(event)
        else:
            state.number += 1
            kind = one_line(event.get("type"), LONGEST_TYPE)
            state.warnings.append(
                f"events.jsonl: event {number} ({kind}) makes no sense after those before it "
                "and was passed over"
            )
    return state


def _apart(whole: T) -> T:
    """The same with containers of its own; what is in them is the same."""
    own = {each.name: copy(getattr(whole, each.name)) for each in fields(whole)}
    if isinstance(whole, State):
        own["tally"] = _apart(whole.tally)
    return replace(whole, **own)


def _makes_sense(event: Mapping[str, Any], state: State) -> bool:
    """Whether an event has what its type needs and fits the events before it."""
    match event:
        case {"type": "message", "message": message}:
            return may_be_message(message)
        case {"type": "compression", "n": int(), "messages_in": int(covered), "layout": list(),
              "tokens_before": int(), "tokens_after": int(), "compressed": list()}:  # fmt: skip
            said = event.get("system", {})
            whole = is_object(said) and all(isinstance(text, str) for text in said.values())
            fits = 0 <= covered <= len(state.view) and _fits(event, covered)
            fits = fits and _is_over(event, state)
            return (
                whole and fits and _are_refs(event) and isinstance(event.get("originals", ""), str)
            )
        case {"type": "compression" | "message"}:
            return False
        case {"type": "undo"}:
            fits = bool(state.compressions) and isinstance(event.get("messages_in"), int)
            return fits and event.get("n", _last(state)) == _last(state)
        case {"type": "rewind"}:
            to = event.get("to")
            fits = isinstance(to, int) and 0 <= to <= len(state.recorded)
            return fits and _follows(event, state, len(state.recorded))
        case {"type": "restore"}:
            known = isinstance(event.get("ref"), str) and isinstance(event.get("tokens"), int)
            share = event.get("share", 1)
            return known and isinstance(share, int | float) and 0 <= share < math.inf
        case {"type": "offload"}:
            return _are_refs(event)
        case {"type": "plan"}:
            return _is_plan(event)
        case {"type": "answer"}:
            return isinstance(event.get("plan_id"), str) and isinstance(event.get("text"), str)
        case _:
            return isinstance(event.get("type"), str)


def made_in(state: State) -> dict[str, Any]:
    """What a compression's event says of the state it is made in.

    Positions in it count messages. By this a reader sees that one of them was lost, and does not
    apply them to others.
    """
    return {"over": _last(state), "of": len(state.view), "after": state.number}


def _is_over(event: Mapping[str, Any], state: State) -> bool:
    """Whether nothing is missing of the state that a compression was made in."""
    last = _last(state)
    return event.get("over", last) == last and _follows(event, state, len(state.view))


def _last(state: State) -> int:
    """The number of the last compression that counts; 0 where there is none."""
    return state.compressions[-1]["n"] if state.compressions else 0


def _follows(event: Mapping[str, Any], state: State, length: int) -> bool:
    """Whether no event is missing since the state that another one was written in.

    Between the two somebody else may have recorded more.
    """
    of, after = event.get("of", length), event.get("after", state.number)
    if not (isinstance(of, int) and isinstance(after, int)):
        return False
    return after <= state.number and of <= length <= of + state.number - after


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _are_refs(event: Mapping[str, Any]) -> bool:
    refs = event.get("refs", {})
    return is_object(refs) and all(
        is_object(about)
        and isinstance(about.get("what"), str)
        and all(isinstance(about.get(name, ""), int | None) for name in ("message", "block"))
        for about in refs.values()
    )


def _is_plan(event: Mapping[str, Any]) -> bool:
    match event:
        case {"plan_id": str(), "created_at": str(at), "covered": str(), "messages_in": int(),
              "options": options}:  # fmt: skip
            known = _is_time(at) and is_object(options) and options.keys() <= OPTIONS
            whole = known and is_object(options.get("settings", {}))
            return whole and isinstance(options.get("focus", ""), str | None)
        case _:
            return False


def _fits(event: Mapping[str, Any], covered: int) -> bool:
    """Whether a layout names messages that are there."""
    for part in event["layout"]:
        if is_object(part) and is_sound(part, covered):
            continue
        if not (is_array(part) and len(part) == 2 and all(isinstance(n, int) for n in part)):
            return False
        if not 0 <= part[0] <= part[1] <= covered:
            return False
    return True


def new_messages(
    state: State, messages: Sequence[Mapping[str, Any]], *, anew: bool = False
) -> list[dict[str, Any]]:
    """The events that bring our record up to a conversation that somebody else keeps.

    With `anew`, compressions which they did not take over are undone first: the same conversation
    then gives the same view, however often it was compressed before.

    Raises:
        InvalidConversation: not messages in a format we know.
    """
    conversation = parse(messages)
    messages, theirs = conversation.raw, conversation.messages
    now = timestamp()
    events: list[dict[str, Any]] = []
    if state.view and hold(theirs, parse(state.view).messages):
        shared = len(state.view)
    else:
        if anew:
            events += (undoing(last, now) for last in reversed(state.compressions))
        recorded = state.recorded
        shared = next(
            (i for i, (a, b) in enumerate(zip(recorded, messages, strict=False)) if a != b),
            min(len(recorded), len(messages)),
        )
        if shared < len(recorded):
            of = len(recorded)
            after = state.number + len(events)
            rewind = {"type": "rewind", "created_at": now, "to": shared, "of": of}
            events.append({**rewind, "after": after})
    events += (
        {"type": "message", "created_at": now, "message": dict(m)} for m in messages[shared:]
    )
    return events


def is_another_conversation(state: State, messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a conversation begins with other words than ours, and did not take our view over.

    Raises:
        InvalidConversation: not messages in a format we know.
    """
    conversation = parse(messages)
    if not state.recorded or first_messages(conversation.raw) == first_messages(state.recorded):
        return False
    return not hold(conversation.messages, parse(state.view).messages)


def first_messages(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The messages up to the first one of the user's."""
    users = (i for i, m in enumerate(messages) if is_object(m) and m.get("role") == "user")
    first = next(users, 0)
    return [*messages[: first + 1]]


def hold(theirs: Sequence[Message], view: Sequence[Message]) -> bool:
    """Whether they took our view over, however they spell it."""
    return len(theirs) >= len(view) and all(map(_holds, theirs, view))


def _holds(their: Message, ours: Message) -> bool:
    """Hosts put notes into a message, join its texts, and may drop thinking and pictures."""
    shown = [b for b in ours.blocks if not isinstance(b, SPOKEN)]
    same = [b for b in their.blocks if not isinstance(b, SPOKEN)] in ([], shown)
    return same and _said(their) == _said(ours)


def _said(message: Message) -> tuple[Any, ...]:
    texts = [block.text for block in message.blocks if isinstance(block, Text)]
    texts = [text for text in texts if not text.lstrip().startswith(HOST_NOTES)]
    results = [(result.call_id, result.text, result.is_error) for result in message.results]
    return message.role, "\n".join(texts), message.calls, results


def origin_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an event tells of where its conversation comes from, as far as that can be so."""
    match event.get("origin"):
        case {"host": str(host), "window": window, "model": model, "beside": beside}:
            return {
                "host": host,
                "window": window if _is_number(window) and window > 0 else None,
                "model": model if isinstance(model, str) else None,
                "beside": beside if _is_number(beside) else 0,
            }
        case _:
            return {}


def _is_number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST


def rewinds(events: Iterable[Mapping[str, Any]]) -> bool:
    """Whether events take back something recorded."""
    return any(event["type"] == "rewind" for event in events)


def undoing(compression: Mapping[str, Any], now: str) -> dict[str, Any]:
    """The event that takes a compression back."""
    covered = {key: compression[key] for key in ("n", "messages_in")}
    return {"type": "undo", "created_at": now, **covered}


def laid_out(layout: Sequence[Any], view: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The view a layout makes of an earlier one."""
    messages: list[dict[str, Any]] = []
    for part in layout:
        if is_object(part):
            messages.append(whole(part, view))
        else:
            messages += view[part[0] : part[1]]
    return messages


def age_of(event: Mapping[str, Any]) -> float:
    """Seconds since an event; endless where it does not say when that was."""
    try:
        at = datetime.fromisoformat(event["created_at"])
        return (datetime.now(UTC) - at).total_seconds()
    except (KeyError, TypeError, ValueError):
        return math.inf


def timestamp() -> str:
    """Now, in UTC, ISO 8601 to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
