"""One run of `summarize`: which messages are summarised, and the edits that follow."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from context_compression.conversation.authors import user_words
from context_compression.conversation.messages import Message, texts_of
from context_compression.errors import SummaryError
from context_compression.evidence.grounding import struck, ungrounded
from context_compression.evidence.ledger import Entry, entries, file_lists, merge, render
from context_compression.evidence.redaction import redact
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.planning.staying import end_of_ignored
from context_compression.strategies import measured
from context_compression.strategies.base import Proposal
from context_compression.strategies.filling import Beside, Filling
from context_compression.strategies.filling.standing import rules_note, standing_rules
from context_compression.strategies.floor import anchored
from context_compression.strategies.forms import Form, Forms
from context_compression.strategies.keep import cost, keep_only, saved_by
from context_compression.strategies.naming_refs import ref_of_first
from context_compression.strategies.quoting.gaps import gap_of_messages
from context_compression.strategies.summarize.note import (
    files_listed,
    last_request_in,
    previous_summary,
    summary_message,
)
from context_compression.strategies.summarize.requests import TOO_LARGE, Requests, TextRequest
from context_compression.strategies.window import units
from context_compression.summaries.record import SummaryRecord
from context_compression.summaries.serialization import with_originals

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
        used = plan.total - saved_by(plan, summarized)
        left = min(most, self.room - used - measured.MOVED_TOKENS)
        if left < measured.LEAST_FILLED_TOKENS or at + 1 in kept or at + 1 == len(plan.messages):
            return summarized
        beside = Beside(
            {at: note},
            frozenset(i for i in self.middle if previous_summary(plan.messages[i])),
        )
        full, room = dict.fromkeys(kept, Form.FULL), used - plan.counter.message(note) + left
        filling = Filling(Forms(plan), full, room, len(plan.messages), kept, beside)
        filled = filling.edits("summarize")
        return filled if plan.total - saved_by(plan, filled) <= self.room else summarized
