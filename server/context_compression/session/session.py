"""One conversation on disk: record it, view it, compress it, bring anything back, undo.

The log only grows. A view is what replaying it gives: messages as recorded, and each compression's
layout over the view of its time. So an undo is one more line, and nothing is ever rewritten.
"""

from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from secrets import token_hex
from time import monotonic
from typing import Any, TypeAlias

from context_compression.compress import Ask, Keeper, acompress, compress, start
from context_compression.errors import (
    BudgetTooSmall,
    NothingToUndo,
    PlanError,
    StoreDamaged,
    StoreError,
    SummaryError,
    UnknownRef,
)
from context_compression.formats import parse
from context_compression.overflow import is_overflow
from context_compression.pacing import POLL_SECONDS, Event, Pace, Reason
from context_compression.plan import ref_of
from context_compression.result import Result
from context_compression.savings import Savings
from context_compression.session.archiver import Archiver, Rehearsal, promises
from context_compression.session.reading import as_text, select
from context_compression.session.state import (
    State,
    age_of,
    news_of,
    original_of,
    state_of,
    timestamp,
    undoing,
)
from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.summarizer import Summarizer, SummaryReply
from context_compression.threads import aside, check_cancelled
from context_compression.tokens import Anchor, Counter, TextCounter, anchored
from context_compression.usage import Item, Usage, breakdown, for_model, largest, usage

Error: TypeAlias = BaseException | Mapping[str, Any] | str
PLAN_SECONDS = 3_600
"""How long a caller may take to write a summary."""
LOCK_SECONDS = 30.0
"""How long a compression waits for another one of the same conversation."""


@dataclass(frozen=True)
class Asked:
    """A summary that the caller is asked to write.

    Attributes:
        plan_id: to be given back with it.
        instructions: what to write.
        part: which of the plan's summaries it is, from 1.
        messages: how many messages the plan looks at.
    """

    plan_id: str
    instructions: str
    part: int
    messages: int


@dataclass(frozen=True)
class Status:
    """How a conversation stands.

    Attributes:
        usage: how full its context is.
        messages: how many the view has.
        messages_recorded: how many were recorded.
        messages_compressed: how many of those are not in the view as they came.
        tokens_saved: freed by compressions, less what was restored.
        savings: the same over all requests, with what it cost. Where somebody else keeps the
            history, what they did not take over saved nothing.
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
    savings: Savings
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
        summarizer: writes summaries; without one no model is ever asked.
        on_event: is told of the start and the end of every compression.
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
        summarizer: Summarizer | None = None,
        on_event: Callable[[Event], object] = lambda event: None,
    ) -> None:
        self.summarizer, self.on_event = summarizer, on_event
        self._pace = Pace()
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
        if any(message["role"] == "assistant" for message in messages):
            self._pace.answered()
        now = timestamp()
        self._log.append(
            *({"type": "message", "created_at": now, "message": dict(m)} for m in messages)
        )

    def follow(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Bring the record up to a conversation that somebody else keeps, such as a transcript.

        What is new is recorded; where the other's history was changed, ours is rewound to the last
        message both have.
        """
        self._log.append(*news_of(self.state(), messages))

    def view(self, messages: Sequence[Mapping[str, Any]] | None = None) -> list[dict[str, Any]]:
        """The messages that the model would be sent now.

        Given the conversation as somebody else keeps it: the view that `follow` would lead to.
        """
        state = self.state()
        for event in [] if messages is None else news_of(state, messages):
            state.replay(event)
        return state.view

    def prepare(self) -> list[dict[str, Any]]:
        """The view for the next request, compressed first if that is due and `auto_compress` on.

        A compression that did not help is not tried again before the conversation has grown.

        Raises:
            ContextCompressionError: as `compress`.
        """
        if self._is_due():
            with self._telling("threshold") as told:
                told.append(self._locked_compress({}))
        return self.view()

    async def aprepare(self) -> list[dict[str, Any]]:
        """`prepare` for an event loop."""
        if self._is_due():
            with self._telling("threshold") as told:
                told.append(await self._alocked_compress({}))
        return self.view()

    def recover(self, error: Error) -> list[dict[str, Any]] | None:
        """A smaller view to retry a refused request with.

        `None` when the error is not that the conversation is too long, when this request was
        retried already, when `auto_compress` is off, or when the view cannot get any smaller.
        """
        options = self._recovery(error)
        if options is None:
            return None
        try:
            with self._telling("overflow") as told:
                told.append(self._locked_compress(options))
        except BudgetTooSmall:
            return None
        return self.view() if told[0].changed else None

    async def arecover(self, error: Error) -> list[dict[str, Any]] | None:
        """`recover` for an event loop."""
        options = self._recovery(error)
        if options is None:
            return None
        try:
            with self._telling("overflow") as told:
                told.append(await self._alocked_compress(options))
        except BudgetTooSmall:
            return None
        return self.view() if told[0].changed else None

    def request(self, abort: Callable[[], object] | None = None) -> AbstractContextManager[None]:
        """Put this around the agent's request: no manual compression runs meanwhile.

        One that is asked for calls `abort`, where given, to cut the request short, else it waits;
        and a request waits until it is done. So take the `view` inside.
        """
        return self._pace.request(abort)

    def arequest(
        self, abort: Callable[[], object] | None = None
    ) -> AbstractAsyncContextManager[None]:
        """`request` for an event loop."""
        return self._pace.arequest(abort)

    def _is_due(self) -> bool:
        used = self._used()
        return (
            self.settings.auto_compress
            and used.over_threshold
            and self._pace.worth_trying(used.used_tokens)
        )

    def _used(self) -> Usage:
        return usage(
            self.view(), system=self.system, tools=self.tools, model=self.model,
            counter=self.counter, settings=self.settings,
        )  # fmt: skip

    def _recovery(self, error: Error) -> dict[str, Any] | None:
        """How to compress after a refusal: well below what was refused, whatever we had counted."""
        if not (self.settings.auto_compress and is_overflow(error) and self._pace.may_recover()):
            return None
        refused = self._used().used_tokens
        target = min(self.settings.target_tokens, int(refused * self.settings.target_usage))
        return {"target_tokens": max(1, target)}

    @contextmanager
    def _telling(self, reason: Reason) -> Generator[list[Result]]:
        """Tell of a compression's start and end; its result is put into the list."""
        before = int(self._used().used_tokens)
        self.on_event(Event("start", reason, before))
        told: list[Result] = []
        try:
            yield told
        except BaseException as error:
            if reason == "threshold" and isinstance(error, Exception):
                self._pace.tried(before, in_vain=True)
            text = str(error) or type(error).__name__
            self.on_event(Event("end", reason, before, before, aborted=True, error=text))
            raise
        result = told[0]
        now = self._used()
        self._pace.tried(int(now.used_tokens), in_vain=now.over_threshold)
        summary = result.summary
        self.on_event(
            Event(
                "end",
                reason,
                before,
                result.tokens_after,
                will_retry=reason == "overflow" and result.changed,
                first_kept=summary.first_kept if summary else None,
                cost=summary.cost if summary else None,
            )
        )

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
        options = {
            "target_tokens": target_tokens, "strategy": strategy, "pins": pins, "focus": focus,
            "force": force, "settings": settings,
        }  # fmt: skip
        with self._pace.compressing(), self._telling("manual") as told:
            told.append(self._locked_compress(options, messages, before_writing))
        return told[0]

    async def acompress(
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
        """`compress` for an event loop, which goes on while a model writes; cancelling stops it."""
        options = {
            "target_tokens": target_tokens, "strategy": strategy, "pins": pins, "focus": focus,
            "force": force, "settings": settings,
        }  # fmt: skip
        async with self._pace.acompressing():
            with self._telling("manual") as told:
                told.append(await self._alocked_compress(options, messages, before_writing))
        return told[0]

    def _locked_compress(
        self,
        options: dict[str, Any],
        messages: Sequence[Mapping[str, Any]] | None = None,
        before_writing: Callable[[], object] = lambda: None,
    ) -> Result:
        if self.summarizer is None and not self.store.folder.exists():
            # what is refused, or not due, shall not leave as much as an empty folder
            rehearsed = self.preview(messages, **options)
            if not rehearsed.changed:
                return rehearsed
        with self._log.locked():
            return compress(self._asked(messages, before_writing, options), self.summarizer)

    async def _alocked_compress(
        self,
        options: dict[str, Any],
        messages: Sequence[Mapping[str, Any]] | None = None,
        before_writing: Callable[[], object] = lambda: None,
    ) -> Result:
        def unless_cancelled() -> None:
            check_cancelled()
            before_writing()

        async with self._turn():
            ask = await aside(partial(self._asked, messages, unless_cancelled, options))
            return await acompress(ask, self.summarizer, aside)

    def _asked(
        self,
        messages: Sequence[Mapping[str, Any]] | None,
        before_writing: Callable[[], object],
        options: dict[str, Any],
    ) -> Ask:
        """What is asked for, in the state of now."""
        state = self.state()
        news = [] if messages is None else news_of(state, messages, anew=True)
        for event in news:
            state.replay(event)
        options = options | {"settings": self._settings(options.get("settings"))}
        if "loop" in options:
            options["pins"] = tuple(range(len(state.view))[options.pop("loop") :])
        return self._ask(
            state.view, Archiver(self._log, self.store, state, news, before_writing), **options
        )

    @asynccontextmanager
    async def _turn(self) -> AsyncGenerator[None]:
        """This session's one compression at a time, waited for without blocking the loop."""
        from anyio import sleep

        until = monotonic() + LOCK_SECONDS
        while True:
            with ExitStack() as held:
                try:
                    held.enter_context(self._log.locked(timeout=0))
                except StoreError:
                    if monotonic() > until:
                        raise
                else:
                    yield
                    return
            await sleep(POLL_SECONDS)

    def preview(
        self, messages: Sequence[Mapping[str, Any]] | None = None, **options: Any
    ) -> Result:
        """What `compress` would do to the view, or to `messages`, without doing it."""
        settings = self._settings(options.pop("settings", None))
        options.pop("loop", None)
        state = self.state()
        shown = state.view if messages is None else messages
        rehearsal = Rehearsal(promises(self._log, state))
        summarizer = options.pop("summarizer", None)
        return compress(self._ask(shown, rehearsal, settings=settings, **options), summarizer)

    def _ask(self, messages: Sequence[Mapping[str, Any]], store: Keeper, **options: Any) -> Ask:
        """With what is known of this conversation."""
        return Ask(
            messages=messages, system=self.system, tools=self.tools, model=self.model,
            counter=self.counter, store=store, **options,
        )  # fmt: skip

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
        with self._telling("manual") as told:
            options = {"target_tokens": target_tokens, "loop": start}
            told.append(self._locked_compress(options))
        return told[0]

    def ask(
        self,
        *,
        messages: Sequence[Mapping[str, Any]] | None = None,
        before_writing: Callable[[], object] = lambda: None,
        **options: Any,
    ) -> "Asked | Result":
        """Compress, but let the caller write the summary: what it is asked for, or the result.

        Takes the arguments of `compress`. The plan is kept on disk; `answer` continues it.

        Raises:
            ContextCompressionError: as `compress`; the conversation is as it was.
        """
        with self._log.locked():
            state = self.state()
            news = [] if messages is None else news_of(state, messages, anew=True)
            for event in news:
                state.replay(event)
            plan = {
                "type": "plan",
                "created_at": timestamp(),
                "plan_id": token_hex(6),
                "messages_in": len(state.view),
                "covered": ref_of(state.view),
                "options": {name: value for name, value in options.items() if value is not None},
            }
            asked = self._continued(plan, state, news, [], before_writing)
            if isinstance(asked, Asked):
                before_writing()
                self._log.append(*news, plan)
            return asked

    def answer(
        self, plan_id: str, summary: str, *, before_writing: Callable[[], object] = lambda: None
    ) -> "Asked | Result":
        """Continue a plan with the summary it asked for; asks on where it takes several.

        Raises:
            PlanError: the plan is unknown, has expired, or what it covers has changed.
            SummaryError: the summary cannot be used; the plan waits for a better one.
        """
        with self._log.locked():
            state = self.state()
            plan = state.plans.get(plan_id)
            if plan is None:
                raise PlanError(
                    f"There is no plan {plan_id!r} in {self.id}. Call context_compress without "
                    "plan_id to get one."
                )
            if age_of(plan["created_at"]) > PLAN_SECONDS:
                raise PlanError(
                    f"Plan {plan_id} has expired: it was made more than {PLAN_SECONDS // 60} "
                    "minutes ago. Call context_compress without plan_id to get a new one."
                )
            if ref_of(state.view[: plan["messages_in"]]) != plan["covered"]:
                raise PlanError(
                    f"What plan {plan_id} covers has changed since it was made, so its summary "
                    "does not fit any more. Call context_compress without plan_id to get a new one."
                )
            answers = [*state.answers.get(plan_id, []), summary]
            asked = self._continued(plan, state, [], answers, before_writing)
            if isinstance(asked, Asked):
                event = {"type": "answer", "created_at": timestamp(), "plan_id": plan_id}
                self._log.append({**event, "text": summary})
            return asked

    def _continued(
        self,
        plan: Mapping[str, Any],
        state: State,
        news: Sequence[dict[str, Any]],
        answers: Sequence[str],
        before_writing: Callable[[], object],
    ) -> "Asked | Result":
        """Run a plan with the answers given so far, up to the next request or the end."""
        options = dict(plan["options"])
        wanted = {"on_summary_failure": "skip", "summary_attempts": 1}
        changed = self._settings(options.pop("settings", None)).changed(wanted)
        covered = state.view[: plan["messages_in"]]
        archiver = Archiver(self._log, self.store, state, news, before_writing)
        run = start(self._ask(covered, archiver, settings=changed, can_ask=True, **options))
        try:
            request = next(run)
            for text in answers:
                request = run.send(SummaryReply(text, "caller"))
        except StopIteration as done:
            result: Result = done.value
            if answers and not result.changed:
                raise SummaryError("; ".join(result.notes)) from None
            return result
        return Asked(plan["plan_id"], request.instructions, len(answers) + 1, len(covered))

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
        event = {"type": "restore", "created_at": timestamp(), "ref": ref, "tokens": tokens}
        self._log.append(event)

    def original(self, ref: str) -> Any:
        """What was archived under a full ref: a text, or a message as it came."""
        about = self.state().refs.get(ref)
        if about is None:
            raise UnknownRef(f"Nothing is archived under {ref!r}.")
        original = original_of(about, self._log.read_originals)
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
            yield ref, about["what"], original_of(about, read)

    def offload(self, text: str, *, what: str = "text") -> str:
        """Move a text to the archive; returns its ref."""
        ref = ref_of(text)
        if self._log.full_ref(ref) is None:
            about = {"what": what, "text": text, "message": None, "block": None}
            self._log.write_offloaded(ref, text)
            self._log.append({"type": "offload", "created_at": timestamp(), "refs": {ref: about}})
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
            self._log.append(undoing(state.compressions[-1], timestamp()))
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
        recorded, compressions, freed = len(state.recorded), [*state.compressions], state.freed
        for event in [] if messages is None else news_of(state, messages, anew=True):
            state.replay(event)
        plain = self.preview(shown, strategy="offload", force=True)
        return Status(
            usage=used,
            messages=len(shown),
            messages_recorded=recorded,
            messages_compressed=sum(len(c["compressed"]) for c in compressions),
            compressions=len(compressions),
            tokens_saved=freed - sum(state.restored.values()),
            savings=state.tally.savings(state.freed, counter.text),
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
        return state_of(self._log)


def name_for(messages: Sequence[Mapping[str, Any]]) -> str:
    """The id of the session of a conversation that has none: after its first message."""
    return f"messages-{ref_of(messages[0] if messages else '')}"
