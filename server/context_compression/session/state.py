"""`State`: the content of a session's log, event by event: the view now, and how it was made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from context_compression.conversation.messages import is_array
from context_compression.conversation.refs import is_ref
from context_compression.session.layouts import apply_layout, apply_to_origins
from context_compression.session.log_events import origin_of
from context_compression.session.savings import Tally

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
        wholes: refs in events of older versions, which do not list their previews.
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
    wholes: set[str] = field(default_factory=set[str])
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
                self._rewind(event["to"], cuts=bool(event.get("cuts")))
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
        else:
            self.wholes.update(event.get("refs", {}))

    def _add_preview(self, event: Mapping[str, Any]) -> None:
        """Count the preview of a result that came in, if the event is of one."""
        match event:
            case {"tool": str(tool), "question": str(question), "of": str(ref)}:
                self.shortened[ref] = tool
                self.questions.add(question)
                self.previews_of[tool] = self.previews_of.get(tool, 0) + 1
            case _:
                pass

    def _rewind(self, to: int, *, cuts: bool) -> None:
        """Remove the messages from `to` on.

        Args:
            to: how many messages stay.
            cuts: whether compressions stay that left the removed messages as they were. Events of
                older versions end all compressions that covered one.
        """
        gone, length = len(self.recorded) - to, len(self.view) - self.behind
        fits = gone <= self.behind
        if cuts:
            fits = may_cut(self.view, self.origins, length, self.recorded, to)
        if fits:
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
