"""One conversation on disk: record it, view it, compress it, bring anything back, undo.

The log only grows. A view is what replaying it gives: messages as recorded, and each compression's
layout over the view of its time. So an undo is one more line, and nothing is ever rewritten.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from time import monotonic
from typing import Any

import regex

from context_compression.compress import compress
from context_compression.errors import NothingToUndo, StoreDamaged, StoreError, UnknownRef
from context_compression.formats import parse
from context_compression.messages import COMPRESSED, Text, ToolResult
from context_compression.plan import Archive, canonical, ref_of
from context_compression.result import Result
from context_compression.settings import Settings
from context_compression.store import SessionLog, Store
from context_compression.tokens import Anchor, Counter, TextCounter, anchored
from context_compression.usage import Item, Usage, breakdown, for_model, largest, usage

NO_LINE = "no line matches"
PATTERN_SECONDS = 2.0
"""How long one search with a pattern may take; patterns come from models."""


@dataclass
class State:
    """What the log says: the view now, and how it came about."""

    recorded: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    view: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    compressions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    refs: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    restored: dict[str, int] = field(default_factory=dict[str, int])
    warnings: list[str] = field(default_factory=list[str])
    made: int = 0
    _before: list[tuple[list[dict[str, Any]], int]] = field(
        default_factory=list[tuple[list[dict[str, Any]], int]], repr=False
    )

    def replay(self, event: Mapping[str, Any]) -> None:
        """Take one event into account; unknown types are left to those who know them."""
        match event["type"]:
            case "message":
                self.recorded.append(event["message"])
                self.view.append(event["message"])
            case "compression":
                self.made = event["n"]
                self.compressions.append(dict(event))
                covered = event["messages_in"]
                view = laid_out(event["layout"], self.view)
                self._before.append((self.view, len(view)))
                self.view = view + self.view[covered:]
                self._learn(event)
            case "undo":
                self.compressions.pop()
                before, length = self._before.pop()
                self.view = before[: event["messages_in"]] + self.view[length:]
            case "rewind":
                self._rewind(event["to"])
            case "restore":
                self.restored[event["ref"]] = self.restored.get(event["ref"], 0) + event["tokens"]
            case "offload":
                self._learn(event)
            case _:
                pass

    @property
    def behind(self) -> int:
        """How many messages were recorded since the last compression."""
        return len(self.view) - self._before[-1][1] if self._before else len(self.recorded)

    def _learn(self, event: Mapping[str, Any]) -> None:
        for ref, about in event.get("refs", {}).items():
            self.refs.setdefault(ref, {**about, "file": event.get("originals")})

    def _rewind(self, to: int) -> None:
        gone = len(self.recorded) - to
        if gone <= self.behind:
            self.view = self.view[: len(self.view) - gone]
        else:  # what was compressed is no longer part of the conversation: begin anew from there
            self.view = self.recorded[:to]
            self.compressions, self._before = [], []
        self.recorded = self.recorded[:to]


def _state_of(log: SessionLog) -> State:
    events = log.events()
    state = State(warnings=list(events.warnings))
    for event in events.items:
        state.replay(event)
    return state


def _news(
    state: State, messages: Sequence[Mapping[str, Any]], *, anew: bool = False
) -> list[dict[str, Any]]:
    """The events that bring our record up to a conversation that somebody else keeps.

    With `anew`, compressions which they did not take over are undone first: the same conversation
    then gives the same view, however often it was compressed before.

    Raises:
        InvalidConversation: not messages in a format we know.
    """
    parse(messages)
    now = _now()
    events: list[dict[str, Any]] = []
    if state.view and list(messages[: len(state.view)]) == state.view:  # they hold our view
        shared = len(state.view)
    else:
        if anew:
            events += (_undoing(last, now) for last in reversed(state.compressions))
        recorded = state.recorded
        shared = next(
            (i for i, (a, b) in enumerate(zip(recorded, messages, strict=False)) if a != b),
            min(len(recorded), len(messages)),
        )
        if shared < len(recorded):
            events.append({"type": "rewind", "created_at": now, "to": shared})
    events += (
        {"type": "message", "created_at": now, "message": dict(m)} for m in messages[shared:]
    )
    return events


def _undoing(compression: Mapping[str, Any], now: str) -> dict[str, Any]:
    """The event that takes a compression back."""
    covered = {key: compression[key] for key in ("n", "messages_in")}
    return {"type": "undo", "created_at": now, **covered}


def _original(about: Mapping[str, Any], read: Callable[[str], list[Any]]) -> Any:
    """What the log says a ref stands for: a text, or a message as it came."""
    if about.get("text") is not None:
        return about["text"]
    message = read(about["file"])[about["message"]]
    return message if about["block"] is None else _text_in(message, about["block"])


def laid_out(layout: Sequence[Any], view: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The view a layout makes of an earlier one."""
    messages: list[dict[str, Any]] = []
    for part in layout:
        if isinstance(part, dict):
            messages.append(part)  # pyright: ignore[reportUnknownArgumentType]  # a message
        else:
            messages += view[part[0] : part[1]]
    return messages


@dataclass(frozen=True)
class Status:
    """How a conversation stands.

    Attributes:
        usage: how full its context is.
        messages: how many the view has.
        messages_recorded: how many were recorded.
        messages_compressed: how many of those are not in the view as they came.
        tokens_saved: freed by compressions, less what was restored.
        breakdown: tokens by kind of content.
        largest: the blocks that take up most.
        could_free: tokens offload and truncate would free, asked for by hand.
        refs: what was archived, by ref, newest last.
        warnings: torn lines and the like.
    """

    usage: Usage
    messages: int
    messages_recorded: int
    messages_compressed: int
    compressions: int
    tokens_saved: int
    breakdown: Mapping[str, int]
    largest: Sequence[Item]
    could_free: int
    refs: Mapping[str, str]
    warnings: Sequence[str]


class Session:
    """One conversation in a store.

    Args:
        store: a `Store`, or the path of its folder.
        id: letters, digits, `.`, `_`, `-`.
        settings: a `Settings`, or some of its values.
        model: whose tokens and window count.
        system: the system prompt, where it is given beside the messages.
        tools: the tool definitions.
        counter: the caller's own way to count.
    """

    def __init__(
        self,
        store: Store | str | Path,
        id: str,
        *,
        settings: Settings | Mapping[str, Any] | None = None,
        model: str | None = None,
        system: Any = None,
        tools: Any = None,
        counter: TextCounter | None = None,
    ) -> None:
        self.store = store if isinstance(store, Store) else Store(store)
        self.id = id
        self.model, self.system, self.tools, self.counter = model, system, tools, counter
        self.settings = for_model(settings, model)
        self._log = self.store.session(id)

    def record(self, *messages: Mapping[str, Any]) -> None:
        """Add messages to the conversation; they are on disk when this returns.

        Raises:
            InvalidConversation: not messages in a format we know; nothing was recorded.
        """
        parse(messages)
        now = _now()
        self._log.append(
            *({"type": "message", "created_at": now, "message": dict(m)} for m in messages)
        )

    def follow(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Bring the record up to a conversation that somebody else keeps, such as a transcript.

        What is new is recorded; where the other's history was changed, ours is rewound to the last
        message both have.
        """
        self._log.append(*_news(self.state(), messages))

    def view(self, messages: Sequence[Mapping[str, Any]] | None = None) -> list[dict[str, Any]]:
        """The messages that the model would be sent now.

        Given the conversation as somebody else keeps it: the view that `follow` would lead to.
        """
        state = self.state()
        for event in [] if messages is None else _news(state, messages):
            state.replay(event)
        return state.view

    def prepare(self) -> list[dict[str, Any]]:
        """The view for the next request, compressed first if that is due and `auto_compress` on.

        Raises:
            ContextCompressionError: as `compress`.
        """
        if self.settings.auto_compress:
            self.compress()
        return self.view()

    def compress(
        self,
        *,
        messages: Sequence[Mapping[str, Any]] | None = None,
        target_tokens: int | None = None,
        strategy: str = "auto",
        pins: Sequence[int | str] = (),
        focus: str | None = None,
        force: bool = False,
        settings: Settings | Mapping[str, Any] | None = None,
        before_writing: Callable[[], object] = lambda: None,
    ) -> Result:
        """Compress the view; the originals are on disk before it changes.

        One compression at a time, over all processes; messages recorded meanwhile are kept. Given
        the `messages` of a conversation somebody else keeps, it first does what `follow` does, but
        writes that down together with the compression. `before_writing` is called before anything
        is written; what it raises leaves all as it was.

        Raises:
            ContextCompressionError: as `compress`; the conversation is as it was.
        """
        with self._log.locked():
            state = self.state()
            news = [] if messages is None else _news(state, messages, anew=True)
            for event in news:
                state.replay(event)
            return compress(
                state.view,
                target_tokens=target_tokens,
                system=self.system,
                tools=self.tools,
                model=self.model,
                counter=self.counter,
                strategy=strategy,
                pins=pins,
                focus=focus,
                force=force,
                settings=self._settings(settings),
                store=_Archiver(self._log, self.store, state, news, before_writing),
            )

    def preview(
        self, messages: Sequence[Mapping[str, Any]] | None = None, **options: Any
    ) -> Result:
        """What `compress` would do to the view, or to `messages`, without doing it."""
        settings = self._settings(options.pop("settings", None))
        state = self.state()
        return compress(
            state.view if messages is None else messages,
            system=self.system,
            tools=self.tools,
            model=self.model,
            counter=self.counter,
            settings=settings,
            store=_Rehearsal(_promises(self._log, state)),
            **options,
        )

    def _settings(self, given: Settings | Mapping[str, Any] | None) -> Settings:
        """The session's settings, some of them changed for one call, or others altogether."""
        if isinstance(given, Settings):
            return given
        return self.settings.changed(given) if given else self.settings

    def compress_loop(self, start: int, *, target_tokens: int | None = None) -> Result:
        """Compress what lies before a running tool loop; the loop's own steps are left alone.

        Args:
            start: index in the view of the loop's first message; negative counts from the end.
            target_tokens: for the whole view; without it as `compress`.
        """
        view = self.view()
        pins = range(len(view))[start:]
        return self.compress(target_tokens=target_tokens, pins=tuple(pins))

    def restore(
        self,
        ref: str,
        *,
        lines: tuple[int, int] | None = None,
        pattern: str | None = None,
        note: bool = True,
    ) -> str:
        """What was archived under a ref, byte for byte; or some of its lines.

        Args:
            ref: at least its first four digits.
            lines: first and last line, from 1, both included.
            pattern: only lines in which this regular expression is found, with their numbers.
            note: write down that it was restored, so that it is not offloaded again.

        Raises:
            UnknownRef: nothing is archived under this ref.
            StoreDamaged: the archive does not hold what the ref says.
            StoreError: an impossible range or pattern.
        """
        full = self._log.full_ref(ref)
        if full is None:
            known = ", ".join(list(self.state().refs)[-5:]) or "none yet"
            raise UnknownRef(f"Nothing is archived under {ref!r} here. The newest refs: {known}.")
        text = as_text(self.original(full))
        shown = select(text, lines, pattern)
        if note:
            self.note_restored(full, shown)
        return shown

    def note_restored(self, ref: str, shown: str) -> None:
        """Write down how much of a (full) ref was brought back, so that it is not offloaded again.

        For those who show a part of what `restore(note=False)` gave them.
        """
        tokens = Counter(self.model, self.counter).text(shown)
        event = {"type": "restore", "created_at": _now(), "ref": ref, "tokens": tokens}
        self._log.append(event)

    def original(self, ref: str) -> Any:
        """What was archived under a full ref: a text, or a message as it came."""
        about = self.state().refs.get(ref)
        if about is None:
            raise UnknownRef(f"Nothing is archived under {ref!r}.")
        original = _original(about, self._log.read_originals)
        if ref_of(original) != ref:
            raise StoreDamaged(
                f"{self._log.folder} does not hold what ref {ref} stands for; the file was changed."
            )
        return original

    def archived(self) -> Iterator[tuple[str, str, Any]]:
        """All that is archived here, the oldest first: ref, what it is, and the original.

        Raises:
            StoreDamaged: a file of originals cannot be read.
        """
        read = cache(self._log.read_originals)
        for ref, about in self.state().refs.items():
            yield ref, about["what"], _original(about, read)

    def offload(self, text: str, *, what: str = "text") -> str:
        """Move a text to the archive; returns its ref."""
        ref = ref_of(text)
        if self._log.full_ref(ref) is None:
            about = {"what": what, "text": text, "message": None, "block": None}
            self._log.write_offloaded(ref, text)
            self._log.append({"type": "offload", "created_at": _now(), "refs": {ref: about}})
        return ref

    def undo(self) -> list[dict[str, Any]]:
        """Take the last compression back; returns the view, with all recorded since.

        Raises:
            NothingToUndo: there is none.
        """
        with self._log.locked():
            state = self.state()
            if not state.compressions:
                raise NothingToUndo(f"{self.id} has no compression to undo.")
            self._log.append(_undoing(state.compressions[-1], _now()))
        return self.view()

    def status(
        self,
        messages: Sequence[Mapping[str, Any]] | None = None,
        anchor: Anchor | None = None,
    ) -> Status:
        """How the conversation stands; nothing is written.

        Args:
            messages: what is really in the context, where a host keeps the history and not we.
            anchor: what a provider really charged for a first part of them.
        """
        state = self.state()
        shown = state.view if messages is None else messages
        counter = Counter(self.model, self.counter)
        parsed = parse(shown).messages
        used = usage(
            shown, system=self.system, tools=self.tools, model=self.model,
            counter=self.counter, settings=self.settings,
        )  # fmt: skip
        if anchor:
            tokens = anchored(counter, parsed, anchor)
            used = Usage(tokens, used.total_budget, used.threshold_tokens)
        freed = sum(c["tokens_before"] - c["tokens_after"] for c in state.compressions)
        plain = self.preview(shown, strategy="offload", force=True)
        return Status(
            usage=used,
            messages=len(shown),
            messages_recorded=len(state.recorded),
            messages_compressed=sum(len(c["compressed"]) for c in state.compressions),
            compressions=len(state.compressions),
            tokens_saved=freed - sum(state.restored.values()),
            breakdown=breakdown(parsed, counter),
            largest=largest(parsed, counter),
            could_free=plain.tokens_freed,
            refs={ref: about["what"] for ref, about in state.refs.items()},
            warnings=state.warnings,
        )

    def delete(self) -> None:
        """Remove the conversation and all its originals from disk; this cannot be undone."""
        self.store.delete(self.id)

    def state(self) -> State:
        """What the log says now."""
        return _state_of(self._log)


class _Archiver:
    """Keeps the originals of one compression in the session's log, before its view counts."""

    def __init__(
        self,
        log: SessionLog,
        store: Store,
        state: State,
        news: Sequence[dict[str, Any]],
        before_writing: Callable[[], object],
    ) -> None:
        self._log, self._store, self._state = log, store, state
        self._news, self._before_writing = news, before_writing

    @property
    def archive(self) -> Archive:
        """Receipts may name `context_restore` and the file of an offloaded text."""
        return _promises(self._log, self._state)

    def keep(self, messages: Sequence[Mapping[str, Any]], result: Result) -> None:
        """Originals first, then all there is to read, then the line that makes the view count."""
        self._before_writing()
        if self._news:
            self._log.append(*self._news)
            if _state_of(self._log).view[: len(messages)] != list(messages):
                raise StoreError(
                    f"Something else was recorded in {self._log.id} meanwhile, so the view was "
                    "not changed. Compress again."
                )
        now, n = _now(), self._next_number()
        name = self._log.write_originals(n, now, [messages[i] for i in result.compressed])
        position = {index: at for at, index in enumerate(result.compressed)}
        refs = {
            ref: {"what": about.what, "message": position[about.indices[0]], "block": about.block}
            for ref, about in result.refs.items()
        }
        for ref, about in result.refs.items():
            if about.block is not None and result.reasons[about.indices[0]] == "offload":
                self._log.write_offloaded(ref, result.originals[ref])
        self._remember(result, now)
        self._log.append(
            {
                "type": "compression",
                "created_at": now,
                "n": n,
                "strategy": result.strategy,
                "messages_in": len(messages),
                "tokens_before": result.tokens_before,
                "tokens_after": result.tokens_after,
                "compressed": result.compressed,
                "layout": result.layout,
                "originals": name,
                "refs": refs,
            }
        )

    def _next_number(self) -> int:
        """One more than any compression has, even one that was killed before it counted."""
        names = (path.stem for path in self._log.folder.glob("compact-*.json"))
        taken = (name.rpartition("-")[2] for name in names)
        return max(self._state.made, *map(int, filter(str.isdecimal, taken)), 0) + 1

    def _remember(self, result: Result, now: str) -> None:
        """A digest in the view is also a summary to look up later."""
        if result.strategy != "window":
            return
        for part in result.layout:
            text = as_text(part.get("content")) if isinstance(part, dict) else ""
            if text.startswith(COMPRESSED):
                entry = {"created_at": now, "session": self._log.id, "strategy": result.strategy}
                span = [min(result.compressed), max(result.compressed)]
                tokens = Counter().text(text)
                self._store.add_summary(
                    {**entry, "messages": span, "content": text, "tokens": tokens}
                )


@dataclass(frozen=True)
class _Rehearsal:
    """Promises what the archive would hold, and keeps nothing."""

    archive: Archive

    def keep(self, messages: Sequence[Mapping[str, Any]], result: Result) -> None:
        """Nothing is written."""


def _promises(log: SessionLog, state: State) -> Archive:
    shown = partial(_offloaded, log.root.name, log.id)
    return Archive(restorable=True, path=shown, restored=frozenset(state.restored))


def as_text(original: Any) -> str:
    """An original as text: itself, or its JSON."""
    return original if isinstance(original, str) else canonical(original)


def select(text: str, lines: tuple[int, int] | None, pattern: str | None) -> str:
    """All of a text, a range of its lines, or those a pattern is found in, with their numbers.

    Raises:
        StoreError: an impossible range, or a pattern that is wrong or takes too long.
    """
    if lines is None and pattern is None:
        return text
    numbered = list(enumerate(text.split("\n"), 1))
    if lines is not None:
        first, last = lines
        if first < 1 or last < first or first > len(numbered):
            raise StoreError(
                f"lines {first}-{last} are not there; this has lines 1-{len(numbered)}."
            )
        numbered = numbered[first - 1 : last]
    if pattern is None:
        return "\n".join(line for _, line in numbered)
    try:
        wanted = regex.compile(pattern)
        until = monotonic() + PATTERN_SECONDS
        found = [
            (number, line)
            for number, line in numbered
            if wanted.search(line, timeout=max(until - monotonic(), 0.001))
        ]
    except regex.error as problem:
        raise StoreError(f"{pattern!r} is not a regular expression: {problem}.") from None
    except TimeoutError:
        raise StoreError(f"{pattern!r} takes too long; use a simpler pattern.") from None
    return "\n".join(f"{number}: {line}" for number, line in found) or NO_LINE


def _text_in(message: Mapping[str, Any], block: int) -> str:
    found = parse([message]).messages[0].blocks[block]
    return found.text if isinstance(found, Text | ToolResult) else ""


def _offloaded(folder: str, session: str, ref: str) -> str:
    return f"{folder}/sessions/{session}/offloaded/{ref}.txt"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
