"""`summarize`: head, a summary of the middle written by a model, and the recent messages."""

import logging
import re
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from context_compression.conversation.authors import user_words
from context_compression.conversation.messages import COMPRESSED, Message, Text, texts_of
from context_compression.conversation.system_prompt import MARK
from context_compression.errors import SummaryError
from context_compression.evidence.grounding import struck, ungrounded
from context_compression.evidence.ledger import (
    Entry,
    Kind,
    entries,
    file_lists,
    file_tags,
    merge,
    render,
)
from context_compression.evidence.redaction import redact
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan, end_of_ignored
from context_compression.planning.selection import clip_redacted
from context_compression.plurals import how_many
from context_compression.settings import Settings
from context_compression.strategies import measured
from context_compression.strategies.base import Proposal
from context_compression.strategies.competing import Beside
from context_compression.strategies.extract import anchored
from context_compression.strategies.filling import filled_beside
from context_compression.strategies.keep import cost, keep_only
from context_compression.strategies.notes import gap_of_messages, ref_of_first
from context_compression.strategies.rules import rules_note, standing_rules
from context_compression.strategies.window import units
from context_compression.strings import in_words, sealed
from context_compression.summaries.acceptance import SummaryRecord
from context_compression.summaries.serialization import serialize, with_originals
from context_compression.summaries.summarizer import SummaryReply, SummaryRequest

if TYPE_CHECKING:
    from context_compression.summaries.acceptance import SummarySource


@dataclass(frozen=True)
class RequestSize:
    """How large a request for a summary may be, in tokens.

    Attributes:
        record: of the part of the record that it holds.
        answer: of the answer, at most.
        summary: at which the summary aims.
    """

    record: int
    answer: int
    summary: int

    @classmethod
    def of_settings(cls, settings: Settings, summary: int) -> "RequestSize":
        """The size of the first request, which a window of the settings' budget holds."""
        room = int(measured.RECORD_SHARE * settings.token_budget) - settings.summary_limit
        return cls(max(measured.LEAST_RECORD_TOKENS, room), settings.summary_limit, summary)

    def after(self, refused: SummaryError, record: int, rest: int) -> "RequestSize | None":
        """The size after a request that was too long; `None` if no smaller one makes sense.

        If the provider named its window, the request fills it. Otherwise the record is halved, from
        its own size on, so that no request is made twice.

        Args:
            refused: the error.
            record: tokens of the record in the refused request.
            rest: its other tokens: instructions and an earlier summary.
        """
        if refused.window:
            named = self._in_window(refused.window, refused.used, record, rest)
            if named.record < measured.LEAST_NAMED_PART_TOKENS:
                return None
            if named.record < record or named.answer < self.answer:
                return named
        if record <= measured.LEAST_PART_TOKENS:
            return None
        half = max(measured.LEAST_PART_TOKENS, record // 2)
        return self._with(half, min(self.answer, half))

    def _in_window(self, window: int, used: int, record: int, rest: int) -> "RequestSize":
        """The size of a request that fills a window."""
        share = used / max(1, record + rest) if used else measured.MARGIN_OF_WINDOW
        counted = min(max(1.0, share), measured.MOST_MARGIN)  # by the provider, for each of ours
        answer = min(self.answer, max(1, int(measured.ANSWER_OF_WINDOW * window)))
        room = int((window - answer) / counted) - rest - int(measured.SUMMARY_OF_ANSWER * answer)
        return self._with(min(record, room), answer)

    def _with(self, record: int, answer: int) -> "RequestSize":
        summary = min(self.summary, max(1, int(measured.SUMMARY_OF_ANSWER * answer)))
        return RequestSize(record, answer, summary)


OPENING = f"{MARK} of the conversation so far, written by a program, not by the user."
SUMMARY = re.compile(rf"{re.escape(OPENING)}\n\n<summary>\n(.*?)\n</summary>", re.S)
FILES = re.compile(
    r"<(read|modified)-files>\n((?:[^<]|<(?!(?:read|modified)-files>))*?)\n</\1-files>", re.S
)
FILE_KINDS = {"read", "created", "modified", "deleted", "renamed"}


def previous_summary(message: Message) -> str | None:
    """The summary in a message of this package, without the parts that code added.

    `None` if the message holds no summary.
    """
    texts = (block.text for block in message.blocks if isinstance(block, Text))
    summary = next(filter(None, map(SUMMARY.match, texts)), None)
    return summary[1] if summary else None


def files_listed(messages: Iterable[Message]) -> list[Entry]:
    """The files that earlier summaries list, which without a store are all that a ledger leaves."""
    listed: list[Entry] = []
    for message in messages:
        if previous_summary(message):
            for tag, paths in FILES.findall(message.text):
                kind: Kind = "read" if tag == "read" else "modified"
                listed += (Entry(kind, path) for path in paths.split("\n"))
    return listed


def summary_message(
    plan: Plan,
    text: str,
    last_request: str,
    ledger: Sequence[Entry],
    ref: str,
    room: int,
    mark: str,
) -> Message:
    """The message with the summary: fenced, with last request, file lists and ledger.

    Args:
        plan: the plan of the conversation.
        text: the summary.
        last_request: the user's last request that is summarised; `""` if there is none.
        ledger: the full ledger.
        ref: the ref that restores the full ledger.
        room: the most tokens of the ledger; the file lists take at most half as many in addition.
        mark: names the messages that are summarised.
    """
    count = plan.counter.text
    parts = [OPENING, f"<summary>\n{sealed(text, 'summary')}\n</summary>"]
    if last_request:
        quote = sealed(last_request, "quote")
        parts.append(f"The last request summarised, verbatim:\n<quote>\n{quote}\n</quote>")
    if tags := _newest_files(plan, ledger, room // 2, ref):
        parts.append(tags)
    if shown := redact(render(ledger, room, ref, measure=count)):
        parts.append(f"<ledger>\n{sealed(shown, 'ledger')}\n</ledger>")
    parts.append(mark)
    # Anthropic has no system message inside a conversation; a summary for the system prompt is
    # moved there later
    role = "user" if plan.rules.user_first else plan.settings.summary_role
    return Message(role, (Text("\n\n".join(parts)),))


def _newest_files(plan: Plan, ledger: Sequence[Entry], max_tokens: int, ref: str) -> str:
    """The file lists in at most `max_tokens`; files that were named first are left out first."""
    count = plan.counter.text
    named = [entry for entry in ledger if entry.kind in FILE_KINDS]
    taken: list[Entry] = []
    for entry in reversed(named):
        max_tokens -= count(entry.text) + 1
        if max_tokens < 0:
            break
        taken.insert(0, entry)
    if not taken:
        return ""
    left_out = len(named) - len(taken)
    more = f"\n[{how_many(left_out, 'more file')}: ref {ref}]" if left_out else ""
    return redact(file_tags(taken)) + more


def last_request_in(messages: Iterable[Message]) -> str:
    """The user's last request in some messages, which are given with the newest first.

    `""` if there is none. A long request is redacted and clipped.
    """
    most = measured.LAST_REQUEST_CHARS
    for message in messages:
        if words := user_words(message).strip():
            if words.startswith(COMPRESSED):
                return ""
            return words if len(words) <= most else clip_redacted(redact(words), most)
    return ""


logger = logging.getLogger(__name__)
TOO_LARGE = "The summary is not smaller than what it summarises."
TextRequest: TypeAlias = Generator[SummaryRequest, SummaryReply, str]
"""Yields requests, receives the replies, returns a text."""


def prompt(name: str, plan: Plan, target_tokens: int) -> str:
    """An instruction with the target filled in: the user's own, else the one in this package."""
    text = plan.archive.prompt(name)
    if text is None:
        folder = files("context_compression.summaries") / "prompts"
        text = (folder / f"{name}.md").read_text(encoding="utf-8")
    return text.replace("{target_tokens}", str(target_tokens)).strip()


class Requests:
    """Requests the summaries of one plan.

    Attributes:
        replies: all replies, in order.
    """

    def __init__(self, plan: Plan, target_tokens: int) -> None:
        """Requests for summaries of a plan, with a target size of `target_tokens`."""
        self._plan = plan
        self._size = RequestSize.of_settings(plan.settings, target_tokens)
        self._failed = FailedAttempts()
        self.replies: list[SummaryReply] = []

    def summary_of(
        self, messages: Sequence[Message], name: str, earlier: str | None, most: int
    ) -> TextRequest:
        """One summary; a record that is too long is sent in parts, each updating the last summary.

        Args:
            messages: the messages to summarise.
            name: the name of the instructions for a first summary.
            earlier: the summary to update; `None` or `""` if there is none.
            most: the tokens that the summary must stay below.

        Raises:
            SummaryError: no usable summary was given; its text names every attempt.
        """
        plan = self._plan
        while True:
            parts = serialize(messages, self._size.record, plan.counter.text, plan.archive.original)
            text, record = earlier, ""
            try:
                for record in parts:
                    text = yield from self._reply(record, name, text, most)
                return text or ""
            except SummaryError as error:
                smaller = error.too_long and self._smaller(error, record, name, text)
                if not smaller:
                    raise self._failed.as_error(error) from None
                self._size = smaller

    def _smaller(
        self, refused: SummaryError, record: str, name: str, earlier: str | None
    ) -> RequestSize | None:
        """The size of the next requests, after one with this part of the record was too long."""
        count, request = self._plan.counter.text, self._request(record, name, earlier)
        tokens = count(record)
        return self._size.after(
            refused, tokens, count(request.system) + count(request.prompt) - tokens
        )

    def _reply(self, record: str, name: str, earlier: str | None, most: int) -> TextRequest:
        """The answer to one request, repeated while that may help and attempts are left.

        A summarizer that repeats a request itself reports its attempts; all attempts count.
        """
        request = self._request(record, name, earlier)
        from context_compression.summaries.acceptance import SummarySource  # loads only when needed

        source = SummarySource(record, earlier or "", self._plan.counter.text)
        while True:
            try:
                reply = yield request
                self.replies.append(reply)
                return self._checked(reply, request, source, most)
            except SummaryError as error:
                self._failed.add(error)
                left = request.attempts - error.attempts
                if not error.retryable or error.too_long or left < 1:
                    raise
                logger.info("asking again for a summary: %s", error)
                request = replace(request, attempts=left)

    def _checked(
        self, reply: SummaryReply, request: SummaryRequest, source: "SummarySource", most: int
    ) -> str:
        """The text of an answer.

        Raises:
            SummaryError: it is no summary.
        """
        text = reply.text.strip()
        if not text:
            raise SummaryError("The summary is empty.")
        if self._plan.counter.text(text) >= most:
            raise SummaryError(TOO_LARGE)
        if reply.stands_in:
            return text
        from context_compression.summaries.acceptance import why_no_summary

        if why := why_no_summary(text, request.instructions, source, system=request.system):
            raise SummaryError(f"The answer is no summary: {why}.")
        return text

    def _request(self, record: str, name: str, earlier: str | None) -> SummaryRequest:
        """The request: the record, the earlier summary, the instructions."""
        plan, size = self._plan, self._size
        parts = [f"<conversation>\n{sealed(record, 'conversation')}\n</conversation>"]
        if earlier:
            before = sealed(redact(earlier), "previous-summary")
            parts.append(f"<previous-summary>\n{before}\n</previous-summary>")
        instructions = prompt("update" if earlier else name, plan, size.summary)
        if plan.focus:
            focus = in_words(redact(plan.focus), measured.FOCUS_CHARS)
            instructions += f"\n\nAdditional focus: {focus}"
        return SummaryRequest(
            system=prompt("system", plan, size.summary),
            prompt="\n\n".join([*parts, instructions]),
            instructions=instructions,
            max_tokens=size.answer,
            model=plan.settings.summary_model or plan.model,
            attempts=plan.settings.summary_attempts,
            seconds=plan.settings.summary_seconds,
        )


class FailedAttempts:
    """The attempts at a summary that gave none, and why."""

    def __init__(self) -> None:
        self._reasons: list[str] = []

    def add(self, error: SummaryError) -> None:
        """Note a failed request; a summarizer that repeated it says so in its text."""
        self._reasons.append(str(error))

    def as_error(self, last: SummaryError) -> SummaryError:
        """The last error, whose text names all attempts: `down (2 attempts)`."""
        text = str(last)
        if len(self._reasons) > 1:
            ways = [(why, len([*group])) for why, group in groupby(self._reasons)]
            times = how_many(len(self._reasons), "attempt")
            text = f"{ways[0][0]} ({times})" if len(ways) == 1 else f"{times}: {_in_order(ways)}"
        return SummaryError(
            text, retryable=last.retryable, too_long=last.too_long, attempts=last.attempts
        )


def _in_order(ways: Sequence[tuple[str, int]]) -> str:
    """Reasons with their numbers: `1: down; 2 and 3: the answer is empty`."""
    told: list[str] = []
    first = 1
    for why, times in ways:
        last = first + times - 1
        joined = " and " if times == 2 else " to "
        told.append(f"{first}{f'{joined}{last}' if times > 1 else ''}: {why}")
        first = last + 1
    return "; ".join(told)


CURRENT_TASK = "## The Current Task So Far"


def propose(plan: Plan) -> Proposal:
    """Edits that replace the middle by a summary.

    Raises:
        SummaryError: no usable summary was given; no edits are proposed.
    """
    return (yield from Summary(plan).edits())


class Summary:
    """One run of the strategy over one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.room = plan.total if plan.room is None else plan.room
        self.first = plan.tail
        self.middle = [i for i in range(plan.head, plan.tail) if i not in plan.anchored]
        share = int(measured.SUMMARY_SHARE * self.room)
        self.target = max(measured.LEAST_SUMMARY_TOKENS, min(plan.settings.summary_tokens, share))
        self.requests = Requests(plan, self.target)

    @cached_property
    def earlier_at(self) -> int | None:
        """The index of the newest earlier summary in the middle; `None` if there is none."""
        messages = self.plan.messages
        return next((i for i in reversed(self.middle) if previous_summary(messages[i])), None)

    @cached_property
    def earlier(self) -> str | None:
        """The text of the newest earlier summary; `None` if there is none."""
        at = self.earlier_at
        return None if at is None else previous_summary(self.plan.messages[at])

    @property
    def middle_tokens(self) -> int:
        """Tokens of the messages that are summarised."""
        return sum(self.plan.tokens[i] for i in self.middle)

    def edits(self) -> Proposal:
        """Request the summary and propose the edits."""
        if not self.middle:
            return []
        text = yield from self.summary(*self.split())
        for _ in range(measured.SUMMARY_ROUNDS):
            proposed, skipped = self.settled(text)
            if not skipped:
                return proposed
            # a long summary left no room for the oldest recent messages: summarise them, too
            text = yield from self.summary_of(skipped, self.template, text)
            self.middle += skipped
            self.first = skipped[-1] + 1
        return self.settled(text)[0]

    def split(self) -> tuple[list[int], list[int]]:
        """The middle in two parts: history, and the beginning of the turn in which the tail begins.

        Earlier summaries are in neither part, because they are updated. If one already covers the
        beginning of this turn, nothing is split; otherwise it would be summarised in two places.
        """
        middle = [i for i in self.middle if previous_summary(self.plan.messages[i]) is None]
        middle = sorted({*middle, *self.compacted})
        start = next((t.start for t in self.plan.turns if t.start < self.first < t.stop), None)
        if start is None or (self.earlier_at is not None and self.earlier_at >= start):
            return middle, []
        if self.earlier and CURRENT_TASK in self.earlier:
            return middle, []
        return [i for i in middle if i < start], [i for i in middle if i >= start]

    @property
    def compacted(self) -> list[int]:
        """What a provider compacted, in messages that no earlier summary has read; they stay."""
        first = self.plan.head if self.earlier_at is None else self.earlier_at
        messages = self.plan.messages
        return [i for i in range(first, self.plan.tail) if messages[i].stands_for_earlier]

    @property
    def template(self) -> str:
        """The name of the instructions for a first summary."""
        return "technical" if self.plan.settings.summary_template == "technical" else "summary"

    def summary(self, history: Sequence[int], prefix: Sequence[int]) -> TextRequest:
        """The text of the summary, by as many requests as it needs."""
        text = self.earlier or ""
        if history or not prefix:
            text = yield from self.summary_of(history, self.template, self.earlier)
        if not prefix:
            return text
        begun = yield from self.summary_of(prefix, "turn-prefix", None)
        return (
            f"{text}\n\n---\n\n{CURRENT_TASK}\n\n{begun}" if text else f"{CURRENT_TASK}\n\n{begun}"
        )

    def summary_of(self, indices: Sequence[int], name: str, earlier: str | None) -> TextRequest:
        """One summary of some messages; it must be smaller than the middle."""
        messages = [self.plan.messages[i] for i in indices]
        return self.requests.summary_of(messages, name, earlier, self.middle_tokens)

    def settled(self, text: str) -> tuple[Sequence[Edit], list[int]]:
        """The edits with a summary, and the recent messages that do not fit with it.

        Raises:
            SummaryError: the summary is not smaller than the middle.
        """
        original = self.plan.archive.original
        middle = [with_originals(self.plan.messages[i], original) for i in self.middle]
        source = (text for message in middle for b in message.blocks for text in texts_of(b))
        by_user = map(user_words, self.plan.messages)  # a summary may be based on it, too
        compacted = (m for m in self.plan.messages if m.stands_for_earlier)
        read = (text for message in compacted for b in message.blocks for text in texts_of(b))
        doubtful = ungrounded(text, [*source, *by_user, *read, self.earlier or ""])
        text = struck(text, doubtful)
        if self.plan.counter.text(text) >= self.middle_tokens:
            raise SummaryError(TOO_LARGE)
        new = entries(middle)
        listed = self.plan.archive.ledger
        ledger = merge(listed or files_listed(self.plan.messages[i] for i in self.middle), new)
        read, modified = file_lists(ledger)
        record = SummaryRecord(
            text=text,
            first_kept=self.first,
            replies=tuple(self.requests.replies),
            unverified=tuple(doubtful),
            ledger=tuple(new),
            whole_ledger=redact(render(ledger, sys.maxsize)),
            read_files=tuple(read),
            modified_files=tuple(modified),
        )
        return self.assembled(text, ledger, record)

    def assembled(
        self, text: str, ledger: Sequence[Entry], record: SummaryRecord
    ) -> tuple[Sequence[Edit], list[int]]:
        """Edits for head, summary, anchored messages and tail; and the tail that does not fit."""
        plan = self.plan
        kept = anchored(plan, self.room)
        last_request = last_request_in(plan.messages[i] for i in reversed(self.middle))
        note = summary_message(
            plan, text, last_request, ledger, plan.archive.ref_of(record.whole_ledger),
            int(measured.LEDGER_SHARE * self.room),
            gap_of_messages(len(self.middle), ref_of_first(plan, self.middle)),
        )  # fmt: skip
        rules = [
            r for r in standing_rules(plan) if r.message not in kept and r.message < self.first
        ]
        left = self.room - cost(plan, kept, {self.middle[0]: note})
        left -= plan.counter.message(rules_note(rules)) if rules else 0
        fits = True
        skipped: list[int] = []
        for unit in reversed(units(plan, range(self.first, len(plan.messages)))):
            added = {i: plan.messages[i] for i in unit if i not in kept}
            tokens = sum(plan.tokens[i] for i in added)
            fits = fits and tokens <= left
            if fits:
                kept |= added
                left -= tokens
            else:
                skipped += added
        gone = [i for i in range(plan.head, len(plan.messages)) if i not in kept]
        first = end_of_ignored(plan.messages)
        dropped = next((i for i in gone if i >= first), gone[0])
        unused = self.target - plan.counter.text(text) if plan.lasts else self.room
        edits = self.filled(kept, dropped, note, unused)
        # messages that stay divide the middle, so the note may be longer than the run it replaces
        shrinks = plan.counter.message(note) < sum(plan.tokens[i] for i in gone)
        with_record = [
            replace(edit, record=record, needed=shrinks)
            if edit.start <= dropped < edit.stop
            else edit
            for edit in edits
        ]
        return with_record, sorted(skipped)

    def filled(
        self, kept: Mapping[int, Message], at: int, note: Message, most: int
    ) -> Sequence[Edit]:
        """Edits for the kept messages and the summary, whose room is filled with pieces.

        Args:
            kept: the messages that stay.
            at: an index in the run of messages in whose place the summary stands.
            note: the message with the summary.
            most: the most tokens of the pieces, if there is room for them.
        """
        plan = self.plan
        summarized = keep_only(plan, kept, {at: note}, "summarize")
        earlier = (i for i in self.middle if previous_summary(plan.messages[i]))
        beside = Beside({at: note}, frozenset(earlier))
        return filled_beside(plan, summarized, kept, beside, "summarize", most) or summarized
